// What code can tell of two texts without understanding them: the values that one may search for (URLs, paths, commands,
// numbers, dates, code), whether something is denied, which words they share. Whatever script or language.
// It never says that two texts mean the same; it says that they cannot. And how a number of things is said, and what
// a person may have meant who typed a name that is none, and how much of something fits.

import { EMPTY, GIVEN_UP, NEGATION_WORDS } from './lexicon.ts';

/** A number of things: `1 topic`, `2 topics`, `0 entries`. */
export function sayCount(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : noun.replace(/(?<![aeiou])y$/, 'ie').replace(/$/, 's')}`;
}

// Nobody sees these, and a text with them is not what it looks like: controls, direction, fillers, tags, halves.
const UNSEEN =
  /\u034f|[\p{Cc}\p{Cs}\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Whether a text holds characters that nobody sees; a tab and line ends are seen. */
export function hasUnseen(text: string): boolean {
  return text.replace(/[\t\n\r]/g, ' ').search(UNSEEN) >= 0;
}

/** What most texts have none of: they are letters, digits and signs of ASCII with single spaces between them. */
const NOT_PLAIN = /[^ -~]|^ | $| {2}/;

/** The text as it is seen: without what is not, composed, white space as single spaces. */
export function asSeen(text: string): string {
  if (!NOT_PLAIN.test(text)) return text;
  return text
    .replace(/[\t-\r\u0085\u2028\u2029]/g, ' ')
    .replace(UNSEEN, '')
    .replace(/\s+/g, ' ')
    .normalize('NFC')
    .trim();
}

const UNSPACED = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]`;
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

const NEGATION = new RegExp(
  `(?<![\\p{L}\\p{N}_])(?:${NEGATION_WORDS})(?![\\p{L}\\p{N}_])|不|没|沒|别|勿|未|無|无|禁止|ない|ません|않|말고|마세요|(?<![\\p{L}])(?:안|لا|ليس|لن)(?![\\p{L}])`,
  'giu',
);
const CONTRAST = new RegExp(`(?<!\\p{L})(?:${GIVEN_UP}|代替|而不是)(?!\\p{L})`, 'iu');

/** Whether a text denies or forbids something, or prefers something to another. */
export function isNegated(text: string): boolean {
  return text.search(NEGATION) >= 0 || CONTRAST.test(text);
}

/** The first word by which a text denies or forbids something; null where none does. */
export function negationIn(text: string): string | null {
  return text.match(NEGATION)?.[0] ?? null;
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
export function countShared(a: string, b: string): number {
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

/** The most that is held, below what is too many and not below `least`: by halves, since a part of what is held is held. */
export function mostThat(isHeld: (count: number) => boolean, tooMany: number, least = 0): number {
  let [most, bound] = [least, tooMany];
  while (bound - most > 1) {
    const middle = (most + bound) >> 1;
    if (isHeld(middle)) most = middle;
    else bound = middle;
  }
  return most;
}

/** The known names that are nearest to a word, best first; none where nothing is near. */
export function nearest(word: string, names: Iterable<string>): string[] {
  const typed = word.toLowerCase();
  const near = [...names].flatMap((name) => {
    const distance = distanceBetween(typed, name.toLowerCase());
    const isPart = typed.length >= 3 && name.toLowerCase().includes(typed);
    const isNear = isPart || distance <= Math.max(1, Math.floor(Math.max(typed.length, name.length) * 0.4));
    return isNear ? [{ name, distance: isPart ? 0.5 : distance }] : [];
  });
  near.sort((a, b) => a.distance - b.distance || a.name.localeCompare(b.name));
  return near.slice(0, 3).map(({ name }) => name);
}

/** A remedy that names what is near; `otherwise` where nothing is. */
export function didYouMean(word: string, names: Iterable<string>, otherwise: string): string {
  const near = nearest(word, names);
  return near.length > 0 ? `Did you mean ${near.join(' or ')}?` : otherwise;
}

/** How many letters have to be put in, taken out, replaced, or changed with the next. */
export function distanceBetween(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isTurned = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const turned = isTurned ? (before[j - 2] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, turned, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
