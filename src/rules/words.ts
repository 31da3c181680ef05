// The words of a text, in any script: which two texts share, and whether something is denied.
// Never says that two texts mean the same; only that they cannot.

import { asSeen } from '../base/text/wording.ts';
import { DENIES } from './languages.ts';
import { EMPTY, GIVEN_UP } from './lexicon.ts';
import { containsLiteral, literals } from './literals.ts';

const NEGATION = new RegExp(DENIES, 'giu');
const CONTRAST = new RegExp(`(?<!\\p{L})(?:${GIVEN_UP}|代替|而不是)(?!\\p{L})`, 'iu');

/** Whether a text denies or forbids something, or prefers something to another. */
export function isNegated(text: string): boolean {
  return text.search(NEGATION) >= 0 || CONTRAST.test(text);
}

const GIVEN_UP_THING = new RegExp(`(?<!\\p{L})(?:${GIVEN_UP})\\s+(?:\`[^\`]+\`|[^\\s,;.()]+)`, 'giu');

/** The text without what it names only to leave it ("instead of npm"): who looks for that is not led to it. */
export function withoutGivenUp(text: string): string {
  return text.replace(GIVEN_UP_THING, ' ');
}

/** Whether two texts say the same words, the one denying what the other does not: "Always squash", "Never squash". */
export function isOpposite(a: string, b: string): boolean {
  if (a.search(NEGATION) >= 0 === b.search(NEGATION) >= 0) return false;
  const rest = (text: string) =>
    wordsOf(
      text.replace(NEGATION, ' ').replace(/\b(?:always|immer|toujours|siempre|sempre|do|does|必须|总是)\b/giu, ' '),
    ).join(' ');
  return rest(a) !== '' && rest(a) === rest(b);
}

// Making one costs more than cutting a line up with it.
const WORDS = new Intl.Segmenter('und', { granularity: 'word' });
/** The pattern remembers each character of a word: one of megabytes would be too much for it. */
const AT_MOST = 500_000;
/** The same words of a text in ASCII, in a fifteenth of the time. */
const ASCII_WORDS = /(?<!_)(?:_{2,}|_?[A-Za-z0-9])(?:\w|(?<=[A-Za-z])[.':](?=[A-Za-z])|(?<=\d)[.,;'](?=\d))*/g;

/** The words of a text as they stand in it, in any script. */
export function segmentWords(text: string): string[] {
  if (text.length <= AT_MOST && !/[^\0-\x7f]/.test(text)) return text.match(ASCII_WORDS) ?? [];
  return [...WORDS.segment(text)].flatMap(({ isWordLike, segment }) => (isWordLike ? segment : []));
}

function wordsOf(text: string): string[] {
  return segmentWords(asSeen(text).toLowerCase());
}

/** The words that carry meaning, lower case, each once; in a script without spaces single signs count. */
export function contentWords(text: string): Set<string> {
  const words = wordsOf(text).filter((word) => !EMPTY.has(word));
  return new Set(words.filter((word) => word.length > 2 || /\p{N}/u.test(word) || /[^\p{sc=Latin}\p{P}]/u.test(word)));
}

/** How many content words of `a` stand in `b`, also with another ending ("test", "tests"). */
function countShared(a: string, b: string): number {
  return countSharedWords(contentWords(a), contentWords(b));
}

export function countSharedWords(a: Set<string>, b: Set<string>): number {
  const others = [...b];
  return [...a].filter((word) => b.has(word) || others.some((other) => isSameWord(word, other))).length;
}

/** How many of the words of `a` stand in `b`, as a part of those of the shorter of the two; 0 where one is empty. */
export function sharedPart(a: Set<string>, b: Set<string>): number {
  return countSharedWords(a, b) / Math.max(1, Math.min(a.size, b.size));
}

/** Whether a text speaks of what another does, as far as words and values tell. */
export function sharesTopic(text: string, other: string): boolean {
  return countShared(text, other) > 0 || literals(text).some((value) => containsLiteral(value, other));
}

/** The share of all content words of both that both have: 1 for the same words. */
export function similarity(a: string, b: string): number {
  const all = contentWords(a).size + contentWords(b).size;
  return all === 0 ? 0 : (countShared(a, b) + countShared(b, a)) / all;
}

/** Whether two content words are one, also with another ending. */
export function isSameWord(a: string, b: string): boolean {
  if (a === b) return true;
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return short.length >= 4 && long.length - short.length <= 3 && long.startsWith(short);
}
