// The night: when it is due, and what is put into the inbox then.
// Promises: of all processes one begins a night, in one transaction, so that who dies in it leaves it due, and after a downtime over
// many nights once for all of them; a dream that a person asked for stays as asked; a copy of the database is made before it (and
// each hour where clients keep stores), and what is older than it is kept is dropped.

import { Cron } from 'croner';
import type { Config } from '../base/config/config.ts';
import { AppError, describeError, onAppError } from '../base/errors.ts';
import { type Db, insert, type Sql, settingOf } from '../db/sql.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { isCheckedIn } from '../memory/paths.ts';
import { dropOld } from '../memory/versions.ts';
import { put } from '../queue/inbox.ts';
import type { App } from './compose.ts';

const HOUR_MS = 3_600_000;

/**
 * The instant of the night that follows `lastAt`, in the past where it is overdue. A time that a change of the clocks leaves out
 * or repeats comes once. Errors: `bad-input` for a pattern that never comes.
 */
export function nextNightly({ dreamCron, zone }: Pick<Config, 'dreamCron' | 'zone'>, lastAt: Date): Date {
  const unusable = (cause?: unknown) =>
    new AppError('bad-input', `No nightly dream can be planned from "${dreamCron}" in "${zone}".`, {
      remedy: 'Set dreamCron in config.json of the nocturne home to a cron pattern such as "30 3 * * *".',
      cause,
    });
  let next: Date | null;
  try {
    next = new Cron(dreamCron, { timezone: zone, paused: true }).nextRun(lastAt);
  } catch (cause) {
    throw unusable(cause);
  }
  if (!next) throw unusable();
  return next;
}

/** Begins the night where it is due, or where it `isAsked` for; answers whether it did. */
export async function nightIfDue(
  app: App,
  { isAsked = false, onError }: { isAsked?: boolean; onError(message: string): void },
): Promise<boolean> {
  const { db, clock, config } = app;
  const now = clock.now();
  const last = await lastNight(db, now);
  if (!isAsked && nextNightly(config, new Date(last)) > now) return false;
  const told = onAppError((error: AppError) => onError(describeError(error)));
  await backUpIfDue(app).catch(told);
  await dropOld(db, { ...config, now }).catch(told);
  const enabled: string[] = [];
  for (const memory of await nightlyMemories(db)) {
    // Two clones would both sort what stands in a log there, and what is shared was sorted already.
    const isTeams = isCheckedIn(memory.dir) && app.memoryDirOf() !== memory.dir;
    if (!isTeams && (await app.standingOf(memory)).enabled) enabled.push(memory.id);
  }
  return beginNight(db, { last, memories: enabled, now });
}

/** Copies the database where something was written since the last copy. PostgreSQL has its own ways. */
async function backUpIfDue({ db, config: { home, clock } }: App, madeBefore?: Date): Promise<void> {
  if (db.engine !== 'sqlite') return;
  const { backUp, isBackupDue } = await import('../db/backup.ts');
  if (isBackupDue(home, madeBefore)) await backUp(home, { now: clock.now() });
}

/** The same each hour where clients keep stores: what they write stands in no directory. */
export async function backUpHourly(app: App): Promise<void> {
  const store = await app.db.get("select 1 from memory where scope = 'store' and deleted_at is null limit 1");
  if (store) await backUpIfDue(app, new Date(app.clock.now().getTime() - HOUR_MS));
}

/** When the last night began; a database that had none begins with now, and so does one whose clock was ahead. */
async function lastNight(db: Db, now: Date): Promise<string> {
  const at = now.toISOString();
  const last = await settingOf(db, 'night');
  if (last !== undefined && last <= at) return last;
  if (db.trouble) return at;
  if (last !== undefined) await db.run("update setting set value = ? where key = 'night' and value > ?", at, at);
  else await insert(db, 'setting', [{ key: 'night', value: at }], 'on conflict (key) do nothing');
  return (await settingOf(db, 'night')) ?? at;
}

/** Memories that a night is about: not those of clients, who ask for their dreams. */
function nightlyMemories(sql: Sql): Promise<MemoryRow[]> {
  return sql.all<MemoryRow>(
    "select * from memory where scope <> 'store' and deleted_at is null and archived_at is null order by created_at, id",
  );
}

/** Puts a dream of each of these into the inbox, unless another process was faster since `last`; answers whether it did. */
async function beginNight(
  db: Db,
  { last, memories, now }: { last: string; memories: readonly string[]; now: Date },
): Promise<boolean> {
  return db.write(async (sql) => {
    const set = "update setting set value = ? where key = 'night' and value = ?";
    // In one instant there is one night, but what is asked for again is done again.
    if ((await sql.run(set, now.toISOString(), last)) === 0) return false;
    for (const memory of memories) {
      const waits = await sql.get("select 1 from inbox where kind = 'dream' and key = ?", memory);
      if (!waits) await put(sql, { kind: 'dream', key: memory, memory, payload: {}, notBefore: now }, now);
    }
    return true;
  });
}

/** When the next night comes; in the past where it is due. */
export async function nextNight({ db, config, clock }: App): Promise<Date> {
  return nextNightly(config, new Date(await lastNight(db, clock.now())));
}
