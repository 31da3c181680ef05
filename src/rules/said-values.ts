// Whether each value of an entry was said: numbers, versions, paths, names in code, addresses and flags stand in what it
// rests on, or in what the person typed. A file's name that was dictated may be spelled as the agent then called it.

import { distanceBetween } from '../base/text/wording.ts';
import { type Candidate, choiceOf, type EvidenceSource, nameOf, ownWordsOf, type Quoted, typedOf } from './evidence.ts';
import { containsLiteral, containsLiteralTail, isValueIn, literals } from './literals.ts';
import { promptsIn } from './spoken-text.ts';

/** A date was resolved, a small number may be written in words, and a name may begin with a digit: nothing tells these. */
const UNPROVABLE = /^(?:19|20)\d{2}(?:-\d{2}){0,2}(?!\d)|^(?:\d|1[0-2])$|^\d\p{Lu}?\p{Ll}+$/u;
/** Behind a file's name. */
const LINE_NUMBER = /(?<=\.[a-z]{1,5}):\d+(?:[:-]\d+)?(?!\w)/gi;

/** Whether a value leads somewhere or does something, and is no way of writing a number, a date, or one of two words. */
function isAddress(value: string): boolean {
  if (/^\p{L}[\p{L}-]*\/\p{L}[\p{L}-]*$/u.test(value)) return false;
  return /[@/\\]|^--?[a-z]|[\w-]{2,}\.[a-z]{2,}$/i.test(
    value.replace(/(?<![\w/\\.@-])\d+(?:\/\d+)+(?![\w/\\@-])/g, '0'),
  );
}

/** Whether a value stands in a text: also as the tail of a longer path, without a link's beginning, its parts as words. */
export function stands(value: string, text: string): boolean {
  const bare = value.replace(/^[a-z]+:\/\/(?:www\.)?/i, '').replace(/#\d+$/, '');
  const cut = value.split(/…|\.{3}|<\w+>/).filter((part) => part !== '');
  const hour = /^0?(\d{1,2}):00$/.exec(value)?.[1];
  const isIn = (source: string) =>
    isValueIn(hour ?? value, source) ||
    isValueIn(value, source) ||
    containsLiteralTail(bare, source) ||
    (cut[0] !== value && cut.every((part) => source.includes(part)));
  if (isIn(text) || isIn(text.replace(LINE_NUMBER, ''))) return true;
  const parts = /^\p{L}[\p{L}-]+(?:\/[\p{L}-]+)+$/u.test(value) ? value.toLowerCase().split('/') : [];
  const lower = text.toLowerCase();
  return parts.length > 0 && parts.every((part) => containsLiteral(part, lower));
}

/** The first value that nothing says which the entry rests on; `answered`: what of an agent's words a person answers. */
export function unsaidValueFault(candidate: Candidate, answered: (quote: Quoted) => string): string | null {
  const { text, quoted, shown, options, isStrict } = candidate;
  const [{ by }] = quoted;
  const typed = shown.flatMap((each) =>
    each.speaker === 'human' ? [ownWordsOf(each), ...promptsIn(typedOf(each))] : [],
  );
  const rests = quoted.map((each) => {
    if (!isStrict) return `${each.quote}\n${each.source.text}`;
    if (each.by === 'human') return choiceOf(each) ?? each.quote;
    return each.source.speaker === 'assistant' ? answered(each) : '';
  });
  const pool = [...typed, ...rests, ...(options.names ?? [])];
  const isProved = (value: string) =>
    UNPROVABLE.test(value) ||
    pool.some((each) => stands(value, each)) ||
    (!isAddress(value) && shown.some(({ text: each }) => stands(value, each))) ||
    isDictated(value, candidate);
  const unsaid = literals(text).find((value) => !isProved(value));
  if (unsaid === undefined) return null;
  const value = JSON.stringify(unsaid);
  const agent = quoted.find(({ source, quote }) => source.speaker === 'assistant' && containsLiteral(unsaid, quote));
  if (agent && by === 'human')
    return `text: ${value} is only what the agent says in ${nameOf(agent.source)}, and the human's answer does not take it up. Leave the value out.`;
  const theirs = quoted.find(({ source }) => source.speaker === 'human' && stands(unsaid, source.text));
  if (theirs)
    return `text: ${value} is only quoted or pasted by the human in ${nameOf(theirs.source)}. Quote it there together with their own words, or leave the value out.`;
  return `text: ${value} stands in none of the messages it rests on. Add the one that says it to the evidence, or leave the value out.`;
}

/** What an agent called, as it is shown. */
function callsOf({ speaker, text, words }: EvidenceSource): string {
  return speaker === 'assistant' && words !== undefined ? text.slice(text.startsWith(words) ? words.length : 0) : '';
}

/** Of a value's letters so many may be others where a person only spelled it: `recall prompt dot ts`. */
const MISSPELLED_SHARE = 1 / 4;

/** Whether a person spelled the name of what the agent then worked with; never an address or a flag. */
function isDictated(value: string, { quoted, shown }: Candidate): boolean {
  if (/^-|:\/\/|@/.test(value) || !shown.some((each) => stands(value, callsOf(each)))) return false;
  const fold = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
  const wanted = fold(value.split(/[/\\]/).at(-1) ?? value);
  return quoted.some(({ quote, by }) => {
    const words = by === 'human' ? quote.split(/\s+/) : [];
    return words.some((_, from) =>
      [1, 2, 3, 4, 5].some((count) => {
        const spelled = fold(words.slice(from, from + count).join(''));
        return distanceBetween(wanted, spelled) <= wanted.length * MISSPELLED_SHARE;
      }),
    );
  });
}
