// What goes on over all memories, for a person who looks: what was learned, what waits, what failed, what was spent, and whose each
// memory is; and what needs a person, each with the command that deals with it, looked for here, once. One reading for the page, for
// doctor and for `nocturne` alone. It changes nothing but when a person looked last, and asking makes no memory.

import { TELL_AFTER_NIGHTS, unplacedOf } from '../../jobs/dream/topic-draft.ts';
import { offeredSnapshot } from '../../jobs/snapshot.ts';
import { attempt, describeError, ruleOf } from '../base/errors.ts';
import { parseJson } from '../base/text/json.ts';
import { sayCount } from '../base/text/wording.ts';
import { DAY_MS, dayOf } from '../base/time.ts';
import { keepSetting, settingOf } from '../db/sql.ts';
import { findFaults } from '../memory/damage-check.ts';
import { entriesWhere } from '../memory/entries.ts';
import { headAt } from '../memory/file-rows.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { INDEX } from '../memory/memory-index.ts';
import { checkoutRoot, projectMemoryDir } from '../memory/paths.ts';
import { memoryDirIfTold } from '../memory/places.ts';
import { shortId } from '../memory/short-ids.ts';
import { readMemorySnapshot, sayOffer } from '../memory/snapshot-files.ts';
import { INDEX_CAPS, OVERFLOW_LINE } from '../memory/text/index-file.ts';
import { type BreakerState, breakerOf, fullFromOf } from '../queue/breaker.ts';
import { isTooSmall, restoredIn, spentOn } from '../queue/spend.ts';
import { blockedOf } from '../queue/swept.ts';
import { listWork, type WorkRow } from '../queue/waiting-work.ts';
import { allWorkers } from '../queue/workers.ts';
import type { App } from './compose.ts';
import { nextNight } from './nightly.ts';
import { placeOf, sayHere, type Whose, whoseMemory } from './whose-memory.ts';

export type KnownMemory = Whose & { row: MemoryRow; lastSuccessAt: string | null };

export type Overview = Awaited<ReturnType<typeof readOverview>>;

/** All memories of this database's people, the one that was learned from last first. */
export async function knownMemories(app: App): Promise<KnownMemory[]> {
  const rows = await app.db.all<MemoryRow & { lastSuccessAt: string | null }>(
    `select memory.*, (select max(created_at) from job
       where job.memory = memory.id and job.kind in ('extract', 'dream') and job.status = 'completed') as "lastSuccessAt"
     from memory where deleted_at is null and tenant = ''`,
  );
  const known: KnownMemory[] = [];
  for (const { lastSuccessAt, ...row } of rows) known.push({ ...(await whoseMemory(app, row)), row, lastSuccessAt });
  const at = ({ lastSuccessAt }: KnownMemory) => lastSuccessAt ?? '';
  return known.sort((a, b) => at(b).localeCompare(at(a)) || a.name.localeCompare(b.name));
}

export async function readOverview(app: App, memories: KnownMemory[]) {
  const { db, config, clock } = app;
  const work = await listWork(db);
  const waits = "select memory, count(*) as count from proposal where state = 'open' group by memory";
  const proposals = new Map(
    (await db.all<{ memory: string; count: number }>(waits)).map(({ memory, count }) => [memory, count]),
  );
  const found = {
    waiting: work.filter(({ state }) => state === 'waiting'),
    /** Given up, until a person retries or dismisses it. */
    failed: work.filter(({ state }) => state === 'failed'),
    /** By memory, what dreams proposed. */
    proposals,
    breaker: await breakerOf(db, { after: config.breakerAfter, now: clock.now() }),
  };
  const needs: Need[] = [];
  for (const known of memories) needs.push(...(await needsOfMemory(app, known, proposals.get(known.row.id) ?? 0)));
  return { ...found, needs: inOrder([...needs, ...needsOfWork(found), ...(await needsOfSessions(app))]) };
}

