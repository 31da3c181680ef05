// What became of a session: of its turns, what of it waits, until when and why; what failed; and what would happen next. It reads
// rows and the transcript, asks no model and changes nothing.

import { resolve } from 'node:path';
import type { SortedTurns } from '../../jobs/extract/pending-turns.ts';
import type { ExtractReport } from '../../jobs/extract.ts';
import { configOfSession } from '../base/config/config.ts';
import { AppError, describeError, isAppError, onAppError } from '../base/errors.ts';
import { statNow } from '../base/files/files.ts';
import { parseJson } from '../base/text/json.ts';
import { sayCount } from '../base/text/wording.ts';
import { localTime } from '../base/time.ts';
import { allOf, type Sql } from '../db/sql.ts';
import { coverageOf, entriesAmong, entriesWhere, stateWord } from '../memory/entries.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { proposalsAbout } from '../memory/proposals.ts';
import { openTranscript, type SessionRow } from '../memory/session-rows.ts';
import { gateOf } from '../queue/breaker.ts';
import type { InboxRow } from '../queue/inbox.ts';
import { environmentOf } from '../queue/swept.ts';
import { toldKind } from '../rules/dream-context.ts';
import { findSessions } from '../transcript/find-sessions.ts';
import { openSession, type Session } from '../transcript/session.ts';
import type { App } from './compose.ts';
import { sortFound, whyLeft } from './ingest.ts';

export type SessionFate = Awaited<ReturnType<typeof fateOf>>;

/** So long is what an id may begin with. */
const LEAST_BEGINNING = 4;

/** `what`: the id of a session, the beginning of it, or its transcript, whose name is enough. Errors: `bad-input` where it is none. */
export async function sessionFates(app: App, what: string): Promise<SessionFate[]> {
  const { db, machine, memories } = app;
  const isFile = statNow(what) !== null;
  const isName = what.endsWith('.jsonl');
  const [found] = isFile ? [] : findSessions(app.config.agentDirs, { named: isName ? `/${what}` : what });
  const path = found?.path ?? resolve(what);
  // Its file may be gone.
  const id = what.replace(/\.jsonl$/, '');
  const isMeant = (name: string) => name === id || (what.length >= LEAST_BEGINNING && name.startsWith(what));
  const rows = await db.all<SessionRow>(
    'select * from session where name = ? or substr(name, 1, ?) = ? or (machine = ? and path = ?) order by name',
    ...[id, what.length, what, machine, path],
  );
  const known = rows.filter((row) => isMeant(row.name) || (row.path === path && (isFile || isName)));
  if (known.length > 0)
    return Array.fromAsync(known, async (row) => fateOf(app, { row, memory: await memories.of(row.memory) }));
  // Of a file that is not the one that was asked for, as far as anybody can tell, nothing is said.
  const session = isFile ? await openSession(path) : await openSession(path).catch(onAppError(() => null));
  if (session && (isFile || isName || isMeant(session.id)))
    return [await fateOf(app, { session, memory: await app.findMemory(session) })];
  throw new AppError('bad-input', `There is no session ${what}, and it is not a transcript file.`, {
    remedy: 'Give the id of the session or the path of its transcript: nocturne list --sessions.',
  });
}

interface Known {
  row?: SessionRow;
  /** Of one that no row knows. */
  session?: Session;
  memory: MemoryRow | null;
}

