// How much of a text the quotes that it rests on carry: the share of its words that stand in them.
// It tells an invention on a harmless line from a rule in other words. It cannot tell who does what to whom: the quote's
// own words in another order have a share of 1. Pure: texts in, a number out.

import { UNSPACED } from './literals.ts';

/**
 * So much must be carried. Of 0.40 to 0.50 the share that refuses fewest true entries of the recorded plays, 13 of 94, whose
 * players were told of no share; the quotes of one carry another of its session 13 times of 434. `carried.test.ts` counts
 * both halves of the sessions.
 */
export const CARRIED_SHARE = 0.4;

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

interface CarriedOptions {
  /** Words that do not count, lower case: `commonWords`, and those of the project's name. */
  common?: ReadonlySet<string>;
  /** Values of the text: each counts as a word, and is carried where `isIn` says so. */
  values?: { all: readonly string[]; isIn: (value: string, quoted: string) => boolean };
}

/** The share, 0 to 1, of the text's words of more than three letters that are alike a word of the quotes. */
export function carriedShare(text: string, quotes: Iterable<string>, { common, values }: CarriedOptions = {}): number {
  const shown = [...quotes].slice(0, CARRYING_QUOTES).map((quote) => quote.slice(0, CARRYING_CHARS));
  const quoted = shown.join('\n');
  for (const shortest of [SHORTEST_WORD, 2]) {
    const words = unitsOf(text, shortest).filter((word) => word !== FRAME);
    if (words.length === 0) continue;
    const telling = words.filter((word) => !common?.has(word));
    const asked = telling.length > 0 ? telling : words;
    const said = unitsOf(quoted, shortest);
    const alike = asked.filter((word) => said.some((other) => isAlike(word, other))).length;
    const proved = values?.all.filter((value) => values.isIn(value, quoted)).length ?? 0;
    return (alike + proved) / (asked.length + (values?.all.length ?? 0));
  }
  return 0;
}

/** The words that half of all messages hold. */
export function commonWords(messages: Iterable<string>): Set<string> {
  const counts = new Map<string, number>();
  let all = 0;
  for (const message of messages) {
    all += 1;
    for (const word of unitsOf(message, SHORTEST_WORD)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  if (all < LEAST_MESSAGES) return new Set();
  return new Set([...counts].flatMap(([word, count]) => (count * 2 >= all ? [word] : [])));
}

/** The words of a text, and the signs of what is written without spaces, each once. */
export function unitsOf(text: string, shortest = SHORTEST_WORD): string[] {
  const folded = text.normalize('NFKC').toLowerCase();
  const signs = (folded.match(SIGNS) ?? []).flatMap(signsOf);
  const words = folded.replace(SIGNS, ' ').match(WORD) ?? [];
  return [...new Set([...signs, ...words.filter((word) => [...word].length >= shortest)])];
}

/** A Chinese character is a word, or nearly; of other scripts two signs are. */
function signsOf(run: string): string[] {
  const signs = [...run];
  return signs.flatMap((sign, at) => (/\p{sc=Han}/u.test(sign) ? [sign] : at > 0 ? [`${signs[at - 1]}${sign}`] : []));
}

/** Whether two words begin alike (half of the longer, and four letters), or share two thirds of their letter trigrams. */
function isAlike(a: string, b: string): boolean {
  if (a === b) return true;
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  const beginning = Math.max(SHORTEST_WORD, Math.ceil(long.length / 2));
  if (short.length >= SHORTEST_WORD && long.startsWith(short.slice(0, beginning))) return true;
  const [of, others] = [trigrams(a), trigrams(b)];
  const shared = [...of].filter((each) => others.has(each)).length;
  return shared > 0 && shared >= SAME_TRIGRAMS * Math.max(of.size, others.size);
}

function trigrams(word: string): Set<string> {
  return new Set(Array.from({ length: Math.max(0, word.length - 2) }, (_, at) => word.slice(at, at + 3)));
}
