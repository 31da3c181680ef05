// What nocturne status and nocturne alone tell: what is kept where one stands, what goes on over all known memory
// directories (what was learned, what waits, what failed, when something last succeeded), what was spent, and what needs
// a person. Asking makes no memory directory; what cannot be read is named, and the rest told all the same.

import { join } from 'node:path';
import { offeredSnapshot } from '../../../../jobs/snapshot/applied-snapshots.ts';
import { type AppError, describeError, onAppError, ruleOf } from '../../../base/errors.ts';
import { isDirectory } from '../../../base/files/directories.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { dayOf } from '../../../base/time.ts';
import { countWaiting } from '../../../memory/dream/proposals.ts';
import type { BreakerState } from '../../../memory/home/breaker.ts';
import type { Spend } from '../../../memory/home/day-spend.ts';
import { checkoutRoot, projectMemoryDir } from '../../../memory/home/paths.ts';
import { countDispositions } from '../../../memory/ledger/coverage.ts';
import {
  countLearned,
  countStates,
  type LearnedEntry,
  learnedSince,
  outboxRows,
} from '../../../memory/ledger/entries.ts';
import { type FailureRow, type WorkRows, workRowsOf } from '../../../memory/ledger/inbox.ts';
import { lastJobs, lastSuccessAt } from '../../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { formatTooLarge } from '../../../memory/store/apply.ts';
import { type MemoryReader, oversized } from '../../../memory/store/live-files.ts';
import { type SnapshotOffer, sayOffer } from '../../../memory/text/memory-snapshot.ts';
import { isTopicPath } from '../../../memory/text/topic.ts';
import type { App } from '../../compose.ts';
import { type Fact, factsOfHome, factsOfMemory, type Need, type Whose } from '../../doctor/facts.ts';
import { memoryDirIfTold } from '../../places.ts';
import { dreamHolds, fullSince, nextNightly } from '../../worker/hold.ts';
import { eachLedger, knownWork } from '../../worker/known-work.ts';
import { whoseMemory, withReader } from './looking.ts';

const MOST_LEARNED = 12;

/** What sessions taught a directory since an instant. */
export interface Learned {
  store: string;
  whose: Whose;
  count: number;
  /** The newest 12, the newest first. */
  entries: LearnedEntry[];
}

/** `here`: the directory that is told of elsewhere, so that what is of it alone is not said twice. */
export async function readOverview(
  app: App,
  { here, since = new Date(0).toISOString() }: { here?: string; since?: string } = {},
) {
  const { config } = app;
  const all = {
    directories: 0,
    lastSuccessAt: null as string | null,
    pending: 0,
    /** What waits longest. */
    oldestPending: null as { store: string; kind: string; key: string; notBefore: string } | null,
    /** Failures that wait for another try or were given up, by class. */
    failures: {} as Record<string, number>,
    /** What was given up, and stays listed until someone retries or dismisses it. */
    failed: [] as (Pick<FailureRow, 'kind' | 'key' | 'code' | 'at' | 'message'> & { store: string; class: string })[],
    /** What dreams proposed and waits for a person. */
    proposals: 0,
    /** None: nobody is needed. */
    needs: [] as Need[],
    learned: [] as Learned[],
  };
  const needed = new Map<string, { count: number; message: string }>();
  const facts: Fact[] = [];
  const look = async (ledger: Ledger, store: string, work: WorkRows) => {
    all.directories += 1;
    const whose = whoseMemory({ dir: store, ledger }, config);
    const count = countLearned(ledger, since);
    if (count > 0) all.learned.push({ store, whose, count, entries: learnedSince(ledger, since, MOST_LEARNED) });
    all.proposals += countWaiting(ledger);
    if (store !== here) facts.push(...(await factsOfMemory({ ledger, whose }, app)));
    const success = lastSuccessAt(ledger);
    if (success && success > (all.lastSuccessAt ?? '')) all.lastSuccessAt = success;
    for (const { kind, key, item, failure } of await knownWork(work)) {
      if (item) {
        all.pending += 1;
        if (!all.oldestPending || item.notBefore < all.oldestPending.notBefore) {
          all.oldestPending = { store, kind, key, notBefore: item.notBefore };
        }
      }
      if (!failure) continue;
      const rule = ruleOf(failure.code);
      all.failures[rule.class] = (all.failures[rule.class] ?? 0) + 1;
      const { code, at, message } = failure;
      if (failure.state === 'failed') all.failed.push({ store, kind, key, code, class: rule.class, at, message });
      else if (rule.needsPerson) needed.set(code, { count: (needed.get(code)?.count ?? 0) + 1, message });
    }
  };
  const unreadable = await eachLedger(app, { look });
  for (const { dir, message } of unreadable) {
    const command = whoseMemory({ dir, ledger: null }, config).command('nocturne check --repair');
    all.needs.push({ text: `${dir}: ${message}`, command });
  }
  const crossing = needsOf(await factsOfHome(app));
  const breaker = await app.home.breaker.read();
  for (const [code, { count, message }] of needed) {
    const text = `${sayCount(count, 'job')} ${count === 1 ? 'waits' : 'wait'}: ${message}`;
    // Else it is said of the model.
    if (breaker.state === 'closed' || code !== breaker.code)
      all.needs.push({ text, command: 'nocturne doctor', cause: message, code });
  }
  all.needs.push(...crossing);
  for (const [, [first, ...others]] of Map.groupBy(all.failed, ({ code, kind }) => `${code} ${kind}`)) {
    if (!first) continue;
    const what = first.kind === 'extract' ? sayCount(1 + others.length, 'session') : 'A dream';
    const text = `${what} could not be ${first.kind === 'extract' ? 'learned from' : 'done'}: ${first.message}`;
    all.needs.push({ text, command: 'nocturne retry --failed' });
  }
  return { ...all, needs: [...needsOf(facts), ...all.needs] };
}