async function fateOf(app: App, known: Known) {
  const { db, memoryDirOf } = app;
  const { row, memory } = known;
  const item = row && (await db.get<InboxRow>("select * from inbox where kind = 'extract' and key = ?", row.id));
  const taught =
    memory && row
      ? await entriesWhere(db, memory.id, "and session = ? and (state <> 'gone' or reason = 'withdrawn')", row.id)
      : [];
  const { turns, holds, unreadable, at, left } = await read(app, known, item);
  const proposals: { entry: string; text: string; says: string }[] = [];
  for (const { id: entry, text } of taught)
    for (const says of await sayProposals(app, (memory as MemoryRow).id, entry)) proposals.push({ entry, text, says });
  const fate = {
    session: row?.name ?? known.session?.id ?? '',
    transcript: row?.path ?? known.session?.path ?? '',
    /** What is wrong with the transcript, where it cannot be read. */
    unreadable,
    memory: memory?.dir ?? memory?.id ?? memoryDirOf(at),
    /** How many turns fared so; one whose parts fared differently counts in several. */
    turns,
    /** What it taught. */
    entries: taught.map(({ id, type, text, ...entry }) => {
      return { id, type, text, state: entry.state === 'gone' ? (entry.reason ?? entry.state) : entry.state };
    }),
    /** Why code refused what the model proposed of it. */
    refused: row ? await refusedOf(db, [row.id]) : [],
    /** What its transcript holds; null where it cannot be read. */
    holds,
    /** Until when it waits, and why; null where it does not. */
    waiting: item?.state === 'waiting' ? { notBefore: item.not_before, why: item.error } : null,
    failure: await failureOf(app, row, item),
    /** What waits for a person's word of what it gave, or was rejected. */
    proposals,
  };
  return { ...fate, next: await nextOf(app, { ...fate, item, at, left }) };
}

/** What waits, or was rejected, of an entry: a sentence each. */
export async function sayProposals({ db }: App, memory: string, entry: string): Promise<string[]> {
  return (await proposalsAbout(db, memory, entry)).flatMap(({ id, operations, state, because }) => {
    const [first] = operations;
    const kind = first && toldKind(first);
    if (state === 'open') return `A proposal (${kind}, ${id}) waits for your answer: nocturne review.`;
    return state === 'rejected' ? `A person rejected ${id} (${kind})${because ? `: ${because}` : '.'}` : [];
  });
}

/** Why code refused what a model proposed of these sessions, as they were read last. */
export async function refusedOf(sql: Sql, sessions: readonly string[]): Promise<string[]> {
  const last = 'select output from job where id in (select job from turn where session in (#))';
  const rows = await allOf<{ output: string | null }>(sql, last, sessions);
  return rows.flatMap(({ output }) => (parseJson(output ?? '') as Partial<ExtractReport> | undefined)?.refused ?? []);
}

/** What its work failed with last, unless it went well since. */
async function failureOf({ db }: App, row: SessionRow | undefined, item: InboxRow | undefined) {
  if (item && item.code !== null) {
    const state = item.state === 'failed' ? ('given up' as const) : ('tried again' as const);
    return { at: item.since, code: item.code, state, message: item.error ?? '' };
  }
  const last = await db.get<{ at: string; code: string | null; message: string | null }>(
    `select code, error as message, ended_at as at from job where session = ? and ended_at is not null
     order by ended_at desc, case when error is null then 0 else 1 end, id limit 1`,
    row?.id ?? '',
  );
  return last?.message ? { ...last, state: 'ended' as const, message: last.message } : null;
}

/** What its transcript holds, and what became of that. */
async function read(app: App, known: Known, item: InboxRow | undefined) {
  const { db, machine, config } = app;
  const { row, memory } = known;
  try {
    const opened = known.session ?? (await openTranscript(db, { session: row?.id, isLive: true, machine }));
    const environment = await environmentOf(db, machine, opened.path);
    const at = Object.assign(opened, { config: await configOfSession(config, environment) });
    // It may have been put in for a session that is over.
    const ended = item !== undefined && JSON.parse(item.payload).ended === true;
    const sorted = await sortFound(app, at, { memory, ended, isWhole: true });
    const left = await whyLeft(app, at);
    const turns = await becameOf(app, sorted, { memory: memory?.id ?? '', why: left?.why ?? 'they wait' });
    const { format, sizeBytes, unreadableLines } = opened;
    const holds = { format, sizeBytes, unreadableLines, turns: sorted.turns.length };
    return { turns, holds, unreadable: null, at, left };
  } catch (error) {
    if (!isAppError(error)) throw error;
    const nothing = { turns: [], holds: null, left: null, at: { cwd: row?.cwd ?? undefined } };
    return { ...nothing, unreadable: describeError(error) };
  }
}

