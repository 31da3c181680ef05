// The commands over a store of the database, as two machines call them: each has a home of its own.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { enqueueExtract } from '../../../src/doors/cli/commands/enqueue.ts';
import { runWorker, untilIdle } from '../../../src/doors/worker/worker.ts';
import { testApp } from '../../support/app.ts';
import { jsonHere, runHere } from '../../support/run-here.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { noPostgres, type OwnDatabase, ownDatabase } from './own-database.ts';

const SESSION = '0d8c1a52-5d1b-4c58-9a64-1f2e3d4c5b6a';

describe.skipIf(noPostgres)(`commands over memory in the database ${noPostgres}`, () => {
  let own: OwnDatabase;
  /** The project's directory, by which it is named; nothing is in it. */
  const dir = join(tempDir(), 'memory');
  const machines: Record<'here' | 'there', Record<string, string | undefined>> = { here: {}, there: {} };
  let id = '';
  const ends: (() => void | Promise<void>)[] = [];

  beforeAll(async () => {
    own = await ownDatabase();
    for (const name of ['here', 'there'] as const) {
      const home = tempDir();
      machines[name] = {
        PATH: process.env.PATH,
        ...{ HOME: home, NOCTURNE_HOME: home, NOCTURNE_DATABASE_URL: own.url },
        ...{ NOCTURNE_MODEL: 'offline', NOCTURNE_QUEUE_URL: '', NOCTURNE_ZONE: 'UTC' },
        NOCTURNE_NOW: '2026-11-21T02:00:00Z',
      };
    }
    const { app } = await testApp({
      dir,
      settings: { databaseUrl: own.url },
      whenDone: (close) => void ends.push(close),
    });
    const session = aSession(['Always water the trees before noon.'], { id: SESSION, cwd: '/work/shop' });
    await enqueueExtract(app, { transcript: session.path, ended: true });
    const working = { signal: new AbortController().signal, onResult: () => {}, onError: fail };
    await runWorker(app, { ...working, until: untilIdle });
    await app.desk.beginNight(undefined, fail);
    await runWorker(app, { ...working, until: untilIdle });
    id = (await app.storeFor({})).id;
  }, 30_000);
  afterAll(async () => {
    for (const end of ends) await end();
    await own.drop();
  });

  function fail(message: string): never {
    throw new Error(message);
  }
  const run = (name: 'here' | 'there', ...args: string[]) => runHere([...args, '--store', id], machines[name]);
  const json = <T>(name: 'here' | 'there', ...args: string[]) => jsonHere<T>([...args, '--store', id], machines[name]);

  test('what one machine was told and forgot, pinned and undid, the other lists and explains', async () => {
    const listed = await json<{ memory: string; topics: { name: string }[] }>('there', 'list');
    expect(listed).toMatchObject({ memory: id, topics: [{ name: 'working-agreements' }] });

    expect((await run('here', 'remember', 'Deploys happen on Tuesdays.')).code).toBe(0);
    const after = await json<{ waiting: { text: string }[] }>('there', 'list');
    expect(after.waiting.map(({ text }) => text)).toEqual(['Deploys happen on Tuesdays.']);
    expect((await run('there', 'why', 'Tuesdays')).stdout).toContain('Deploys happen on Tuesdays.');
    expect((await run('there', 'why', SESSION)).stdout).toContain('water the trees');
    expect((await run('there', 'why')).stdout).toContain('water the trees');

    expect((await run('there', 'forget', 'Deploys happen', '--yes')).code).toBe(0);
    expect((await json<{ waiting: unknown[] }>('here', 'list')).waiting).toEqual([]);
    expect((await run('there', 'undo', '--last')).code).toBe(0);
    expect((await json<{ waiting: unknown[] }>('here', 'list')).waiting).toHaveLength(1);

    expect((await run('here', 'pin', 'working-agreements')).stdout).toContain('is pinned');
    expect((await run('there', 'pin', 'working-agreements')).stdout).toContain('is pinned already');
    expect((await run('there', 'show', 'working-agreements', '--history')).stdout.split('\n').length).toBeGreaterThan(
      2,
    );
  });

  test('a directory that is not in the database is listed as what it is, and told apart', async () => {
    const local = await testApp();
    await local.app.remember(local.store, { text: 'Staging is alpha.', type: 'project' });
    await local.app.dream(local.store, {});
    await local.app.close();
    const at = [['list'], ['search', 'alpha'], ['list', '--json']].map((each) => [...each, '--memory', local.dir]);
    const alone = { ...machines.here, NOCTURNE_DATABASE_URL: undefined };
    for (const args of at) {
      const { code, stdout, stderr } = await runHere(args, machines.here);
      expect(stderr).toContain(`${local.dir} is on this disk and not in the database: nocturne move --to-database`);
      expect({ code, stdout }).toEqual({ code: 0, stdout: (await runHere(args, alone)).stdout });
    }
  });

  test('status, doctor, sessions and retry tell of it', async () => {
    const status = await json<{ topics: number; waiting: unknown[] }>('there', 'status', '--verbose');
    expect(status).toMatchObject({ topics: 1, waiting: [] });
    const found = await json<{ sessions: { memory: string; session: string }[] }>('there', 'sessions');
    expect(found.sessions).toMatchObject([{ memory: id, session: SESSION }]);
    const doctor = await runHere(['doctor', '--no-online'], machines.there);
    expect(doctor.stdout).toContain(`${id}: last extract`);
    expect((await run('there', 'retry', '--failed')).stdout).toContain('Nothing failed');
  });

  test('export writes what the database holds', async () => {
    const out = join(tempDir(), 'out');
    const { files } = await json<{ files: string[] }>('there', 'export', out);
    expect(files).toContain('working-agreements.md');
    expect(readFileSync(join(out, 'working-agreements.md'), 'utf8')).toContain('water the trees');
  });

  test('what was redacted on one machine is in no row, and gone from the other', async () => {
    expect((await run('here', 'remember', 'The gate code is hunter2hunter2.')).code).toBe(0);
    const redacted = await run('there', 'redact', '--match', 'hunter2hunter2');
    expect(redacted).toMatchObject({ code: 0, stdout: expect.stringContaining('redacted') });
    expect((await run('here', 'list')).stdout).not.toContain('hunter2');
    expect(await own.ask(`select from page where position('hunter2hunter2'::bytea in bytes) > 0`)).toEqual([]);
  });

  test('an editor and a team are told that there is no directory for them', async () => {
    const edited = await run('here', 'show', 'working-agreements', '--edit');
    expect(edited.stderr).toContain('no files that an editor could change');
    const shared = await runHere(['share', 'working-agreements'], machines.here);
    expect(shared.stderr).toContain("a team's memory is a directory of the repository");
    const repaired = await run('here', 'check', '--repair');
    expect(repaired.stderr).toContain('only the files of a directory are mended');
    const local = await runHere(['list', '--scope', 'local'], machines.here);
    expect(local.stderr).toContain('Memory is kept in a database');
  });

  test('check and doctor --fix look at it, and mend nothing', async () => {
    const revision = () => own.ask('select revision from store where id = $1', [id]);
    const before = await revision();
    expect(await run('there', 'check')).toMatchObject({ code: 0, stdout: `${id}: fine\n`, stderr: '' });
    expect(await revision()).toEqual(before);
    const { app } = await testApp({ dir, settings: { databaseUrl: own.url } });
    const store = await app.store(id);
    const text = '---\nname: another\ndescription: Hedges\ntype: project\n---\n\n- The hedge is cut in May.\n';
    await store.write({ actor: 'tool:test' }, { path: 'hedge.md', text });
    const checked = await run('there', 'check');
    expect(checked).toMatchObject({ code: 1, stdout: expect.stringContaining('hedge.md: Its frontmatter calls it') });
    const at = { ...machines.there, NOCTURNE_MEMORY_DIR: id };
    const { findings } = await jsonHere<{ findings: object[] }>(['doctor', '--fix', '--no-online'], at);
    const found = { mend: null, isMended: false };
    expect(findings).toMatchObject([
      { where: 'hedge.md', ...found },
      { where: 'MEMORY.md', ...found },
    ]);
    await store.remove({ actor: 'tool:test' }, { path: 'hedge.md' });
  });

  test('an editor gets a copy of a file: what it saves is one commit that undo takes back, unless another was first', async () => {
    const editor = join(tempDir(), 'editor');
    const edits = (script: string) => {
      writeFileSync(editor, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      const at = { ...machines.here, EDITOR: editor };
      return runHere(['show', 'a.md', '--edit', '--store', id], at, { isTerminal: true });
    };
    const read = async () => (await run('there', 'show', 'a.md')).stdout;
    const { app } = await testApp({ dir, settings: { databaseUrl: own.url } });
    await (await app.store(id)).write({ actor: 'tool:test' }, { path: 'a.md', text: 'one\n' });
    const added = await edits('echo mine >> "$1"');
    expect(added).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^Saved; nocturne undo --memory \S+ job_\w+ takes/),
    });
    expect(await read()).toBe('one\nmine\n');
    expect((await run('there', 'undo', '--last')).code).toBe(0);
    expect(await read()).toBe('one\n');
    expect((await edits('true')).stderr).toContain('Nothing was changed.');
    expect((await edits('false')).code).toBe(1);
    const writer = join(import.meta.dirname, 'stores', 'writer.ts');
    const late = await edits(
      `"${process.execPath}" "${writer}" "${own.url}" ${id} theirs >/dev/null\necho mine >> "$1"`,
    );
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('a.md was changed meanwhile') });
    const [, kept = ''] = /What you wrote is in (\S+)\.$/m.exec(late.stderr) ?? [];
    expect(readFileSync(kept, 'utf8')).toBe('one\nmine\n');
    expect(await read()).toBe('one\ntheirs\n');
    expect(readdirSync(join(machines.here.HOME as string, 'edits'))).toHaveLength(1);
  });

  test('a name that no store has is told, and looking makes none', async () => {
    const missing = await runHere(['list', '--store', 'nothing-like-it'], machines.here);
    expect(missing.stderr).toContain('There is no memory store "nothing-like-it"');
    const before = await own.ask('select from store');
    await runHere(['list'], machines.here, { cwd: tempDir() });
    await runHere(['why', 'trees'], machines.here, { cwd: tempDir() });
    expect(await own.ask('select from store')).toEqual(before);
  });
});
