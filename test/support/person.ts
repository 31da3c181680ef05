// A person’s machine as `nocturne setup` finds it: a directory of the user, and other people's programs (`crontab`,
// `systemctl`) that do what those do with files in it.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../src/base/config/config.ts';
import { COMPILED } from './run.ts';
import { tempDir } from './temp.ts';

export interface Person {
  user: string;
  environment: Environment;
  /** What `crontab -l` prints is in this file, if it is there. */
  crontab: string;
  /** A line for each call of systemctl. */
  systemctlCalls: string;
}

/** `has`: the schedulers of the machine; a crontab without a `systemctl` that answers is what a container often has. */
export function aPerson({ has = [] }: { has?: ('cron' | 'systemd')[] } = {}): Person {
  const user = tempDir();
  const bin = join(user, 'bin');
  mkdirSync(bin);
  const [crontab, systemctlCalls] = [join(user, 'crontab-of-user'), join(user, 'systemctl-calls')];
  const program = (name: string, body: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  if (has.includes('cron')) {
    program(
      'crontab',
      `case "$1" in
  -l) if [ -e '${crontab}' ]; then cat '${crontab}'; else echo 'no crontab for k' >&2; exit 1; fi ;;
  -r) rm '${crontab}' ;;
  -) cat > '${crontab}' ;;
esac`,
    );
  }
  if (has.includes('systemd')) {
    program('systemctl', `echo "$@" >> '${systemctlCalls}'\n[ "$2" = is-active ] && echo active\nexit 0`);
  }
  // Coreutils of the fakes, and nothing that could reach the real schedulers.
  for (const name of ['cat', 'rm', 'echo']) program(name, `PATH=/usr/bin:/bin exec ${name} "$@"`);
  return {
    user,
    crontab,
    systemctlCalls,
    environment: {
      NODE_COMPILE_CACHE: COMPILED,
      HOME: user,
      // Said, too: what runs inside of a test must never reach the directories of whoever runs the tests.
      NOCTURNE_HOME: join(user, '.nocturne'),
      CLAUDE_CONFIG_DIR: join(user, '.claude'),
      PATH: bin,
      NOCTURNE_ZONE: 'UTC',
      TZ: 'UTC',
      NOCTURNE_NOW: '2026-11-21T02:00:00Z',
    },
  };
}
