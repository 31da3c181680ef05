// Bars of a month, drawn here as SVG: a picture needs no program in the browser.

import { html } from 'hono/html';
import type { Html } from './shell.ts';

export interface Bar {
  label: string;
  value: number;
  said: string;
}

const HEIGHT = 72;
const WIDTH = 640;

/** `said`: all of it in words, for who cannot see it. */
export function bars(list: Bar[], { title }: { title: string }): Html {
  const most = Math.max(...list.map(({ value }) => value)) || 1;
  const step = WIDTH / Math.max(list.length, 1);
  return html`<svg class="bars" viewBox="0 0 ${WIDTH} ${HEIGHT + 14}" role="img" aria-label="${title}">${list.map(
    ({ label, value, said }, at) => {
      const height = value === 0 ? 1 : Math.max(3, (value / most) * HEIGHT);
      const x = (at * step).toFixed(1);
      const text =
        at % 5 === 0 ? html`<text x="${(at * step + step / 2).toFixed(1)}" y="${HEIGHT + 11}">${label}</text>` : '';
      return html`<g><title>${said}</title><rect class="${value === 0 ? 'nothing' : ''}" x="${x}" y="${(HEIGHT - height).toFixed(1)}" width="${(step * 0.72).toFixed(1)}" height="${height.toFixed(1)}" rx="2"/>${text}</g>`;
    },
  )}</svg>`;
}
