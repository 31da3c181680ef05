// What became of a session, range by range; what of it waits, until when and why; what failed; and what would happen next. It reads
// rows and the transcript, asks no model and changes nothing.

import { resolve } from 'node:path';
import { type KnownTurn, type SortedTurns, sortTurns } from '../../jobs/extract/pending-turns.ts';
import type { ExtractReport } from '../../jobs/extract.ts';
import { configOfSession } from '../base/config/config.ts';
import { AppError, describeError, isAppError, onAppError } from '../base/errors.ts';
import { statNow } from '../base/files/files.ts';
import { parseJson } from '../base/text/json.ts';
import { sayCount } from '../base/text/wording.ts';
import { localTime } from '../base/time.ts';
import { allOf, type Sql } from '../db/sql.ts';
import {
  coverageOf,
  type EntryRow,
  entriesAmong,
  entriesWhere,
  intervalOf,
  stateWord,
  type TurnRow,
} from '../memory/entries.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { proposalsAbout } from '../memory/proposals.ts';
import { declinedBefore, openTranscript, type SessionRow } from '../memory/session-rows.ts';
import { gateOf } from '../queue/breaker.ts';
import type { InboxRow } from '../queue/inbox.ts';
import { lookIntoSpool } from '../queue/spool.ts';
import { looksOf } from '../queue/swept.ts';
import { toldKind } from '../rules/dream-context.ts';
import { findSessions } from '../transcript/find-sessions.ts';
import { openSession, type Session } from '../transcript/session.ts';
import type { App } from './compose.ts';
import { whyLeft } from './ingest.ts';

export type SessionFate = Awaited<ReturnType<typeof fateOf>>;

/** Of the sessions whose path has the given text in it. */
const MOST_LOOKED_INTO = 20;

/** `what`: the id of a session, the beginning of it, or its transcript, whose name is enough. Errors: `bad-input` where it is none. */
export async function sessionFates(app: App, what: string): Promise<SessionFate[]> {
  const { db, machine, memories } = app;
  // Before the inbox is looked into: what a worker takes in meanwhile is then in one or the other.
  const isTold = lookIntoSpool(app.config.home);
  const isName = what.endsWith('.jsonl') && !statNow(what);
  const [file] = isName ? findSessions(app.config.agentDirs, { named: `/${what}` }) : [];
  const path = file?.path ?? resolve(what);
  // Its file may be gone.
  const id = what.replace(/\.jsonl$/, '');
  const rows = await db.all<SessionRow>(
    'select * from session where name = ? or substr(name, 1, ?) = ? or (machine = ? and path = ?) order by name',
    ...[id, what.length, what, machine, path],
  );
  const known = rows.filter((row) => row.name === id || row.path === path || what.length >= 4);
  const found: SessionFate[] = [];
  for (const row of known) found.push(await fateOf(app, { row, memory: await memories.of(row.memory), isTold }));
  if (found.length > 0) return found;
  for (const session of await findUnknown(app, file?.path ?? what))
    found.push(await fateOf(app, { session, memory: await app.findMemory(session), isTold }));
  if (found.length > 0) return found;
  throw new AppError('bad-input', `There is no session ${what}, and it is not a transcript file.`, {
    remedy: 'Give the id of the session or the path of its transcript: nocturne list --sessions.',
  });
}

/** The transcript itself, or those on this disk whose session has this id or one that begins so. */
async function findUnknown(app: App, what: string): Promise<Session[]> {
  const given = await openSession(what).catch(onAppError(() => null, 'transcript-gone'));
  if (given) return [given];
  const found: Session[] = [];
  for (const { path } of findSessions(app.config.agentDirs, { named: what }).slice(0, MOST_LOOKED_INTO)) {
    try {
      const session = await openSession(path);
      if (session.id === what || (what.length >= 4 && session.id.startsWith(what))) found.push(session);
    } catch (error) {
      // It was not this one that was asked for, as far as anybody can tell.
      if (!isAppError(error)) throw error;
    }
  }
  return found;
}

interface Known {
  row?: SessionRow;
  /** Of one that no row knows. */
  session?: Session;
  memory: MemoryRow | null;
  /** Whether a hook had told of a session when the looking began. */
  isTold(session: string): boolean;
}

