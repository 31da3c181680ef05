// A PostgreSQL of a test's own, a whole server, which can be ended and started again with its data. Loads no test runner.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import pg from 'pg';
import { refusedPort } from '../../queue/servers.ts';

const PACKAGED = '/usr/lib/postgresql';
const START_MS = 30_000;
/** Processes end here, never the machine: nothing need reach a disk. */
const OPTIONS = ['fsync=off', 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200'];

/** The directory of the server's programs; null where there is none. */
function programs(): string | null {
  if (!spawnSync('initdb', ['--version']).error) return '';
  try {
    const [newest] = readdirSync(PACKAGED).toSorted((a, b) => Number(b) - Number(a));
    return newest ? join(PACKAGED, newest, 'bin') : null;
  } catch {
    return null;
  }
}

/** Whom the server runs as: it refuses to be root's. */
function user(): { uid: number; gid: number } | object {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/** Why no PostgreSQL of our own can be started here, or null. */
export function noOwnServer(): string | null {
  if (programs() === null) return 'skipped, there is no initdb here';
  const isRoot = process.getuid?.() === 0;
  return isRoot && spawnSync('id', ['postgres']).status !== 0 ? 'skipped, root needs a user postgres' : null;
}

export async function ownServer() {
  const port = await refusedPort();
  const dir = mkdtempSync(join(tmpdir(), 'nocturne-postgres-'));
  const as = user();
  if ('uid' in as) chownSync(dir, as.uid, as.gid);
  const bin = programs() ?? '';
  const data = join(dir, 'data');
  const made = spawnSync(
    join(bin, 'initdb'),
    ['-D', data, '-N', '-A', 'trust', '-U', 'test', '-E', 'UTF8', '--no-locale'],
    { ...as, cwd: dir, encoding: 'utf8' },
  );
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`);
  const url = `postgres://test@127.0.0.1:${port}/postgres`;
  let server: ChildProcess;
  const start = async () => {
    const options = OPTIONS.flatMap((option) => ['-c', option]);
    server = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...options], {
      ...as,
      cwd: dir,
      stdio: 'ignore',
    });
    for (const endsAt = performance.now() + START_MS; ; await after(30)) {
      const client = new pg.Client(url);
      client.on('error', () => {});
      const isUp = await client.connect().then(
        () => true,
        () => false,
      );
      await client.end().catch(() => {});
      if (isUp) return;
      if (server.exitCode !== null) throw new Error(`PostgreSQL on port ${port} ended with ${server.exitCode}.`);
      if (performance.now() > endsAt) throw new Error(`PostgreSQL on port ${port} does not come up.`);
    }
  };
  /** `SIGINT` ends all connections, `SIGQUIT` as a crash does. */
  const end = async (signal: 'SIGINT' | 'SIGQUIT') => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, 'exit');
    server.kill(signal);
    await ended;
  };
  await start();
  return {
    url,
    start,
    end,
    async close(): Promise<void> {
      await end('SIGQUIT');
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
