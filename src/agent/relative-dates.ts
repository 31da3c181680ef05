// Finds what only means something on the day it was said: "tomorrow", "next Friday", "in two weeks", and the
// unambiguous German, French, Spanish and Japanese words for such. An entry that holds one must be mended first.
// It would rather miss a rare one than refuse a good text: names, paths, code, quoted words and dated ones are left be.

import { ENGLISH_MONTH, RELATIVE_DATES, RELATIVE_DATES_UNSPACED, WEEKDAY } from '../base/text/lexicon.ts';

// A day of the week alone is a date where something is due by it, unless it is due every week.
const DUE_DAY = new RegExp(
  String.raw`\b(?:by|until|till)\s+${WEEKDAY}\b(?!,?\s+(?:\(?\d|(?:the\s+)?\d|${ENGLISH_MONTH}|of\b))`,
  'i',
);
const EVERY_WEEK = /\b(?:every|each|weekly|always|never|usually)\b/i;

// A word that a person says, not a part of a name, a path or a flag: `today.ts`, `--since-yesterday`, `due_today`.
const BEGINS = String.raw`(?<![\p{L}\p{M}\p{N}_@#$%/\\.=<'’ʼ-])`;
const ENDS = String.raw`(?![\p{L}\p{M}\p{N}_@#$%/\\=>(-])(?!\.[\p{L}\p{N}_])`;
// "Friday (2026-03-06)" was made absolute already.
const NOT_DATED = String.raw`(?!,?\s{0,20}(?:\(\s{0,20})?(?:=\s{0,20})?\d{4}-\d{2}-\d{2})`;

const SPACED = Object.values(RELATIVE_DATES)
  .flat()
  .map((words) => `(?:${words})`)
  .join('|');
const RELATIVE_DATE = new RegExp(
  `(?:${BEGINS}(?:${SPACED})${ENDS}|(?:${RELATIVE_DATES_UNSPACED.map((words) => `(?:${words})`).join('|')}))${NOT_DATED}`,
  'giu',
);

const CODE_OR_URL = /```[\s\S]*?```|`[^`]*`|(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,40}:\/\/\S+/gi;
const OPENING_QUOTES = '"“„«‘「『';
const CLOSING_QUOTES = '"”“»’」』';

/** The first relative date in `text`, as it stands there; null where there is none. */
export function findRelativeDate(text: string): string | null {
  const prose = text.normalize('NFC').replace(CODE_OR_URL, ' ');
  for (const match of prose.matchAll(RELATIVE_DATE)) {
    // Not slices of all that stands before and after: with many such words that would take the square of their number.
    const before = prose[match.index - 1];
    const after = prose[match.index + match[0].length];
    // A quoted word is named, not used: the button "Today".
    const isQuoted = before && after && OPENING_QUOTES.includes(before) && CLOSING_QUOTES.includes(after);
    if (!isQuoted) return match[0];
  }
  const due = EVERY_WEEK.test(prose) ? null : DUE_DAY.exec(prose);
  return due?.[0] ?? null;
}
