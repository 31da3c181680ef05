// Three-way merge of a file by lines: what stood there, what a commit wants, what an external edit made of it.
// Where lines do not collide both live. Where they do the external edit wins; the caller keeps the loser as a version.
// Merging a second time what was merged before changes nothing. A last line stays without its newline where it was.

import { isUtf8 } from 'node:buffer';
import { diff3Merge } from 'node-diff3';
import { lineEndOf } from '../text/blocks.ts';

export interface Merged {
  text: string;
  /** Places where the external edit replaced what the commit wanted. */
  collisions: number;
}

export function mergeLines(base: string, edits: { ours: string; external: string }): Merged {
  let collisions = 0;
  const lines: string[] = [];
  for (const part of diff3Merge(split(edits.ours), split(base), split(edits.external))) {
    if (part.ok) lines.push(...part.ok);
    else if (part.conflict) {
      const { before, ours, external, after } = narrow(part.conflict);
      const stood = part.conflict.o;
      lines.push(...before, ...external);
      // What was only put behind the lines that the external edit changed collides with nothing.
      if (stood.every((line, index) => ours[index] === line)) lines.push(...ours.slice(stood.length));
      else collisions += 1;
      lines.push(...after);
    }
  }
  const text = lines.join('');
  const ending = isOpenEnded(edits.external) === isOpenEnded(base) ? edits.ours : edits.external;
  return { text: isOpenEnded(ending) ? text.replace(/\r?\n$/, '') : text, collisions };
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
function narrow({ a, b }: { a: string[]; b: string[] }) {
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
