// How rows look to the model: a header per message, every line of content behind `| `, gap lines for what is missing.
// Nothing a message says, and no id, can pass for a header or a gap. A text is cut in its middle only, never inside a
// character, and says how much is gone.

import { createHash } from 'node:crypto';
import { dayOf, isInstant, timeOf } from '../time.ts';
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
}

/** The rows, which must be in source order, as text; empty for none. */
export function renderRows(shown: ShownRow[], frame: Frame): string {
  if (shown.length === 0) return '';
  const lines: string[] = [];
  let last: Row | null = null;
  for (const { row, text, offered } of shown) {
    if (row.position !== last?.position) lines.push(...gapBetween(last?.position ?? -1, row.position));
    if (row.position !== last?.position || row.speaker !== last.speaker) lines.push(renderHeader(row, offered, frame));
    lines.push(quoteLines(text));
    last = row;
  }
  lines.push(...gapBetween(last?.position ?? -1, frame.messages));
  return lines.join('\n');
}

function gapBetween(shownBefore: number, shownAfter: number): string[] {
  const missing = shownAfter - shownBefore - 1;
  return missing > 0 ? [`(… ${missing} ${missing === 1 ? 'message' : 'messages'} left out …)`] : [];
}

/** The line above what a message says. */
export function renderHeader({ message, speaker }: Row, offered: boolean, { shortIds, zone }: Frame): string {
  const words = [shortIds.get(message.id), speaker];
  if (isInstant(message.at)) words.push(dayOf(message.at, zone), timeOf(message.at, zone));
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
const HEAD_SHARE = 0.6;

/**
 * The longest head and tail of `text` that `fits` accepts, with a mark between them; the text itself where it fits;
 * null where less than 40 characters of it would be left.
 */
export function cutMiddle(text: string, fits: (candidate: string) => boolean): string | null {
  if (fits(text)) return text;
  if (text.length <= LEAST_KEPT || !fits(keepEnds(text, LEAST_KEPT))) return null;
  let kept = LEAST_KEPT;
  let tooMany = kept * 2;
  while (tooMany < text.length && fits(keepEnds(text, tooMany))) [kept, tooMany] = [tooMany, tooMany * 2];
  tooMany = Math.min(tooMany, text.length);
  while (tooMany - kept > 1) {
    const middle = Math.floor((kept + tooMany) / 2);
    if (fits(keepEnds(text, middle))) kept = middle;
    else tooMany = middle;
  }
  return keepEnds(text, kept);
}

function keepEnds(text: string, kept: number): string {
  let head = Math.ceil(kept * HEAD_SHARE);
  let tail = text.length - (kept - head);
  if (isHighSurrogate(text, head - 1)) head -= 1;
  if (isHighSurrogate(text, tail - 1)) tail += 1;
  return `${text.slice(0, head)}\n… ${tail - head} characters left out …\n${text.slice(tail)}`;
}

function isHighSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800;
}
