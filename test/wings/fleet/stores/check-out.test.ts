// Stores in the database: what a check-out holds, what a commit sends, and what two writers see of each other.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { thisProcess } from '../../../../src/base/process.ts';
import { CheckedOut } from '../../../../src/wings/fleet/stores/checked-out.ts';
import { censusOf, difference } from '../../../../src/wings/fleet/stores/move.ts';
import { waysTaken } from '../../../support/depth.ts';
import { tempDir } from '../../../support/temp.ts';
import { heldStore, noPostgres, openStores, putStore, textsOf, withStores } from '../own-database.ts';

const by = { actor: 'job:test' };
const FILES = { 'a.md': 'one\n', 'topics/b.md': 'two\n', 'logs/2026/11/2026-11-20.md': '- first\n' };

describe.skipIf(noPostgres)(`stores in the database ${noPostgres}`, () => {
  const sent: number[] = [];
  const own = withStores({ here: { onSent: (bytes) => sent.push(bytes) }, there: {} });

  /** What is read here is what a new check-out holds. */
  async function sameEverywhere(id: string): Promise<void> {
    const fresh = await CheckedOut.open(id, own.there.deps);
    try {
      for (const stores of [own.here, own.there]) {
        const store = await heldStore(stores, id);
        await store.refresh();
        expect(difference(censusOf(store), censusOf(fresh))).toBeNull();
        expect(store.ledger.bytes().equals(fresh.ledger.bytes())).toBe(true);
      }
    } finally {
      await fresh.close();
    }
  }

  test('a check-out holds every file; what one commits, the other has after one look', async () => {
    const id = await putStore(own.here, FILES);
    const [one, other] = [await heldStore(own.here, id), await heldStore(own.there, id)];
    expect(await textsOf(own.there, id)).toEqual(FILES);
    await one.commit(by, () => ({
      files: [
        { path: 'a.md', change: (text) => `${text}more\n` },
        { path: 'new/c.md', change: () => 'three\n' },
        { path: 'b2.md', from: 'topics/b.md', change: (text) => text },
      ],
    }));
    expect(await other.read('a.md')).toBe('one\n');
    expect(await other.refresh()).toBe(true);
    expect(await other.refresh()).toBe(false);
    const after = {
      'a.md': 'one\nmore\n',
      'new/c.md': 'three\n',
      'b2.md': 'two\n',
      'logs/2026/11/2026-11-20.md': '- first\n',
    };
    expect(await Promise.all(Object.keys(after).map((path) => other.read(path)))).toEqual(Object.values(after));
    expect(await other.list()).toEqual(Object.keys(after).sort());
    expect(await textsOf(own.there, id)).toEqual(after);
    expect(difference(censusOf(one), censusOf(other))).toBeNull();
  });

  test('a check-out without a change sends nothing and makes no revision', async () => {
    const id = await putStore(own.here, FILES);
    const one = await heldStore(own.here, id);
    sent.splice(0);
    expect(await one.asOne((store) => store.read('a.md'))).toBe('one\n');
    await one.refresh();
    expect([sent, one.revision]).toEqual([[], 0]);
    expect(await own.database.ask('select revision, owner from store where id = $1', [id])).toEqual([
      { revision: 0, owner: null },
    ]);
  });

  test('what work throws takes everything back, and the copy goes on', async () => {
    const id = await putStore(own.here, FILES);
    const one = await heldStore(own.here, id);
    const failing = one.asOne(async (store) => {
      await store.write(by, { path: 'a.md', text: 'half' });
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    await one.commit(by, () => ({ files: [{ path: 'b2.md', change: () => 'x' }] }));
    expect(await textsOf(own.there, id)).toEqual({ ...FILES, 'b2.md': 'x' });
    await sameEverywhere(id);
  });

  test.each(
    waysTaken([
      ['changed', '.', 'a.md', 'edited'],
      ['emptied', '.', 'a.md', ''],
      ['added', '.', 'stranger.md', 'edited'],
      ['changed', '../work/memory', 'a.md', 'edited'],
      ['emptied', '../work/memory', 'a.md', ''],
      ['added', '../work/memory', 'stranger.md', 'edited'],
    ] as const),
  )('a file that somebody %s in a copy (%s/%s) is no edit: it is in no change', async (_, copy, path, text) => {
    const id = await putStore(own.here, FILES);
    const one = await heldStore(own.here, id);
    const write = (now: string) => one.commit(by, () => ({ files: [{ path: 'topics/b.md', change: () => now }] }));
    await write('first\n');
    writeFileSync(join(one.dir, copy, path), text);
    expect(await one.read('a.md')).toBe('one\n');
    await write('second\n');
    await one.commit(by, () => ({ files: [{ path: 'a.md', change: (now) => `${now}more\n` }] }));
    const after = { ...FILES, 'a.md': 'one\nmore\n', 'topics/b.md': 'second\n' };
    expect(await textsOf(own.there, id)).toEqual(after);
    expect(await one.list()).toEqual(Object.keys(after).sort());
    expect(Object.keys(after).map((each) => readFileSync(join(one.dir, each), 'utf8'))).toEqual(Object.values(after));
    await sameEverywhere(id);
  });

  test('copies of a process that is dead are thrown away, those of another part of this one are not', async () => {
    const home = tempDir();
    const root = join(home, 'copies');
    mkdirSync(join(root, encodeURIComponent(`${hostname()}:999999999:1`), 'member', 'x-1'), { recursive: true });
    const one = await openStores(own.database.url, { home });
    const id = await putStore(one, FILES);
    const store = await one.open(id);
    const other = await openStores(own.database.url, { home });
    expect(readdirSync(root)).toEqual([encodeURIComponent(thisProcess())]);
    expect(await store.read('a.md')).toBe('one\n');
    await other.close();
    expect(existsSync(store.dir)).toBe(true);
    await one.close();
    expect(readdirSync(root)).toEqual([]);
  });

  test('a copy without its mark is made anew before it is read', async () => {
    const id = await putStore(own.here, FILES);
    const one = await heldStore(own.here, id);
    const { dir, ledger } = one;
    rmSync(join(dir, '..', 'mark.json'));
    writeFileSync(join(dir, 'a.md'), 'edited');
    writeFileSync(join(dir, 'stranger.md'), 'edited');
    expect(await one.list()).toEqual(Object.keys(FILES).sort());
    expect([one.dir, one.ledger]).toEqual([dir, ledger]);
    expect([readdirSync(dir).includes('stranger.md'), readFileSync(join(dir, 'a.md'), 'utf8')]).toEqual([
      false,
      'one\n',
    ]);
    await sameEverywhere(id);
  });

  test.each(waysTaken(['fence = fence + 1', 'revision = revision + 1', "lineage = 'another'"]))(
    'where another moved the row meanwhile (%s) nothing of a change is kept',
    async (moved) => {
      const id = await putStore(own.here, FILES);
      const one = await heldStore(own.here, id);
      const late = one.asOne(async (store) => {
        await store.write(by, { path: 'a.md', text: 'late\n' });
        await own.database.ask(`update store set ${moved}, name = 'moved' where id = $1`, [id]);
      });
      await expect(late).rejects.toMatchObject({ code: 'fenced' });
      await own.database.ask("update store set name = id where name = 'moved'");
      expect(await textsOf(own.there, id)).toEqual(FILES);
    },
  );

  test('after the database was restored no copy is brought on from a revision that is gone', async () => {
    const id = await putStore(own.here, FILES);
    const one = await heldStore(own.here, id);
    const write = (text: string) => one.commit(by, () => ({ files: [{ path: 'a.md', change: () => text }] }));
    await write('kept\n');
    const tables = ['store', 'page', 'file', 'checkin'];
    for (const table of tables) await own.database.ask(`create table kept_${table} as select * from ${table}`);
    await write('lost\n');
    for (const table of tables) {
      await own.database.ask(`delete from ${table}`);
      await own.database.ask(`insert into ${table} select * from kept_${table}`);
      await own.database.ask(`drop table kept_${table}`);
    }
    await own.database.ask(
      'update store set lineage = gen_random_uuid()::text, fence = fence + 1000000, owner = null, until = null',
    );
    await one.commit(by, () => ({ files: [{ path: 'new.md', change: () => 'new\n' }] }));
    expect(await textsOf(own.there, id)).toEqual({ ...FILES, 'a.md': 'kept\n', 'new.md': 'new\n' });
    await sameEverywhere(id);
  });
});
