// Stores in the database: what a check-out holds, what a commit sends, and what two writers see of each other.

import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { redactMatches } from '../../../../src/memory/history/redact/redaction.ts';
import { scrubOf } from '../../../../src/memory/history/redact/scrub.ts';
import type { CheckedOut } from '../../../../src/wings/fleet/stores/checked-out.ts';
import { censusOf, difference } from '../../../../src/wings/fleet/stores/compare.ts';
import type { FleetStores } from '../../../../src/wings/fleet/stores/stores.ts';
import { noPostgres, type OwnDatabase, openStores, ownDatabase, putStore, textsOf } from '../own-database.ts';

const by = { actor: 'job:test' };
const FILES = { 'a.md': 'one\n', 'topics/b.md': 'two\n', 'logs/2026/11/2026-11-20.md': '- first\n' };

describe.skipIf(noPostgres)(`stores in the database ${noPostgres}`, () => {
  let database: OwnDatabase;
  let here: FleetStores;
  let there: FleetStores;
  const sent: number[] = [];

  beforeAll(async () => {
    database = await ownDatabase();
    here = await openStores(database.url, { onSent: (bytes) => sent.push(bytes) });
    there = await openStores(database.url);
  });

  afterAll(async () => {
    await here?.close();
    await there?.close();
    await database?.drop();
  });

  async function checkOut(stores: FleetStores, id: string): Promise<CheckedOut> {
    const checkedOut = await stores.checkOut(id);
    onTestFinished(() => checkedOut.close());
    return checkedOut;
  }

  async function sameEverywhere(id: string): Promise<void> {
    const [one, other] = [await checkOut(here, id), await checkOut(there, id)];
    expect(difference(censusOf(one.store), censusOf(other.store))).toBeNull();
  }

  test('a check-out holds every file; what one commits, the other has after one look', async () => {
    const id = await putStore(here, FILES);
    const [one, other] = [await checkOut(here, id), await checkOut(there, id)];
    expect(await textsOf(there, id)).toEqual(FILES);
    await one.commit(by, () => ({
      files: [
        { path: 'a.md', change: (text) => `${text}more\n` },
        { path: 'new/c.md', change: () => 'three\n' },
        { path: 'b2.md', from: 'topics/b.md', change: (text) => text },
      ],
    }));
    expect(await other.store.read('a.md')).toBe('one\n');
    expect(await other.refresh()).toBe(true);
    expect(await other.refresh()).toBe(false);
    const after = {
      'a.md': 'one\nmore\n',
      'new/c.md': 'three\n',
      'b2.md': 'two\n',
      'logs/2026/11/2026-11-20.md': '- first\n',
    };
    expect(await Promise.all(Object.keys(after).map((path) => other.store.read(path)))).toEqual(Object.values(after));
    expect(await other.store.list()).toEqual(Object.keys(after).sort());
    expect(await textsOf(there, id)).toEqual(after);
    expect(difference(censusOf(one.store), censusOf(other.store))).toBeNull();
  });

  test('a check-out without a change sends nothing and makes no revision', async () => {
    const id = await putStore(here, FILES);
    const one = await checkOut(here, id);
    sent.splice(0);
    expect(await one.change((store) => store.read('a.md'))).toBe('one\n');
    await one.refresh();
    expect([sent, one.revision]).toEqual([[], 0]);
    expect(await database.ask('select revision, owner from store where id = $1', [id])).toEqual([
      { revision: 0, owner: null },
    ]);
  });

  test('two writers of one store at once: every line of both is there, in an order that both agree on', async () => {
    const id = await putStore(here, FILES);
    const [one, other] = [await checkOut(here, id), await checkOut(there, id)];
    const add = (writer: CheckedOut, line: string) =>
      writer.commit(by, () => ({ files: [{ path: 'a.md', change: (text) => `${text}${line}\n` }] }));
    const lines = Array.from({ length: 8 }, (_, n) => `line ${n}`);
    await Promise.all(lines.map((line, n) => add(n % 2 ? one : other, line)));
    const text = await (await checkOut(here, id)).store.read('a.md');
    expect(text?.split('\n').sort()).toEqual(['', ...lines, 'one'].sort());
    await sameEverywhere(id);
    expect(await database.ask('select revision from store where id = $1', [id])).toEqual([{ revision: 8 }]);
  });

  test('what work throws takes everything back, and the copy goes on', async () => {
    const id = await putStore(here, FILES);
    const one = await checkOut(here, id);
    const failing = one.change(async (store) => {
      await store.write(by, { path: 'a.md', text: 'half' });
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    await one.commit(by, () => ({ files: [{ path: 'b2.md', change: () => 'x' }] }));
    expect(await textsOf(there, id)).toEqual({ ...FILES, 'b2.md': 'x' });
    await sameEverywhere(id);
  });

  test.each([
    ['changed', (dir: string) => writeFileSync(join(dir, 'a.md'), 'edited')],
    ['added', (dir: string) => writeFileSync(join(dir, 'stranger.md'), 'edited')],
    ['emptied', (dir: string) => writeFileSync(join(dir, 'a.md'), '')],
  ])('a file that somebody %s in a copy is no edit: the copy is thrown away', async (_, spoil) => {
    const id = await putStore(here, FILES);
    const one = await checkOut(here, id);
    const { dir } = one.store;
    spoil(dir);
    await one.commit(by, () => ({ files: [{ path: 'topics/b.md', change: () => 'changed\n' }] }));
    expect(existsSync(dir)).toBe(false);
    expect(await textsOf(there, id)).toEqual({ ...FILES, 'topics/b.md': 'changed\n' });
  });

  test('after a redaction the secret is in no row of the database, nor in a copy that was brought on', async () => {
    const secret = 'hunter2-correct-horse';
    const id = await putStore(here, { ...FILES, 'secrets.md': `the password is ${secret}\n` });
    const [one, other] = [await checkOut(here, id), await checkOut(there, id)];
    await one.commit(by, () => ({ files: [{ path: 'a.md', change: (text) => `${text}${secret}\n` }] }));
    const holding = async () => {
      const [{ n }] = (await database.ask<{ n: string }>(
        `select (select count(*) from page where position($1::bytea in bytes) > 0)
          + (select count(*) from file where position($1::bytea in bytes) > 0) as n`,
        [Buffer.from(secret)],
      )) as [{ n: string }];
      return Number(n);
    };
    expect(await holding()).toBeGreaterThan(2);
    const done = await one.change((store) =>
      redactMatches(scrubOf(secret), { store, home: join(store.dir, '..'), now: new Date() }),
    );
    expect(done).toMatchObject({ files: ['a.md', 'secrets.md'], remaining: [] });
    expect(await holding()).toBe(0);
    await other.refresh();
    expect(await other.store.read('secrets.md')).toBe('the password is [redacted]\n');
    expect(other.store.ledger.bytes().includes(secret)).toBe(false);
    await sameEverywhere(id);
  });

  test('a copy without its mark, or of a process that is dead, is thrown away', async () => {
    const id = await putStore(here, FILES);
    const one = await checkOut(here, id);
    const root = here.deps.place.root;
    const own = join(one.store.dir, '../..');
    mkdirSync(join(own, 'half-1'));
    mkdirSync(join(root, encodeURIComponent(`${(await import('node:os')).hostname()}:999999999:1`), 'x-1'), {
      recursive: true,
    });
    const again = await openStores(database.url);
    await again.close();
    expect(readdirSync(root)).toHaveLength(2);
    const { sweepCopies } = await import('../../../../src/wings/fleet/stores/copy.ts');
    sweepCopies(root);
    expect(readdirSync(root)).toHaveLength(1);
    expect(existsSync(join(own, 'half-1'))).toBe(false);
    expect(await one.store.read('a.md')).toBe('one\n');
  });

  test('a store is not brought to a newer ledger while a process is alive that could not read it', async () => {
    const id = await putStore(here, FILES);
    const [{ version }] = (await database.ask<{ version: number }>(
      'update store set ledger_version = ledger_version - 1 where id = $1 returning ledger_version as version',
      [id],
    )) as [{ version: number }];
    await database.ask("insert into member values ('older', $1, clock_timestamp())", [version]);
    await expect(here.checkOut(id)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('older'),
    });
    await database.ask("update member set seen_at = seen_at - interval '2 minutes' where id = 'older'");
    const one = await checkOut(here, id);
    const add = () => one.commit(by, () => ({ files: [{ path: 'a.md', change: (text) => `${text}more\n` }] }));
    await database.ask("update member set seen_at = clock_timestamp() where id = 'older'");
    await expect(add()).rejects.toMatchObject({ code: 'fenced' });
    await expect(add()).rejects.toMatchObject({ code: 'conflict' });
    await database.ask("delete from member where id = 'older'");
    await add();
    expect(await database.ask('select ledger_version from store where id = $1', [id])).toEqual([
      { ledger_version: version + 1 },
    ]);
    await database.ask('update store set ledger_version = ledger_version + 1 where id = $1', [id]);
    await expect(there.checkOut(id)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('newer'),
    });
  });

  test.each(['fence = fence + 1', 'revision = revision + 1', "lineage = 'another'"])(
    'where another moved the row meanwhile (%s) nothing of a change is kept',
    async (moved) => {
      const id = await putStore(here, FILES);
      const one = await checkOut(here, id);
      const late = one.change(async (store) => {
        await store.write(by, { path: 'a.md', text: 'late\n' });
        await database.ask(`update store set ${moved}, name = 'moved' where id = $1`, [id]);
      });
      await expect(late).rejects.toMatchObject({ code: 'fenced' });
      await database.ask("update store set name = id where name = 'moved'");
      expect(await textsOf(there, id)).toEqual(FILES);
    },
  );

  test('after the database was restored no copy is brought on from a revision that is gone', async () => {
    const id = await putStore(here, FILES);
    const one = await checkOut(here, id);
    const write = (text: string) => one.commit(by, () => ({ files: [{ path: 'a.md', change: () => text }] }));
    await write('kept\n');
    const tables = ['store', 'page', 'file', 'checkin'];
    for (const table of tables) await database.ask(`create table kept_${table} as select * from ${table}`);
    await write('lost\n');
    for (const table of tables) {
      await database.ask(`delete from ${table}`);
      await database.ask(`insert into ${table} select * from kept_${table}`);
      await database.ask(`drop table kept_${table}`);
    }
    await database.ask(
      'update store set lineage = gen_random_uuid()::text, fence = fence + 1000000, owner = null, until = null',
    );
    await one.commit(by, () => ({ files: [{ path: 'new.md', change: () => 'new\n' }] }));
    expect(await textsOf(there, id)).toEqual({ ...FILES, 'a.md': 'kept\n', 'new.md': 'new\n' });
    await sameEverywhere(id);
  });
});
