// Sorts a session's turns by what the ledger says of them: which are pending and from which message on, which the
// main agent wrote memory in, which are private, which serve as context. One pass over the stream; of no turn more is
// kept than the ids by which it and its messages are known: shown-turns.ts reads them again.

import { type Coverage, coverageOfTurn, standsForMore } from '../../src/memory/ledger/coverage.ts';
import type { Ledger } from '../../src/memory/ledger/ledger.ts';
import type { Became } from '../../src/memory/types.ts';
import { idsOf } from '../../src/transcript/excerpt.ts';
import { wroteMemory } from '../../src/transcript/memory-writes.ts';
import type { ReadPoint } from '../../src/transcript/read-point.ts';
import type { Session } from '../../src/transcript/session.ts';
import { Branches, isOwn, isPrivate, isSettled, readTurns } from '../../src/transcript/turns.ts';
import type { Turn } from '../../src/transcript/types.ts';

/** What is kept of a turn. */
export interface KnownTurn {
  id: string;
  at?: string;
  messageIds: readonly string[];
  /** The ids of those of its messages that say anything. */
  saidIds: readonly string[];
}

export interface PendingTurn {
  turn: KnownTurn;
  /** Through which message the ledger covered it when it was sorted; null: not at all. */
  coveredThrough: string | null;
  /** Through which message it is covered once its work is done. */
  throughMessage: string;
  /** How many of its messages, harness apart, were not covered. */
  newMessages: number;
}

/** A turn that is shown, whole or in part. */
export interface ShownTurn {
  turn: KnownTurn;
  /** The id of the first message that is offered; null: the whole turn is context only. */
  offeredFrom: string | null;
}

/**
 * `pending`: to be extracted now. `open`: may still go on. `taken-back`: a person sent an edited prompt in its place.
 * `own`: nocturne's own agent. Else what became of it, or would now without being shown.
 */
export type TurnState = 'pending' | 'open' | 'taken-back' | 'own' | Became;

export interface SortedTurns {
  /** The pending turns, by id, in the order of the session. */
  pending: Map<string, PendingTurn>;
  /** Turns with new messages in which the main agent itself wrote memory. */
  mainAgent: PendingTurn[];
  /** Turns that a rebuilt ledger takes for covered without knowing of each. */
  assumed: PendingTurn[];
  /** Turns with new messages in which a person marked something as private. */
  private: PendingTurn[];
  /** Pending turns and their context, in the order of the session. */
  shown: ShownTurn[];
  /** How every turn stands, by id, in the order of the session. */
  states: Map<string, TurnState>;
  /** How many turns are pending but may still go on. */
  unsettled: number;
  /** From where on it was read. */
  from?: ReadPoint;
  /** Where the last turn begins in the file, where reading can go on from there. */
  lastTurnByte: number | null;
}

export interface SortOptions {
  /** Null: nothing was ever covered. */
  ledger: Ledger | null;
  memoryDir: string;
  /** The session is over: its last turn is settled too. */
  ended: boolean;
  /** How long the transcript was quiet. */
  quietMs: number;
  settleMs: number;
  /** Turns to be extracted again, whatever the ledger says. */
  reopened: Set<string>;
  /** Everything before it was covered: only what follows is read, if the file still is what it was up to there. */
  from?: ReadPoint;
}

/** How many covered turns before a pending one are kept as its context. */
const CONTEXT_TURNS = 3;

export async function sortTurns(
  session: Pick<Session, 'id' | 'cwd' | 'messages'>,
  options: SortOptions,
): Promise<SortedTurns> {
  const sorted: SortedTurns = {
    pending: new Map(),
    mainAgent: [],
    assumed: [],
    private: [],
    shown: [],
    states: new Map(),
    unsettled: 0,
    from: options.from,
    lastTurnByte: null,
  };
  let behind: KnownTurn[] = [];
  const branches = new Branches();
  for await (const { turn, hasNext } of withNext(readTurns(session.messages(options.from)))) {
    const known = knownOf(turn);
    if (isAssumedThrough(known, { ...options, session: session.id })) {
      behind = assumeBefore(sorted, { behind, reopened: options.reopened });
      const throughMessage = known.messageIds.at(-1) as string;
      sorted.assumed.push({ turn: known, coveredThrough: '', throughMessage, newMessages: 0 });
    }
    const covered = furthest(known, options.ledger ? coverageOfTurn(options.ledger, known) : []);
    const open = openPart(turn, {
      known,
      covered,
      isReopened: options.reopened.has(turn.id),
    });
    const isSettledNow = isSettled(turn, {
      hasNext,
      ended: options.ended,
      quietMs: options.quietMs,
      settleMs: options.settleMs,
    });
    sorted.lastTurnByte = turn.byte ?? null;
    const takenBack = branches.takenBackBy(turn);
    if (takenBack.length > 0) behind = forget(sorted, new Set(takenBack), behind);
    if (isOwn(turn)) {
      sorted.states.set(turn.id, 'own');
    } else if (isPrivate(turn)) {
      if (open && isSettledNow) sorted.private.push(open.pending);
      sorted.states.set(turn.id, 'private');
    } else if (wroteMemory(turn, { memoryDir: options.memoryDir, cwd: session.cwd })) {
      if (open && isSettledNow) sorted.mainAgent.push(open.pending);
      sorted.states.set(turn.id, open ? 'main-agent' : (covered?.became ?? 'main-agent'));
      sorted.shown.push(...behind.map(asContext), asContext(known));
      behind = [];
    } else if (open && isSettledNow) {
      sorted.states.set(turn.id, 'pending');
      sorted.pending.set(turn.id, open.pending);
      sorted.shown.push(...behind.map(asContext), { turn: known, offeredFrom: open.from });
      behind = [];
    } else {
      if (open) sorted.unsettled += 1;
      sorted.states.set(turn.id, open || !covered ? 'open' : covered.became);
      behind = [...behind, known].slice(-CONTEXT_TURNS);
    }
  }
  return sorted;
}

