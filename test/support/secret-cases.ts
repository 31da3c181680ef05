// Forms in which people write secrets, written by those who did not see the rules, filled with values drawn anew.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import words from '../../src/base/secrets/seed-words.json' with { type: 'json' };
import type { Random } from './random.ts';

export interface SecretForm {
  id: string;
  kind: number;
  template: string;
  value: string;
  transform?: string;
  undetectable?: boolean;
}

export interface HarmlessForm {
  id: string;
  speaks: boolean;
  text: string;
}

export function linesOf<Line>(path: string): Line[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';
const ALNUM = `${DIGITS}${LOWER}${LOWER.toUpperCase()}`;
const BASE64 = `${ALNUM}+/`;
const HEX = '0123456789abcdef';
const PEOPLE_USE =
  'sommer winter hamburg kaffee drachen montag salamander troubador fussball sonne garten prinzessin dragon monkey sunshine chocolat soleil bateau madrid gato verano cielo inverno amore roma fiets molen kwiat zamek zima deniz istanbul sakura natsu tiger falcon rocket bicycle thunder marble copper velvet'.split(
    ' ',
  );

const some = (letters: string, length: number, random: Random) =>
  Array.from({ length }, () => letters[random.below(letters.length)]).join('');
const capital = (word: string) => `${word[0]?.toUpperCase()}${word.slice(1)}`;

/** A password as a person makes one up. */
function human(random: Random): string {
  const word = random.pick(PEOPLE_USE);
  const sign = random.pick([...'!!!#$&*-_.?%+']);
  const digits = some(DIGITS, 1 + random.below(4), random);
  return random.pick([
    `${word}${2010 + random.below(16)}!`,
    `${capital(word)}${digits}${random.pick([...'!#$&*?+'])}`,
    `${capital(word.replace('o', '0').replace('a', '4').replace('e', '3'))}${sign}${digits}`,
    `${word}-${random.pick(PEOPLE_USE)}-${digits}`,
    `${capital(word)}${sign}${capital(random.pick(PEOPLE_USE))}${digits}`,
    `${capital(word)}${random.pick([...'!#$&*?+'])}${capital(random.pick(PEOPLE_USE))}`,
    `${digits}${word.toUpperCase()}${sign}${random.pick(PEOPLE_USE)}`,
  ]);
}

function machine(random: Random): string {
  const inner = some(`${ALNUM}${DIGITS}!@#$%^&*-_=+?.~`, 9 + random.below(13), random);
  return `${some(ALNUM, 1, random)}${random.below(10)}${inner}${some(`${ALNUM}!#*`, 1, random)}`;
}

function jwt(random: Random): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const payload = { sub: String(random.below(1e6)), name: random.pick(PEOPLE_USE), iat: 1.7e9 + random.below(1e6) };
  return `${part({ alg: 'HS256', typ: 'JWT' })}.${part(payload)}.${some(`${ALNUM}-_`, 43, random)}`;
}

const pemLines = (count: number, random: Random) => Array.from({ length: count }, () => some(BASE64, 64, random));

