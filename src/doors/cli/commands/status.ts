// status: what is kept, what waits, what failed, what was spent, who works; and whether a person is needed.

import { join } from 'node:path';
import { describeError, isAppError } from '../../../base/errors.ts';
import { isDirectory } from '../../../base/files/directories.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { dayOf } from '../../../base/time.ts';
import { checkoutRoot } from '../../../memory/home/paths.ts';
import { countDispositions } from '../../../memory/ledger/coverage.ts';
import { countStates, outboxRows } from '../../../memory/ledger/entries.ts';
import { inboxItems, skips } from '../../../memory/ledger/inbox.ts';
import { lastJobs } from '../../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { formatTooLarge } from '../../../memory/store/apply.ts';
import { formatMissing, IF_MISSING } from '../../../memory/store/external-edits.ts';
import type { MemoryReader } from '../../../memory/store/live-files.ts';
import { oversized } from '../../../memory/store/live-files.ts';
import { isTopicPath } from '../../../memory/text/topic.ts';
import type { App } from '../../compose.ts';
import { wings } from '../../wing.ts';
import { dreamHolds } from '../../worker/hold.ts';
import { nextNightly } from '../../worker/nightly.ts';
import type { CommandSpec } from '../spec.ts';
import { type CommonOptions, MEMORY, withApp } from '../terminal/options.ts';
import { EXIT, print } from '../terminal/output.ts';
import { readOverview, sayBreaker } from '../terminal/overview.ts';
import { withReader } from '../terminal/reader.ts';

const status: CommandSpec<CommonOptions> = {
  name: 'status',
  about: 'what is kept, what waits, what failed, what was spent',
  group: 'Jobs and numbers',
  options: MEMORY,
  json: '{ memory, standing, attention, entries, turns, missing, dreamHolds, topics, oversized, index, snapshot, waiting, batch, withoutWing, outbox, skipped, lastJobs, all, breaker, spendToday, nextDreamAt, workers }',
  more: 'Exit code 3 where something needs a person: a key, a budget, an open breaker, work that was given up, missing files, proposed changes that wait.',
  examples: ['status --json'],
  run: (call) =>
    withApp(call, async (app) => {
      const found = await readStatus(app);
      const { added, addedLines: _, ...own } = found;
      print(call.options.json ? JSON.stringify({ ...own, ...added }) : describe(found));
      if (found.attention.length > 0) process.exitCode = EXIT.attention;
    }),
};

async function readStatus(app: App) {
  const { config, home } = app;
  const memory = app.memoryDirOf({ cwd: process.cwd() });
  const now = config.clock.now();
  const day = dayOf(now, config.zone);
  // Asking for the status of a project makes no memory directory for it.
  const { kept, trouble } = await readKeptAt(app, memory);
  const { attention, ...all } = await readOverview(app);
  const { reservedMicroUsd, usedMicroUsd, ...tokens } = home.days.spendOf(day);
  return {
    memory,
    standing: app.standing({ cwd: process.cwd() }),
    attention: [
      ...trouble,
      ...formatMissing(kept.missing).flatMap(({ what, keepsDreams }) => (keepsDreams ? [] : `${what}; ${IF_MISSING}`)),
      ...kept.oversized.map(({ path, bytes }) => `${path} ${formatTooLarge(bytes)}: split it, or move it out`),
      ...kept.dreamHolds.flatMap(({ why, needsPerson }) => (needsPerson ? `no dream: ${why}` : [])),
      ...attention,
    ],
    ...kept,
    all,
    breaker: home.breaker.read(),
    spendToday: {
      day,
      ...tokens,
      ceilingTokens: config.dayTokens,
      usedUsd: usedMicroUsd / 1e6,
      reservedUsd: reservedMicroUsd / 1e6,
      ceilingUsd: config.dayMoneyUsd ?? null,
      /** Since when nothing more fits, and how often work was turned away for that. */
      fullFrom: home.days.fullFrom(day),
      skips: home.days.skipsOf(day),
    },
    nextDreamAt: nextNightly(config, home).toISOString(),
    workers: home.workers(),
  };
}

/** What cannot be read is named, and the rest told all the same. */
async function readKeptAt(app: App, memory: string): Promise<{ kept: Kept; trouble: string[] }> {
  const nothing = async (): Promise<Kept> => ({ ...NOTHING_KEPT, ...(await askWings(memory, null)) });
  if (!isDirectory(join(memory, '.nocturne'))) return { kept: await nothing(), trouble: [] };
  try {
    return { kept: await withReader(app, (store) => readKept(app, store)), trouble: [] };
  } catch (error) {
    if (!isAppError(error, 'storage')) throw error;
    return { kept: await nothing(), trouble: [describeError(error)] };
  }
}

type Kept = Awaited<ReturnType<typeof readKept>>;

