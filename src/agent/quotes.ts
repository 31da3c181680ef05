// Whether words stand in a text, and which words of the text they are.
// Tolerates what copying changes without changing what was said: white space, typographic quotes and dashes, composed
// or decomposed characters, the `| ` of an excerpt's lines. It never accepts a part of a word, and what it answers is
// always the text's own words.

import { segmentWords } from '../base/text/wording.ts';

/** `text` with each run of white space as one space, and none at its ends. */
export function foldSpace(text: string): string {
  // Single spaces are passed over: most of a text is in order already.
  return text.replace(/\s{2,}|[^\S ]/g, ' ').trim();
}

/** The words of `text` that `quote` names, white space folded; null where they do not stand there. */
export function findQuote(text: string, quote: string): string | null {
  const source = foldSpace(text);
  const unprefixed = quote.replace(/^[^\S\n]*\| ?/gm, '');
  return findWords(source, foldSpace(quote)) ?? findWords(source, foldSpace(unprefixed));
}

/** How many words a text has, in any script. */
export function countWords(text: string): number {
  return segmentWords(text).length;
}

function findWords(source: string, quote: string): string | null {
  const wanted = plain(quote);
  if (wanted === '') return null;
  const text = plain(source);
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) {
    if (isBoundary(text, at) && isBoundary(text, at + wanted.length)) return ownWords(source, at, wanted.length);
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

// Decomposed, because that can be done character by character: `ownWords` relies on it to find its way back.
function plain(text: string): string {
  let out = text.normalize('NFD');
  for (const [pattern, replacement] of LOOKALIKES) out = out.replace(pattern, replacement);
  return out;
}

/** The part of `source` whose plain form begins at `start` of the source's plain form and has `length`. */
function ownWords(source: string, start: number, length: number): string {
  let from = -1;
  let plainAt = 0;
  let at = 0;
  for (const character of source) {
    if (plainAt >= start + length) break;
    if (from === -1 && plainAt >= start) from = at;
    plainAt += character < '\u0080' ? 1 : plain(character).length;
    at += character.length;
  }
  return source.slice(from, at).trim();
}

const WINDOW = 8;
const WORD_ENDS = /[\p{L}\p{N}_]\p{M}*$/u;
const WORD_BEGINS = /^[\p{L}\p{M}\p{N}_]/u;
// Scripts that put no space between words.
const UNSPACED = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]`;
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
