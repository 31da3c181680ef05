// What is done to a file's text: one replacement, one insertion, a three-way merge by lines, a change taken back, a unified diff.
// Promises: line ends stay as the file has them, whatever the caller writes, and so does a missing last one; every other
// byte is kept, also those that are no UTF-8 (`rawText`). In a merge lines that do not collide both live; where they do
// the external edit wins, and the caller keeps the loser as a version; lines right next to each other do not. Merging a second time
// changes nothing.

import { isUtf8 } from 'node:buffer';
import { align, changesOf } from '../base/text/align.ts';
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
  if (start === undefined || places.length > 1)
    return { found: [...new Set(places.map((place) => lineAt(plain, place)))] };
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

/**
 * Makes the change from `base` to `ours` in `external`: each of its lines is followed to where it stands there. So a change is taken
 * back, too: by the one from what it made to what was before.
 */
export function mergeLines(base: string, edits: { ours: string; external: string }): Merged {
  const [from, to, now] = [split(base), split(edits.ours), split(edits.external)];
  const place = align(from, now);
  const { behind, ahead } = standingAround(place, now.length);
  const removed = new Set<number>();
  const inserted = new Map<number, string[]>();
  const insert = (at: number, lines: string[]) => inserted.set(at, [...(inserted.get(at) ?? []), ...lines]);
  let collisions = 0;
  for (const { a, b } of changesOf(from, to)) {
    const [start, end] = [a[0], a[0] + a[1]];
    const wanted = to.slice(b[0], b[0] + b[1]);
    const standing = [...place.subarray(start, end)].filter((at) => at >= 0);
    const [first, last] = [behind[start] as number, ahead[end] as number];
    const { rest, behind: after } = beyond(wanted, now.slice(first, last));
    if (standing.length === a[1]) {
      for (const at of standing) removed.add(at);
      // What both put there stands once; what only ours did comes behind what the external edit did.
      if (standing[0] === undefined) insert(last - after, rest);
      else insert(standing[0], wanted);
    } else if (wanted.length === 0) {
      for (const at of standing) removed.add(at);
      if (last - first > standing.length) collisions += 1;
    } else if (rest.length > 0) collisions += 1;
  }
  const lines = [...now, ''].flatMap((line, at) => [...(inserted.get(at) ?? []), ...(removed.has(at) ? [] : [line])]);
  const text = lines.join('');
  const ending = isOpenEnded(edits.external) === isOpenEnded(base) ? edits.ours : edits.external;
  return { text: isOpenEnded(ending) ? text.replace(/\r?\n$/, '') : text, collisions };
}

/** For each line: the place behind the nearest one before it that still stands, and that of the nearest from it on. */
function standingAround(place: Int32Array, end: number) {
  const [behind, ahead] = [[0], Array<number>(place.length + 1).fill(end)];
  for (const [line, at] of place.entries()) behind.push(at < 0 ? (behind[line] as number) : at + 1);
  for (let line = place.length - 1; line >= 0; line -= 1) {
    const at = place[line] as number;
    ahead[line] = at < 0 ? (ahead[line + 1] as number) : at;
  }
  return { behind, ahead };
}

/** What `lines` have beyond those that stand there already, at their beginning or end; `behind`: how many of these follow it. */
function beyond(lines: string[], there: string[]): { rest: string[]; behind: number } {
  const most = Math.min(lines.length, there.length);
  let head = 0;
  while (head < most && lines[head] === there[head]) head += 1;
  let tail = 0;
  while (tail < most - head && lines.at(-1 - tail) === there.at(-1 - tail)) tail += 1;
  return { rest: lines.slice(head, lines.length - tail), behind: tail };
}

/** The same for bytes; null is no file. Bytes that are no UTF-8 are not merged: they win whole, or lose whole. */
export function mergeFiles(
  base: Buffer | null,
  edits: { ours: Buffer | null; external: Buffer | null },
): { content: Buffer | null; collisions: number } {
  const { ours, external } = edits;
  const sides = [base, ours, external].filter((side) => side !== null);
  if (ours === null || !sides.every((side) => isUtf8(side)))
    return { content: external, collisions: external === null ? 0 : 1 };
  if (base?.equals(ours)) return { content: external, collisions: 0 };
  const merged = mergeLines(base?.toString() ?? '', { ours: ours.toString(), external: external?.toString() ?? '' });
  // Where nothing of ours is left to add, a file that was removed externally stays removed.
  const content = external === null && merged.text === '' ? null : Buffer.from(merged.text);
  return { content, collisions: merged.collisions };
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

const CONTEXT_LINES = 3;

/** A unified diff with three lines of context; empty where the texts are the same. */
export function unifiedDiff(a: { name: string; text: string }, b: { name: string; text: string }): string {
  const [before, after] = [splitLines(a.text), splitLines(b.text)];
  const changes = changesOf(before, after);
  if (changes.length === 0) return '';
  const hunks: (typeof changes)[] = [];
  for (const change of changes) {
    const last = hunks.at(-1)?.at(-1);
    if (last && change.a[0] - (last.a[0] + last.a[1]) <= 2 * CONTEXT_LINES) hunks.at(-1)?.push(change);
    else hunks.push([change]);
  }
  const out = [`--- ${a.name}\n`, `+++ ${b.name}\n`];
  for (const hunk of hunks) {
    const [first, last] = [hunk[0], hunk.at(-1)] as [(typeof changes)[0], (typeof changes)[0]];
    const lead = Math.min(CONTEXT_LINES, first.a[0]);
    const start = first.a[0] - lead;
    const end = Math.min(before.length, last.a[0] + last.a[1] + CONTEXT_LINES);
    const startAfter = first.b[0] - lead;
    const endAfter = last.b[0] + last.b[1] + (end - last.a[0] - last.a[1]);
    out.push(`@@ -${span(start, end)} +${span(startAfter, endAfter)} @@\n`);
    let at = start;
    for (const { a: gone, b: come } of hunk) {
      out.push(...before.slice(at, gone[0]).map((line) => show(' ', line)));
      out.push(...before.slice(gone[0], gone[0] + gone[1]).map((line) => show('-', line)));
      out.push(...after.slice(come[0], come[0] + come[1]).map((line) => show('+', line)));
      at = gone[0] + gone[1];
    }
    out.push(...before.slice(at, end).map((line) => show(' ', line)));
  }
  return out.join('');
}

export function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function span(start: number, end: number): string {
  const length = end - start;
  return `${length === 0 ? start : start + 1}${length === 1 ? '' : `,${length}`}`;
}

function show(mark: string, line: string): string {
  return line.endsWith('\n') ? mark + line : `${mark}${line}\n\\ No newline at end of file\n`;
}
