// What became of a session, range by range; what of it waits, until when and why; what failed; and what would happen next.
// It reads ledgers and transcripts, asks no model and changes nothing.

import { resolve } from 'node:path';
import type { TurnState } from '../../../../jobs/extract/sort-turns.ts';
import { inspect, WHY_SKIPPED } from '../../../../jobs/inspect.ts';
import { AppError, describeError, isAppError, ruleOf } from '../../../base/errors.ts';
import { isStoreId } from '../../../base/files/directories.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { localTime } from '../../../base/time.ts';
import { sayProposals } from '../../../memory/dream/proposals.ts';
import { coverageOfTurn, sessionRow } from '../../../memory/ledger/coverage.ts';
import { entriesOfSession } from '../../../memory/ledger/entries.ts';
import type { WorkRows } from '../../../memory/ledger/inbox.ts';
import { jobRow, jobsOfSession } from '../../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { shortId } from '../../../memory/ledger/short-ids.ts';
import { lookIntoSpool } from '../../../queue/spool.ts';
import { findSessions } from '../../../transcript/find-sessions.ts';
import { openSession, type Session } from '../../../transcript/session.ts';
import type { App } from '../../compose.ts';
import { whyLeft } from '../../hook/ingest.ts';
import { memoriesOf } from '../../places.ts';
import { admissionNow } from '../../worker/hold.ts';
import {
  eachLedger,
  isMeant,
  isSessionMeant,
  type KnownWork,
  knownWork,
  sessionOf,
  transcriptOf,
} from '../../worker/known-work.ts';

/** Consecutive turns of one fate, or a part of one turn. */
interface TurnRange {
  from: string;
  to: string;
  turns: number;
  /** Of a part of a turn: its first and its last message. */
  messages: { from: string; through: string } | null;
  state: TurnState;
  why: string;
  /** Where the main agent wrote it down itself. */
  wrote: string | null;
  /** The job that covered them, and when it ended. */
  job: string | null;
  at: string | null;
}

interface Failure {
  key: string | null;
  state: 'retrying' | 'failed' | 'ended';
  code: string | null;
  class: string;
  message: string;
  attempts: number | null;
  tries: number | null;
  at: string;
  /** The same work was done since, so that only data has it. */
  isOver: boolean;
}

export type Explanation = Awaited<ReturnType<typeof explainSession>>;

/** Of the sessions whose path has the given text in it. */
const MOST_LOOKED_INTO = 20;

/** `what`: the id of a session, the beginning of it, or its transcript. Throws `bad-input` where it is none. */
export async function explainSessions(
  app: App,
  { what, memory }: { what: string; memory?: string },
): Promise<Explanation[]> {
  const found: Explanation[] = [];
  // Before any inbox is looked into: what a worker takes in meanwhile is then in one or the other.
  const isTold = lookIntoSpool(app.config.home);
  const look = async (ledger: Ledger, dir: string, rows: WorkRows) => {
    const work = (await extractionsOf(rows)).filter((each) => isMeant(each, what));
    const sessions = new Set([...work.map(({ key }) => sessionOf(key)), ...sessionsMeant(ledger, what)]);
    for (const session of sessions) {
      const own = work.filter(({ key }) => sessionOf(key) === session);
      const transcript =
        own.map(({ item, failure }) => transcriptOf(item ?? failure)).find((path) => path !== undefined) ??
        sessionRow(ledger, session)?.path;
      found.push(await explainSession(app, { ledger, dir, session, work: own, transcript: transcript ?? '', isTold }));
    }
  };
  await eachLedger(app, { only: memory && (isStoreId(memory, app.config) ? memory : resolve(memory)), look });
  return found.length > 0 ? found : explainUnknown(app, what, isTold);
}

/** Sessions that no ledger knows by name: their transcripts say what would be done with them. */
async function explainUnknown(app: App, what: string, isTold: Known['isTold']): Promise<Explanation[]> {
  const found: Explanation[] = [];
  for (const session of await findUnknown(app, what)) {
    const { id, path: transcript } = session;
    const explain = async (ledger: Ledger | null, dir: string, rows?: WorkRows) => {
      const known = rows ? await extractionsOf(rows) : [];
      const work = known.filter(({ key }) => sessionOf(key) === id);
      found.push(await explainSession(app, { ledger, dir, session: id, work, transcript, isTold }));
    };
    const dir = app.memoryDirOf(session);
    const before = found.length;
    // Its turns may be covered all the same, as those of the session that it is a copy of; and the home may be new.
    const [unreadable] = await eachLedger(app, { only: dir, look: explain });
    if (unreadable) throw new AppError('storage', unreadable.message);
    if (found.length === before) await explain(null, dir);
  }
  if (found.length > 0) return found;
  throw new AppError('bad-input', `No memory directory knows a session ${what}, and it is no transcript.`, {
    remedy: 'Give the id of the session or the path of its transcript; nocturne status names what waits.',
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
      if (isSessionMeant(session.id, what)) found.push(session);
    } catch (error) {
      // It was not this one that was asked for, as far as anybody can tell.
      if (!isAppError(error)) throw error;
    }
  }
  return found;
}

