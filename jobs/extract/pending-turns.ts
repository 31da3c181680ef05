// A session's turns by what is known of them: which are pending and from which message on, which ranges the agent wrote down
// itself, which are private, which serve as context. One pass over the transcript. The pending turns and their context are held,
// up to 64 MB of text: what is pending beyond that waits for the next pass. Of all others no more is kept than their ids. And the
// excerpts in which the model is shown them: every text is redacted whole before any of it is cut.

import { redact } from '../../src/base/secrets/redact-text.ts';
import { textsIn } from '../../src/base/text/json.ts';
import {
  coverageOf,
  coverageWhere,
  type Interval,
  intervalOf,
  type SkipReason,
  type TurnIds,
  type TurnRow,
} from '../../src/memory/entries.ts';
import type { Memories } from '../../src/memory/memories.ts';
import type { SessionRow } from '../../src/memory/session-rows.ts';
import { buildExcerpts, type Excerpt } from '../../src/transcript/excerpt/excerpt.ts';
import type { ExcerptTurn } from '../../src/transcript/excerpt/segments.ts';
import type { Message, Turn } from '../../src/transcript/messages.ts';
import { finishedCalls, isMainAgents, sayWrites } from '../../src/transcript/own-writes.ts';
import type { Session } from '../../src/transcript/session.ts';
import { Branches, isOwn, isPrivate, isSettled, readTurns } from '../../src/transcript/turns.ts';
import { type AgentWrite, externalChanges, writesAmong } from './agent-writes.ts';

export interface SortedTurns {
  /** The pending ranges, by turn, in the order of the session. */
  pending: Map<string, TurnRange>;
  /** What is covered without a model. */
  byCode: { range: TurnRange; reason: SkipReason }[];
  /** What the agent wrote down itself in this session, by turn, in lines. */
  written: Map<string, string[]>;
  /** Pending turns and their context, in order; what was written to a memory elsewhere is said in words. */
  shown: ExcerptTurn[];
  /** How many turns are pending for which there was no place in `shown`. */
  later: number;
  /** How many are pending but may still go on. */
  unsettled: number;
  /** All turns that were read. */
  turns: KnownTurn[];
}

/** What may be taken up again although it was covered. */
export type TakenUp = 'undone' | 'declined' | 'gave_up';

export interface SortOptions {
  memories: Memories;
  memory: string;
  /** The session's row; undefined where it has none yet. */
  row: SessionRow | undefined;
  /** The memories that the session's agent may have written to. */
  writable: readonly string[];
  /** The session is over: its last turn is settled too. */
  ended: boolean;
  /** How long the transcript must not have changed for its last turn to be settled. */
  quietMs: number;
  /** Turns to be extracted again, whatever is known of them. */
  reopened: ReadonlySet<string>;
  /** `gave_up` is of this session alone. */
  takeUp: readonly TakenUp[];
  /** What this job itself gave up stays so. */
  job: string | null;
  /** What was said before this instant was declined; ISO-8601. */
  declinedBefore?: string;
  /** How much text may be held. Default: 64 MB. */
  heldCharacters?: number;
}

const HELD_CHARACTERS = 64 * 2 ** 20;
/** How many covered turns before a pending one are kept as its context. */
const CONTEXT_TURNS = 3;
/** So many messages are asked for at once. */
const MESSAGES_AT_ONCE = 800;

/** Of what is asked for, what there is. */
async function rowsTakenUp({ memories, memory, row, takeUp }: SortOptions): Promise<ReadonlySet<string>> {
  const asked: Partial<TurnRow>[] = [];
  if (takeUp.includes('undone')) asked.push({ memory, state: 'undone' });
  if (takeUp.includes('declined')) asked.push({ memory, reason: 'declined' });
  if (takeUp.includes('gave_up') && row) asked.push({ session: row.id, state: 'gave_up' });
  const rows = await Promise.all(asked.map((where) => coverageWhere(memories.db, where)));
  return new Set(rows.flat().map(({ state, reason }) => reason ?? state));
}

