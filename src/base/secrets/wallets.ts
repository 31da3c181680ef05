// What opens a wallet: phrases of the published lists of words (seed-words.json), whatever stands between the words, extended keys
// and keys to import, and the numbers of bank cards (own-rules.json). Each is told by its own checksum; what has none, or one that one
// number in ten has, only beside what it is called.

import { hash } from 'node:crypto';
import own from './own-rules.json' with { type: 'json' };
import type { Found, Span } from './rule.ts';
import lists from './seed-words.json' with { type: 'json' };

/** Which of its list a word is, for each list; made where a text is first read, not at each start. */
let numbered: Map<string, number>[] | undefined;

const numbersOf = (list: string) => new Map(list.split(' ').map((word, at) => [word, at] as const));

const COUNTS = [24, 21, 18, 15, 12];
const CALLED =
  /seed|mnemonic|recover|backup|wallet|passphrase|phrase|words|frase|semilla|récupération|wiederherstellung|portefeuille|billetera|cartera|ledger|trezor/i;
/** Twelve words or more that may be of a phrase: little stands between two, as in a list or a table, but no code. */
const WORDS = /(?<![a-zà-ÿ])[a-zà-ÿ]{3,11}(?:[^a-zà-ÿ;{}$=`<?&/\\]{1,20}[a-zà-ÿ]{3,11}){11,}(?![a-zà-ÿ])/g;

type Word = Span & { number: number };

const sha256 = (bytes: Uint8Array) => hash('sha256', bytes, 'buffer');

export function findSeedPhrases(text: string, lower: string): Found[] {
  const found: Found[] = [];
  const asked = { left: MOST_ASKED };
  numbered ??= [lists.english, lists.french, lists.spanish].map(numbersOf);
  for (const { 0: words, index } of lower.matchAll(WORDS)) {
    for (const numbers of numbered) {
      let run: Word[] = [];
      for (const { 0: word, index: at } of `${words} .`.matchAll(/[a-zà-ÿ]+|\.$/g)) {
        const number = numbers.get(word);
        if (number !== undefined) run.push({ start: index + at, end: index + at + word.length, number });
        else {
          if (run.length >= 12) found.push(...phraseOf(run, text, asked));
          run = [];
        }
      }
    }
  }
  return found;
}

/** Of how many a checksum is made in one text: more are asked of lists of words only. */
const MOST_ASKED = 4000;
/** How many words of a sentence before and behind a phrase may be of the list, too. */
const STRAY = 3;

function phraseOf(run: Word[], text: string, asked: { left: number }): Found[] {
  // Words said again and again are no phrase.
  if (new Set(run.slice(0, 12).map(({ number }) => number)).size < 6) return [];
  const own = run.findIndex(({ start, end }) => !CALLED.test(text.slice(start, end)));
  const place = run[own]?.start ?? 0;
  const isCalled = CALLED.test(text.slice(Math.max(0, place - 90), place));
  const numbers = run.map(({ number }) => number);
  const [first, count] =
    phraseIn(numbers, asked) ?? (isCalled && run.length - own >= 12 ? [own, Math.min(24, run.length - own)] : [0, 0]);
  const last = run[first + count - 1];
  return count > 0 && last ? [{ rule: 'seed-phrase', start: run[first]?.start ?? place, end: last.end }] : [];
}

/** At which word of a run a phrase begins, and how many it has; none where no checksum is right. */
function phraseIn(numbers: number[], asked: { left: number }): [first: number, count: number] | undefined {
  for (const count of COUNTS) {
    const spare = numbers.length - count;
    for (let first = 0; first <= spare; first++) {
      if (first > STRAY && first < spare - STRAY) continue;
      if (asked.left-- > 0 && hasChecksum(numbers.slice(first, first + count))) return [first, count];
    }
  }
  return undefined;
}

function hasChecksum(numbers: number[]): boolean {
  // A word that is said again and again is drawn by no wallet.
  if (new Set(numbers).size <= numbers.length / 2) return false;
  const bits = numbers.map((number) => number.toString(2).padStart(11, '0')).join('');
  const length = (bits.length / 33) * 32;
  const bytes = Uint8Array.from(bits.slice(0, length).match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2));
  return (sha256(bytes)[0] as number).toString(2).padStart(8, '0').startsWith(bits.slice(length));
}

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
/** Extended, though cut; to import, protected or not; Ripple's, Stellar's, Solana's. */
const KEYS =
  /(?<![A-Za-z0-9+/])(?:[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{40,108}|[5KLc9][1-9A-HJ-NP-Za-km-z]{50,51}|6P[1-9A-HJ-NP-Za-km-z]{56}|(?=\w{0,60}\d)(?:s[1-9A-HJ-NP-Za-km-z]{27,28}|S[A-Z2-7]{55}|[1-9A-HJ-NP-Za-km-z]{86,88}))(?![A-Za-z0-9])/g;
const KEY_CALLED = /wif|priv|secret|seed|solana|phantom|stellar|ripple|xrp|wallet|keypair|import/i;

/** Keys in a run of letters. */
export function findWalletKeys(text: string, run: Span): Found[] {
  if (run.end - run.start < 28) return [];
  const found: Found[] = [];
  for (const { 0: key, index } of text.slice(run.start, run.end).matchAll(KEYS)) {
    const start = run.start + index;
    if (/^.prv/.test(key) || isChecked(key) || KEY_CALLED.test(text.slice(Math.max(0, start - 60), start)))
      found.push({ rule: 'wallet-key', start, end: start + key.length });
  }
  return found;
}

/** Whether its last four bytes are those of its hash, as Bitcoin writes keys. */
function isChecked(key: string): boolean {
  if (!/^[56KLc9]/.test(key)) return false;
  let number = 0n;
  for (const letter of key) number = number * 58n + BigInt(BASE58.indexOf(letter));
  const hex = number.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  return sha256(sha256(bytes.subarray(0, -4)))
    .subarray(0, 4)
    .equals(bytes.subarray(-4));
}

const CARD =
  /(?<![\w.,/+-]|\d[ \u00a0])(?:\d{4}([ \u00a0-])(?:\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|\d{6}\1\d{4,5})|\d{13,19})(?![\w/-]|[ \u00a0.,:]\d(?!\d?\/\d\d))/g;
const CARD_CALLED = new RegExp(own.cards.called);
const CARD_OTHER = new RegExp(own.cards.other);
const BRAND = new RegExp(own.cards.brand);
const PUBLISHED = new Set(own.cards.published.split(' '));
const INVENTED = new RegExp(own.cards.invented);

/** Numbers of bank cards beside what they are called; those that makers publish for tests stay where a test is spoken of. */
export function findCards(text: string, lower: string): Found[] {
  if (!CARD_CALLED.test(lower)) return [];
  const found: Found[] = [];
  for (const { 0: written, index: start } of text.matchAll(CARD)) {
    const digits = written.replace(/\D/g, '');
    const end = start + written.length;
    const before = lower.slice(Math.max(0, start - 60), start);
    const around = before + lower.slice(end, end + 30);
    if (!BRAND.test(digits) || !hasLuhn(digits) || !CARD_CALLED.test(around) || CARD_OTHER.test(before)) continue;
    if (!PUBLISHED.has(digits) || !INVENTED.test(around)) found.push({ rule: 'card', start, end });
  }
  return found;
}

/** Whether its last digit is the one that the others make it, as of all cards. */
function hasLuhn(digits: string): boolean {
  const each = [...digits].reverse().map((digit, at) => Number(digit) * (at % 2 === 0 ? 1 : 2));
  return each.reduce((sum, value) => sum + (value > 9 ? value - 9 : value), 0) % 10 === 0;
}
