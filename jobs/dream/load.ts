// What a dream begins with: the daily logs as they stand, joined with the ledger by entry id. A line that a person
// changed, wrote or removed is taken at the person's word here; the mark of what was seen once goes from a line that a
// person made theirs.

import { AppError } from '../../src/base/errors.ts';
import type { Clock, Day } from '../../src/base/time.ts';
import { endWaiting, isWithoutLine, resting, waitedInVain, withoutLateMarks } from '../../src/memory/dream/habits.ts';
import { entryOfItem, type HistoryStats, readLogItems, statHistory } from '../../src/memory/history/log-items.ts';
import { rebuildFromFiles, takeUpReturned } from '../../src/memory/history/rebuild.ts';
import {
  allEntries,
  daysWithEntries,
  type EntryRow,
  entriesIn,
  entriesOfDay,
  entryRow,
  isInLog,
  supportsByEntry,
  supportsOf,
  writeEntry,
} from '../../src/memory/ledger/entries.ts';
import type { Lease } from '../../src/memory/ledger/job-rows.ts';
import { lostIds } from '../../src/memory/ledger/version-rows.ts';

import { formatMissing } from '../../src/memory/store/missing-files.ts';
import { isPinned } from '../../src/memory/store/staging.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { logDay, logPath } from '../../src/memory/text/daily-log.ts';

import { parseTopic } from '../../src/memory/text/topic.ts';
import { type Pending, pendingProposals } from './approval.ts';

/** What the logs and the ledger say together. */
interface Entries {
  /** Rows that the ledger does not have so. */
  changed: EntryRow[];
  /** Entries that no topic rests on yet: new ones, and those that a person wrote or changed. */
  fresh: EntryRow[];
  /** Entries that are no longer in the logs although topic lines rest on them. */
  withdrawn: EntryRow[];
  /** How many of the known entries are missing from the logs since the last look, of how many. */
  missing: number;
  known: number;
  /** What waits for approval. */
  pending: Pending;
}

/** What a dream begins with. */
export interface Loaded extends Entries {
  history: HistoryStats;
  marks: LateMark[];
  /** There is something to work into the topics. */
  hasNews: boolean;
  /** There is nothing to write down either. */
  isIdle: boolean;
}

interface LoadDeps {
  store: Store;
  clock: Clock;
  holdDays: number;
}

/**
 * Tells the ledger what files from elsewhere know and it does not, then reads what is new. Throws `refused` where so much
 * is missing that it looks like an accident, unless that is accepted (true: all; else the logs of these days).
 */
export async function loadEntries(
  { store, clock, holdDays }: LoadDeps,
  { acceptMissing, lease }: { acceptMissing?: boolean | Day[]; lease: Lease },
): Promise<Loaded> {
  if (acceptMissing)
    await store.acceptMissing(acceptMissing === true ? undefined : new Set(acceptMissing.map(logPath)));
  const refusal = formatMissing(await store.missing()).find(({ keepsDreams }) => keepsDreams);
  if (refusal) throw missingError(`${refusal.what}.`, 'files');
  const history = await statHistory(store);
  await rebuildFromFiles(store, history.changed);
  await takeUpReturned(store, { actor: 'tool:rebuild', lease }, history.changed.filter(logDay));
  const entries = await readEntries(store, history);
  if (isMassDeletion(entries) && !acceptMissing) {
    throw missingError(
      `${entries.missing} of ${entries.known} entries are missing from the logs at once.`,
      'log files',
    );
  }
  const rested = resting(store.ledger, clock.now());
  const isTonight = ({ id }: EntryRow) => !rested.has(id);
  const [fresh, withdrawn] = [entries.fresh.filter(isTonight), entries.withdrawn.filter(isTonight)];
  const inVain = waitedInVain(store.ledger, { now: clock.now(), holdDays });
  const hasNews = fresh.length + withdrawn.length + inVain.length > 0;
  const marks = await lateMarks(store);
  const isIdle = entries.changed.length + marks.length === 0 && !entries.pending.isStale && !hasNews;
  return { ...entries, fresh, withdrawn, history, marks, hasNews, isIdle };
}

function missingError(what: string, files: string): AppError {
  return new AppError('refused', what, {
    remedy: `Put the ${files} back, or run nocturne dream --accept-missing if they were removed on purpose.`,
  });
}

/** Whether so much is missing at once that it looks like an accident rather than an edit. */
function isMassDeletion({ missing, known }: Entries): boolean {
  return (missing >= 5 && missing * 4 > known) || (missing >= 3 && missing === known);
}

/**
 * Reads the logs and says what changed; writes nothing. With a look at what changed since the last time it reads that
 * alone, and all where an entry seems to be gone: it may stand in another log. What waits for approval is left out.
 */
export async function readEntries(store: Store, history?: HistoryStats): Promise<Entries> {
  const found = (history && (await readPart(store, history))) ?? (await readWhole(store));
  const changed = new Map(found.changed.map((row) => [row.id, row]));
  const pending = await pendingProposals(store, (id) => changed.get(id) ?? entryRow(store.ledger, id));
  const isFree = ({ id }: EntryRow) => !pending.entries.has(id);
  const open = found.fresh.filter(isFree);
  return {
    ...found,
    fresh: open.filter((row) => row.state === 'new' || isWithoutLine(store.ledger, row)),
    withdrawn: found.withdrawn.filter(isFree),
    pending,
  };
}