function needsOfWork({
  waiting,
  failed,
  breaker,
}: Record<'waiting' | 'failed', WorkRow[]> & { breaker: BreakerState }) {
  const needs: Need[] = [];
  const { state, failures, until, reason, code: broken } = breaker;
  if (state !== 'closed') {
    const next = state === 'open' ? `it is asked again ${until}` : 'the next job asks it again';
    const text = `The model could not be asked ${sayCount(failures, 'time')} in a row; ${next}: ${reason}`;
    // What is wrong with it doctor finds; a limit is as it is.
    const command = ruleOf(broken).class === 'rate-limit' ? 'nocturne retry --failed' : 'nocturne doctor';
    needs.push({ text, command, cause: reason ?? undefined });
  }
  const stuck = waiting.filter(({ code, error }) => code !== null && (ruleOf(code).needsPerson || isTooSmall(error)));
  for (const [code, of] of Map.groupBy(stuck, (item) => item.code)) {
    // Else it is said of the model.
    if (state !== 'closed' && code === broken) continue;
    const message = of[0]?.error ?? '';
    const text = `${sayCount(of.length, 'job')} ${of.length === 1 ? 'waits' : 'wait'}: ${message}`;
    const command = isTooSmall(message) ? /nocturne config \w+ [\d.]+/.exec(message)?.[0] : undefined;
    needs.push({ text, command: command ?? 'nocturne doctor', cause: message, code: code ?? undefined });
  }
  for (const [first, ...others] of Map.groupBy(failed, ({ code, kind }) => `${code} ${kind}`).values()) {
    if (!first) continue;
    const what = first.kind === 'extract' ? sayCount(1 + others.length, 'session') : 'A dream';
    const text = `${what} could not be ${first.kind === 'extract' ? 'learned from' : 'done'}: ${first.error}`;
    needs.push({ text, command: 'nocturne retry --failed' });
  }
  return needs;
}

export function noteLook({ db, clock }: Pick<App, 'db' | 'clock'>): Promise<void> {
  return keepSetting(db, 'looked', clock.now().toISOString());
}

/** What waits for a person, as a sentence without its stop, and the command that deals with it from here. */
export interface Need {
  text: string;
  command: string;
  /** What work failed with, so that it is not told of each. */
  cause?: string;
  /** The code of that error. */
  code?: string;
  /** The transcripts that it is about. */
  sessions?: string[];
  /** It may stay as it is. */
  isNotice?: boolean;
}

const PASSING = new Set(['transient', 'rate-limit', 'ceiling']);

/** What a memory waits for a person with. */
async function needsOfMemory(app: App, { row: memory, ...whose }: KnownMemory, proposals: number): Promise<Need[]> {
  const { db } = app;
  const needs: Need[] = [];
  const faults = await findFaults(app.memories, memory, { isQuick: true });
  for (const [first, ...others] of Map.groupBy(faults, ({ what }) => what).values()) {
    const where = others.length === 0 ? first?.where : `${first?.where} and ${others.length} more`;
    const what = first?.what.replace(/^[A-Z]/, (letter) => letter.toLowerCase());
    needs.push({ text: `In ${whose.name}, ${where}: ${what}`, command: whose.command('nocturne check') });
  }
  needs.push(...(await noticesOf(app, { row: memory, ...whose })));
  const last = await db.get<{ outcome: string; code: string | null; error: string | null; at: string }>(
    `select outcome, code, error, ended_at as at from job where memory = ? and kind = 'dream' and ended_at is not null
     order by ended_at desc, id desc limit 1`,
    memory.id,
  );
  // What is missing and not taken as meant is said already.
  const isSaid = last?.outcome === 'refused' && faults.some(({ kind }) => kind === 'missing-file');
  if (last?.error && !isSaid && !PASSING.has(ruleOf(last.code).class)) {
    const became = last.outcome === 'refused' ? 'was refused' : 'failed';
    const text = `No dream in ${whose.name}: the last dream, at ${last.at}, ${became}: ${last.error}`;
    needs.push({ text, command: whose.command('nocturne dream') });
  }
  const unplaced = await unplacedOf(db, memory.id, await entriesWhere(db, memory.id, "and state = 'new'"));
  const [first, ...others] = unplaced.filter(({ nights }) => nights >= TELL_AFTER_NIGHTS);
  if (first) {
    const what = `${sayCount(1 + others.length, 'entry')} of ${whose.name} could not be sorted into topics`;
    const text = `${what} for ${first.nights} nights, since ${first.since.slice(0, 10)}: ${first.reason}`;
    needs.push({ text, command: whose.command(`nocturne why ${await shortId(db, 'entry', first.entry)}`) });
  }
  if (proposals > 0) {
    const waits = `${proposals === 1 ? 'waits' : 'wait'} for your answer`;
    const text = `${sayCount(proposals, 'proposed change')} in ${whose.name} ${waits}`;
    needs.push({ text, command: whose.command('nocturne review') });
  }
  return needs;
}

