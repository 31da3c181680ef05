// Daily logs that were lost: gone, empty, cut off or unreadable. That is no person's word about the lines in them.
// Promises: the entries that a lost log held are remembered here and keep their state, also where the log is begun
// anew, until it holds them again or a person takes the loss as meant.

import { isUtf8 } from 'node:buffer';
import { logDay, parseLog } from '../text/daily-log.ts';
import { entriesOfDay, isInLog } from './entries.ts';
import type { Ledger } from './ledger.ts';
import { type Content, headAt } from './version-rows.ts';

/** Why what stands where a log was is not a log that somebody edited, as the end of a sentence; null where it may be. */
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
export function lostLogs(ledger: Ledger): string[] {
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
  const isGone = isMissing(ledger, path);
  const sql = `select lost_entry.entry from lost_entry join entry on entry.id = lost_entry.entry
    where path = ? and state not in ('sent', 'withdrawn', 'forgotten') and (path <> ? or text = '')`;
  const rows = ledger.all<{ entry: string }>(sql, path, SOME_LOG);
  return rows.flatMap(({ entry }) => (isGone || !standing.has(entry) ? entry : []));
}

function isMissing(ledger: Ledger, path: string): boolean {
  return ledger.get('select 1 from memory where path = ? and missing_since is not null', path) !== undefined;
}

function idsIn(path: string, content: Content): Set<string> {
  return new Set(parseLog(content?.toString() ?? '', logDay(path) ?? '').map(({ id }) => id));
}
