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
  return (
    /\p{N}/u.test(word) ||
    /^--?[a-z]/i.test(word) ||
    /[\w.~-][/\\][\w.-]/.test(word) ||
    /^\w+_\w+/.test(word) ||
    /\S@\S/.test(word) ||
    /(?<![\w-])[\w-]{2,}\.[a-z]{2,}$/i.test(word) ||
    /\p{Ll}\p{Lu}/u.test(word)
  );
}

const LONGEST_VALUE = 1_000;

/** Whether a value stands in a text as itself, not as a part of a longer one. */
export function containsLiteral(value: string, text: string): boolean {
  // What is shown of a tag begins with `‹`, and a model copies it.
  const [wanted, source] = [value.normalize('NFC'), asSeen(text)].map((each) => each.replaceAll('‹', '<')) as [
    string,
    string,
  ];
  // Whatever stands next to so much of the same is no other value.
  if (wanted.length > LONGEST_VALUE) return source.includes(wanted);
  const isPath = /[/\\@.:-]/.test(wanted);
  for (let at = source.indexOf(wanted); at >= 0; at = source.indexOf(wanted, at + 1)) {
    const left = source.slice(Math.max(0, at - 2), at);
    const right = source.slice(at + wanted.length, at + wanted.length + 2);
    const isCut =
      (/^[\p{L}\p{N}_]/u.test(wanted) && isJoinedBefore(left, { isPath, isNumber: /^\p{N}/u.test(wanted) })) ||
      (/[\p{L}\p{N}_]$/u.test(wanted) && isJoinedBehind(right, { isPath, isNumber: /\p{N}$/u.test(wanted) }));
    if (!isCut) return true;
  }
  return false;
}

/**
 * Whether a path or a file's name stands in a text, also as the tail of a longer path and with other capitals:
 * `docs/plans` in `/home/kim/Docs/plans`.
 */
export function containsLiteralTail(value: string, text: string): boolean {
  const wanted = value
    .normalize('NFC')
    .replace(/^(?:[.~]{0,2}[/\\])+/, '')
    .toLowerCase();
  if (wanted === '' || /^-|:\/\/|@/.test(wanted)) return false;
  const source = asSeen(text)
    .toLowerCase()
    .replace(/(?<=[\p{L}\p{N}_.~-])[/\\]|[/\\](?=[\p{L}\p{N}_.])/gu, ' ');
  return containsLiteral(wanted.replace(/[/\\]/g, ' '), source);
}

function isJoinedBefore(left: string, { isPath, isNumber }: { isPath: boolean; isNumber: boolean }): boolean {
  if (new RegExp(`${UNSPACED}$`, 'u').test(left)) return false;
  return /[\p{L}\p{N}_]$/u.test(left) || (isNumber && /\p{N}[.,:/-]$/u.test(left)) || (isPath && /[/\\@-]$/.test(left));
}

function isJoinedBehind(right: string, { isPath, isNumber }: { isPath: boolean; isNumber: boolean }): boolean {
  if (new RegExp(`^${UNSPACED}`, 'u').test(right)) return false;
  if (/^[\p{L}\p{N}_]/u.test(right) || (isNumber && /^[.,:/-]\p{N}/u.test(right))) return true;
  return isPath && (/^[/\\@-]/.test(right) || /^[.:]\w/.test(right));
}

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

type Kind = 'code' | 'url' | 'date' | 'path' | 'ticket' | 'number' | 'name';

function kindOf(value: string, text: string): Kind {
  if (text.includes(`\`${value}`)) return 'code';
  if (/^(?:[a-z]+:\/\/|(?:[\w-]+\.)+[a-z]{2,}\/)/i.test(value)) return 'url';
  if (/^\d{4}-\d{2}-\d{2}/.test(value)) return 'date';
  if (/[/\\]/.test(value)) return 'path';
  if (isTicket(value, text)) return 'ticket';
  return /^\D{0,2}\p{N}/u.test(value) ? 'number' : 'name';
}

/** Whether a number is that of a pull request or an issue, which counts nothing. */
function isTicket(value: string, text: string): boolean {
  if (/^#\d+$/.test(value)) return true;
  return (
    /^\d{1,12}$/.test(value) &&
    new RegExp(`(?<!\\p{L})(?:PR|MR|issue|pull request) ${value}(?!\\p{N})`, 'iu').test(text)
  );
}

/** A text with its numbers in one form: 3,200 as 3200, 5 % as 5%. */
function plainNumbers(text: string): string {
  return text
    .replace(/(?<![\p{L}\p{N}.,_-])\d{1,3}(?:,\d{3})+(?![\p{L}\p{N}_]|[.,]\p{N})/gu, (number) =>
      number.replaceAll(',', ''),
    )
    .replace(/(?<=\d)\s%/gu, '%');
}

/**
 * Two values of one kind of which each text has one that the other lacks ("port 5432", "port 5433"); null where there
 * are none. Such texts may look alike and still speak of different things.
 */
export function distinctValues(a: string, b: string): [string, string] | null {
  const [ofA, ofB] = [a, b].map((text) => Map.groupBy(literals(text), (value) => kindOf(value, text)));
  for (const [kind, values] of ofA ?? []) {
    const others = ofB?.get(kind) ?? [];
    const onlyA = values.find((value) => !containsLiteral(value, b));
    const onlyB = others.find((value) => !containsLiteral(value, a));
    if (onlyA !== undefined && onlyB !== undefined) return [onlyA, onlyB];
  }
  return null;
}
