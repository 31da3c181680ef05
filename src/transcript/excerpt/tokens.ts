// How many tokens a text may cost: max(characters ÷ 3, o200k tokens × 1.53), where 1.53 is the measured factor of
// Claude's present tokenizer. It errs on the high side: a budget kept here is kept at the model too.
// Exact save where no word ends for 256 characters: there it is counted in pieces, each a token dearer, because the
// encoder takes quadratic time on unbroken text. The encoder is loaded when first needed (half a second, 35 MB).
// Counts of pieces are remembered, since an excerpt is counted again with every row that is tried.

import { isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';
import { GptEncoding } from 'gpt-tokenizer/GptEncoding';
import { readBytesNow } from '../../base/files/files.ts';

const CHARACTERS_PER_TOKEN = 3;
const O200K_FACTOR = 1.53;
/** No text is encoded in longer pieces. */
const PIECE_CHARACTERS = 256;
const REMEMBERED_WORDS = 10_000;
const REMEMBERED_PIECES = 5_000;

/** The tokens of `text`, estimated on the high side; whole, 0 for an empty text. */
export function estimateTokens(text: string): number {
  return Math.ceil(Math.max(text.length / CHARACTERS_PER_TOKEN, countO200k(text) * O200K_FACTOR));
}

/** Whether the estimate is at most `budgetTokens`; told without counting where the length alone tells it. */
export function isWithinTokens(text: string, budgetTokens: number): boolean {
  if (Math.ceil(text.length / CHARACTERS_PER_TOKEN) > budgetTokens) return false;
  // No token is shorter than a byte.
  if (Buffer.byteLength(text) * O200K_FACTOR <= Math.floor(budgetTokens)) return true;
  return estimateTokens(text) <= budgetTokens;
}

/** The o200k tokens of `text`, or a few more. Marks of the tokenizer's own (`<|endoftext|>`) are text like any other. */
export function countO200k(text: string): number {
  let tokens = 0;
  let start = 0;
  while (start < text.length) {
    const end = endOfPiece(text, start);
    tokens += countPiece(text.slice(start, end.at)) + (end.isWithinWord ? 1 : 0);
    start = end.at;
  }
  return tokens;
}

const counted = new Map<string, number>();

function countPiece(piece: string): number {
  const known = counted.get(piece);
  if (known !== undefined) return known;
  encoder ??= loadEncoder();
  // A slice would keep alive all of the text that it is of, here and in the encoder's memory of words.
  const own = Buffer.from(piece, 'utf16le').toString('utf16le');
  const tokens = encoder.countTokens(own, AS_TEXT);
  if (counted.size >= REMEMBERED_PIECES) counted.clear();
  counted.set(own, tokens);
  return tokens;
}

const AS_TEXT = { disallowedSpecial: new Set<string>() };

type Encoder = Pick<GptEncoding, 'countTokens'>;
let encoder: Encoder | undefined;

/** From the list of ranks as OpenAI publishes it: the package's own, a program of 2 MB, takes twice the memory. */
function loadEncoder(): Encoder {
  const { resolve } = createRequire(import.meta.url);
  const list = readBytesNow(resolve('gpt-tokenizer/data/o200k_base.tiktoken')) ?? Buffer.alloc(0);
  const loaded = GptEncoding.getEncodingApi('o200k_base', () => ranksIn(list));
  loaded.setMergeCacheSize(REMEMBERED_WORDS);
  return loaded;
}

/** A line for each token: its bytes in base64, a space, its rank. What is no text by itself stays bytes, as does a mark of order. */
function ranksIn(list: Buffer): (string | number[])[] {
  const ranks: (string | number[])[] = [];
  for (let start = 0; start < list.length; ) {
    const space = list.indexOf(' ', start);
    const end = list.indexOf('\n', space);
    const token = Buffer.from(list.toString('latin1', start, space), 'base64');
    ranks[Number(list.toString('latin1', space + 1, end))] = isText(token) ? token.toString('utf8') : [...token];
    start = end + 1;
  }
  return ranks;
}

function isText(token: Buffer): boolean {
  return isUtf8(token) && !token.toString('utf8').startsWith('\uFEFF');
}

/** Where to cut so that no token is torn: behind a line, or before a lone space, which is never joined to the left. */
function endOfPiece(text: string, start: number): { at: number; isWithinWord: boolean } {
  const end = start + PIECE_CHARACTERS;
  const line = text.slice(start, end).indexOf('\n') + 1;
  if (line > 0 && /[^\s/]/.test(text[start + line] ?? '')) return { at: start + line, isWithinWord: false };
  if (end >= text.length) return { at: text.length, isWithinWord: false };
  for (let at = end; at > start; at--) {
    if (text[at] === ' ' && /\S/.test(text[at - 1] as string) && /\S/.test(text[at + 1] ?? '')) {
      return { at, isWithinWord: false };
    }
  }
  return { at: isLowSurrogate(text, end) ? end - 1 : end, isWithinWord: true };
}

function isLowSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}