function pem(random: Random): string {
  const kind = random.pick(['RSA PRIVATE KEY', 'PRIVATE KEY', 'EC PRIVATE KEY']);
  const lines = [
    `MII${some(BASE64, 61, random)}`,
    ...pemLines(4 + random.below(12), random),
    `${some(BASE64, 30, random)}==`,
  ];
  return [`-----BEGIN ${kind}-----`, ...lines, `-----END ${kind}-----`].join('\n');
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** A phrase with its checksum. */
function seed(list: string, count: number, random: Random): string {
  const all = list.split(' ');
  const entropy = Buffer.from(Array.from({ length: (count / 3) * 4 }, () => random.below(256)));
  const bitsOf = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const bits = bitsOf(entropy) + bitsOf(sha256(entropy)).slice(0, count / 3);
  return (bits.match(/.{11}/g) ?? []).map((piece) => all[Number.parseInt(piece, 2)]).join(' ');
}

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

function base58check(bytes: Uint8Array): string {
  const all = Buffer.concat([bytes, sha256(sha256(bytes)).subarray(0, 4)]);
  let number = BigInt(`0x${all.toString('hex')}`);
  let out = '';
  for (; number > 0n; number /= 58n) out = BASE58[Number(number % 58n)] + out;
  return out;
}

const bytes = (length: number, random: Random) => Array.from({ length }, () => random.below(256));

const VALUES: Record<string, (random: Random) => string> = {
  human,
  word: (random) => `${random.pick(PEOPLE_USE)}${some(DIGITS, 2 + random.below(3), random)}`,
  random: machine,
  alnum: (random) => `${random.below(10)}${some(ALNUM, 19 + random.below(21), random)}`,
  hex32: (random) => some(HEX, 32, random),
  hex64: (random) => some(HEX, 64, random),
  base64: (random) => `${some(BASE64, 43, random)}=`,
  uuid: (random) => [8, 4, 4, 4, 12].map((length) => some(HEX, length, random)).join('-'),
  digits4: (random) => some(DIGITS, 4, random),
  digits6: (random) => some(DIGITS, 6, random),
  jwt,
  pem,
  pemcut: (random) => pemLines(3 + random.below(4), random).join('\n'),
  seed12: (random) => seed(words.english, 12, random),
  seed24: (random) => seed(words.english, 24, random),
  seed12fr: (random) => seed(words.french, 12, random),
  xprv: (random) => base58check(Buffer.from([0x04, 0x88, 0xad, 0xe4, ...bytes(41, random), 0, ...bytes(32, random)])),
  wif: (random) => base58check(Buffer.from([0x80, ...bytes(32, random), 1])),
  ghp: (random) => `ghp_${some(ALNUM, 36, random)}`,
  aws: (random) => some(BASE64, 40, random),
  slack: (random) => `xoxb-${some(DIGITS, 12, random)}-${some(DIGITS, 12, random)}-${some(ALNUM, 24, random)}`,
  openai: (random) => `sk-proj-${some(`${ALNUM}-_`, 48, random)}`,
  noct: (random) => `noct_${some(LOWER + LOWER.toUpperCase(), 40, random)}`,
};

const each = (value: string, write: (code: number, letter: string) => string) =>
  [...value].map((letter) => write(letter.charCodeAt(0), letter)).join('');
const hex = (code: number, length: number) => code.toString(16).padStart(length, '0');
const halves = (value: string, joint: string) =>
  `${value.slice(0, value.length >> 1)}${joint}${value.slice(value.length >> 1)}`;

/** What is done to the value before it is put in. */
const OF_VALUE: Record<string, (value: string, random: Random) => string> = {
  zwsp: (value, random) => halves(value, random.pick(['\u200b', '\u200c', '\u2060', '\ufeff'])),
  fullwidth: (value) =>
    each(value, (code, letter) => (code > 32 && code < 127 ? String.fromCharCode(code + 0xfee0) : letter)),
  uescape: (value) => each(value, (code) => `\\u${hex(code, 4)}`),
  xescape: (value) => each(value, (code) => `\\x${hex(code, 2)}`),
  percent: (value) =>
    each(value, (code, letter) => (/[\w.~-]/.test(letter) ? letter : `%${hex(code, 2).toUpperCase()}`)),
  entity: (value) => each(value, (code, letter) => (/[\w.~-]/.test(letter) ? letter : `&#${code};`)),
  ansi: (value) => `\u001b[01;31m\u001b[K${value}\u001b[m\u001b[K`,
  base64: (value) => Buffer.from(value).toString('base64'),
  base64user: (value) => Buffer.from(`deploy:${value}`).toString('base64'),
  splitlines: (value) => halves(value, '\\\n'),
  concat: (value) => halves(value, '" +\n  "'),
  cutend: (value) => value.slice(0, Math.ceil(value.length * 0.7)),
  cutstart: (value) => value.slice(Math.floor(value.length * 0.3)),
};
/** What is done to the whole text. */
const OF_TEXT: Record<string, (text: string) => string> = {
  linenumbers: (text) =>
    text.replace(
      /^/gm,
      (() => {
        let line = 11;
        return () => `${String(++line).padStart(5)}\t`;
      })(),
    ),
  quoted: (text) => text.replace(/^/gm, '> '),
  diff: (text) => text.replace(/^/gm, '+'),
};

export interface SecretCase {
  form: SecretForm;
  text: string;
  /** What of the value may not be left, as it was written. */
  pieces: string[];
}

export function caseOf(form: SecretForm, random: Random): SecretCase {
  const value = (VALUES[form.value] as (random: Random) => string)(random);
  const transform = form.transform ?? '';
  const written = OF_VALUE[transform]?.(value, random) ?? value;
  const text = form.template.replace('{{S}}', () => written);
  const pieces = (transform === 'splitlines' || transform === 'concat' ? halves(value, '\n') : written)
    .split('\n')
    .filter((piece) => !piece.startsWith('-----'));
  return { form, text: OF_TEXT[transform]?.(text) ?? text, pieces };
}

/** Whether half of a piece, or what a person could guess the rest from, is left. */
export function isLeft({ pieces, form }: SecretCase, text: string): boolean {
  return pieces.some((piece) => {
    if (/^seed/.test(form.value))
      return (
        text.includes(piece.split(' ').slice(0, 3).join(' ')) || text.includes(piece.split(' ').slice(-3).join(' '))
      );
    const least = Math.max(4, Math.ceil(piece.length / 2));
    for (let at = 0; at + least <= piece.length; at++) if (text.includes(piece.slice(at, at + least))) return true;
    return false;
  });
}

const SLOTS: Record<string, (random: Random) => string> = {
  word: (random) => random.pick(PEOPLE_USE),
  name: (random) =>
    random.pick(['marta', 'jens', 'ravi', 'Ingrid', 'chen', 'olga', 'pedro', 'Luca', 'anna.k', 'h.vogt']),
  host: (random) =>
    `${random.pick(PEOPLE_USE)}-${random.below(30)}.${random.pick(['internal', 'example.org', 'corp.lan', 'acme.dev'])}`,
  path: (random) =>
    `/${random.pick(['srv', 'home', 'var/lib', 'etc', 'opt'])}/${random.pick(PEOPLE_USE)}/${random.pick(PEOPLE_USE)}.${random.pick(['yml', 'txt', 'ts', 'conf'])}`,
  int: (random) => String(1 + random.below(random.pick([10, 100, 9000]))),
  sha: (random) => some(HEX, 40, random),
  uuid: (random) => VALUES.uuid?.(random) as string,
  fn: (random) => `${random.pick(['get', 'make', 'load', 'check'])}${capital(random.pick(PEOPLE_USE))}`,
  var: (random) => `${random.pick(PEOPLE_USE)}_${random.pick(['id', 'list', 'count', 'main'])}`,
  ENV: (random) => `${random.pick(PEOPLE_USE).toUpperCase()}_${random.pick(['TOKEN', 'URL', 'KEY', 'HOST', 'SECRET'])}`,
};

export function harmlessOf({ text }: HarmlessForm, random: Random): string {
  return text.replace(/\{\{(\w+)\}\}/g, (slot, name: string) => SLOTS[name]?.(random) ?? slot);
}
