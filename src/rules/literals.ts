// The values of a text that one may search for: URLs, paths, commands, numbers, dates, code. In any script or language.
// Promises: a value stands in a text as itself, never as a part of a longer one. Never says that two texts mean the same.

import { asSeen } from '../base/text/wording.ts';

/** A sign of a script that puts no space between words, as part of a regular expression. */
export const UNSPACED = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]`;
const SCRIPT_EDGE = new RegExp(`(?<=${UNSPACED})(?=[!-~])|(?<=[!-~])(?=${UNSPACED})`, 'gu');

/** What closes a sentence, or says that something was cut off, is no part of the value before it. */
const CLOSING = /(?<=[\p{L}\p{N}_/)\]])(?<!\.\/)\s?(?:…|\.{3})$|(?<=[\p{L}\p{N}_)\]])[.,;:]+$/u;

/**
 * The strings of a text that one may search for: code in backticks, URLs, paths, addresses, flags, names of files and
 * of things in code, and all that holds a digit.
 */
export function literals(text: string): string[] {
  const spans = [...text.matchAll(/`([^`]+)`/g)].map((match) => (match[1] as string).replace(CLOSING, ''));
  const words = text
    .replace(/`[^`]+`/g, ' ')
    .replace(SCRIPT_EDGE, ' ')
    .split(/[\s\p{sc=Han}、。，；：「」『』（）]+/u)
    .map((word) => word.replace(/^[("'“‘„«[{<*]+|(?<![)"'”’“»\]}>.,;:!?*…])[)"'”’“»\]}>.,;:!?*…]+$/g, ''))
    .filter(isValue);
  return [...new Set([...spans, ...words])];
}

function isValue(word: string): boolean {
  const isNamed = /^--?[a-z]|[\w.~-][/\\][\w.-]|^\w+_\w+|\S@\S|(?<![\w-])[\w-]{2,}\.[a-z]{2,}$/i.test(word);
  return isNamed || /\p{N}|\p{Ll}\p{Lu}/u.test(word);
}

const LONGEST_VALUE = 1_000;

/** Whether a value stands in a text as itself, not as a part of a longer one. */
export function containsLiteral(value: string, text: string): boolean {
  // What is shown of a tag begins with `‹`, and a model copies it.
  const wanted = value.normalize('NFC').replaceAll('‹', '<');
  const source = asSeen(text).replaceAll('‹', '<');
  // Whatever stands next to so much of the same is no other value.
  if (wanted.length > LONGEST_VALUE) return source.includes(wanted);
  const [begins, ends] = [/^[\p{L}\p{N}_]/u.test(wanted), /[\p{L}\p{N}_]$/u.test(wanted)];
  const isPath = /[/\\@.:-]/.test(wanted);
  for (let at = source.indexOf(wanted); at >= 0; at = source.indexOf(wanted, at + 1)) {
    const left = source.slice(Math.max(0, at - 2), at);
    const right = source.slice(at + wanted.length, at + wanted.length + 2);
    const isJoined = (side: string, { any, number, path }: typeof BEFORE, isNumber: boolean) =>
      any.test(side) || (isNumber && number.test(side)) || (isPath && path.test(side));
    const isCut =
      (begins && !UNSPACED_EDGE.before.test(left) && isJoined(left, BEFORE, /^\p{N}/u.test(wanted))) ||
      (ends && !UNSPACED_EDGE.behind.test(right) && isJoined(right, BEHIND, /\p{N}$/u.test(wanted)));
    if (!isCut) return true;
  }
  return false;
}

/**
 * Whether a path or a file's name stands in a text, also as the tail of a longer path and with other capitals:
 * `docs/plans` in `/home/kim/Docs/plans`.
 */
export function containsLiteralTail(value: string, text: string): boolean {
  const whole = value.normalize('NFC').toLowerCase();
  const wanted = whole.replace(/^(?:[.~]{0,2}[/\\])+/, '');
  if (wanted === '' || /^-|:\/\/|@/.test(wanted)) return false;
  const lower = asSeen(text).toLowerCase();
  const source = lower.replace(/(?<=[\p{L}\p{N}_.~-])[/\\]|[/\\](?=[\p{L}\p{N}_.])/gu, ' ');
  return containsLiteral(wanted.replace(/[/\\]/g, ' '), source);
}

/** What joins a value to what stands before and behind it: any value, one with a number there, and a path. */
const BEFORE = { any: /[\p{L}\p{N}_]$/u, number: /\p{N}[.,:/-]$/u, path: /[/\\@-]$/ };
const BEHIND = { any: /^[\p{L}\p{N}_]/u, number: /^[.,:/-]\p{N}/u, path: /^[/\\@-]|^[.:]\w/ };
const UNSPACED_EDGE = { before: new RegExp(`${UNSPACED}$`, 'u'), behind: new RegExp(`^${UNSPACED}`, 'u') };

const WEEKDAYS =
  /(?<!\p{L})(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch)(?=s?(?!\p{L}))/giu;

/** What of a text is searched for: also days of the week, where no date says which day is meant. */
export function valuesIn(text: string): string[] {
  return [...literals(text), ...(/\d{4}-\d{2}-\d{2}/.test(text) ? [] : (text.match(WEEKDAYS) ?? []))];
}

/** Whether a value stands in a text, a file's name also at the end of a path, a number also as it may else be written. */
export function isValueIn(value: string, text: string): boolean {
  if (containsLiteral(value, text)) return true;
  if (value.search(WEEKDAYS) === 0) return isDayIn(value.toLowerCase(), text);
  if (/^\d/.test(value)) return containsLiteral(plainNumbers(value), plainNumbers(text));
  return /\.\p{L}\w*$/u.test(value) && containsLiteral(value, text.replaceAll(`/${value}`, ` ${value}`));
}

/** Whether a text names a day of the week, in any number or among weekdays. */
function isDayIn(day: string, text: string): boolean {
  const isOfWork = !/^(?:s[au]|sams|sonn)/.test(day) && /(?<!\p{L})(?:weekday|werktag)/iu.test(text);
  return isOfWork || (text.match(WEEKDAYS) ?? []).some((each) => each.toLowerCase() === day);
}

function kindOf(value: string, text: string): string {
  if (text.includes(`\`${value}`)) return 'code';
  if (/^(?:[a-z]+:\/\/|(?:[\w-]+\.)+[a-z]{2,}\/)/i.test(value)) return 'url';
  if (/^\d{4}-\d{2}-\d{2}/.test(value)) return 'date';
  if (/[/\\]/.test(value)) return 'path';
  if (isTicket(value, text)) return 'ticket';
  return /^\D{0,2}\p{N}/u.test(value) ? 'number' : 'name';
}

