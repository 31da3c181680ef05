// A large memory directory: before a commit every file is looked at.

import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { listVersions } from '../../../src/memory/history/versions.ts';
import { openStore } from '../../../src/memory/open.ts';
import type { Store } from '../../../src/memory/store/store.ts';
import { sized } from '../../support/depth.ts';
import { tempDir } from '../../support/temp.ts';

const FILES = sized({ quick: 500, deep: 2_500 });
const clock = fixedClock('2026-11-20T10:00:00Z');
const by = { actor: 'job:test' };
let dir: string;
let store: Store;

const name = (n: number) => `topics/topic-${String(n).padStart(4, '0')}.md`;

/** As it was left long ago: what was written just now is read again anyway. */
function writeLongAgo(path: string, text: string, year = 2020): void {
  writeFileSync(join(dir, path), text);
  utimesSync(join(dir, path), new Date(Date.UTC(year, 0)), new Date(Date.UTC(year, 0)));
}

function outsideVersionsOf(path: string): number {
  return listVersions(store.ledger, { path, actor: 'external' }).versions.length;
}

beforeEach(async () => {
  dir = tempDir();
  mkdirSync(join(dir, 'topics'));
  for (let n = 0; n < FILES; n += 1) writeLongAgo(name(n), `topic ${n}\n`);
  store = await openStore(dir, { clock });
});

afterEach(() => store.close());

test('what is added, removed or renamed outside is noticed before the next commit, wherever it is', async () => {
  writeFileSync(join(dir, 'topics/new.md'), 'new\n');
  rmSync(join(dir, name(FILES - 100)));
  await store.write(by, { path: 'a.md', text: 'a\n' });
  expect(outsideVersionsOf('topics/new.md')).toBe(1);
  expect(outsideVersionsOf(name(FILES - 100))).toBe(2);
});

test('an edit in place of a file that a commit touches is noticed before it', async () => {
  writeLongAgo(name(FILES - 100), 'edited\n', 2021);
  await store.edit(by, { path: name(FILES - 100), old: 'edited', new: 'edited twice' });
  expect(outsideVersionsOf(name(FILES - 100))).toBe(2);
  expect(await store.read(name(FILES - 100))).toBe('edited twice\n');
});

test('edits in place of any files are noticed before the next commit, whatever it touches', async () => {
  for (const n of [0, FILES / 2, FILES - 1]) writeLongAgo(name(n), 'edited\n', 2021);
  await store.write(by, { path: 'a.md', text: 'a\n' });
  expect([0, FILES / 2, FILES - 1].map((n) => outsideVersionsOf(name(n)))).toEqual([2, 2, 2]);
});

test('files emptied all at once are missing, not emptied', async () => {
  for (let n = 0; n < FILES; n += 1) writeLongAgo(name(n), '', 2021);
  await store.write(by, { path: 'a.md', text: 'a\n' });
  expect(await store.missing()).toHaveLength(FILES);
});

test('what was noticed in a commit that was refused is noticed again', async () => {
  writeFileSync(join(dir, 'topics/new.md'), 'new\n');
  const refused = store.commit(by, () => {
    throw new Error('refused');
  });
  await expect(refused).rejects.toThrow('refused');
  writeFileSync(join(dir, 'topics/new.md'), 'newer\n');
  await store.write(by, { path: 'a.md', text: 'a\n' });
  expect(outsideVersionsOf('topics/new.md')).toBe(2);
});

test('a commit that looks at its files alone sees every edit of these, and is refused only for what stands', async () => {
  const own = { ...by, looksAtItsFiles: true };
  const idAt = async (path: string) => (await store.lookUp(path))?.id;
  const moved = await idAt(name(1));
  writeLongAgo(name(0), 'edited\n', 2021);
  writeLongAgo(name(3), 'edited, too\n', 2021);
  renameSync(join(dir, name(1)), join(dir, 'moved.md'));
  await store.edit(own, { path: name(3), old: 'too', new: 'twice' });
  expect([outsideVersionsOf(name(0)), outsideVersionsOf(name(3))]).toEqual([1, 2]);
  // Where it was before nothing stands: so this is refused by none of the files it names.
  await expect(store.remove(own, { path: name(1) })).rejects.toThrow('There is no');
  expect([await idAt('moved.md'), outsideVersionsOf(name(0))]).toEqual([moved, 2]);
  await expect(store.rename(own, { from: 'moved.md', to: name(2) })).rejects.toThrow(/stands at|taken|already/);
});
