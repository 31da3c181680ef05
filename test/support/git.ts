// Real git in tests: nothing of this machine's configuration, no hooks, no signing.

import { execFileSync, spawnSync } from 'node:child_process';

const ENVIRONMENT = { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' };

/** A working tree, or a directory that becomes one, whose commits `name` makes. */
export function gitIn(dir: string, name = 'Ann Bo') {
  const settings = { 'user.name': name, 'user.email': 'ann@example.org', 'commit.gpgsign': 'false', 'gc.auto': '0' };
  const given = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  const all = (args: string[]) => ['-C', dir, ...given, ...args];
  return {
    dir,
    /** Runs git; throws with what it printed where it fails. */
    run: (...args: string[]) => execFileSync('git', all(args), { env: ENVIRONMENT, encoding: 'utf8', stdio: 'pipe' }),
    /** Runs git; true where it ended well. */
    tries: (...args: string[]) => spawnSync('git', all(args), { env: ENVIRONMENT, stdio: 'ignore' }).status === 0,
  };
}
