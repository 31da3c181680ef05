// What all finders of secrets share: what they answer, a rule that a pattern finds, where a token may begin and how it may
// be broken (text comes escaped, coloured and wrapped), what a machine made and what a person named, and a value apart
// from what only looks like one: a type, an expression, a path, a placeholder.

/** A secret in a text, by the rule that found it. */
export interface Found {
  rule: string;
  start: number;
  end: number;
}

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
  const { pattern } = rule;
  // `matchAll` copies the pattern at each call, which costs more than most texts do.
  for (let from = 0; ; ) {
    pattern.lastIndex = from;
    const match = pattern.exec(text);
    if (match === null) return spans;
    from = Math.max(pattern.lastIndex, match.index + 1);
    const groups = match.groups ?? {};
    const value = groups.secret ?? groups.quoted ?? groups.bare ?? match[0];
    if (value.includes(PLACEHOLDER)) continue;
    const before = text.slice(Math.max(0, match.index - 80), match.index);
    if (rule.isSecret?.(value, groups, before) === false) continue;
    const end = match.index + match[0].length - (groups.tail?.length ?? 0);
    spans.push({ rule: rule.id, start: end - value.length, end });
  }
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
  return text.replace(/(?<!\\)\\+(?:[nrtbfv]|u[\da-f]{4}|x[\da-f]{2})/gi, (sign) => ' '.repeat(sign.length));
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

export const TYPE_WORD =
  /^(?:string|number|boolean|bool|int|str|object|any|unknown|never|void|null|none|nil|undefined|true|false|required|optional|hidden|omit|include|same-origin|(?:big)?(?:u?int|float)\d{1,2}(?:clamped)?array)\b[[\]?|!]*$/i;
const PLACEHOLDER_WORD =
  /(?:^|[^a-z])(?:your|example|placeholder|change[-_ ]?me|insert|replace|dummy|todo|masked|hidden|redacted)(?:$|[^a-z])/i;
const ALGORITHM =
  /^(?:sha-?\d{1,3}|md5|base64|utf-?8|oauth|bcrypt|argon2|aes-?\d{1,3}|rsa|[hre]s\d{3})(?![a-z\d]{3}|~)/i;

/** Whether the value stands for one: a variable, a template, stars, `your-key-here`; or is a version. */
export function isPlaceholder(value: string): boolean {
  return (
    /^[$<{[%(#]|\$\{|\{\{|%[A-Z_]{2,}%|\*{3}|x{4}|\.{3}|\u2026/i.test(value) ||
    /^(.)\1*$/s.test(value) ||
    /^[~^<>=v]{0,2}\d{1,5}(?:\.\d{1,5}){1,3}(?:[-+][\w.]{1,30})?$/.test(value) ||
    PLACEHOLDER_WORD.test(value)
  );
}

/** Whether the value, bare, is an expression, a path, an image with its digest, or the name of an algorithm. */
export function isCode(value: string): boolean {
  if (/[(]|=>|^(?:process|os|env|config|settings|self|this|req|ctx|options|props|secrets)[.[]/.test(value)) return true;
  if (/^[A-Za-z_$][\w$.]*!?\[[\w$.+ -]*\]?/.test(value)) return true;
  if (/@sha256:[a-f\d]{64}/.test(value)) return true;
  if (ALGORITHM.test(value) || isPath(value) || /\.[a-z]{2,4}$/.test(value)) return true;
  return /^[A-Za-z_$][\w$]*(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*)+$/.test(value) && !isMixed(value);
}

export function isPath(value: string): boolean {
  return /^(?:\.{0,2}|~|[A-Za-z]:)[/\\]{1,2}[\w.-]+(?:[/\\.]|$)|^https?:/.test(value);
}

/** Long, with digits and letters of both cases: made by a machine. */
export function isMixed(value: string): boolean {
  return value.length >= 20 && /\d/.test(value) && /[a-z]/.test(value) && /[A-Z]/.test(value);
}
