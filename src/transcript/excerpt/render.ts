// From segments to what the model reads: which go together into a chunk, what is cut of a long one, how it looks.
// Promises: chunks are cut between turns, and inside a turn only between human messages; a text is never cut inside a
// character, and a mark says how much is gone; every word that a person typed around a long paste stays. Each message has
// a header, every line of content stands behind `| `, and nothing a message says, and no id, can pass for either.

import { hash } from 'node:crypto';
import { mostThat } from '../../base/text/wording.ts';
import { dayOf, isInstant, timeOf } from '../../base/time.ts';
import type { Segment } from './segments.ts';

/** Offered segments that stay together: those of a turn, or of a part of it that begins with a human message. */
export interface Unit {
  turn: string;
  segments: Segment[];
  endsTurn: boolean;
}

/** The chunks of `units`, in order, of each of which `fitsTogether` accepts the units or the one it has. */
export async function cutIntoChunks(
  units: readonly Unit[],
  fitsTogether: (units: Unit[]) => Promise<boolean>,
): Promise<Unit[][]> {
  const chunks: Unit[][] = [];
  for (const whole of units) {
    for (const unit of (await fitsTogether([whole])) ? [whole] : splitAtHumans(whole)) {
      const open = chunks.at(-1);
      if (open && (await fitsTogether([...open, unit]))) open.push(unit);
      else chunks.push([unit]);
    }
  }
  return chunks;
}

function splitAtHumans(unit: Unit): Unit[] {
  const parts: Segment[][] = [[]];
  // A result in a human's message is what the human answers to, and stays with the answer.
  const isOfHuman = ({ siblings }: Segment) => siblings.some(({ priority }) => priority === 'human');
  for (const segment of unit.segments) {
    const human = parts.at(-1)?.find(isOfHuman);
    if (isOfHuman(segment) && human && human.position !== segment.position) parts.push([]);
    parts.at(-1)?.push(segment);
  }
  return parts.map((segments, at) => ({ turn: unit.turn, segments, endsTurn: at === parts.length - 1 }));
}

const LEAST_KEPT = 40;
/** How far a cut moves to fall between two words. */
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
  return keep(mostThat((count) => fits(keep(count)), Math.min(tooMany, text.length), kept));
}

