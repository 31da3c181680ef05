// Sorts a session's turns by what the ledger says of them: which are pending and from which message on, which ranges the
// main agent wrote down itself, which are private, which serve as context. One pass over the file. The pending turns and
// their context are held, up to 64 MB of text: what is pending beyond that waits for the next pass. Of all others no more
// is kept than the ids by which they and their messages are known.

import { textsIn } from '../../src/base/text/json.ts';
import { type Coverage, coverageOfTurn, coverageWhere, standsForMore } from '../../src/memory/ledger/coverage.ts';
import type { Ledger } from '../../src/memory/ledger/ledger.ts';
import type { Disposition } from '../../src/memory/types.ts';
import type { ExcerptTurn } from '../../src/transcript/excerpt/segments.ts';
import { finishedCalls, sayWrites } from '../../src/transcript/own-writes.ts';
import type { ReadPoint, Session } from '../../src/transcript/session.ts';
import { Branches, isOwn, isPrivate, isSettled, readTurns } from '../../src/transcript/turns.ts';
import type { Turn } from '../../src/transcript/types.ts';
import { findExternalChanges, writesAmong } from './external-changes.ts';
import { divideTurn, isIn, type KnownTurn, type PendingTurn, type TurnPart } from './turn-parts.ts';

export type { PendingTurn } from './turn-parts.ts';

/** A part of a turn, by the ids of its first and its last message. */
export interface PartOfTurn {
  from: string;
  through: string;
  state: TurnState;
  /** The job that covered it. */
  job: string | null;
  /** The path whose write covers it. */
  wrote?: string;
}

/**
 * `pending`: to be extracted now. `open`: may still go on. `taken-back`: a person sent an edited prompt in its place.
 * `own`: nocturne's own agent. Else what became of it, or would now without being shown.
 */
export type TurnState = 'pending' | 'open' | 'taken-back' | 'own' | Disposition;

export interface SortedTurns {
  /** The pending turns, by id, in the order of the session. */
  pending: Map<string, PendingTurn>;
  /** New ranges that the main agent itself wrote down. */
  mainAgent: PendingTurn[];
  /** What the main agent wrote down in this session, by turn, in lines. */
  written: Map<string, string[]>;
  /** Turns that a rebuilt ledger takes for covered without knowing of each. */
  assumed: PendingTurn[];
  /** What was declined and no ledger says so yet. */
  declined: PendingTurn[];
  /** Turns with new messages in which a person marked something as private. */
  private: PendingTurn[];
  /** Pending turns and their context, in the order of the session; what was written to a memory elsewhere is said in words. */
  shown: ExcerptTurn[];
  /** How many turns are pending for which there was no place in `shown`. */
  later: number;
  /** How every turn stands, by id, in the order of the session. */
  states: Map<string, TurnState>;
  /** The parts of those turns that have several, or one that a write covers. */
  parts: Map<string, PartOfTurn[]>;
  /** How many turns are pending but may still go on. */
  unsettled: number;
  /** From where on it was read. */
  from?: ReadPoint;
  /** Where the last turn begins in the file, where reading can go on from there. */
  lastTurnByte: number | null;
}

interface SortOptions {
  /** Null: nothing was ever covered. */
  ledger: Ledger | null;
  /** The memory directories on this disk that the main agent may have written to. */
  memories: readonly string[];
  /** The session is over: its last turn is settled too. */
  ended: boolean;
  now: Date;
  /** How long the transcript must not have changed for its last turn to be settled. */
  quietMs: number;
  /** Turns to be extracted again, whatever the ledger says. */
  reopened: Set<string>;
  /** Rows of the ledger that no longer count. Default: all count. */
  isRetaken?(row: Coverage): boolean;
  /** What was said before this instant was declined; ISO-8601. */
  declinedBefore?: string;
  /** How much text may be held. Default: 64 MB. */
  heldCharacters?: number;
  /** Everything before it was covered: only what follows is read, if the file still is what it was up to there. */
  from?: ReadPoint;
}

/** How much text is held of the turns that are shown. */
const HELD_CHARACTERS = 64 * 2 ** 20;

/** How many covered turns before a pending one are kept as its context. */
const CONTEXT_TURNS = 3;

