// The home that the settings name: of this machine, or where a wing keeps it.

import type { Config } from '../base/config/config.ts';
import { Home, openHome } from '../memory/home/home.ts';
import { type Keeping, keepingOf } from './wing.ts';

/** For doors that work without an app; to be closed. */
export function openHomeOf(config: Config): { home: Home } & Pick<Keeping, 'shared' | 'close'> {
  const keeping = keepingOf(config);
  const home = homeOf(config, { keeping });
  return { home, shared: keeping?.shared ?? null, close: () => (keeping ?? home).close() };
}

/** `look`: see `openHome`. */
export function homeOf(
  { home: dir, clock, zone }: Config,
  { keeping, look }: { keeping: Keeping | null; look?: () => string[] },
): Home {
  if (keeping) return new Home(dir, { database: keeping.homeDatabase, clock, zone });
  return openHome(dir, clock, zone, look);
}