interface Known {
  ledger: Ledger | null;
  dir: string;
  session: string;
  work: KnownWork[];
  transcript: string;
  /** Whether a hook had told of a session when the looking began. */
  isTold(session: string): boolean;
}

async function explainSession(app: App, known: Known) {
  const { ledger, dir, session, work, transcript, isTold } = known;
  const { ranges, holds, unreadable, cwd, left } = await readRanges(app, known);
  const waiting = work.flatMap(({ key, item }) =>
    item ? [{ key, notBefore: item.notBefore, why: item.failure }] : [],
  );
  const listed = work.flatMap(({ key, failure }): Failure[] => {
    if (!failure) return [];
    const { state, attempts, code } = failure;
    return [{ ...pick(failure), key, state, attempts, tries: ruleOf(code).tries, isOver: false }];
  });
  const taught = ledger ? entriesOfSession(ledger, session) : [];
  const jobs = ledger ? jobsOfSession(ledger, session, 5) : [];
  const done = jobs.findIndex(
    ({ status, error, outcome }) => status === 'ended' && !error && outcome !== 'interrupted',
  );
  // What was given up was not done by whatever succeeded since.
  const isDone = done >= 0 && ranges.every(({ state }) => state !== 'gave-up');
  const ended = jobs.flatMap(({ id: key, code, error, endedAt, createdAt }, at): Failure[] => {
    if (!error) return [];
    const failed = pick({ code, message: error, at: endedAt ?? createdAt });
    return [{ ...failed, key, state: 'ended', attempts: null, tries: null, isOver: isDone && at > done }];
  });
  const explanation = {
    session,
    /** As much of it as tells it from others. */
    shortId: ledger ? shortId(ledger, 'session', session) : session.slice(0, 8),
    transcript,
    /** What is wrong with the transcript, where it cannot be read. */
    unreadable,
    memory: dir,
    ranges,
    /** What it taught. */
    entries: taught.map(({ id, type, text, state }) => ({ id, type, text, state })),
    /** What its transcript holds; null where it cannot be read. */
    holds,
    /** What of it waits in the inbox: until when, and why. */
    waiting,
    failures: [...listed, ...ended],
    /** What waits for a person's word of what it gave, or was rejected. */
    proposals: taught.flatMap(({ id: entry, text }) =>
      (ledger ? sayProposals(ledger, entry) : []).map((says) => ({ entry, text, says })),
    ),
  };
  return { ...explanation, next: await nextOf(app, { ...explanation, work, cwd, left, isTold: isTold(session) }) };
}

function pick({ code, message, at }: { code: string | null; message: string; at: string }) {
  return { code, class: ruleOf(code).class, message, at };
}

async function readRanges(app: App, { ledger, dir, session, work, transcript }: Known) {
  // It was put in for a session that is over.
  const ended = work.some(({ item, failure }) => Object((item ?? failure)?.payload).ended === true);
  let opened: Session | undefined;
  try {
    opened = await app.transcripts.open(transcript, { id: session });
    const { turns, format, sizeBytes, speakers, offered, skipped } = await inspect(
      { session: opened, ended },
      {
        ...app.config,
        memoryDir: dir,
        memories: memoriesOf(app.config, { cwd: opened.cwd, memory: dir }),
        ledger,
        now: app.config.clock.now(),
        declinedBefore: await app.home.declinedBefore(),
      },
    );
    const left = await whyLeft(app, opened);
    const ranges: TurnRange[] = [];
    const add = (id: string, { state, job, ...part }: Pick<TurnRange, 'state' | 'job' | 'messages' | 'wrote'>) => {
      const last = ranges.at(-1);
      const isAlike = last?.state === state && last.job === job && last.wrote === part.wrote;
      if (last && isAlike && !last.messages && !part.messages) {
        last.to = id;
        last.turns += 1;
      } else {
        const at = (job && ledger && jobRow(ledger, job)?.endedAt) || null;
        ranges.push({
          from: id,
          to: id,
          turns: 1,
          state,
          why: WHY_SKIPPED[state] || (left?.why ?? 'they wait'),
          job,
          at,
          ...part,
        });
      }
    };
    for (const { id, state, parts = [] } of turns) {
      for (const { from, through, state, job, wrote = null } of parts) {
        add(id, { state, job, messages: parts.length > 1 ? { from, through } : null, wrote });
      }
      if (parts.length > 0) continue;
      const rows = ledger ? coverageOfTurn(ledger, { id, messageIds: [] }) : [];
      const job = rows.find(({ disposition }) => disposition === state)?.job ?? null;
      add(id, { state, job, messages: null, wrote: null });
    }
    const holds = { format, sizeBytes, speakers, offered, skipped };
    return { ranges, holds, unreadable: null, cwd: opened.cwd, left };
  } catch (error) {
    if (!isAppError(error)) throw error;
    return { ranges: [], holds: null, unreadable: describeError(error), cwd: undefined, left: null };
  } finally {
    opened?.discard?.();
  }
}

