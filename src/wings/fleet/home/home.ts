// The home that several machines share.

import type { Clock } from '../../../base/time.ts';
import { Home } from '../../../memory/home/home.ts';
import { PostgresHome } from './database.ts';

/** The home at a database's URL; `dir`: the directory of this machine. Nothing is reached before it is asked something. */
export function fleetHome(url: string, { dir, clock, zone }: { dir: string; clock: Clock; zone: string }): Home {
  return new Home(dir, { database: new PostgresHome(url), clock, zone });
}
