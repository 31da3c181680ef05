// What became of a session, range by range; what of it waits, until when and why; what failed; and what would happen next. It reads
// rows and the transcript, asks no model and changes nothing.

import { resolve } from 'node:path';
import { type SortedTurns, sortTurns } from '../../jobs/extract/pending-turns.ts';
import { AppError, describeError, isAppError, isErrorCode, ruleOf } from '../base/errors.ts';
import { redact } from '../base/secrets/redact-text.ts';
import { isObject } from '../base/text/json.ts';
import { sayCount } from '../base/text/wording.ts';
import { localTime } from '../base/time.ts';
import { entriesWhere } from '../memory/entries.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { proposalsAbout } from '../memory/proposals.ts';
import { declinedBefore, openTranscript, type SessionRow } from '../memory/session-rows.ts';
import type { InboxRow } from '../queue/inbox.ts';
import { lookIntoSpool } from '../queue/spool.ts';
import { toldKind } from '../rules/dream-context.ts';
import { buildExcerpts } from '../transcript/excerpt/excerpt.ts';
import { findSessions } from '../transcript/find-sessions.ts';
import type { Message } from '../transcript/messages.ts';
import { openSession, type Session } from '../transcript/session.ts';
import type { App } from './compose.ts';
import { gateOf } from './gate.ts';
import { whyLeft } from './ingest.ts';
import { rangesOf, type SessionRange, skippedIn } from './session-ranges.ts';

export type SessionFate = Awaited<ReturnType<typeof fateOf>>;

/** Of the sessions whose path has the given text in it. */
const MOST_LOOKED_INTO = 20;

/** `what`: the id of a session, the beginning of it, or its transcript. Errors: `bad-input` where it is none. */
export async function sessionFates(app: App, what: string): Promise<SessionFate[]> {
  const { db, machine, memories } = app;
  // Before the inbox is looked into: what a worker takes in meanwhile is then in one or the other.
  const isTold = lookIntoSpool(app.config.home);
  const rows = await db.all<SessionRow>(
    'select * from session where name = ? or substr(name, 1, ?) = ? or (machine = ? and path = ?) order by name',
    ...[what, what.length, what, machine, resolve(what)],
  );
  const known = rows.filter(({ name, path }) => name === what || path === resolve(what) || what.length >= 4);
  const found: SessionFate[] = [];
  for (const row of known) found.push(await fateOf(app, { row, memory: await memories.of(row.memory), isTold }));
  if (found.length > 0) return found;
  for (const session of await findUnknown(app, what))
    found.push(await fateOf(app, { session, memory: await app.findMemory(session), isTold }));
  if (found.length > 0) return found;
  throw new AppError('bad-input', `No memory knows a session ${what}, and it is no transcript.`, {
    remedy: 'Give the id of the session or the path of its transcript; nocturne names what waits.',
  });
}

