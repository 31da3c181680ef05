// A memory that the nocturne of before worked on is taken in once: its files with their versions, what was learned, what it rests on,
// what was forgotten and what waits; no session is read a second time.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { extract } from '../../../src/next/jobs/extract.ts';
import { takeIn } from '../../../src/next/jobs/take-in.ts';
import { entriesWhere } from '../../../src/next/memory/entries.ts';
import { MemoryFiles } from '../../../src/next/memory/memory-files.ts';
import { testApp } from '../../support/app.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { extractDeps } from '../next-jobs.ts';
import { ENGINES, inWorld, type World } from '../next-memory.ts';

const RULE = 'Always use pnpm instead of npm.';
const SECRET = 'Never log customer names.';
const LATER = 'Always run the linter before a commit.';

/** A memory as the old house leaves it: one line in a topic, one forgotten, one that waits. */
async function oldMemory() {
  const dir = tempDir();
  const sessions = [RULE, SECRET, LATER].map((said, n) =>
    aSession([said], { id: `${n}1111111-2222-4333-8444-555555555555` }),
  );
  const closing: (() => void | Promise<void>)[] = [];
  const app = await testApp({ dir, whenDone: (close) => closing.push(close) });
  const [first, second, third] = sessions.map(({ path }) => path) as [string, string, string];
  expect(await app.nocturne('extract', first, second)).toMatchObject({ code: 0 });
  expect(await app.nocturne('dream')).toMatchObject({ code: 0 });
  expect(await app.nocturne('forget', SECRET, '--yes')).toMatchObject({ code: 0, stderr: '' });
  expect(await app.nocturne('extract', third)).toMatchObject({ code: 0 });
  for (const close of closing) await close();
  return { dir, sessions: [first, second, third] };
}

function take({ memories }: World, dir: string) {
  return takeIn({ dir, scope: 'project', name: 'orchard' }, { memories, zone: 'UTC' });
}

const states = async ({ db }: World, memory: string) =>
  Object.fromEntries((await entriesWhere(db, memory)).map(({ text, state, reason }) => [text, reason ?? state]));

test.each(ENGINES)('a memory of before is taken in with all that it knows, once, on %s', async (engine) => {
  const { dir } = await oldMemory();
  const texts = () => readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
  const before = texts().map((name) => [name, readFileSync(join(dir, name), 'utf8')]);
  await inWorld(engine, async (world) => {
    const { memory, aside } = await take(world, dir);
    expect(await states(world, memory.id)).toEqual({ [RULE]: 'placed', [SECRET]: 'forgotten', [LATER]: 'new' });
    expect(texts().map((name) => [name, readFileSync(join(dir, name), 'utf8')])).toEqual(before);
    const files = new MemoryFiles(world.memories, memory);
    const { items } = await files.versions({ limit: 100 });
    expect(items.filter(({ actor }) => actor.kind === 'external')).toEqual([]);
    expect(items.length).toBeGreaterThan(3);
    expect(JSON.stringify(await files.search({ query: 'pnpm', limit: 5 }))).toContain(RULE);
    expect(existsSync(join(dir, '.nocturne/ledger.db'))).toBe(false);
    const old = new Database(aside as string, { readonly: true });
    expect(old.prepare('select count(*) from entry').pluck().get()).toBe(3);
    old.close();
    expect(await take(world, dir)).toMatchObject({ memory: { id: memory.id }, aside: null });
  });
});

test.each(ENGINES)(
  'no session is asked about a second time, and what was forgotten stays so, on %s',
  async (engine) => {
    const { dir, sessions } = await oldMemory();
    await inWorld(engine, async (world) => {
      const { memory } = await take(world, dir);
      for (const transcript of sessions) {
        const report = await extract({ transcript, ended: true }, await extractDeps(memory, world));
        expect([report.outcome, report.spend.calls]).toEqual(['nothing-new', 0]);
      }
      expect((await states(world, memory.id))[SECRET]).toBe('forgotten');
    });
  },
);

test('an edit made while no nocturne ran is an external edit after it was taken in', async () => {
  const { dir } = await oldMemory();
  const topic = readdirSync(dir).find((name) => name.endsWith('.md') && name !== 'MEMORY.md') as string;
  writeFileSync(join(dir, topic), `${readFileSync(join(dir, topic), 'utf8')}- A line of mine.\n`);
  await inWorld('sqlite', async (world) => {
    const { memory } = await take(world, dir);
    const { items } = await new MemoryFiles(world.memories, memory).versions({ path: topic, content: true });
    expect(items[0]).toMatchObject({ actor: { kind: 'external' }, text: expect.stringContaining('A line of mine.') });
  });
});
