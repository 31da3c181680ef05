// Secrets in blocks and in disguise: private keys, whole or cut, tokens of JSON, what Kubernetes keeps, and tokens in base64.
// Promises: each is found in one pass.

import { type Found, isMachineMade, type Span } from './rule.ts';
import { findTokens, withNextLines } from './vendors.ts';
import { findWalletKeys } from './wallets.ts';

const KEY_BEGINS = /-----BEGIN[ \w-]{0,60}PRIVATE KEY(?: BLOCK)?-----/g;
const KEY_ENDS = /-----END[ \w-]{0,60}(?:PRIVATE KEY(?: BLOCK)?|KEY)-----/g;
const AROUND = String.raw`(?:[\w.-]{1,30}[ \t]{0,9}\|)?[ \t>|+#*\d:│→"',;-]{0,20}`;
/** A line of a key, whatever stands before it: its own letters, a heading, or nothing. */
const KEY_LINE = new RegExp(
  String.raw`(?:\s|^)${AROUND}?(?:[A-Za-z0-9+/=]{16,200}|[A-Za-z0-9+/]{1,15}={1,2}|(?:Proc-Type|DEK-Info|Comment|Version): [^\n]{1,100})?${AROUND}(?=\s|$)`,
  'y',
);
const KEY_CHARACTERS = 20_000;

/** What is left of a key above its end. */
const KEY_TAIL = new RegExp(
  String.raw`(?:(?<![^\n])${AROUND}(?=[A-Za-z+/]{0,60}\d)[A-Za-z0-9+/]{8,200}={0,2}${AROUND}\n){1,2}${AROUND}$`,
);