/** So many days a collision is told, where the topic is not edited sooner. */
const COLLISION_DAYS = 7;

/** What has no room in the index, and what of a snapshot did not come in, since the same lines were changed here. */
async function noticesOf({ db, clock }: App, { row: { id }, ...whose }: KnownMemory): Promise<Need[]> {
  const notices: Need[] = [];
  if (OVERFLOW_LINE.test((await headAt(db, id, INDEX))?.content?.toString() ?? '')) {
    const most = `${INDEX_CAPS.lines} lines, ${INDEX_CAPS.bytes / 1_000} kB`;
    const text = `${whose.name}: MEMORY.md has no room for all topics (${most}); the others are files beside it`;
    notices.push({ text, command: whose.command('nocturne list'), isNotice: true });
  }
  const taken = await db.get<{ output: string | null; at: string }>(
    `select job.output, change.at from job join change on change.job = job.id
     where job.memory = ? and job.kind = 'snapshot' and change.at > ? and change.undone_by is null order by change.n desc limit 1`,
    ...[id, new Date(clock.now().getTime() - COLLISION_DAYS * DAY_MS).toISOString()],
  );
  const { collided = [] } = (parseJson(taken?.output ?? '') ?? {}) as { collided?: string[] };
  for (const path of collided) {
    const head = await headAt(db, id, path);
    if (!taken || !head || head.updatedAt > taken.at) continue;
    const text = `${whose.name}: ${path} has lines that were changed here and in the snapshot; yours stayed`;
    notices.push({ text, command: whose.command('nocturne snapshot check --diff'), isNotice: true });
  }
  return notices;
}

/** Sessions that could not be taken. */
async function needsOfSessions({ config, db, machine }: App): Promise<Need[]> {
  const { settings } = config.agentMemory;
  const blocked = Map.groupBy(await blockedOf(db, machine), (each) => `${each.reason}`);
  return [...blocked].map(([why, paths]) => {
    const isSaid = settings.problem && why.includes(settings.path);
    const reason = isSaid ? ', for the same reason' : `: ${why}`;
    const text = `${sayCount(paths.length, 'session')} could not be read yet${reason}`;
    return { text, command: 'nocturne doctor', sessions: paths.map(({ path }) => path) };
  });
}

/** What failed for a cause that another tells of goes without saying; what is to be reviewed comes last. */
function inOrder(needs: Need[]): Need[] {
  const isTold = (need: Need) =>
    needs.some(({ cause, text }) =>
      cause === undefined ? text !== need.text && text.endsWith(need.text) : !need.cause && need.text.includes(cause),
    );
  const isReview = ({ command }: Need) => Number(command.includes('nocturne review'));
  return needs.filter((need) => !isTold(need)).toSorted((a, b) => isReview(a) - isReview(b));
}

/** Why nobody knows where memory lives, or whether it is wanted; `problem`: of the agent's settings. */
function sayUntold(problem?: string): string {
  if (!problem)
    return "It is not known where memory lives: the agent's autoMemoryDirectory names a place that cannot be used";
  return `${problem.replace(/\.$/, '')}. Until that is fixed nothing is learned or recalled here; what waits is read then`;
}

/** What may be dealt with where one stands: a memory that looks like this project, and what its repository hands on. */
export async function offersHere(app: App): Promise<Need[]> {
  const cwd = process.cwd();
  if (memoryDirIfTold(app.config, { cwd }) === null) return [];
  const [same, tree, here] = [await sayHere(app), checkoutRoot(cwd), await app.findMemory()];
  const offer = tree === null ? null : await offeredSnapshot(tree, here && { sql: app.db, id: here.id });
  const broken = tree === null ? null : attempt(() => readMemorySnapshot(tree) && null, describeError);
  const snapshot = broken ?? (offer && sayOffer(offer));
  return [
    ...(same ? [{ text: same, command: 'nocturne adopt', isNotice: true }] : []),
    ...(snapshot
      ? [{ text: `Memory snapshots: ${snapshot}`, command: 'nocturne snapshot check', isNotice: true }]
      : []),
  ];
}

