// What of a session can be shown at all: rows in source order, each with its speaker and its tier.
// A row is what one message says in one breath (its words, one call or one result), so that each can be weighed and
// cut by itself. Harness messages and empty parts have no row. The text is decoded, whole and not yet redacted.

import { AppError } from '../errors.ts';
import type { Message, Part, Speaker, Turn } from './types.ts';

/** What is shown first when not all fits; `final` is the last text of the assistant in a turn. */
export type Tier = 'human' | 'final' | 'subagent' | 'assistant' | 'tool';

export interface Row {
  kind: 'words' | 'call' | 'result';
  message: Message;
  /** Counts the messages that have rows, in source order; what is missing between two rows was left out. */
  position: number;
  /** Counts the rows, in source order. */
  index: number;
  turn: string;
  speaker: Speaker;
  tier: Tier;
  /** False: context, on which nothing can rest. */
  offered: boolean;
  text: string;
  /** All rows of the same message, this one included. */
  beside: Row[];
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
      // It is what the human answers to, without which the words say little.
      const tier = said === speaker ? tierOf(part, said) : 'final';
      const place = { position, index: before.rows + rows.length, turn: turn.id, offered: at >= firstOffered };
      const row: Row = { ...part, ...place, message, speaker: said, tier, beside };
      beside.push(row);
      rows.push(row);
    }
    position += 1;
  }
  raiseFinalText(rows.filter((row) => row.offered));
  raiseFinalText(rows.filter((row) => !row.offered));
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

type ReadPart = Pick<Row, 'kind' | 'text'>;

function readParts(parts: Part[]): ReadPart[] {
  const read: ReadPart[] = [];
  for (const part of parts) {
    if (!isShowable(part)) continue;
    const next = readPart(part);
    const last = read.at(-1);
    if (next.kind === 'words' && last?.kind === 'words') last.text += `\n${next.text}`;
    else read.push(next);
  }
  return read;
}

function readPart(part: Part): ReadPart {
  switch (part.kind) {
    case 'text':
      return { kind: 'words', text: part.text.toWellFormed() };
    case 'attachment':
      return { kind: 'words', text: `[attachment: ${part.label}]`.toWellFormed() };
    case 'call':
      return { kind: 'call', text: `call ${part.tool} ${compactJson(part.input)}`.toWellFormed() };
    case 'result':
      return { kind: 'result', text: `${part.isError ? 'error: ' : ''}${part.text}`.toWellFormed() };
  }
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

function tierOf(part: ReadPart, speaker: Speaker): Tier {
  if (part.kind !== 'words' || speaker === 'tool') return 'tool';
  return speaker === 'human' || speaker === 'subagent' ? speaker : 'assistant';
}

function raiseFinalText(rows: Row[]): void {
  const last = rows.findLast((row) => row.tier === 'assistant');
  for (const row of rows) if (row.tier === 'assistant' && row.position === last?.position) row.tier = 'final';
}
