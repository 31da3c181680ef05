// A home whose database is damaged: the file is kept aside, a new one is made, and what can still be read is taken over.
// Promises: of processes that find it at once one mends it; what today's spend was counts as all there is where it cannot
// be read, and everything unasked is paused where the pauses cannot; what happened is noted in the new one.

import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { isAppError } from '../../base/errors.ts';
import { makeDirectory, moveFile, readTextNow, removeFile, writeNew } from '../../base/files/files.ts';
import { isDead, type ProcessName, thisProcess } from '../../base/process.ts';
import { isDamagedFile } from '../ledger/database.ts';
import { makeTablesOfWings, openDatabase, requireSound, salvageRows } from '../ledger/opening.ts';
import { HOME_STEPS } from '../ledger/schema.ts';

const TABLES = ['store', 'spend', 'pause', 'breaker', 'nightly', 'look', 'reservation', 'blocked', 'declined'];
const MOST_TRIES = 1_000;
const BETWEEN_TRIES_MS = 10;

export interface HomeFile {
  path: string;
  ifDamaged: string;
  now: Date;
  today: string;
}

/** @internal Opens the database of a home; a damaged one is made anew. */
export function openSoundHome(file: HomeFile): Database.Database {
  try {
    return openSound(file);
  } catch (error) {
    if (!isDamagedFile(error)) throw error;
    return alone(`${file.path}.mending`, () => openOrMend(file));
  }
}

function openSound({ path, ifDamaged }: HomeFile): Database.Database {
  const db = openDatabase(path, { steps: HOME_STEPS, ifDamaged });
  try {
    requireSound(db, { steps: HOME_STEPS, ifDamaged });
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function openOrMend(file: HomeFile): Database.Database {
  try {
    return openSound(file);
  } catch (error) {
    if (!isDamagedFile(error)) throw error;
  }
  const { path, now, today } = file;
  const kept = `${path}.broken-${now.toISOString().replaceAll(':', '-')}`;
  for (const end of ['-shm', '-wal', '']) moveFile(path + end, kept + end);
  const db = openDatabase(path, { steps: HOME_STEPS, ifDamaged: file.ifDamaged });
  db.transaction(() => {
    const lacking = salvageRows(kept, db, [...TABLES, ...makeTablesOfWings(kept, db)]);
    if (lacking.has('spend')) {
      db.prepare(
        `insert into spend (day, reserved, used, calls, full_from, unreadable) values (?, 0, 0, 0, ?, 1)
           on conflict (day) do update set unreadable = 1, full_from = excluded.full_from`,
      ).run(today, now.toISOString());
    }
    if (lacking.has('pause')) {
      db.prepare("insert or replace into pause (project, until, at, assumed) values ('', null, ?, 1)").run(
        now.toISOString(),
      );
    }
    db.prepare('insert or replace into damage (id, at, kept, looked, lost) values (1, ?, ?, 0, ?)').run(
      now.toISOString(),
      kept,
      [...lacking].join(' '),
    );
  }).immediate();
  return db;
}

/** Runs `work` while no other process does. */
function alone<T>(lock: string, work: () => T): T {
  makeDirectory(dirname(lock));
  for (let tries = MOST_TRIES; ; tries -= 1) {
    try {
      writeNew(lock, thisProcess());
      break;
    } catch (error) {
      if (!isAppError(error) || (error.cause as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const owner = readTextNow(lock);
      if (tries === 0 || (owner && isDead(owner as ProcessName))) removeFile(lock);
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BETWEEN_TRIES_MS);
    }
  }
  try {
    return work();
  } finally {
    removeFile(lock);
  }
}
