// Columns whose heading is a name: of Markdown, CSV, what databases print, and INSERT. Of each row the cell below it is looked at.

import type { Span } from './rule.ts';

const MOST_CHARACTERS = 600;
const MOST_ROWS = 500;
const CELL = /[ \t]*(?:"[^"\n]*"|'[^'\n]*'|[^|\t,;\n"']*)[ \t]*(?<joint>[|\t,;]?)/y;
const RULE = /^[\s|+:=-]*$/;

/** The cells below a name at a place, where that stands in a heading; `end`: to where no other heading is to be looked for. */
export function cellsBelow(text: string, at: number): { cells: Span[]; end: number } {
  const inserted = insertedBelow(text, at);
  if (inserted !== undefined) return inserted;
  const before = text.slice(Math.max(at - MOST_CHARACTERS, 0), at);
  const line = before.slice(before.lastIndexOf('\n') + 1);
  // In JSON, a text begins inside a line.
  const from = at - line.length + (line.includes(':') ? (/^.*:\s?"/.exec(line)?.[0].length ?? 0) : 0);
  const to = lineEnd(text, at);
  const joint = /[|\t,;]/.exec(text.slice(from, to))?.[0];
  if (to - from > MOST_CHARACTERS || joint === undefined) return { cells: [], end: to };
  const heading = cellsOf(text, from, to);
  const nth = heading.findIndex((cell) => cell.start <= at && at < cell.end);
  const isOther = ({ start, end }: Span, cell: number) =>
    cell > 0 && (end - start > 40 || /[=:(){}<>]|\d{3}/.test(text.slice(start, end)));
  if (heading.length < 2 || heading.some(isOther)) return { cells: [], end: to };
  const cells: Span[] = [];
  let end = to;
  for (let row = 0; row < MOST_ROWS && nth >= 0 && end < text.length; row++) {
    const next = lineEnd(text, end + 1);
    const own = text.slice(end + 1, next);
    if (own.trim() === '') break;
    if (!RULE.test(own)) {
      const of = next - end > MOST_CHARACTERS || !own.includes(joint) ? [] : cellsOf(text, end + 1, next);
      const cell = of[nth];
      if (cell === undefined || of.length < heading.length - 1) break;
      cells.push(cell);
    }
    end = next;
  }
  return { cells, end };
}

function lineEnd(text: string, at: number): number {
  const end = text.slice(at, at + MOST_CHARACTERS + 1).indexOf('\n');
  return end < 0 ? Math.min(text.length, at + MOST_CHARACTERS + 1) : at + end;
}

/** The cells of a line, without what is around them. */
function cellsOf(text: string, from: number, to: number): Span[] {
  const line = text.slice(from, to);
  const cells: Span[] = [];
  for (let at = 0; at < line.length; at = CELL.lastIndex) {
    CELL.lastIndex = at;
    const match = CELL.exec(line);
    if (match === null || match[0] === '') break;
    const own = match[0].slice(0, match[0].length - (match.groups?.joint?.length ?? 0));
    const start = at + (/^[\s"'#`*]*/.exec(own)?.[0].length ?? 0);
    const end = at + own.trimEnd().replace(/["'`*]+$/, '').length;
    cells.push({ start: from + Math.min(start, end), end: from + end });
  }
  return cells;
}

const VALUES = /[^()\n]{0,200}\)\s{0,20}VALUES\s{0,20}\(/iy;
const TUPLE = /\s{0,20},\s{0,20}\(/y;

function insertedBelow(text: string, at: number): { cells: Span[]; end: number } | undefined {
  VALUES.lastIndex = at;
  if (!VALUES.test(text)) return undefined;
  const before = text.slice(Math.max(0, at - MOST_CHARACTERS), at);
  const list = before.lastIndexOf('(');
  const nth = list < 0 ? -1 : before.slice(list).split(',').length - 1;
  const cells: Span[] = [];
  let from = VALUES.lastIndex;
  for (let row = 0; row < MOST_ROWS && nth >= 0; row++) {
    const tuple = cellsOf(text, from, Math.min(lineEnd(text, from), from + MOST_CHARACTERS));
    const cell = tuple[nth];
    if (cell === undefined) break;
    cells.push(cell);
    const close = text.slice(cell.end, cell.end + MOST_CHARACTERS).indexOf(')');
    TUPLE.lastIndex = cell.end + close + 1;
    if (close < 0 || !TUPLE.test(text)) break;
    from = TUPLE.lastIndex;
  }
  return { cells, end: from };
}
