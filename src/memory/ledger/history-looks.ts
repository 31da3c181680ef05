// Which logs and reports changed since a dream read them all: by size and times, as the ledger remembers them. With it a
// dream of a year's memory reads the files of a few days.

import { join } from 'node:path';
import { lookNow } from '../../base/files/files.ts';
import type { Day } from '../../base/time.ts';
import type { Store } from '../store/store.ts';
import { logPath } from '../text/daily-log.ts';
import type { Ledger } from './ledger.ts';
import { historyPaths } from './rebuild.ts';

export interface HistoryLook {
  /** Logs and reports that changed, came or went. */
  changed: string[];
  /** How each file looks now, by path. */
  looks: Map<string, string>;
}

export async function lookAtHistory({ dir, ledger }: Pick<Store, 'dir' | 'ledger'>): Promise<HistoryLook> {
  const seen = seenLooks(ledger);
  const looks = new Map<string, string>();
  for (const path of await historyPaths({ dir })) {
    const look = lookOf(dir, path);
    if (look !== null) looks.set(path, look);
  }
  const changed = [...new Set([...seen.keys(), ...looks.keys()])].filter((path) => seen.get(path) !== looks.get(path));
  return { changed, looks };
}

/** Those of these files that look as they did when a dream read them. */
export function unchangedSince(ledger: Ledger, { dir, paths }: { dir: string; paths: string[] }): Set<string> {
  const seen = seenLooks(ledger);
  return new Set(paths.filter((path) => seen.has(path) && seen.get(path) === lookOf(dir, path)));
}

function seenLooks(ledger: Ledger): Map<string, string> {
  return new Map(ledger.lists('select path, look from history_look') as [string, string][]);
}

function lookOf(dir: string, path: string): string | null {
  const look = lookNow(join(dir, path));
  return look?.isFile ? `${look.bytes} ${look.modifiedMs} ${look.changedMs}` : null;
}

/** Says that the dream has read what looked like this. */
export function rememberHistory({ ledger }: Store, { changed, looks }: HistoryLook): void {
  if (changed.length === 0) return;
  ledger.transaction(() => {
    for (const path of changed) {
      const look = looks.get(path);
      if (look === undefined) ledger.run('delete from history_look where path = ?', path);
      else ledger.run('insert or replace into history_look (path, look) values (?, ?)', path, look);
    }
  });
}

/** The next dream reads this day's log again: of its entries the ledger may no longer know what the log says. */
export function forgetLook(ledger: Ledger, day: Day): void {
  ledger.run('delete from history_look where path = ?', logPath(day));
}
