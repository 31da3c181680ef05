// Reads the forms of vendor-table.ts and finds what has one.
// All heads are looked for in one pass; only where one stands is the rest of its form tried.
// Promises: linear time, since what a form repeats is bounded or cannot begin again inside itself.

import { crc32 } from 'node:zlib';
import { BREAK, bitsOf, type Found, isAtWordStart, isMachineMade, isShuffled } from './rule.ts';
import { TOKENS, type TokenLine } from './vendor-table.ts';

/** Literal text, or a run of a set. */
export type FormPart = string | { set: string; least: number; most: number; short: number };

const SETS: Record<string, string> = {
  d: '0-9',
  az: 'a-z',
  a: 'A-Za-z',
  n: 'A-Za-z0-9',
  UP: 'A-Z0-9',
  hex: 'a-f0-9',
  Hex: 'A-Fa-f0-9',
  w: '\\w-',
  b64: 'A-Za-z0-9+/',
  url64: '\\w+/-',
  bar: '|%',
};
const UUID = '{Hex:8}-{Hex:4}-{Hex:4}-{Hex:4}-{Hex:12}';
// A run has an end where its form names none: many heads in one word must not each read it to its end.
const MOST = 500;

/** The plain forms that one with `(a|b)` stands for. */
export function plainForms(form: string): string[] {
  const [whole, before, choices] = /^([^(]*)\(([^()]*)\)/.exec(form) ?? [];
  if (whole === undefined) return [form.replaceAll('{uuid}', UUID)];
  const after = plainForms(form.slice(whole.length));
  return (choices as string).split('|').flatMap((choice) => after.map((rest) => plainForms(before + choice)[0] + rest));
}

export function partsOf(plain: string): FormPart[] {
  return plain
    .split(/(\{[^}]*\})/)
    .filter((piece) => piece !== '')
    .map((piece) => {
      const run = /^\{([a-z\d]+)([^a-z\d:]*):(\d+)(?:\/(\d+))?(?:-(\d+))?(\+?)\}$/i.exec(piece);
      if (run === null) return piece;
      const [, set = '', also = '', first = '', full, most, more] = run;
      if (SETS[set] === undefined) throw new Error(`no set is called ${set}, in ${plain}`);
      const least = Number(full ?? first);
      const end = most === undefined ? least : Number(most);
      return {
        // A set may end in `-`, which would join it to what came after.
        set: `${also.replace('-', '\\-')}${SETS[set]}`,
        least,
        most: more === '+' ? Number.POSITIVE_INFINITY : end,
        short: Number(first),
      };
    });
}

/** The form as a pattern; `broken` lets its runs go on after a line break, while they are not full. */
export function sourceOf(parts: FormPart[], { broken, open }: { broken: boolean; open: boolean }): string {
  return parts.map((part, at) => sourceOfPart(part, { broken, isLast: at === parts.length - 1, open })).join('');
}

function sourceOfPart(part: FormPart, how: { broken: boolean; isLast: boolean; open: boolean }): string {
  if (typeof part === 'string') return part.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
  const { set, least, most, short } = part;
  const upTo = Math.max(least, Math.min(how.isLast && how.open ? MOST : most, MOST));
  const padding = how.isLast && set.includes('+/') ? '={0,3}' : '';
  if (!how.broken || least < 8) return `[${set}]{${short},${upTo}}${padding}`;
  const whole = `(?:[${set}](?:${BREAK}(?=[${set}]))?){${least - 1}}[${set}]{1,${upTo - least + 1}}${padding}`;
  return short < least ? `(?:${whole}|[${set}]{${short},${upTo}})` : whole;
}

interface Compiled extends TokenLine {
  head: string;
  /** Sticky where the form has a head, else global. */
  pattern: RegExp;
  needle: string;
  /** What of its last run goes on after `pattern`. */
  rest: RegExp | undefined;
}

const NOT_GLUED = '(?![A-Za-z0-9_]|[+/=~-][A-Za-z0-9_])';

