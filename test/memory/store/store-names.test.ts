// However a file is spelled, on the disk or by a caller, it has one name, one memory id and one history.

import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { listVersions, restoreVersion } from '../../../src/memory/history/versions.ts';
import { addSupport, supportsOf } from '../../../src/memory/ledger/entries.ts';
import { openStore } from '../../../src/memory/open.ts';
import type { Store } from '../../../src/memory/store/store.ts';
import { tempDir } from '../../support/temp.ts';

const clock = fixedClock('2026-11-20T10:00:00Z');
const person = { actor: 'person' };
const NFC = 'pr\u00fcfung.md';
const NFD = 'pru\u0308fung.md';

async function holding(files: Record<string, string>): Promise<Store> {
  const store = await openStore(tempDir(), { clock });
  for (const [path, text] of Object.entries(files)) await store.write(person, { path, text });
  return store;
}

const rows = (store: Store) => store.ledger.all('select path from memory order by path').map(({ path }) => path);
const told = (store: Store, path: string) =>
  listVersions(store.ledger, { path }).versions.map(({ operation, actor }) => `${operation} by ${actor}`);

test('a file whose name somebody wrote decomposed is one memory, under the composed name', async () => {
  const store = await holding({ 'a.md': 'a\n' });
  writeFileSync(join(store.dir, NFD), 'one\n');
  expect(await store.list()).toEqual(['a.md', NFC]);
  await store.write(person, { path: NFC, text: 'two\n' });
  await store.write(person, { path: NFD, text: 'three\n' });
  writeFileSync(join(store.dir, NFD), 'four\n');
  await store.missing();
  expect(rows(store)).toEqual(['a.md', NFC]);
  expect(told(store, NFC)).toEqual([
    'modified by external',
    'modified by person',
    'modified by person',
    'created by external',
  ]);
  expect(readdirSync(store.dir).filter((name) => name.startsWith('pr'))).toEqual([NFD]);
});

test('a look at a file by another spelling does not make it another memory', async () => {
  const store = await holding({ 'a.md': 'a\n', [NFC]: 'one\n' });
  const id = (await store.lookUp('a.md'))?.id;
  expect(await store.lookUp('A.md')).toMatchObject({ id, path: 'a.md' });
  expect((await store.lookUp(NFD))?.id).toBe((await store.lookUp(NFC))?.id);
  expect(rows(store)).toEqual(['a.md', NFC]);
});

test('a file that was renamed outside in letter case alone keeps its id, and what its lines rest on', async () => {
  const store = await holding({ 'sub/notes.md': 'one\n', 'b.md': 'two\n', 'c.md': 'three\n' });
  const before = await store.lookUp('sub/notes.md');
  await store.commit(person, () => ({
    files: [],
    rows: (transaction) => addSupport(transaction, { path: 'sub/notes.md', line: 'l', entry: 'e' }),
  }));
  renameSync(join(store.dir, 'sub'), join(store.dir, 'Sub'));
  renameSync(join(store.dir, 'Sub/notes.md'), join(store.dir, 'Sub/Notes.md'));
  await store.write(person, { path: 'sub/notes.md', text: 'ONE\n' });
  expect(await store.lookUp('Sub/Notes.md')).toMatchObject({ id: before?.id, text: 'ONE\n' });
  expect(rows(store)).toEqual(['Sub/Notes.md', 'b.md', 'c.md']);
  expect(supportsOf(store.ledger, 'Sub/Notes.md')).toHaveLength(1);
});

test.each([
  ['a file', 'a.md', (dir: string) => dir],
  ['a directory', 'logs/a.md', (dir: string) => join(dir, 'logs')],
])('a link out of the directory in place of %s is a file that is gone, and hinders no other', async (_, path, at) => {
  const store = await holding({ [path]: 'one\n', 'b.md': 'two\n', 'c.md': 'three\n' });
  const elsewhere = tempDir();
  if (path === 'a.md') {
    renameSync(join(at(store.dir), 'a.md'), join(elsewhere, 'a.md'));
    symlinkSync(join(elsewhere, 'a.md'), join(store.dir, 'a.md'));
  } else {
    renameSync(at(store.dir), join(elsewhere, 'logs'));
    symlinkSync(join(elsewhere, 'logs'), at(store.dir));
  }
  await store.write(person, { path: 'b.md', text: 'TWO\n' });
  expect(told(store, path)[0]).toBe('deleted by external');
  expect(await store.list()).toEqual(['b.md', 'c.md']);
  const write = store.write(person, { path, text: 'mine\n' });
  await expect(write).rejects.toMatchObject({ code: 'bad-input', message: expect.stringContaining('leads out') });
  const name = path === 'a.md' ? 'a.md' : 'logs/a.md';
  expect(readFileSync(join(elsewhere, name), 'utf8')).toBe('one\n');
});

test('a file that was moved behind a link inside the directory keeps its id', async () => {
  const store = await holding({ 'a.md': 'one\n', 'b.md': 'two\n' });
  const id = (await store.lookUp('a.md'))?.id;
  mkdirSync(join(store.dir, 'real'));
  renameSync(join(store.dir, 'a.md'), join(store.dir, 'real/a.md'));
  symlinkSync('real/a.md', join(store.dir, 'a.md'));
  await store.write(person, { path: 'b.md', text: 'TWO\n' });
  expect(rows(store)).toEqual(['b.md', 'real/a.md']);
  expect(await store.lookUp('a.md')).toMatchObject({ id, path: 'real/a.md' });
});

test('a version whose place was taken by another file is restored over that one, which stays as a version', async () => {
  const store = await holding({ 'a.md': 'one\n', 'b.md': 'two\n' });
  const [first] = listVersions(store.ledger, { path: 'a.md' }).versions;
  await store.remove(person, { path: 'a.md' });
  await store.rename(person, { from: 'b.md', to: 'a.md' });
  expect(await restoreVersion(store, first?.id ?? '')).toMatchObject({ path: 'a.md', operation: 'modified' });
  expect(await store.read('a.md')).toBe('one\n');
  expect(told(store, 'a.md')).toContain('modified by person');
});
