// What `nocturne` tells of the memory where one stands and of all others: what was learned, what waits, what failed, what was spent,
// and what needs a person, each with the command that deals with it. Asking makes no memory; what cannot be read is named, and the
// rest told all the same.

import { ruleOf } from '../base/errors.ts';
import { dayOf } from '../base/time.ts';
import { endInterrupted } from '../memory/job-rows.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { projectMemoryDir } from '../memory/paths.ts';
import { memoryDirIfTold } from '../memory/places.ts';
import { fullFromOf } from '../queue/breaker.ts';
import { restoredIn, spentOn } from '../queue/spend.ts';
import type { WorkRow } from '../queue/waiting-work.ts';
import { allWorkers } from '../queue/workers.ts';
import type { App } from './compose.ts';
import { nextNight } from './nightly.ts';
import {
  inOrder,
  type KnownMemory,
  knownMemories,
  lookedAt,
  type Need,
  type Overview,
  offersHere,
  readOverview,
  sayUntold,
} from './overview.ts';
import { placeOf } from './whose-memory.ts';

/** What sessions taught a memory; `entries`: the newest, the newest first. */
export type Learned = Awaited<ReturnType<typeof learnedSince>>[number];

const MOST_LEARNED = 60;

export type Status = Awaited<ReturnType<typeof readStatus>>;

export async function readStatus(app: App) {
  const { config, db, clock } = app;
  const now = clock.now();
  const [cwd, day] = [process.cwd(), dayOf(now, config.zone)];
  await endInterrupted(db, now);
  const told = memoryDirIfTold(config, { cwd });
  const untold = { text: sayUntold(config.agentMemory.settings.problem), command: 'nocturne doctor' };
  const looked = await lookedAt(db);
  const here = told === null ? null : await app.findMemory();
  const memories = await knownMemories(app);
  const overview = await readOverview(app, memories);
  const ordered = inOrder([...(told === null ? [untold] : []), ...overview.needs]);
  const [spent, ofPlan] = [await spentOn(db, day), await spentOn(db, day, 'plan')];
  const month = await db.get<{ tokens: number; usd: number }>(
    `select cast(coalesce(sum(tokens), 0) as bigint) as tokens, cast(coalesce(sum(micro_usd), 0) as bigint) as usd from day
     where scope = '' and day >= ?`,
    `${day.slice(0, 7)}-01`,
  );
  const open = await db.get<{ tokens: number; usd: number }>(
    `select cast(coalesce(sum(reserved_tokens), 0) as bigint) as tokens, cast(coalesce(sum(reserved_usd), 0) as bigint) as usd
     from call where settled_at is null and day >= ?`,
    `${day.slice(0, 7)}-01`,
  );
  const success = "select max(ended_at) as n from job where code is null and kind in ('extract', 'dream', 'reprocess')";
  return {
    memory: here ? placeOf(here) : (told ?? projectMemoryDir(config.claudeDir, cwd)),
    state: await app.standing({ cwd }),
    attention: ordered.flatMap(({ text, isNotice }) => (isNotice ? [] : text)),
    /** The same, each with the command that deals with it from here, and what may be dealt with. */
    needs: [...ordered, ...(await offersHere(app))] as Need[],
    /** When a person last looked at this, and what sessions have taught since. */
    lookedAt: looked,
    learned: await learnedSince(app, memories, looked ?? ''),
    waiting: byTime(overview.waiting)
      .filter((row) => row.memory === here?.id)
      .map(({ kind, session, key, not_before: notBefore, attempts, error: failure, since }) => {
        return { kind, key: session ?? key, notBefore, attempts, failure, since };
      }),
    lastJobs: await lastJobs(app, here),
    all: {
      ...{ directories: memories.length, lastSuccessAt: (await db.get<{ n: string | null }>(success))?.n ?? null },
      ...allWork(memories, overview),
      proposals: [...overview.proposals.values()].reduce((sum, count) => sum + count, 0),
    },
    modelPause: overview.breaker,
    spendToday: {
      ...{ day, calls: spent.calls, reservedTokens: spent.reservedTokens },
      usedTokens: spent.tokens - spent.reservedTokens,
      ...{ planRequests: ofPlan.calls, ceilingTokens: config.dayTokens, ceilingUsd: config.dayMoneyUsd ?? null },
      usedUsd: (spent.microUsd - spent.reservedMicroUsd) / 1e6,
      reservedUsd: spent.reservedMicroUsd / 1e6,
      ceilingPlanRequests: config.planRequests,
      /** Since when nothing more fits. */
      fullFrom: await fullFromOf(app),
    },
    /** Of the month: what ceilings count, of requests under way and unfinished ones their upper bound. */
    spendMonth: {
      ...{ tokens: month?.tokens ?? 0, usd: (month?.usd ?? 0) / 1e6 },
      ...{ reservedTokens: open?.tokens ?? 0, reservedUsd: (open?.usd ?? 0) / 1e6 },
    },
    /** When in it the database was restored: not all that was spent before is known. */
    restoredAt: await restoredIn(db, day.slice(0, 7), config.zone),
    nextDreamAt: (await nextNight(app)).toISOString(),
    workers: (await allWorkers(db)).map(({ process, machine, seen_at: seenAt }) => ({ process, machine, seenAt })),
    /** What all machines share; null: all is on this one. */
    database: db.engine === 'postgres' ? { server: db.name, stores: memories.length } : null,
  };
}

