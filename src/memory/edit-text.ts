// What is done to a file's text: one replacement, one insertion, and a three-way merge by lines.
// Promises: line ends stay as the file has them, whatever the caller writes, and so does a missing last one; every other
// byte is kept, also those that are no UTF-8 (`rawText`). In a merge lines that do not collide both live; where they do
// the external edit wins, and the caller keeps the loser as a version. Merging a second time changes nothing.

import { isUtf8 } from 'node:buffer';
import { align } from '../base/text/align.ts';
import { lineEndOf, readLines } from './text/blocks.ts';

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

interface Merged {
  text: string;
  /** Places where the external edit replaced what the commit wanted. */
  collisions: number;
}

export function mergeLines(base: string, edits: { ours: string; external: string }): Merged {
  let collisions = 0;
  const lines: string[] = [];
  for (const { stood, ours, external } of differing(split(base), split(edits.ours), split(edits.external))) {
    if (isSame(ours, stood) || isSame(ours, external)) lines.push(...external);
    else if (isSame(external, stood)) lines.push(...ours);
    else {
      const left = narrow(ours, external);
      lines.push(...left.before, ...left.external);
      // What was only put behind the lines that the external edit changed collides with nothing.
      if (stood.every((line, index) => left.ours[index] === line)) lines.push(...left.ours.slice(stood.length));
      else collisions += 1;
      lines.push(...left.after);
    }
  }
  const text = lines.join('');
  const ending = isOpenEnded(edits.external) === isOpenEnded(base) ? edits.ours : edits.external;
  return { text: isOpenEnded(ending) ? text.replace(/\r?\n$/, '') : text, collisions };
}

/** The three texts cut where a line stands in all of them: what is before it, by turns with the line itself. */
function differing(base: string[], ours: string[], external: string[]) {
  const [inOurs, inExternal] = [align(base, ours), align(base, external)];
  const parts: Record<'stood' | 'ours' | 'external', string[]>[] = [];
  let [at, a, b] = [0, 0, 0];
  for (let line = 0; line <= base.length; line += 1) {
    const isEnd = line === base.length;
    const [toA, toB] = isEnd ? [ours.length, external.length] : [inOurs[line] as number, inExternal[line] as number];
    if (toA < 0 || toB < 0) continue;
    parts.push({ stood: base.slice(at, line), ours: ours.slice(a, toA), external: external.slice(b, toB) });
    const same = base.slice(line, line + 1);
    parts.push({ stood: same, ours: same, external: same });
    [at, a, b] = [line + 1, toA + 1, toB + 1];
  }
  return parts;
}

function isSame(one: string[], other: string[]): boolean {
  return one.length === other.length && one.every((line, index) => line === other[index]);
}

/** The same for bytes; null is no file. Bytes that are no UTF-8 are not merged: they win whole, or lose whole. */
export function mergeFiles(
  base: Buffer | null,
  edits: { ours: Buffer | null; external: Buffer | null },
): { content: Buffer | null; collisions: number } {
  const { ours, external } = edits;
  const sides = [base, ours, external].filter((side) => side !== null);
  if (ours === null || !sides.every((side) => isUtf8(side))) {
    return { content: external, collisions: external === null ? 0 : 1 };
  }
  if (base?.equals(ours)) return { content: external, collisions: 0 };
  const merged = mergeLines(base?.toString() ?? '', { ours: ours.toString(), external: external?.toString() ?? '' });
  // Where nothing of ours is left to add, a file that was removed externally stays removed.
  const content = external === null && merged.text === '' ? null : Buffer.from(merged.text);
  return { content, collisions: merged.collisions };
}

/** What both sides did alike at the borders of a collision does not collide. */
function narrow(a: string[], b: string[]) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  const most = Math.min(a.length, b.length) - head;
  while (tail < most && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  return {
    before: a.slice(0, head),
    ours: a.slice(head, a.length - tail),
    external: b.slice(head, b.length - tail),
    after: a.slice(a.length - tail),
  };
}

function isOpenEnded(text: string): boolean {
  return text !== '' && !text.endsWith('\n');
}

/** Lines with their ends, so that joining them gives the same bytes; a missing last newline is added to merge on. */
function split(text: string): string[] {
  return (isOpenEnded(text) ? text + lineEndOf(text) : text).match(/[^\n]*\n/g) ?? [];
}

/** The text of bytes that may not be UTF-8. */
export function rawText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  const pieces: string[] = [];
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = lengthOfCharacter(bytes, at);
    if (length === 0)
      pieces.push(bytes.toString('utf8', from, at), String.fromCharCode(0xdc00 + (bytes[at] as number)));
    at += length || 1;
    if (length === 0) from = at;
  }
  return [...pieces, bytes.toString('utf8', from)].join('');
}

/** The bytes of a text that `rawText` gave, or that was made of one. */
export function bytesOf(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text);
  const pieces = text.split(/([\udc80-\udcff])/u);
  return Buffer.concat(
    pieces.map((piece, at) => (at % 2 === 1 ? Buffer.of(piece.charCodeAt(0) - 0xdc00) : Buffer.from(piece))),
  );
}

/** How many bytes the character at a place has; 0 where none begins there. */
function lengthOfCharacter(bytes: Buffer, at: number): number {
  const first = bytes[at] as number;
  const length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  return length > 0 && isUtf8(bytes.subarray(at, at + length)) ? length : 0;
}
