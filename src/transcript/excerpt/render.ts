// How rows look to the model: a header per message, every line of content behind `| `, gap lines for what is missing,
// and which part it is of what does not fit into one. Nothing a message says, and no id, can pass for any of these.
// A text that is cut is never cut inside a character, and says where how much is gone.

import { createHash } from 'node:crypto';
import { dayOf, isInstant, timeOf } from '../../base/time.ts';
import type { Row } from './rows.ts';

/** A row as it is to be shown: its redacted text, whole or cut. */
export interface ShownRow {
  row: Row;
  text: string;
  /** Whether an entry can rest on it here. */
  offered: boolean;
}

export interface Frame {
  /** What each message id is shown as. */
  shortIds: ShortIds;
  /** All messages that have rows, shown or not. */
  messages: number;
  zone: string;
  /** Where it is one of several. */
  part?: Part;
}

export interface Part {
  at: number;
  of: number;
  /** The positions of the first and the last message that this part offers. */
  from: number;
  to: number;
}

/** The rows, which must be in source order, as text; empty for none. */
export function renderRows(shown: ShownRow[], frame: Frame): string {
  if (shown.length === 0) return '';
  const { part, messages } = frame;
  const lines = part ? [`(part ${part.at} of ${part.of})`] : [];
  let last: Row | null = null;
  for (const { row, text, offered } of shown) {
    if (row.position !== last?.position) lines.push(...gapBetween(last?.position ?? -1, row.position, part));
    if (row.position !== last?.position || row.speaker !== last.speaker) lines.push(renderHeader(row, offered, frame));
    lines.push(quoteLines(text));
    last = row;
  }
  lines.push(...gapBetween(last?.position ?? -1, messages, part));
  return lines.join('\n');
}

/** What is missing between two messages that are shown: what other parts show is not left out. */
function gapBetween(shownBefore: number, shownAfter: number, part?: Part): string[] {
  const { at, of, from, to } = part ?? { at: 1, of: 1, from: 0, to: Infinity };
  const between = (least: number, most: number) =>
    Math.max(0, Math.min(shownAfter - 1, most) - Math.max(shownBefore + 1, least) + 1);
  const others = at + 1 === of ? `part ${of}` : `parts ${at + 1} to ${of}`;
  const gaps: [number, string][] = [
    [at === 1 ? 0 : between(0, from - 1), 'came before'],
    [between(at === 1 ? 0 : from, at === of ? Infinity : to), 'left out'],
    [at === of ? 0 : between(to + 1, Infinity), `come later, in ${others}`],
  ];
  return gaps.flatMap(([count, what]) =>
    count > 0 ? [`(… ${count} ${count === 1 ? 'message' : 'messages'} ${what} …)`] : [],
  );
}

/** The line above what a message says. */
export function renderHeader({ message, speaker }: Row, offered: boolean, { shortIds, zone }: Frame): string {
  const words = [shortIds.get(message.id), speaker];
  // What a tool says, it says right after it was called.
  if (speaker !== 'tool' && isInstant(message.at)) words.push(dayOf(message.at, zone), timeOf(message.at, zone));
  if (!offered) words.push('context');
  return `[${words.join(' ')}]`;
}

// Every character that a reader may take for the end of a line.
const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

/** The text as it stands under a header: every line behind `| `. */
export function quoteLines(text: string): string {
  return text
    .split(LINE_END)
    .map((line) => `| ${line}`)
    .join('\n');
}

const SHORTEST_ID = 8;
const HASHED_ID = 12;

/** What an id is called in the excerpt, at full length: the id, or a hash of one that could not stand in a header. */
function labelOf(id: string): string {
  return /^[\w.:/@+-]{1,128}$/.test(id) ? id : hashOf(id).slice(0, 18);
}

function hashOf(id: string): string {
  return `m-${createHash('sha256').update(id).digest('hex')}`;
}

export interface ShortIds {
  get(id: string): string;
  /** How many ids it was made for. */
  count: number;
}

/**
 * For each id the first eight characters of its label; a hash of it where another of `ids` begins so too, since of ids
 * that differ at their end only a model drops the end.
 */
