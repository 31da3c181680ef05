import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { addSupport, supportsOf } from '../../../src/memory/ledger/entries.ts';
import { shaOf } from '../../../src/memory/ledger/version-rows.ts';
import { openStore } from '../../../src/memory/open.ts';
import type { Limits, Store } from '../../../src/memory/store/store.ts';
import { tempDir } from '../../support/temp.ts';

const clock = fixedClock('2026-11-20T10:00:00Z');
const person = { actor: 'person' };
const job = { actor: 'job:test' };
const tool = { actor: 'tool:test' };

async function open(dir = tempDir(), limits: Partial<Limits> = {}): Promise<Store> {
  return openStore(dir, { clock, limits });
}

async function holding(files: Record<string, string>, limits: Partial<Limits> = {}): Promise<Store> {
  const store = await open(tempDir(), limits);
  for (const [path, text] of Object.entries(files)) await store.write(person, { path, text });
  return store;
}

function versions(store: Store, path: string): string[] {
  return store.ledger
    .all('select op, actor from version where path = ? order by rowid', path)
    .map((row) => `${row.op} by ${row.actor}`);
}

function outside(store: Store, path: string, text: string | Buffer): void {
  writeFileSync(join(store.dir, path), text);
}

test('list shows what is below a prefix, and folds what is deeper into directories', async () => {
  const store = await holding({
    'a.md': '',
    'notes/b.md': '',
    'notes/deep/c.md': '',
    'notes-old/d.md': '',
    'e.txt': '',
  });
  outside(store, 'f.txt', 'not ours');
  expect(await store.list()).toEqual(['a.md', 'e.txt', 'notes-old/d.md', 'notes/b.md', 'notes/deep/c.md']);
  expect(await store.list({ prefix: 'notes/' })).toEqual(['notes/b.md', 'notes/deep/c.md']);
  expect(await store.list({ prefix: 'notes/', depth: 1 })).toEqual(['notes/b.md', 'notes/deep/']);
  expect(await store.list({ depth: 1 })).toEqual(['a.md', 'e.txt', 'notes-old/', 'notes/']);
  await expect(store.list({ prefix: 'notes' })).rejects.toMatchObject({ code: 'bad-input' });
});

test('looking a file up tells its id, version, hash and size, of a file made outside too', async () => {
  const store = await open();
  expect(await store.lookUp('a.md')).toBeNull();
  outside(store, 'a.md', 'ä\n');
  const found = await store.lookUp('a.md');
  expect(found).toMatchObject({ path: 'a.md', text: 'ä\n', contentSha256: shaOf('ä\n'), sizeBytes: 3 });
  expect(found?.id).toMatch(/^mem_/);
  expect(found?.version).toMatch(/^memver_/);
  expect(await store.lookUp('a.md')).toEqual(found);
});

test('preconditions hold or change nothing, and say what was found', async () => {
  const store = await holding({ 'a.md': 'one\n' });
  const mustNotExist = { mustNotExist: true } as const;
  const stale = { contentSha256: shaOf('zero\n') };
  const refused = { code: 'conflict', message: expect.stringContaining(shaOf('one\n')) };
  await expect(store.write(tool, { path: 'a.md', text: 'x', precondition: mustNotExist })).rejects.toMatchObject(
    refused,
  );
  await expect(store.write(tool, { path: 'a.md', text: 'x', precondition: stale })).rejects.toMatchObject(refused);
  await expect(store.edit(tool, { path: 'a.md', old: 'one', new: 'x', precondition: stale })).rejects.toMatchObject(
    refused,
  );
  await expect(store.rename(tool, { from: 'a.md', to: 'b.md', precondition: stale })).rejects.toMatchObject(refused);
  await expect(store.remove(tool, { path: 'a.md', precondition: stale })).rejects.toMatchObject(refused);
  await expect(store.write(tool, { path: 'b.md', text: 'x', precondition: stale })).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('no file'),
  });
  expect(await store.list()).toEqual(['a.md']);
  const fresh = { contentSha256: shaOf('one\n') };
  await store.edit(tool, { path: 'a.md', old: 'one', new: 'two', precondition: fresh });
  expect(await store.read('a.md')).toBe('two\n');
  await store.write(tool, { path: 'b.md', text: 'b\n', precondition: mustNotExist });
  expect(await store.read('b.md')).toBe('b\n');
});

