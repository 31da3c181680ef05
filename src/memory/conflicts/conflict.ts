// Conflict markers that git left in a file (`<<<<<<<`, `|||||||`, `=======`, `>>>>>>>`), and the two files that were to
// be merged. Only a whole set in the right order is a conflict, nested ones included; a marker alone, and a set that a
// code fence shows as an example, is text about git. The base of a conflict belongs to neither side.
// Pure.

import { type Line, readLines } from '../text/blocks.ts';

/** The file as each side had it, where it was merged and where not. */
export interface Sides {
  ours: string;
  theirs: string;
}

/** Deeper than any merge nests: what is deeper is taken for text. */
const MAX_DEPTH = 20;
const FENCE = /^[ \t]*(`{3,}|~{3,})/;
const MARKER = /^(?:(<{7}|>{7}|\|{7})(?: .*)?|(={7}))$/;

/**
 * The two sides; null without a conflict. A set inside a code fence is one only where the file had that fence with one
 * of the two sides `before`.
 */
export function sidesOf(text: string, { before }: { before: string | null }): Sides | null {
  if (!/^<{7}(?: |\r?$)/m.test(text)) return null;
  const lines = readLines(text);
  const examples = linesOfExamples(lines, before ?? '');
  return sidesOfLines(lines, (at) => examples.has(at));
}

function sidesOfLines(lines: Line[], isText: (at: number) => boolean): Sides | null {
  const pieces = readPieces(lines, isText);
  if (pieces.every((piece) => typeof piece === 'string')) return null;
  return { ours: textOf(pieces, 'ours'), theirs: textOf(pieces, 'theirs') };
}

interface Conflict {
  ours: string[];
  theirs: string[];
}

/** A line with its end, or two versions of some. */
type Piece = string | Conflict;

/** A set of markers that is not complete yet. */
interface Open extends Conflict {
  base: string[];
  at: 'ours' | 'base' | 'theirs';
  /** All of it in order, for when it is never completed. */
  all: Piece[];
}

function readPieces(lines: Line[], isText: (at: number) => boolean): Piece[] {
  const out: Piece[] = [];
  const opens: Open[] = [];
  const add = (piece: Piece, lines: string[]) => {
    const open = opens.at(-1);
    open?.[open.at].push(...lines);
    (open?.all ?? out).push(piece);
  };
  for (const [at, { text, raw }] of lines.entries()) {
    const open = opens.at(-1);
    const marker = isText(at) ? null : MARKER.exec(text);
    const sign = (marker?.[1] ?? marker?.[2])?.[0];
    if (sign === '<' && opens.length < MAX_DEPTH) {
      opens.push({ ours: [], base: [], theirs: [], at: 'ours', all: [raw] });
    } else if (open && sign === '|' && open.at === 'ours') {
      open.at = 'base';
      open.all.push(raw);
    } else if (open && sign === '=' && open.at !== 'theirs') {
      open.at = 'theirs';
      open.all.push(raw);
    } else if (open && sign === '>' && open.at === 'theirs') {
      opens.pop();
      const { ours, theirs } = open;
      // Within a side of another conflict both are that side's.
      add({ ours, theirs }, [...ours, ...theirs.filter((line) => !ours.includes(line))]);
    } else add(raw, [raw]);
  }
  // What was never completed is text, with the complete ones in it.
  return [...out, ...opens.flatMap((open) => open.all)];
}

function textOf(pieces: Piece[], side: keyof Sides): string {
  return pieces.flatMap((piece) => (typeof piece === 'string' ? piece : piece[side])).join('');
}

/** The lines of the code fences that quote whole sets of markers. */
function linesOfExamples(lines: Line[], before: string): Set<number> {
  const found = new Set<number>();
  for (let at = 0; at < lines.length; at += 1) {
    const fence = FENCE.exec(lines[at]?.text ?? '')?.[1];
    if (!fence) continue;
    const closing = new RegExp(`^[ \\t]*${fence[0]}{${fence.length},}[ \\t]*$`);
    const end = lines.findIndex((line, index) => index > at && closing.test(line.text));
    if (end < 0) break;
    const sides = sidesOfLines(lines.slice(at, end + 1), () => false);
    const wasThere = sides !== null && (before.includes(sides.ours) || before.includes(sides.theirs));
    if (sides && !wasThere) for (let line = at; line <= end; line += 1) found.add(line);
    at = end;
  }
  return found;
}
