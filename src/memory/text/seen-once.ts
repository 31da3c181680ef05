// The mark of a line that rests on one session that showed a habit nobody stated: `Seen once, 2026-11-20: …`.
// The files are the truth of it: whoever reads a topic knows such a line by its mark.

import type { Day } from '../../base/time.ts';
import { editLines, locateLines } from './topic.ts';

const MARK = /^Seen once, (\d{4}-\d{2}-\d{2}): /;

export function markSeenOnce(text: string, day: Day): string {
  return `Seen once, ${day}: ${withoutMark(text)}`;
}

export function withoutMark(text: string): string {
  return text.replace(MARK, '');
}

/** The day that a line's mark names; undefined for a plain line. */
export function seenOnceOn(text: string): Day | undefined {
  return MARK.exec(text)?.[1];
}

/** A topic's text, or its body, without the lines that carry the mark, and these. */
export function partSeenOnce(raw: string): { text: string; marked: { id: string; text: string }[]; isAll: boolean } {
  const lines = locateLines(raw);
  const marked = lines.filter(({ text }) => seenOnceOn(text) !== undefined);
  if (marked.length === 0) return { text: raw, marked, isAll: false };
  const remove = new Set(marked.map(({ id }) => id));
  return { text: editLines(raw, { remove, add: [] }), marked, isAll: marked.length === lines.length };
}