/** The transcript itself, or those on this disk whose session has this id or one that begins so. */
async function findUnknown(app: App, what: string): Promise<Session[]> {
  try {
    return [await openSession(what)];
  } catch (error) {
    if (!isAppError(error, 'transcript-gone')) throw error;
  }
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
  const { ranges, holds, unreadable, cwd, left } = await read(app, known, item);
  const failures = await failuresOf(app, { row, item, ranges });
  const proposals: { entry: string; text: string; says: string }[] = [];
  for (const { id: entry, text } of taught)
    for (const says of await sayProposals(app, (memory as MemoryRow).id, entry)) proposals.push({ entry, text, says });
  const fate = {
    session: name,
    transcript: row?.path ?? known.session?.path ?? '',
    /** What is wrong with the transcript, where it cannot be read. */
    unreadable,
    memory: memory?.dir ?? memory?.id ?? memoryDirOf({ cwd }),
    ranges,
    /** What it taught. */
    entries: taught.map(({ id, type, text, ...entry }) => {
      return { id, type, text, state: entry.state === 'gone' ? (entry.reason ?? entry.state) : entry.state };
    }),
    /** What its transcript holds; null where it cannot be read. */
    holds,
    /** What of it waits: until when, and why. */
    waiting: item?.state === 'waiting' ? [{ key: item.key, notBefore: item.not_before, why: item.error }] : [],
    failures,
    /** What waits for a person's word of what it gave, or was rejected. */
    proposals,
  };
  return { ...fate, next: await nextOf(app, { ...fate, item, cwd, left, isTold: isTold(name) }) };
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

/** What its work failed with, last first. `isOver`: the same work was done since, so that only data has it. */
async function failuresOf(
  { db }: App,
  { row, item, ranges }: { row?: SessionRow; item?: InboxRow; ranges: SessionRange[] },
) {
  const told = (code: string | null, message: string | null, at: string) => {
    return { code, class: code && isErrorCode(code) ? ruleOf(code).class : 'unknown', message: message ?? '', at };
  };
  const jobs = row
    ? await db.all<Record<'id' | 'status' | 'outcome' | 'at', string> & Record<'code' | 'error', string | null>>(
        `select id, status, outcome, code, error, coalesce(ended_at, created_at) as at from job where session = ?
         order by created_at desc, case when error is null then 0 else 1 end, id limit 5`,
        row.id,
      )
    : [];
  const done = jobs.findIndex(
    ({ status, error, outcome }) => status !== 'running' && !error && outcome !== 'interrupted',
  );
  // What was given up was not done by whatever succeeded since.
  const isDone = done >= 0 && ranges.every(({ state }) => state !== 'gave-up');
  const ended = jobs.map(({ id: key, code, error, at: endedAt }, at) => {
    const isOver = isDone && at > done;
    return { ...told(code, error, endedAt), key, state: 'ended' as const, attempts: null, tries: null, isOver };
  });
  const failed = ended.filter(({ message }) => message !== '');
  if (!item || item.code === null) return failed;
  const { code, key, attempts } = item;
  const tries = isErrorCode(code) ? ruleOf(code).tries : null;
  const state = item.state === 'failed' ? ('failed' as const) : ('retrying' as const);
  return [{ ...told(code, item.error, item.since), key, state, attempts, tries, isOver: false }, ...failed];
}

/** What its transcript holds, and what became of that. */
async function read(app: App, known: Known, item: InboxRow | undefined) {
  const { memories, db, machine, config } = app;
  const { row, memory } = known;
  let session: Session | undefined;
  try {
    const copiesDir = `${config.home}/copies`;
    session = known.session ?? (await openTranscript(db, { session: row?.id, isLive: true, machine, copiesDir }));
    const speakers: Partial<Record<Message['speaker'], number>> = {};
    const opened = session;
    let abandoned = 0;
    const writes = new Map<string, string>();
    async function* messages() {
      for await (const message of opened.messages()) {
        speakers[message.speaker] = (speakers[message.speaker] ?? 0) + 1;
        if (message.isAbandoned) abandoned += 1;
        for (const part of message.parts) {
          const path = part.kind === 'call' && isObject(part.input) ? part.input.file_path : undefined;
          if (typeof path === 'string') writes.set(message.id, path);
        }
        yield message;
      }
    }
    const sorted = await sortTurns(
      { modifiedAt: opened.modifiedAt, messages },
      {
        ...{ memories, memory: memory?.id ?? '', row: undefined, writable: memory ? [memory.id] : [], job: null },
        // It may have been put in for a session that is over.
        ...{ ended: item !== undefined && JSON.parse(item.payload).ended === true, quietMs: config.quietMs },
        ...{ reopened: new Set<string>(), takeUp: [], declinedBefore: await declinedBefore(db) },
      },
    );
    const left = await whyLeft(app, opened);
    const ranges = await rangesOf(app, sorted, { memory: memory?.id ?? '', writes, why: left?.why ?? 'they wait' });
    const { format, sizeBytes } = opened;
    const offered = await offeredOf(app, sorted);
    const apart = { lines: opened.unreadableLines, abandoned, byProgram: (speakers.harness ?? 0) - abandoned };
    const holds = { format, sizeBytes, speakers, offered, skipped: skippedIn(ranges, apart) };
    return { ranges, holds, unreadable: null, cwd: opened.cwd, left };
  } catch (error) {
    if (!isAppError(error)) throw error;
    return { ranges: [], holds: null, unreadable: describeError(error), cwd: row?.cwd ?? undefined, left: null };
  } finally {
    session?.discard?.();
  }
}

async function offeredOf({ config: { excerptTokens: budgetTokens, zone } }: App, { shown, pending }: SortedTurns) {
  const offered = { turns: pending.size, messages: 0, tokens: 0 };
  for await (const { tokens, sources } of buildExcerpts(shown, { budgetTokens, redact, zone })) {
    offered.messages += [...sources.values()].filter((source) => source.offered).length;
    offered.tokens += tokens;
  }
  return offered;
}

interface Found extends Pick<Awaited<ReturnType<typeof read>>, 'ranges' | 'unreadable' | 'cwd' | 'left'> {
  session: string;
  transcript: string;
  item: InboxRow | undefined;
  isTold: boolean;
}

async function nextOf(app: App, { ranges, item, cwd, left, ...found }: Found): Promise<string> {
  const { config, clock } = app;
  if (item?.state === 'failed') {
    const remedy = `nocturne retry ${found.session}, or nocturne retry --dismiss ${found.session}`;
    return `Nothing by itself: it was given up (${item.code}). New turns of the session, or ${remedy}.`;
  }
  const { enabled, reason } = await app.standing({ cwd });
  const byName = `nocturne learn ${found.transcript} does it all the same.`;
  if (item && left?.verdict === 'off')
    return `Nothing: the next worker takes it out of the inbox, since ${left.why}. ${byName}`;
  if (item) {
    const isLater = item.not_before > clock.now().toISOString();
    const due = isLater ? `after ${localTime(item.not_before, config.zone)}` : 'as soon as it runs';
    const hold = enabled ? (await gateOf(app, { isLooking: true })).why : reason;
    return `A worker extracts it ${due}${hold === null ? '' : `, but: ${hold}`}.`;
  }
  if (found.unreadable) return 'Nothing: its transcript cannot be read.';
  const count = (state: string) =>
    ranges.filter((range) => range.state === state).reduce((sum, { turns }) => sum + turns, 0);
  const say = (of: number, [one, several]: [string, string]) => `${sayCount(of, 'turn')} ${of === 1 ? one : several}`;
  const [pending, open, declined, gaveUp] = [count('pending'), count('open'), count('declined'), count('gave-up')];
  if (left && pending + open + declined > 0) return `Nothing by itself: ${left.why}. ${byName}`;
  if (!enabled && pending + open > 0) return `Nothing by itself: ${reason}. ${byName}`;
  if (pending + open > 0 && found.isTold)
    return 'A hook has told of it: the next worker puts it into the inbox, and extracts it.';
  if (pending > 0)
    return `Nothing by itself: ${say(pending, ['is', 'are'])} pending, but nobody put it into the inbox. nocturne learn --later ${found.transcript}`;
  if (open > 0) return `${sayCount(open, 'turn')} may still go on, and is read once the session ended or is quiet.`;
  if (gaveUp > 0) return `Nothing by itself: ${say(gaveUp, ['was', 'were'])} given up. nocturne retry ${found.session}`;
  if (declined > 0)
    return `Nothing by itself: ${say(declined, ['was', 'were'])} declined at set-up. nocturne learn ${found.transcript} takes them.`;
  return 'Nothing: all of it is covered.';
}
