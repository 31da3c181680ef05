// What happens in a directory past nocturne, in every order: names, places that are taken, files that are gone, what cannot be
// written. Heads and files are one in the end, and no text is lost or doubled.

import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { commit, lookInto } from '../../src/memory/commit.ts';
import { findFaults } from '../../src/memory/damage-check.ts';
import type { MemoryFiles } from '../../src/memory/memory-files.ts';
import { ENGINE_TAKEN, inWorld, JOB, skipped, USER } from '../support/memory-world.ts';
import { dirWith } from '../support/temp.ts';
import { makeUnwritable } from '../support/unwritable.ts';

/** Path and text of each file on the disk. */
function onDisk(dir: string): Record<string, string> {
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((item) => item.isFile() && !item.parentPath.includes('.nocturne') && !item.name.startsWith('.'))
    .map((item) => join(item.parentPath, item.name));
  return Object.fromEntries(paths.sort().map((path) => [path.slice(dir.length + 1), readFileSync(path, 'utf8')]));
}

/** The same of the heads, after a look. */
async function inRows(files: MemoryFiles): Promise<Record<string, string>> {
  const { items } = await files.list({ content: true });
  return Object.fromEntries(items.flatMap((item) => ('text' in item ? [[item.path, item.text]] : [])));
}