test('what changes nothing writes no version, and passes whatever its precondition says', async () => {
  const store = await holding({ 'a.md': 'one\n' });
  await store.write(tool, { path: 'a.md', text: 'one\n', precondition: { contentSha256: shaOf('zero\n') } });
  await store.edit(tool, { path: 'a.md', old: 'one', new: 'one' });
  await store.rename(tool, { from: 'a.md', to: 'a.md' });
  expect(versions(store, 'a.md')).toEqual(['created by person']);
});

test('a rename keeps the memory’s id and what its lines rest on, and overwrites nothing', async () => {
  const store = await holding({ 'a.md': 'one\n', 'b.md': 'two\n' });
  const before = await store.lookUp('a.md');
  await store.commit(job, () => ({
    files: [],
    rows: (transaction) => addSupport(transaction, { path: 'a.md', line: 'l', entry: 'e' }),
  }));
  await expect(store.rename(tool, { from: 'a.md', to: 'b.md' })).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('b.md is there already'),
  });
  await store.rename(tool, { from: 'a.md', to: 'deep/c.md' });
  expect(await store.list()).toEqual(['b.md', 'deep/c.md']);
  expect((await store.lookUp('deep/c.md'))?.id).toBe(before?.id);
  expect(supportsOf(store.ledger, 'deep/c.md')).toHaveLength(1);
  await store.write(tool, { path: 'a.md', text: 'new\n' });
  expect((await store.lookUp('a.md'))?.id).not.toBe(before?.id);
});

test('a removed file can be written again, and a rename may take its place', async () => {
  const store = await holding({ 'a.md': 'one\n', 'b.md': 'two\n' });
  await store.remove(tool, { path: 'a.md' });
  await expect(store.remove(tool, { path: 'a.md' })).rejects.toMatchObject({ code: 'bad-input' });
  const id = (await store.lookUp('b.md'))?.id;
  await store.rename(tool, { from: 'b.md', to: 'a.md' });
  expect((await store.lookUp('a.md'))?.id).toBe(id);
  await store.remove(tool, { path: 'a.md' });
  await store.write(tool, { path: 'a.md', text: 'three\n' });
  expect(readFileSync(join(store.dir, 'a.md'), 'utf8')).toBe('three\n');
});

test('a file cannot be written below a file, or over a directory', async () => {
  const store = await holding({ 'a.md': 'one\n', 'dir/b.md': 'two\n' });
  for (const path of ['a.md/c.md', 'dir']) {
    await expect(store.write(tool, { path, text: 'x' })).rejects.toMatchObject({ code: 'bad-input' });
  }
  expect(await store.read('a.md')).toBe('one\n');
});

test('a link inside the directory means the file it leads to, which stays one memory', async () => {
  const store = await holding({ 'a.md': 'one\n' });
  symlinkSync('a.md', join(store.dir, 'link.md'));
  await store.write(tool, { path: 'link.md', text: 'two\n' });
  expect(await store.read('a.md')).toBe('two\n');
  expect(store.ledger.all('select path from memory')).toEqual([{ path: 'a.md' }]);
});

test('any file that was edited outside is a version of its own after the next commit, or opening', async () => {
  const store = await holding({
    'a.md': 'one\n',
    'b.md': 'two\n',
    'c.md': 'three\n',
    'e.md': 'five\n',
    'f.md': 'six\n',
  });
  outside(store, 'a.md', 'ONE\n');
  outside(store, 'logs.md', 'new\n');
  rmSync(join(store.dir, 'b.md'));
  await store.write(tool, { path: 'c.md', text: 'THREE\n' });
  expect(versions(store, 'a.md').at(-1)).toBe('modified by external');
  expect(versions(store, 'b.md').at(-1)).toBe('deleted by external');
  expect(versions(store, 'logs.md')).toEqual(['created by external']);
  store.close();
  outside(store, 'a.md', 'One\n');
  expect(versions(await open(store.dir), 'a.md')).toHaveLength(3);
});

