// What nocturne status and nocturne alone tell: what is kept where one stands, what goes on everywhere, what was spent,
// and what needs a person. Asking makes no memory directory; what cannot be read is named, and the rest told all the same.

import { join } from 'node:path';
import { describeError, isAppError } from '../../../base/errors.ts';
import { isDirectory } from '../../../base/files/directories.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { dayOf } from '../../../base/time.ts';
import type { Spend } from '../../../memory/home/day-spend.ts';
import { checkoutRoot, projectMemoryDir } from '../../../memory/home/paths.ts';
import { countDispositions } from '../../../memory/ledger/coverage.ts';
import { countStates, outboxRows } from '../../../memory/ledger/entries.ts';
import { inboxItems, skips } from '../../../memory/ledger/inbox.ts';
import { lastJobs } from '../../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { formatTooLarge } from '../../../memory/store/apply.ts';
import { formatMissing, IF_MISSING } from '../../../memory/store/external-edits.ts';
import { type MemoryReader, oversized } from '../../../memory/store/live-files.ts';
import { isTopicPath } from '../../../memory/text/topic.ts';
import type { App } from '../../compose.ts';
import { memoryDirIfTold } from '../../places.ts';
import { wings } from '../../wing.ts';
import { dreamHolds } from '../../worker/hold.ts';
import { nextNightly } from '../../worker/nightly.ts';
import { holdNeed, type Need, readOverview } from './overview.ts';
import { withReader } from './reader.ts';

export type Status = Awaited<ReturnType<typeof readStatus>>;

/** All that `nocturne status` tells of the directory that belongs to where one stands, and of all others. */
export async function readStatus(app: App) {
  const { config, home } = app;
  const cwd = process.cwd();
  const told = memoryDirIfTold(config, { cwd });
  // Its usual place is named then, and not looked into.
  const memory = told ?? projectMemoryDir(config.claudeDir, cwd);
  const { settings } = config.agentMemory;
  const problem = settings.problem ?? 'autoMemoryDirectory of the agent names no place that can be';
  const untold = told === null ? [`Where memory lives cannot be told: ${problem}`] : [];
  const now = config.clock.now();
  const day = dayOf(now, config.zone);
  // Asking for the status of a project makes no memory directory for it.
  const { kept, trouble } = await readKeptAt(app, told);
  const lookedAt = home.lookedAt();
  const { attention, needs, learned, ...all } = await readOverview(app, { here: memory, since: lookedAt ?? undefined });
  const { reservedMicroUsd, usedMicroUsd, ...tokens } = home.days.spendOf(day);
  const missing = formatMissing(kept.missing).flatMap(({ what, keepsDreams }) =>
    keepsDreams ? [] : `${what}; ${IF_MISSING}`,
  );
  const tooLarge = kept.oversized.map(
    ({ path, bytes }) => `${path} ${formatTooLarge(bytes)}: split it, or move it out`,
  );
  const holds = kept.dreamHolds.filter(({ needsPerson }) => needsPerson);
  return {
    memory,
    standing: app.standing({ cwd: process.cwd() }),
    attention: [
      ...untold,
      ...trouble,
      ...missing,
      ...tooLarge,
      ...holds.map(({ why }) => `no dream: ${why}`),
      ...attention,
    ],
    /** The same as sentences, each with the command that deals with it from here. */
    needs: onceEach([
      ...untold.map(
        (text): Need => ({ text: settings.problem ? sayUnread(settings.problem) : text, command: 'nocturne doctor' }),
      ),
      ...trouble
        .filter((text) => !needs.some((need) => need.text.endsWith(text)))
        .map((text): Need => ({ text, command: 'nocturne check --repair' })),
      ...missing.map((text): Need => ({ text, command: 'nocturne dream --accept-missing' })),
      ...tooLarge.map((text): Need => ({ text, command: 'nocturne check' })),
      ...holds.map((hold) => holdNeed(hold)),
      ...needs,
      ...kept.addedNeeds,
    ]),
    /** When a person last looked at this, and what sessions have taught since. */
    lookedAt,
    learned,
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
    /** Of the month: what ceilings count, of requests under way and unfinished ones their upper bound. */
    spendMonth: totalOf(home.days.since(`${day.slice(0, 7)}-01`)),
    nextDreamAt: nextNightly(config, home).toISOString(),
    workers: home.workers(),
  };
}

/** What failed for a cause that another tells of goes without saying. */
function onceEach(needs: Need[]): Need[] {
  const isTold = (need: Need) =>
    needs.some(({ cause }) => cause !== undefined && need.cause === undefined && need.text.includes(cause));
  return needs.filter((need) => !isTold(need));
}

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

/** What cannot be read is named, and the rest told all the same. */
async function readKeptAt(app: App, memory: string | null): Promise<{ kept: Kept; trouble: string[] }> {
  if (memory === null) return { kept: { ...NOTHING_KEPT, added: {}, addedLines: [], addedNeeds: [] }, trouble: [] };
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
  const found = await Promise.all(wings().map((wing) => wing.status?.(at) ?? { values: {}, lines: [], needs: [] }));
  const left = ledger?.tablesWithoutWing() ?? [];
  const added: Record<string, unknown> = Object.assign({ withoutWing: left }, ...found.map(({ values }) => values));
  const rows = left.map(
    (each) => `kept       ${sayCount(each.rows, 'row')} in ${each.table}, of the wing ${each.wing}, which is not there`,
  );
  return {
    added,
    addedLines: [...found.flatMap(({ lines }) => lines), ...rows],
    addedNeeds: found.flatMap(({ needs = [] }) => needs),
  };
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
  addedNeeds: [],
  index: { lines: 0, bytes: 0 },
  waiting: [],
  outbox: 0,
  skipped: [],
  lastJobs: [],
};
