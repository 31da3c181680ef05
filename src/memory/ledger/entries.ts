// Entries in the ledger: what was recorded, in which state, and which topic lines rest on which entry.
// The daily log files are the truth of an entry's text; the ledger knows what became of it.
// Entries about the user are kept in the user scope: in the project's ledger they are `sent`, and its outbox names those of
// which the user scope may not know yet what became of them. The ledger itself puts them there (triggers in schema.ts),
// whoever changes the entry. The user scope's ledger knows which directory sent what. Delivering is jobs/deliver.ts's.
// Forgotten entries keep their row, so that the same statement is not learned again from the same source, however it is
// worded the next time. Another session may say it again.

import type { Day } from '../../base/time.ts';
import { fold } from '../text/blocks.ts';
import type { Entry } from '../types.ts';
import { jsonOf, type Ledger, type Transaction } from './ledger.ts';

/**
 * `new`: no dream has seen it. `held`: an implied habit that one session showed; its line, which is marked as seen once,
 * waits for corroboration. `distilled`: in a topic, or
 * dropped with a reason. `sent`: about the user, and kept in the user scope. `withdrawn`: no longer in the
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

const ENTRY = `id, session, turn, at, day, type, text, evidence, said_by as "by", strength, changes, again, prompt, job, state`;

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

export interface LearnedEntry {
  id: string;
  text: string;
  /** When the extraction that recorded it ended. */
  learnedAt: string;
}

const LEARNED = `from entry join job on job.id = entry.job
  where ended_at > ? and kind = 'extract' and state not in ('withdrawn', 'forgotten')`;

/** How many entries extractions recorded after an instant and still stand. */
export function countLearned(ledger: Ledger, at: string): number {
  return Number(ledger.lists(`select count(*) ${LEARNED}`, at)[0]?.[0] ?? 0);
}

/** The newest of them, the newest first. */
export function learnedSince(ledger: Ledger, at: string, limit: number): LearnedEntry[] {
  // Not in the order of ids, which are all over the table.
  const order = 'ended_at desc, at desc, +entry.id';
  return ledger.all(`select entry.id, text, ended_at as learnedAt ${LEARNED} order by ${order} limit ?`, at, limit);
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
    again: entry.again ?? null,
    prompt: entry.prompt,
    job: entry.job,
    state: entry.state,
  });
}

export function supportsOf(ledger: Ledger, path: string): Support[] {
  return ledger.all('select path, line, entry from support where path = ?', path);
}

/** What each line of a topic rests on: ids of entries, by the line's id. */
export function entriesByLine(ledger: Ledger, path: string): Map<string, string[]> {
  const byLine = new Map<string, string[]>();
  for (const { line, entry } of supportsOf(ledger, path)) byLine.set(line, [...(byLine.get(line) ?? []), entry]);
  return byLine;
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
type Source = Pick<Entry, 'id' | 'at' | 'session' | 'text' | 'strength'>;

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

/** The lines of `MEMORY.md` that nocturne generated; every other line there is someone's own. */
export function indexLines(ledger: Ledger): Set<string> {
  return new Set(ledger.all<{ line: string }>('select line from index_line').map(({ line }) => line));
}

export function writeIndexLines(transaction: Transaction, lines: string[]): void {
  const before = indexLines(transaction.ledger);
  const after = new Set(lines);
  for (const line of before) if (!after.has(line)) transaction.drop('index_line', { line });
  for (const line of after) if (!before.has(line)) transaction.put('index_line', { line });
}

type KeptEntry = Omit<EntryRow, 'changes' | 'again'> & { changes: string | null; again: string | null };

function entryOf({ changes, again, ...row }: KeptEntry): EntryRow {
  const more = { ...(changes !== null && { changes }), ...(again !== null && { again }) };
  return { ...row, evidence: jsonOf(row.evidence), ...more };
}

/** An entry to be looked at; `id` changes whenever something becomes of it once more. */
export interface OutboxRow {
  id: number;
  entry: string;
}

/** A memory directory that sent an entry. */
interface Sender {
  source: string;
  /** It says so still: it did not take the entry back. */
  stands: boolean;
}

export function outboxRows(ledger: Ledger): OutboxRow[] {
  return ledger.all('select id, entry from outbox order by id');
}

/** The user scope knows: takes the rows out, save those to which more happened meanwhile. */
export function finishOutboxRows(ledger: Ledger, rows: OutboxRow[]): void {
  ledger.transaction(() => {
    for (const { id } of rows) ledger.run('delete from outbox where id = ?', id);
  });
}

/** In the user scope's ledger: who sent an entry. */
export function sendersOf(ledger: Ledger, entry: string): Sender[] {
  return ledger
    .all<{ source: string; stands: number }>(
      'select source, stands from received where entry = ? order by source',
      entry,
    )
    .map(({ source, stands }) => ({ source, stands: stands === 1 }));
}

/** In the user scope's ledger: what a directory says of an entry now. */
export function noteSender(ledger: Ledger, { entry, source, stands }: Sender & { entry: string }): void {
  ledger.replace('received', { entry, source, stands: Number(stands) });
}

export interface Statement {
  session: string;
  text: string;
  /** When it was said. */
  at: string;
  /** What carries it. */
  message: string;
  quote: string;
}

/** Words in a row that two quotes of one message share where they are of one statement. */
const SHARED_RUN = 4;
/** The part of the shorter text's words that the other has too, where both say the same. */
const ALIKE = 0.75;

/**
 * Whether a person had this forgotten: it rests on the same words of the same message as a forgotten entry, or says the
 * same in the same session, in something said before the forgetting.
 */
export function isForgotten(ledger: Ledger, statement: Statement): boolean {
  const rows = ledger.all(
    `select entry.session, entry.text, evidence, created_at from entry left join job on job.id = entry.job
     where state = 'forgotten'`,
  );
  return rows.some((row) => {
    const [first] = jsonOf(row.evidence) as { message: string; quote: string }[];
    const isSameText = areAlike(row.text as string, statement.text);
    if (first?.message === statement.message) return isSameText || overlap(first.quote, statement.quote);
    const isSaidBefore = row.created_at === null || statement.at <= (row.created_at as string);
    return row.session === statement.session && statement.session !== '' && isSameText && isSaidBefore;
  });
}

/** Whether two quotes of one message are about the same words of it. */
function overlap(a: string, b: string): boolean {
  const [shorter, longer] = [wordsOf(a), wordsOf(b)].sort((x, y) => x.length - y.length) as [string[], string[]];
  const run = Math.min(SHARED_RUN, shorter.length);
  const known = new Set(longer.map((_, at) => longer.slice(at, at + run).join(' ')));
  return shorter.some((_, at) => at + run <= shorter.length && known.has(shorter.slice(at, at + run).join(' ')));
}

function areAlike(a: string, b: string): boolean {
  const [shorter, longer] = [new Set(wordsOf(a)), new Set(wordsOf(b))].sort((x, y) => x.size - y.size) as [
    Set<string>,
    Set<string>,
  ];
  const shared = [...shorter].filter((word) => longer.has(word)).length;
  return shorter.size > 0 && shared >= shorter.size * ALIKE;
}

function wordsOf(text: string): string[] {
  return (
    fold(text)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}
