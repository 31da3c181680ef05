// The profile `fleet` of docker-compose.yml: what it promises of passwords, and its own commands as processes of this machine. No
// container runs here: names of hosts become 127.0.0.1, the Redis is started by the file's own command, the database is one of the
// test's own. The file itself: test/queue/compose-file.test.ts.

import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import type { Environment } from '../../src/base/config/config.ts';
import { isDeep } from '../support/depth.ts';
import { noPostgres, ownDatabase } from '../support/own-database.ts';
import { COMPILED, start, stop, until } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';
import { tempDir } from '../support/temp.ts';
import { noOwnRedis } from './own-redis.ts';
import { refusedPort } from './servers.ts';

const root = join(import.meta.dirname, '../..');

interface Service {
  build?: { dockerfile_inline: string };
  profiles?: string[];
  command?: string[];
  entrypoint?: string[];
  environment: Record<string, string>;
  healthcheck: { test: string[] };
  stop_grace_period: string;
}

/** The services of the profile, with variables put in as Compose does it. */
function fleetWith(variables: Record<string, string>): Record<string, Service> {
  const text = readFileSync(join(root, 'docker-compose.yml'), 'utf8');
  const filled = (value: string) =>
    value.replace(/\$\$|\$\{(\w+)(?::-([^}]*))?\}/g, (found, name?: string, other = '') =>
      found === '$$' ? '$' : variables[name as string] || other,
    );
  const { services } = parse(text, (_, value) => (typeof value === 'string' ? filled(value) : value), { merge: true });
  const all = Object.entries(services as Record<string, Service>);
  return Object.fromEntries(all.filter(([, { profiles }]) => profiles?.includes('fleet')));
}

const PASSWORDS = { NOCTURNE_DATABASE_PASSWORD: 'database5', NOCTURNE_REDIS_PASSWORD: 'redis7' };
const serverNames = ['fleet-server-1', 'fleet-server-2'];

/** A directory with what stands before an image's program, which here adds what a container of its own would give it. */
function entrypointDir(adds = ''): string {
  const dir = tempDir();
  writeFileSync(join(dir, 'docker-entrypoint.sh'), `#!/bin/sh\nexec "$@" ${adds}\n`, { mode: 0o755 });
  return dir;
}

test('without its password an engine does not start and names the variable; with it, it is the one in the URLs', () => {
  const begin = (name: string, variables: Record<string, string>) => {
    const { entrypoint = [], environment } = fleetWith(variables)[name] as Service;
    const PATH = [entrypointDir(), process.env.PATH].join(delimiter);
    // What would be begun is only said.
    const script = (entrypoint.at(-1) as string).replace('exec docker-entrypoint.sh', 'docker-entrypoint.sh echo');
    return spawnSync(entrypoint[0] as string, [...entrypoint.slice(1, -1), script], {
      env: { PATH, ...environment },
      encoding: 'utf8',
    });
  };
  for (const [name, variable] of [
    ['fleet-postgres', 'NOCTURNE_DATABASE_PASSWORD'],
    ['fleet-redis', 'NOCTURNE_REDIS_PASSWORD'],
  ] as const) {
    const { [variable]: _, ...others } = PASSWORDS;
    expect(begin(name, others)).toMatchObject({ stdout: '', stderr: expect.stringContaining(`set ${variable}`) });
    expect(begin(name, others).status).not.toBe(0);
    expect(begin(name, PASSWORDS).status).toBe(0);
  }
  expect(begin('fleet-postgres', PASSWORDS).stdout).toBe('postgres\n');
  expect(begin('fleet-redis', PASSWORDS).stdout).toContain(
    '--appendonly yes --maxmemory-policy noeviction --requirepass redis7\n',
  );
  const fleet = fleetWith(PASSWORDS);
  const { POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB } = (fleet['fleet-postgres'] as Service).environment;
  const { NOCTURNE_DATABASE_URL, NOCTURNE_QUEUE_URL } = (fleet['fleet-worker'] as Service).environment;
  expect(NOCTURNE_DATABASE_URL).toBe(
    `postgres://${POSTGRES_USER}:${POSTGRES_PASSWORD}@fleet-postgres:5432/${POSTGRES_DB}`,
  );
  expect(NOCTURNE_QUEUE_URL).toBe('redis://:redis7@fleet-redis:6379');
});

