// A long paste inside a person's message is shown by its head and its tail; every word the person typed stays.

import { keepEnds } from './render.ts';
import type { Row } from './rows.ts';

const HEAD_CHARACTERS = 1_000;
const TAIL_CHARACTERS = 500;

/** The redacted text of `row` with its long pastes cut. One that redaction leaves unplaced stays whole. */
export async function showWithoutLongPastes(
  row: Row,
  redacted: string,
  redact: (text: string) => Promise<{ text: string }>,
): Promise<string> {
  /** Where a place of the row's text is in the redacted one: behind the same words, redacted by themselves. */
  const placeOf = async (at: number) => {
    if (redacted === row.text || at === 0) return at;
    if (at === row.text.length) return redacted.length;
    const before = (await redact(row.text.slice(0, at))).text;
    return redacted.startsWith(before) ? before.length : null;
  };
  let text = '';
  let done = 0;
  for (const paste of row.longPastes ?? []) {
    const [start, end] = [await placeOf(paste.start), await placeOf(paste.end)];
    if (start === null || end === null || start < done || end - start <= HEAD_CHARACTERS + TAIL_CHARACTERS) continue;
    const pasted = redacted.slice(start, end);
    text += redacted.slice(done, start) + keepEnds(pasted, HEAD_CHARACTERS, TAIL_CHARACTERS, 'characters of a paste');
    done = end;
  }
  return text + redacted.slice(done);
}