/** Whether a row that stands for all turns before it covers this one, and this session was not looked at since. */
function isAssumedThrough(turn: KnownTurn, { ledger, reopened, session }: SortOptions & { session: string }): boolean {
  if (!ledger || reopened.has(turn.id)) return false;
  const rows = coverageOfTurn(ledger, turn);
  const own = rows.filter((row) => row.session === session);
  return (own.length > 0 ? own : rows).some(standsForMore);
}

/** Takes what was pending so far for covered; answers the turns that may serve as context of what follows. */
function assumeBefore(
  sorted: SortedTurns,
  { behind, reopened }: { behind: KnownTurn[]; reopened: SortOptions['reopened'] },
): KnownTurn[] {
  const assumed = [...sorted.pending.values()].filter(({ turn }) => !reopened.has(turn.id));
  for (const { turn } of assumed) {
    sorted.pending.delete(turn.id);
    sorted.states.set(turn.id, 'assumed');
  }
  sorted.assumed.push(...assumed);
  const shown = sorted.shown.map((item) => (sorted.pending.has(item.turn.id) ? item : asContext(item.turn)));
  const end = shown.findLastIndex((item) => item.offeredFrom !== null) + 1;
  sorted.shown = shown.slice(0, end);
  return [...shown.slice(end).map((item) => item.turn), ...behind].slice(-CONTEXT_TURNS);
}

/** Turns that a person took back are shown to nobody; what became of them before stays so. Answers the rest of `behind`. */
function forget(sorted: SortedTurns, takenBack: Set<string>, behind: KnownTurn[]): KnownTurn[] {
  for (const id of takenBack) {
    sorted.pending.delete(id);
    const state = sorted.states.get(id);
    if (state === 'pending' || state === 'open' || state === 'main-agent') sorted.states.set(id, 'taken-back');
  }
  sorted.shown = sorted.shown.filter(({ turn }) => !takenBack.has(turn.id));
  sorted.mainAgent = sorted.mainAgent.filter(({ turn }) => !takenBack.has(turn.id));
  return behind.filter((turn) => !takenBack.has(turn.id));
}

/** Whether the ledger still says of the turn what it said when it was sorted. */
export function isUntouched(ledger: Ledger, pending: PendingTurn): boolean {
  return (
    furthest(pending.turn, coverageOfTurn(ledger, pending.turn))?.throughMessage ===
    (pending.coveredThrough ?? undefined)
  );
}

/** What of a turn is still to be extracted; null where there is nothing. */
function openPart(
  turn: Turn,
  { known, covered, isReopened }: { known: KnownTurn; covered: Coverage | undefined; isReopened: boolean },
): { pending: PendingTurn; from: string } | null {
  const start = isReopened || !covered ? 0 : indexOf(known, covered.throughMessage) + 1;
  const open = turn.messages.slice(start).filter((message) => message.speaker !== 'harness');
  const [first] = open;
  if (!first) return null;
  const throughMessage = known.messageIds.at(-1) as string;
  return {
    pending: { turn: known, coveredThrough: covered?.throughMessage ?? null, throughMessage, newMessages: open.length },
    from: first.id,
  };
}

function knownOf({ id, at, messages }: Turn): KnownTurn {
  const messageIds = messages.map((message) => message.id);
  const saidIds = idsOf(messages);
  // Mostly all of them say something: of a large session one list is held, not two.
  return { id, at, messageIds, saidIds: saidIds.length === messageIds.length ? messageIds : saidIds };
}

/** The coverage that reaches furthest. One through a message that this copy lacks reaches beyond its end. */
function furthest(turn: KnownTurn, rows: Coverage[]): Coverage | undefined {
  return rows.toSorted((a, b) => indexOf(turn, b.throughMessage) - indexOf(turn, a.throughMessage))[0];
}

function indexOf({ messageIds }: KnownTurn, message: string): number {
  const index = messageIds.indexOf(message);
  return index < 0 ? messageIds.length : index;
}

function asContext(turn: KnownTurn): ShownTurn {
  return { turn, offeredFrom: null };
}

async function* withNext(turns: AsyncIterable<Turn>): AsyncGenerator<{ turn: Turn; hasNext: boolean }> {
  let held: Turn | undefined;
  for await (const turn of turns) {
    if (held) yield { turn: held, hasNext: true };
    held = turn;
  }
  if (held) yield { turn: held, hasNext: false };
}
