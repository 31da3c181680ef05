// What a person does to a file of the memory by a command, on both engines: each is an action that undo takes back.

import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { edit, pin, restore } from '../../jobs/edit.ts';
import { undo } from '../../jobs/undo.ts';
import type { MemoryFiles } from '../../src/memory/memory-files.ts';
import { dream } from '../support/acts.ts';
import { ENGINE_TAKEN, inWorld, JOB, skipped, USER, type World } from '../support/memory-world.ts';

interface Here extends World {
  dir: string;
  memory: string;
  files: MemoryFiles;
  read(path: string): string;
  takeBack(job: string | null): Promise<unknown>;
}

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = (name: string, work: (here: Here) => Promise<void>) =>
    test.skipIf(skipped(engine) !== '')(name, () =>
      inWorld(engine, async (world) => {
        const { dir, row, files } = await world.withDirectory();
        const read = (path: string) => readFileSync(join(dir, path), 'utf8');
        const takeBack = async (job: string | null) =>
          (await undo({ job: job ?? '' }, { memories: world.memories })).outcome;
        await work({ ...world, dir, memory: row.id, files, read, takeBack });
      }),
    );

  it('a text takes the place of the version that it was made from, and is taken back', async (here) => {
    const { memory, files } = here;
    const { version } = await files.create(USER, { path: 'a.md', text: '- one\r\n' });
    const edited = await edit({ memory, path: 'a.md', base: version, make: (now) => `${now}- two\r\n` }, here);
    expect(here.read('a.md')).toBe('- one\r\n- two\r\n');
    expect(edited).toMatchObject({ path: 'a.md', version: (await files.read({ path: 'a.md' }))?.version });
    const row = await here.db.get('select kind, outcome, started_by, status from job where id = ?', edited.job ?? '');
    expect(row).toEqual({ kind: 'edit', outcome: 'edited', started_by: 'person', status: 'completed' });
    expect(await here.takeBack(edited.job)).toBe('undone');
    expect(here.read('a.md')).toBe('- one\r\n');
    const made = await edit({ memory, path: 'b.md', base: null, make: () => 'new\n' }, here);
    await here.takeBack(made.job);
    expect(await files.read({ path: 'b.md' })).toBeNull();
  });

  it('what is not the version that was shown, or is gone, is left alone; what stays the same is no action', async (here) => {
    const { memory, files } = here;
    const { version } = await files.create(USER, { path: 'a.md', text: '- one\n' });
    writeFileSync(join(here.dir, 'a.md'), '- by hand\n');
    const mine = () => edit({ memory, path: 'a.md', base: version, make: () => '- mine\n' }, here);
    await expect(mine()).rejects.toMatchObject({ code: 'conflict' });
    expect(here.read('a.md')).toBe('- by hand\n');
    await files.delete(USER, { path: 'a.md' });
    await expect(mine()).rejects.toMatchObject({ code: 'conflict' });
    const { version: again } = await files.create(USER, { path: 'a.md', text: '- one\n' });
    const same = await edit({ memory, path: 'a.md', base: again, make: (now) => now }, here);
    expect(same).toEqual({ job: null, path: 'a.md', version: again });
    expect(await here.db.all('select id from job')).toEqual([]);
  });

  it('a pinned topic is left alone by jobs until it is not, and both are taken back', async (here) => {
    const { memory, files } = here;
    await dream(here, memory, { agreements: ['Use pnpm.'] });
    const topic = here.read('agreements.md');
    const write = (text: string) => files.write(JOB, { path: 'agreements.md', text });
    const pinned = await pin({ memory, path: 'agreements.md', pinned: true }, here);
    await expect(write('x')).rejects.toMatchObject({ code: 'refused' });
    expect((await pin({ memory, path: 'agreements.md', pinned: true }, here)).job).toBeNull();
    const unpinned = await pin({ memory, path: 'agreements.md', pinned: false }, here);
    expect(here.read('agreements.md')).toContain('pinned: false');
    await here.takeBack(unpinned.job);
    await expect(write('x')).rejects.toMatchObject({ code: 'refused' });
    await here.takeBack(pinned.job);
    expect(here.read('agreements.md')).toBe(topic);
    expect((await pin({ memory, path: 'none.md', pinned: true }, here)).job).toBeNull();
  });

  it('a file is made what it was in any version, where it stands now, and what stood there unseen is a version', async (here) => {
    const { memory, files, dir } = here;
    const { version } = await files.create(USER, { path: 'a.md', text: 'one\n' });
    await files.write(USER, { path: 'a.md', text: 'two\n' });
    renameSync(join(dir, 'a.md'), join(dir, 'b.md'));
    await files.list();
    writeFileSync(join(dir, 'b.md'), 'by hand\n');
    const back = await restore({ memory, version }, here);
    expect([back.path, here.read('b.md')]).toEqual(['b.md', 'one\n']);
    const { items } = await files.versions({ content: true });
    expect(items.map(({ text }) => text)).toEqual(['one\n', 'by hand\n', 'two\n', 'two\n', 'one\n']);
    await here.takeBack(back.job);
    expect(here.read('b.md')).toBe('by hand\n');
  });

  it('a deleted file comes back as the file it was, unless another stands there; a version without a text does not', async (here) => {
    const { memory, files, dir } = here;
    const { id, version } = await files.create(USER, { path: 'a.md', text: 'one\n' });
    rmSync(join(dir, 'a.md'));
    await restore({ memory, version }, here);
    expect(await files.read({ path: 'a.md' })).toMatchObject({ id, text: 'one\n' });
    await files.delete(USER, { path: 'a.md' });
    const [deleted] = (await files.versions()).items;
    for (const none of [deleted?.id ?? '', 'memver_x'])
      await expect(restore({ memory, version: none }, here)).rejects.toMatchObject({ code: 'bad-input' });
    await files.create(USER, { path: 'a.md', text: 'another\n' });
    await expect(restore({ memory, version }, here)).rejects.toMatchObject({ code: 'conflict' });
    expect(here.read('a.md')).toBe('another\n');
  });
});