export async function sortTurns(
  session: Pick<Session, 'id' | 'cwd' | 'modifiedAt' | 'messages'>,
  options: SortOptions,
): Promise<SortedTurns> {
  const sorted: SortedTurns = {
    pending: new Map(),
    mainAgent: [],
    assumed: [],
    declined: [],
    private: [],
    written: new Map(),
    shown: [],
    later: 0,
    states: new Map(),
    parts: new Map(),
    unsettled: 0,
    from: options.from,
    lastTurnByte: null,
  };
  let behind: Turn[] = [];
  let leftCharacters = options.heldCharacters ?? HELD_CHARACTERS;
  const show = (turn: ExcerptTurn): void => {
    for (const each of [...behind.map(asContext), turn]) {
      sorted.shown.push(each);
      leftCharacters -= charactersIn(each.turn);
    }
    behind = [];
  };
  let writeOf: ReturnType<typeof writesAmong> | undefined;
  let begunAt: string | undefined;
  const branches = new Branches();
  for await (const { turn, hasNext } of withNext(readTurns(session.messages(options.from)))) {
    const known = knownOf(turn);
    const rows = options.ledger ? coverageOfTurn(options.ledger, known) : [];
    const isReopened = options.reopened.has(turn.id);
    if (!isReopened && isAssumedThrough(rows, session.id)) {
      behind = assumeBefore(sorted, { behind, reopened: options.reopened });
      sorted.assumed.push(whole(known));
    }
    begunAt ??= turn.at;
    const calls = finishedCalls(turn);
    if (calls.length > 0) writeOf ??= writesAmong(findExternalChanges(options.memories, begunAt));
    const writes = calls.flatMap((call) => writeOf?.(call) ?? []);
    const divided = divideTurn(turn, known, {
      rows: [...rows, ...declinedIn(turn, { session: session.id, before: options.declinedBefore })],
      isRetaken: (row) => isReopened || (options.isRetaken?.(row) ?? false),
      writes,
    });
    const { pending, mainAgent, parts } = divided;
    const isOpen = pending !== null || mainAgent.length > 0;
    sorted.declined.push(...parts.filter(isNewlyDeclined).map((part) => partOf(known, part)));
    const isSettledNow = isSettled(turn, {
      hasNext,
      ended: options.ended,
      unchangedMs: options.now.getTime() - Date.parse(session.modifiedAt),
      quietMs: options.quietMs,
    });
    sorted.lastTurnByte = turn.byte ?? null;
    const takenBack = branches.takenBackBy(turn);
    if (takenBack.length > 0) behind = dropTakenBack(sorted, new Set(takenBack), behind);
    if (isOwn(turn)) {
      sorted.states.set(turn.id, 'own');
      continue;
    }
    if (isPrivate(turn)) {
      if (isOpen && isSettledNow) sorted.private.push(whole(known));
      sorted.states.set(turn.id, 'private');
      continue;
    }
    const here = writes.filter(({ at }) => parts.some((part) => part.state === 'main-agent' && isIn(part, at)));
    if (here.length > 0) {
      sorted.written.set(
        turn.id,
        here.flatMap(({ added }) => added),
      );
    }
    const isElsewhere = (call: string) => !here.some((write) => write.call === call);
    const elsewhere = new Set(calls.flatMap(({ call, memory }) => (memory && isElsewhere(call) ? call : [])));
    if (isSettledNow) sorted.mainAgent.push(...mainAgent);
    keepParts(sorted, { known, parts, isSettledNow });
    if (pending && divided.shown && isSettledNow) {
      sorted.states.set(turn.id, 'pending');
      if (leftCharacters <= 0 && sorted.pending.size > 0) {
        sorted.later += 1;
        continue;
      }
      sorted.pending.set(turn.id, pending);
      const { turn: shown, offeredFrom } = divided.shown;
      const messages = shown.messages.map((message) => sayWrites(message, elsewhere));
      show({ turn: { ...shown, messages }, offeredFrom });
    } else if (pending === null && here.length > 0) {
      sorted.states.set(turn.id, parts.at(-1)?.state ?? 'main-agent');
      if (leftCharacters > 0) show(asContext(turn));
    } else {
      if (pending) sorted.unsettled += 1;
      sorted.states.set(turn.id, pending ? 'open' : (parts.at(-1)?.state ?? 'open'));
      behind = [...behind, turn].slice(-CONTEXT_TURNS);
    }
  }
  return sorted;
}

/** Consecutive turns of which the same became. */
export interface CoveredTurns {
  from: string;
  to: string;
  became: Disposition;
}

/** What the ledger says of the turns as they were sorted. */
export function coverageRanges(
  ledger: Ledger,
  session: string,
  { states, parts }: Pick<SortedTurns, 'states' | 'parts'>,
): CoveredTurns[] {
  const rowsOf = Map.groupBy(coverageWhere(ledger, { session }), (row) => row.turn);
  const ranges: CoveredTurns[] = [];
  let isOpen = false;
  for (const turn of states.keys()) {
    const places = (parts.get(turn) ?? []).map(({ from }) => from);
    const rows = (rowsOf.get(turn) ?? []).toSorted((a, b) => places.indexOf(a.from) - places.indexOf(b.from));
    for (const { disposition: became } of rows) {
      const last = ranges.at(-1);
      if (isOpen && last?.became === became) last.to = turn;
      else ranges.push({ from: turn, to: turn, became });
      isOpen = true;
    }
    if (rows.length === 0) isOpen = false;
  }
  return ranges;
}

