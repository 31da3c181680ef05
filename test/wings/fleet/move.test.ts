// nocturne move: a memory goes into the database and comes out of it the same, wherever it is broken off.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { putInInbox } from '../../../src/memory/ledger/inbox.ts';
import { takeLease } from '../../../src/memory/ledger/job-rows.ts';
import { openStore } from '../../../src/memory/open.ts';
import {
  censusOf,
  difference,
  type MoveStep,
  moveToDatabase,
  moveToDirectory,
} from '../../../src/wings/fleet/stores/move.ts';
import { runHere } from '../../support/run-here.ts';
import { dirWith, tempDir } from '../../support/temp.ts';
import { noPostgres, textsOf, withStores } from './own-database.ts';

const FILES = { 'MEMORY.md': '# Memory\n', 'a.md': 'one\n', 'topics/b.md': 'two\n' };

test('it moves nothing where it is not told which way', async () => {
  const environment = {
    NOCTURNE_HOME: tempDir(),
    NOCTURNE_MEMORY_DIR: tempDir(),
    NOCTURNE_DATABASE_URL: 'postgres://127.0.0.1:1/none',
  };
  for (const args of [[], ['--to-database', '--to-directory', 'x'], ['--to-directory', 'x']]) {
    expect(await runHere(['move', ...args], environment)).toMatchObject({ code: 2 });
  }
});

test('without a database it says which setting names one', async () => {
  const environment = { NOCTURNE_HOME: tempDir(), NOCTURNE_MEMORY_DIR: tempDir() };
  expect(await runHere(['move', '--to-database'], environment)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('NOCTURNE_DATABASE_URL'),
  });
});

