// What the files tell a ledger that was lost, or that is older than they are (restored from a copy, or pulled from
// another machine): entries from the daily logs, what became of them from the dream reports, which topic lines rest on
// them, which index lines were generated.
// Promises: what the ledger knows stays as it is; an entry is imported once, and what a dream distilled is not new
// again; the turns of a session up to its newest imported entry count as covered, and nothing after it does.
// It changes no file.

import { join } from 'node:path';
import { statFile } from '../../base/files/files.ts';
import { assumeCovered } from '../ledger/coverage.ts';
import {
  addSupport,
  dropSupport,
  type EntryRow,
  type EntryState,
  entriesIn,
  entryRow,
  indexLines,
  type Support,
  supportsOf,
  writeEntry,
  writeIndexLines,
} from '../ledger/entries.ts';
import { committedAt, hasJob, rememberJob } from '../ledger/job-rows.ts';
import type { Ledger, Transaction } from '../ledger/ledger.ts';
import { missingIn, noteLostAnywhere } from '../ledger/version-rows.ts';
import type { By, Store } from '../store/store.ts';
import type { LogItem } from '../text/daily-log.ts';
import { parseJsonReport, type ReportRow, reportDay } from '../text/dream-report.ts';
import { indexLine } from '../text/index-file.ts';
import { isTopicFile, lineId, parseTopic, seenOnceOn } from '../text/topic.ts';
import { entryOfItem, historyPaths, logItemsOf, REPORTS, readLog, readLogItems, withoutRemains } from './log-items.ts';

/** Whether the ledger has taken in what the reports say of a dream. */
type IsKnownJob = (job: string) => boolean;

/** What the logs and reports hold. */
interface History {
  items: Map<string, LogItem>;
  /** Oldest first. */
  rows: (ReportRow & { day: string })[];
}

/** Rebuilds what is missing where a log or report is there that the ledger has not seen as it stands. */
export async function rebuildWhereBehind(store: Store): Promise<void> {
  for (const path of await historyPaths(store)) {
    const head = store.ledger.get('select size from version where id = (select head from memory where path = ?)', path);
    const stat = await statFile(join(store.dir, path));
    // The size tells: nocturne itself only adds to these files. The dream looks closer.
    if (stat && stat.sizeBytes !== head?.size) return rebuildFromFiles(store);
  }
}

/**
 * Tells the ledger what logs and reports know and it does not; costs no commit where there is nothing. Only the
 * `changed` ones (default: all) are looked into for something unknown.
 */
export async function rebuildFromFiles(store: Store, changed?: string[]): Promise<void> {
  const unreadable = new Set(missingIn(store.ledger));
  const paths = (await historyPaths(store)).filter((path) => !unreadable.has(path));
  const found = new Map<string, string>();
  for (const path of changed ?? paths) found.set(path, await readLog(store, path));
  if (!isBehind(store.ledger, historyOf(found, store.ledger))) return;

  const topics = new Map<string, string>();
  for (const path of await store.list()) if (isTopicFile(path)) topics.set(path, (await store.read(path)) ?? '');
  const index = (await store.read('MEMORY.md')) ?? '';
  const texts = new Map<string, string>();
  await store.commit({ actor: 'tool:rebuild' }, () => ({
    // Read once more under the lock: another process may have taken something back meanwhile.
    files: paths.map((path) => ({
      path,
      change(current) {
        texts.set(path, current ?? '');
        return current;
      },
    })),
    rows: (transaction) => takeInHistory(transaction, { texts, topics, index }),
  }));
}

/**
 * Writes into the ledger what logs and reports (`texts`, by path) know and it does not, with the topics (by path, in
 * the archive, too) and the index as they stand with them. `isAnew`: nothing of it stands any more, so that what the
 * ledger remembers of the same dreams counts for nothing.
 */
export function takeInHistory(
  transaction: Transaction,
  given: { texts: Map<string, string>; topics: Map<string, string>; index: string; isAnew?: boolean },
): void {
  const { texts, topics, index, isAnew = false } = given;
  const isKnown = (job: string) => !isAnew && hasJob(transaction.ledger, job);
  const history = historyOf(texts, transaction.ledger);
  importEntries(transaction, { history, isKnown });
  importSupports(transaction, { history, topics, isKnown });
  recogniseIndexLines(transaction, { index, topics });
  const now = committedAt(transaction);
  for (const row of history.rows) rememberJob(transaction.ledger, { id: row.job, kind: 'dream', day: row.day, now });
}

function historyOf(texts: Map<string, string>, ledger: Ledger): History {
  const rows = [...texts].flatMap(([path, text]) => {
    const day = path.startsWith(`${REPORTS}/`) ? reportDay(path.slice(REPORTS.length + 1)) : null;
    const told = (day && parseJsonReport(text)) || [];
    // What was only proposed changed nothing: its entries are new.
    return told.flatMap((row) => (day && row.op !== 'propose' ? { ...row, day } : []));
  });
  return { items: withoutRemains(logItemsOf(texts), ledger), rows };
}

function isBehind(ledger: Ledger, { items, rows }: History): boolean {
  const isUnknown = (item: LogItem) => item.kind === 'own' && !entryRow(ledger, item.id);
  return [...items.values()].some(isUnknown) || rows.some((row) => !hasJob(ledger, row.job));
}

