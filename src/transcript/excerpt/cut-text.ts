// Cuts texts that are too long to be shown whole: never inside a character, and with a mark that says how much is gone.
// A long paste inside a person's message is shown by its head and its tail; every word the person typed stays.

import type { Segment } from './segments.ts';

const LEAST_KEPT = 40;
/** How far a cut moves to fall between two words. */
const WORD_CHARACTERS = 30;

/** How much of what is kept is the head; all the rest is the tail. */
export const CUT = { middle: 0.6, beginning: 0, end: 1 } as const;

/**
 * The longest head and tail of `text` that `fits` accepts, with a mark where something is gone; the text itself where it
 * fits; null where less than 40 characters of it would be left.
 */
export function cutTo(
  text: string,
  fits: (candidate: string) => boolean,
  headShare: number = CUT.middle,
): string | null {
  if (fits(text)) return text;
  const keep = (kept: number) => keepEnds(text, Math.ceil(kept * headShare), Math.floor(kept * (1 - headShare)));
  if (text.length <= LEAST_KEPT || !fits(keep(LEAST_KEPT))) return null;
  let kept = LEAST_KEPT;
  let tooMany = kept * 2;
  while (tooMany < text.length && fits(keep(tooMany))) [kept, tooMany] = [tooMany, tooMany * 2];
  tooMany = Math.min(tooMany, text.length);
  while (tooMany - kept > 1) {
    const middle = Math.floor((kept + tooMany) / 2);
    if (fits(keep(middle))) kept = middle;
    else tooMany = middle;
  }
  return keep(kept);
}

/** So many characters of the head and of the tail, or a few less, and between them how many `what` are gone. */
function keepEnds(text: string, headLength: number, tailLength: number, what = 'characters'): string {
  const head = headLength > 0 ? text.slice(0, wordEnd(text, headLength)) : '';
  const tail = tailLength > 0 ? text.slice(wordStart(text, text.length - tailLength)) : '';
  const mark = `… ${text.length - head.length - tail.length} ${what} left out …`;
  return [head, mark, tail].filter((line) => line !== '').join('\n');
}

function wordEnd(text: string, at: number): number {
  const space = text.slice(Math.max(0, at - WORD_CHARACTERS), at).search(/\s\S*$/);
  if (space > 0) return Math.max(0, at - WORD_CHARACTERS) + space;
  return isHighSurrogate(text, at - 1) ? at - 1 : at;
}

function wordStart(text: string, at: number): number {
  const space = text.slice(at, at + WORD_CHARACTERS).search(/\s/);
  if (space >= 0 && at + space + 1 < text.length) return at + space + 1;
  return isHighSurrogate(text, at - 1) ? at + 1 : at;
}

function isHighSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800;
}

const PASTE_HEAD_CHARACTERS = 1_000;
const PASTE_TAIL_CHARACTERS = 500;

/** The redacted text of `segment` with its long pastes cut. One that redaction leaves unplaced stays whole. */
export async function cutLongPastes(
  segment: Segment,
  redacted: string,
  redact: (text: string) => Promise<{ text: string }>,
): Promise<string> {
  /** Where a place of the segment's text is in the redacted one: behind the same words, redacted by themselves. */
  const placeOf = async (at: number) => {
    if (redacted === segment.text || at === 0) return at;
    if (at === segment.text.length) return redacted.length;
    const before = (await redact(segment.text.slice(0, at))).text;
    return redacted.startsWith(before) ? before.length : null;
  };
  let text = '';
  let done = 0;
  for (const paste of segment.longPastes ?? []) {
    const [start, end] = [await placeOf(paste.start), await placeOf(paste.end)];
    if (start === null || end === null || start < done || end - start <= PASTE_HEAD_CHARACTERS + PASTE_TAIL_CHARACTERS)
      continue;
    const pasted = redacted.slice(start, end);
    text +=
      redacted.slice(done, start) +
      keepEnds(pasted, PASTE_HEAD_CHARACTERS, PASTE_TAIL_CHARACTERS, 'characters of a paste');
    done = end;
  }
  return text + redacted.slice(done);
}