/** Sorts all turns of a session by what is known of them. */
export async function sortTurns(
  session: Pick<Session, 'modifiedAt' | 'messages'>,
  options: SortOptions,
): Promise<SortedTurns> {
  const { memories, memory, row, ended, quietMs, takeUp, heldCharacters: room = HELD_CHARACTERS } = options;
  const takenUp = await rowsTakenUp(options);
  const isTakenUp = ({ reason, state, session: of, job }: TurnRow) =>
    takenUp.has(reason ?? state) && (state !== 'gave_up' || (of === row?.id && job !== options.job));
  const declinedBefore = takeUp.includes('declined') ? undefined : options.declinedBefore;
  const sorted = nothing();
  const unchangedMs = memories.clock.now().getTime() - Date.parse(session.modifiedAt);
  const branches = new Branches();
  let behind: Turn[] = [];
  let held = 0;
  let writeOf: ReturnType<typeof writesAmong> | undefined;
  let begunAt: string | undefined;
  const show = (turn: ExcerptTurn) => {
    for (const each of [...behind.map(asContext), turn]) {
      sorted.shown.push(each);
      held += charactersIn(each.turn);
    }
    behind = [];
  };
  for await (const { turn, rows, isLast } of withRows(readTurns(session.messages()), memories, memory)) {
    const known: KnownTurn = { id: turn.id, at: turn.at, messageIds: turn.messages.map(({ id }) => id) };
    begunAt ??= turn.at;
    const takenBack = new Set(branches.takenBackBy(turn));
    if (takenBack.size > 0) {
      dropTakenBack(sorted, takenBack);
      behind = behind.filter(({ id }) => !takenBack.has(id));
    }
    sorted.turns.push(known);
    if (isOwn(turn)) continue;
    const calls = finishedCalls(turn);
    if (calls.length > 0) writeOf ??= writesAmong(await externalChanges(memories, options.writable, begunAt));
    const writes = calls.flatMap((call) => writeOf?.(call) ?? []);
    const isReopened = options.reopened.has(turn.id);
    const isRetaken = (row: TurnRow) => isReopened || isTakenUp(row);
    const divided = divideTurn(turn, known, { rows, isRetaken, writes });
    const open = divided.own[0]?.range ?? divided.pending;
    // What began before that instant is declined whole.
    const isDeclined =
      open !== null && !isReopened && declinedBefore !== undefined && (turn.at ?? '9') < declinedBefore;
    if (isDeclined) sorted.byCode.push({ range: { ...open, through: whole(known).through }, reason: 'declined' });
    const { pending, offeredFrom, own } = isDeclined ? { ...divided, pending: null, own: [] } : divided;
    const isSettledNow = isSettled(turn, { hasNext: !isLast, ended, unchangedMs, quietMs });
    if (isPrivate(turn)) {
      if ((pending || own.length > 0) && isSettledNow) sorted.byCode.push({ range: whole(known), reason: 'private' });
      continue;
    }
    const here = writes.filter(
      ({ at }) => own.some(({ start, end }) => start <= at && at <= end) || isOwnWrite(rows, known, at),
    );
    if (here.length > 0)
      sorted.written.set(
        turn.id,
        here.flatMap(({ added }) => added),
      );
    if (isSettledNow) sorted.byCode.push(...own.map(({ range }) => ({ range, reason: 'own-write' as const })));
    if (pending && isSettledNow) {
      if (held >= room && sorted.pending.size > 0) {
        sorted.later += 1;
        continue;
      }
      sorted.pending.set(turn.id, pending);
      const elsewhere = calls.filter(({ call, memory: text }) => text && !here.some((write) => write.call === call));
      const calledElsewhere = new Set(elsewhere.map(({ call }) => call));
      const end = known.messageIds.indexOf(pending.through);
      const messages = turn.messages.slice(0, end + 1).map((message) => sayWrites(message, calledElsewhere));
      show({ turn: { ...turn, messages }, offeredFrom });
    } else if (!pending && here.length > 0) {
      if (held < room) show(asContext(turn));
    } else {
      if (pending) sorted.unsettled += 1;
      behind = [...behind, turn].slice(-CONTEXT_TURNS);
    }
  }
  return sorted;
}

function nothing(): SortedTurns {
  const lists = { pending: new Map(), byCode: [], written: new Map(), shown: [], turns: [] };
  return { ...lists, later: 0, unsettled: 0 };
}

