// Undo of what jobs did to files and rows, on both engines: all of it comes back, or it is said what stays and who it is of.

import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lastJob, undo } from '../../jobs/undo.ts';
import type { FileChange } from '../../src/memory/commit.ts';
import type { MemoryRow } from '../../src/memory/memories.ts';
import type { MemoryFiles } from '../../src/memory/memory-files.ts';
import { withBuiltIndex } from '../../src/memory/memory-index.ts';
import { newTopic } from '../../src/memory/text/topic.ts';
import { act, DAY, dream, LOG, learn, stateOf } from '../support/acts.ts';
import { ENGINE_TAKEN, inWorld, skipped, USER, type World } from '../support/memory-world.ts';

const PNPM = 'Always use pnpm instead of npm.';
const MAIN = 'Never commit to main directly.';

interface Here extends World {
  dir: string;
  row: MemoryRow;
  files: MemoryFiles;
  read(path: string): string;
  takeBack(job: string, more?: { partial?: boolean }): ReturnType<typeof undo>;
  state(): ReturnType<typeof stateOf>;
  learn(turns: Record<string, string | null>, more?: object): Promise<string>;
  dream(topics: Record<string, string[]>): Promise<string>;
}

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = (name: string, work: (here: Here) => Promise<void>) =>
    test.skipIf(skipped(engine) !== '')(name, () =>
      inWorld(engine, async (world) => {
        const { dir, row, files } = await world.withDirectory();
        await work({
          ...world,
          dir,
          row,
          files,
          read: (path) => readFileSync(join(dir, path), 'utf8'),
          takeBack: (job, more) => undo({ job, ...more }, { memories: world.memories }),
          state: () => stateOf(world, row.id),
          learn: (turns, more) => learn(world, row.id, turns, more),
          dream: (topics) => dream(world, row.id, topics),
        });
      }),
    );

  it('a night goes with its topics, support and states, and the same night gives the same again', async (here) => {
    await here.learn({ t1: PNPM, t2: MAIN });
    const before = await here.state();
    const night = await here.dream({ agreements: [PNPM, MAIN] });
    const dreamt = await here.state();
    expect(await here.takeBack(night)).toMatchObject({
      ...{ outcome: 'undone', kind: 'dream', job: night, files: ['agreements.md'], turns: 0, stays: [] },
    });
    expect(await here.state()).toEqual(before);
    expect(existsSync(join(here.dir, 'agreements.md'))).toBe(false);
    await here.dream({ agreements: [PNPM, MAIN] });
    expect((await here.state()).files[0]?.text).toBe(dreamt.files[0]?.text);
  });

  it('an extraction goes with its entries, and its turns are undone, whoever reads the session again', async (here) => {
    const job = await here.learn({ t1: PNPM, t2: null });
    expect(await here.takeBack(job)).toMatchObject({ outcome: 'undone', turns: 2, files: [LOG] });
    const { files, entries, turns } = await here.state();
    expect([files, entries]).toEqual([[], []]);
    expect(turns).toMatchObject([{ state: 'undone' }, { state: 'undone' }]);
  });

  it('the undo of learning again brings back what was there before, and the coverage of the first run', async (here) => {
    await here.learn({ t1: PNPM });
    const before = await here.state();
    const again = await here.learn({ t1: MAIN }, { kind: 'reprocess' });
    expect(await here.takeBack(again)).toMatchObject({ outcome: 'undone', turns: 0 });
    expect(await here.state()).toEqual(before);
  });

  it('an extraction that a night built on is refused, naming the night, and can be undone after it', async (here) => {
    const job = await here.learn({ t1: PNPM });
    const night = await here.dream({ agreements: [PNPM] });
    const before = await here.state();
    expect(await here.takeBack(job)).toMatchObject({
      ...{ outcome: 'refused', undo: null, files: [], turns: 0 },
      stays: [{ kind: 'entry', name: PNPM, by: [`dream ${night}`] }],
    });
    expect(await here.state()).toEqual(before);
    await here.takeBack(night);
    expect(await here.takeBack(job)).toMatchObject({ outcome: 'undone' });
    expect((await here.state()).files).toEqual([]);
  });

  it('in part, an entry that a night placed stays with its lines and its turn, the rest goes', async (here) => {
    const job = await here.learn({ t1: PNPM, t2: MAIN });
    await here.dream({ agreements: [PNPM] });
    const log = here.read(LOG);
    const report = await here.takeBack(job, { partial: true });
    expect(report).toMatchObject({ outcome: 'undone-in-part', turns: 1, stays: [{ kind: 'entry', name: PNPM }] });
    expect(here.read(LOG)).toBe(log.slice(0, log.lastIndexOf('- 09:')));
    const { turns, entries } = await here.state();
    expect(turns).toMatchObject([{ state: 'done' }, { state: 'undone' }]);
    expect(entries).toMatchObject([{ text: PNPM, state: 'placed' }]);
  });

  it('a line that a person changed since is named; in part it stays, and its entry is not sorted in twice', async (here) => {
    await here.learn({ t1: PNPM, t2: MAIN });
    const night = await here.dream({ agreements: [PNPM, MAIN] });
    const path = join(here.dir, 'agreements.md');
    writeFileSync(path, here.read('agreements.md').replace('use pnpm', 'use pnpm 11'));
    const stays = [{ kind: 'line', name: PNPM, by: ['an edit of the file'] }];
    expect(await here.takeBack(night)).toMatchObject({ outcome: 'refused', stays });
    expect(here.read('agreements.md')).toContain(MAIN);
    expect(await here.takeBack(night, { partial: true })).toMatchObject({ outcome: 'undone-in-part', stays });
    expect(here.read('agreements.md')).toMatch(
      /^---\nname: agreements\n.*\n---\n\n- Always use pnpm 11 instead of npm\.\n$/s,
    );
    const { entries } = await here.state();
    expect(entries.map(({ text, state }) => [text, state]).sort()).toEqual([
      [PNPM, 'placed'],
      [MAIN, 'new'],
    ]);
  });

  it('lines that others added to the same files stay where they are', async (here) => {
    const first = await here.learn({ t1: PNPM });
    const night = await here.dream({ agreements: [PNPM] });
    await here.learn({ t1: MAIN }, { session: 's2' });
    await here.dream({ agreements: [MAIN] });
    appendFileSync(join(here.dir, 'agreements.md'), '- A person was here.\n');
    expect(await here.takeBack(night)).toMatchObject({ outcome: 'undone', stays: [] });
    const topic = here.read('agreements.md');
    expect(topic).toContain(`- ${MAIN}\n- A person was here.\n`);
    expect(topic).not.toContain(PNPM);
    const log = here.read(LOG);
    expect(await here.takeBack(first)).toMatchObject({ outcome: 'undone', stays: [] });
    expect(here.read(LOG)).toBe(`# ${DAY}\n\n${log.slice(log.indexOf('- ', log.indexOf(' -->')))}`);
  });

  it('an undo can be undone, then the job once more; what is undone already is not, and says what redoes it', async (here) => {
    await here.learn({ t1: PNPM, t2: MAIN });
    const night = await here.dream({ agreements: [PNPM], hosts: [MAIN] });
    const dreamt = await here.state();
    const first = await here.takeBack(night);
    await expect(here.takeBack(night)).rejects.toMatchObject({
      code: 'bad-input',
      remedy: expect.stringContaining(first.undo ?? '?'),
    });
    expect(await here.takeBack(first.undo ?? '')).toMatchObject({ outcome: 'undone', kind: 'undo' });
    expect(await here.state()).toEqual(dreamt);
    expect(await here.takeBack(night)).toMatchObject({ outcome: 'undone', job: night });
    await expect(here.takeBack(first.undo ?? '', { partial: true })).rejects.toMatchObject({ code: 'bad-input' });
  });

  it('an undo whose work was learned again is not redone', async (here) => {
    const undone = await here.takeBack(await here.learn({ t1: PNPM }));
    await here.learn({ t1: PNPM });
    const before = await here.state();
    expect(await here.takeBack(undone.undo ?? '')).toMatchObject({ outcome: 'refused' });
    expect(await here.state()).toEqual(before);
  });

  it('a file that was moved, deleted or written over comes back as the file it was', async (here) => {
    const { row, read } = here;
    const files = new Map([
      ['moved.md', '- a\n'],
      ['gone.md', '- b\n'],
      ['over.md', '- c\r\n- d'],
    ]);
    for (const [path, text] of files)
      await act(here, row.id, { kind: 'edit', by: 'user', files: [{ path, make: () => text }] });
    const before = await here.state();
    const job = await act(here, row.id, {
      kind: 'dream',
      files: [
        { path: 'sub/elsewhere.md', from: 'moved.md', make: (now) => `${now}- more\n` },
        { path: 'gone.md', make: () => null },
        { path: 'over.md', make: () => 'x' },
      ],
    });
    const after = await here.state();
    const { undo: own } = await here.takeBack(job);
    expect(await here.state()).toEqual(before);
    for (const [path, text] of files) expect(read(path)).toBe(text);
    expect(existsSync(join(here.dir, 'sub'))).toBe(false);
    await here.takeBack(own ?? '');
    expect(await here.state()).toEqual(after);
    expect(read('sub/elsewhere.md')).toBe('- a\n- more\n');
    expect(existsSync(join(here.dir, 'gone.md'))).toBe(false);
  });

  it('bytes that are no text come back as they were, of a deleted file, too', async (here) => {
    const bytes = Buffer.from([0x2d, 0x20, 0xff, 0xfe, 0x0a]);
    for (const make of [() => null, () => 'text\n']) {
      writeFileSync(join(here.dir, 'raw.md'), bytes);
      await here.files.list();
      const job = await act(here, here.row.id, { kind: 'edit', by: 'user', files: [{ path: 'raw.md', make }] });
      await here.takeBack(job);
      expect(readFileSync(join(here.dir, 'raw.md'))).toEqual(bytes);
    }
  });

  it('a name that a file got since stays, and a file that stands in the way is named', async (here) => {
    await here.learn({ t1: PNPM });
    const night = await here.dream({ agreements: [PNPM], hosts: ['x'] });
    renameSync(join(here.dir, 'hosts.md'), join(here.dir, 'servers.md'));
    await here.files.list();
    appendFileSync(join(here.dir, 'servers.md'), '- mine\n');
    expect(await here.takeBack(night)).toMatchObject({ outcome: 'undone' });
    expect(here.read('servers.md')).toContain('- mine');
    const removed = await act(here, here.row.id, {
      kind: 'edit',
      by: 'user',
      files: [{ path: 'servers.md', make: () => null }],
    });
    writeFileSync(join(here.dir, 'servers.md'), 'another\n');
    await expect(here.takeBack(removed)).rejects.toMatchObject({ code: 'conflict' });
    expect(here.read('servers.md')).toBe('another\n');
  });

  it('a person takes back what jobs may not touch: a pin, and what was pinned since', async (here) => {
    await here.learn({ t1: PNPM });
    const night = await here.dream({ agreements: [PNPM] });
    const topic = here.read('agreements.md');
    const pin = await act(here, here.row.id, {
      kind: 'edit',
      by: 'user',
      files: [{ path: 'agreements.md', make: (now) => (now ?? '').replace('name:', 'pinned: true\nname:') }],
    });
    const both = await here.takeBack(pin);
    expect(here.read('agreements.md')).toBe(topic);
    await here.takeBack(both.undo ?? '');
    expect(await here.takeBack(night)).toMatchObject({ outcome: 'undone' });
    expect(here.read('agreements.md')).not.toContain(PNPM);
  });

  it('nothing is taken back while a night, or the extraction of its session, is at work', async (here) => {
    const job = await here.learn({ t1: PNPM });
    const hold = (kind: string, key: string, until: string) =>
      here.db.run(
        `insert into inbox (kind, key, memory, payload, priority, since, not_before, owner, until)
         values (?, ?, ?, '{}', 1, '', '', 'w', ?)`,
        ...[kind, key, here.row.id, until],
      );
    await hold('dream', 'a', '2026-03-02T08:00:00.000Z');
    await hold('extract', 's9', '2026-03-02T10:00:00.000Z');
    await hold('extract', 's1', '2026-03-02T10:00:00.000Z');
    expect(await here.takeBack(job)).toMatchObject({ outcome: 'busy', undo: null, stays: [] });
    await here.db.run("delete from inbox where key = 's1'");
    await hold('dream', 'b', '2026-03-02T10:00:00.000Z');
    expect(await here.takeBack(job)).toMatchObject({ outcome: 'busy' });
    await here.db.run("delete from inbox where key = 'b'");
    expect(await here.takeBack(job)).toMatchObject({ outcome: 'undone' });
  });

  it('what changed nothing, is not there, or is not kept any more is refused in a sentence', async (here) => {
    const none = await act(here, here.row.id, { kind: 'dream' });
    await expect(here.takeBack(none)).rejects.toThrow('changed nothing');
    await expect(here.takeBack('job_x')).rejects.toThrow('There is no job job_x');
    const job = await here.learn({ t1: PNPM });
    await here.db.run("insert into setting (key, value) values ('undo_from', '2026-03-03T00:00:00.000Z')");
    await expect(here.takeBack(job)).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining('too old'),
    });
    await here.db.run("delete from setting where key = 'undo_from'");
    await here.db.run("update version set redacted_at = 'x', content = null");
    await expect(here.takeBack(job)).rejects.toThrow('was redacted');
  });

  it('two memories that one job changed are taken back together', async (here) => {
    const other = await here.withDirectory('other');
    const both = await act(here, here.row.id, { kind: 'remember', files: [{ path: 'a.md', make: () => '- a\n' }] });
    const { commit } = await import('../../src/memory/commit.ts');
    await commit(here.memories, { memory: other.row.id, paths: [] }, { job: both, actor: USER.actor }, async () => ({
      files: [{ path: 'b.md', make: () => '- b\n' }],
    }));
    expect(await here.takeBack(both)).toMatchObject({ outcome: 'undone', files: ['a.md', 'b.md'] });
    expect(existsSync(join(other.dir, 'b.md'))).toBe(false);
  });

  it('the last job is the one that changed a memory last and stands: of anybody, or that a person began', async (here) => {
    const { db, row } = here;
    const last = async (startedBy?: 'person') => (await lastJob(db, { memories: [row.id], startedBy }))?.id;
    expect(await last()).toBeUndefined();
    const own = await act(here, row.id, {
      kind: 'edit',
      startedBy: 'person',
      files: [{ path: 'a.md', make: () => 'a' }],
    });
    const job = await here.learn({ t1: PNPM });
    expect([await last(), await last('person')]).toEqual([job, own]);
    const { undo: undone } = await here.takeBack(job);
    expect(await last()).toBe(own);
    await here.takeBack(undone ?? '');
    expect(await last()).toBe(job);
  });

  it('the index follows: it is built again where the job built it, else its lines change with their topics', async (here) => {
    const { db, row, read } = here;
    const build = (files: FileChange[]) =>
      act(here, row.id, { kind: 'dream', plan: (sql) => withBuiltIndex(sql, row, files) });
    const topic = (name: string, description: string) => ({
      path: `${name}.md`,
      make: () => newTopic({ name, description, type: 'project', lines: ['x'] }),
    });
    const first = await build([topic('hosts', 'Where things run')]);
    const index = read('MEMORY.md');
    const before = await here.state();
    const second = await build([topic('ports', 'What listens where')]);
    expect(read('MEMORY.md')).toContain('ports.md');
    expect(await here.takeBack(second)).toMatchObject({ outcome: 'undone', files: ['MEMORY.md', 'ports.md'] });
    expect(await here.state()).toEqual(before);
    const edited = await act(here, row.id, { kind: 'edit', by: 'user', files: [topic('hosts', 'Who runs what')] });
    await here.takeBack(edited);
    expect(read('MEMORY.md')).toBe(index);
    const redone = await db.get<{ id: string }>('select id from job where undoes = ?', second);
    await here.takeBack(redone?.id ?? '');
    expect(read('MEMORY.md')).toContain('ports.md');
    await here.takeBack(second);
    expect(await here.takeBack(first)).toMatchObject({ outcome: 'undone' });
    expect(existsSync(join(here.dir, 'MEMORY.md'))).toBe(false);
    expect(await db.all('select * from rests')).toEqual([]);
  });
});
