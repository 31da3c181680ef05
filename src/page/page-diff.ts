// Two texts side by side, as a view shows what changed in files.

import { html } from 'hono/html';
import { unifiedDiff } from '../memory/edit-text.ts';
import type { Html } from './page-shell.ts';

const MOST_ROWS = 400;

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
      row === null
        ? html`<div class="gap dim">⋯</div>`
        : html`${side(row.left, row.isSame ? 'dim same' : 'gone')}${side(row.right, row.isSame ? 'dim' : 'came')}`,
    )}</div>${rows.length > MOST_ROWS ? html`<p class="dim">${rows.length - MOST_ROWS} rows more.</p>` : ''}</figure>`;
}

interface DiffRow {
  left: string | null;
  right: string | null;
  isSame: boolean;
}

/** The lines of a diff side by side; null: some were left out. */
function rowsOf(lines: string[]): (DiffRow | null)[] {
  const rows: (DiffRow | null)[] = [];
  let [gone, came]: [string[], string[]] = [[], []];
  const flush = () => {
    for (let at = 0; at < Math.max(gone.length, came.length); at += 1)
      rows.push({ left: gone[at] ?? null, right: came[at] ?? null, isSame: false });
    [gone, came] = [[], []];
  };
  for (const line of lines) {
    if (line.startsWith('-')) gone.push(line.slice(1));
    else if (line.startsWith('+')) came.push(line.slice(1));
    else if (!line.startsWith('\\')) {
      flush();
      if (!line.startsWith('@@')) rows.push({ left: line.slice(1), right: line.slice(1), isSame: true });
      else if (rows.length > 0) rows.push(null);
    }
  }
  flush();
  return rows;
}
