// Makes secrets from the forms of the vendors' table, near misses of them, and the places where they turn up.

import { type FormPart, partsOf, plainForms } from '../../src/base/secrets/token-forms.ts';
import type { Random } from './random.ts';

const ALL = 'aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW0xYbCcDeFgHiIjKlMnOoPqRsTuVwXyZzA_-+/=.~@%|';

const lettersBySet = new Map<string, { letters: string[]; plain: string[] }>();

/** The letters of a set, and of these the ones that are no signs. */
function lettersOf(set: string): { letters: string[]; plain: string[] } {
  let known = lettersBySet.get(set);
  if (known === undefined) {
    const inSet = new RegExp(`[${set}]`);
    const letters = [...ALL].filter((letter) => inSet.test(letter));
    known = { letters, plain: letters.filter((letter) => /[A-Za-z0-9]/.test(letter)) };
    lettersBySet.set(set, known);
  }
  return known;
}

function run(part: Exclude<FormPart, string>, length: number, random: Random): string {
  const { letters, plain } = lettersOf(part.set);
  // Signs come seldom, and never at the ends, where they would be punctuation; both kinds of letters come soon.
  const any = (at: number) => (at === 0 || at === length - 1 || random.below(12) > 0 ? plain : letters);
  return Array.from({ length }, (_, at) => random.pick(any(at).length === 0 ? letters : any(at))).join('');
}

/** A secret of the form. */
export function secretOf(form: string, random: Random): string {
  return partsOf(random.pick(plainForms(form)))
    .map((part) => (typeof part === 'string' ? part : run(part, part.least, random)))
    .join('');
}

/** What differs from a secret of the form by one thing: its last run is too short, or its first letters are others. */
export function nearMissesOf(form: string, random: Random): string[] {
  const misses: string[] = [];
  for (const plain of plainForms(form)) {
    const parts = partsOf(plain);
    const last = parts.findLastIndex((part) => typeof part !== 'string');
    const made = parts.map((part) => (typeof part === 'string' ? part : run(part, part.least, random)));
    const cut = parts[last] as Exclude<FormPart, string>;
    if (cut.short > 1) misses.push(made.with(last, run(cut, cut.short - 1, random)).join(''));
    if (typeof parts[0] === 'string') misses.push(made.with(0, parts[0].replace(/[a-z]/gi, 'q')).join(''));
  }
  return misses;
}

export type Place = (secret: string, before?: string) => string;

/** Where a secret turns up; `before` is what names it, if anything does. */
export const PLACES: Record<string, Place> = {
  'human text': (secret, before = 'use ') => `Hello, for the staging box ${before}${secret} please, and tell Kim.`,
  'the end of a sentence': (secret, before = 'It is ') => `${before}${secret}.\nThen go on.`,
  'tool output': (secret, before = 'out: ') => `$ run\n  ok 1\n${before}${secret}\n  done in 3 s\n`,
  'coloured tool output': (secret, before = '') => `ok\n\u001b[32m${before}${secret}\u001b[0m\n`,
  'tool input': (secret, before = '') => JSON.stringify({ command: `deploy --now\n${before}${secret}\necho done` }),
  'JSON in JSON': (secret, before = '') =>
    JSON.stringify({ body: JSON.stringify({ text: `first\n${before}${secret}\tnext\r\n` }) }),
  'after an escaped line end': (secret, before = '') => `{"logs":"started\\r\\n${before}${secret}\\nready"}`,
  'after an escaped tab': (secret, before = '') => `{\\"row\\": \\"a\\t${before}${secret}\\tb\\"}`,
  'a Python repr': (secret, before = '') => `b'\\x1b[0m\\n${before}${secret}\\n'`,
};