interface Found extends Pick<Awaited<ReturnType<typeof read>>, 'turns' | 'unreadable' | 'at' | 'left'> {
  session: string;
  transcript: string;
  item: InboxRow | undefined;
}

async function nextOf(app: App, { turns, item, at, left, ...found }: Found): Promise<string> {
  const { config, clock } = app;
  if (item?.state === 'failed') {
    const remedy = `nocturne retry ${found.session}, or nocturne retry --dismiss ${found.session}`;
    return `Nothing by itself: it was given up (${item.code}). New turns of the session, or ${remedy}.`;
  }
  const { enabled, reason } = await app.standing(at);
  const byName = `nocturne learn ${found.transcript} reads it anyway.`;
  if (item && left?.verdict === 'off') return `Nothing: the next worker drops it, because ${left.why}. ${byName}`;
  if (item) {
    const isLater = item.not_before > clock.now().toISOString();
    const due = isLater ? `after ${localTime(item.not_before, config.zone)}` : 'as soon as it runs';
    const hold = enabled ? (await gateOf(app, { isLooking: true })).why : reason;
    return `A worker reads it ${due}${hold === null ? '' : `, but: ${hold}`}.`;
  }
  if (found.unreadable) return 'Nothing: its transcript cannot be read.';
  const count = (state: string) => turns.find((each) => each.state === state)?.turns ?? 0;
  const off = left?.why ?? (enabled ? null : reason);
  if (off !== null && count('pending') + count('open') + count('declined') > 0)
    return `Nothing by itself: ${off}. ${byName}`;
  const first = UNREAD.find(([state]) => count(state) > 0);
  if (first) return `${sayCount(count(first[0]), 'turn')} ${first[1]}. Now: nocturne learn ${found.transcript}`;
  if (count('open') > 0) return 'Its last turn may still go on, and is read once the session ended or is quiet.';
  return 'Nothing: all of it was read.';
}

/** What `learn` would read. */
const UNREAD = [
  ['pending', 'not read yet'],
  ['gave-up', 'given up'],
  ['declined', 'from before set-up, not read'],
] as const;

/** Why turns in a state would not be shown to the model now. */
const WHY: Record<string, string> = {
  open: 'they may still go on',
  own: "they are nocturne's own agent at work, or an edited prompt was sent in their place",
  recorded: 'they were read',
  nothing: 'they were read, and nothing in them was kept',
  'main-agent': 'the main agent itself wrote them down in a memory',
  private: 'something in them is marked as private',
  'gave-up': 'reading them failed, and was given up',
  assumed: 'taken as read: the database in which it stood was lost',
  undone: 'what was learned from them was undone',
  declined: 'they are from before set-up, and were not learned then',
};

/** How many turns fared how. `why`: what keeps what is pending waiting. */
async function becameOf(
  { db }: App,
  sorted: SortedTurns,
  { memory, why }: { memory: string; why: string },
): Promise<{ state: string; turns: number; why: string }[]> {
  const rows = await coverageOf(db, memory, sorted.turns);
  const taught = await entriesAmong(db, memory, { column: 'turn', of: sorted.turns.map(({ id }) => id) });
  const states = sorted.turns.flatMap(({ id }, n) => {
    const covered = (rows[n] ?? []).map((row) => {
      if (row.state !== 'done') return stateWord(row.state === 'skipped' ? (row.reason ?? 'assumed') : row.state);
      return taught.some(({ turn, job }) => turn === row.id && job === row.job) ? 'recorded' : 'nothing';
    });
    const byCode = sorted.byCode.filter(({ range }) => range.turn.id === id).map(({ reason }) => stateWord(reason));
    const found = new Set([...covered, ...byCode, ...(sorted.pending.has(id) ? ['pending'] : [])]);
    if (found.size > 0) return [...found];
    // What the agent wrote in a turn that may go on is covered once that is over.
    if (sorted.written.has(id)) return ['main-agent'];
    return [sorted.unsettled > 0 && n === sorted.turns.length - 1 ? 'open' : 'own'];
  });
  return [...Map.groupBy(states, (state) => state)].map(([state, of]) => {
    return { state, turns: of.length, why: WHY[state] ?? why };
  });
}
