// How segments look to the model: a header per message, every line of content behind `| `, gap lines for what is missing,
// and which part it is of what does not fit into one. Nothing a message says, and no id, can pass for any of these.

import { hash } from 'node:crypto';
import { dayOf, isInstant, timeOf } from '../../base/time.ts';
import { SeenKeys } from '../seen-keys.ts';
import type { Segment } from './segments.ts';

/** A segment as it is to be shown: its redacted text, whole or cut. */
export interface DisplayedSegment {
  segment: Segment;
  text: string;
  /** Whether an entry can rest on it here. */
  offered: boolean;
}

export interface Layout {
  /** What each message id is shown as. */
  shortIds: ShortIds;
  /** All messages that have segments, shown or not. */
  messages: number;
  zone: string;
  /** Where it is one of several. */
  part?: ExcerptPart;
}

export interface ExcerptPart {
  at: number;
  of: number;
  /** The positions of the first and the last message that this part offers. */
  from: number;
  to: number;
}

/** The segments, which must be in source order, as text; empty for none. */
export function renderSegments(shown: DisplayedSegment[], layout: Layout): string {
  if (shown.length === 0) return '';
  const { part, messages } = layout;
  const lines = part ? [`(part ${part.at} of ${part.of})`] : [];
  let last: Segment | null = null;
  for (const { segment, text, offered } of shown) {
    if (segment.position !== last?.position) lines.push(...gapBetween(last?.position ?? -1, segment.position, part));
    if (segment.position !== last?.position || segment.speaker !== last.speaker)
      lines.push(renderHeader(segment, offered, layout));
    lines.push(quoteLines(text));
    last = segment;
  }
  lines.push(...gapBetween(last?.position ?? -1, messages, part));
  return lines.join('\n');
}

/** What is missing between two messages that are shown: what other parts show is not left out. */
function gapBetween(shownBefore: number, shownAfter: number, part?: ExcerptPart): string[] {
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
export function renderHeader({ message, speaker }: Segment, offered: boolean, { shortIds, zone }: Layout): string {
  const words = [shortIds.get(message.id), speaker];
  // What a tool says, it says right after it was called.
  if (speaker !== 'tool' && isInstant(message.at)) words.push(dayOf(message.at, zone), timeOf(message.at, zone));
  if (!offered) words.push('context');
  return `[${words.join(' ')}]`;
}

// Every character that a reader may take for the end of a line.
const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

/** The text as it is under a header: every line behind `| `. */
export function quoteLines(text: string): string {
  return text
    .split(LINE_END)
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

export interface ShortIds {
  get(id: string): string;
  /** How many ids it was made for. */
  count: number;
}

/**
 * For each id the first eight characters of its label; a hash of it where another of `ids` begins so too, since of ids
 * that differ at their end only a model drops the end. The ids of a large session are many: none is kept.
 */
export function shortenIds(ids: Iterable<string>): ShortIds {
  const labels = new SeenKeys();
  const beginnings = new SeenKeys();
  const shared = new Set<string>();
  let count = 0;
  for (const id of ids) {
    count += 1;
    const label = labelOf(id);
    const beginning = label.slice(0, SHORTEST_ID);
    if (labels.add(label) && !beginnings.add(beginning)) shared.add(beginning);
  }
  return {
    count,
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
  if (exact !== undefined || given.length < SHORTEST_ID) return exact;
  const matches = known.filter((id) => labelOf(id).startsWith(given) || hashOf(labelOf(id)).startsWith(given));
  return matches.length === 1 ? matches[0] : undefined;
}
