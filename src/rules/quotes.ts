// Where a quote stands in a message: found as copying leaves it, answered in the message's own words, with the sentence
// around it. White space, typographic marks, composed letters, a shell's line continuations and the `| ` of an excerpt's
// lines do not count; a part of a word is never a quote. It knows nothing of speakers.

import { UNSPACED } from './literals.ts';
import { segmentWords } from './words.ts';

const CONTINUED = /\s\\[^\S\n]*\n\s*/g;
/** Where a sentence ends; a line does, too. */
const ENDS = /[.!?…]["')\]”’]*(?=\s|$)|[。！？]|(?=\n)/;
const ENDED = /[.!?。！？…]["')\]”’]*$/;
const TO_END = new RegExp(`^.*?(?:${ENDS.source})`, 's');
/** No sentence that is worth reading goes on for longer. */
const MOST_AROUND = 1_000;

/** `text` with each run of white space, also of a continued line, as one space, and none at its ends. */
export function foldSpace(text: string): string {
  // Single spaces are passed over: most of a text is in order already.
  const folded = text.replace(CONTINUED, ' ').replace(/\s{2,}|[^\S ]/g, ' ');
  return folded.trim();
}

/** How many words a text has, in any script. */
export const countWords = (text: string) => segmentWords(text).length;

/** The words of `text` that `quote` names, white space folded; null where they do not stand there. */
export function findQuote(text: string, quote: string): string | null {
  const source = foldSpace(text);
  const place = placeOf(source, quote);
  return place && source.slice(...place).trim();
}

/** The whole words of a quote that ends or begins where `shown` cuts `text` within a word; null for any other. */
export function findCut(text: string, quote: string, shown: string): string | null {
  const [whole, seen] = [quote, shown].map((each) => foldSpace(each.replace(/^[^\S\n]*\| ?/gm, ''))) as [
    string,
    string,
  ];
  if (!foldSpace(text).includes(whole)) return null;
  const [isHead, isTail] = [seen.includes(`${whole} … `), seen.includes(` … ${whole}`)];
  const ended = isHead ? whole.replace(/\s+\S+$/, '') : whole;
  return isHead || isTail ? findQuote(text, isTail ? ended.replace(/^\S+\s+/, '') : ended) : null;
}

/** A quote with what its first and last sentence say before and behind it; null where it does not stand there. */
export function sentenceAround(text: string, quote: string): { before: string; said: string; after: string } | null {
  const source = foldSpace(text);
  const place = placeOf(source, quote);
  if (!place) return null;
  const [from, to] = place;
  // The same text, each character where it was, but that lines are told apart.
  const continued = text.replace(CONTINUED, ' ').trim();
  const lines = continued.replace(/\s+/g, (gap) => (gap.includes('\n') ? '\n' : ' '));
  const [said, tail] = [source.slice(from, to), lines.slice(to, to + MOST_AROUND)];
  const before =
    lines
      .slice(Math.max(0, from - MOST_AROUND), from)
      .split(ENDS)
      .at(-1) ?? '';
  return { before, said, after: ENDED.test(said) ? '' : (TO_END.exec(tail)?.[0] ?? tail) };
}

type Place = [from: number, to: number];

function placeOf(source: string, quote: string): Place | null {
  const unprefixed = quote.replace(/^[^\S\n]*\| ?/gm, '');
  return findWords(source, foldSpace(quote)) ?? findWords(source, foldSpace(unprefixed));
}

function findWords(source: string, quote: string): Place | null {
  const [text, wanted] = [plain(source), plain(quote)];
  const isJson = text.includes('":');
  for (let at = wanted === '' ? -1 : text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1))
    if (isBoundary(text, at, isJson) && isBoundary(text, at + wanted.length, isJson))
      return placeAt(source, at, wanted.length);
  return null;
}

// Decomposed, because that can be done character by character: `placeAt` relies on it to find its way back.
function plain(text: string): string {
  const marked = text
    .normalize('NFD')
    .replace(/[‘’‚‛′ʼ]/g, "'")
    .replace(/[“”„‟″«»]/g, '"');
  // What is shown of a tag of ours begins with `‹`.
  const dashed = marked
    .replace(/[‐‑‒–—―−]/g, '-')
    .replaceAll('…', '...')
    .replaceAll('‹', '<');
  return dashed.replace(/[\u00ad\u200b\u2060\ufeff]/g, '');
}

/** The part of `source` whose plain form begins at `start` of the source's plain form and has `length`. */
function placeAt(source: string, start: number, length: number): Place {
  let [from, at, plainAt] = [-1, 0, 0];
  for (const character of source) {
    if (plainAt >= start + length) break;
    if (from === -1 && plainAt >= start) from = at;
    plainAt += character < '\u0080' ? 1 : plain(character).length;
    at += character.length;
  }
  return [from, at];
}

const WINDOW = 8;
/** In a word, between signs that need no space, and where "can" is no part of "can't", nor 5 of 1.5. */
const IN_WORD = /[\p{L}\p{N}_]\p{M}*\0[\p{L}\p{M}\p{N}_]/u;
const UNSPACED_EDGE = new RegExp(`${UNSPACED}\\p{M}*\\0|\\0${UNSPACED}`, 'u');
const JOINED = /\0[\p{M}\udc00-\udfff]|\p{L}\p{M}*(?:\0'|'\0)\p{L}|\p{N}(?:\0[.,]|[.,]\0)\p{N}/u;

/** Whether a word can begin or end at `at` of a plain text. */
function isBoundary(text: string, at: number, isJson: boolean): boolean {
  const start = text.slice(Math.max(0, at - WINDOW), at);
  // In JSON that a tool answered a line begins behind `\n`; elsewhere that begins a name of a path.
  const before = isJson ? start.replace(/\\[nrt]$/, ' ') : start;
  const around = `${before}\0${text.slice(at, at + WINDOW)}`;
  return !JOINED.test(around) && (!IN_WORD.test(around) || UNSPACED_EDGE.test(around));
}
