// What a dream begins with: the daily logs as they stand, joined with the ledger by entry id. A line that a person
// changed, wrote or removed is taken at the person's word here; the mark of what was seen once goes from a line that a
// person made theirs.

import { endWaiting, isWithoutLine, withoutLateMarks } from '../../src/memory/dream/habits.ts';
import {
  dropProposal,
  type Proposal,
  putProposal,
  waitingProposals,
  whatChanged,
} from '../../src/memory/dream/proposals.ts';
import { entryOfItem, type HistoryLook, readLogItems } from '../../src/memory/history/log-items.ts';
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
import type { Lease } from '../../src/memory/ledger/leases.ts';
import { lostIds } from '../../src/memory/ledger/lost-logs.ts';
import { isPinned } from '../../src/memory/store/staging.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { logDay, logPath } from '../../src/memory/text/daily-log.ts';
import { parseTopic } from '../../src/memory/text/topic.ts';
import type { Place } from './commit.ts';

export interface Loaded {
  /** Entries that no topic rests on yet: new ones, and those a person wrote or changed. */
  fresh: EntryRow[];
  /** Habits that an older dream held back without a line. */
  held: EntryRow[];
  /** Entries that are no longer in the logs although topic lines rest on them. */
  withdrawn: EntryRow[];
  /** Proposals that went stale: those that still are the same change, pinned anew, and those that are none any more. */
  stale: { renewed: Proposal[]; outdated: Proposal[] };
  /** How many of the known entries are missing from the logs since the last look, of how many. */
  missing: number;
  known: number;
}

/** Whether so much is missing at once that it looks like an accident rather than an edit. */
export function isMassDeletion({ missing, known }: Pick<Loaded, 'missing' | 'known'>): boolean {
  return (missing >= 5 && missing * 4 > known) || (missing >= 3 && missing === known);
}

/**
 * Reads the logs and says what changed; writes nothing. With a look at what changed since the last time it reads that
 * alone, and all where an entry seems to be gone: it may stand in another log.
 */
export async function loadEntries(store: Store, history?: HistoryLook): Promise<Loaded & { changed: EntryRow[] }> {
  return leaveWaiting(store, (history && (await readPart(store, history))) ?? (await readWhole(store)));
}

/** Entries of a proposal that waits for a person are not asked about again, unless it is outdated. */
async function leaveWaiting(store: Store, found: Found): Promise<Loaded & { changed: EntryRow[] }> {
  const stale: Loaded['stale'] = { renewed: [], outdated: [] };
  const changed = new Map(found.changed.map((row) => [row.id, row]));
  const rowOf = (id: string) => changed.get(id) ?? entryRow(store.ledger, id);
  const waiting = new Set<string>();
  for (const proposal of waitingProposals(store.ledger)) {
    const isStale = (await whatChanged(store, proposal, rowOf)) !== null;
    // Loaded where it is needed: what reads topics for a model knows secrets by their rules.
    const renewed = isStale
      ? await (await import('../review/proposal-checks.ts')).renewProposal(store, proposal, { rowOf })
      : proposal;
    if (isStale && renewed) stale.renewed.push(renewed);
    if (!renewed) stale.outdated.push(proposal);
    for (const { id } of renewed?.entries ?? []) waiting.add(id);
  }
  const isFree = ({ id }: EntryRow) => !waiting.has(id);
  const open = found.fresh.filter(isFree);
  return {
    ...found,
    fresh: open.filter(({ state }) => state === 'new'),
    held: open.filter((row) => isWithoutLine(store.ledger, row)),
    withdrawn: found.withdrawn.filter(isFree),
    stale,
  };
}

type Found = Omit<Loaded, 'stale' | 'held'> & { changed: EntryRow[] };

async function readPart(store: Store, { changed, looks }: HistoryLook): Promise<Found | null> {
  const { ledger } = store;
  if (daysWithEntries(ledger).some((day) => !looks.has(logPath(day)))) return null;
  const paths = changed.filter(logDay);
  const days = new Set(paths.flatMap((path) => logDay(path) ?? []));
  const items = await readLogItems(store, paths);
  const known = new Map([...days].flatMap((day) => entriesOfDay(ledger, day)).map((row) => [row.id, row]));
  const lost = lostIds(ledger);
  const isGone = (row: EntryRow) => !items.has(row.id) && isInLog(row) && !lost.has(row.id);
  if ([...known.values()].some(isGone)) return null;
  const rowOf = (id: string) => known.get(id) ?? entryRow(ledger, id);
  const inLogs = [...items].map(([id, item]) => entryOfItem(item, rowOf(id)));
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
  const inLogs = new Map([...items].map(([id, item]) => [id, entryOfItem(item, known.get(id))]));
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

/** Tells the ledger what the logs say, and which proposals are outdated by that and by what the topics say. */
export async function commitLoaded(
  store: Store,
  { job, lease, changed, stale }: { job: string; lease: Lease; changed: EntryRow[]; stale: Loaded['stale'] },
): Promise<void> {
  if (changed.length + stale.renewed.length + stale.outdated.length === 0) return;
  await store.commit({ actor: `job:${job}`, lease }, () => ({
    files: [],
    rows: (transaction) => {
      for (const row of changed) writeEntry(transaction, row);
      for (const proposal of stale.renewed) putProposal(transaction, proposal);
      for (const { id } of stale.outdated) dropProposal(transaction, id);
    },
  }));
}

function isSame(row: EntryRow, known: EntryRow | undefined): boolean {
  return known !== undefined && known.text === row.text && known.state === row.state;
}

function byTime(a: EntryRow, b: EntryRow): number {
  return a.at.localeCompare(b.at) || a.id.localeCompare(b.id);
}

/** An entry whose marked line is no longer what nocturne wrote, and the topics in which it stood. */
export interface LateMark {
  entry: string;
  paths: string[];
}

export async function lateMarks(store: Store): Promise<LateMark[]> {
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

export async function commitLateMarks(
  marks: LateMark[],
  { store, clock, job, lease }: Place & { job: string; lease: Lease },
): Promise<void> {
  await store.commit({ actor: `job:${job}`, lease }, (ledger) => ({
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