/** What a dream tonight would be about: entries that are new, changed or gone, without what waits. */
export async function newsOf(store: Store): Promise<Set<string>> {
  const { fresh, changed, withdrawn } = await readEntries(store);
  return new Set([...fresh, ...changed, ...withdrawn].map((entry) => entry.id));
}

type Found = Omit<Entries, 'pending'>;

async function readPart(store: Store, { changed, stats }: HistoryStats): Promise<Found | null> {
  const { ledger } = store;
  if (daysWithEntries(ledger).some((day) => !stats.has(logPath(day)))) return null;
  const paths = changed.filter(logDay);
  const days = new Set(paths.flatMap((path) => logDay(path) ?? []));
  const items = await readLogItems(store, paths);
  const known = new Map([...days].flatMap((day) => entriesOfDay(ledger, day)).map((row) => [row.id, row]));
  const lost = lostIds(ledger);
  const isGone = (row: EntryRow) => !items.has(row.id) && isInLog(row) && !lost.has(row.id);
  if ([...known.values()].some(isGone)) return null;
  const rowOf = (id: string) => known.get(id) ?? entryRow(ledger, id);
  const inLogs = [...items].map(([id, item]) => entryOfItem(item, rowOf(id), ledger));
  const elsewhere = (row: EntryRow) => !items.has(row.id);
  const isWaiting = (row: EntryRow) => row.state === 'new' || row.state === 'held';
  const waiting = [...entriesIn(ledger, 'new'), ...entriesIn(ledger, 'held')].filter(elsewhere);
  const withdrawn = entriesIn(ledger, 'withdrawn').filter(elsewhere);
  return {
    changed: inLogs.filter((row) => !isSame(row, rowOf(row.id))),
    fresh: [...inLogs.filter(isWaiting), ...waiting].sort(byTime),
    withdrawn: withdrawn.filter((row) => supportsByEntry(ledger, row.id).length > 0),
    missing: 0,
    known: 0,
  };
}

async function readWhole(store: Store): Promise<Found> {
  const known = new Map(allEntries(store.ledger).map((row) => [row.id, row]));
  const items = await readLogItems(store);
  const inLogs = new Map([...items].map(([id, item]) => [id, entryOfItem(item, known.get(id), store.ledger)]));
  const changed = [...inLogs.values()].filter((row) => !isSame(row, known.get(row.id)));
  // What was in a log that is lost was not removed by anybody.
  const lost = lostIds(store.ledger);
  const isGone = (row: EntryRow) =>
    !inLogs.has(row.id) && (isInLog(row) ? !lost.has(row.id) : row.state === 'withdrawn');
  const gone = [...known.values()].filter(isGone);
  const missing = gone.filter(isInLog);
  changed.push(...missing.map((row): EntryRow => ({ ...row, state: 'withdrawn' })));
  const still = [...lost].flatMap((id) => (inLogs.has(id) ? [] : (known.get(id) ?? [])));
  return {
    changed,
    fresh: [...inLogs.values(), ...still].filter((row) => row.state === 'new' || row.state === 'held').sort(byTime),
    withdrawn: gone.filter((row) => supportsByEntry(store.ledger, row.id).length > 0).sort(byTime),
    missing: missing.length,
    known: [...known.values()].filter(isInLog).length,
  };
}

/** Tells the ledger what was read, and takes marks from lines that a person made theirs. */
export async function commitLoaded(
  { changed, pending, marks }: Loaded,
  { store, clock, job, lease }: LoadDeps & { job: string; lease: Lease },
): Promise<void> {
  const by = { actor: `job:${job}` as const, lease };
  if (changed.length > 0 || pending.isStale) {
    await store.commit(by, () => ({
      files: [],
      rows(transaction) {
        for (const row of changed) writeEntry(transaction, row);
        pending.write(transaction);
      },
    }));
  }
  if (marks.length === 0) return;
  await store.commit(by, (ledger) => ({
    files: [...new Set(marks.flatMap(({ paths }) => paths))].map((path) => ({
      path,
      change(current) {
        if (current === null || isPinned({ path, text: current })) return current;
        const supported = new Set(supportsOf(ledger, path).map(({ line }) => line));
        return withoutLateMarks(current, supported) ?? current;
      },
    })),
    rows: (transaction) =>
      endWaiting(
        transaction,
        marks.map(({ entry }) => entry),
        clock.now(),
      ),
  }));
}

function isSame(row: EntryRow, known: EntryRow | undefined): boolean {
  return known !== undefined && known.text === row.text && known.state === row.state;
}

function byTime(a: EntryRow, b: EntryRow): number {
  return a.at.localeCompare(b.at) || a.id.localeCompare(b.id);
}

/** An entry whose marked line is no longer what nocturne wrote, and the topics in which it stood. */
interface LateMark {
  entry: string;
  paths: string[];
}

async function lateMarks(store: Store): Promise<LateMark[]> {
  const lines = new Map<string, Set<string>>();
  const late: LateMark[] = [];
  for (const { id: entry } of entriesIn(store.ledger, 'held')) {
    const supports = supportsByEntry(store.ledger, entry);
    for (const { path } of supports) {
      if (lines.has(path)) continue;
      const text = (await store.read(path)) ?? '';
      lines.set(path, new Set(parseTopic(path, text).lines.map(({ id }) => id)));
    }
    const stands = supports.some(({ path, line }) => lines.get(path)?.has(line));
    if (supports.length > 0 && !stands) late.push({ entry, paths: supports.map(({ path }) => path) });
  }
  return late;
}