/** Git is at work until this is undone: what is committed meanwhile waits. */
function whileGit(dir: string): () => void {
  dirWith({ '.git/HEAD': 'ref: refs/heads/main\n', '.git/index.lock': '' }, dir);
  return () => rmSync(join(dir, '.git'), { recursive: true });
}

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('a name that changes by case alone changes on the disk, too', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      await files.rename(USER, { from: 'a.md', to: 'A.md' });
      expect(onDisk(dir)).toEqual({ 'A.md': 'one\n' });
      expect(await inRows(files)).toEqual({ 'A.md': 'one\n' });
      renameSync(join(dir, 'A.md'), join(dir, 'a.md'));
      await files.write(USER, { path: 'A.md', text: 'two\n' });
      expect(await inRows(files)).toEqual({ 'a.md': 'two\n' });
      expect(onDisk(dir)).toEqual({ 'a.md': 'two\n' });
    }));

  it('a file is read again until the given clock is well past its last change', async () => {
    let nowMs = Date.now();
    const clock = { now: () => new Date(nowMs) };
    await inWorld(
      engine,
      async ({ db, withDirectory }) => {
        const { files } = await withDirectory();
        const looks = async () => {
          await files.list();
          return (await db.get<{ seen: string | null }>('select seen from file'))?.seen ?? null;
        };
        await files.create(USER, { path: 'a.md', text: 'one\n' });
        expect(await looks()).toBeNull();
        nowMs += 60_000;
        expect(await looks()).toMatch(/^\d+:4:/);
      },
      { clock },
    );
  });

  it('of two files whose names differ by case alone one is the memory, and the other is left alone', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      dirWith({ 'A.md': 'other\n', 'b.md': 'b\n', 'B.md': 'B\n' }, dir);
      expect((await inRows(files))['a.md']).toBe('one\n');
      await files.write(USER, { path: 'a.md', text: 'two\n' });
      expect(readFileSync(join(dir, 'A.md'), 'utf8')).toBe('other\n');
      expect(Object.keys(await inRows(files))).toHaveLength(2);
      expect(Object.keys(onDisk(dir))).toHaveLength(4);
    }));

  it('a file that is made by hand where one was committed meanwhile is merged with it', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      const end = whileGit(dir);
      await files.create(USER, { path: 'a.md', text: 'same\nours\n' });
      end();
      dirWith({ 'a.md': 'theirs\nsame\n' }, dir);
      expect(await inRows(files)).toEqual({ 'a.md': 'theirs\nsame\nours\n' });
      expect(onDisk(dir)).toEqual({ 'a.md': 'theirs\nsame\nours\n' });
    }));

  it('an edit of a file that was deleted meanwhile brings it back, unless its name is another file by then', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      for (const path of ['a.md', 'b.md']) await files.create(USER, { path, text: 'old\n' });
      const end = whileGit(dir);
      for (const path of ['a.md', 'b.md']) await files.delete(USER, { path });
      await files.create(USER, { path: 'b.md', text: 'new\n' });
      dirWith({ 'a.md': 'old\nby hand\n', 'b.md': 'old\nby hand\n' }, dir);
      end();
      const rows = await inRows(files);
      expect(rows['a.md']).toBe('old\nby hand\n');
      expect(rows['b.md']?.split('\n')).toEqual(expect.arrayContaining(['by hand', 'new']));
      expect(onDisk(dir)).toEqual(rows);
    }));

  it('files that change places, or take the place of one that goes, all stand where they should', () =>
    inWorld(engine, async ({ memories, withDirectory }) => {
      const { dir, row, files } = await withDirectory();
      for (const path of ['a.md', 'b.md', 'c.md']) await files.create(USER, { path, text: `${path}\n` });
      const end = whileGit(dir);
      await files.rename(USER, { from: 'a.md', to: 'x.md' });
      await files.rename(USER, { from: 'b.md', to: 'a.md' });
      await files.rename(USER, { from: 'x.md', to: 'b.md' });
      await files.delete(USER, { path: 'c.md' });
      await files.create(USER, { path: 'c.md', text: 'another\n' });
      end();
      await lookInto(memories, { memory: row.id, paths: 'all' });
      const wanted = { 'a.md': 'b.md\n', 'b.md': 'a.md\n', 'c.md': 'another\n' };
      expect(onDisk(dir)).toEqual(wanted);
      expect(await inRows(files)).toEqual(wanted);
    }));

  it('a file that is renamed here and edited there, or made where it goes, keeps both texts once', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      for (const path of ['a.md', 'b.md']) await files.create(USER, { path, text: `${path}\n` });
      const end = whileGit(dir);
      await files.rename(USER, { from: 'a.md', to: 'c.md' });
      await files.rename(USER, { from: 'b.md', to: 'd.md' });
      end();
      dirWith({ 'a.md': 'a.md\nby hand\n', 'd.md': 'in its way\n' }, dir);
      const rows = await inRows(files);
      expect(rows).toEqual({ 'c.md': 'a.md\nby hand\n', 'd.md': 'in its way\nb.md\n' });
      expect(onDisk(dir)).toEqual(rows);
    }));

  it('a file that is moved by hand to a name that was taken here meanwhile is merged with what has it', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'a\n' });
      for (const path of ['d.md', 'e.md', 'f.md']) await files.create(USER, { path, text: `${path}\n` });
      const end = whileGit(dir);
      await files.create(USER, { path: 'b.md', text: 'b\n' });
      renameSync(join(dir, 'a.md'), join(dir, 'b.md'));
      end();
      const rows = await inRows(files);
      expect([rows['a.md'], rows['b.md']]).toEqual([undefined, 'a\nb\n']);
      expect(onDisk(dir)).toEqual(rows);
    }));

  it('an empty file is a file: it is deleted, made, and written like any other', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      for (const path of ['a.md', 'b.md', 'c.md']) await files.create(USER, { path, text: '' });
      expect(onDisk(dir)).toEqual({ 'a.md': '', 'b.md': '', 'c.md': '' });
      rmSync(join(dir, 'a.md'));
      writeFileSync(join(dir, 'd.md'), '');
      expect(Object.keys(await inRows(files))).toEqual(['b.md', 'c.md', 'd.md']);
      await files.write(USER, { path: 'b.md', text: 'b\n' });
      await files.write(USER, { path: 'b.md', text: '' });
      expect(onDisk(dir)).toEqual({ 'b.md': '', 'c.md': '', 'd.md': '' });
    }));

  it('a commit to a file that is missing with many others brings it back whole', () =>
    inWorld(engine, async ({ db, withDirectory }) => {
      const { dir, files } = await withDirectory();
      for (let n = 0; n < 8; n += 1) await files.create(USER, { path: `t${n}.md`, text: `${n}\n` });
      for (let n = 0; n < 8; n += 1) rmSync(join(dir, `t${n}.md`));
      await files.changeAll(USER, [{ path: 't0.md', make: (current) => `${current}more\n` }]);
      expect(onDisk(dir)).toEqual({ 't0.md': '0\nmore\n' });
      expect(await db.all("select 1 from version where op = 'deleted'")).toEqual([]);
      expect(Object.keys(await inRows(files))).toHaveLength(8);
    }));

  it('a directory that is not there, or is not that memory any more, loses nothing', () =>
    inWorld(engine, async ({ db, withDirectory }) => {
      const { dir, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      renameSync(dir, `${dir}.away`);
      expect(await inRows(files)).toEqual({ 'a.md': 'one\n' });
      await files.write(USER, { path: 'a.md', text: 'one\ntwo\n' });
      expect(existsSync(dir)).toBe(false);
      dirWith({ '.nocturne/id': 'memory_other\n', 'b.md': 'other\n' }, dir);
      expect(await inRows(files)).toEqual({ 'a.md': 'one\ntwo\n' });
      rmSync(dir, { recursive: true });
      renameSync(`${dir}.away`, dir);
      expect(await inRows(files)).toEqual({ 'a.md': 'one\ntwo\n' });
      expect(onDisk(dir)).toEqual({ 'a.md': 'one\ntwo\n' });
      expect(await db.all("select 1 from version where actor_kind = 'external'")).toEqual([]);
    }));

  it('what cannot be written waits and is named; the commit is done, and other files are not kept from theirs', () =>
    inWorld(engine, async ({ memories, withDirectory }) => {
      const { dir, row, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      const made = await commit(memories, { memory: row.id, paths: [] }, JOB, async () => {
        mkdirSync(join(dir, 'b.md'));
        return { files: ['a.md', 'b.md'].map((path) => ({ path, make: () => 'two\n' })) };
      });
      expect(made.files).toMatchObject([{ path: 'a.md' }, { path: 'b.md' }]);
      const faults = await findFaults(memories, row);
      expect(faults.map(({ kind, where }) => [kind, where])).toEqual([['behind', 'b.md']]);
      expect(onDisk(dir)).toEqual({ 'a.md': 'two\n' });
      await files.write(USER, { path: 'a.md', text: 'three\n' });
      expect((await files.read({ path: 'b.md' }).catch(() => null))?.text ?? 'two\n').toBe('two\n');
      rmSync(join(dir, 'b.md'), { recursive: true });
      expect(await inRows(files)).toEqual({ 'a.md': 'three\n', 'b.md': 'two\n' });
      expect(onDisk(dir)).toEqual({ 'a.md': 'three\n', 'b.md': 'two\n' });
    }));

  it('no link inside the directory makes two memories of one file', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      await files.create(USER, { path: 'sub/a.md', text: 'one\n' });
      symlinkSync(join(dir, 'sub/a.md'), join(dir, 'link.md'));
      symlinkSync(join(dir, 'sub'), join(dir, 'linked'));
      for (const path of ['link.md', 'linked/a.md', 'linked/b.md'])
        await expect(files.write(USER, { path, text: 'x\n' })).rejects.toMatchObject({ code: 'bad-input' });
      expect(await inRows(files)).toEqual({ 'sub/a.md': 'one\n' });
    }));

  it('what a program writes into a file that was deleted under it brings the file back', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      linkSync(join(dir, 'a.md'), join(dir, '.held'));
      await files.delete(USER, { path: 'a.md' });
      writeFileSync(join(dir, '.held'), 'one\nlate\n');
      expect(await inRows(files)).toEqual({ 'a.md': 'one\nlate\n' });
      expect(onDisk(dir)).toEqual({ 'a.md': 'one\nlate\n' });
    }));

  it('a file that an editor empties before it writes it is taken in once it is written', () =>
    inWorld(engine, async ({ db, withDirectory }) => {
      const { dir, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      const editor = new Worker(
        `const { truncateSync, writeFileSync } = require('node:fs');
         const { parentPort, workerData: path } = require('node:worker_threads');
         truncateSync(path);
         parentPort.postMessage('emptied');
         Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
         writeFileSync(path, 'one\\ntwo\\n');`,
        { eval: true, workerData: join(dir, 'a.md') },
      );
      const isDone = once(editor, 'exit');
      await once(editor, 'message');
      await files.list();
      await isDone;
      expect(await inRows(files)).toEqual({ 'a.md': 'one\ntwo\n' });
      expect(await db.all('select 1 from version where size = 0')).toEqual([]);
    }));

  it('what a crash left aside is put back, whatever became of its directory', () =>
    inWorld(engine, async ({ memories, withDirectory }) => {
      const { dir, row, files } = await withDirectory();
      const { id, sha } = await files.create(USER, { path: 'sub/a.md', text: 'one\n' });
      mkdirSync(join(dir, '.nocturne/aside'), { recursive: true });
      renameSync(join(dir, 'sub/a.md'), join(dir, `.nocturne/aside/${id}.${sha}.taking`));
      rmSync(join(dir, 'sub'), { recursive: true });
      await lookInto(memories, { memory: row.id, paths: 'all' });
      expect(onDisk(dir)).toEqual({ 'sub/a.md': 'one\n' });
      expect(await inRows(files)).toEqual({ 'sub/a.md': 'one\n' });
    }));

  it('a file that is too large, or no text, stays as it is', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      const bytes = Buffer.from([0x66, 0xfc, 0x72, 0x0a, 0xff, 0x0a]);
      writeFileSync(join(dir, 'a.md'), bytes);
      writeFileSync(join(dir, 'large.md'), '');
      truncateSync(join(dir, 'large.md'), 17 * 2 ** 20);
      await files.changeAll(USER, [{ path: 'a.md', make: (current) => `first\n${current}` }]);
      expect(readFileSync(join(dir, 'a.md'))).toEqual(Buffer.concat([Buffer.from('first\n'), bytes]));
      expect(Object.keys(await inRows(files))).toEqual(['a.md']);
      await expect(files.write(USER, { path: 'large.md', text: 'x' })).rejects.toMatchObject({ code: 'storage' });
    }));

  it('a path that no directory could have is refused without one, too', () =>
    inWorld(engine, async ({ store }) => {
      const { files } = await store();
      await files.create(USER, { path: 'a.md', text: 'x' });
      for (const path of ['../a.md', '/a.md', 'a//b.md', '.hidden.md', 'a\\b.md', 'con.md', 'a\u0000.md', '']) {
        await expect(files.write(USER, { path, text: 'x' })).rejects.toMatchObject({ code: 'bad-input' });
        await expect(files.rename(USER, { from: 'a.md', to: path })).rejects.toMatchObject({ code: 'bad-input' });
      }
    }));

  it('a list has every file, however its name is written', () =>
    inWorld(engine, async ({ store }) => {
      const { files } = await store();
      const paths = ['\uff01/a.md', '\uff01.md', '\u{1f600}.md', '\u{1f600}/b.md', 'z.md'];
      for (const path of paths) await files.create(USER, { path, text: 'x' });
      for (const depth of [0, 1, 2]) {
        const whole = (await files.list({ depth })).items.map((item) => ('id' in item ? item.path : item.prefix));
        expect(whole).toHaveLength(paths.length);
        const paged: string[] = [];
        for (let after: string | undefined; ; ) {
          const page = await files.list({ depth, limit: 1, after });
          paged.push(...page.items.map((item) => ('id' in item ? item.path : item.prefix)));
          if (page.next === null) break;
          after = page.next;
        }
        expect(paged).toEqual(whole);
      }
    }));

  it('a directory whose memory was deleted becomes that of another', () =>
    inWorld(engine, async ({ db, withDirectory }) => {
      const { row, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      await db.run('update memory set deleted_at = ? where id = ?', row.created_at, row.id);
      const again = await withDirectory();
      expect(again.row.id).not.toBe(row.id);
      expect(await inRows(again.files)).toEqual({ 'a.md': 'one\n' });
    }));

  it('who holds a copy is told where it asks for it once more, instead of waiting for itself', () =>
    inWorld(engine, async ({ memories, withDirectory }) => {
      const { row, files } = await withDirectory();
      const within = memories.copyOf(row.id)?.hold(() => files.create(USER, { path: 'a.md', text: 'x' }));
      await expect(within).rejects.toThrow('held by who asks');
    }));

  it('a directory that nobody can write to is read all the same', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      writeFileSync(join(dir, 'a.md'), 'two\n');
      if (!makeUnwritable(dir)) return;
      expect(await inRows(files)).toEqual({ 'a.md': 'two\n' });
      const { version } = await files.write(USER, { path: 'a.md', text: 'three\n' });
      expect(await files.read({ path: 'a.md' })).toMatchObject({ version, text: 'three\n' });
    }));
});
