// A person's machine as `nocturne setup` finds it: a directory of the user, and a `systemctl` that notes what it is asked.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { COMPILED } from './run.ts';
import { tempDir } from './temp.ts';

export type Person = ReturnType<typeof aPerson>;

/** `hasSystemd`: there is a user manager that answers; a container often has none. */
export function aPerson({ hasSystemd = false } = {}) {
  const user = tempDir();
  const home = join(user, '.nocturne');
  const bin = join(user, 'bin');
  mkdirSync(bin);
  const systemctlCalls = join(bin, 'systemctl-calls');
  const program = (name: string, body: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  if (hasSystemd) program('systemctl', `echo "$@" >> '${systemctlCalls}'\n[ "$2" = is-active ] && echo active\nexit 0`);
  // Coreutils of the fakes, and nothing that could reach the real schedulers.
  for (const name of ['cat', 'rm', 'echo']) program(name, `PATH=/usr/bin:/bin exec ${name} "$@"`);
  return {
    user,
    /** Where nocturne keeps its own; it need not be there yet. */
    home,
    /** A line for each call of systemctl. */
    systemctlCalls,
    environment: {
      NODE_COMPILE_CACHE: COMPILED,
      HOME: user,
      // Said, too: what runs inside of a test must never reach the directories of whoever runs the tests.
      NOCTURNE_HOME: home,
      CLAUDE_CONFIG_DIR: join(user, '.claude'),
      PATH: bin,
      NOCTURNE_ZONE: 'UTC',
      TZ: 'UTC',
      NOCTURNE_NOW: '2026-11-21T02:00:00Z',
    },
  };
}
