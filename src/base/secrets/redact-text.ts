// Takes secrets out of text, before a model sees it and again before the disk does. They are looked for in a copy as rules read
// it (fold.ts), and taken out of the text itself.
// Promises: what is around a secret stays; what goes is what stands under what was found; redacting twice changes nothing more;
// values are never reported; the time is linear in the text, whatever the text.

import { fold } from './fold.ts';
import { findBlocks } from './key-blocks.ts';
import { findNamed } from './names.ts';
import { type Found, PLACEHOLDER } from './rule.ts';
import { findInPlaces } from './secret-places.ts';
import { findPasswords } from './values.ts';
import { findTokens } from './vendors.ts';
import { findCards, findSeedPhrases } from './wallets.ts';

export interface Redaction {
  text: string;
  /** How many secrets each rule found, by rule id; sorted by id. */
  found: { rule: string; count: number }[];
}

type Ranked = Found & { rank: number };

/** What is surest is found first: where two overlap, it gives the name. */
const FINDERS: ((text: string, lower: string) => Found[])[] = [
  findTokens,
  findBlocks,
  findInPlaces,
  findSeedPhrases,
  findCards,
  findNamed,
  findPasswords,
];
const PASSWORDS = FINDERS.length - 1;

// A replacement can lay bare what it hid (a token glued to another). The bound is for texts that were built to be
// peeled one layer at a time.
const MAX_ROUNDS = 10;
/** What was taken out changes what is found at most so far from it; what is nearer to an edge is left to the whole. */
const REACH = 3_000;
const EDGE = 800;

type Piece = { start: number; end: number };

/** Replaces every secret in `text` by `[redacted:<rule>]`. */
export async function redact(text: string): Promise<Redaction> {
  const counts = new Map<string, number>();
  let current = text;
  let pieces: Piece[] = [{ start: 0, end: text.length }];
  for (let round = 1; pieces.length > 0 && round <= MAX_ROUNDS; round++)
    ({ text: current, pieces } = withoutSecrets(current, secretsIn(current, pieces), counts));
  const found = [...counts].map(([rule, count]) => ({ rule, count })).sort((a, b) => (a.rule < b.rule ? -1 : 1));
  return { text: current, found };
}

function secretsIn(text: string, pieces: Piece[]): Found[] {
  return pieces.flatMap((piece) =>
    findSecrets(text.slice(piece.start, piece.end))
      .map(({ rule, start, end }) => ({ rule, start: start + piece.start, end: end + piece.start }))
      .filter(
        ({ start, end }) =>
          (piece.start === 0 || start >= piece.start + EDGE) && (piece.end === text.length || end <= piece.end - EDGE),
      ),
  );
}

/** Where secrets stand in a text, from the left to the right, none in another. */
function findSecrets(text: string): Found[] {
  const folded = fold(text);
  // As long as it was: of all letters only this one has a longer small one.
  const lower = folded.text.replaceAll('\u0130', 'i').toLowerCase();
  const spans: Ranked[] = [];
  for (const [rank, find] of FINDERS.entries())
    for (const span of find(folded.text, lower)) spans.push(Object.assign(span, { rank }));
  const found: Ranked[] = [];
  for (const span of spans.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = found.at(-1);
    if (last === undefined || span.start >= last.end) found.push(span);
    else if (last.rank === PASSWORDS) Object.assign(last, span);
    else if (span.rank !== PASSWORDS) {
      if (span.rank < last.rank) Object.assign(last, { rule: span.rule, rank: span.rank });
      last.end = Math.max(last.end, span.end);
    }
  }
  const isFirst = !text.includes(PLACEHOLDER);
  return found
    .map(({ rule, start, end }) => {
      const [from, to] = folded.original(start, end);
      return { rule, start: from, end: to };
    })
    .filter(({ start, end }) => isFirst || (!isWithinTaken(text, start) && !isWithinTaken(text, end)));
}

const TAKEN = /\[redacted:[\w-]+\]/g;
const LONGEST_TAKEN = 80;

/** Whether a place is within what was taken out before, which is no part of another secret. */
function isWithinTaken(text: string, at: number): boolean {
  const from = Math.max(0, at - LONGEST_TAKEN);
  const taken = text.slice(from, at + LONGEST_TAKEN).matchAll(TAKEN);
  return taken.some(({ 0: { length }, index }) => from + index < at && at < from + index + length);
}

/** The text without them, and the pieces of it in which another may show now. */
function withoutSecrets(text: string, found: Found[], counts: Map<string, number>): { text: string; pieces: Piece[] } {
  let out = '';
  let end = 0;
  const pieces: Piece[] = [];
  for (const span of found) {
    out += `${text.slice(end, span.start)}${PLACEHOLDER}${span.rule}]`;
    counts.set(span.rule, (counts.get(span.rule) ?? 0) + 1);
    end = span.end;
    const last = pieces.at(-1);
    if (last && last.end >= out.length - REACH) last.end = out.length + REACH;
    else pieces.push({ start: Math.max(0, out.length - REACH), end: out.length + REACH });
  }
  out += text.slice(end);
  return { text: out, pieces: pieces.map((piece) => ({ ...piece, end: Math.min(piece.end, out.length) })) };
}

/** Where the secrets of a text are: the line, from 1, in which each begins. */
export async function locateSecrets(text: string): Promise<{ line: number; rule: string }[]> {
  let line = 1;
  let done = 0;
  return findSecrets(text).map(({ rule, start }) => {
    for (; done < start; done++) if (text[done] === '\n') line++;
    return { line, rule };
  });
}