/** What sessions taught a memory; `entries`: the newest, the newest first. */
export type Learned = Awaited<ReturnType<typeof learnedSince>>[number];

const MOST_LEARNED = 60;

export type Status = Awaited<ReturnType<typeof readStatus>>;

/** What `nocturne` tells of the memory where one stands and of all others. */
export async function readStatus(app: App) {
  const { config, db, clock } = app;
  const [cwd, day] = [process.cwd(), dayOf(clock.now(), config.zone)];
  const told = memoryDirIfTold(config, { cwd });
  const untold = { text: sayUntold(config.agentMemory.settings.problem), command: 'nocturne doctor' };
  // When a person looked last at what was learned; null: never.
  const lookedAt = (await settingOf(db, 'looked')) ?? null;
  const here = told === null ? null : await app.findMemory();
  const memories = await knownMemories(app);
  const { waiting, failed, proposals, breaker, needs } = await readOverview(app, memories);
  const [spent, ofPlan] = [await spentOn(db, day), await spentOn(db, day, 'plan')];
  const month = await db.get<{ tokens: number; usd: number }>(
    `select cast(coalesce(sum(tokens), 0) as bigint) as tokens, cast(coalesce(sum(micro_usd), 0) as bigint) as usd from day
     where scope = '' and day >= ?`,
    `${day.slice(0, 7)}-01`,
  );
  const idle = waiting.filter(({ owner }) => owner === null);
  const names = new Map(memories.map(({ row }) => [row.id, placeOf(row)]));
  return {
    memory: here ? placeOf(here) : (told ?? projectMemoryDir(config.claudeDir, cwd)),
    state: await app.standing({ cwd }),
    /** With what may be dealt with, which needs nobody. */
    needs: [...inOrder([...(told === null ? [untold] : []), ...needs]), ...(await offersHere(app))] as Need[],
    lookedAt,
    /** What sessions have taught since. */
    learned: await learnedSince(app, memories, lookedAt ?? ''),
    all: {
      ...{ directories: memories.length, lastSuccessAt: memories[0]?.lastSuccessAt ?? null },
      pending: waiting.length,
      /** Of these, what a worker has at hand; and when the next of the others is due. */
      running: waiting.length - idle.length,
      nextAt: idle.map((row) => row.not_before).sort()[0] ?? null,
      failed: failed.map(({ memory, kind, session, key, code, error, since }) => ({
        ...{ store: names.get(memory ?? '') ?? memory, kind, key: session ?? key },
        ...{ code, class: ruleOf(code).class, at: since, message: error ?? '' },
      })),
      proposals: [...proposals.values()].reduce((sum, count) => sum + count, 0),
    },
    modelPause: breaker,
    spendToday: {
      ...{ calls: spent.calls, planRequests: ofPlan.calls },
      ...{ usedTokens: spent.tokens - spent.reservedTokens, reservedTokens: spent.reservedTokens },
      ...{ usedUsd: (spent.microUsd - spent.reservedMicroUsd) / 1e6, reservedUsd: spent.reservedMicroUsd / 1e6 },
      ...{ ceilingTokens: config.dayTokens, ceilingUsd: config.dayMoneyUsd ?? null },
      ceilingPlanRequests: config.planRequests,
      /** Since when nothing more fits. */
      fullFrom: await fullFromOf(app),
    },
    /** Of the month: what ceilings count, of requests under way and unfinished ones their upper bound. */
    spendMonth: { tokens: month?.tokens ?? 0, usd: (month?.usd ?? 0) / 1e6 },
    /** When in it the database was restored: not all that was spent before is known. */
    restoredAt: await restoredIn(db, day.slice(0, 7), config.zone),
    nextDreamAt: (await nextNight(app)).toISOString(),
    workers: (await allWorkers(db)).map(({ process, machine, seen_at: seenAt }) => ({ process, machine, seenAt })),
    /** What all machines share; null: all is on this one. */
    database: db.engine === 'postgres' ? { server: db.name, stores: memories.length } : null,
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