type Found = Pick<Known, 'session' | 'transcript'> & {
  ranges: TurnRange[];
  waiting: { notBefore: string }[];
  unreadable: string | null;
  work: KnownWork[];
  cwd: string | undefined;
  left: Awaited<ReturnType<typeof whyLeft>>;
  isTold: boolean;
};

async function nextOf(app: App, found: Found): Promise<string> {
  const failed = found.work.find(({ failure, item }) => failure?.state === 'failed' && !item)?.failure;
  if (failed) {
    const remedy = `nocturne retry ${found.session}, or nocturne retry --dismiss ${found.session}`;
    return `Nothing by itself: it was given up (${failed.code}). New turns of the session, or ${remedy}.`;
  }
  const { enabled, reason } = await app.standing({ cwd: found.cwd });
  const hold = enabled ? await admissionNow(app) : reason;
  const [item] = found.waiting;
  const byName = `nocturne extract ${found.transcript} does it all the same.`;
  if (item && found.left?.verdict === 'off') {
    return `Nothing: the next worker takes it out of the inbox, since ${found.left.why}. ${byName}`;
  }
  if (item) {
    const due =
      item.notBefore > app.config.clock.now().toISOString()
        ? `after ${localTime(item.notBefore, app.config.zone)}`
        : 'as soon as it runs';
    return `A worker extracts it ${due}${hold ? `, but: ${hold}` : ''}.`;
  }
  if (found.unreadable) return 'Nothing: its transcript cannot be read.';
  const pending = count(found, 'pending');
  const open = count(found, 'open');
  const declined = count(found, 'declined');
  if (found.left && pending + open + declined > 0) return `Nothing by itself: ${found.left.why}. ${byName}`;
  if (!enabled && pending + open > 0) return `Nothing by itself: ${reason}. ${byName}`;
  if (pending + open > 0 && found.isTold) {
    return 'A hook has told of it: the next worker puts it into the inbox, and extracts it.';
  }
  if (pending > 0)
    return `Nothing by itself: ${turns(pending, ['is', 'are'])} pending, but nobody put it into the inbox. nocturne enqueue extract ${found.transcript}`;
  if (open > 0) return `${sayCount(open, 'turn')} may still go on, and is read once the session ended or is quiet.`;
  const gaveUp = count(found, 'gave-up');
  if (gaveUp > 0)
    return `Nothing by itself: ${turns(gaveUp, ['was', 'were'])} given up. nocturne retry ${found.session}`;
  if (declined > 0) {
    return `Nothing by itself: ${turns(declined, ['was', 'were'])} declined at set-up. nocturne extract ${found.transcript} takes them.`;
  }
  return 'Nothing: all of it is covered.';
}

function turns(count: number, [one, several]: [string, string]): string {
  return `${sayCount(count, 'turn')} ${count === 1 ? one : several}`;
}

function count({ ranges }: Pick<Explanation, 'ranges'>, state: TurnState): number {
  return ranges.filter((range) => range.state === state).reduce((sum, { turns }) => sum + turns, 0);
}

async function extractionsOf(work: WorkRows): Promise<KnownWork[]> {
  return (await knownWork(work)).filter(({ kind }) => kind === 'extract');
}

function sessionsMeant(ledger: Ledger, what: string): string[] {
  const path = resolve(what);
  return ledger
    .all('select id, path from session')
    .filter((row) => isSessionMeant(String(row.id), what) || row.path === path)
    .map((row) => String(row.id));
}
