// What opens a wallet: phrases of the published lists of words (seed-words.json), extended keys and keys to import. Each is told by
// its own checksum; a phrase with none only beside what it is called.

import { hash } from 'node:crypto';
import type { Found } from './rule.ts';
import lists from './seed-words.json' with { type: 'json' };

const LISTS = [lists.english, lists.french, lists.spanish].map(
  (list) => new Map(list.split(' ').map((word, at) => [word, at] as const)),
);
const COUNTS = [24, 21, 18, 15, 12];
const WORD = '[a-zà-ÿ]{3,11}';
const BETWEEN = String.raw`(?:[ \t\n,;|"'.]{1,9}(?:\d{1,2}[.):]?[ \t]{0,3})?)`;
const WORDS = new RegExp(String.raw`(?<![A-Za-zà-ÿ\d])${WORD}(?:${BETWEEN}${WORD}){11,60}(?![A-Za-zà-ÿ])`, 'g');
const CALLED =
  /seed|mnemonic|recovery|backup|wallet|passphrase|phrase|frase|semilla|récupération|wiederherstellung|portefeuille|billetera|cartera|ledger|trezor/i;

const sha256 = (bytes: Uint8Array) => hash('sha256', bytes, 'buffer');

export function findWalletKeys(text: string): Found[] {
  const found: Found[] = [];
  const asked = { left: MOST_ASKED };
  for (const run of text.matchAll(WORDS)) {
    const words = [...run[0].matchAll(/[a-zà-ÿ]+/g)].map((word) => ({ word: word[0], at: run.index + word.index }));
    // Words said again and again are no phrase.
    if (new Set(words.slice(0, 12).map(({ word }) => word)).size < 6) continue;
    for (const list of LISTS) found.push(...phrasesOf(words, list, text, asked));
  }
  for (const key of text.matchAll(KEYS)) {
    if (isChecked(key[0])) found.push({ rule: 'wallet-key', start: key.index, end: key.index + key[0].length });
  }
  return found;
}

/** Of how many a checksum is made in one text: more are asked of lists of words only. */
const MOST_ASKED = 4000;
/** How many words of a sentence before and behind a phrase may be of the list, too. */
const STRAY = 3;

function phrasesOf(
  words: { word: string; at: number }[],
  list: Map<string, number>,
  text: string,
  asked: { left: number },
): Found[] {
  const found: Found[] = [];
  for (let from = 0; from + 12 <= words.length; ) {
    let to = from;
    while (to < words.length && list.has(words[to]?.word as string)) to++;
    const own = words.slice(from, to);
    from = to + 1;
    if (own.length < 12) continue;
    const numbers = own.map(({ word }) => list.get(word) as number);
    const place = own[0]?.at as number;
    const [first, count] = phraseIn(numbers, CALLED.test(text.slice(Math.max(0, place - 90), place)), asked);
    const last = own[first + count - 1];
    if (count > 0 && last)
      found.push({ rule: 'seed-phrase', start: own[first]?.at as number, end: last.at + last.word.length });
  }
  return found;
}

/** At which word of a run a phrase begins, and how many it has; none where no checksum is right. */
function phraseIn(numbers: number[], isCalled: boolean, asked: { left: number }): [first: number, count: number] {
  for (const count of COUNTS) {
    const spare = numbers.length - count;
    for (let first = 0; first <= spare; first++) {
      if (first > STRAY && first < spare - STRAY) continue;
      if (asked.left-- > 0 && hasChecksum(numbers.slice(first, first + count))) return [first, count];
    }
  }
  return [0, isCalled ? (COUNTS.find((count) => count <= numbers.length) ?? 0) : 0];
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
const KEYS =
  /(?<![A-Za-z0-9])(?:[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{107,108}|[5KLc9][1-9A-HJ-NP-Za-km-z]{50,51})(?![A-Za-z0-9])/g;

/** Whether its last four bytes are those of its hash, as Bitcoin writes keys. */
function isChecked(key: string): boolean {
  let number = 0n;
  for (const letter of key) number = number * 58n + BigInt(BASE58.indexOf(letter));
  const hex = number.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  return sha256(sha256(bytes.subarray(0, -4)))
    .subarray(0, 4)
    .equals(bytes.subarray(-4));
}
