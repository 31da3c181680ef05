// Secrets in blocks and in disguise: private keys, whole or cut, tokens of JSON, what Kubernetes keeps, and tokens in base64.
// Promises: each is found in one pass.

import { type Found, isMachineMade } from './rule.ts';
import { findTokens, withNextLines } from './vendors.ts';

const KEY_BEGINS = /-----BEGIN[ \w-]{0,60}PRIVATE KEY(?: BLOCK)?-----/g;
const KEY_ENDS = /-----END[ \w-]{0,60}(?:PRIVATE KEY(?: BLOCK)?|KEY)-----/g;
const AROUND = String.raw`[ \t>|+#*\d:│→"',;-]{0,20}`;
/** A line of a key, whatever stands before it: its own letters, a heading, or nothing. */
const KEY_LINE = new RegExp(
  String.raw`(?:\s|^)${AROUND}?(?:[A-Za-z0-9+/=]{16,200}|[A-Za-z0-9+/]{1,15}={1,2}|(?:Proc-Type|DEK-Info|Comment|Version): [^\n]{1,100})?${AROUND}(?=\s|$)`,
  'y',
);
const KEY_CHARACTERS = 20_000;

/** Private keys in blocks; and lines from inside of one, as long as only those of keys are. */
function findPrivateKeys(text: string): Found[] {
  const found: Found[] = [];
  if (text.includes('PRIVATE KEY')) {
    KEY_BEGINS.lastIndex = 0;
    for (let begin = KEY_BEGINS.exec(text); begin !== null; begin = KEY_BEGINS.exec(text)) {
      const from = KEY_BEGINS.lastIndex;
      const [within = ''] = text.slice(from, from + KEY_CHARACTERS).split('-----BEGIN', 1);
      KEY_ENDS.lastIndex = 0;
      const ending = KEY_ENDS.exec(within);
      let end = from + (ending ? KEY_ENDS.lastIndex : 0);
      if (end === from) {
        for (KEY_LINE.lastIndex = from; KEY_LINE.test(text) && KEY_LINE.lastIndex > end; ) end = KEY_LINE.lastIndex;
      }
      if (/[A-Za-z0-9+/=]{16}/.test(text.slice(from, end)))
        found.push({ rule: 'private-key', start: begin.index, end });
      KEY_BEGINS.lastIndex = Math.max(from, end);
    }
  }
  KEY_LINES.lastIndex = 0;
  for (let lines = KEY_LINES.exec(text); lines !== null; lines = KEY_LINES.exec(text)) {
    const before = text.slice(Math.max(0, lines.index - 4000), lines.index);
    const heading = before.lastIndexOf('-----BEGIN');
    const isPublic = heading >= 0 && !/PRIVATE|-----END/.test(before.slice(heading));
    const [line = ''] = /[A-Za-z0-9+/]{64,70}/.exec(lines[0]) ?? [];
    if (!isPublic && /\d/.test(line) && /[a-z]/.test(line) && /[A-Z]/.test(line))
      found.push({
        rule: 'private-key',
        start: lines.index - (HALF_A_LINE.exec(before)?.[0].length ?? 0),
        end: KEY_LINES.lastIndex,
      });
  }
  return found;
}

const LINE = (length: number) =>
  String.raw`[A-Za-z0-9+/]{${length}}(?:${AROUND}\n${AROUND}?[A-Za-z0-9+/]{${length}}(?![A-Za-z0-9+/]))+(?:${AROUND}\n${AROUND}?[A-Za-z0-9+/]{4,70}={0,2}(?=[\s"'\x60,;]|$))?`;
/** What is left of a line above them, where the block is cut. */
const HALF_A_LINE = new RegExp(String.raw`(?<=\s|^)[A-Za-z0-9+/]{8,69}\n${AROUND}$`);
const KEY_LINES = new RegExp(String.raw`(?<![A-Za-z0-9+/])(?:${LINE(64)}|${LINE(70)})`, 'g');

const BASE64 = /(?<![\w+/-])[\w+/-]{24,8000}={0,2}(?![\w+/=-])/g;

/** What is found by what it says once it is decoded. */
function findEncoded(text: string): Found[] {
  const found: Found[] = [];
  for (const match of text.matchAll(BASE64)) {
    const said = Buffer.from(match[0], 'base64').toString('latin1');
    if (!/^[\x20-\x7e\s]{16,}$/.test(said)) continue;
    if (findTokens(said, said.toLowerCase()).length > 0 || /ey[JAo][\w-]{8,}\.|PRIVATE KEY-----/.test(said))
      found.push({ rule: 'base64', start: match.index, end: match.index + match[0].length });
  }
  return found;
}

/** From where a run of such letters begins: a long one without a dot must not be read again from each of its letters. */
const DOTTED = /(?<![\w-])[\w-]{10,}\.[\w-]{8,}(?:\.[\w-]*)?/g;

function findJwts(text: string): Found[] {
  const found: Found[] = [];
  for (const { 0: run, index } of text.matchAll(DOTTED)) {
    const begins = /ey(?:[JAo][\w-]{8}|\w{17,}\.ey)/.exec(run)?.index ?? run.length;
    const end = index + run.length;
    if (begins < run.indexOf('.') && isMachineMade(run.slice(begins)))
      found.push({ rule: 'jwt', start: index + begins, end: withNextLines(text, end) });
  }
  for (const { 0: token, index } of text.matchAll(BROKEN)) {
    found.push({ rule: 'jwt', start: index, end: withNextLines(text, index + token.length) });
  }
  return found;
}

const BROKEN = /(?<![\w-])ey[JAo][\w-]{8,1000}\n[ \t]{0,40}[\w-]{1,1000}\.[\w-]{8,8000}(?:\.[\w-]*)?/g;

const SECRET_KIND = /\bkind["']?:[ \t]{0,9}["']?Secret\b/g;
const DATA_LINE =
  /(?<=[\s{,]["']?)[\w.-]{1,100}["']?:[ \t]{0,9}(?:[|>][-+]?\s{1,40})?["']?(?<secret>[A-Za-z0-9+/]{8,8000}={0,3})(?![\w+/=])/dg;
const DATA = /(?<![A-Za-z])(?:string)?data["']?:/gi;
// The block ends where something that is not its own begins.
const AFTER_DATA = /\}|\n[A-Za-z-]/gi;
const AROUND_KIND = 4000;

/** What stands under `data:` near `kind: Secret`: base64 is no veil. */
function findKubernetesSecrets(text: string): Found[] {
  const kinds = [...text.matchAll(SECRET_KIND)].map((match) => match.index);
  const found: Found[] = [];
  let done = 0;
  for (const data of kinds.length === 0 ? [] : text.matchAll(DATA)) {
    const from = data.index + data[0].length;
    while (kinds[0] !== undefined && kinds[0] < data.index - AROUND_KIND) kinds.shift();
    if (data.index < done || kinds[0] === undefined || kinds[0] > data.index + AROUND_KIND) continue;
    AFTER_DATA.lastIndex = from;
    done = Math.min(AFTER_DATA.exec(text)?.index ?? text.length, from + 4 * AROUND_KIND);
    for (const match of text.slice(from, done).matchAll(DATA_LINE)) {
      const [start = 0, end = 0] = match.indices?.groups?.secret ?? [];
      found.push({ rule: 'kubernetes', start: from + start, end: from + end });
    }
  }
  return found;
}

export function findBlocks(text: string): Found[] {
  return [...findPrivateKeys(text), ...findJwts(text), ...findKubernetesSecrets(text), ...findEncoded(text)];
}
