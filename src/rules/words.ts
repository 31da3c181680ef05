// The words of a text, in any script: which two texts share, how much of one stands in another, and whether one denies it.
// It tells an invention on a harmless line from a rule in other words. It never says that two texts mean the same: the
// words of one in another order have a share of 1.

import { asSeen } from '../base/text/wording.ts';
import { ALWAYS, DENIES, EMPTY, GIVEN_UP } from './languages.ts';
import { containsLiteral, literals, UNSPACED } from './literals.ts';

const NEGATION = new RegExp(DENIES, 'giu');
const CONTRAST = new RegExp(`(?<!\\p{L})(?:${GIVEN_UP}|代替|而不是)(?!\\p{L})`, 'iu');
const PLAIN = new RegExp(`(?<!\\p{L})(?:${ALWAYS}|do|does)(?!\\p{L})`, 'giu');
const GIVEN_UP_THING = new RegExp(`(?<!\\p{L})(?:${GIVEN_UP})\\s+(?:\`[^\`]+\`|[^\\s,;.()]+)`, 'giu');

/** Whether a text denies or forbids something, or prefers something to another. */
export const isNegated = (text: string) => text.search(NEGATION) >= 0 || CONTRAST.test(text);

/** The text without what it names only to leave it ("instead of npm"): who looks for that is not led to it. */
export const withoutGivenUp = (text: string) => text.replace(GIVEN_UP_THING, ' ');

/** Whether two texts say the same words, the one denying what the other does not: "Always squash", "Never squash". */
export function isOpposite(a: string, b: string): boolean {
  if (a.search(NEGATION) >= 0 === b.search(NEGATION) >= 0) return false;
  const [rest, other] = [a, b].map(withoutDenial);
  return rest !== '' && rest === other;
}

/** The words of a text but for what affirms or denies them: opposites have the same. */
export const withoutDenial = (text: string) => wordsOf(text.replace(NEGATION, ' ').replace(PLAIN, ' ')).join(' ');

/** Making one costs more than cutting a line up with it, and most starts of a process need none. */
let words: Intl.Segmenter | undefined;
/** The pattern remembers each character of a word: one of megabytes would be too much for it. */
const AT_MOST = 500_000;
/** The same words of a text in ASCII, in a fifteenth of the time. */
const ASCII_WORDS = /(?<!_)(?:_{2,}|_?[A-Za-z0-9])(?:\w|(?<=[A-Za-z])[.':](?=[A-Za-z])|(?<=\d)[.,;'](?=\d))*/g;

/** The words of a text as they stand in it, in any script. */
export function segmentWords(text: string): string[] {
  if (text.length <= AT_MOST && !/[^\0-\x7f]/.test(text)) return text.match(ASCII_WORDS) ?? [];
  words ??= new Intl.Segmenter('und', { granularity: 'word' });
  return [...words.segment(text)].flatMap(({ isWordLike, segment }) => (isWordLike ? segment : []));
}

const wordsOf = (text: string): string[] => segmentWords(asSeen(text).toLowerCase());

/** The words that carry meaning, lower case, each once; in a script without spaces single signs count. */
export function contentWords(text: string): Set<string> {
  const isTelling = (word: string) => word.length > 2 || /\p{N}|[^\p{sc=Latin}\p{P}]/u.test(word);
  return new Set(wordsOf(text).filter((word) => !EMPTY.has(word) && isTelling(word)));
}

/** How many words stand in others, also with another ending ("test", "tests"). */
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
  const isShared = countSharedWords(contentWords(text), contentWords(other)) > 0;
  return isShared || literals(text).some((value) => containsLiteral(value, other));
}

/** The share of all content words of both that both have: 1 for the same words. */
export function similarity(a: string, b: string): number {
  const [words, others] = [contentWords(a), contentWords(b)];
  const all = words.size + others.size;
  return all === 0 ? 0 : (countSharedWords(words, others) + countSharedWords(others, words)) / all;
}

/** Whether two content words are one, also with another ending. */
export function isSameWord(a: string, b: string): boolean {
  if (a === b) return true;
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return short.length >= 4 && long.length - short.length <= 3 && long.startsWith(short);
}

// How much of a text is carried by what it rests on.

/**
 * So much must be carried. Of 0.40 to 0.50 the share that refuses fewest true entries of the recorded plays, 13 of 94, whose
 * players were told of no share; the quotes of one carry another of its session 13 times of 434. `carried.test.ts` counts
 * both halves of the sessions.
 */
export const CARRIED_SHARE = 0.4;
/** And of what an agent found out, where each value of it was quoted. */
export const SUMMED_SHARE = 0.2;