test('an edit of the same size within the same tick of the clock is noticed', async () => {
  const store = await holding({ 'a.md': '0000\n', 'b.md': '\n' });
  for (let n = 1; n <= 50; n += 1) {
    outside(store, 'a.md', `${String(n).padStart(4, '0')}\n`);
    await store.write(tool, { path: 'b.md', text: `${n}\n` });
  }
  expect(versions(store, 'a.md')).toHaveLength(51);
});

test('a file that was renamed outside keeps its id, and what its lines rest on', async () => {
  const store = await holding({ 'a.md': 'one\n', 'b.md': 'two\n', 'c.md': 'three\n' });
  const before = await store.lookUp('a.md');
  mkdirSync(join(store.dir, 'new'));
  renameSync(join(store.dir, 'a.md'), join(store.dir, 'new/z.md'));
  await store.write(tool, { path: 'b.md', text: 'TWO\n' });
  expect((await store.lookUp('new/z.md'))?.id).toBe(before?.id);
  expect(versions(store, 'new/z.md')).toEqual(['modified by external']);
  expect(versions(store, 'a.md')).toEqual(['created by person']);
});

const FIVE = { 'a.md': 'a\n', 'b.md': 'b\n', 'c.md': 'c\n', 'd.md': 'd\n', 'e.md': 'e\n' };

test.each([
  ['removed', (path: string) => rmSync(path)],
  ['emptied', (path: string) => writeFileSync(path, '')],
])('many files %s at once are missing, not deleted, until they are back', async (_, wipe) => {
  const store = await holding(FIVE);
  for (const path of ['a.md', 'b.md', 'c.md']) wipe(join(store.dir, path));
  expect(await store.missing()).toEqual(['a.md', 'b.md', 'c.md']);
  await store.write(job, { path: 'd.md', text: 'D\n' });
  store.close();
  const again = await open(store.dir);
  expect(await again.missing()).toEqual(['a.md', 'b.md', 'c.md']);
  expect(versions(again, 'a.md')).toEqual(['created by person']);
  for (let n = 0; n < 20; n += 1) await again.write(job, { path: `more-${n}.md`, text: `${n}\n` });
  expect(await again.missing()).toHaveLength(3);
  for (const path of ['a.md', 'b.md', 'c.md']) outside(again, path, `${path.slice(0, 1)}\n`);
  expect(await again.missing()).toEqual([]);
  expect(versions(again, 'a.md')).toEqual(['created by person']);
});

test('missing files become deletions when a person says so, and can be written anew before', async () => {
  const store = await holding(FIVE);
  for (const path of Object.keys(FIVE)) rmSync(join(store.dir, path));
  await store.write(job, { path: 'a.md', text: 'new\n' });
  expect(await store.missing()).toEqual(['b.md', 'c.md', 'd.md', 'e.md']);
  expect(await store.acceptMissing()).toEqual(['b.md', 'c.md', 'd.md', 'e.md']);
  expect(await store.missing()).toEqual([]);
  expect(versions(store, 'b.md')).toEqual(['created by person', 'deleted by external']);
  expect(await store.list()).toEqual(['a.md']);
});

test('jobs never change what is pinned; a person and a tool may', async () => {
  const pinned = '---\nname: a\npinned: true\n---\n- one\n';
  const store = await holding({ 'a.md': pinned, 'pinned/b.md': 'b\n' });
  await expect(store.edit(job, { path: 'a.md', old: 'one', new: 'x' })).rejects.toMatchObject({ code: 'refused' });
  await expect(store.remove(job, { path: 'pinned/b.md' })).rejects.toMatchObject({ code: 'refused' });
  await expect(store.rename(job, { from: 'a.md', to: 'c.md' })).rejects.toMatchObject({ code: 'refused' });
  await expect(store.write(job, { path: 'pinned/c.md', text: 'c\n' })).rejects.toMatchObject({ code: 'refused' });
  await store.edit(tool, { path: 'a.md', old: 'one', new: 'two' });
  expect(await store.read('a.md')).toBe(pinned.replace('one', 'two'));
});

