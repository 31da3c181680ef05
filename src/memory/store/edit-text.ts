// Edits of a file's text as the memory tool asks for them: one replacement, one insertion.
// Promises: the line ends of the file stay as they are, whatever the caller writes (`\n` matches `\r\n`, and what is
// put in takes the file's own), and so does a missing last line end; every other byte is kept.

import { lineEndOf, readLines } from '../text/blocks.ts';

/** More places than this need not be told apart. */
const MAX_PLACES = 100;

export interface Edited {
  text: string;
  /** The lines that hold what was put in, from 1; for a deletion, the line where it stood. */
  from: number;
  to: number;
}

/** Replaces the only place where `wanted` stands; several or none: the lines where the first of them begin. */
export function replaceOnce(text: string, edit: { wanted: string; by: string }): Edited | { found: number[] } {
  const plain = withLineFeeds(text);
  const wanted = withLineFeeds(edit.wanted);
  const places = placesOf(plain, wanted);
  const [start] = places;
  if (start === undefined || places.length > 1) {
    return { found: [...new Set(places.map((place) => lineAt(plain, place)))] };
  }
  const end = start + wanted.length;
  const by = withLineFeeds(edit.by);
  const from = lineAt(plain, start);
  return {
    text: text.slice(0, inOriginal(text, start)) + inLineEndsOf(text, by) + text.slice(inOriginal(text, end)),
    from,
    to: from + by.split('\n').length - 1,
  };
}

/** Puts lines behind line `after` (0: before the first), which must be there. */
export function insertLines(text: string, { after, lines }: { after: number; lines: string }): Edited {
  const raw = readLines(text).map((line) => line.raw);
  const plain = withLineFeeds(lines).replace(/\n$/, '');
  const end = lineEndOf(text);
  const added = inLineEndsOf(text, plain);
  const before = raw.slice(0, after).join('');
  const isBehindOpenEnd = before !== '' && !before.endsWith('\n');
  return {
    text: isBehindOpenEnd ? before + end + added : before + added + end + raw.slice(after).join(''),
    from: after + 1,
    to: after + plain.split('\n').length,
  };
}

function withLineFeeds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

function inLineEndsOf(text: string, added: string): string {
  return lineEndOf(text) === '\r\n' ? added.replaceAll('\n', '\r\n') : added;
}

/** The first places, overlapping ones too: an edit must not have to guess. */
function placesOf(text: string, wanted: string): number[] {
  const places: number[] = [];
  let at = text.indexOf(wanted);
  while (at !== -1 && places.length < MAX_PLACES) {
    places.push(at);
    at = text.indexOf(wanted, at + 1);
  }
  return places;
}

function lineAt(text: string, place: number): number {
  return text.slice(0, place).split('\n').length;
}

/** Where in `text` the place is that stands at `place` once its line ends are `\n`. */
function inOriginal(text: string, place: number): number {
  let at = 0;
  for (let seen = 0; seen < place; seen += 1) at += text.startsWith('\r\n', at) ? 2 : 1;
  return at;
}