async function fateOf(app: App, known: Known) {
  const { db, memoryDirOf } = app;
  const { row, memory, isTold } = known;
  const name = row?.name ?? known.session?.id ?? '';
  const item = row && (await db.get<InboxRow>("select * from inbox where kind = 'extract' and key = ?", row.id));
  const taught =
    memory && row
      ? await entriesWhere(db, memory.id, "and session = ? and (state <> 'gone' or reason = 'withdrawn')", row.id)
      : [];
  const { ranges, holds, unreadable, at, left } = await read(app, known, item);
  const failures = await failuresOf(app, { row, item, ranges });
  const proposals: { entry: string; text: string; says: string }[] = [];
  for (const { id: entry, text } of taught)
    for (const says of await sayProposals(app, (memory as MemoryRow).id, entry)) proposals.push({ entry, text, says });
  const fate = {
    session: name,
    transcript: row?.path ?? known.session?.path ?? '',
    /** What is wrong with the transcript, where it cannot be read. */
    unreadable,
    memory: memory?.dir ?? memory?.id ?? memoryDirOf(at),
    ranges,
    /** What it taught. */
    entries: taught.map(({ id, type, text, ...entry }) => {
      return { id, type, text, state: entry.state === 'gone' ? (entry.reason ?? entry.state) : entry.state };
    }),
    /** Why code refused what the model proposed of it. */
    refused: row ? await refusedOf(db, [row.id]) : [],
    /** What its transcript holds; null where it cannot be read. */
    holds,
    /** What of it waits: until when, and why. */
    waiting: item?.state === 'waiting' ? [{ key: item.key, notBefore: item.not_before, why: item.error }] : [],
    failures,
    /** What waits for a person's word of what it gave, or was rejected. */
    proposals,
  };
  return { ...fate, next: await nextOf(app, { ...fate, item, at, left, isTold: isTold(name) }) };
}

