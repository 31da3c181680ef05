// How two statements relate, by their words alone: the same, one newer than the other, or strangers.
// What merely looks alike stays distinct: a different number, name or "not" is a different statement.

import { contentWords, isOpposite } from '../../base/text/wording.ts';
import { DATE } from './lexicon.ts';

/** What is longer says more than one thing, or takes these patterns too long. */
const STATEMENT_CHARS = 400;
/** What the same event on another date may be said with. */
const MOVED =
  /\b(?:\d{4}-\d{2}-\d{2}|moved|shifted|changed|postponed|pushed|delayed|brought|forward|back|due|new|date|planned|scheduled)\b/gi;
/** "Use pnpm instead of npm", "prefers tabs for code": what is taken, what is left, for what. */
const CHOICE =
  /\b(?:uses?|prefers?)\s+(?<taken>.+?)(?:\s+(?:instead of|rather than|over)\s+(?<left>.+?)|,\s*not\s+(?<leftOut>.+?))?(?:\s+(?:for|when|as|in)\s+(?<purpose>.+?))?(?:[,;:]\s.*|,?\s+(?:since|because)\s.*)?$/i;
const TURNED_CHOICE = /^instead of (?<left>.+?),\s*use (?<taken>.+)$/i;
/** "Bugs are tracked in …", "The user's editor is …". */
const PLACED =
  /^(?<about>.+?\s(?:(?:is|are|gets?) (?:kept|\w+ed)|lives?)\s(?:in|at|on|under|via)|The user's .+? is)\s/i;

/** A thing, by each of its names, that has one value at a time. */
type Claim = { about: string[]; value: string };

/** Whether both say the same with the same words in the same order, numbers included, whatever the punctuation. */
export function isSame(a: string, b: string): boolean {
  return a === b || (inOrder(a) === inOrder(b) && inOrder(a) !== '');
}

/** Whether both speak of the same thing and give it different values, so that only the newer can hold. */
export function isChanged(a: string, b: string): boolean {
  if (Math.max(a.length, b.length) > STATEMENT_CHARS || isSame(a, b)) return false;
  if (isOpposite(a, b)) return true;
  const others = claimsOf(b);
  return claimsOf(a).some(({ about, value }) =>
    others.some((other) => other.value !== value && other.about.some((thing) => about.includes(thing))),
  );
}

function claimsOf(text: string): Claim[] {
  const plain = text.replace(/[.!]+$/, '');
  const placed = PLACED.exec(plain.replace(/ now /i, ' '))?.groups;
  const { taken = '', left, leftOut, purpose } = (TURNED_CHOICE.exec(plain) ?? CHOICE.exec(plain))?.groups ?? {};
  const event = () => [...contentWords(plain.replace(MOVED, ' '))].sort().join(' ');
  const claims = [
    { about: [placed?.about ?? ''], value: plain },
    // A choice is about what is taken and what is left, and what it is for.
    { about: [taken, left ?? leftOut ?? '', purpose ?? ''], value: taken },
    { about: [DATE.test(plain) ? `on ${event()}` : ''], value: plain },
  ];
  return claims.map(({ about, value }) => ({ about: about.map(inOrder).filter(Boolean), value: inOrder(value) }));
}

/** The words of a text in their order. Only the capital of its beginning says nothing: "Tabs" may be a name. */
function inOrder(text: string): string {
  const [first = '', ...rest] = text.match(/[\p{L}\p{N}](?:[\p{L}\p{N}'’+#@/_.:-]*[\p{L}\p{N}+#])?/gu) ?? [];
  const words = [first.toLowerCase(), ...rest].map((word) => word.replace('’', "'"));
  return words.filter((word) => !/^(?:an?|the|is|are)$/.test(word)).join(' ');
}
