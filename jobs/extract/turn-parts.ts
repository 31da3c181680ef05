// Divides a turn into parts of one fate each: what the ledger covers, what the main agent wrote down itself, what is
// pending. A write of the main agent covers what lies between the write before it, or the beginning of the turn, and
// itself; what a person says after the last write is pending, with what follows it.
// It decides by what it is given and looks nothing up.

import { type Coverage, type Interval, intervalOf } from '../../src/memory/ledger/coverage.ts';
import type { Disposition } from '../../src/memory/types.ts';
import type { ExcerptTurn } from '../../src/transcript/excerpt/segments.ts';
import { isMainAgents } from '../../src/transcript/own-writes.ts';
import type { Message, Turn } from '../../src/transcript/types.ts';
import type { MemoryWrite } from './external-changes.ts';

/** What is kept of a turn. */
export interface KnownTurn {
  id: string;
  at?: string;
  messageIds: readonly string[];
}

/** A range of a turn that is to be covered. */
export interface PendingTurn {
  turn: KnownTurn;
  /** The first message of the range; empty: from the beginning of the turn. */
  from: string;
  /** Through which message it is covered once its work is done. */
  throughMessage: string;
  /** How many of its messages, harness apart, were not covered. */
  newMessages: number;
  /** What the ledger said of the range when it was looked at. */
  seen: readonly string[];
}

/** Consecutive messages of a turn with one fate. */
export interface TurnPart extends Interval {
  state: 'pending' | Disposition;
  /** The job that covered it. */
  job: string | null;
  /** The write that covers it. */
  write?: MemoryWrite;
}

interface DividedTurn {
  /** What the main agent wrote down itself and is not covered yet, a range for each write. */
  mainAgent: PendingTurn[];
  pending: PendingTurn | null;
  /** What is shown where something is pending: the turn up to there, and the first message that is offered. */
  shown: ExcerptTurn | null;
  /** In order; messages of the program belong to no part. */
  parts: TurnPart[];
}

interface WhatIsKnown {
  rows: readonly Coverage[];
  /** The row no longer counts: what it covers is to be looked at again. */
  isRetaken(row: Coverage): boolean;
  writes: readonly MemoryWrite[];
}

export function divideTurn(turn: Turn, known: KnownTurn, { rows, isRetaken, writes }: WhatIsKnown): DividedTurn {
  const { messages } = turn;
  const ids = known.messageIds;
  const ranges = rows.flatMap((row) => {
    const interval = intervalOf(row, ids);
    return interval ? [{ row, ...interval, isStanding: !isRetaken(row) }] : [];
  });
  const standing = ranges.filter(({ isStanding }) => isStanding);
  const furthest = Math.max(-1, ...standing.map(({ end }) => end));
  const said = [...messages.keys()].filter((at) => messages[at]?.speaker !== 'harness');
  // What a reader sees today and the one that covered the turn did not see is covered with what it stands between.
  const isOpen = (at: number) =>
    at > furthest || (ranges.some((range) => isIn(range, at)) && !standing.some((range) => isIn(range, at)));
  const open = said.filter(isOpen);

  const rangeOf = (first: number, last: number): PendingTurn => {
    const overlapping = ranges.filter(({ start, end }) => start <= last && end >= first);
    return {
      turn: known,
      from: first === said[0] ? '' : (ids[first] as string),
      throughMessage: ids[last] as string,
      newMessages: open.filter((at) => at >= first && at <= last).length,
      seen: overlapping.map(({ row }) => nameOf(row)),
    };
  };

  const mainAgent: (PendingTurn & Interval & { write: MemoryWrite })[] = [];
  let written = -1;
  for (const write of writes) {
    const before = open.filter((at) => at > written && at <= write.through);
    const [first] = before;
    if (first === undefined) continue;
    written = hasOnlyClosingWords(messages, write.through) ? ids.length - 1 : write.through;
    mainAgent.push({ ...rangeOf(first, written), start: first, end: written, write });
  }
  const rest = open.filter((at) => at > written);
  const [first] = rest;
  const last = rest.at(-1) ?? -1;
  const end = last > furthest ? ids.length - 1 : last;

  const fateOf = (at: number): Omit<TurnPart, 'start' | 'end'> & { of: unknown } => {
    if (isOpen(at)) {
      const skipped = mainAgent.find((range) => isIn(range, at));
      if (skipped) return { state: 'main-agent', job: null, write: skipped.write, of: skipped };
      return { state: 'pending', job: null, of: null };
    }
    const covering = standing.find((range) => isIn(range, at)) ?? standing.find(({ end }) => end >= at);
    const { row } = covering as { row: Coverage };
    return { state: row.disposition, job: row.job, of: row };
  };
  const parts: (TurnPart & { of: unknown })[] = [];
  for (const at of said) {
    const fate = fateOf(at);
    const part = parts.at(-1);
    if (part && part.of === fate.of) part.end = at;
    else parts.push({ ...fate, start: at, end: at });
  }
  return {
    mainAgent: mainAgent.map(({ start: _, end: __, write: ___, ...range }) => range),
    pending: first === undefined ? null : rangeOf(first, end),
    shown:
      first === undefined
        ? null
        : { turn: { ...turn, messages: messages.slice(0, end + 1) }, offeredFrom: ids[first] as string },
    parts: parts.map(({ of: _, ...part }) => {
      const { state, write } = part;
      return state === 'main-agent' && !write ? { ...part, write: writes.findLast(({ at }) => isIn(part, at)) } : part;
    }),
  };
}

/** How what one job said of a turn is told from what others did. */
export function nameOf({ session, turn, disposition, job }: Coverage): string {
  return [session, turn, disposition, job].join('\n');
}

/** Whether all that follows is the agent's closing words: no person spoke, and no work went on. */
function hasOnlyClosingWords(messages: readonly Message[], after: number): boolean {
  return messages
    .slice(after + 1)
    .every(
      (message) =>
        message.speaker === 'harness' ||
        message.isAbandoned ||
        (isMainAgents(message) && message.speaker !== 'human' && !message.parts.some(({ kind }) => kind === 'call')),
    );
}

export function isIn({ start, end }: Interval, at: number): boolean {
  return start <= at && at <= end;
}
