// What two texts differ in, by lines: shown as a unified diff, or taken back from a text that has changed since.
// Taking back is no three-way merge: there, lines that others added right next to ours would collide with them. Here each
// line is followed to where it stands now, and only a line that is no longer there as it was collides.

import { diffIndices } from 'node-diff3';

const CONTEXT_LINES = 3;

interface TakenBack {
  text: string;
  /** Places where what was written has been changed since; there the text stays as it is. */
  collisions: number;
}

/**
 * Takes the change from `before` to `after` back out of `current`. Line numbers (from 0) of `after` in `keep` stay.
 */
export function takeBackLines(
  { before, after, current }: { before: string; after: string; current: string },
  keep: Set<number> = new Set(),
): TakenBack {
  const [from, to, now] = [splitLines(after), splitLines(before), splitLines(current)];
  const place = followLines(from, now);
  const removed = new Set<number>();
  const inserted = new Map<number, string[]>();
  let collisions = 0;
  for (const { buffer1, buffer2Content: old } of diffIndices(from, to)) {
    const [start, length] = buffer1;
    const ours = range(start, start + length);
    const standing = ours.flatMap((line) => place.get(line) ?? []);
    const isChanged =
      standing.length < length &&
      (old.length > 0 || hasOthers(place, { start, end: start + length, count: from.length, now }));
    if (isChanged) collisions += 1;
    if (isChanged && old.length > 0) continue;
    for (const line of ours) {
      const at = place.get(line);
      if (at !== undefined && !keep.has(line)) removed.add(at);
    }
    const at = standing[0] ?? behind(place, start);
    if (old.length > 0) inserted.set(at, [...(inserted.get(at) ?? []), ...old]);
  }
  const lines = range(0, now.length + 1).flatMap((at) => [
    ...(inserted.get(at) ?? []),
    ...(at < now.length && !removed.has(at) ? [now[at] as string] : []),
  ]);
  return { text: lines.join(''), collisions };
}

/** The numbers (from 0) of the lines of `text` that are missing in `shorter`. */
export function missingLines(text: string, shorter: string): Set<number> {
  const lines = splitLines(text);
  const kept = followLines(lines, splitLines(shorter));
  return new Set(range(0, lines.length).filter((line) => !kept.has(line)));
}

/** A unified diff with three lines of context; empty where the texts are the same. */
export function unifiedDiff(a: { name: string; text: string }, b: { name: string; text: string }): string {
  const [before, after] = [splitLines(a.text), splitLines(b.text)];
  const changes = diffIndices(before, after).map(({ buffer1, buffer2 }) => ({ a: buffer1, b: buffer2 }));
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

/** Where each line of `from` stands in `to`, by number; lines that are no longer there are missing. */
function followLines(from: string[], to: string[]): Map<number, number> {
  const place = new Map<number, number>();
  let [at, there] = [0, 0];
  const follow = (end: number) => {
    for (; at < end; at += 1, there += 1) place.set(at, there);
  };
  for (const { buffer1, buffer2 } of diffIndices(from, to)) {
    follow(buffer1[0]);
    at = buffer1[0] + buffer1[1];
    there = buffer2[0] + buffer2[1];
  }
  follow(from.length);
  return place;
}

/** Whether lines of somebody else stand between the nearest lines around `[start, end)` that still stand. */
function hasOthers(
  place: Map<number, number>,
  gap: { start: number; end: number; count: number; now: string[] },
): boolean {
  const after = range(gap.end, gap.count).find((line) => place.has(line));
  const end = (after === undefined ? undefined : place.get(after)) ?? gap.now.length;
  const ours = new Set(range(gap.start, gap.end).map((line) => place.get(line)));
  return range(behind(place, gap.start), end).some((at) => !ours.has(at));
}

/** The place behind the nearest line before `start` that still stands. */
function behind(place: Map<number, number>, start: number): number {
  for (let line = start - 1; line >= 0; line -= 1) {
    const at = place.get(line);
    if (at !== undefined) return at + 1;
  }
  return 0;
}

function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function span(start: number, end: number): string {
  const length = end - start;
  return `${length === 0 ? start : start + 1}${length === 1 ? '' : `,${length}`}`;
}

function show(mark: string, line: string): string {
  return line.endsWith('\n') ? mark + line : `${mark}${line}\n\\ No newline at end of file\n`;
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}