test('a directory goes with the last file that was removed or moved from it, and only then', async () => {
  const store = await holding({ 'a/b/c/d.md': 'd\n', 'a/e.md': 'e\n', 'f/g.md': 'g\n' });
  mkdirSync(join(store.dir, 'mine'));
  await store.remove(tool, { path: 'a/b/c/d.md' });
  expect(readdirSync(join(store.dir, 'a'))).toEqual(['e.md']);
  await store.rename(tool, { from: 'f/g.md', to: 'a/g.md' });
  rmSync(join(store.dir, 'a/g.md'));
  await store.remove(tool, { path: 'a/e.md' });
  expect(readdirSync(store.dir).sort()).toEqual(['.nocturne', 'mine']);
});

test('a memory has at most 102,400 bytes; what a job must write and what a person writes may have more', async () => {
  const store = await open();
  const most = 'x'.repeat(102_400);
  await store.write(tool, { path: 'a.md', text: most });
  await expect(store.write(tool, { path: 'a.md', text: `${most}x` })).rejects.toMatchObject({ code: 'bad-input' });
  for (const path of ['logs/2026/11/2026-11-20.md', 'MEMORY.md', 'index/project.md']) {
    await store.write(job, { path, text: `${most}x` });
  }
  outside(store, 'b.md', `${most}xyz`);
  await store.edit(tool, { path: 'b.md', old: 'xyz', new: 'y' });
  await expect(store.edit(tool, { path: 'b.md', old: 'y', new: 'yz' })).rejects.toMatchObject({ code: 'bad-input' });
  await store.edit(person, { path: 'b.md', old: 'y', new: 'yz' });
});

test('count and size of all memories are capped, and a refusal takes the whole commit back', async () => {
  const store = await holding({ 'a.md': '12345' }, { memories: 2, totalBytes: 10 });
  await expect(store.write(tool, { path: 'b.md', text: '123456' })).rejects.toMatchObject({ code: 'bad-input' });
  const tooMany = store.commit(tool, () => ({
    files: ['b.md', 'c.md'].map((path) => ({ path, change: () => '1' })),
  }));
  await expect(tooMany).rejects.toMatchObject({ code: 'bad-input' });
  expect(await store.list()).toEqual(['a.md']);
  await store.write(tool, { path: 'b.md', text: '12345' });
  await store.edit(tool, { path: 'b.md', old: '345', new: '' });
});

test('bytes that are no UTF-8 are not changed on the way, and kept as a version where they are written over', async () => {
  const bytes = Buffer.from([0x66, 0xff, 0xfe, 0x0a]);
  const store = await holding({ 'b.md': 'b\n' });
  outside(store, 'a.md', bytes);
  await store.rename(tool, { from: 'b.md', to: 'c.md' });
  expect(readFileSync(join(store.dir, 'a.md'))).toEqual(bytes);
  await store.write(tool, { path: 'a.md', text: 'x' });
  expect(readFileSync(join(store.dir, 'a.md'), 'utf8')).toBe('x');
  const kept = store.ledger.all('select content from version where path = ? order by rowid', 'a.md');
  expect(kept[0]?.content).toEqual(bytes);
});

test('what is kept is private to the user, and version control keeps the reports and leaves the ledger out', async () => {
  const store = await holding({ 'deep/a.md': 'a\n' });
  for (const name of ['ledger.db', 'ledger.db-wal', 'lock.db', '.gitignore']) {
    expect(statSync(join(store.dir, '.nocturne', name)).mode & 0o777).toBe(0o600);
  }
  for (const name of ['.nocturne', '.nocturne/aside', 'deep']) {
    expect(statSync(join(store.dir, name)).mode & 0o777).toBe(0o700);
  }
  expect(readFileSync(join(store.dir, '.nocturne/.gitignore'), 'utf8')).toBe('/*\n!/.gitignore\n!/dreams/\n');
  expect(existsSync(join(store.dir, '.nocturne/aside/new.tmp'))).toBe(false);
});