describe.skipIf(noPostgres)(`nocturne move ${noPostgres}`, () => {
  const now = new Date();
  const own = withStores({ stores: {} });

  /** A memory with versions, a rename and a file that was deleted. */
  async function memory(dir = join(tempDir(), 'memory')): Promise<string> {
    dirWith(FILES, dir);
    const store = await openStore(dir);
    await store.write({ actor: 'person' }, { path: 'a.md', text: 'one\nmore\n' });
    await store.rename({ actor: 'person' }, { from: 'topics/b.md', to: 'c.md' });
    await store.write({ actor: 'person' }, { path: 'gone.md', text: 'for a while' });
    await store.remove({ actor: 'person' }, { path: 'gone.md' });
    store.close();
    return dir;
  }

  const AFTER = { 'MEMORY.md': '# Memory\n', 'a.md': 'one\nmore\n', 'c.md': 'two\n' };

  async function census(dir: string) {
    const store = await openStore(dir);
    onTestFinished(() => store.close());
    return censusOf(store);
  }

  test('into the database and out of it: every file, version, row and id is the same', async () => {
    const dir = await memory();
    const out = join(tempDir(), 'out', 'memory');
    writeFileSync(join(dir, 'picture.png'), 'no memory');
    const environment = { NOCTURNE_HOME: tempDir(), NOCTURNE_DATABASE_URL: own.database.url };
    const move = async (...args: string[]) => {
      const { code, stdout, stderr } = await runHere(['move', ...args, '--json'], environment);
      expect([code, stderr]).toEqual([0, '']);
      return JSON.parse(stdout);
    };
    const before = await census(dir);
    const into = await move('--to-database', '--memory', dir, '--name', 'notes');
    expect(into).toMatchObject({ outcome: 'moved', name: 'notes', files: 3, left: [] });
    expect(readFileSync(join(dir, 'a.md'), 'utf8')).toBe('one\nmore\n');
    expect(await textsOf(own.stores, into.store)).toEqual(AFTER);

    expect(await move('--to-directory', out, '--store', 'notes')).toMatchObject({
      outcome: 'moved',
      store: into.store,
    });
    expect(difference(await census(out), before)).toBeNull();

    expect(await move('--to-database', '--memory', dir, '--remove')).toMatchObject({
      outcome: 'removed',
      left: ['picture.png'],
    });
    expect(readdirSync(dir)).toEqual(['picture.png']);
    expect(await textsOf(own.stores, into.store)).toEqual(AFTER);
    expect(await move('--to-directory', out, '--store', into.store, '--remove')).toMatchObject({ outcome: 'removed' });
    for (const table of ['store', 'page', 'file', 'checkin'])
      expect(await own.database.ask(`select from ${table}`)).toEqual([]);
    expect(difference(await census(out), before)).toBeNull();
    expect(readdirSync(dirname(out))).toEqual([basename(out)]);
  });

  test.each(['snapshot', 'send', 'compare', 'end'] as MoveStep[])(
    'broken off before the step %s it goes on, and what was changed meanwhile goes along',
    async (step) => {
      const dir = await memory();
      const broken = moveToDatabase(
        { dir, name: dir },
        {
          stores: own.stores,
          now,
          removes: false,
          onStep: (at) => {
            if (at === step) throw new Error('broken off');
          },
        },
      );
      await expect(broken).rejects.toThrow('broken off');
      writeFileSync(join(dir, 'a.md'), 'edited\n');
      const moved = await moveToDatabase({ dir, name: dir }, { stores: own.stores, now, removes: false });
      expect(await textsOf(own.stores, moved.store)).toEqual({ ...AFTER, 'a.md': 'edited\n' });
      const rows = await own.database.ask('select id from store where name = $1', [dir]);
      expect(rows).toEqual([{ id: moved.store }]);
    },
  );

  test('what has arrived is not sent again', async () => {
    const dir = await memory();
    const onStep = (at: MoveStep) => {
      if (at === 'end') throw new Error('broken off');
    };
    await expect(
      moveToDatabase({ dir, name: dir }, { stores: own.stores, now, removes: false, onStep }),
    ).rejects.toThrow('broken off');
    const moved = await moveToDatabase({ dir, name: dir }, { stores: own.stores, now, removes: false });
    expect(moved.bytes).toBeLessThan(20_000);
  });

  test.each(['send', 'compare', 'remove'] as MoveStep[])(
    'out of the database, broken off before the step %s, it goes on',
    async (step) => {
      const dir = await memory();
      const { store: given } = await moveToDatabase({ dir, name: dir }, { stores: own.stores, now, removes: false });
      const out = join(tempDir(), 'out');
      const onStep = (at: MoveStep) => {
        if (at === step) throw new Error('broken off');
      };
      const broken = moveToDirectory({ given, dir: out }, { stores: own.stores, now, removes: true, onStep });
      await expect(broken).rejects.toThrow('broken off');
      expect(await moveToDirectory({ given, dir: out }, { stores: own.stores, now, removes: true })).toMatchObject({
        outcome: 'removed',
      });
      expect(difference(await census(out), await census(dir))).toBeNull();
    },
  );

  test('what is changed while it is moved does not count as moved', async () => {
    const dir = await memory();
    const onStep = (at: MoveStep) => {
      if (at === 'compare') writeFileSync(join(dir, 'a.md'), 'edited meanwhile\n');
    };
    const moving = moveToDatabase({ dir, name: dir }, { stores: own.stores, now, removes: true, onStep });
    await expect(moving).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('a.md differs') });
    expect(existsSync(join(dir, 'a.md'))).toBe(true);
    await moveToDatabase({ dir, name: dir }, { stores: own.stores, now, removes: false });
    writeFileSync(join(dir, 'a.md'), 'edited since\n');
    const removing = moveToDatabase({ dir, name: dir }, { stores: own.stores, now, removes: true });
    await expect(removing).rejects.toThrow('was changed since it was moved');
    expect(readFileSync(join(dir, 'a.md'), 'utf8')).toBe('edited since\n');
  });

  test('a directory with something else in it is not taken for the store', async () => {
    const dir = await memory();
    const { store: given } = await moveToDatabase({ dir, name: dir }, { stores: own.stores, now, removes: false });
    const out = await memory();
    writeFileSync(join(out, 'c.md'), 'of somebody else\n');
    const moving = moveToDirectory({ given, dir: out }, { stores: own.stores, now, removes: true });
    await expect(moving).rejects.toThrow('does not hold what');
    expect(await textsOf(own.stores, given)).toEqual(AFTER);
  });

  test('a name that another store has is refused', async () => {
    const [one, other] = [await memory(), await memory()];
    await moveToDatabase({ dir: one, name: 'taken' }, { stores: own.stores, now, removes: false });
    const moving = moveToDatabase({ dir: other, name: 'taken' }, { stores: own.stores, now, removes: true });
    await expect(moving).rejects.toMatchObject({ code: 'bad-input', remedy: expect.stringContaining('--name') });
    expect(existsSync(join(other, 'a.md'))).toBe(true);
  });

  test("a team's memory, one that a worker holds, and one with sessions that wait are not moved", async () => {
    const move = (dir: string) => moveToDatabase({ dir, name: dir }, { stores: own.stores, now, removes: false });
    const top = tempDir();
    mkdirSync(join(top, '.git'));
    writeFileSync(join(top, '.git', 'HEAD'), 'ref: refs/heads/main\n');
    const team = await memory(join(top, '.claude', 'memory'));
    await expect(move(team)).rejects.toThrow("is a team's memory");

    const held = await memory();
    const store = await openStore(held);
    takeLease(store.ledger, { key: 'dream', owner: 'elsewhere:1:1/job', now, ttlMs: 60_000 });
    store.close();
    await expect(move(held)).rejects.toThrow('A worker works on');

    const waiting = await memory();
    const other = await openStore(waiting);
    putInInbox(other.ledger, { kind: 'extract', key: 's1', payload: {}, notBefore: now.toISOString() });
    other.close();
    await expect(move(waiting)).rejects.toThrow('wait to be extracted');
    expect(await own.database.ask('select name from store where name = any($1)', [[team, held, waiting]])).toEqual([]);
  });

  test('what was worked, left out and failed goes along both ways; while sessions wait in the database it stays there', async () => {
    const dir = await memory();
    const made = await openStore(dir);
    const AT = now.toISOString();
    const failure = {
      kind: 'extract',
      key: 's@1',
      state: 'failed',
      code: 'bad-reply',
      message: 'no',
      attempts: 3,
    } as const;
    await made.work.put({ kind: 'extract', key: 's@1', payload: {}, notBefore: AT });
    await made.work.writeFailure({ ...failure, failures: 3, input: '7', at: AT, payload: { transcript: '/s.jsonl' } });
    await made.work.noteWork({ kind: 'extract', key: 's@1', now });
    await made.work.finish((await made.work.item('extract', 's@1'))?.id ?? 0);
    made.close();
    const { store: id } = await moveToDatabase({ dir, name: 'carried' }, { stores: own.stores, now, removes: true });
    const open = await own.stores.open(id);
    expect(await open.work.failures()).toMatchObject([failure]);
    expect(await open.work.wasWorked({ kind: 'extract', key: 's@1' })).toBe(true);
    await open.work.noteSkip({ kind: 'dream', reason: 'too soon', now });
    await open.work.put({ kind: 'extract', key: 't@1', payload: {}, notBefore: AT });
    const out = join(tempDir(), 'memory');
    const move = () => moveToDirectory({ given: id, dir: out }, { stores: own.stores, now, removes: true });
    await expect(move()).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining('1 sessions wait'),
    });
    const item = await open.work.item('extract', 't@1');
    await open.work.finish(item?.id ?? 0);
    open.close();
    await move();
    const back = await openStore(out);
    onTestFinished(() => back.close());
    expect(await back.work.failures()).toMatchObject([failure]);
    expect(await back.work.skips()).toMatchObject([{ reason: 'too soon' }]);
  });
});
