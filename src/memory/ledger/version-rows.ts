// What the ledger knows of the files: each is a memory with an id, a path and a head, its newest version.
// `previous` of a version is the one that stood on the disk before it, so that a head that is not on the disk yet says
// what to expect there. Bytes are kept as they were found. The functions belong inside the store's own transactions.
// A daily log that is gone, empty, cut off or unreadable is lost, which is no person's word about its lines: the entries
// that it held are remembered and keep their state, until a log holds them again or a person takes the loss as meant.

import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { AppError } from '../../base/errors.ts';
import { logDay, parseLog } from '../text/daily-log.ts';
import { entriesOfDay, isInLog } from './entries.ts';
import { type Ledger, newId } from './ledger.ts';

/**
 * Who makes a change: `job:<id>`, which may not touch what is pinned; `tool:<id>`; `person`, whom no limits bind.
 * `external` is for external edits, which did not come through the store.
 */
export type Actor = string;

/** What is in a file; null: no file. */
export type Content = Buffer | null;

export interface Version {
  id: string;
  memory: string;
  path: string;
  previous: string | null;
  content: Content;
  /** SHA-256 of the content, in hex. */
  sha: string | null;
  actor: Actor;
}

interface NewVersion extends Omit<Version, 'id' | 'sha'> {
  commit: number;
  at: string;
}

/** Whether a crash left a commit whose files were not all brought to it. */
export function hasUnapplied(ledger: Ledger): boolean {
  return ledger.get('select 1 from "commit" where applied = 0 limit 1') !== undefined;
}

/** Begins a commit; `isApplied` where its versions are on the disk already. Answers its number. */
export function beginCommit(ledger: Ledger, commit: { actor: Actor; at: string; isApplied: boolean }): number {
  const { actor, at, isApplied } = commit;
  ledger.insert('commit', { actor, at, applied: Number(isApplied) });
  return ledger.get('select last_insert_rowid() as id')?.id as number;
}

/**
 * Adds a version and makes it the head of its memory, which is moved to the version's path. Answers its id. What came
 * from outside is looked into for what a merge left in it (resolve-merges.ts).
 */
export function addVersion(ledger: Ledger, version: NewVersion): string {
  const id = keepVersion(ledger, version);
  const { memory, path } = version;
  // A deleted memory gives up its path to one that moves there; its versions keep it.
  ledger.run('update memory set path = null where path = ? and id <> ?', path, memory);
  ledger.run(
    'update memory set head = ?, path = ?, created_at = coalesce(created_at, ?) where id = ?',
    id,
    path,
    version.at,
    memory,
  );
  if (version.actor === 'external') ledger.run('insert or ignore into unsettled (path) values (?)', path);
  return id;
}

/** Adds a version that never was the live file, in addition to the head. Answers its id. */
export function keepVersion(ledger: Ledger, version: NewVersion): string {
  const id = newId('memver');
  const { memory, commit, path, previous, content, actor, at } = version;
  const hadFile = previous !== null && versionOf(ledger, previous).sha !== null;
  const op = content === null ? 'deleted' : hadFile ? 'modified' : 'created';
  const size = content?.length ?? 0;
  ledger.insert('version', { id, memory, commit, op, path, previous, sha: shaOf(content), size, content, actor, at });
  return id;
}

/** The id of the memory at a path, or null where there never was one. */
export function memoryAt(ledger: Ledger, path: string): string | null {
  return ledger.get<{ id: string }>('select id from memory where path = ?', path)?.id ?? null;
}

export function newMemory(ledger: Ledger, path: string): string {
  const memory = newId('mem');
  ledger.insert('memory', { id: memory, path });
  return memory;
}

/** Tells that the live file holds `content`; how it looks is remembered when it is next read. */
export function markWritten(ledger: Ledger, memory: string, content: Content): void {
  ledger.run(
    'update memory set seen_bytes = ?, seen_modified = null, missing_since = null where id = ?',
    content?.length ?? null,
    memory,
  );
}

const VERSION =
  'version.id, version.memory, version.path, version.previous, version.content, version.sha, version.actor';

export function versionOf(ledger: Ledger, id: string): Version {
  const version = ledger.get<Version>(`select ${VERSION} from version where id = ?`, id);
  if (!version) throw new AppError('storage', `The ledger lacks version ${id}.`);
  return version;
}

/** A version with its bytes. */
export interface StoredVersion {
  id: string;
  path: string | null;
  sha: string | null;
  content: Buffer;
  at: string;
  actor: Actor;
}

/** So many versions are held at once. */
const VERSIONS_AT_ONCE = 100;

/** All that have a content, the oldest first. */
export function* storedVersions(ledger: Ledger): Generator<StoredVersion> {
  const sql = `select rowid as n, id, path, sha, content, at, actor from version
    where rowid > ? and content is not null order by rowid limit ${VERSIONS_AT_ONCE}`;
  for (let after: number | undefined = 0; after !== undefined; ) {
    const rows: (StoredVersion & { n: number })[] = ledger.all(sql, after);
    yield* rows;
    after = rows.at(-1)?.n;
  }
}

/** The external edits that were taken in since an instant, the oldest first, each with what stood there before. */
export function externalVersions(
  ledger: Ledger,
  since: string,
): { path: string; content: string; before: string; at: string }[] {
  const sql = `select version.path, version.content, was.content as before, "commit".at from "commit"
    join version on version."commit" = "commit".id left join version as was on was.id = version.previous
    where "commit".actor = 'external' and "commit".at >= ? and version.content is not null order by "commit".id`;
  const rows = ledger.all<{ path: string; content: Buffer; before: Content; at: string }>(sql, since);
  return rows.map((row) => ({ ...row, content: row.content.toString(), before: row.before?.toString() ?? '' }));
}

