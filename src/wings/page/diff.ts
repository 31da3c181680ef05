// Differences side by side: what was on the left, what is on the right, from the unified form in which nocturne tells them
// everywhere.

import { html } from 'hono/html';
import { unifiedDiff } from '../../memory/history/line-diff.ts';
import type { Html } from './shell.ts';

const MOST_ROWS = 400;

interface Row {
  left: string | null;
  right: string | null;
  kind: 'same' | 'changed' | 'gap';
}

export function diffOfTexts(path: string, before: string | null, after: string | null): Html {
  return sideBySide(unifiedDiff({ name: path, text: before ?? '' }, { name: path, text: after ?? '' }));
}

/** `diff`: of one file, or of several one behind the other. */
export function sideBySide(diff: string): Html {
  if (diff === '') return html`<p class="dim">No file changes.</p>`;
  const files = diff.split(/^(?=--- )/m).filter(Boolean);
  return html`${files.map(fileDiff)}`;
}

function fileDiff(diff: string): Html {
  const [before = '', after = '', ...lines] = diff.replace(/\n$/, '').split('\n');
  const name = (after.startsWith('+++ /dev/null') ? before : after).slice(4);
  const rows = rowsOf(lines);
  const side = (text: string | null, kind: string) =>
    html`<div class="${text === null ? 'none' : kind}">${text === null ? '' : html`<span class="said" dir="auto">${text || ' '}</span>`}</div>`;
  return html`<figure class="diff"><figcaption class="said">${name}</figcaption><div class="sides">${rows
    .slice(0, MOST_ROWS)
    .map((row) =>
      row.kind === 'gap'
        ? html`<div class="gap dim">⋯</div>`
        : html`${side(row.left, row.kind === 'same' ? 'dim' : 'gone')}${side(row.right, row.kind === 'same' ? 'dim' : 'came')}`,
    )}</div>${rows.length > MOST_ROWS ? html`<p class="dim">${rows.length - MOST_ROWS} rows more.</p>` : ''}</figure>`;
}

function rowsOf(lines: string[]): Row[] {
  const rows: Row[] = [];
  let [gone, came]: [string[], string[]] = [[], []];
  const flush = () => {
    for (let at = 0; at < Math.max(gone.length, came.length); at += 1) {
      rows.push({ left: gone[at] ?? null, right: came[at] ?? null, kind: 'changed' });
    }
    [gone, came] = [[], []];
  };
  for (const line of lines) {
    if (line.startsWith('-')) gone.push(line.slice(1));
    else if (line.startsWith('+')) came.push(line.slice(1));
    else if (!line.startsWith('\\')) {
      flush();
      if (!line.startsWith('@@')) rows.push({ left: line.slice(1), right: line.slice(1), kind: 'same' });
      else if (rows.length > 0) rows.push({ left: null, right: null, kind: 'gap' });
    }
  }
  flush();
  return rows;
}