type WithRows = { turn: Turn; rows: TurnRow[]; isLast: boolean };

/** The turns with what is known of them, which is asked for of many at once. */
async function* withRows(turns: AsyncIterable<Turn>, { db }: Memories, memory: string): AsyncGenerator<WithRows> {
  const batch: Turn[] = [];
  const take = async (isEnd: boolean) => {
    const some = isEnd ? batch.splice(0) : batch.splice(0, batch.length - 1);
    const ids = some.map(({ id, messages }) => ({ id, messageIds: messages.map((message) => message.id) }));
    const rows = await coverageOf(db, memory, ids);
    return some.map((turn, at) => ({ turn, rows: rows[at] as TurnRow[], isLast: isEnd && at === some.length - 1 }));
  };
  let messages = 0;
  for await (const turn of turns) {
    batch.push(turn);
    messages += turn.messages.length;
    if (messages < MESSAGES_AT_ONCE) continue;
    messages = 0;
    yield* await take(false);
  }
  yield* await take(true);
}

// Turns that others decide on.

/** Turns that a person took back are not shown; what became of them before stays so. */
function dropTakenBack(sorted: SortedTurns, takenBack: ReadonlySet<string>): void {
  for (const id of takenBack) {
    sorted.pending.delete(id);
    sorted.written.delete(id);
  }
  sorted.shown = sorted.shown.filter(({ turn }) => !takenBack.has(turn.id));
  sorted.byCode = sorted.byCode.filter(({ range, reason }) => reason !== 'own-write' || !takenBack.has(range.turn.id));
}

function asContext(turn: Turn): ExcerptTurn {
  return { turn, offeredFrom: null };
}

function charactersIn({ messages }: Turn): number {
  const texts = messages.flatMap(({ parts }) =>
    parts.flatMap((part) => ('text' in part ? part.text : part.kind === 'call' ? textsIn(part.input) : [])),
  );
  return texts.reduce((sum, { length }) => sum + length, 0);
}

// What the model is shown of them.

/** One excerpt, with the pending ranges that it is about. */
export interface Offered {
  excerpt: Excerpt;
  /** Those that end in it. */
  ranges: TurnRange[];
  /** Those of which it offers anything. */
  touched: TurnRange[];
  /** How many turns of the session are pending, these included. */
  left: number;
}

/** What the pending turns are shown in. Contract: the next is asked for once what was offered is committed. */
export async function* offerPending(
  { pending, shown, later }: SortedTurns,
  { excerptTokens: budgetTokens, zone }: { excerptTokens: number; zone: string },
): AsyncGenerator<Offered> {
  let left = pending.size + later;
  for await (const excerpt of buildExcerpts(shown, { budgetTokens, redact, zone })) {
    const offered = [...excerpt.sources.values()].filter((source) => source.offered).map(({ turn }) => turn);
    const rangesOf = (ids: string[]) => [...new Set(ids)].flatMap((id) => pending.get(id) ?? []);
    const ranges = rangesOf(excerpt.turns);
    yield { excerpt, ranges, touched: rangesOf([...offered, ...excerpt.turns]), left };
    left -= ranges.length;
  }
}

// How a turn is divided. A write of the agent covers what lies between the write before it, or the beginning of the turn, and itself; what a
// person says after the last write is pending, with what follows it.

/** What is kept of a turn. */
type KnownTurn = TurnIds & { at?: string };

/** A range of a turn that is to be covered. */
export interface TurnRange {
  turn: KnownTurn;
  /** Its first message; '': from the beginning of the turn. */
  begins: string;
  /** Through which message it is covered once its work is done. */
  through: string;
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
}

function divideTurn(
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
  return {
    pending: first === undefined ? null : rangeOf(first, last > furthest ? ids.length - 1 : last),
    offeredFrom: first === undefined ? null : (ids[first] as string),
    own,
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
function isOwnWrite(rows: readonly TurnRow[], { messageIds }: KnownTurn, at: number): boolean {
  return rows.some((row) => {
    const interval = row.reason === 'own-write' && intervalOf(row, messageIds);
    return interval && isIn(interval, at);
  });
}

export function whole(turn: KnownTurn): TurnRange {
  return { turn, begins: '', through: turn.messageIds.at(-1) as string };
}
