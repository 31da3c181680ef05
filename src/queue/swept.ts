// What a machine knows of sessions on its disk that a sweep looked at: why nothing waits of them, as long as their files stay as
// they are; and what settings or permissions keep closed (`blocked`), which is looked at again until it is open.
// It saves reading; losing it costs one sweep.

import { type Db, keepSetting, type Sql, settingOf } from '../db/sql.ts';

export interface Look {
  path: string;
  size: number;
  modifiedAt: string;
  verdict: string;
  cwd: string | null;
  /** Where its memory is, or would be; null: that does not matter. */
  dir: string | null;
  /** Of what is blocked: why, and since when. */
  reason?: string;
  since?: string;
  /** What its hook said that decides for it. */
  environment?: Record<string, string | undefined>;
}

const keyOf = (machine: string) => `swept ${machine}`;

export async function looksOf(sql: Sql, machine: string): Promise<Map<string, Look>> {
  const looks: Look[] = JSON.parse((await settingOf(sql, keyOf(machine))) ?? '[]');
  return new Map(looks.map((look) => [look.path, look]));
}

/** What its hook said that decides for a session, be it nothing; undefined: no hook told of it. */
export async function environmentOf(sql: Sql, machine: string, path: string): Promise<Look['environment']> {
  return (await looksOf(sql, machine)).get(path)?.environment;
}

/** What is kept of a session for the next sweep, and for who learns it by hand: what its hook's environment decides. */
export function unseen(path: string | null, environment: Look['environment']): Look[] {
  if (path === null || environment === undefined) return [];
  return [{ path, size: -1, modifiedAt: '', verdict: 'unseen', cwd: null, dir: null, environment }];
}

/** Keeps these looks in place of those of the same paths, and forgets `gone`. */
export async function keepLooks(
  db: Db,
  machine: string,
  { looks = [], gone = [] }: { looks?: readonly Look[]; gone?: Iterable<string> },
): Promise<void> {
  await db.write(async (sql) => {
    const known = await looksOf(sql, machine);
    const before = JSON.stringify([...known.values()]);
    for (const path of gone) known.delete(path);
    for (const look of looks) known.set(look.path, look);
    const after = JSON.stringify([...known.values()]);
    if (after !== before) await keepSetting(sql, keyOf(machine), after);
  });
}

/** What a sweep knew of it counts no more; what its hook's environment decides still does. */
export async function seeAnew(db: Db, machine: string, path: string): Promise<void> {
  const look = (await looksOf(db, machine)).get(path);
  if (look) await keepLooks(db, machine, { gone: [path], looks: unseen(path, look.environment) });
}

/** What is closed, and why. */
export async function blockedOf(sql: Sql, machine: string): Promise<Look[]> {
  return [...(await looksOf(sql, machine)).values()].filter(({ verdict }) => verdict === 'blocked');
}