/** What waits, or was rejected, of an entry: a sentence each. */
export async function sayProposals({ db }: App, memory: string, entry: string): Promise<string[]> {
  return (await proposalsAbout(db, memory, entry)).flatMap(({ id, operations, archiving, state, because }) => {
    const [first] = operations;
    const kind = archiving?.kind ?? (first && toldKind(first));
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

/** What its work failed with since it was done last, last first; what was given up was not done by whatever succeeded since. */
async function failuresOf(
  { db }: App,
  { row, item, ranges }: { row?: SessionRow; item?: InboxRow; ranges: SessionRange[] },
) {
  const jobs = await db.all<Record<'status' | 'outcome' | 'at', string> & Record<'code' | 'message', string | null>>(
    `select status, outcome, code, error as message, coalesce(ended_at, created_at) as at from job where session = ?
     order by created_at desc, case when error is null then 0 else 1 end, id limit 5`,
    row?.id ?? '',
  );
  const done = jobs.findIndex(
    ({ status, message, outcome }) => status !== 'running' && !message && outcome !== 'interrupted',
  );
  const isDone = done >= 0 && ranges.every(({ state }) => state !== 'gave-up');
  const failed = jobs.slice(0, isDone ? done : jobs.length).flatMap(({ code, message, at }) => {
    return message ? { at, code, state: 'ended' as const, message } : [];
  });
  if (!item || item.code === null) return failed;
  const state = item.state === 'failed' ? ('given up' as const) : ('tried again' as const);
  return [{ at: item.since, code: item.code, state, message: item.error ?? '' }, ...failed];
}

/** What its transcript holds, and what became of that. */
async function read(app: App, known: Known, item: InboxRow | undefined) {
  const { memories, db, machine, config } = app;
  const { row, memory } = known;
  try {
    const opened = known.session ?? (await openTranscript(db, { session: row?.id, isLive: true, machine }));
    const sorted = await sortTurns(opened, {
      ...{ memories, memory: memory?.id ?? '', row: undefined, writable: memory ? [memory.id] : [], job: null },
      // It may have been put in for a session that is over.
      ...{ ended: item !== undefined && JSON.parse(item.payload).ended === true, quietMs: config.quietMs },
      ...{ reopened: new Set<string>(), takeUp: [], declinedBefore: await declinedBefore(db) },
    });
    const { environment } = (await looksOf(db, machine)).get(opened.path) ?? {};
    const at = Object.assign(opened, { config: await configOfSession(config, environment) });
    const left = await whyLeft(app, at);
    const ranges = await rangesOf(app, sorted, { memory: memory?.id ?? '', why: left?.why ?? 'they wait' });
    const { format, sizeBytes, unreadableLines } = opened;
    const holds = { format, sizeBytes, unreadableLines, turns: sorted.turns.length };
    return { ranges, holds, unreadable: null, at, left };
  } catch (error) {
    if (!isAppError(error)) throw error;
    const nothing = { ranges: [], holds: null, left: null, at: { cwd: row?.cwd ?? undefined } };
    return { ...nothing, unreadable: describeError(error) };
  }
}

interface Found extends Pick<Awaited<ReturnType<typeof read>>, 'ranges' | 'unreadable' | 'at' | 'left'> {
  session: string;
  transcript: string;
  item: InboxRow | undefined;
  isTold: boolean;
}

async function nextOf(app: App, { ranges, item, at, left, ...found }: Found): Promise<string> {
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
  const count = (state: string) =>
    ranges.filter((range) => range.state === state).reduce((sum, { turns }) => sum + turns, 0);
  const say = (of: number, [one, several]: [string, string]) => `${sayCount(of, 'turn')} ${of === 1 ? one : several}`;
  const [pending, open, declined, gaveUp] = [count('pending'), count('open'), count('declined'), count('gave-up')];
  if (left && pending + open + declined > 0) return `Nothing by itself: ${left.why}. ${byName}`;
  if (!enabled && pending + open > 0) return `Nothing by itself: ${reason}. ${byName}`;
  if (pending + open > 0 && found.isTold) return 'A hook has reported it: the next worker reads it.';
  if (pending > 0)
    return `Nothing by itself: ${say(pending, ['is', 'are'])} not read yet. To read it: nocturne learn ${found.transcript}`;
  if (open > 0) return `${sayCount(open, 'turn')} may still go on, and is read once the session ended or is quiet.`;
  if (gaveUp > 0) return `Nothing by itself: ${say(gaveUp, ['was', 'were'])} given up. nocturne retry ${found.session}`;
  if (declined > 0)
    return `Nothing by itself: ${say(declined, ['is', 'are'])} from before set-up. nocturne learn ${found.transcript} takes them.`;
  return 'Nothing: all of it was read.';
}

// The turns in ranges of one fate each.

/** Consecutive turns of one fate; a turn whose parts fared differently counts in several. */
interface SessionRange {
  turns: number;
  state: string;
  why: string;
  /** The job that covered them, and when it ended. */
  job: string | null;
  at: string | null;
}

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

/** `why`: what keeps what is pending waiting. */
async function rangesOf(
  { db }: App,
  sorted: SortedTurns,
  { memory, why }: { memory: string; why: string },
): Promise<SessionRange[]> {
  const rows = await coverageOf(db, memory, sorted.turns);
  const taught = await entriesAmong(db, memory, { column: 'turn', of: sorted.turns.map(({ id }) => id) });
  const ended = await allOf<{ id: string; at: string | null }>(
    db,
    'select id, ended_at as at from job where id in (#)',
    [...new Set(rows.flat().map((row) => row.job))],
  );
  const endedAt = new Map(ended.map(({ id, at }) => [id, at]));
  const ranges: SessionRange[] = [];
  for (const [n, turn] of sorted.turns.entries()) {
    const isLast = n === sorted.turns.length - 1;
    // What the agent wrote in a turn that may go on is covered once that is over.
    const otherwise = sorted.written.has(turn.id) ? 'main-agent' : sorted.unsettled > 0 && isLast ? 'open' : 'own';
    const fates = fatesOf(turn, { rows: rows[n] ?? [], sorted, taught });
    for (const { state, job } of fates.length > 0 ? fates : [{ state: otherwise, job: null }]) {
      const last = ranges.at(-1);
      if (last?.state === state && last.job === job) last.turns += 1;
      else ranges.push({ turns: 1, state, why: WHY[state] ?? why, job, at: (job && endedAt.get(job)) || null });
    }
  }
  return ranges;
}

/** Of a turn, in the order of its messages: what is covered, what code covers, what is pending; each once. */
function fatesOf(
  { id, messageIds: ids }: KnownTurn,
  { rows, sorted, taught }: { rows: readonly TurnRow[]; sorted: SortedTurns; taught: readonly EntryRow[] },
): { state: string; job: string | null }[] {
  const known = rows.flatMap((row) => {
    const at = intervalOf(row, ids) ?? (row.through === '' ? { start: 0, end: ids.length - 1 } : null);
    return at ? { ...at, state: stateOf(row, taught), job: row.job } : [];
  });
  const pending = sorted.pending.get(id);
  const byCode = sorted.byCode.filter(({ range }) => range.turn.id === id);
  const others = [
    ...byCode.map(({ range, reason }) => ({ range, state: stateWord(reason) as string })),
    ...(pending ? [{ range: pending, state: 'pending' }] : []),
  ].flatMap(({ range, state }) => {
    const at = intervalOf(range, ids);
    const isKnown = at && known.some(({ start, end }) => start <= at.start && end >= at.end);
    return at && !isKnown ? { ...at, state, job: null } : [];
  });
  const all = [...known, ...others].sort((a, b) => a.start - b.start);
  return [...new Map(all.map((each) => [`${each.state} ${each.job}`, each])).values()];
}

function stateOf(row: TurnRow, taught: readonly EntryRow[]): string {
  if (row.state !== 'done') return stateWord(row.state === 'skipped' ? (row.reason ?? 'assumed') : row.state);
  return taught.some(({ turn, job }) => turn === row.id && job === row.job) ? 'recorded' : 'nothing';
}
