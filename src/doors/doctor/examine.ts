// All that `nocturne doctor` looks at, in the order in which a person would mend it. Looking makes nothing: where there
// is no home yet, what would be in it is not asked.

import { join } from 'node:path';
import type { Config } from '../../base/config/config.ts';
import { isAppError } from '../../base/errors.ts';
import { statNow } from '../../base/files/files.ts';
import { formatUnreadSpend } from '../../memory/home/day-spend.ts';
import { formatDamage, type Home, openHome } from '../../memory/home/home.ts';
import { checkoutRoot } from '../../memory/home/paths.ts';
import { enablementFor, memoryDirIfTold } from '../places.ts';
import { type Checked, fail, warn } from './checked.ts';
import {
  checkAgentSettings,
  checkBlocked,
  checkEnablement,
  checkHome,
  checkHooks,
  checkKey,
  checkModel,
  checkNight,
  checkNode,
  checkQueue,
  checkSchedule,
  checkSpool,
  checkWorker,
} from './checks.ts';
import { checkMemoryDirectory, checkWings } from './memory.ts';

/** `isOnline`: ask the model, too. */
export async function examine(config: Config, at: { cwd: string; isOnline: boolean }): Promise<Checked[]> {
  const { home, trouble } = lookIntoHome(config);
  const own = memoryDirIfTold(config, { cwd: at.cwd });
  try {
    return [
      ...checkNode(),
      ...checkHome(config),
      ...trouble,
      ...checkNight(config),
      ...checkHooks(config),
      ...checkAgentSettings(config),
      ...(home ? checkEnablement(enablementFor(config, { pauses: home.pauses.all(), cwd: at.cwd })) : []),
      ...(await checkKey(config)),
      ...(home && at.isOnline ? await checkModel(config, home) : []),
      ...(await checkQueue(config)),
      ...(home ? [...checkWorker(config, home), ...(await checkSchedule(config, home))] : []),
      ...(await checkSpool(config)),
      ...(home ? checkBlocked(home) : []),
      ...memoryDirectories({ own, home }).flatMap((dir) =>
        checkMemoryDirectory(dir, home ? { config, home } : undefined),
      ),
      ...(own === null ? [] : await checkWings(own, checkoutRoot(at.cwd))),
    ];
  } finally {
    home?.close();
  }
}

/** What crosses directories: null where nothing is kept of it yet, or where it cannot be opened. */
function lookIntoHome({ home: dir, clock, zone }: Config): { home: Home | null; trouble: Checked[] } {
  if (statNow(join(dir, 'home.db')) === null) return { home: null, trouble: [] };
  try {
    const home = openHome(dir, clock, zone);
    const damage = home.damage();
    const seen = 'Look whether its directories and pauses are as they should be, then run nocturne pause --off.';
    const unread = home.days.unreadDay();
    const known = 'Look at what the account has used today, then run nocturne retry --failed.';
    const trouble = damage ? [warn('home', formatDamage(damage), seen)] : [];
    return { home, trouble: unread ? [...trouble, warn('spend', formatUnreadSpend(unread), known)] : trouble };
  } catch (error) {
    if (!isAppError(error)) throw error;
    return { home: null, trouble: [fail('home', error.message, error.remedy ?? 'Mend it.')] };
  }
}

/** That of the project one stands in, and all that are known. */
function memoryDirectories({ own, home }: { own: string | null; home: Home | null }): string[] {
  return [...new Set([...(own === null ? [] : [own]), ...(home?.stores() ?? [])])];
}
