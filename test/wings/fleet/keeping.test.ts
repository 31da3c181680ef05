// Two machines that share a database, each with a home of its own: what one hands in the other works, and both read it.

import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { enqueueExtract } from '../../../src/doors/cli/commands/enqueue.ts';
import { runWorker, untilIdle } from '../../../src/doors/worker/worker.ts';
import { openDatabase } from '../../../src/wings/fleet/postgres.ts';
import { testApp } from '../../support/app.ts';
import { runHere } from '../../support/run-here.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { noPostgres, type OwnDatabase, ownDatabase } from './own-database.ts';

describe.skipIf(noPostgres)(`memory that two machines share ${noPostgres}`, () => {
  let own: OwnDatabase;
  beforeAll(async () => {
    own = await ownDatabase();
  });
  afterAll(() => own.drop());

  const machine = (dir: string) => testApp({ dir, settings: { databaseUrl: own.url } });

  test('who opens a database with all its tables waits for nobody who makes others there', async () => {
    const maker = await openDatabase(own.url);
    onTestFinished(() => maker.close());
    await maker.transaction("begin; select pg_advisory_xact_lock(hashtext('nocturne'))", async () => {
      const opened = await openDatabase(own.url);
      expect(opened.id).toBe(maker.id);
      await opened.close();
    });
  });

  test('a database whose tables another nocturne made is refused, with what to do, and stays as it is', async () => {
    const other = await ownDatabase({ isNew: true });
    onTestFinished(() => other.drop());
    const refused = () =>
      openDatabase(other.url).then(
        () => null,
        ({ code, message, remedy }) => ({ code, message, remedy }),
      );
    await other.ask('create schema nocturne');
    await other.ask('create table nocturne.part (name text primary key, version int not null)');
    await other.ask('create table nocturne.database (id text not null default gen_random_uuid()::text)');
    await other.ask('insert into nocturne.database default values');
    expect(await refused()).toEqual({
      code: 'storage',
      message: expect.stringContaining('were made by an earlier nocturne'),
      remedy: expect.stringContaining('nocturne move --to-directory'),
    });
    expect(await other.ask("select from pg_tables where schemaname = 'nocturne'")).toHaveLength(2);
    await other.ask('alter table nocturne.database add column schema int');
    await other.ask('update nocturne.database set schema = 100000');
    expect(await refused()).toMatchObject({ code: 'storage', remedy: 'Update nocturne on this machine.' });
  });

  test('who is refused by the database is told so by every command in words, and a session begins with one line', async () => {
    const at = (change: (url: URL) => void) => {
      const url = new URL(own.url);
      change(url);
      return url.href;
    };
    await (await openDatabase(own.url)).close();
    const refused = {
      'role "nobody_here" does not exist': at((url) => Object.assign(url, { username: 'nobody_here' })),
      'database "none_of_this_name" does not exist': at((url) =>
        Object.assign(url, { pathname: '/none_of_this_name' }),
      ),
      'read-only transaction': at((url) => url.searchParams.set('options', '-c default_transaction_read_only=on')),
    };
    for (const [why, url] of Object.entries(refused)) {
      const home = tempDir();
      const environment = { HOME: home, NOCTURNE_HOME: home, NOCTURNE_DATABASE_URL: url, NOCTURNE_MODEL: 'offline' };
      for (const args of [['remember', 'Kim wants pnpm.'], ['status'], ['worker', '--once']]) {
        const { code, stderr } = await runHere(args, environment);
        expect({ args, code }).toEqual({ args, code: 1 });
        expect(stderr).toMatch(/^nocturne: The database at \S+ refuses this: /);
        expect(stderr).toContain(why);
        expect(stderr).toContain('\n  Check the user, the password and the name in its URL, and what the user may do.');
      }
      const recalled = await runHere(['recall', '--memory', tempDir()], environment);
      expect({ code: recalled.code, shown: recalled.stdout + recalled.stderr }).toMatchObject({
        code: 0,
        shown: expect.stringContaining(why),
      });
    }
  });

  test('options of sessions that stand in the URL hold beside its own', async () => {
    const url = new URL(own.url);
    url.searchParams.set('options', '-c statement_timeout=61000 -c application_name=told\\ so');
    const database = await openDatabase(url.href);
    onTestFinished(() => database.close());
    const shown = `select current_setting('statement_timeout') as timeout, current_setting('application_name') as name,
      current_setting('search_path') as path, current_setting('lock_timeout') as lock`;
    expect(await database.ask(shown)).toEqual([{ timeout: '61s', name: 'told so', path: 'nocturne', lock: '15s' }]);
  });

  test('a session of one machine is extracted and dreamed by the other, and read by the first', async () => {
    const dir = tempDir();
    const here = await machine(dir);
    const there = await machine(dir);
    const session = aSession(['Always water the trees before noon.'], { cwd: '/work/shop' });
    await enqueueExtract(here.app, { transcript: session.path, ended: true });
    const outcomes: string[] = [];
    const working = {
      signal: new AbortController().signal,
      onResult: ({ kind, outcome }: { kind: string; outcome: string }) => void outcomes.push(`${kind} ${outcome}`),
      onError: (message: string) => void outcomes.push(message),
    };
    await runWorker(there.app, { ...working, until: untilIdle });
    expect(outcomes).toEqual(['extract recorded']);
    const store = await here.app.storeFor({});
    const log = (await store.list()).find((path) => path.startsWith('logs/')) as string;
    expect(await store.read(log)).toContain('water the trees');
    await there.app.desk.beginNight(undefined, working.onError);
    await runWorker(there.app, { ...working, until: untilIdle });
    expect(outcomes.at(-1)).toBe('dream dreamed');
    const dreamed = await here.app.storeFor({});
    expect(await dreamed.read('MEMORY.md')).toContain('[working-agreements.md]');
    expect(await dreamed.read('working-agreements.md')).toContain('water the trees');
    // Neither keeps anything of it where a memory on one machine would be.
    expect(readdirSync(dir)).toEqual([]);
    expect(await own.ask('select from work_inbox')).toEqual([]);
    expect(await own.ask('select from store where owner is not null')).toEqual([]);
  });
});