function needsOf(facts: Fact[]): Need[] {
  return facts.flatMap(({ need }) => need ?? []);
}

export function sayBreaker({ state, failures, until, code, reason, skips }: BreakerState): string {
  if (state === 'closed') return failures === 0 ? 'closed' : `closed, ${failures} failures in a row`;
  const when = state === 'open' ? `tries again at ${until}` : 'one job tries now';
  return `the breaker is open after ${failures} failures in a row (${code}), ${when}; ${skips} turned away: ${reason}`;
}

export type Status = Awaited<ReturnType<typeof readStatus>>;

/** All that `nocturne status` tells of the directory that belongs to where one stands, and of all others; `isAll`: and of each store that is shared. */
export async function readStatus(app: App, { isAll = false } = {}) {
  const { config, home } = app;
  const cwd = process.cwd();
  const told = memoryDirIfTold(config, { cwd });
  // Its usual place is named then, and not looked into.
  const memory = told ?? projectMemoryDir(config.claudeDir, cwd);
  const { settings } = config.agentMemory;
  const said = settings.problem ? sayUnread(settings.problem) : UNTOLD;
  const untold: Need[] = told === null ? [{ text: said, command: 'nocturne doctor' }] : [];
  const now = config.clock.now();
  const day = dayOf(now, config.zone);
  // Asking for the status of a project makes no memory directory for it.
  const { kept, ...own } = await readKeptAt(app, told);
  const lookedAt = await home.lookedAt();
  const { needs: ofAll, learned, ...all } = await readOverview(app, { here: own.id, since: lookedAt ?? undefined });
  const needs = inOrder([...untold, ...own.needs, ...ofAll]);
  const { reservedMicroUsd, usedMicroUsd, ...tokens } = await home.days.spendOf(day);
  return {
    memory,
    standing: await app.standing({ cwd }),
    attention: needs.map(({ text }) => text),
    /** The same, each with the command that deals with it from here, and what may be dealt with. */
    needs: kept.snapshot
      ? [...needs, { text: `Memory snapshots: ${sayOffer(kept.snapshot)}`, command: 'nocturne snapshot check' }]
      : needs,
    /** When a person last looked at this, and what sessions have taught since. */
    lookedAt,
    learned,
    ...kept,
    all,
    breaker: await home.breaker.read(),
    spendToday: {
      day,
      ...tokens,
      ceilingTokens: config.dayTokens,
      usedUsd: usedMicroUsd / 1e6,
      reservedUsd: reservedMicroUsd / 1e6,
      ceilingUsd: config.dayMoneyUsd ?? null,
      ceilingPlanRequests: config.planRequests,
      /** Since when nothing more fits, and how often work was turned away for that. */
      fullFrom: await fullSince(app),
      skips: await home.days.skipsOf(day),
      /** What the settings of this machine say in vain. */
      overruled: app.overruled,
    },
    /** Of the month: what ceilings count, of requests under way and unfinished ones their upper bound. */
    spendMonth: totalOf(await home.days.since(`${day.slice(0, 7)}-01`)),
    nextDreamAt: nextNightly(config, await home.nightlyAt()).toISOString(),
    workers: await home.workers.all(),
    /** What all machines share, and the store that is told of here; null: all is on this one. */
    database: await readShared(app, { memory, isAll }),
  };
}

