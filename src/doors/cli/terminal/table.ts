// Tables for people, and the same rows for pipes. A file of its own, so that commands without a table load no package for it.

import Table from 'cli-table3';
import { print, style } from './output.ts';

const NO_BORDER = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right', 'left']
    .concat(['left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'])
    .map((part) => [part, '']),
);

/**
 * Rows in columns under their names, the last one wrapped to the terminal; without names and padding where stdout is
 * no terminal, one tab between.
 */
export function printTable(names: string[], rows: string[][]): void {
  if (!process.stdout.isTTY) {
    for (const row of rows) print(row.join('\t'));
    return;
  }
  const firstColumns = names.slice(0, -1).map((_, at) => at);
  const takenColumns = firstColumns.map((at) => 2 + Math.max(...[names, ...rows].map((row) => row[at]?.length ?? 0)));
  const room = (process.stdout.columns || 80) - takenColumns.reduce((sum, width) => sum + width, 0);
  // A path is never cut: who copies it needs all of it.
  const longestWord = Math.max(...rows.flatMap((row) => (row.at(-1) ?? '').split(' ').map((word) => word.length)));
  const left = Math.max(room, longestWord + 2, 24);
  const table = new Table({
    head: names.map((name) => name && style('bold', name)),
    chars: NO_BORDER,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    colWidths: [...firstColumns.map(() => null), left],
    wordWrap: true,
  });
  table.push(...rows);
  print(table.toString().replace(/(?<![ \t])[ \t]+$/gm, ''));
}
