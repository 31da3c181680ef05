// What is a secret by where it stands: in cookies and headers, in signatures and logins of addresses, and what programs are given on
// the command line. own-rules.json has a row for each: its rule, the words by which it is known, a pattern that begins there, a check.

import own from './own-rules.json' with { type: 'json' };
import { type Found, isCode, isMachineMade, isPlaceholder, needlesOf, PLACEHOLDER, scan } from './rule.ts';
import { isPassword, isSpelledAsPassword } from './values.ts';
import { withNextLines } from './vendors.ts';

/** An argument, bare or in quotes; `before` is of it, but not of the secret. */
const argument = (before = '') =>
  String.raw`(?:"${before}(?<double>[^"\n]{1,200})"|'${before}(?<single>[^'\n]{1,200})'|${before}(?<bare>[^\s"'\x60|;<>)]{1,200}))`;
/** What reads a password from what is piped into it. */
const READS = String.raw`(?:--password-stdin|-S\b|chpasswd|passwd|cryptsetup|passphrase-fd|htpasswd|kinit|openssl|pass insert|env add|--with-token|login|gpg|ssh-add|secret|keepassxc|--stdin|su\b|base64 -d|wpa_passphrase)`;
/** A program and what may stand before the option that is meant. */
const PROGRAM = String.raw`(?<![\w-])[\w-]{2,20}\b(?:\.exe)?[^\n|;]{0,160}?[ \t"']`;

/** Cookies that say what someone likes, not who they are. */
const HARMLESS_COOKIE =
  /consent|gdpr|theme|lang|locale|timezone|^tz$|currency|^_g[ai]|^_fbp$|^utm|^ajs_|optanon|banner|color|layout|sidebar/i;

function isTellingCookie(pair: string): boolean {
  const [, name = '', value = ''] = /^\s*([\w.-]+)=(.*)$/s.exec(pair) ?? [];
  return !HARMLESS_COOKIE.test(name) && !isCode(value) && /[\w%+/=-]{12}/.test(value) && /\d/.test(value);
}

const any = (value: string) => !isPlaceholder(value) && !value.startsWith('-') && /[\p{L}\d]/u.test(value);
const long = (value: string) => value.length >= 16 && isMachineMade(value) && !isPlaceholder(value) && !isCode(value);
const CHECKS: Record<string, (value: string, before: string) => boolean> = {
  any,
  long,
  machine: isMachineMade,
  password: isPassword,
  // `Ed25519Signer` is a type.
  made: (value) => !/^[A-Z][a-z]+\w*$/.test(value) && (long(value) || isPassword(value)),
  spelled: (value) => long(value) || (!isPlaceholder(value) && isSpelledAsPassword(value)),
  digit: (value) => any(value) && !isCode(value) && /\d|={1,2}$/.test(value),
  cookie: (value) => value.split(/;[ \t]?/).some(isTellingCookie),
  login: (value) => /^[\w.@+-]{1,60}:\S{3,200}$/.test(Buffer.from(value, 'base64').toString('latin1')),
  piped: (value, before) => any(value) && new RegExp(READS).test(before),
};

interface Place {
  id: string;
  pattern: RegExp;
  isSecret: (value: string, before: string) => boolean;
}

// In a pattern `¤` stands for an argument, `¤«user:»` for one with something before the secret, `‡` for a program up to its option.
const PLACES = needlesOf(() =>
  own.places.flatMap(({ id, words, pattern, check = 'any' }) => {
    const source = pattern
      .replace('‡', () => PROGRAM)
      .replace('READS', () => READS)
      .replace(/¤(?:«(.*?)»)?/, (_, before?: string) => argument(before));
    const flags = pattern.startsWith('‡') ? 'dy' : 'dyi';
    const place: Place = {
      id,
      pattern: new RegExp(source, flags),
      isSecret: CHECKS[check] ?? any,
    };
    return words.split('·').map((word) => [word, place] as const);
  }),
);

export function findInPlaces(text: string, lower: string): Found[] {
  const found: Found[] = [];
  // What a place has read is not read again from the next of its words.
  const reached = new Map<Place, number>();
  scan(PLACES, lower, (place, at) => {
    if (at < (reached.get(place) ?? 0)) return;
    place.pattern.lastIndex = at;
    const match = place.pattern.exec(text);
    if (match === null) return;
    const [start, end] = Object.values(match.indices?.groups ?? {}).find(Boolean) ?? [at, at];
    reached.set(place, end);
    const value = text.slice(start, end);
    if (value.includes(PLACEHOLDER) || !place.isSecret(value, text.slice(Math.max(0, at - 120), at))) return;
    found.push({ rule: place.id, start, end: place.id === 'authorization' ? withNextLines(text, end) : end });
  });
  for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', at + 3)) {
    const login = loginAt(text, at + 3, /https?$/i.test(text.slice(at - 5, at)));
    if (login !== undefined) found.push(login);
  }
  return found;
}

const ADDRESS = /[^\n]{0,300}/y;

/** The password of an address, or what stands in its user's place: up to the last `@` before what can be a host. */
function loginAt(text: string, at: number, isOfWeb: boolean): Found | undefined {
  ADDRESS.lastIndex = at;
  const [rest = ''] = ADDRESS.exec(text)?.[0].split('://', 1) ?? [];
  if (!rest.includes('@')) return undefined;
  const token = /^(?:[\w-]{20,200}(?=:?@)|[^\s:@/<>[]{1,200}(?=:x-oauth-basic@))/.exec(rest)?.[0];
  if (token !== undefined)
    return /\d/.test(token) ? { rule: 'url-login', start: at, end: at + token.length } : undefined;
  const user = /^(?:\[redacted:[a-z\d-]{1,40}\]|[^\s:/<>[]{0,100}):(?!\d{1,5}(?:[/\s.,;)]|$)|[/\s])/.exec(rest)?.[0];
  if (user === undefined) return undefined;
  let length = 0;
  for (let sign = rest.indexOf('@', user.length); sign >= 0; sign = rest.indexOf('@', sign + 1)) {
    const password = rest.slice(user.length, sign);
    if (/^["'`$]|["'`]$|["'`].*\s|\s.*["'`]/.test(password)) break;
    if (/\s/.test(password) && (isOfWeb || length > 0 || !/\d|[!#$%&*]/.test(password) || password.length > 60)) break;
    if (length === 0 || !/[/?]/.test(password)) length = sign - user.length;
    if (/^(?:\[[\da-f:]+\]|[\w-]+(?:\.[\w-]+)+|localhost|[\w-]+:\d)(?![\w@])/.test(rest.slice(sign + 1))) {
      length = sign - user.length;
      break;
    }
  }
  const value = rest.slice(user.length, user.length + length);
  if (
    value === '' ||
    value.includes(PLACEHOLDER) ||
    value === 'x-oauth-basic' ||
    isPlaceholder(value.replace(/^<(?!.*>)/, ''))
  )
    return undefined;
  return { rule: 'url-login', start: at + user.length, end: at + user.length + length };
}
