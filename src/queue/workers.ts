// The workers that are there, as they say of themselves, and the name that their queue has.
// Promises: who ended is not among them; of one that was killed or suspended its last sign of life tells.

import { hash } from 'node:crypto';
import { isDead, type ProcessName, thisProcess } from '../base/process.ts';
import { type Db, insert, newId, type Sql, settingOf } from '../db/sql.ts';

export type WorkerRow = { process: ProcessName; machine: string; started_at: string; seen_at: string };

/** Enters this process, or says that it is still there. */
export async function seeWorker(sql: Sql, { machine, now }: { machine: string; now: Date }): Promise<void> {
  const at = now.toISOString();
  const row = { process: thisProcess(), machine, started_at: at, seen_at: at };
  await insert(sql, 'worker', [row], 'on conflict (process) do update set seen_at = excluded.seen_at');
}

export async function leaveWorker(sql: Sql, process: ProcessName = thisProcess()): Promise<void> {
  await sql.run('delete from worker where process = ?', process);
}

/** The one that started last first; not those of this machine that are gone. */
export async function allWorkers(sql: Sql): Promise<WorkerRow[]> {
  const rows = await sql.all<WorkerRow>('select * from worker order by started_at desc, process');
  return rows.filter(({ process }) => !isDead(process));
}

/** Of a home, or of all that share a database: several may share one Redis. */
export async function queueNamespace(db: Db, home: string): Promise<string> {
  if (db.engine === 'sqlite') return `nocturne-${hash('sha256', home).slice(0, 8)}`;
  const made = { key: 'queue', value: newId('nocturne') };
  await insert(db, 'setting', [made], 'on conflict (key) do nothing');
  return (await settingOf(db, 'queue')) ?? made.value;
}
