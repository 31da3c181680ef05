// The shape of a rule that a pattern finds.

import type { Found } from './token-forms.ts';

/** One way to recognise a secret. */
export interface SecretRule {
  id: string;
  /** Global. The group `secret`, `quoted` or `bare`, else the whole match, is replaced; it ends where `tail` begins. */
  pattern: RegExp;
  /** `before` is what stands left of the match, up to 80 characters of its line. */
  isSecret?(value: string, groups: Record<string, string | undefined>, before: string): boolean;
}

export const PLACEHOLDER = '[redacted:';

export function findByRule(text: string, rule: SecretRule): Found[] {
  const spans: Found[] = [];
  for (const match of text.matchAll(rule.pattern)) {
    const groups = match.groups ?? {};
    const value = groups.secret ?? groups.quoted ?? groups.bare ?? match[0];
    if (value.includes(PLACEHOLDER)) continue;
    const before = text.slice(Math.max(0, match.index - 80), match.index);
    if (rule.isSecret?.(value, groups, before) === false) continue;
    const end = match.index + match[0].length - (groups.tail?.length ?? 0);
    spans.push({ rule: rule.id, start: end - value.length, end });
  }
  return spans;
}

/** A line break inside a token: real, continued with a backslash, or still escaped. */
export const BREAK = String.raw`(?:\\{1,4}r)?(?:\\{1,4}n|\\?\r?\n)[ \t]{0,40}`;

/** What ends in a letter or digit and yet ends a word: an escape of JSON, Python, C or a URL, a colour of a terminal. */
const ENDS_AS_ESCAPE = /(?:\\[nrtbfvae0]|\\u[\da-f]{4}|\\x[\da-f]{2}|\\[0-3][0-7]{2}|%[\da-f]{2}|\[[\d;]{0,12}m)$/i;

export function isAtWordStart(text: string, at: number): boolean {
  return !/[A-Za-z0-9]/.test(text[at - 1] ?? ' ') || ENDS_AS_ESCAPE.test(text.slice(Math.max(0, at - 15), at));
}

/** The same as a part of a pattern. */
export const WORD_START = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrtbfvae0]|\\[uU][\da-fA-F]{4}|\\[xX][\da-fA-F]{2}|%[\da-fA-F]{2}|\[[\d;]{0,12}m))`;

/** The text, as long as it was, with spaces where an escape stands: what knows no escapes finds its words in it. */
export function blankEscapes(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\+(?:[nrtbfv]|u[\da-f]{4}|x[\da-f]{2})/gi, (sign) => ' '.repeat(sign.length));
}

/** Shannon's entropy, in bits a character. */
export function bitsOf(value: string): number {
  const counts = new Map<string, number>();
  for (const letter of value) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}

/** Digits, and letters of both cases, in an order that no word or name has. */
export function isShuffled(value: string): boolean {
  const letters = value.replace(/[^A-Za-z0-9]/g, '');
  if (!/\d/.test(letters) || !/[a-z]/.test(letters) || !/[A-Z]/.test(letters)) return false;
  return changesIn(letters) >= letters.length / 4;
}

/** In an order that no word or name has; one case will do where there are digits. */
export function isMachineMade(value: string): boolean {
  const letters = value.replace(/[^A-Za-z0-9]/g, '');
  if (letters.length < 8 || bitsOf(letters) < 2) return false;
  if (/^\d+$/.test(letters)) return true;
  if (/\d/.test(letters)) return changesIn(letters) >= letters.length / 8;
  return /[a-z]/.test(letters) && /[A-Z]/.test(letters) && changesIn(letters) >= letters.length / 5;
}

/** How often the kind of character changes: lower case, upper case, digit. */
function changesIn(letters: string): number {
  return letters.match(/[a-z](?=[A-Z0-9])|[A-Z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0;
}
