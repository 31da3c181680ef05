// Divides a turn into ranges of one fate each: what is covered, what the agent wrote down itself, what is pending. A write of the
// agent covers what lies between the write before it, or the beginning of the turn, and itself; what a person says after the last
// write is pending, with what follows it. It decides by what it is given and looks nothing up.

import { type Interval, intervalOf, nameOf, type TurnIds, type TurnRow } from '../../src/memory/entries.ts';
import type { Message, Turn } from '../../src/transcript/messages.ts';
import { isMainAgents } from '../../src/transcript/own-writes.ts';
import type { AgentWrite } from './agent-writes.ts';

/** What is kept of a turn. */
export type KnownTurn = TurnIds & { at?: string };

/** A range of a turn that is to be covered. */
export interface TurnRange {
  turn: KnownTurn;
  /** Its first message; '': from the beginning of the turn. */
  begins: string;
  /** Through which message it is covered once its work is done. */
  through: string;
  /** What was known of the range when it was looked at (`nameOf`). */
  seen: ReadonlySet<string>;
}

interface WhatIsKnown {
  rows: readonly TurnRow[];
  /** The row no longer counts: what it covers is to be looked at again. */
  isRetaken(row: TurnRow): boolean;
  writes: readonly AgentWrite[];
}

interface Divided {
  /** What is to be extracted, and the first message that is offered. */
  pending: TurnRange | null;
  offeredFrom: string | null;
  /** What the agent wrote down itself and is not covered yet, a range for each write. */
  own: (Interval & { range: TurnRange })[];
  newlyDeclined: TurnRange[];
}

export function divideTurn(
  { messages }: Pick<Turn, 'messages'>,
  turn: KnownTurn,
  { rows, isRetaken, writes }: WhatIsKnown,
): Divided {
  const ids = turn.messageIds;
  const ranges = rows.flatMap((row) => {
    const interval = intervalOf(row, ids);
    return interval ? [{ row, ...interval, stands: !isRetaken(row) }] : [];
  });
  const standing = ranges.filter(({ stands }) => stands);
  const furthest = Math.max(-1, ...standing.map(({ end }) => end));
  const said = [...messages.keys()].filter((at) => messages[at]?.speaker !== 'harness');
  // What a reader sees today and the one that covered the turn did not see is covered with what it stands between.
  const open = said.filter(
    (at) => at > furthest || (ranges.some((range) => isIn(range, at)) && !standing.some((range) => isIn(range, at))),
  );
  const rangeOf = (first: number, last: number): TurnRange => ({
    turn,
    begins: first === said[0] ? '' : (ids[first] as string),
    through: ids[last] as string,
    seen: new Set(ranges.flatMap(({ row, start, end }) => (start <= last && end >= first ? nameOf(row) : []))),
  });
  const own: Divided['own'] = [];
  let written = -1;
  for (const write of writes) {
    const start = open.find((at) => at > written && at <= write.through);
    if (start === undefined) continue;
    written = hasOnlyClosingWords(messages, write.through) ? ids.length - 1 : write.through;
    own.push({ start, end: written, range: rangeOf(start, written) });
  }
  const rest = open.filter((at) => at > written);
  const [first] = rest;
  const last = rest.at(-1) ?? -1;
  const isNew = ({ row }: { row: TurnRow }) => row.reason === 'declined' && row.job === '';
  const covering = (at: number) => standing.find((range) => isIn(range, at));
  const declined: Interval[] = [];
  for (const [n, at] of said.entries()) {
    const range = covering(at);
    if (!range || !isNew(range)) continue;
    const open = declined.at(-1);
    if (open && open.end === said[n - 1]) open.end = at;
    else declined.push({ start: at, end: at });
  }
  return {
    pending: first === undefined ? null : rangeOf(first, last > furthest ? ids.length - 1 : last),
    offeredFrom: first === undefined ? null : (ids[first] as string),
    own,
    newlyDeclined: declined.map(({ start, end }) => rangeOf(start, end)),
  };
}

/** Whether all that follows is the agent's closing words: no person spoke, and no work went on. */
function hasOnlyClosingWords(messages: readonly Message[], after: number): boolean {
  const isClosing = (message: Message) =>
    isMainAgents(message) && message.speaker !== 'human' && !message.parts.some(({ kind }) => kind === 'call');
  return messages
    .slice(after + 1)
    .every((message) => message.speaker === 'harness' || message.isAbandoned || isClosing(message));
}

function isIn({ start, end }: Interval, at: number): boolean {
  return start <= at && at <= end;
}

/** Whether a message lies in what is covered as written down by the agent. */
export function isOwnWrite(rows: readonly TurnRow[], { messageIds }: KnownTurn, at: number): boolean {
  return rows.some((row) => {
    const interval = row.reason === 'own-write' && intervalOf(row, messageIds);
    return interval && isIn(interval, at);
  });
}

export function whole(turn: KnownTurn): TurnRange {
  return { turn, begins: '', through: turn.messageIds.at(-1) as string, seen: new Set() };
}

/** What would be known of the messages that were declined; those without a time are as old as the one before. */
export function declinedRows({ id, messages }: Turn, before: string | undefined): TurnRow[] {
  if (before === undefined) return [];
  const next = messages.findIndex(({ at }) => at !== undefined && at >= before);
  const last = messages[next === -1 && messages.some(({ at }) => at !== undefined) ? messages.length - 1 : next - 1];
  const row = {
    session: '',
    id,
    begins: '',
    memory: '',
    state: 'skipped',
    reason: 'declined',
    day: '',
    job: '',
  } as const;
  return last ? [{ ...row, through: last.id }] : [];
}
