// What goes on over all memories, for a person who looks: what was learned, what waits, what failed, what needs them, and whose
// each memory is. One reading for the page and for `nocturne` alone. It changes nothing but when a person looked last.

import { ruleOf } from '../base/errors.ts';
import { sayCount } from '../base/text/wording.ts';
import { keepSetting, type Sql, settingOf } from '../db/sql.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { type BreakerState, breakerOf } from '../queue/breaker.ts';
import { listWork, type WorkRow } from '../queue/waiting-work.ts';
import type { App } from './compose.ts';
import { inOrder, type Need, needsOfMemory, needsOfSessions } from './needs.ts';
import { type Whose, whoseMemory } from './whose-memory.ts';

export interface KnownMemory extends Whose {
  row: MemoryRow;
  lastSuccessAt: string | null;
}

export interface LearnedEntry {
  memory: string;
  id: string;
  text: string;
  /** When the job that learned it ended. */
  learnedAt: string;
}

export interface Overview {
  memories: KnownMemory[];
  /** Since the instant that was asked for: how many by memory, and the newest, the newest first. */
  learned: { count: number; byMemory: Map<string, number>; newest: LearnedEntry[] };
  waiting: WorkRow[];
  /** Given up, until a person retries or dismisses it. */
  failed: WorkRow[];
  /** By memory, what dreams proposed. */
  proposals: Map<string, number>;
  breaker: BreakerState;
  needs: Need[];
}

const SUCCESS = `select created_at from job where job.memory = memory.id and job.kind = ? and job.status = 'completed'
  order by created_at desc limit 1`;

/** All memories of this database's people, the one that was learned from last first. */
export async function knownMemories(app: App): Promise<KnownMemory[]> {
  const rows = await app.db.all<MemoryRow & { learnedAt: string | null; dreamedAt: string | null }>(
    `select memory.*, (${SUCCESS}) as "learnedAt", (${SUCCESS}) as "dreamedAt"
     from memory where deleted_at is null and tenant = ''`,
    ...['extract', 'dream'],
  );
  const known: KnownMemory[] = [];
  for (const { learnedAt, dreamedAt, ...row } of rows) {
    const lastSuccessAt = [learnedAt ?? '', dreamedAt ?? ''].sort()[1] || null;
    known.push({ ...(await whoseMemory(app, row)), row, lastSuccessAt });
  }
  const at = ({ lastSuccessAt }: KnownMemory) => lastSuccessAt ?? '';
  return known.sort((a, b) => at(b).localeCompare(at(a)) || a.name.localeCompare(b.name));
}

const LEARNED = `from job join entry e on e.job = job.id
  where job.ended_at > ? and job.kind in ('extract', 'reprocess') and e.state <> 'gone'`;

/** `since`: null: ever; `most`: of the newest entries; `memories`: where they are known already. */
export async function readOverview(
  app: App,
  { since = null, most = 12, ...of }: { since?: string | null; most?: number; memories?: KnownMemory[] } = {},
): Promise<Overview> {
  const { db, config, clock } = app;
  const memories = of.memories ?? (await knownMemories(app));
  const newest = await db.all<LearnedEntry>(
    `select e.memory, e.id, e.text, job.ended_at as "learnedAt" ${LEARNED} order by job.ended_at desc, e.at desc, e.id limit ?`,
    ...[since ?? '', most],
  );
  // Of all that there is an index tells.
  const count = since === null ? "from entry e where e.state <> 'gone'" : LEARNED;
  const counts = await db.all<{ memory: string; count: number }>(
    `select e.memory, count(*) as count ${count} group by e.memory`,
    ...(since === null ? [] : [since]),
  );
  const work = await listWork(db);
  const waits = "select memory, count(*) as count from proposal where state = 'open' group by memory";
  const proposals = await db.all<{ memory: string; count: number }>(waits);
  const found = {
    memories,
    learned: {
      count: counts.reduce((sum, { count }) => sum + count, 0),
      byMemory: new Map(counts.map(({ memory, count }) => [memory, count])),
      newest,
    },
    waiting: work.filter(({ state }) => state === 'waiting'),
    failed: work.filter(({ state }) => state === 'failed'),
    proposals: new Map(proposals.map(({ memory, count }) => [memory, count])),
    breaker: await breakerOf(db, { after: config.breakerAfter, now: clock.now() }),
  };
  const needs: Need[] = [];
  for (const known of memories) needs.push(...(await needsOfMemory(app, known.row, known)));
  return { ...found, needs: inOrder([...needs, ...needsOfWork(found), ...(await needsOfSessions(app))]) };
}

function needsOfWork({ waiting, failed, breaker }: Pick<Overview, 'waiting' | 'failed' | 'breaker'>): Need[] {
  const needs: Need[] = [];
  const { state, failures, until, reason, code: broken } = breaker;
  if (state !== 'closed') {
    const next = state === 'open' ? `it is asked again ${until}` : 'the next job asks it again';
    const text = `The model could not be asked ${sayCount(failures, 'time')} in a row; ${next}: ${reason}`;
    needs.push({ text, command: 'nocturne doctor', cause: reason ?? undefined });
  }
  const stuck = waiting.filter(({ code }) => code !== null && ruleOf(code).needsPerson);
  for (const [code, of] of Map.groupBy(stuck, (item) => item.code)) {
    // Else it is said of the model.
    if (state !== 'closed' && code === broken) continue;
    const message = of[0]?.error ?? '';
    const text = `${sayCount(of.length, 'job')} ${of.length === 1 ? 'waits' : 'wait'}: ${message}`;
    needs.push({ text, command: 'nocturne doctor', cause: message, code: code ?? undefined });
  }
  for (const [first, ...others] of Map.groupBy(failed, ({ code, kind }) => `${code} ${kind}`).values()) {
    if (!first) continue;
    const what = first.kind === 'extract' ? sayCount(1 + others.length, 'session') : 'A dream';
    const text = `${what} could not be ${first.kind === 'extract' ? 'learned from' : 'done'}: ${first.error}`;
    needs.push({ text, command: 'nocturne retry --failed' });
  }
  return needs;
}

export function sayBreaker({ state, failures, until, code, reason }: BreakerState): string {
  if (state === 'closed') return failures === 0 ? 'closed' : `closed, ${failures} failures in a row`;
  const when = state === 'open' ? `tries again at ${until}` : 'one job tries now';
  return `the breaker is open after ${failures} failures in a row (${code}), ${when}: ${reason}`;
}

/** When a person looked last at what was learned; null: never. */
export async function lookedAt(sql: Sql): Promise<string | null> {
  return (await settingOf(sql, 'looked')) ?? null;
}

export function noteLook({ db, clock }: Pick<App, 'db' | 'clock'>): Promise<void> {
  return keepSetting(db, 'looked', clock.now().toISOString());
}
