// What `nocturne` tells of the memory where one stands and of all others: what was learned, what waits, what failed, what was spent,
// and what needs a person, each with the command that deals with it. Asking makes no memory; what cannot be read is named, and the
// rest told all the same.

import { ruleOf } from '../base/errors.ts';
import { dayOf } from '../base/time.ts';
import { headAt } from '../memory/file-rows.ts';
import { endInterrupted } from '../memory/job-rows.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { projectMemoryDir } from '../memory/paths.ts';
import { memoryDirIfTold } from '../memory/places.ts';
import { isTopicPath } from '../memory/text/topic.ts';
import { fullFromOf } from '../queue/breaker.ts';
import { restoredIn, spentOn } from '../queue/spend.ts';
import type { WorkRow } from '../queue/waiting-work.ts';
import { allWorkers } from '../queue/workers.ts';
import type { App } from './compose.ts';
import { nextDream, skippedNights } from './nightly.ts';
import { inOrder, lookedAt, type Need, type Overview, offersHere, readOverview, sayUntold } from './overview.ts';
import { placeOf } from './whose-memory.ts';

/** What sessions taught a memory; `entries`: the newest, the newest first. */
export type Learned = ReturnType<typeof learnedIn>[number];

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
  const overview = await readOverview(app, { since: looked ?? '', most: MOST_LEARNED });
  const { memories, breaker } = overview;
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
    learned: learnedIn(overview),
    ...(await keptOf(app, here, overview)),
    skipped: await skippedNights(db, here?.id ?? ''),
    all: {
      ...{ directories: memories.length, lastSuccessAt: (await db.get<{ n: string | null }>(success))?.n ?? null },
      ...allWork(overview),
      proposals: [...overview.proposals.values()].reduce((sum, count) => sum + count, 0),
    },
    modelPause: breaker,
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
    nextDreamAt: (await nextDream(app, here)).toISOString(),
    workers: (await allWorkers(db)).map(({ process, machine, seen_at: seenAt }) => ({ process, machine, seenAt })),
    /** What all machines share; null: all is on this one. */
    database: db.engine === 'postgres' ? { server: db.name, stores: memories.length } : null,
  };
}

async function countsBy({ db }: App, sql: string, memory: string): Promise<Record<string, number>> {
  const rows = await db.all<{ name: string; n: number }>(sql, memory);
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

const ENTRIES = `select case when state = 'new' then 'new' when state <> 'gone' then 'sorted' when reason = 'forgotten' then 'forgotten'
  else 'withdrawn' end as name, count(*) as n from entry where memory = ? group by 1`;
const TURNS = `select case when t.state = 'done' then case when exists (select 1 from entry e where e.memory = t.memory
    and e.session = t.session and e.turn = t.id and e.state <> 'gone') then 'recorded' else 'nothing' end
  when t.state = 'gave_up' then 'gave-up' when t.reason = 'own-write' then 'main-agent'
  when t.state = 'skipped' then t.reason else t.state end as name, count(distinct t.session || t.id) as n from turn t where t.memory = ? group by 1`;

/** What is kept of the memory here. */
async function keptOf(app: App, memory: MemoryRow | null, { waiting, states }: Overview) {
  const id = memory?.id ?? '';
  const { db } = app;
  const paths = await db.all<{ path: string }>('select path from file where memory = ? and path is not null', id);
  const index = (memory && (await headAt(db, id, 'MEMORY.md')))?.content?.toString() ?? '';
  const jobs = await db.all<
    Record<'id' | 'kind' | 'status' | 'createdAt', string> &
      Record<'outcome' | 'error' | 'code' | 'session' | 'endedAt' | 'undoes', string | null>
  >(
    `select job.id, job.kind, job.status, job.outcome, job.error, job.code, session.name as session,
       job.created_at as "createdAt", job.ended_at as "endedAt", job.undoes
     from job left join session on session.id = job.session where job.memory = ? order by job.created_at desc, job.id desc limit 10`,
    id,
  );
  return {
    entries: await countsBy(app, ENTRIES, id),
    turns: await countsBy(app, TURNS, id),
    /** Files that were gone or empty at once, and are not back; what keeps dreams from running, or from coming to their end. */
    ...(states.get(id) ?? { missing: [], oversized: [], dreamBlocks: [] }),
    topics: paths.filter(({ path }) => isTopicPath(path)).length,
    index: { lines: index.split('\n').length - 1, bytes: Buffer.byteLength(index) },
    waiting: byTime(waiting)
      .filter((row) => row.memory === id)
      .map(({ kind, session, key, not_before: notBefore, attempts, error: failure, since }) => {
        return { kind, key: session ?? key, notBefore, attempts, failure, since };
      }),
    lastJobs: jobs.map((job) => ({ ...job, status: job.status === 'running' ? 'running' : 'ended' })),
  };
}

function byTime(rows: WorkRow[]): WorkRow[] {
  return rows.toSorted((a, b) => (a.not_before < b.not_before ? -1 : 1));
}

/** What waits and failed over all memories. */
function allWork({ memories, waiting, failed }: Overview) {
  const names = new Map(memories.map(({ row }) => [row.id, placeOf(row)]));
  const told = ({ memory, kind, session, key }: WorkRow) => {
    return { store: names.get(memory ?? '') ?? memory ?? '', kind, key: session ?? key };
  };
  const [oldest] = byTime(waiting.filter(({ owner }) => owner === null));
  const failures: Record<string, number> = {};
  for (const { code } of [...waiting, ...failed]) {
    const of = code === null ? undefined : ruleOf(code).class;
    if (of) failures[of] = (failures[of] ?? 0) + 1;
  }
  return {
    pending: waiting.length,
    /** Of these, what a worker has at hand. */
    running: waiting.filter(({ owner }) => owner !== null).length,
    oldestPending: oldest ? { ...told(oldest), notBefore: oldest.not_before } : null,
    failures,
    failed: byTime(failed).map((row) => {
      const { code, error, since } = row;
      return { ...told(row), code, class: ruleOf(code).class, at: since, message: error ?? '' };
    }),
  };
}

function learnedIn({ memories, learned }: Overview) {
  const newest = Map.groupBy(learned.newest, ({ memory }) => memory);
  return memories.flatMap((whose) => {
    const count = learned.byMemory.get(whose.row.id) ?? 0;
    const entries = newest.get(whose.row.id) ?? [];
    return count === 0 ? [] : [{ memory: placeOf(whose.row), whose, count, entries }];
  });
}