function whole(turn: KnownTurn): PendingTurn {
  return { turn, from: '', throughMessage: turn.messageIds.at(-1) as string, newMessages: 0, seen: [] };
}

/** What a ledger would say of the messages that were declined; those without a time are as old as the one before. */
function declinedIn({ id, messages }: Turn, { session, before }: { session: string; before?: string }): Coverage[] {
  if (before === undefined) return [];
  const next = messages.findIndex(({ at }) => at !== undefined && at >= before);
  const last = messages[next === -1 && messages.some(({ at }) => at !== undefined) ? messages.length - 1 : next - 1];
  if (!last) return [];
  return [{ session, turn: id, from: '', throughMessage: last.id, disposition: 'declined', day: '', job: '' }];
}

function isNewlyDeclined({ state, job }: TurnPart): boolean {
  return state === 'declined' && job === '';
}

function partOf(turn: KnownTurn, { start, end }: TurnPart): PendingTurn {
  const [from, throughMessage] = [turn.messageIds[start] as string, turn.messageIds[end] as string];
  return { turn, from: start === 0 ? '' : from, throughMessage, newMessages: 0, seen: [] };
}

/** Whether a row that stands for all turns before it covers this one, and this session was not looked at since. */
function isAssumedThrough(rows: Coverage[], session: string): boolean {
  const own = rows.filter((row) => row.session === session);
  return (own.length > 0 ? own : rows).some(standsForMore);
}

/** Takes what was pending so far for covered; answers the turns that may serve as context of what follows. */
function assumeBefore(
  sorted: SortedTurns,
  { behind, reopened }: { behind: Turn[]; reopened: SortOptions['reopened'] },
): Turn[] {
  const assumed = [...sorted.pending.values()].filter(({ turn }) => !reopened.has(turn.id));
  for (const { turn } of assumed) {
    sorted.pending.delete(turn.id);
    sorted.states.set(turn.id, 'assumed');
    sorted.parts.delete(turn.id);
  }
  sorted.assumed.push(...assumed);
  const shown = sorted.shown.map((item) => (sorted.pending.has(item.turn.id) ? item : asContext(item.turn)));
  const end = shown.findLastIndex((item) => item.offeredFrom !== null) + 1;
  sorted.shown = shown.slice(0, end);
  return [...shown.slice(end).map((item) => item.turn), ...behind].slice(-CONTEXT_TURNS);
}

/** Turns that a person took back are not shown; what became of them before stays so. Answers the rest of `behind`. */
function dropTakenBack(sorted: SortedTurns, takenBack: Set<string>, behind: Turn[]): Turn[] {
  for (const id of takenBack) {
    sorted.pending.delete(id);
    sorted.parts.delete(id);
    sorted.written.delete(id);
    const state = sorted.states.get(id);
    if (state === 'pending' || state === 'open' || state === 'main-agent') sorted.states.set(id, 'taken-back');
  }
  sorted.shown = sorted.shown.filter(({ turn }) => !takenBack.has(turn.id));
  sorted.mainAgent = sorted.mainAgent.filter(({ turn }) => !takenBack.has(turn.id));
  return behind.filter((turn) => !takenBack.has(turn.id));
}

function keepParts(
  sorted: SortedTurns,
  { known, parts, isSettledNow }: { known: KnownTurn; parts: TurnPart[]; isSettledNow: boolean },
): void {
  if (parts.length < 2 && !parts.some(({ write }) => write)) return;
  const kept = parts.map(({ start, end, state, job, write }): PartOfTurn => {
    const ids = { from: known.messageIds[start] as string, through: known.messageIds[end] as string };
    const now = state === 'pending' && !isSettledNow ? 'open' : state;
    return { ...ids, state: now, job, ...(write ? { wrote: write.path } : {}) };
  });
  sorted.parts.set(known.id, kept);
}

function knownOf({ id, at, messages }: Turn): KnownTurn {
  return { id, at, messageIds: messages.map((message) => message.id) };
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

async function* withNext(turns: AsyncIterable<Turn>): AsyncGenerator<{ turn: Turn; hasNext: boolean }> {
  let held: Turn | undefined;
  for await (const turn of turns) {
    if (held) yield { turn: held, hasNext: true };
    held = turn;
  }
  if (held) yield { turn: held, hasNext: false };
}