async function lastJobs({ db }: App, memory: MemoryRow | null) {
  const jobs = await db.all<
    Record<'id' | 'kind' | 'status' | 'createdAt', string> &
      Record<'outcome' | 'error' | 'code' | 'session' | 'endedAt' | 'undoes', string | null>
  >(
    `select job.id, job.kind, job.status, job.outcome, job.error, job.code, session.name as session,
       job.created_at as "createdAt", job.ended_at as "endedAt", job.undoes
     from job left join session on session.id = job.session where job.memory = ? order by job.created_at desc, job.id desc limit 10`,
    memory?.id ?? '',
  );
  return jobs.map((job) => ({ ...job, status: job.status === 'running' ? 'running' : 'ended' }));
}

function byTime(rows: WorkRow[]): WorkRow[] {
  return rows.toSorted((a, b) => (a.not_before < b.not_before ? -1 : 1));
}

/** What waits and failed over all memories. */
function allWork(memories: KnownMemory[], { waiting, failed }: Overview) {
  const names = new Map(memories.map(({ row }) => [row.id, placeOf(row)]));
  const told = ({ memory, kind, session, key }: WorkRow) => {
    return { store: names.get(memory ?? '') ?? memory ?? '', kind, key: session ?? key };
  };
  const [oldest] = byTime(waiting.filter(({ owner }) => owner === null));
  return {
    pending: waiting.length,
    /** Of these, what a worker has at hand. */
    running: waiting.filter(({ owner }) => owner !== null).length,
    oldestPending: oldest ? { ...told(oldest), notBefore: oldest.not_before } : null,
    failed: byTime(failed).map((row) => {
      const { code, error, since } = row;
      return { ...told(row), code, class: ruleOf(code).class, at: since, message: error ?? '' };
    }),
  };
}

async function learnedSince({ db }: App, memories: KnownMemory[], since: string) {
  const learned = `from job join entry e on e.job = job.id
    where job.ended_at > ? and job.kind in ('extract', 'reprocess') and e.state <> 'gone'`;
  const counts = await db.all<{ memory: string; count: number }>(
    `select e.memory, count(*) as count ${learned} group by e.memory`,
    since,
  );
  const newest = await db.all<{ memory: string; id: string; text: string; learnedAt: string }>(
    `select e.memory, e.id, e.text, job.ended_at as "learnedAt" ${learned} order by job.ended_at desc, e.at desc, e.id limit ?`,
    ...[since, MOST_LEARNED],
  );
  return memories.flatMap((whose) => {
    const count = counts.find(({ memory }) => memory === whose.row.id)?.count ?? 0;
    const entries = newest.filter(({ memory }) => memory === whose.row.id);
    return count === 0 ? [] : [{ memory: placeOf(whose.row), whose, count, entries }];
  });
}
