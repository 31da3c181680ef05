// The pauses that a person made, of a project or of everything, for all who work unasked. One value of the database keeps them.

import { statNow } from '../base/files/files.ts';
import { type Db, keepSetting, type Sql, settingOf } from '../db/sql.ts';
import type { Pause } from '../memory/paths.ts';

/** Those that are not over, everything's first. */
export async function pausesOf(sql: Sql, now: Date): Promise<Pause[]> {
  const pauses: Pause[] = JSON.parse((await settingOf(sql, 'pauses')) ?? '[]');
  const at = now.toISOString();
  return pauses
    .filter(({ until }) => until === null || until > at)
    .sort((a, b) => Number(a.project !== null) - Number(b.project !== null));
}

/** Pauses, in place of what was said of the same project before; answers the pauses from then on. */
export function pause(db: Db, pause: Pause, now: Date): Promise<Pause[]> {
  const bornMs = pause.project === null ? undefined : statNow(pause.project)?.bornMs;
  return change(db, now, (pauses) => [
    ...pauses.filter(({ project }) => project !== pause.project),
    { ...pause, bornMs },
  ]);
}

/** Ends the pause of a project, or of everything; answers those that are left. */
export function endPause(db: Db, project: string | null, now: Date): Promise<Pause[]> {
  return change(db, now, (pauses) => pauses.filter((pause) => pause.project !== project));
}

function change(db: Db, now: Date, make: (pauses: Pause[]) => Pause[]): Promise<Pause[]> {
  return db.write(async (sql) => {
    // Others wait until this one is done.
    await sql.run(
      "insert into setting (key, value) values ('pauses', '[]') on conflict (key) do update set value = setting.value",
    );
    const pauses = make(await pausesOf(sql, now));
    await keepSetting(sql, 'pauses', JSON.stringify(pauses));
    return pauses;
  });
}