/** Quotes that count, and characters of each: all that a person ever said carries anything. */
const CARRYING_QUOTES = 3;
export const CARRYING_CHARS = 300;
/** In fewer messages a word that half of them hold says nothing yet. */
const LEAST_MESSAGES = 8;
const SHORTEST_WORD = 4;
/** What the prompt calls the person, who does not say it. */
const FRAME = 'user';
const SAME_TRIGRAMS = 2 / 3;
const WORD = /\p{L}[\p{L}\p{M}\p{N}]*/gu;
/** Of words that are written without spaces between them the signs count. */
const SIGNS = new RegExp(`${UNSPACED}+`, 'gu');

interface ShareOptions {
  /** Words that do not count, lower case: `commonWords`, and those of the project's name. */
  common?: ReadonlySet<string>;
  /** Values of the text: each counts as a word, and is carried where `isIn` says so. */
  values?: { all: readonly string[]; isIn: (value: string, quoted: string) => boolean };
}

/** The share of a text that a few quotes carry, of which no more than their beginnings count. */
export function carriedShare(text: string, quotes: string[], options?: ShareOptions): number {
  const shown = quotes.slice(0, CARRYING_QUOTES).map((quote) => quote.slice(0, CARRYING_CHARS));
  return shareIn(text, shown.join('\n'), options);
}

/** The share, 0 to 1, of a text's words of more than three letters that are alike a word of another. */
export function shareIn(text: string, other: string, { common, values }: ShareOptions = {}): number {
  for (const shortest of [SHORTEST_WORD, 2]) {
    const words = unitsOf(text, shortest).filter((word) => word !== FRAME);
    if (words.length === 0) continue;
    const telling = words.filter((word) => !common?.has(word));
    const asked = telling.length > 0 ? telling : words;
    const said = unitsOf(other, shortest);
    const alike = asked.filter((word) => said.some((each) => isAlike(word, each))).length;
    const proved = values?.all.filter((value) => values.isIn(value, other)).length ?? 0;
    return (alike + proved) / (asked.length + (values?.all.length ?? 0));
  }
  return 0;
}

/** The words that half of all messages hold. */
export function commonWords(messages: string[]): Set<string> {
  const counts = Map.groupBy(
    messages.flatMap((message) => unitsOf(message)),
    (word) => word,
  );
  const common = [...counts].flatMap(([word, { length }]) => (length * 2 >= messages.length ? [word] : []));
  return new Set(messages.length < LEAST_MESSAGES ? [] : common);
}

/** The words of a text, and the signs of what is written without spaces, each once: a Chinese one is a word, of others two are. */
export function unitsOf(text: string, shortest = SHORTEST_WORD): string[] {
  const folded = text.normalize('NFKC').toLowerCase();
  const signs = (folded.match(SIGNS) ?? []).flatMap((run) =>
    [...run].flatMap((sign, at, all) => (/\p{sc=Han}/u.test(sign) ? sign : at > 0 ? `${all[at - 1]}${sign}` : [])),
  );
  const words = folded.replace(SIGNS, ' ').match(WORD) ?? [];
  return [...new Set([...signs, ...words.filter((word) => [...word].length >= shortest)])];
}

/** Whether two words begin alike (half of the longer, and four letters), or share two thirds of their letter trigrams. */
function isAlike(a: string, b: string): boolean {
  if (a === b) return true;
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  const beginning = Math.max(SHORTEST_WORD, Math.ceil(long.length / 2));
  if (short.length >= SHORTEST_WORD && long.startsWith(short.slice(0, beginning))) return true;
  const trigrams = (word: string) => new Set(Array.from(word.slice(2), (_, at) => word.slice(at, at + 3)));
  const [of, others] = [trigrams(a), trigrams(b)];
  const shared = of.intersection(others).size;
  return shared > 0 && shared >= SAME_TRIGRAMS * Math.max(of.size, others.size);
}

/** What is shorter says nothing by itself. */
const CLAUSE_WORDS = 3;

/** What a line says, sentence by sentence and behind each comma, colon or bracket; what is short belongs to what is before it. */
export function clausesOf(line: string): string[] {
  const clauses: string[] = [];
  for (const part of line.split(/(?<=[.;:!?,])\s+|\s+[–—]\s+|\s*[()]\s*/)) {
    const isShort = isFragment(part);
    if (isShort && clauses.length > 0) clauses.push(`${clauses.pop()} ${part}`);
    else if (part !== '') clauses.push(part);
  }
  const [first = '', second, ...rest] = clauses;
  return second !== undefined && isFragment(first) ? [`${first} ${second}`, ...rest] : clauses;
}

function isFragment(part: string): boolean {
  return [...contentWords(part)].filter((word) => /\p{L}/u.test(word)).length < CLAUSE_WORDS;
}