export function shortenIds(ids: Iterable<string>): ShortIds {
  // One list, no table and no copy: the ids of a large session are many.
  const labels: string[] = [];
  for (const id of ids) labels.push(labelOf(id));
  const count = labels.length;
  labels.sort();
  dropRepeated(labels);
  return {
    count,
    get(id) {
      const label = labelOf(id);
      const at = firstNotBefore(labels, label);
      const after = labels[at] === label ? labels[at + 1] : labels[at];
      const shared = Math.max(sharedPrefix(label, labels[at - 1] ?? ''), sharedPrefix(label, after ?? ''));
      return shared < SHORTEST_ID ? label.slice(0, SHORTEST_ID) : hashOf(label).slice(0, HASHED_ID);
    },
  };
}

/** Takes out of a sorted list what equals the one before. */
function dropRepeated(labels: string[]): void {
  let kept = 0;
  for (const label of labels) {
    if (kept > 0 && label === labels[kept - 1]) continue;
    labels[kept] = label;
    kept += 1;
  }
  labels.length = kept;
}

/** Where the first of the sorted `labels` stands that is not before `label`. */
function firstNotBefore(labels: readonly string[], label: string): number {
  let low = 0;
  let high = labels.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((labels[middle] as string) < label) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Finds what `given` names among `ids`: a full id, a full label, or a prefix of exactly one label or of its hash. */
export function resolveId(ids: Iterable<string>, given: string): string | undefined {
  const known = [...ids];
  const exact = known.find((id) => id === given) ?? known.find((id) => labelOf(id) === given);
  if (exact !== undefined || given.length < SHORTEST_ID) return exact;
  const matches = known.filter((id) => labelOf(id).startsWith(given) || hashOf(labelOf(id)).startsWith(given));
  return matches.length === 1 ? matches[0] : undefined;
}

function sharedPrefix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}

const LEAST_KEPT = 40;
/** How far a cut moves to stand between two words. */
const WORD_CHARACTERS = 30;

/** How much of what is kept is the head; all the rest is the tail. */
export const CUT = { middle: 0.6, beginning: 0, end: 1 } as const;

/**
 * The longest head and tail of `text` that `fits` accepts, with a mark where something is gone; the text itself where it
 * fits; null where less than 40 characters of it would be left.
 */
export function cutTo(
  text: string,
  fits: (candidate: string) => boolean,
  headShare: number = CUT.middle,
): string | null {
  if (fits(text)) return text;
  const keep = (kept: number) => keepEnds(text, Math.ceil(kept * headShare), Math.floor(kept * (1 - headShare)));
  if (text.length <= LEAST_KEPT || !fits(keep(LEAST_KEPT))) return null;
  let kept = LEAST_KEPT;
  let tooMany = kept * 2;
  while (tooMany < text.length && fits(keep(tooMany))) [kept, tooMany] = [tooMany, tooMany * 2];
  tooMany = Math.min(tooMany, text.length);
  while (tooMany - kept > 1) {
    const middle = Math.floor((kept + tooMany) / 2);
    if (fits(keep(middle))) kept = middle;
    else tooMany = middle;
  }
  return keep(kept);
}

/** So many characters of the head and of the tail, or a few less, and between them how many `what` are gone. */
export function keepEnds(text: string, headLength: number, tailLength: number, what = 'characters'): string {
  const head = headLength > 0 ? text.slice(0, wordEnd(text, headLength)) : '';
  const tail = tailLength > 0 ? text.slice(wordStart(text, text.length - tailLength)) : '';
  const mark = `… ${text.length - head.length - tail.length} ${what} left out …`;
  return [head, mark, tail].filter((line) => line !== '').join('\n');
}

function wordEnd(text: string, at: number): number {
  const space = text.slice(Math.max(0, at - WORD_CHARACTERS), at).search(/\s\S*$/);
  if (space > 0) return Math.max(0, at - WORD_CHARACTERS) + space;
  return isHighSurrogate(text, at - 1) ? at - 1 : at;
}

function wordStart(text: string, at: number): number {
  const space = text.slice(at, at + WORD_CHARACTERS).search(/\s/);
  if (space >= 0 && at + space + 1 < text.length) return at + space + 1;
  return isHighSurrogate(text, at - 1) ? at + 1 : at;
}

function isHighSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800;
}
