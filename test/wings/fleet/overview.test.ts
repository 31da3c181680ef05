// What status, doctor and cost tell of a database: of all its stores, not only of those of this machine.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { checkDatabase } from '../../../src/wings/fleet/figures.ts';
import { DatabaseWorkRows } from '../../../src/wings/fleet/work/work-rows.ts';
import { testModel } from '../../support/app.ts';
import { says } from '../../support/messages-server.ts';
import { jsonHere, runHere } from '../../support/run-here.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { noPostgres, openHomeAt, putStore, withStores } from './own-database.ts';

const NOW = '2026-11-21T02:00:00Z';

interface Check {
  what: string;
  state: string;
  found: string;
}

describe.skipIf(noPostgres)(`what is told of a database ${noPostgres}`, () => {
  // It tells of all tables that were ever made there.
  const own = withStores({ stores: {} }, { isNew: true });

  /** A machine with nothing but the database's URL. */
  function machine(settings: Record<string, string> = {}) {
    const home = tempDir();
    return {
      ...{ PATH: process.env.PATH, HOME: home, NOCTURNE_HOME: home, NOCTURNE_DATABASE_URL: own.database.url },
      ...{ NOCTURNE_MODEL: 'offline', NOCTURNE_QUEUE_URL: '', NOCTURNE_ZONE: 'UTC', NOCTURNE_NOW: NOW },
      ...settings,
    };
  }

  /** From now on the stores that there are stand for directories of another machine. */
  const beElsewhere = () => own.database.ask("update store set source = 'elsewhere:' || id");

  async function doctor(): Promise<Check[]> {
    return (await jsonHere<{ checks: Check[] }>(['doctor', '--no-online'], machine(), { cwd: tempDir() })).checks;
  }

  const told = (found: Check[], what: string) =>
    found.flatMap((each) => (each.what === what ? `${each.state} ${each.found}` : []));

  test('status tells what waits and failed in all stores, and who works', async () => {
    const id = await putStore(own.stores, { 'a.md': 'one\n' });
    await beElsewhere();
    const rows = new DatabaseWorkRows(own.stores.database.ask, id);
    const since = '2026-11-21T01:00:00.000Z';
    for (const key of ['x', 'y']) await rows.put({ kind: 'extract', key, payload: {}, notBefore: since, since });
    const failure = { kind: 'extract', attempts: 1, failures: 1, input: null, at: since, payload: {} } as const;
    await rows.writeFailure({ ...failure, key: 'x', state: 'failed', code: 'oversize', message: 'It is too much.' });
    await rows.writeFailure({ ...failure, key: 'y', state: 'retrying', code: 'network', message: 'It is away.' });
    await rows.finish((await rows.item('extract', 'x'))?.id as number);
    const shared = openHomeAt(own.database.url, fixedClock(NOW));
    onTestFinished(() => shared.close());
    await shared.workers.enter('redis');
    onTestFinished(() => shared.workers.leave());
    const here = machine();
    const status = await jsonHere<object>(['status'], here, { cwd: tempDir() });
    const name = (await own.stores.list())[0]?.name;
    const all = {
      stores: { ready: 1, arriving: 0 },
      waiting: { count: 1, oldest: since, tenants: [{ tenant: null, count: 1, oldest: since }] },
      ...{ leases: 0, failures: { network: 1, oversize: 1 }, givenUp: 1 },
      failed: [{ store: id, name, kind: 'extract', key: 'x', code: 'oversize', message: 'It is too much.' }],
    };
    expect(status).toMatchObject({
      database: { id: own.stores.database.id, server: own.database.url, memory: null, ...all },
      all: { directories: 0, pending: 0, failed: [] },
      workers: [{ backend: 'redis' }],
      attention: [],
    });
    expect(await jsonHere<object>(['fleet', 'status'], here)).toMatchObject({
      database: own.stores.database.id,
      ...all,
    });
    const { pathname } = new URL(own.database.url);
    const at = { cwd: tempDir() };
    const said = (await runHere([], here, at)).stdout.replaceAll(/\s+/g, ' ');
    expect(said).toContain(
      `${pathname}: 1 store; 1 job in all, the oldest since today 01:00, 1 given up; 1 worker seen`,
    );
    const whole = (await runHere(['status', '--verbose', '--memory', id], here, at)).stdout;
    expect(whole).toContain(`memory     ${id}\n`);
    expect(whole).toMatch(/^workers {4}\S+ \(redis, seen 20\S+Z\)$/m);
    expect(whole).toContain(
      `database   ${own.database.url}: 1 store\n  waiting  1, the oldest from ${since}; 0 worked on\n`,
    );
    expect(whole).toContain(`${name}: extract x, oversize: It is too much.`);
    const listed = (await runHere(['status', '--all'], here, at)).stdout.replaceAll(/\s+/g, ' ');
    expect(listed).toContain(`Stores, of which --store NAME names one ${name}: 1 job, 1 given up`);
    expect(await jsonHere<object>(['status', '--all'], here, at)).toMatchObject({
      database: { each: [{ id, name, isHere: false, waiting: 1, givenUp: 1 }] },
    });
    const { stdout } = await runHere(['fleet', 'status'], here);
    expect(stdout).toContain('given up   1; nocturne retry --failed --store NAME tries again\n');
    expect((await runHere(['retry', '--failed', '--store', name as string], here)).code).toBe(0);
    expect(await jsonHere<object>(['fleet', 'status'], here)).toMatchObject({ givenUp: 0, waiting: { count: 2 } });
  });

  test('doctor tells of the database, its ledgers, the clocks, and of work that nobody does', async () => {
    await own.database.ask('delete from work_inbox; delete from store');
    const [before, clock] = [await doctor(), /^warn [\d,]+ seconds (?:behind|ahead of) the database's$/];
    expect(told(before, 'database')).toEqual([
      expect.stringMatching(/^ok .* answers in \d+ ms; PostgreSQL \d\S+, 0 stores$/),
    ]);
    expect(told(before, 'clock')).toEqual([expect.stringMatching(clock)]);
    expect(told(before, 'worker')).toEqual([expect.stringContaining('of no machine one was seen')]);

    const home = openHomeAt(own.database.url, fixedClock(NOW));
    onTestFinished(() => home.close());
    const check = async (what: string, now = () => new Date(NOW)) =>
      told(await checkDatabase(own.stores.database, { home, now }), what);
    expect(await check('clock', () => new Date())).toEqual(["ok as the database's"]);
    const id = await putStore(own.stores, { 'a.md': 'one\n' });
    const rows = new DatabaseWorkRows(own.stores.database.ask, id);
    const dreamFrom = (notBefore: string) => rows.put({ kind: 'dream', key: 'dream', payload: {}, notBefore });
    const waits = '1 waiting in all stores, 0 under way';
    await dreamFrom('2026-11-21T01:55:00.000Z');
    expect(await check('work')).toEqual([`ok ${waits}`]);
    await dreamFrom('2026-11-21T01:30:00.000Z');
    const late = `warn ${waits}; due since 2026-11-21T01:30:00.000Z, and no worker was seen`;
    expect(await check('work')).toEqual([late]);
    await home.workers.enter('redis');
    onTestFinished(() => home.workers.leave());
    const after = await doctor();
    expect(told(after, 'work')).toEqual([`ok ${waits}`]);
    expect(told(after, 'worker')).toEqual([expect.stringMatching(/^ok \S+ \(redis\) since .*, seen /)]);
  });

  test('cost tells what all machines used, and with --all of their jobs, too', async () => {
    const server = await testModel(() => ({
      ...says('Nothing.'),
      usage: { input_tokens: 10_000, output_tokens: 1_000 },
    }));
    const settings = { ANTHROPIC_API_KEY: server.access.apiKey ?? '', ANTHROPIC_BASE_URL: server.access.baseURL ?? '' };
    const prices = { priced: { input: 2, cacheRead: 0.2, cacheWrite: 2.5, output: 10 } };
    const one = 0.03;
    const here = machine(settings);
    writeFileSync(join(here.HOME, 'config.json'), JSON.stringify({ prices }));
    for (const project of ['garden', 'shop']) {
      if (project === 'shop') await beElsewhere();
      const cwd = join(here.HOME, 'code', project);
      mkdirSync(join(cwd, '.git'), { recursive: true });
      const session = aSession(['Always water the trees before noon.'], {
        id: `${project.length}1111111-2222-4333-8444-555555555555`,
        cwd,
      });
      const { code, stderr } = await runHere(['extract', session.path, '--model', 'priced'], here);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    }
    const shared = openHomeAt(own.database.url, fixedClock(NOW));
    onTestFinished(() => shared.close());
    const limits = { dayTokens: 1e9, zone: 'UTC' };
    await shared.days.reserve({ tokens: 5_000, microUsd: 7_000, at: new Date(NOW), limits });
    const whole = { total: { usd: 2 * one + 0.007, tokens: 27_000 }, unfinished: { usd: 0.007, tokens: 5_000 } };
    expect(await jsonHere(['cost'], here)).toMatchObject({
      ...whole,
      projects: [{ project: '~/code/shop', usd: one }],
      others: { usd: one, tokens: 11_000, requests: 2 },
      unreadable: [],
    });
    const said = (await runHere(['cost'], here)).stdout;
    expect(said).toMatch(/^ {2}other machines, killed jobs +\$0\.03 +11,000 +2$/m);
    expect(said).toContain('nocturne cost --all tells of the jobs of all machines.');
    expect(await jsonHere(['cost', '--all'], here)).toMatchObject({
      ...whole,
      projects: expect.arrayContaining([
        expect.objectContaining({ project: '~/code/shop', usd: one }),
        expect.objectContaining({ project: '~/code/garden', usd: one }),
      ]),
      ...{ kinds: [{ kind: 'extract', jobs: 2 }], others: null, unreadable: [] },
    });
  });
});