/** Whether a number is that of a pull request or an issue, which counts nothing. */
function isTicket(value: string, text: string): boolean {
  const named = text.matchAll(/(?<!\p{L})(?:PR|MR|issue|pull request) (\d{1,12})(?!\p{N})/giu);
  return /^#\d+$/.test(value) || named.some(([, number]) => number === value);
}

/** A text with its numbers in one form: 3,200 as 3200, 5 % as 5%. */
function plainNumbers(text: string): string {
  const grouped = /(?<![\p{L}\p{N}.,_-])\d{1,3}(?:,\d{3})+(?![\p{L}\p{N}_]|[.,]\p{N})/gu;
  return text.replace(grouped, (number) => number.replaceAll(',', '')).replace(/(?<=\d)\s%/gu, '%');
}

/**
 * Two values of one kind of which each text has one that the other lacks ("port 5432", "port 5433"); null where there
 * are none. Such texts may look alike and still speak of different things.
 */
export function distinctValues(a: string, b: string): [string, string] | null {
  for (const one of literals(a).filter((value) => !containsLiteral(value, b))) {
    const isOther = (value: string) => kindOf(value, b) === kindOf(one, a) && !containsLiteral(value, a);
    const other = literals(b).find(isOther);
    if (other !== undefined) return [one, other];
  }
  return null;
}

/** The values of a text that must not be lost: dates that were past when it was said only say when. */
export function lastingValues(text: string, at: string): string[] {
  const isDate = (value: string) => /^\d{4}-\d{2}(?:-\d{2})?$/.test(value);
  return valuesIn(text).filter((value) => !isDate(value) || value > at.slice(0, value.length));
}

/** The values that none of the texts says. */
export function missingIn(values: string[], texts: string[]): string[] {
  return values.filter((value) => !texts.some((text) => isValueIn(value, text)));
}