async function readShared({ keeping }: App, { memory, isAll }: { memory: string; isAll: boolean }) {
  const all = await keeping?.overview?.({ isAll });
  return all ? { ...all, memory: (await keeping?.findStore(memory))?.id ?? null } : null;
}

/** What failed for a cause that another tells of goes without saying; what is to be reviewed comes last. */
function inOrder(needs: Need[]): Need[] {
  const isTold = (need: Need) =>
    needs.some(({ cause, text }) =>
      cause === undefined ? text !== need.text && text.endsWith(need.text) : !need.cause && need.text.includes(cause),
    );
  const isReview = ({ command = '' }: Need) => Number(command.includes('nocturne review'));
  return needs.filter((need) => !isTold(need)).toSorted((a, b) => isReview(a) - isReview(b));
}

const UNTOLD = 'Where memory lives cannot be told: autoMemoryDirectory of the agent names no place that can be';

/** Until the agent's settings are mended: nobody knows where memory lives, or whether it is wanted. */
function sayUnread(problem: string): string {
  return `${problem.replace(/\.$/, '')}. Until it is mended nothing is learned here and nothing recalled; what waits is taken then`;
}

function totalOf(days: Spend[]) {
  return {
    tokens: days.reduce((sum, { usedTokens, reservedTokens }) => sum + usedTokens + reservedTokens, 0),
    usd: days.reduce((sum, { usedMicroUsd, reservedMicroUsd }) => sum + usedMicroUsd + reservedMicroUsd, 0) / 1e6,
  };
}

/** What cannot be read is named, and the rest told all the same. `id`: what the memory is called, where it is there. */
async function readKeptAt(app: App, memory: string | null): Promise<{ kept: Kept; id?: string; needs: Need[] }> {
  if (memory === null) return { kept: NOTHING_KEPT, needs: [] };
  const nothing = (): Kept => ({ ...NOTHING_KEPT, snapshot: snapshotHere(null) });
  const isKept = app.keeping ? await app.hasMemory() : isDirectory(join(memory, '.nocturne'));
  if (!isKept) return { kept: nothing(), needs: [] };
  const read = withReader(app, async (store) => {
    const { ledger, id } = store;
    const kept = await readKept(app, store);
    const facts = ledger
      ? await factsOfMemory({ ledger, whose: whoseMemory({ dir: id, ledger }, app.config) }, app)
      : [];
    const tooLarge = kept.oversized.map(
      ({ path, bytes }) => `${path} ${formatTooLarge(bytes)}: split it, or move it out`,
    );
    return { kept, id, needs: [...needsOf(facts), ...tooLarge.map((text) => ({ text, command: 'nocturne check' }))] };
  });
  const unread = async (error: AppError) => {
    const needs = [{ text: describeError(error), command: 'nocturne check --repair' }];
    return { kept: nothing(), needs };
  };
  return read.catch(onAppError(unread, 'storage'));
}

type Kept = Awaited<ReturnType<typeof readKept>>;

/** What the repository of the working tree one stands in hands on, and the memory never took in. */
function snapshotHere(ledger: Ledger | null): SnapshotOffer | null {
  const checkout = checkoutRoot(process.cwd());
  return checkout === null ? null : offeredSnapshot(checkout, ledger);
}

async function readKept(app: App, store: MemoryReader & { work?: WorkRows }) {
  const work = store.work ?? workRowsOf(store.ledger);
  const index = (await store.read('MEMORY.md')) ?? '';
  const paths = await store.list();
  return {
    entries: countStates(store.ledger),
    turns: countDispositions(store.ledger),
    /** Files that were gone or empty at once, and are not back. */
    missing: await store.missing(),
    /** What keeps dreams from running, or from coming to their end. */
    dreamHolds: await dreamHolds(app, store.ledger),
    topics: paths.filter(isTopicPath).length,
    /** Files that are too large to be read whole. */
    oversized: oversized(store.dir, paths),
    snapshot: snapshotHere(store.ledger),
    index: { lines: index.split('\n').length - 1, bytes: Buffer.byteLength(index) },
    waiting: (await work.items()).map(({ id: _, payload: __, ...item }) => item),
    /** Entries of which the user scope does not know yet what became of them. */
    outbox: outboxRows(store.ledger).length,
    /** Nightly dreams that a gate kept shut, by reason. */
    skipped: await work.skips(),
    lastJobs: lastJobs(store.ledger, 10),
  };
}

const NOTHING_KEPT: Kept = {
  entries: {},
  turns: {},
  missing: [],
  dreamHolds: [],
  topics: 0,
  oversized: [],
  snapshot: null,
  index: { lines: 0, bytes: 0 },
  waiting: [],
  outbox: 0,
  skipped: [],
  lastJobs: [],
};
