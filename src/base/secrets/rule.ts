// What all finders of secrets share: what they answer, where a word begins, what a machine made and what a person named, and a
// value apart from what only looks like one: a type, an expression, a path, a placeholder; and how many words are found at once.

/** A part of a text. */
export interface Span {
  start: number;
  end: number;
}

/** A secret in a text, by the rule that found it. */
export interface Found extends Span {
  rule: string;
}

export const PLACEHOLDER = '[redacted:';

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
  const letters = value.replace(/[^A-Za-z0-9]+/g, '');
  if (letters.length < 8) return false;
  const hasDigit = /\d/.test(letters);
  const isMixed = hasDigit || (/[a-z]/.test(letters) && /[A-Z]/.test(letters));
  if (!/^\d+$/.test(letters) && (!isMixed || changesIn(letters) < letters.length / (hasDigit ? 8 : 5))) return false;
  return bitsOf(letters) >= 2;
}

/** How often the kind of character changes: lower case, upper case, digit. */
function changesIn(letters: string): number {
  return letters.match(/[a-z](?=[A-Z0-9])|[A-Z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0;
}

const TYPE_WORD =
  /^(?:string|number|boolean|bool|int|str|object|any|unknown|never|void|null|none|nil|undefined|true|false|yes|no|enter|passw(?:or)?d|required|optional|hidden|omit|include|same-origin|(?:big)?(?:u?int|float)\d{1,2}(?:clamped)?array)\b[[\]?|!]*$/i;
const PLACEHOLDER_WORD =
  /(?:^|[^a-z])(?:your|example|placeholder|change[-_ ]?(?:me|it)|insert|replace|dummy|todo|masked|hidden|redacted|filtered)(?:$|[^a-z])/i;
const ALGORITHM =
  /^(?:sha-?\d{1,3}|md5|base64(?:url)?|utf-?8|oauth2?|bcrypt|argon2|aes-?\d{1,3}|rsa|[hre]s\d{3}|ed25519|scram-sha-\d+|x509)(?![a-z\d]{3}|~)/i;

/** Whether the value stands for one: a variable, a template, stars, a type, `your-key-here`; or is a version. */
export function isPlaceholder(value: string): boolean {
  return (
    /^[$<{[%(]|^#(?:$|\{)|^:[a-z_]\w*$|\$\{|\{\{|%[A-Z_]{2,}%|\*{3}|x{4}|\.{3}|\u2026|\u2022/i.test(value) ||
    /^(.)\1*$/s.test(value) ||
    /^[~^<>=v]{0,2}\d{1,5}(?:\.\d{1,5}){1,3}(?:[-+][\w.]{1,30})?$/.test(value) ||
    PLACEHOLDER_WORD.test(value) ||
    TYPE_WORD.test(value)
  );
}

/** Whether the value, bare, is an expression, a path, an image with its digest, or the name of an algorithm. */
export function isCode(value: string): boolean {
  if (
    /[(]|=>|^!\w+\.|^!{1,2}[A-Za-z][\w/:-]*$|^(?:Read|Get|New|Import|Invoke|Join|Select|ConvertTo|ConvertFrom)-[A-Z][a-z]|^&?[A-Za-z_][\w.]*\{|^(?:process|os|env|config|settings|self|this|req|ctx|options|props|secrets)[.[]/.test(
      value,
    )
  )
    return true;
  if (/^[A-Za-z_$][\w$.]*!?\[[\w$.+ -]*\]?/.test(value)) return true;
  if (/@sha256:[a-f\d]{64}/.test(value)) return true;
  if (ALGORITHM.test(value) || isPath(value)) return true;
  if (/^[\w./@-]+\.[a-z]{2,4}$/.test(value)) return !(value.length >= 14 && isShuffled(value));
  return (
    /^[A-Za-z_$][\w$]*(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*)+$/.test(value) && !(value.length >= 14 && isShuffled(value))
  );
}

/** A path, an address, or where a secret is kept: `vault:secret/data/app#password`, `projects/12/secrets/app/versions/latest`. */
const PATH =
  /^(?:\.{0,2}|~|[A-Za-z]:)[/\\]{1,2}[\w.-]+(?:[/\\.]|$)|^https?:|^arn:aws|^(?:vault|op|ssm|ref\+\w+):[\w-]*\/|^[a-z][a-z-]*(?:\/(?:[a-z][a-z_-]*|\d+)){2,}(?:$|[#@])/;

export function isPath(value: string): boolean {
  if (value.length >= 32 && isShuffled(value) && !/[.\\]/.test(value)) return false;
  return PATH.test(value);
}

/** Letters of both cases in an order that no word has. */
export const isMixedInOrder = (value: string, share = 3) =>
  (value.match(/[a-z][A-Z]|[A-Z][a-z]/g)?.length ?? 0) >= value.length / share;

/** Long, with digits and letters of both cases: made by a machine. */
export function isMixed(value: string): boolean {
  return value.length >= 20 && /\d/.test(value) && /[a-z]/.test(value) && /[A-Z]/.test(value);
}

// Finding many words in a text at once: what follows one is only looked at where it stands. One pass, whatever the number of
// words; case is ignored; made where a text is first read, not at each start.

/** By their first three letters, the words that begin with them, each with what is to be done there. */
type Made<Item> = ({ word: string; item: Item }[] | undefined)[];
export type Needles<Item> = () => Made<Item>;

const bucketOf = (first: number, second: number, third: number) =>
  ((first & 31) << 10) | ((second & 31) << 5) | (third & 31);

type Rows<Item> = readonly (readonly [word: string, item: Item])[];

export function needlesOf<Item>(rows: () => Rows<Item>): Needles<Item> {
  let made: Made<Item> | undefined;
  return () => {
    made ??= make(rows());
    return made;
  };
}

function make<Item>(rows: Rows<Item>): Made<Item> {
  const needles: Made<Item> = Array.from({ length: 1 << 15 }, () => undefined);
  for (const [word, item] of rows) {
    // Behind a short word stands anything.
    const codesAt = (at: number) =>
      at < word.length ? [word.charCodeAt(at)] : Array.from({ length: 32 }, (_, code) => code);
    for (const second of codesAt(1)) {
      for (const third of codesAt(2)) {
        const at = bucketOf(word.charCodeAt(0), second, third);
        needles[at] = [...(needles[at] ?? []), { word, item }];
      }
    }
  }
  return needles;
}

/** Calls `visit` where one of the words stands in `lower`, from the left to the right. */
export function scan<Item>(needles: Needles<Item>, lower: string, visit: (item: Item, at: number) => void): void {
  const made = needles();
  let bucket = bucketOf(0, lower.charCodeAt(0), lower.charCodeAt(1));
  for (let at = 0; at < lower.length - 1; at++) {
    bucket = ((bucket << 5) & 32767) | (lower.charCodeAt(at + 2) & 31);
    const near = made[bucket];
    if (near !== undefined) for (const { word, item } of near) if (lower.startsWith(word, at)) visit(item, at);
  }
}
