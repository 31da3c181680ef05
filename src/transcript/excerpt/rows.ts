// What of a session can be shown at all: rows in source order, each with its speaker.
// A row is what one message says in one breath (its words, one call or one result), so that each can be weighed and
// cut by itself. Harness messages and empty parts have no row. The text is decoded, without colour codes, whole and not
// yet redacted.

import { stripVTControlCharacters } from 'node:util';
import { AppError } from '../../base/errors.ts';
import type { Message, Part, Speaker, Turn } from '../types.ts';

/**
 * In the order of spending. `human`: a person's words. `answered`: the last words of the assistant before a person's and
 * at the end of a turn, and what else a person's message answers. `failed`: a tool's error, its call, and what the
 * assistant says next. `asked`: a question with what could be chosen. `trace`: what tools were called for, and what they
 * said. `idle`: what says nothing by itself: announcements, bookkeeping, listings, files as they were read or written.
 */
export type Tier = 'human' | 'answered' | 'failed' | 'asked' | 'subagent' | 'assistant' | 'trace' | 'idle';

export interface Row {
  kind: 'words' | 'call' | 'result';
  /** Of a call: which tool. */
  tool?: string;
  /** Of a call and its result. */
  callId?: string;
  isError?: boolean;
  /** Of what is `answered`: a person chose or approved it. */
  isDecidedOn?: boolean;
  /** Of words: where in `text` a paste stands that is too long to be shown whole. */
  longPastes?: Span[];
  message: Message;
  /** Counts the messages that have rows, in source order; what is missing between two rows was left out. */
  position: number;
  /** Counts the rows, in source order. */
  index: number;
  turn: string;
  speaker: Speaker;
  /** `idle` until tiers.ts says. */
  tier: Tier;
  /** False: context, on which nothing can rest. */
  offered: boolean;
  text: string;
  /** All rows of the same message, this one included. */
  beside: Row[];
}

export interface Span {
  start: number;
  end: number;
}

export interface ExcerptTurn {
  turn: Turn;
  /** The id of the first message that is offered; null: the whole turn is context only. */
  offeredFrom: string | null;
}

/** How many messages with rows, and how many rows, stand before a turn. */
export interface RowsBefore {
  messages: number;
  rows: number;
}

/** The rows of a turn, in source order. Throws `bad-input` when `offeredFrom` names no message of it. */
export function layOutTurn({ turn, offeredFrom }: ExcerptTurn, before: RowsBefore): Row[] {
  const firstOffered = offeredFrom === null ? Infinity : turn.messages.findIndex(({ id }) => id === offeredFrom);
  if (firstOffered === -1) throw new AppError('bad-input', `Turn ${turn.id} holds no message ${offeredFrom}.`);
  const rows: Row[] = [];
  let position = before.messages;
  for (const [at, message] of turn.messages.entries()) {
    if (!saysAnything(message)) continue;
    const speaker = speakerOf(message);
    const beside: Row[] = [];
    for (const part of readParts(message.parts)) {
      // A result that came in a human's message was said by the tool: no word of it may pass for the human's.
      const said = speaker === 'human' && part.kind !== 'words' ? 'tool' : speaker;
      const place = { position, index: before.rows + rows.length, turn: turn.id, offered: at >= firstOffered };
      const row: Row = { ...part, ...place, message, speaker: said, tier: 'idle', beside };
      beside.push(row);
      rows.push(row);
    }
    position += 1;
  }
  return rows;
}

/** Whether a message has rows: what the program wrote, and what is empty, has none. */
export function saysAnything(message: Message): boolean {
  return speakerOf(message) !== 'harness' && message.parts.some(isShowable);
}

function isShowable(part: Part): boolean {
  return part.kind === 'call' || part.kind === 'attachment' || readPart(part).text.trim() !== '';
}

/** Who is taken to have said a message: what is said inside a subagent is never the human's or the main agent's. */
export function speakerOf(message: Message): Speaker {
  const isSubagent = message.isSidechain && (message.speaker === 'human' || message.speaker === 'assistant');
  return isSubagent ? 'subagent' : message.speaker;
}

type ReadPart = Pick<Row, 'kind' | 'text' | 'tool' | 'callId' | 'isError' | 'longPastes'>;

/** A paste of more characters is shown by its head and its tail. */
const LONG_PASTE_CHARACTERS = 3_000;

function readParts(parts: Part[]): ReadPart[] {
  const read: ReadPart[] = [];
  for (const part of parts) {
    if (!isShowable(part)) continue;
    const next = readPart(part);
    const last = read.at(-1);
    if (next.kind !== 'words' || last?.kind !== 'words') {
      read.push(next);
      continue;
    }
    const offset = last.text.length + 1;
    const moved = next.longPastes?.map(({ start, end }) => ({ start: start + offset, end: end + offset })) ?? [];
    last.text += `\n${next.text}`;
    if (moved.length > 0) last.longPastes = [...(last.longPastes ?? []), ...moved];
  }
  return read;
}

function readPart(part: Part): ReadPart {
  switch (part.kind) {
    case 'text': {
      const text = readable(part.text);
      const isLongPaste = part.untyped === 'pasted' && text.length > LONG_PASTE_CHARACTERS;
      return { kind: 'words', text, ...(isLongPaste && { longPastes: [{ start: 0, end: text.length }] }) };
    }
    case 'attachment':
      return { kind: 'words', text: `[attachment: ${part.label}]`.toWellFormed() };
    case 'call': {
      const text = `call ${part.tool} ${compactJson(part.input)}`.toWellFormed();
      return { kind: 'call', text, tool: part.tool, callId: part.id };
    }
    case 'result': {
      const text = `${part.isError ? 'error: ' : ''}${readable(part.text)}`;
      return { kind: 'result', text, callId: part.callId, isError: part.isError };
    }
  }
}

function readable(text: string): string {
  return (text.includes('\u001b') ? stripVTControlCharacters(text) : text).toWellFormed();
}

const MAX_DEPTH = 8;

/** JSON as it is shown: eight levels deep, its strings not escaped, for a secret is recognised in decoded text only. */
export function compactJson(value: unknown, depth = 0): string {
  if (typeof value === 'string') return `"${value}"`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (depth === MAX_DEPTH) return '…';
  if (Array.isArray(value)) return `[${value.map((item) => compactJson(item, depth + 1)).join(',')}]`;
  const fields = Object.entries(value).map(([key, item]) => `"${key}":${compactJson(item, depth + 1)}`);
  return `{${fields.join(',')}}`;
}
