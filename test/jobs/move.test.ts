// nocturne stores move: a memory goes into the database that machines share, and comes out of it the same, wherever it is broken off.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { move } from '../../jobs/move.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import type { Db, Row } from '../../src/db/sql.ts';
import { recallFor } from '../../src/hook/start-recall.ts';
import { Memories } from '../../src/memory/memories.ts';
import { openApp } from '../../src/worker/compose.ts';
import { putWork } from '../../src/worker/work-item.ts';
import { environmentIn } from '../support/app.ts';
import { noPostgres, ownDatabase } from '../support/own-database.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { asking, scriptedModel } from '../support/scripted-model.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

/** Rows of a memory, of whichever tables have some. */
const TABLES = 'file job version change session turn entry rests line proposal undo recalled topic_use call'.split(' ');
const OF_DATABASE = ['seq', 'n', 'placed', 'seen', 'missing_since', 'dir', 'machine'];
/** What tables had once. */
const FORMER = { session: ['read_to', 'prefix_sha', 'ignored'], entry: ['seen_at'], memory: ['paused_until'] };

describe.skipIf(noPostgres)(`stores move ${noPostgres}`, () => {
  /** A project that two sessions were about, a night, a wish that was forgotten, one that a person told. */
  async function world() {
    const database = await ownDatabase();
    onTestFinished(() => database.drop());
    const top = tempDir();
    const dir = join(top, 'memory');
    const own = { NOCTURNE_HOME: join(top, 'home'), NOCTURNE_MEMORY_DIR: dir };
    const here = environmentIn(top, { ...own, ...asking(await scriptedModel()) });
    const shared = { ...here, NOCTURNE_DATABASE_URL: database.url };
    const done = async (at: typeof here, ...args: string[]) => {
      const ended = await runHere(args, at);
      expect(ended, args.join(' ')).toMatchObject({ code: 0 });
      return ended.stdout;
    };
    const session = aSession(['Always use pnpm instead of npm.', 'I prefer short answers.'], { dir: top });
    await done(here, 'learn', session.path);
    const made = new Database(join(top, 'home', 'nocturne.db'));
    for (const [table, columns] of Object.entries(FORMER))
      for (const column of columns) made.exec(`alter table ${table} add column ${column} text`);
    made.close();
    await done(here, 'dream');
    await done(here, 'remember', 'Deploys happen on Tuesdays.');
    await done(here, 'remember', 'The gate is green.');
    await done(here, 'forget', 'gate is green', '--yes');
    await recallFor(await loadConfig({}, here), { session: 's1', query: 'pnpm' });
    return { database, top, dir, here, shared, done, home: join(top, 'home') };
  }
  type At = Awaited<ReturnType<typeof world>>['here'];

  const told = async (at: At) => {
    const { memory: _, ...list } = await jsonHere<{ memory: string; topics: object[] }>(['list'], at);
    const why = (await runHere(['why', 'pnpm'], at)).stdout;
    // Of a directory that is when its file was written.
    return { ...list, topics: list.topics.map((topic) => ({ ...topic, modifiedAt: null })), why };
  };

  async function dump(db: Db) {
    const tables = await Promise.all(
      TABLES.map(async (table) => {
        const rows = await db.all<Row>(`select * from ${table}`);
        const texts = rows.map((row) =>
          JSON.stringify(
            Object.entries(row).filter(
              ([column]) =>
                ![...OF_DATABASE, ...Object.values(FORMER).flat()].includes(column) &&
                !(table === 'line' && column === 'id'),
            ),
            (_, value) => (value?.type === 'Buffer' ? Buffer.from(value.data).toString() : value),
          ),
        );
        return [table, texts.sort()] as const;
      }),
    );
    return Object.fromEntries(tables);
  }

  async function rowsOf(home: string, url?: string) {
    const db = await openDatabase({ home, url });
    try {
      return await dump(db);
    } finally {
      await db.close();
    }
  }

  test('there every row, file and word is the same; work goes on there, and comes back with it into the directory', async () => {
    const { database, dir, here, shared, done, home } = await world();
    const [before, rows] = [await told(here), await rowsOf(home)];
    const moved = await jsonHere<{ memory: string; rows: number }>(['stores', 'move', '--to-database'], shared);
    expect(moved).toMatchObject({ dir });
    expect(await rowsOf(home, database.url)).toEqual(rows);
    expect(await told(shared)).toEqual(before);
    // It counts in one place only, and what it was taken from keeps it.
    expect(await done(here, 'stores', 'list')).toBe('');
    expect(await done(here, 'stores', 'list', '--removed')).toContain(moved.memory);
    expect(await rowsOf(home)).toEqual(rows);
    expect(readdirSync(dir)).toContain('MEMORY.md');

    await done(shared, 'undo', '--last');
    await done(shared, 'remember', 'Backups run at night.');
    const after = await told(shared);
    expect(JSON.stringify(after)).toContain('Backups run at night.');
    const there = await rowsOf(home, database.url);
    expect(await done(shared, 'stores', 'move', moved.memory, '--to-home')).toContain(`is in ${dir} now`);
    expect(await rowsOf(home)).toEqual(there);
    expect(await told(here)).toEqual(after);
    expect(readFileSync(join(dir, 'logs/2026/11/2026-11-21.md'), 'utf8')).toContain('Backups run at night.');
    expect(await done(here, 'check')).toContain('fine');
    await done(here, 'undo', '--last');
    expect(JSON.stringify(await told(here))).not.toContain('Backups run at night.');
  });

  test('broken off at whichever statement, it is called again, and counts in one place only', async () => {
    const { database, here, shared, home } = await world();
    const [before, rows] = [await told(here), await rowsOf(home)];
    const { clock } = await loadConfig({}, shared);
    /** Dies at its nth write into where the memory goes: from then on it does nothing more. */
    const dyingAt = async (writes: number) => {
      let left = writes;
      const dead = new Error('killed');
      const mortal = async (url?: string): Promise<Db> => {
        const db = await openDatabase({ home, url });
        const step = async <T>(work: () => Promise<T>): Promise<T> => {
          if (url !== undefined) left -= 1;
          if (left < 0) throw dead;
          return work();
        };
        return {
          ...db,
          run: (sql, ...values) => step(() => db.run(sql, ...values)),
          write: (work) =>
            step(() =>
              db.write((sql) => work({ ...sql, run: (text, ...values) => step(() => sql.run(text, ...values)) })),
            ),
        };
      };
      const [one, other] = [await mortal(), await mortal(database.url)];
      const [from, to] = [one, other].map((db) => new Memories({ db, home, clock })) as [Memories, Memories];
      try {
        const [row] = await one.all<{ id: string }>('select id from memory');
        await move(row?.id ?? '', { from, to });
        return true;
      } catch (error) {
        expect(error).toBe(dead);
        const live = 'select id from memory where deleted_at is null';
        expect((await one.all(live)).length + (await other.all(live)).length).toBeLessThanOrEqual(1);
        return false;
      } finally {
        for (const memories of [from, to]) await memories.close();
        for (const db of [one, other]) await db.close();
      }
    };
    // Each goes on with what the one before has left.
    let breaks = 0;
    while (!(await dyingAt(breaks))) breaks += 1;
    expect(breaks).toBeGreaterThan(5);
    expect(await rowsOf(home, database.url)).toEqual(rows);
    expect(await told(shared)).toEqual(before);
  });

  test('what was changed after it was broken off goes along; a team’s, one with work that waits, and one that is there are refused', async () => {
    const { top, here, shared, done } = await world();
    const waiting = await openApp(await loadConfig({}, here));
    const memory = await waiting.memoryFor();
    await putWork(waiting, { kind: 'dream', key: memory.id, memory, payload: {} });
    const refused = await runHere(['stores', 'move', '--to-database'], shared);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('There is work waiting') });
    await waiting.db.run('delete from inbox');
    await waiting.close();
    expect(JSON.stringify(await told(here))).toContain('Deploys happen on Tuesdays.');

    await done(shared, 'stores', 'move', '--to-database');
    const twice = await runHere(['stores', 'move', memory.id, '--to-database'], shared);
    expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining('already') });
    // Somebody works in the directory meanwhile: that is another memory, which nothing writes over.
    await done(here, 'remember', 'The hedge is cut in May.');
    const back = await runHere(['stores', 'move', memory.id, '--to-home'], shared);
    expect(back).toMatchObject({ code: 1, stderr: expect.stringContaining('has another memory in it') });
    expect(JSON.stringify(await told(shared))).toContain('Deploys happen on Tuesdays.');

    const repository = join(top, 'repository');
    const team = join(repository, '.claude', 'memory');
    mkdirSync(join(repository, '.git'), { recursive: true });
    writeFileSync(join(repository, '.git', 'HEAD'), 'ref: refs/heads/main\n');
    mkdirSync(team, { recursive: true });
    writeFileSync(
      join(team, 'hedge.md'),
      '---\nname: hedge\ndescription: Hedges\ntype: project\n---\n\n- Cut in May.\n',
    );
    await done(here, 'list', '--memory', team);
    const ofTeam = await runHere(['stores', 'move', team, '--to-database'], shared);
    expect(ofTeam).toMatchObject({ code: 1, stderr: expect.stringContaining("is a team's memory") });

    expect((await runHere(['stores', 'move'], shared)).code).toBe(2);
    expect((await runHere(['stores', 'move', '--to-database'], here)).stderr).toContain('NOCTURNE_DATABASE_URL');
  });
});