function compile(line: TokenLine): Compiled[] {
  return plainForms(line.form).map((plain) => {
    const parts = partsOf(plain);
    const head = typeof parts[0] === 'string' ? parts[0] : '';
    const literals = parts.filter((part) => typeof part === 'string');
    const needle = literals.toSorted((a, b) => b.length - a.length)[0] ?? '';
    const last = parts.at(-1);
    const source = sourceOf(parts, { broken: line.exact === undefined, open: line.exact === undefined });
    return {
      ...line,
      head,
      needle,
      rest:
        line.exact || last === undefined || typeof last === 'string' ? undefined : new RegExp(`[${last.set}]+`, 'y'),
      pattern: new RegExp(source + (line.exact ? NOT_GLUED : ''), head === '' ? 'g' : 'y'),
    };
  });
}

const COMPILED = TOKENS.flatMap(compile);
const HEADLESS = COMPILED.filter(({ head }) => head === '');
const HEADS = [...new Set(COMPILED.map(({ head }) => head))].filter((head) => head !== '');
/** For each head the lines that may begin there: its own, and those of heads that it begins with. */
const BY_HEAD = new Map(
  HEADS.map((head) => [head, COMPILED.filter((line) => line.head !== '' && head.startsWith(line.head))]),
);
const ANY_HEAD = new RegExp(
  HEADS.toSorted((a, b) => b.length - a.length)
    .map((head) => head.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
    .join('|'),
  'g',
);

/** Where tokens of TOKENS stand; of those that begin at one place the longest. */
export function findTokens(text: string): Found[] {
  const found: Found[] = [];
  ANY_HEAD.lastIndex = 0;
  for (let hit = ANY_HEAD.exec(text); hit !== null; hit = ANY_HEAD.exec(text)) {
    const start = hit.index;
    const begins = isAtWordStart(text, start);
    let best: Found | undefined;
    let next = start + 1;
    for (const line of BY_HEAD.get(hit[0]) as Compiled[]) {
      if (!begins && line.checksum === undefined) continue;
      line.pattern.lastIndex = start;
      if (!line.pattern.test(text)) continue;
      const end = line.pattern.lastIndex;
      if (end <= (best?.end ?? 0)) continue;
      if (!isToken(text, { start, end }, line)) {
        // Heads in a row, each read to the end of the row, would take the square of its length.
        next = Math.max(next, (start + end) >> 1);
        continue;
      }
      if (begins || isProven(text.slice(start + line.head.length, start + line.head.length + 36)))
        best = { rule: line.id, start, end: goOn(text, end, line) };
    }
    if (best !== undefined) found.push(best);
    ANY_HEAD.lastIndex = best?.end ?? next;
  }
  for (const line of HEADLESS) if (text.includes(line.needle)) found.push(...findHeadless(text, line));
  return found;
}

function findHeadless(text: string, line: Compiled): Found[] {
  return [...text.matchAll(line.pattern)]
    .map((match) => ({ rule: line.id, start: match.index, end: goOn(text, match.index + match[0].length, line) }))
    .filter((span) => isAtWordStart(text, span.start) && isToken(text, span, line));
}

function goOn(text: string, end: number, { rest }: Compiled): number {
  if (rest === undefined) return end;
  rest.lastIndex = end;
  return rest.test(text) ? rest.lastIndex : end;
}

const ORDERS = { shuffled: isShuffled, machine: isMachineMade };

function isToken(text: string, { start, end }: { start: number; end: number }, line: Compiled): boolean {
  const random = text.slice(start + line.head.length, Math.min(end, start + MOST));
  if (bitsOf(random) < (line.entropy ?? 2)) return false;
  if (line.order !== undefined && !ORDERS[line.order](random)) return false;
  return !(line.exact && /[+/_.-]/.test(text[start - 1] ?? ''));
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Whether the six letters after the first thirty are the CRC-32 of those, as GitHub and npm make them. */
function isProven(random: string): boolean {
  let sum = 0;
  for (const digit of random.slice(30, 36)) sum = sum * 62 + DIGITS.indexOf(digit);
  return sum === crc32(random.slice(0, 30));
}
