import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { lookIntoLedger } from '../../../src/memory/ledger/ledger.ts';
import { openStore } from '../../../src/memory/open.ts';
import { ReadOnlyStore } from '../../../src/memory/store/live-files.ts';
import { copyBefore } from '../../support/before.ts';
import { treeHash } from '../../support/mcp.ts';
import { tempDir } from '../../support/temp.ts';

const clock = fixedClock('2026-11-21T02:00:00Z');

async function workedIn(dir: string): Promise<string> {
  const store = await openStore(dir, { clock });
  await store.write({ actor: 'person' }, { path: 'a.md', text: '- a\n' });
  store.close();
  return dir;
}

test('a ledger that is looked into refuses every change and leaves nothing behind', async () => {
  const dir = await workedIn(tempDir());
  const before = treeHash(dir);
  const ledger = lookIntoLedger(dir);
  expect(ledger?.get('select count(*) as n from version')?.n).toBe(1);
  expect(() => ledger?.run("update version set actor = 'nobody'")).toThrow(/readonly database/);
  expect(() => ledger?.transaction(() => ledger.run('delete from memory'))).toThrow(/readonly database/);
  expect(() => ledger?.compact()).toThrow();
  ledger?.close();
  expect(treeHash(dir)).toBe(before);
  expect(readdirSync(join(dir, '.nocturne'))).not.toContain('ledger.db-wal');
});

test('what a writer that was killed left in its write-ahead log is read, and left as it is', async () => {
  const dir = await workedIn(tempDir());
  const writer = await openStore(dir, { clock });
  await writer.write({ actor: 'person' }, { path: 'a.md', text: '- of the log\n' });
  const killed = tempDir();
  mkdirSync(join(killed, '.nocturne'));
  const files = ['a.md', '.nocturne/ledger.db', '.nocturne/ledger.db-wal'];
  for (const path of files) copyFileSync(join(dir, path), join(killed, path));
  writer.close();
  const before = files.map((path) => readFileSync(join(killed, path)));
  const store = new ReadOnlyStore(killed);
  expect(await store.lookUp('a.md')).toMatchObject({
    text: '- of the log\n',
    version: expect.stringMatching(/^memver_/),
  });
  store.close();
  expect(files.map((path) => readFileSync(join(killed, path)))).toEqual(before);
});

test('it knows ids and versions of what the store wrote, and shows an edit made since without a version', async () => {
  const dir = await workedIn(tempDir());
  const store = new ReadOnlyStore(dir);
  const known = await store.lookUp('a.md');
  expect(known).toMatchObject({ path: 'a.md', text: '- a\n', version: expect.stringMatching(/^memver_/) });
  writeFileSync(join(dir, 'a.md'), '- b\n');
  writeFileSync(join(dir, 'new.md'), '- new\n');
  expect(await store.lookUp('A.md')).toMatchObject({ id: known?.id, path: 'a.md', text: '- b\n', version: null });
  expect(await store.lookUp('new.md')).toMatchObject({ id: null, version: null });
  expect(await store.lookUp('none.md')).toBeNull();
  expect(await store.list()).toEqual(['a.md', 'new.md']);
  store.close();
});

test('a ledger of a newer nocturne is left alone: the files are shown without what it knows', async () => {
  const dir = await workedIn(tempDir());
  const db = new Database(join(dir, '.nocturne/ledger.db'));
  db.pragma('user_version = 999');
  db.close();
  const store = new ReadOnlyStore(dir);
  expect(store.ledger.all('select * from memory')).toEqual([]);
  expect(await store.lookUp('a.md')).toMatchObject({ id: null, text: '- a\n' });
  store.close();
});

test('a ledger of an earlier schema is shown as it is once it is taken in, and stays as it was', async () => {
  const { memory } = copyBefore('waiting');
  const path = join(memory, '.nocturne/ledger.db');
  const before = readFileSync(path);
  const store = new ReadOnlyStore(memory);
  expect(store.ledger.all("select state from entry where state = 'forgotten'")).toHaveLength(1);
  expect(await store.lookUp('logging.md')).toMatchObject({ id: expect.any(String), version: expect.any(String) });
  expect(() => store.ledger.run('delete from entry')).toThrow();
  store.close();
  expect(readFileSync(path)).toEqual(before);
  expect(readdirSync(join(memory, '.nocturne')).sort()).toEqual(['dreams', 'ledger.db']);
});

test('a directory that is not there is an empty one, and is not made', async () => {
  const dir = join(tempDir(), 'none');
  const store = new ReadOnlyStore(dir);
  expect([await store.list(), await store.lookUp('a.md'), existsSync(dir)]).toEqual([[], null, false]);
  store.close();
});
