// What two texts differ in, by lines: shown as a unified diff, or taken back from a text that has changed since.
// Taking back is no three-way merge: there, lines that others added right next to ours would collide with them. Here each
// line is followed to where it stands now, and only a line that is no longer there as it was collides.

import { align, changesOf } from '../base/text/align.ts';

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
  const around = standingAround(place, { count: from.length, end: now.length });
  const removed = new Set<number>();
  const inserted = new Map<number, string[]>();
  let collisions = 0;
  for (const { a, b } of changesOf(from, to)) {
    const [start, length] = a;
    const old = to.slice(b[0], b[0] + b[1]);
    const ours = range(start, start + length);
    const standing = ours.flatMap((line) => place.get(line) ?? []);
    const isChanged =
      standing.length < length &&
      (old.length > 0 || hasOthers(ours, { place, from: around.behind[start], to: around.ahead[start + length] }));
    if (isChanged) collisions += 1;
    if (isChanged && old.length > 0) continue;
    for (const line of ours) {
      const at = place.get(line);
      if (at !== undefined && !keep.has(line)) removed.add(at);
    }
    const at = standing[0] ?? (around.behind[start] as number);
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

/** Where each line of `from` stands in `to`, by number; lines that are no longer there are missing. */
function followLines(from: string[], to: string[]): Map<number, number> {
  return new Map([...align(from, to).entries()].filter(([, there]) => there >= 0));
}

/** For each line: the place behind the nearest one before it that still stands, and the place of the nearest from it on. */
function standingAround(place: Map<number, number>, { count, end }: { count: number; end: number }) {
  const [behind, ahead] = [[0], Array<number>(count + 1).fill(end)];
  for (let line = 0; line < count; line += 1) {
    const at = place.get(line);
    behind.push(at === undefined ? (behind[line] as number) : at + 1);
  }
  for (let line = count - 1; line >= 0; line -= 1) ahead[line] = place.get(line) ?? (ahead[line + 1] as number);
  return { behind, ahead };
}

/** Whether lines of someone else stand between the nearest lines around ours that still stand. */
function hasOthers(
  ours: number[],
  { place, from = 0, to = 0 }: { place: Map<number, number>; from?: number; to?: number },
) {
  const standing = new Set(ours.map((line) => place.get(line)));
  for (let at = from; at < to; at += 1) if (!standing.has(at)) return true;
  return false;
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
