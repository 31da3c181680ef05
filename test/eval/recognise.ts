// Recognises facts in lines of text without a model. A pattern is a list of clauses between `&`, all of which must hold;
// a clause is a list of words between `|`, one of which must stand in the line; a clause behind `!` must not hold.
// Words are compared without regard to case and width, from the beginning to the end of a word; `*` lets a word go on.
// It reads words, not meaning: a line that negates a fact in words the pattern does not know is taken for it, and one
// that says it in quite other words is not found.

import type { Fact } from './set.ts';

export const METHOD =
  'Facts are recognised line by line by words and exact strings, in the language of the fact and in English, not by ' +
  'meaning: a paraphrase in other words counts as missing, a negation in unknown words as said.';

/** Which lines say which fact: indices of lines, by id of the fact. Facts in no line are absent. */
export type Recognition = Map<string, number[]>;

/** Whether the line says the fact. */
export function says(line: string, fact: Pick<Fact, 'match'>): boolean {
  return holds(plain(line), fact);
}

export function recognise(facts: Fact[], lines: string[]): Recognition {
  const found: Recognition = new Map();
  const texts = lines.map(plain);
  for (const fact of facts) {
    const at = texts.flatMap((text, index) => (holds(text, fact) ? [index] : []));
    if (at.length > 0) found.set(fact.id, at);
  }
  return found;
}

function holds(text: string, { match }: Pick<Fact, 'match'>): boolean {
  return clausesOf(match).every(({ pattern, isForbidden }) => pattern.test(text) !== isForbidden);
}

interface Clause {
  pattern: RegExp;
  isForbidden: boolean;
}

const compiled = new Map<string, Clause[]>();

function clausesOf(match: string): Clause[] {
  const known = compiled.get(match);
  if (known) return known;
  const clauses = match.split('&').map((part): Clause => {
    const clause = part.trim();
    const isForbidden = clause.startsWith('!');
    const words = clause.replace(/^!/, '').split('|');
    if (words.some((word) => word.trim() === '')) throw new Error(`An empty word in the pattern ${match}`);
    return { pattern: new RegExp(words.map(wordPattern).join('|'), 'v'), isForbidden };
  });
  compiled.set(match, clauses);
  return clauses;
}

/** Japanese puts no space between words, so there a word may stand anywhere. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u;
const WORD = '[[\\p{L}\\p{N}]--[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}]]';

function wordPattern(word: string): string {
  const bare = plain(word.trim());
  const goesOn = bare.endsWith('*');
  const source = (goesOn ? bare.slice(0, -1) : bare).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  if (UNSPACED.test(bare)) return source;
  return `(?<!${WORD})${source}${goesOn ? '' : `(?!${WORD})`}`;
}

function plain(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/[’ʼ]/g, "'").replace(/\s+/g, ' ');
}