/** A line of a person's is imported only where a dream has read it; else the next dream takes it in. */
function importEntries(
  transaction: Transaction,
  { history: { items, rows }, isKnown }: { history: History; isKnown: IsKnownJob },
): void {
  const { ledger } = transaction;
  const last = new Map(rows.map((row) => [row.entry, row]));
  for (const item of items.values()) {
    const before = entryRow(ledger, item.id);
    const row = last.get(item.id);
    const state = stateAfter(row, item.text);
    if (before === undefined && (item.kind === 'own' || row)) {
      const entry = { ...entryOfItem(item, undefined, ledger), state };
      writeEntry(transaction, entry);
      if (entry.session !== '' && entry.turn !== '') assumeCovered(transaction, entry);
    } else if (before && before.state !== 'forgotten' && row && !isKnown(row.job) && state !== 'new') {
      writeEntry(transaction, { ...entryOfItem(item, before, ledger), state });
    }
  }
}

/** What the last report row made of an entry. Text that no dream has read is new. */
function stateAfter(row: ReportRow | undefined, text: string): EntryState {
  if (!row || (row.said !== undefined && row.said !== lineId(text))) return 'new';
  return 'distilled';
}

/** What a line rests on is what the last dream that wrote it said, as far as the line still stands. */
function importSupports(
  transaction: Transaction,
  { history: { items, rows }, topics, isKnown }: { history: History; topics: Map<string, string>; isKnown: IsKnownJob },
): void {
  const { ledger } = transaction;
  const last = new Map(rows.map((row) => [row.entry, row]));
  const news = rows.filter((row) => !isKnown(row.job));
  for (const path of new Set(news.flatMap((row) => row.topic ?? []))) {
    const standing = new Map(parseTopic(path, topics.get(path) ?? '').lines.map(({ id, text }) => [id, text]));
    const writers = Map.groupBy(
      rows.filter((row) => row.topic === path).flatMap((row) => row.lines.map((line) => ({ line, row }))),
      ({ line }) => line,
    );
    for (const support of supportsOf(ledger, path)) {
      const writer = writers.get(support.line)?.at(-1)?.row.job;
      const isOutdated = writer !== undefined && !isKnown(writer);
      if (isOutdated || !standing.has(support.line)) dropSupport(transaction, support);
    }
    for (const [line, written] of writers) {
      const job = written.at(-1)?.row.job ?? '';
      if (!standing.has(line) || isKnown(job)) continue;
      for (const { row } of written.filter((each) => each.row.job === job)) {
        // An entry that is in no log any more and whose last row names no line was withdrawn then.
        if (!items.has(row.entry) && last.get(row.entry)?.lines.length === 0) continue;
        addSupport(transaction, { path, line, entry: row.entry });
        const known = entryRow(ledger, row.entry);
        // What its mark says was seen once waits for corroboration.
        if (known?.state === 'distilled' && seenOnceOn(standing.get(line) ?? '')) {
          writeEntry(transaction, { ...known, state: 'held' });
        }
        if (known) continue;
        writeEntry(transaction, missingEntry(row));
        noteLostAnywhere(ledger, { entry: row.entry, at: `${row.day}T12:00:00.000Z` });
      }
    }
  }
}

/** An entry that lines rest on and no log holds: known by its id. Nobody knows which log it was lost with. */
function missingEntry({ entry, job, day }: ReportRow & { day: string }): EntryRow {
  return {
    id: entry,
    type: 'project',
    strength: 'stated',
    text: '',
    evidence: [],
    by: '',
    session: '',
    turn: '',
    at: `${day}T12:00:00.000Z`,
    day,
    prompt: '',
    job,
    state: 'distilled',
  };
}

/** A line that the index would have for a topic is taken for generated; every other is its writer's. */
function recogniseIndexLines(
  transaction: Transaction,
  { index, topics }: { index: string; topics: Map<string, string> },
): void {
  const known = indexLines(transaction.ledger);
  const generated = new Set([...topics].map(([path, text]) => indexLine(parseTopic(path, text))));
  const lines = index.split(/\r?\n/).filter((line) => known.has(line) || generated.has(line));
  writeIndexLines(transaction, lines);
}

/** Takes up the entries that are back in these logs; costs no commit where there are none. */
export async function takeUpReturned(store: Store, by: By, logs: string[]): Promise<void> {
  const withdrawn = logs.length === 0 ? [] : entriesIn(store.ledger, 'withdrawn');
  if (withdrawn.length === 0) return;
  const items = await readLogItems(store, logs);
  const returned = withdrawn.filter((row) => items.get(row.id)?.text === row.text);
  const found: { row: EntryRow; supports: Support[] }[] = [];
  for (const row of returned) {
    const supports: Support[] = [];
    for (const support of formerSupports(store.ledger, row.id)) {
      const { lines } = parseTopic(support.path, (await store.read(support.path)) ?? '');
      if (lines.some(({ id }) => id === support.line)) supports.push(support);
    }
    if (supports.length > 0) found.push({ row, supports });
  }
  if (found.length === 0) return;
  await store.commit(by, () => ({
    files: [],
    rows(transaction) {
      for (const { row, supports } of found) {
        writeEntry(transaction, { ...row, state: 'distilled' });
        for (const support of supports) addSupport(transaction, support);
      }
    },
  }));
}

/** The lines that rested on an entry until a commit took that away. */
function formerSupports(ledger: Ledger, entry: string): Support[] {
  return ledger
    .all(
      `select distinct json_extract(key, '$[0]') as path, json_extract(key, '$[1]') as line from undo
       where tbl = 'support' and before is not null and json_extract(key, '$[2]') = ?`,
      entry,
    )
    .map(({ path, line }) => ({ path: path as string, line: line as string, entry }));
}
