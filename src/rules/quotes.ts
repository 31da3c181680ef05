// Where a quote stands in a message: found as copying leaves it, answered in the message's own words, with the sentence
// around it. White space, typographic marks, composed letters, a shell's line continuations and the `| ` of an excerpt's
// lines do not count; a part of a word is never a quote. It knows nothing of speakers.

import { UNSPACED } from './literals.ts';
import { segmentWords } from './words.ts';

/** `text` with each run of white space, also of a continued line, as one space, and none at its ends. */
export function foldSpace(text: string): string {
  // Single spaces are passed over: most of a text is in order already.
  return text
    .replace(CONTINUED, ' ')
    .replace(/\s{2,}|[^\S ]/g, ' ')
    .trim();
}

const CONTINUED = /\s\\[^\S\n]*\n\s*/g;

/** How many words a text has, in any script. */
export function countWords(text: string): number {
  return segmentWords(text).length;
}

/** The words of `text` that `quote` names, white space folded; null where they do not stand there. */
export function findQuote(text: string, quote: string): string | null {
  const source = foldSpace(text);
  const place = placeOf(source, quote);
  return place && source.slice(place.from, place.to).trim();
}

/** Where a sentence ends; a line does, too. */
const ENDS = /[.!?…]["')\]”’]*(?=\s|$)|[。！？]|(?=\n)/;
const ENDED = /[.!?。！？…]["')\]”’]*$/;

/** A quote with what its first and last sentence say before and behind it. */
interface InSentence {
  before: string;
  quote: string;
  after: string;
}

/** The sentences that a quote touches; null where it does not stand there. */
export function sentenceAround(text: string, quote: string): InSentence | null {
  const source = foldSpace(text);
  const place = placeOf(source, quote);
  if (!place) return null;
  // The same text, each character where it was, but that lines are told apart.
  const lines = text
    .replace(CONTINUED, ' ')
    .trim()
    .replace(/\s+/g, (gap) => (gap.includes('\n') ? '\n' : ' '));
  const head = lines.slice(Math.max(0, place.from - MOST_AROUND), place.from);
  const tail = lines.slice(place.to, place.to + MOST_AROUND);
  const said = source.slice(place.from, place.to);
  const begun = [...head.matchAll(new RegExp(ENDS, 'g'))].at(-1);
  const ended = ENDS.exec(tail);
  const after = ended ? tail.slice(0, ended.index + ended[0].length) : tail;
  return {
    before: head.slice(begun ? begun.index + begun[0].length : 0),
    quote: said,
    after: ENDED.test(said) ? '' : after,
  };
}

/** No sentence that is worth reading goes on for longer. */
const MOST_AROUND = 1_000;

interface Place {
  from: number;
  to: number;
}

function placeOf(source: string, quote: string): Place | null {
  const unprefixed = quote.replace(/^[^\S\n]*\| ?/gm, '');
  return findWords(source, foldSpace(quote)) ?? findWords(source, foldSpace(unprefixed));
}

function findWords(source: string, quote: string): Place | null {
  const wanted = plain(quote);
  if (wanted === '') return null;
  const text = plain(source);
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) {
    if (isBoundary(text, at) && isBoundary(text, at + wanted.length)) return placeAt(source, at, wanted.length);
  }
  return null;
}

const LOOKALIKES: [RegExp, string][] = [
  [/[‘’‚‛′ʼ]/g, "'"],
  [/[“”„‟″«»]/g, '"'],
  [/[‐‑‒–—―−]/g, '-'],
  [/…/g, '...'],
  // What is shown of a tag of ours begins with this one.
  [/‹/g, '<'],
  [/[\u00ad\u200b\u2060\ufeff]/g, ''],
];

// Decomposed, because that can be done character by character: `placeAt` relies on it to find its way back.
function plain(text: string): string {
  let out = text.normalize('NFD');
  for (const [pattern, replacement] of LOOKALIKES) out = out.replace(pattern, replacement);
  return out;
}

/** The part of `source` whose plain form begins at `start` of the source's plain form and has `length`. */
function placeAt(source: string, start: number, length: number): Place {
  let from = -1;
  let plainAt = 0;
  let at = 0;
  for (const character of source) {
    if (plainAt >= start + length) break;
    if (from === -1 && plainAt >= start) from = at;
    plainAt += character < '\u0080' ? 1 : plain(character).length;
    at += character.length;
  }
  return { from, to: at };
}

const WINDOW = 8;
const WORD_ENDS = /[\p{L}\p{N}_]\p{M}*$/u;
const WORD_BEGINS = /^[\p{L}\p{M}\p{N}_]/u;
const UNSPACED_ENDS = new RegExp(`${UNSPACED}\\p{M}*$`, 'u');
const UNSPACED_BEGINS = new RegExp(`^${UNSPACED}`, 'u');
// "can" is no part of "can't", nor 5 of 1.5.
const JOINS = [
  { ends: /\p{L}\p{M}*$/u, begins: /^'\p{L}/u },
  { ends: /\p{L}\p{M}*'$/u, begins: /^\p{L}/u },
  { ends: /\p{N}$/u, begins: /^[.,]\p{N}/u },
  { ends: /\p{N}[.,]$/u, begins: /^\p{N}/u },
];

/** Whether a word can begin or end at `at` of a plain text. */
function isBoundary(text: string, at: number): boolean {
  const left = text.slice(Math.max(0, at - WINDOW), at);
  const right = text.slice(at, at + WINDOW);
  if (/^[\p{M}\udc00-\udfff]/u.test(right)) return false;
  if (JOINS.some(({ ends, begins }) => ends.test(left) && begins.test(right))) return false;
  return !(WORD_ENDS.test(left) && WORD_BEGINS.test(right)) || UNSPACED_ENDS.test(left) || UNSPACED_BEGINS.test(right);
}