/** What the wings add: keys of the JSON with their values, and lines that say them. */
async function askWings(dir: string, ledger: Ledger | null) {
  const at = { dir, ledger, checkout: checkoutRoot(process.cwd()) };
  const found = await Promise.all(wings().map((wing) => wing.status?.(at) ?? { values: {}, lines: [] }));
  const left = ledger?.tablesWithoutWing() ?? [];
  const added: Record<string, unknown> = Object.assign({ withoutWing: left }, ...found.map(({ values }) => values));
  const rows = left.map(
    (each) => `kept       ${sayCount(each.rows, 'row')} in ${each.table}, of the wing ${each.wing}, which is not there`,
  );
  return { added, addedLines: [...found.flatMap(({ lines }) => lines), ...rows] };
}

async function readKept(app: App, store: MemoryReader) {
  const index = (await store.read('MEMORY.md')) ?? '';
  const paths = await store.list();
  return {
    entries: countStates(store.ledger),
    turns: countDispositions(store.ledger),
    /** Files that were gone or empty at once, and are not back. */
    missing: await store.missing(),
    /** What keeps dreams from running, or from coming to their end. */
    dreamHolds: dreamHolds(app, store.ledger),
    topics: paths.filter(isTopicPath).length,
    /** Files that are too large to be read whole. */
    oversized: oversized(store.dir, paths),
    ...(await askWings(store.dir, store.ledger)),
    index: { lines: index.split('\n').length - 1, bytes: Buffer.byteLength(index) },
    waiting: inboxItems(store.ledger).map(({ id: _, payload: __, ...item }) => item),
    /** Entries of which the user scope does not know yet what became of them. */
    outbox: outboxRows(store.ledger).length,
    /** Nightly dreams that a gate kept shut, by reason. */
    skipped: skips(store.ledger),
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
  added: {},
  addedLines: [],
  index: { lines: 0, bytes: 0 },
  waiting: [],
  outbox: 0,
  skipped: [],
  lastJobs: [],
};

type Status = Awaited<ReturnType<typeof readStatus>>;

function describe(status: Status): string {
  const { all, spendToday: spend } = status;
  const jobs = status.lastJobs.map(
    (job) =>
      `  ${job.createdAt} ${job.id} ${job.kind} ${job.outcome ?? job.status}${job.error ? `: ${job.error}` : ''}`,
  );
  const waiting = status.waiting.map(
    (item) => `  ${item.kind} ${item.key} from ${item.notBefore}${item.failure ? `: ${item.failure}` : ''}`,
  );
  const oldest = all.oldestPending;
  const usd = (amount: number) => `$${amount.toFixed(4)}`;
  const full = spend.fullFrom ? `; full since ${spend.fullFrom}, ${spend.skips} turned away` : '';
  return [
    ...status.attention.map((reason) => `attention  ${reason}`),
    `memory     ${status.memory}`,
    ...(status.standing.enabled ? [] : [`off        nothing is done unasked here: ${status.standing.reason}`]),
    `entries    ${sayCounts(status.entries)}`,
    `turns      ${sayCounts(status.turns)}`,
    `topics     ${status.topics}; index ${sayCount(status.index.lines, 'line')}, ${sayCount(status.index.bytes, 'byte')}`,
    ...status.addedLines,
    `spend      ${spend.usedTokens} tokens used today, ${spend.reservedTokens} reserved, of ${spend.ceilingTokens}; ${sayCount(spend.calls, 'call')}${full}`,
    `money      ${usd(spend.usedUsd)} used today, ${usd(spend.reservedUsd)} reserved, of ${spend.ceilingUsd === null ? 'no limit' : usd(spend.ceilingUsd)}`,
    `breaker    ${sayBreaker(status.breaker)}`,
    `workers    ${status.workers.map((worker) => `${worker.process} (${worker.backend})`).join(', ') || 'none'}`,
    `success    ${all.lastSuccessAt ?? 'none yet'}`,
    `dream      next at ${status.nextDreamAt}`,
    ...status.dreamHolds.map(({ why }) => `held back  ${why}`),
    `pending    ${all.pending} in ${sayCount(all.directories, 'directory')}${oldest ? `, the oldest from ${oldest.notBefore}: ${oldest.kind} ${oldest.key}` : ''}`,
    `proposals  ${all.proposals} ${all.proposals === 1 ? 'waits' : 'wait'} for your word`,
    `failures   ${sayCounts(all.failures)}`,
    ...all.failed.map(({ at, kind, key, code, message }) => `  ${at} ${kind} ${key} given up, ${code}: ${message}`),
    ...status.skipped.map(
      ({ kind, reason, times, at }) => `skipped    ${kind}: ${reason}, ${sayCount(times, 'time')}, last ${at}`,
    ),
    `waiting    ${status.waiting.length} here`,
    ...waiting,
    ...(status.outbox > 0 ? [`outbox     ${status.outbox} for the user scope; the next worker delivers them`] : []),
    `jobs       ${status.lastJobs.length === 0 ? 'none yet' : 'newest first'}`,
    ...jobs,
  ].join('\n');
}

function sayCounts(counts: Record<string, number>): string {
  return (
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ') || 'none'
  );
}

export const commands: CommandSpec[] = [status];