/** The head of the memory at a path; null where there is none. */
export function headAt(ledger: Ledger, path: string): Version | null {
  const memory = memoryAt(ledger, path);
  return memory === null ? null : headOf(ledger, memory);
}

/** The head of a memory, or null where it has none. */
export function headOf(ledger: Ledger, memory: string): Version | null {
  const sql = `select ${VERSION} from version join memory on head = version.id where memory.id = ?`;
  return ledger.get<Version>(sql, memory) ?? null;
}

/** A head whose file holds what it should, with exactly that as its content: the ledger's own copy may be damaged. */
export function healed(ledger: Ledger, head: Version, live: Content): Version {
  if (isSame(head.content, live)) return head;
  ledger.run('update version set content = ?, size = ? where id = ?', live, live?.length ?? 0, head.id);
  return { ...head, content: live };
}

/** Whether this content was ever a version of the memory. */
export function wasSeen(ledger: Ledger, memory: string, sha: string): boolean {
  return ledger.get('select 1 from version where memory = ? and sha = ?', memory, sha) !== undefined;
}

/** SHA-256 in hex; null for no file. */
export function shaOf<Given extends Content | string>(content: Given): Given extends null ? null : string;
export function shaOf(content: Content | string): string | null {
  return content === null ? null : hash('sha256', content);
}

/** Whether two contents are the same, where null is no file. */
export function isSame(a: Content, b: Content): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}

/** Why what stands where a log was is not a log that someone edited, as the end of a sentence; null where it may be. */
export function whyLost(content: Content, before: Content): string | null {
  if (!before || before.length === 0) return null;
  if (content === null) return 'is gone';
  if (content.length === 0) return 'is empty';
  if (content.includes(0)) return 'holds zero bytes';
  if (!isUtf8(content) && isUtf8(before)) return 'is not UTF-8 text';
  return isCutOff(content, before) ? 'ends in the middle of an entry' : null;
}

function isCutOff(content: Buffer, before: Buffer): boolean {
  if (content.length >= before.length || !before.subarray(0, content.length).equals(content)) return false;
  const day = '';
  const known = new Set(parseLog(before.toString(), day).map(({ id }) => id));
  const last = parseLog(content.toString(), day).at(-1);
  return last !== undefined && !known.has(last.id);
}

/** Remembers the entries that a lost log should hold and does not. */
export function noteLost(ledger: Ledger, { path, content, at }: { path: string; content: Content; at: string }): void {
  const standing = idsIn(path, content);
  for (const entry of entriesOfDay(ledger, logDay(path) ?? '')) {
    if (!isInLog(entry) || standing.has(entry.id)) continue;
    ledger.run('insert or ignore into lost_entry (entry, path, since) values (?, ?, ?)', entry.id, path, at);
  }
}

/** Stands for the log of an entry of which the ledger knows no day. */
const SOME_LOG = 'logs';

export function noteLostAnywhere(ledger: Ledger, { entry, at }: { entry: string; at: string }): void {
  ledger.run('insert or ignore into lost_entry (entry, path, since) values (?, ?, ?)', entry, SOME_LOG, at);
}

export function isLog(path: string): boolean {
  return path === SOME_LOG || logDay(path) !== null;
}

/** The logs that lack entries since they were lost, sorted. What stands in them again, or is wanted in none, is let go of. */
function lostLogs(ledger: Ledger): string[] {
  const paths = ledger.all<{ path: string }>('select distinct path from lost_entry order by path');
  return paths.map(({ path }) => path).filter((path) => lostIn(ledger, path).length > 0);
}

/** The ids of entries whose log was lost. */
export function lostIds(ledger: Ledger): Set<string> {
  return new Set(ledger.all<{ entry: string }>('select entry from lost_entry').map(({ entry }) => entry));
}

/** Lets go of what is in its log again; called where the ledger may be written. */
export function dropFoundAgain(ledger: Ledger): void {
  for (const { path } of ledger.all<{ path: string }>('select distinct path from lost_entry')) {
    const lost = new Set(lostIn(ledger, path));
    for (const { entry } of ledger.all<{ entry: string }>('select entry from lost_entry where path = ?', path)) {
      if (!lost.has(entry)) ledger.run('delete from lost_entry where entry = ?', entry);
    }
  }
}

/** A person says that the log was meant to go: its entries count as removed. */
export function acceptLost(ledger: Ledger, path: string): void {
  ledger.run('delete from lost_entry where path = ?', path);
  ledger.run('delete from history_look where path = ?', path);
}

/** The entries that a lost log should hold and does not. */
export function lostIn(ledger: Ledger, path: string): string[] {
  const standing = idsIn(path, headAt(ledger, path)?.content ?? null);
  const isGone = ledger.get('select 1 from memory where path = ? and missing_since is not null', path) !== undefined;
  const sql = `select lost_entry.entry from lost_entry join entry on entry.id = lost_entry.entry
    where path = ? and state not in ('sent', 'withdrawn', 'forgotten') and (path <> ? or text = '')`;
  const rows = ledger.all<{ entry: string }>(sql, path, SOME_LOG);
  return rows.flatMap(({ entry }) => (isGone || !standing.has(entry) ? entry : []));
}

function idsIn(path: string, content: Content): Set<string> {
  return new Set(parseLog(content?.toString() ?? '', logDay(path) ?? '').map(({ id }) => id));
}

/** The files that were gone or empty at once when the directory was last looked at, and the logs that were lost. */
export function missingIn(ledger: Ledger): string[] {
  const sql = 'select path from memory where missing_since is not null';
  const paths = ledger.all(sql).map((row) => row.path as string);
  return [...new Set([...paths, ...lostLogs(ledger)])].sort();
}