/** Private keys in blocks, whole or without one of their ends. */
function findPrivateKeys(text: string): Found[] {
  const found: Found[] = [];
  if (text.includes('PRIVATE KEY')) {
    KEY_ENDS.lastIndex = 0;
    for (const { 0: ending, index } of text.matchAll(KEY_ENDS)) {
      const before = text.slice(Math.max(0, index - 300), index);
      const tail = /[\w+/=]{4}\W{0,24}$/.test(before.slice(-40)) && KEY_TAIL.exec(before)?.[0];
      if (tail) found.push({ rule: 'private-key', start: index - tail.length, end: index + ending.length });
    }
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
  return found;
}

/** Lines from inside of a key, as long as only those of keys are: two at least. */
function keyLinesAt(text: string, run: Span): Found | undefined {
  const first = text.slice(run.start, run.end);
  if (first.length > 70 || !/\d/.test(first) || !/[a-z]/.test(first) || !/[A-Z]/.test(first)) return undefined;
  const before = text.slice(Math.max(0, run.start - 4000), run.start);
  const heading = before.lastIndexOf('-----BEGIN');
  if (heading >= 0 && !/PRIVATE|-----END/.test(before.slice(heading))) return undefined;
  KEY_LINES.lastIndex = run.start;
  if (!KEY_LINES.test(text)) return undefined;
  const start = run.start - (HALF_A_LINE.exec(before.slice(-100))?.[0].length ?? 0);
  return { rule: 'private-key', start, end: KEY_LINES.lastIndex };
}

const LINE = (length: number) =>
  String.raw`[A-Za-z0-9+/]{${length}}(?:${AROUND}\n${AROUND}?[A-Za-z0-9+/]{${length}}(?![A-Za-z0-9+/]))+(?:${AROUND}\n${AROUND}?[A-Za-z0-9+/]{4,70}={0,2}(?=[\s"'\x60,;]|$))?`;
/** What is left of a line above them, where the block is cut. */
const HALF_A_LINE = new RegExp(String.raw`(?<=\s|^)[A-Za-z0-9+/]{8,69}\n${AROUND}$`);
const KEY_LINES = new RegExp(`${LINE(64)}|${LINE(70)}`, 'y');

/** Long runs of letters that tokens are made of: in what is between nothing else has to be looked for. */
const RUNS = /(?<![\w+/.-])[\w+/.-]{20,}/g;

const BASE64 = /(?<![\w+/-])[\w+/-]{24,8000}={0,2}(?![\w+/=-])/g;

/** What is found by what it says once it is decoded. */
function findEncoded(own: string, start: number): Found[] {
  const found: Found[] = [];
  for (const match of own.matchAll(BASE64)) {
    const said = Buffer.from(match[0], 'base64').toString('latin1');
    if (!/^[\x20-\x7e\s]{16,}$/.test(said)) continue;
    if (findTokens(said, said.toLowerCase()).length > 0 || /ey[JAo][\w-]{8,}\.|PRIVATE KEY-----/.test(said))
      found.push({ rule: 'base64', start: start + match.index, end: start + match.index + match[0].length });
  }
  return found;
}

const DOTTED = /(?<![\w-])[\w-]{10,}\.[\w-]{8,}(?:\.[\w-]*)?/g;
const BROKEN = /ey[JAo][\w-]{8,1000}\n[ \t]{0,40}[\w-]{1,1000}\.[\w-]{8,8000}(?:\.[\w-]*)?/y;

function findJwts(text: string, { start, end }: Span): Found[] {
  BROKEN.lastIndex = start;
  if (BROKEN.test(text)) return [{ rule: 'jwt', start, end: withNextLines(text, BROKEN.lastIndex) }];
  const found: Found[] = [];
  for (const { 0: token, index } of text.slice(start, end).matchAll(DOTTED)) {
    const begins = /ey(?:[JAo][\w-]{8}|\w{17,}\.ey)/.exec(token)?.index ?? token.length;
    if (begins < token.indexOf('.') && isMachineMade(token.slice(begins)))
      found.push({
        rule: 'jwt',
        start: start + index + begins,
        end: withNextLines(text, start + index + token.length),
      });
  }
  return found;
}

const SECRET_KIND = /\bkind["']?:[ \t]{0,9}["']?Secret\b/g;
const DATA_LINE =
  /(?<=[\s{,]["']?)[\w.-]{1,100}["']?:[ \t]{0,9}(?:[|>][-+]?\s{1,40})?["']?(?<secret>[A-Za-z0-9+/]{8,8000}={0,3})(?![\w+/=])/dg;
const DATA = /(?<![A-Za-z])(?:string)?data["']?:/gi;
// The block ends where something that is not its own begins.
const AFTER_DATA = /\}|\n[A-Za-z-]/g;
const AROUND_KIND = 4000;

/** What stands under `data:` near `kind: Secret`: base64 is no veil. */
function findKubernetesSecrets(text: string): Found[] {
  const found: Found[] = [];
  let seen = 0;
  let done = 0;
  for (const { index: kind } of text.matchAll(SECRET_KIND)) {
    if (kind < seen) continue;
    seen = kind + 2 * AROUND_KIND;
    const from = Math.max(0, kind - AROUND_KIND);
    for (const { 0: data, index } of text.slice(from, kind + 3 * AROUND_KIND).matchAll(DATA)) {
      const at = from + index + data.length;
      if (at < done) continue;
      done = endOfData(text, at);
      for (const match of text.slice(at, done).matchAll(DATA_LINE)) {
        const [start = 0, end = 0] = match.indices?.groups?.secret ?? [];
        found.push({ rule: 'kubernetes', start: at + start, end: at + end });
      }
    }
  }
  return found;
}

/** Of a long block the lines that begin in its first 16,000 characters are read, each whole. */
function endOfData(text: string, from: number): number {
  AFTER_DATA.lastIndex = from;
  const end = AFTER_DATA.exec(text)?.index ?? text.length;
  const line = end - from > 4 * AROUND_KIND ? text.indexOf('\n', from + 4 * AROUND_KIND) : -1;
  return line < 0 ? end : Math.min(line, end);
}

export function findBlocks(text: string): Found[] {
  const found = [...findPrivateKeys(text), ...findKubernetesSecrets(text)];
  let keyEnd = 0;
  for (const match of text.matchAll(RUNS)) {
    const run = { start: match.index, end: match.index + match[0].length };
    const padding = /^={0,2}/.exec(text.slice(run.end, run.end + 2))?.[0].length ?? 0;
    found.push(
      ...findWalletKeys(text, run),
      ...findJwts(text, run),
      ...findEncoded(text.slice(run.start, run.end + padding), run.start),
    );
    const lines = run.end - run.start < 64 || run.start < keyEnd ? undefined : keyLinesAt(text, run);
    if (lines === undefined) continue;
    found.push(lines);
    keyEnd = lines.end;
  }
  return found;
}