/** So many characters of the head and of the tail, or a few less, and between them how many `what` are gone. */
function keepEnds(text: string, headLength: number, tailLength: number, what = 'characters'): string {
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

const PASTE_HEAD_CHARACTERS = 1_000;
const PASTE_TAIL_CHARACTERS = 500;

/** The redacted text of `segment` with its long pastes cut. One that is not found there as it is redacted by itself stays whole. */
export async function cutLongPastes(
  segment: Segment,
  redacted: string,
  redact: (text: string) => Promise<{ text: string }>,
): Promise<string> {
  let text = '';
  let done = 0;
  for (const { start, end } of segment.longPastes ?? []) {
    const pasted = (await redact(segment.text.slice(start, end))).text;
    const at = redacted.indexOf(pasted, done);
    if (at === -1 || pasted.length <= PASTE_HEAD_CHARACTERS + PASTE_TAIL_CHARACTERS) continue;
    const cut = keepEnds(pasted, PASTE_HEAD_CHARACTERS, PASTE_TAIL_CHARACTERS, 'characters of a paste');
    text += redacted.slice(done, at) + cut;
    done = at + pasted.length;
  }
  return text + redacted.slice(done);
}

/** A segment as it is to be shown: its redacted text, whole or cut. */
export interface DisplayedSegment {
  segment: Segment;
  text: string;
  /** Whether an entry can rest on it here. */
  offered: boolean;
  /** How often the same was said, where that stands here alone. */
  times?: number;
}

export interface Layout {
  /** What each message id is shown as. */
  shortIds: ShortIds;
  /** All messages that have segments, shown or not. */
  messages: number;
  zone: string;
  /** Where it is one of several. */
  part?: { at: number; of: number };
}

/** The segments, which must be in source order, as text; empty for none. */
export function renderSegments(shown: DisplayedSegment[], layout: Layout): string {
  if (shown.length === 0) return '';
  const { part, messages } = layout;
  const lines = part ? [`(part ${part.at} of ${part.of})`] : [];
  let last: Segment | null = null;
  let lastAt: string | undefined;
  for (const { segment, text, offered, times = 1 } of shown) {
    if (last || !part) lines.push(...gapBetween(last?.position ?? -1, segment.position));
    if (segment.position !== last?.position || segment.speaker !== last.speaker)
      lines.push(renderHeader(segment, offered, layout, lastAt));
    lines.push(quoteLines(text));
    if (times > 1) lines.push(`(the same ${times} times)`);
    last = segment;
    lastAt = segment.message.at ?? lastAt;
  }
  // What comes before and behind is in the other parts.
  if (!part) lines.push(...gapBetween(last?.position ?? -1, messages));
  return lines.join('\n');
}

/** What is missing between two messages that are shown. */
function gapBetween(before: number, after: number): string[] {
  return after > before + 1 ? [`(${after - before - 1} left out)`] : [];
}

/** The line above what a message says, with its time where a person says it or another day begins. `before`: the last instant shown. */
function renderHeader(
  { message, speaker }: Segment,
  offered: boolean,
  { shortIds, zone }: Layout,
  before?: string,
): string {
  const words = [shortIds.get(message.id), speaker];
  const dayBefore = isInstant(before) ? dayOf(before, zone) : undefined;
  if (speaker !== 'tool' && isInstant(message.at)) {
    const day = dayOf(message.at, zone);
    if (speaker === 'human' || day !== dayBefore) words.push(day, timeOf(message.at, zone));
  }
  if (!offered) words.push('context');
  return `[${words.join(' ')}]`;
}

// Every character that a reader may take for the end of a line.
const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

/** The text as it is under a header: every line that says anything, behind `| `. */
export function quoteLines(text: string): string {
  return text
    .split(LINE_END)
    .filter((line) => line.trim() !== '')
    .map((line) => `| ${line}`)
    .join('\n');
}

const SHORTEST_ID = 8;
const HASHED_ID = 12;

/** What an id is called in the excerpt, at full length: the id, or a hash of one that does not fit into a header. */
function labelOf(id: string): string {
  return /^[\w.:/@+-]{1,128}$/.test(id) ? id : hashOf(id).slice(0, 18);
}

function hashOf(id: string): string {
  return `m-${hash('sha256', id)}`;
}

interface ShortIds {
  get(id: string): string;
  /** How many ids it was made for. */
  count: number;
}

/**
 * For each id the first eight characters of its label; a hash of it where another of `ids` begins so too, since of ids
 * that differ at their end only a model drops the end.
 */
export function shortenIds(ids: readonly string[]): ShortIds {
  const beginnings = new Set<string>();
  const shared = new Set<string>();
  for (const label of new Set(ids.map(labelOf))) {
    const beginning = label.slice(0, SHORTEST_ID);
    if (beginnings.has(beginning)) shared.add(beginning);
    beginnings.add(beginning);
  }
  return {
    count: ids.length,
    get(id) {
      const label = labelOf(id);
      const beginning = label.slice(0, SHORTEST_ID);
      return shared.has(beginning) ? hashOf(label).slice(0, HASHED_ID) : beginning;
    },
  };
}

/** Finds what `given` names among `ids`: a full id, a full label, or a prefix of exactly one label or of its hash. */
export function resolveId(ids: Iterable<string>, given: string): string | undefined {
  const known = [...ids];
  const exact = known.find((id) => id === given) ?? known.find((id) => labelOf(id) === given);
  // Copied with its bracket, or with the whole line that a message begins with.
  const bare = /^\[?([^\s[\]]+)(?:\]|\s|$)/.exec(given)?.[1];
  if (exact === undefined && bare !== undefined && bare !== given) return resolveId(known, bare);
  if (exact !== undefined || given.length < SHORTEST_ID) return exact;
  const matches = known.filter((id) => labelOf(id).startsWith(given) || hashOf(labelOf(id)).startsWith(given));
  return matches.length === 1 ? matches[0] : undefined;
}
