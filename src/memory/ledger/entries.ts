// Entries in the ledger: what was recorded, in which state, and which topic lines rest on which entry.
// The daily log files are the truth of an entry's text; the ledger knows what became of it.

import type { Day } from '../../base/time.ts';
import type { Entry } from '../types.ts';
import { jsonOf, type Ledger, type Transaction } from './ledger.ts';

/**
 * `new`: no dream has seen it. `held`: an implied habit that one session showed; its line, which is marked as seen once,
 * waits for a second witness. `distilled`: in a topic, or
 * dropped with a reason. `sent`: about the user, and kept in the user scope (outbox.ts). `withdrawn`: no longer in the
 * log. `forgotten`: never to be learned again.
 */
export type EntryState = 'new' | 'held' | 'distilled' | 'sent' | 'withdrawn' | 'forgotten';

/** Whether an entry in this state should stand in a log of its directory. */
export function isInLog({ state }: { state: EntryState }): boolean {
  return state !== 'sent' && state !== 'withdrawn' && state !== 'forgotten';
}

export interface EntryRow extends Entry {
  state: EntryState;
  job: string;
}

/** A topic line (by the first eight hex digits of its hash) rests on an entry. */
export interface Support {
  path: string;
  line: string;
  entry: string;
}

const ENTRY = `id, session, turn, at, day, type, text, evidence, said_by as "by", strength, changes, prompt, job, state`;

export function entryRow(ledger: Ledger, id: string): EntryRow | undefined {
  const row = ledger.get<KeptEntry>(`select ${ENTRY} from entry where id = ?`, id);
  return row && entryOf(row);
}

export function allEntries(ledger: Ledger): EntryRow[] {
  return ledger.all<KeptEntry>(`select ${ENTRY} from entry order by at, id`).map(entryOf);
}

/** How many entries are in each state. */
export function countStates(ledger: Ledger): Partial<Record<EntryState, number>> {
  return Object.fromEntries(ledger.lists('select state, count(*) from entry group by state order by min(rowid)'));
}

export function entriesOfDay(ledger: Ledger, day: Day): EntryRow[] {
  return ledger.all<KeptEntry>(`select ${ENTRY} from entry where day = ? order by at, id`, day).map(entryOf);
}

/** The days whose logs should hold an entry. */
export function daysWithEntries(ledger: Ledger): Day[] {
  const sql = "select distinct day from entry where state not in ('sent', 'withdrawn', 'forgotten')";
  return ledger.all<{ day: Day }>(sql).map(({ day }) => day);
}

export function entriesIn(ledger: Ledger, state: EntryState): EntryRow[] {
  return ledger.all<KeptEntry>(`select ${ENTRY} from entry where state = ? order by at, id`, state).map(entryOf);
}

export function entriesOfSession(ledger: Ledger, session: string): EntryRow[] {
  return ledger.all<KeptEntry>(`select ${ENTRY} from entry where session = ? order by at, id`, session).map(entryOf);
}

/** The entries said after an instant. */
export function entriesSince(ledger: Ledger, at: string): EntryRow[] {
  return ledger.all<KeptEntry>(`select ${ENTRY} from entry where at > ? order by at, id`, at).map(entryOf);
}

/** The entries of exactly this text. */
export function entriesSaying(ledger: Ledger, text: string): EntryRow[] {
  return ledger.all<KeptEntry>(`select ${ENTRY} from entry where text = ? order by at, id`, text).map(entryOf);
}

export function writeEntry(transaction: Transaction, entry: EntryRow): void {
  transaction.put('entry', {
    id: entry.id,
    session: entry.session,
    turn: entry.turn,
    at: entry.at,
    day: entry.day,
    type: entry.type,
    text: entry.text,
    evidence: JSON.stringify(entry.evidence),
    said_by: entry.by,
    strength: entry.strength,
    changes: entry.changes ?? null,
    prompt: entry.prompt,
    job: entry.job,
    state: entry.state,
  });
}

export function supportsOf(ledger: Ledger, path: string): Support[] {
  return ledger.all('select path, line, entry from support where path = ?', path);
}

export function allSupports(ledger: Ledger): Support[] {
  return ledger.all('select path, line, entry from support');
}

export function supportsByEntry(ledger: Ledger, entry: string): Support[] {
  return ledger.all('select path, line, entry from support where entry = ?', entry);
}

export function addSupport(transaction: Transaction, support: Support): void {
  transaction.put('support', { ...support });
}

export function dropSupport(transaction: Transaction, support: Support): void {
  transaction.drop('support', { ...support });
}

/** What an entry is as the source of a line. */
export type Source = Pick<Entry, 'id' | 'at' | 'session' | 'text' | 'strength'>;

/** What the entries with these ids are as sources of a line; those that are not known are left out. */
export function sourcesOf(ledger: Ledger, ids: string[]): Source[] {
  const sql = 'select id, at, session, text, strength from entry where id = ?';
  return ids.flatMap((id) => ledger.get<Source>(sql, id) ?? []);
}

/** Takes what the lines of a topic rest on along to its new name. */
export function moveSupports(transaction: Transaction, { from, to }: { from: string; to: string }): void {
  for (const support of supportsOf(transaction.ledger, from)) {
    dropSupport(transaction, support);
    addSupport(transaction, { ...support, path: to });
  }
}

/** The lines of `MEMORY.md` that nocturne generated; every other line there is somebody's own. */
export function indexLines(ledger: Ledger): Set<string> {
  return new Set(ledger.all<{ line: string }>('select line from index_line').map(({ line }) => line));
}

export function writeIndexLines(transaction: Transaction, lines: string[]): void {
  const before = indexLines(transaction.ledger);
  const after = new Set(lines);
  for (const line of before) if (!after.has(line)) transaction.drop('index_line', { line });
  for (const line of after) if (!before.has(line)) transaction.put('index_line', { line });
}

type KeptEntry = Omit<EntryRow, 'changes'> & { changes: string | null };

function entryOf({ changes, ...row }: KeptEntry): EntryRow {
  return { ...row, evidence: jsonOf(row.evidence), ...(changes !== null && { changes }) };
}
