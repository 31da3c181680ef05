// The one commit over a working copy and without one, on both engines: what stands, what was edited meanwhile, what is refused.

import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commit, commitAll } from '../../src/memory/commit.ts';
import { MemoryFiles } from '../../src/memory/memory-files.ts';
import { API, ENGINES, inWorld, JOB, skipped, USER } from '../support/memory-world.ts';

const versionsOf = (at: { all: (sql: string, ...values: string[]) => Promise<unknown[]> }, memory: string) =>
  at.all('select op, path, actor_kind as by, size from version where memory = ? order by seq', memory);

describe.each(ENGINES)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('a commit writes versions, heads and files; the same again writes nothing', () =>
    inWorld(engine, async ({ db, withDirectory }) => {
      const { dir, row, files } = await withDirectory();
      const made = await files.create(USER, { path: 'notes/one.md', text: '# One\n' });
      expect(readFileSync(join(dir, 'notes/one.md'), 'utf8')).toBe('# One\n');
      const again = await files.write(USER, { path: 'notes/one.md', text: '# One\n' });
      expect(again.version).toBe(made.version);
      await files.write(USER, { path: 'notes/one.md', text: '# One\n\ntwo\n' });
      await files.rename(USER, { from: 'notes/one.md', to: 'two.md' });
      expect(existsSync(join(dir, 'notes'))).toBe(false);
      const { id } = (await files.read({ path: 'two.md' })) ?? {};
      expect(id).toBe(made.id);
      await files.delete(USER, { path: 'two.md' });
      expect(existsSync(join(dir, 'two.md'))).toBe(false);
      expect(await files.read({ id: made.id })).toBeNull();
      const ops = (await versionsOf(db, row.id)) as { op: string; path: string }[];
      expect(ops.map(({ op, path }) => `${op} ${path}`)).toEqual([
        'created notes/one.md',
        'modified notes/one.md',
        'modified two.md',
        'deleted two.md',
      ]);
    }));

  it('an edit by hand is a version before the commit that follows it, and both stand', () =>
    inWorld(engine, async ({ db, memories, withDirectory }) => {
      const { dir, row, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      writeFileSync(join(dir, 'a.md'), 'one\nby hand\n');
      await commit(memories, { memory: row.id, paths: ['a.md'] }, JOB, async () => ({
        files: [{ path: 'a.md', make: (text) => `${text}by job\n` }],
      }));
      expect(readFileSync(join(dir, 'a.md'), 'utf8')).toBe('one\nby hand\nby job\n');
      const by = (await versionsOf(db, row.id)) as { by: string }[];
      expect(by.map((each) => each.by)).toEqual(['user', 'external', 'job']);
    }));

  it('what a program saves that had read before a commit takes nothing of it out', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      const read = readFileSync(join(dir, 'a.md'), 'utf8');
      await files.write(JOB, { path: 'a.md', text: 'one\nby job\n' });
      writeFileSync(join(dir, 'a.md'), `${read}by program\n`);
      const text = (await files.read({ path: 'a.md' }))?.text ?? '';
      expect(text.split('\n')).toEqual(expect.arrayContaining(['one', 'by job', 'by program']));
      expect(readFileSync(join(dir, 'a.md'), 'utf8')).toBe(text);
    }));

  it('where lines collide the edit by hand wins, and what lost is a version', () =>
    inWorld(engine, async ({ db, memories, withDirectory }) => {
      const { dir, row, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      const { collisions } = await commit(memories, { memory: row.id, paths: [] }, JOB, async () => {
        // Saved while the commit is under way.
        writeFileSync(join(dir, 'a.md'), 'one by hand\n');
        return { files: [{ path: 'a.md', make: () => 'one by job\n' }] };
      });
      expect(collisions).toEqual(['a.md']);
      expect(readFileSync(join(dir, 'a.md'), 'utf8')).toBe('one by hand\n');
      const kept = await db.all<{ content: Buffer }>('select content from version where memory = ?', row.id);
      expect(kept.map(({ content }) => String(content))).toContain('one by job\n');
    }));

  it('a plan that throws changes nothing, rows included', () =>
    inWorld(engine, async ({ db, memories, withDirectory }) => {
      const { dir, row, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      const failed = commit(memories, { memory: row.id, paths: ['a.md', 'b.md'] }, JOB, async () => ({
        files: [
          { path: 'a.md', make: () => 'two\n' },
          { path: 'b.md', make: () => 'new\n' },
        ],
        async rows(change) {
          await change.put('rests', { memory: row.id, file: 'x', line: 'y', source: 'z' });
          throw new Error('no');
        },
      }));
      await expect(failed).rejects.toThrow('no');
      expect(readFileSync(join(dir, 'a.md'), 'utf8')).toBe('one\n');
      expect(existsSync(join(dir, 'b.md'))).toBe(false);
      expect(await db.all('select * from rests')).toEqual([]);
      expect(await versionsOf(db, row.id)).toHaveLength(1);
    }));

  it('who has lost the claim changes nothing', () =>
    inWorld(engine, async ({ db, memories, store }) => {
      const { row, files } = await store();
      await db.run(
        "insert into inbox (kind, key, payload, priority, since, not_before, owner, fence) values ('extract', 's', '{}', 1, '', '', 'w1', 2)",
      );
      const id = Number((await db.get<{ id: number }>('select id from inbox'))?.id);
      const plan = async () => ({ files: [{ path: 'a.md', make: () => 'x\n' }] });
      const claim = { id, owner: 'w1', fence: 1 };
      const at = { memory: row.id, paths: [] };
      await expect(commit(memories, at, { ...JOB, claim }, plan)).rejects.toMatchObject({ code: 'fenced' });
      expect(await files.read({ path: 'a.md' })).toBeNull();
      await commit(memories, at, { ...JOB, claim: { ...claim, fence: 2 } }, plan);
      expect((await files.read({ path: 'a.md' }))?.text).toBe('x\n');
    }));

  it('two memories change together, or neither', () =>
    inWorld(engine, async ({ memories, withDirectory }) => {
      const [one, two] = [await withDirectory('one'), await withDirectory('two')];
      const both = (text: string, fails = false) =>
        commitAll(
          memories,
          [one, two].map(({ row }) => ({ memory: row.id, paths: ['a.md'] })),
          JOB,
          async () => [
            { files: [{ path: 'a.md', make: () => text }] },
            {
              files: [
                {
                  path: 'a.md',
                  make: () => {
                    if (fails) throw new Error('no');
                    return text;
                  },
                },
              ],
            },
          ],
        );
      await both('1\n');
      await expect(both('2\n', true)).rejects.toThrow('no');
      for (const { dir } of [one, two]) expect(readFileSync(join(dir, 'a.md'), 'utf8')).toBe('1\n');
    }));

  it('a file that was moved by hand keeps its id; a new one is taken in, a deleted one is deleted', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      const { id } = await files.create(USER, { path: 'a.md', text: 'one\n' });
      for (const name of ['b', 'c', 'd', 'e']) await files.create(USER, { path: `${name}.md`, text: `${name}\n` });
      mkdirSync(join(dir, 'sub'));
      renameSync(join(dir, 'a.md'), join(dir, 'sub/z.md'));
      rmSync(join(dir, 'b.md'));
      writeFileSync(join(dir, 'new.md'), 'new\n');
      renameSync(join(dir, 'c.md'), join(dir, 'C.md'));
      const { items } = await files.list();
      expect(items.map((item) => 'path' in item && item.path)).toEqual(['C.md', 'd.md', 'e.md', 'new.md', 'sub/z.md']);
      expect((await files.read({ path: 'sub/z.md' }))?.id).toBe(id);
    }));

  it('many files gone at once are missing, not deleted, until a person says so, or they are back', () =>
    inWorld(engine, async ({ db, memories, withDirectory }) => {
      const { dir, row, files } = await withDirectory();
      for (let n = 0; n < 8; n += 1) await files.create(USER, { path: `t${n}.md`, text: `${n}\n` });
      for (let n = 0; n < 7; n += 1) rmSync(join(dir, `t${n}.md`));
      expect((await files.list()).items).toHaveLength(8);
      expect(await db.all('select path from file where missing_since is not null')).toHaveLength(7);
      writeFileSync(join(dir, 't0.md'), '0\n');
      await files.list();
      expect(await db.all('select path from file where missing_since is not null')).toHaveLength(6);
      const copy = memories.copyOf(row.id);
      expect(await copy?.hold(() => copy.acceptMissing())).toHaveLength(6);
      expect((await files.list()).items).toHaveLength(2);
    }));

  it('what git left in conflict, and all while git works, is left alone', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      await files.create(USER, { path: 'b.md', text: 'b\n' });
      const conflict = '<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> main\n';
      writeFileSync(join(dir, 'a.md'), conflict);
      await files.list();
      const edit = files.write(JOB, { path: 'a.md', text: 'job\n' });
      await expect(edit).rejects.toMatchObject({ code: 'conflict' });
      expect(readFileSync(join(dir, 'a.md'), 'utf8')).toBe(conflict);
      writeFileSync(join(dir, 'a.md'), 'ours and theirs\n');
      expect((await files.read({ path: 'a.md' }))?.text).toBe('ours and theirs\n');
      mkdirSync(join(dir, '.git'));
      writeFileSync(join(dir, '.git/HEAD'), 'ref: refs/heads/main\n');
      writeFileSync(join(dir, '.git/index.lock'), '');
      await files.write(USER, { path: 'b.md', text: 'b 2\n' });
      expect(readFileSync(join(dir, 'b.md'), 'utf8')).toBe('b\n');
      rmSync(join(dir, '.git/index.lock'));
      await files.list();
      expect(readFileSync(join(dir, 'b.md'), 'utf8')).toBe('b 2\n');
    }));

  it('a directory that was moved is the same memory, one that was copied another', () =>
    inWorld(engine, async ({ memories, withDirectory }) => {
      const { dir, row, files } = await withDirectory('first');
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      cpSync(dir, `${dir}-copy`, { recursive: true });
      const copied = await memories.ofDirectory(`${dir}-copy`, { scope: 'project', name: 'copy' });
      expect(copied.id).not.toBe(row.id);
      renameSync(dir, `${dir}-moved`);
      const moved = await memories.ofDirectory(`${dir}-moved`, { scope: 'project', name: 'moved' });
      expect(moved.id).toBe(row.id);
      await new MemoryFiles(memories, moved).write(USER, { path: 'a.md', text: 'two\n' });
      expect(readFileSync(`${dir}-moved/a.md`, 'utf8')).toBe('two\n');
      expect(readFileSync(`${dir}-copy/a.md`, 'utf8')).toBe('one\n');
    }));

  it('no link leads out of the directory', () =>
    inWorld(engine, async ({ home, withDirectory }) => {
      const { dir, files } = await withDirectory();
      mkdirSync(join(home, 'outside'));
      writeFileSync(join(home, 'outside/secret.md'), 'mine\n');
      symlinkSync(join(home, 'outside'), join(dir, 'out'));
      symlinkSync(join(home, 'outside/secret.md'), join(dir, 'link.md'));
      expect((await files.list()).items).toEqual([]);
      for (const path of ['out/a.md', 'out/secret.md', 'link.md', '../x.md', '/etc/x.md', 'a/../../x.md'])
        await expect(files.write(USER, { path, text: 'x\n' })).rejects.toMatchObject({ code: 'bad-input' });
      expect(readFileSync(join(home, 'outside/secret.md'), 'utf8')).toBe('mine\n');
    }));

  it('an edit through an old handle, after the file was replaced, is merged in', () =>
    inWorld(engine, async ({ withDirectory }) => {
      const { dir, files } = await withDirectory();
      await files.create(USER, { path: 'a.md', text: 'one\n' });
      // A second name stands for a handle that a program keeps open.
      linkSync(join(dir, 'a.md'), join(dir, '.held'));
      await files.write(JOB, { path: 'a.md', text: 'one\nby job\n' });
      writeFileSync(join(dir, '.held'), 'by hand\none\n');
      await files.list();
      expect((await files.read({ path: 'a.md' }))?.text).toBe('by hand\none\nby job\n');
    }));

  it('paths are one file however they are cased, and cannot stand on one another', () =>
    inWorld(engine, async ({ store }) => {
      const { files } = await store();
      await files.create(USER, { path: 'Notes/Ä.md', text: '1\n' });
      expect((await files.read({ path: 'notes/a\u0308.MD' }))?.path).toBe('Notes/Ä.md');
      for (const path of ['notes/ä.md', 'notes', 'Notes/Ä.md/deeper.md'])
        await expect(files.create(API, { path, text: '2\n' })).rejects.toMatchObject({ code: 'conflict' });
      await files.create(API, { path: 'b.md', text: '2\n' });
      const rename = files.rename(API, { from: 'b.md', to: 'notes/ä.md' });
      await expect(rename).rejects.toMatchObject({ code: 'conflict' });
    }));

  it('what does not stand as it was expected to is left alone', () =>
    inWorld(engine, async ({ store }) => {
      const { files } = await store();
      const { sha, version } = await files.create(API, { path: 'a.md', text: 'one\n' });
      await files.write(API, { path: 'a.md', text: 'two\n', if: { sha } });
      const refused = [
        () => files.write(API, { path: 'a.md', text: 'x\n', if: { sha } }),
        () => files.write(API, { path: 'a.md', text: 'x\n', if: { version } }),
        () => files.delete(API, { path: 'a.md', if: { version } }),
        () => files.create(API, { path: 'a.md', text: 'x\n' }),
      ];
      for (const each of refused) await expect(each()).rejects.toMatchObject({ code: 'conflict' });
      expect((await files.read({ path: 'a.md' }))?.text).toBe('two\n');
    }));

  it('jobs leave what is pinned, programs invent no entries, and nobody but a person passes the limits', () =>
    inWorld(
      engine,
      async ({ store }) => {
        const { files } = await store();
        await files.create(USER, { path: 'a.md', text: '---\npinned: true\n---\n- mine\n' });
        await expect(files.write(JOB, { path: 'a.md', text: 'x' })).rejects.toMatchObject({ code: 'refused' });
        const log =
          '- 09:00 **user** Kim\n  > Kim\n  <!-- e_0123456789ab s=s t=t at=2026-03-02T09:00:00.000Z by=human k=stated p=1 m=m h=0 -->\n';
        const path = 'logs/2026/03/2026-03-02.md';
        await expect(files.create(API, { path: 'b.md', text: 'x'.repeat(101) })).rejects.toMatchObject({
          code: 'bad-input',
        });
        await files.create(USER, { path: 'b.md', text: 'x'.repeat(101) });
        await expect(files.create(API, { path: 'c.md', text: 'x' })).rejects.toMatchObject({ code: 'bad-input' });
        await files.delete(API, { path: 'b.md' });
        await files.create(API, { path: 'c.md', text: 'x' });
        await expect(files.create(API, { path, text: log })).rejects.toThrow(/e_0123456789ab|bytes/);
      },
      { limits: { memories: 2, memoryBytes: 100 } },
    ));
});