const lacking = noPostgres || (noOwnRedis() ? `(${noOwnRedis()})` : '');

test.skipIf(lacking || !isDeep)(
  `each worker and server starts by its own command, becomes healthy by its own check, and ends when told to ${lacking}`,
  async () => {
    const database = await ownDatabase({ isNew: true });
    onTestFinished(() => database.drop());
    const fleet = fleetWith(PASSWORDS);
    const redisPort = await startRedis(fleet['fleet-redis'] as Service);
    const here = async (name: string): Promise<Here> => {
      const service = fleet[name] as Service;
      const port = String(await refusedPort());
      const home = tempDir();
      const at = (text: string) => text.replaceAll('4114', port);
      const image = /^CMD (.*)$/m.exec(service.build?.dockerfile_inline ?? '')?.[1] as string;
      const environment: Environment = {
        ...{ PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED, HOME: home },
        ...service.environment,
        NOCTURNE_DATABASE_URL: database.url,
        NOCTURNE_QUEUE_URL: service.environment.NOCTURNE_QUEUE_URL?.replace(
          'fleet-redis:6379',
          `127.0.0.1:${redisPort}`,
        ),
        NOCTURNE_MODEL: 'offline',
      };
      const command = (service.command ?? (JSON.parse(image) as string[])).map(at);
      return { service, environment, command, check: service.healthcheck.test.map(at) };
    };
    const workers = Array.from({ length: 3 }, () => here('fleet-worker'));
    const all = await Promise.all([...workers, ...serverNames.map(here)]);
    expect(await Promise.all(all.map((each) => isHealthy(each.check, each.environment)))).toEqual(all.map(() => false));
    await Promise.all(
      all.map(async ({ service, environment, command, check }) => {
        expect(command.slice(0, 2)).toEqual(['node', 'dist/nocturne.js']);
        if (command[2] === 'serve') await makeKey(environment);
        const running = start(command.slice(2), environment, { cwd: root });
        // It is asked by a process of its own each time: for the first time once it says that it is there.
        const log = join(environment.HOME as string, '.nocturne', 'logs/nocturne.log');
        const hasBegun = () =>
          running.stdout() !== '' || (existsSync(log) && /worker-started/.test(readFileSync(log, 'utf8')));
        const healthy = until(hasBegun).then(() => until(() => isHealthy(check, environment)));
        await Promise.race([healthy, running.ended.then((ended) => expect.fail(JSON.stringify(ended)))]);
        const toldMs = performance.now();
        const ended = await stop(running);
        expect([ended.code, ended.signal]).toEqual([0, null]);
        expect(performance.now() - toldMs).toBeLessThan(1_000 * Number.parseInt(service.stop_grace_period, 10));
      }),
    );
  },
);

interface Here {
  service: Service;
  environment: Environment;
  command: string[];
  check: string[];
}

let making: Promise<unknown> = Promise.resolve();

/** A server without any key does not stay. One at a time, in this process. */
function makeKey(environment: Environment): Promise<unknown> {
  making = making.then(async () => {
    expect((await runHere(['keys', 'create', '--name', 'test'], environment)).code).toBe(0);
  });
  return making;
}

/** What the engine would run in the container, there with `node` on the path. */
function isHealthy([kind, program, ...args]: string[], environment: Environment): Promise<boolean> {
  expect([kind, program]).toEqual(['CMD', 'node']);
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root, env: environment }, (error) => resolve(error === null));
  });
}

/** Answers its port. */
async function startRedis({ entrypoint = [], environment }: Service): Promise<number> {
  const port = await refusedPort();
  const PATH = [entrypointDir(`--port ${port} --bind 127.0.0.1 --dir ${tempDir()}`), process.env.PATH].join(delimiter);
  const server = spawn(entrypoint[0] as string, entrypoint.slice(1), { env: { PATH, ...environment } });
  onTestFinished(async () => {
    server.kill('SIGKILL');
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
  });
  const ask = ['-p', String(port), 'ping'];
  await until(
    () => spawnSync('redis-cli', ask, { env: { PATH, ...environment }, encoding: 'utf8' }).stdout === 'PONG\n',
  );
  expect(spawnSync('redis-cli', ask, { env: { PATH }, encoding: 'utf8' }).stdout).toContain('NOAUTH');
  return port;
}
