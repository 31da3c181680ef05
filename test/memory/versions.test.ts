// Versions on both engines: listed, read, and dropped when their time is over.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { undo } from '../../jobs/undo.ts';
import { DAY_MS } from '../../src/base/time.ts';
import { addMemory } from '../../src/memory/memories.ts';
import type { MemoryFiles } from '../../src/memory/memory-files.ts';
import { dropOld } from '../../src/memory/versions.ts';
import { act, dream, learn } from '../support/acts.ts';
import { API, ENGINE_TAKEN, inWorld, JOB, skipped, USER, type World } from '../support/memory-world.ts';

/** A memory whose clock goes one day on with every change. */
interface Days extends World {
  dir: string;
  memory: string;
  files: MemoryFiles;
  now(): Date;
  set(path: string, text: string | null, by?: typeof JOB): Promise<void>;
  ids(path?: string): Promise<string[]>;
  drop(kept: { days: number; kept: number; later?: number }): Promise<number>;
}

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = (name: string, work: (days: Days) => Promise<void>) =>
    test.skipIf(skipped(engine) !== '')(name, async () => {
      let nowMs = Date.parse('2026-01-01T00:00:00Z');
      const clock = { now: () => new Date(nowMs) };
      await inWorld(
        engine,
        async (world) => {
          const { dir, row, files } = await world.withDirectory();
          await work({
            ...world,
            dir,
            files,
            memory: row.id,
            now: clock.now,
            async set(path, text, by = JOB) {
              nowMs += DAY_MS;
              if (text === null) await files.delete(by, { path });
              else await files.write(by, { path, text });
            },
            ids: async (path) => (await files.versions({ path, limit: 1_000 })).items.map(({ id }) => id),
            drop: ({ days, kept, later = 0 }) =>
              dropOld(world.db, { now: new Date(nowMs + later * DAY_MS), versionDays: days, versionsKept: kept }),
          });
        },
        { clock },
      );
    });

  it('they are listed newest first, in pages that neither repeat nor miss one while new ones come', async (days) => {
    for (let i = 0; i < 7; i += 1) await days.set(`${i % 2}.md`, `${i}\n`);
    const all = await days.ids();
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const { items, next } = await days.files.versions({ limit: 3, after });
      seen.push(...items.map(({ id }) => id));
      after = next ?? undefined;
      await days.set('new.md', `${seen.length}\n`);
    } while (after !== undefined);
    expect(seen).toEqual(all);
  });

  it('they are filtered by file, operation, actor and time, with their texts where these are asked for', async (days) => {
    await days.set('a.md', 'one\n');
    await days.set('a.md', 'two\n', USER);
    await days.set('b.md', 'b\n', API);
    await days.set('b.md', null);
    await days.files.rename(USER, { from: 'a.md', to: 'c.md' });
    const found = async (of: Parameters<MemoryFiles['versions']>[0]) =>
      (await days.files.versions(of)).items.map(({ path, op }) => `${path} ${op}`);
    expect(await found({ path: 'c.md' })).toEqual(['c.md modified', 'a.md modified', 'a.md created']);
    expect(await found({ path: 'a.md' })).toEqual(['a.md modified', 'a.md created']);
    expect(await found({ op: 'deleted' })).toEqual(['b.md deleted']);
    expect(await found({ actor: { kind: 'api', id: 'apikey_1' } })).toEqual(['b.md created']);
    expect(await found({ actor: { kind: 'api', id: 'apikey_2' } })).toEqual([]);
    expect(await found({ actor: { kind: 'job' } })).toEqual(['b.md deleted', 'a.md created']);
    expect(await found({ since: '2026-01-05T00:00:00.000Z' })).toEqual(['c.md modified', 'b.md deleted']);
    expect(await found({ until: '2026-01-02T00:00:00.000Z' })).toEqual(['a.md created']);
    const { items } = await days.files.versions({ content: true, limit: 4 });
    expect(items.map(({ text }) => text)).toEqual(['two\n', null, 'b\n', 'two\n']);
    const [last, gone] = items;
    expect(last).toMatchObject({ actor: { kind: 'user', id: null }, job: null, size: 4, redactedAt: null });
    expect(gone).toMatchObject({ sha: null, size: null, previous: items[2]?.id });
    expect(await days.files.version(last?.id ?? '')).toEqual(last);
    expect(await days.files.version('memver_x')).toBeNull();
    for (const wrong of [{ limit: 0 }, { limit: 1_001 }, { after: 'memver_x' }])
      await expect(found(wrong)).rejects.toMatchObject({ code: 'bad-input' });
  });

  it('of an edit by hand, and of what a job did, it is told whose it was', async (days) => {
    const job = await learn(days, days.memory, { t1: 'Use pnpm.' });
    await days.set('a.md', 'one\n');
    rmSync(join(days.dir, 'a.md'));
    const { items } = await days.files.versions();
    expect(items.map(({ op, actor, job: by }) => [op, actor.kind, by])).toEqual([
      ['deleted', 'external', null],
      ['created', 'job', null],
      ['created', 'job', job],
    ]);
  });

  it('what is old goes; heads, the newest of each file and what young ones came from stay', async (days) => {
    await days.set('old.md', 'only\n');
    for (let i = 0; i < 6; i += 1) await days.set('a.md', `${i}\n`);
    const before = await days.ids('a.md');
    // Of a.md the newest is 0 days old; two are younger than 1.5 days, and what the older of them came from stays, too.
    expect(await days.drop({ days: 1.5, kept: 1 })).toBe(3);
    expect(await days.ids('a.md')).toEqual(before.slice(0, 3));
    expect(await days.ids('old.md')).toHaveLength(1);
    expect(await days.drop({ days: 1, kept: 2, later: 999 })).toBe(1);
    expect(await days.ids('a.md')).toEqual(before.slice(0, 2));
    await days.set('a.md', 'more\n');
    expect((await days.files.read({ path: 'a.md' }))?.text).toBe('more\n');
  });

  it('of a log nothing but what it holds now outlasts the time', async (days) => {
    const log = 'logs/2026/11/2026-11-20.md';
    for (let i = 1; i <= 4; i += 1) await days.set(log, '- line\n'.repeat(i), USER);
    for (let i = 1; i <= 4; i += 1) await days.set('a.md', `${i}\n`);
    expect(await days.drop({ days: 1, kept: 3, later: 999 })).toBe(4);
    expect([(await days.ids(log)).length, (await days.ids('a.md')).length]).toEqual([1, 3]);
    expect((await days.files.read({ path: log }))?.text).toBe('- line\n'.repeat(4));
  });

  it('what has not reached its directory keeps what stands there', async (days) => {
    for (const text of ['one\n', 'two\n', 'three\n']) await days.set('a.md', text);
    const [, second] = await days.ids('a.md');
    await days.db.run('update file set placed = ?', second ?? '');
    await days.drop({ days: 1, kept: 1, later: 999 });
    expect(await days.ids('a.md')).toContain(second);
  });

  it('a job of the time that is kept is undone after it, an older one is not', async (days) => {
    await learn(days, days.memory, { t1: 'Use pnpm.' });
    const old = await dream(days, days.memory, { agreements: ['Use pnpm.'] });
    for (const n of [1, 2, 3]) await days.set('x.md', `${n}\n`);
    const young = await dream(days, days.memory, { agreements: ['Use tabs.'] });
    await days.drop({ days: 2, kept: 1 });
    const deps = { memories: days.memories, environment: {} };
    await expect(undo({ job: old }, deps)).rejects.toMatchObject({ code: 'refused' });
    expect(await undo({ job: young }, deps)).toMatchObject({ outcome: 'undone' });
    expect((await days.files.read({ path: 'agreements.md' }))?.text).toContain('Use pnpm.');
  });

  it('calls, jobs, what was recalled and sent, decisions and deleted memories go when their time is over', async (days) => {
    const { db, memory } = days;
    await act(days, memory, { kind: 'dream' });
    const at = days.now().toISOString();
    await db.run(
      "insert into call (id, day, scope, job, model, at, reserved_tokens, reserved_usd) values ('c', '2026-01-01', '', 'j', 'm', '', 1, 1)",
    );
    await db.run("insert into recalled (session, memory, request, text, at) values ('s', ?, 'r', 't', ?)", memory, at);
    for (const name of ['read', 'waits']) {
      await db.run('insert into session (id, name, memory, created_at) values (?, ?, ?, ?)', name, name, memory, at);
      await db.run('insert into piece (session, n, body) values (?, 1, ?)', name, Buffer.from('x'));
    }
    await db.run(
      "insert into inbox (kind, key, payload, priority, since, not_before) values ('extract', 'waits', '{}', 1, '', '')",
    );
    await db.run(
      "insert into proposal (id, memory, job, at, plan, bases, state, decided_at) values ('p', ?, 'j', ?, '[]', '[]', 'rejected', ?)",
      ...[memory, at, at],
    );
    const gone = await addMemory(db, { scope: 'store', name: 'gone' }, at);
    await db.run('update memory set deleted_at = ? where id = ?', at, gone);
    const left = async () => {
      const tables = ['call', 'job', 'recalled', 'piece', 'proposal', 'memory'];
      return Promise.all(tables.map(async (table) => (await db.all(`select * from ${table}`)).length));
    };
    expect(await left()).toEqual([1, 1, 1, 2, 1, 2]);
    await days.drop({ days: 100, kept: 1, later: 89 });
    expect(await left()).toEqual([1, 1, 1, 2, 1, 2]);
    await days.drop({ days: 100, kept: 1, later: 91 });
    expect(await left()).toEqual([1, 1, 0, 2, 1, 2]);
    await days.drop({ days: 100, kept: 1, later: 101 });
    expect(await left()).toEqual([1, 1, 0, 1, 0, 1]);
    await days.drop({ days: 100, kept: 1, later: 401 });
    expect(await left()).toEqual([0, 0, 0, 1, 0, 1]);
  });
});
