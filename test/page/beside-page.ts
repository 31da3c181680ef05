// What tests of the page do beside it, as a person, an editor or another process does.

import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../../src/base/config/config.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { insert, newId } from '../../src/db/sql.ts';
import { answerPrompt as answer } from '../../src/hook/prompt-recall.ts';
import { commit, lookInto } from '../../src/memory/commit.ts';
import { putEntry } from '../../src/memory/entries.ts';
import { addMemory } from '../../src/memory/memories.ts';
import { dropOld } from '../../src/memory/versions.ts';
import { makeTicket } from '../../src/page/visits.ts';
import { spendOf } from '../../src/queue/spend.ts';
import { allWorkers } from '../../src/queue/workers.ts';
import type { Served } from '../server/served.ts';
import { ON_POSTGRES } from '../support/temp.ts';

type Asked = Pick<Served, 'app'>;

/** What the page calls a memory. */
export function idOf({ store }: Pick<Served, 'store'>): string {
  return store.id;
}

export function ticketTo({ app }: Asked): Promise<string> {
  return makeTicket(app);
}

/** A memory is known to the page from here on, as once something was learned there. */
export async function know({ app, store }: Pick<Served, 'app' | 'store'>): Promise<void> {
  await app.files(store).list();
}

/** A file is written by nocturne itself. */
export async function write({ app, store }: Pick<Served, 'app' | 'store'>, path: string, text: string): Promise<void> {
  await app.files(store).write({ job: newId('job'), actor: { kind: 'user', id: null } }, { path, text });
}

/** An editor adds to the end of a file; where memory has no directory, another process does. */
export async function append({ app, store, dir }: Pick<Served, 'app' | 'store' | 'dir'>, path: string, text: string) {
  if (!ON_POSTGRES) return appendFileSync(join(dir, path), text);
  const by = { job: newId('job'), actor: { kind: 'user', id: null } } as const;
  await app.files(store).changeAll(by, [{ path, make: (before) => `${before ?? ''}${text}` }]);
}

type Beside = Pick<Served, 'app' | 'store' | 'dir'>;

/** What stands in a file; '' where there is none. */
export async function textAt({ app, store, dir }: Beside, path: string): Promise<string> {
  if (ON_POSTGRES) return (await app.files(store).read({ path }))?.text ?? '';
  return existsSync(join(dir, path)) ? readFileSync(join(dir, path), 'utf8') : '';
}

/** An editor writes a file, or takes it away; where memory has no directory, another process does. */
export async function putAt({ app, store, dir }: Beside, path: string, bytes: Buffer | string | null): Promise<void> {
  const by = { job: newId('job'), actor: { kind: 'user', id: null } } as const;
  const make = () => bytes?.toString() ?? null;
  if (ON_POSTGRES) await app.files(store).changeAll(by, [{ path, make }]);
  else if (bytes === null) rmSync(join(dir, path));
  else writeFileSync(join(dir, path), bytes);
}

/** All that stands in the files of a memory. */
export async function saidIn({ app, store, dir }: Pick<Served, 'app' | 'store' | 'dir'>): Promise<string> {
  if (ON_POSTGRES) {
    const { items } = await app.files(store).list({ content: true, limit: 1_000 });
    return items.map((item) => ('text' in item ? item.text : '')).join('\n');
  }
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((path) => /^[^.].*\.md$/.test(path));
  return paths.map((path) => readFileSync(join(dir, path), 'utf8')).join('\n');
}

/** The user's memory in all projects, with something in it. */
export async function rememberOfUser({ app }: Asked, text: string): Promise<void> {
  const dir = join(app.config.claudeDir, 'memory');
  await app.remember(await app.memories.ofDirectory(dir, { scope: 'user', name: 'user' }), { text, type: 'feedback' });
}

/** What a prompt's hook answers. */
export function answerPrompt({ app }: Asked, input: object): Promise<string> {
  return answer(app.config, { input: { ...input }, isOver: () => false });
}

/** All versions go but the last of each file. */
export async function dropOldVersions({ app }: Pick<Served, 'app' | 'store'>, now: Date): Promise<void> {
  await dropOld(app.db, { now, versionDays: 1, versionsKept: 1 });
}

/** The processes that are workers of a home. */
export async function workersOf({ NOCTURNE_HOME: home = '', NOCTURNE_DATABASE_URL: url }: Environment) {
  const db = await openDatabase({ home, url });
  return allWorkers(db)
    .then((all) => all.map(({ process }) => Number(process.split(':')[1])))
    .finally(() => db.close());
}

/** So many tokens were used on a day of this month. */
export async function spend({ app: { db } }: Asked, day: string, tokens: number): Promise<void> {
  const at = new Date(`2026-11-${day}T12:00:00Z`);
  const ceilings = { jobTokens: 10_000_000, dayTokens: 10_000_000, zone: 'UTC' };
  const prices = { filler: { input: 4, output: 4, cacheRead: 4, cacheWrite: 4 } };
  const clock = { now: () => at };
  const by = spendOf({ db, clock, ceilings, prices, model: 'filler' }, newId('job'));
  await by.settle(await by.reserve(tokens, 1), {
    ...{ calls: 1, inputTokens: tokens, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 },
  });
}

/** A project with a line in its memory, and a session that ran there. */
export async function hasProject({ app }: Asked, root: string): Promise<void> {
  const dir = join(root, '.kept', 'memory');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'a.md'), '- One.\n');
  const { id } = await app.memories.ofDirectory(dir, { scope: 'project', name: 'project' });
  await lookInto(app.memories, { memory: id, paths: 'all' });
  const row = { id: newId('session'), name: newId('session'), memory: id, cwd: root };
  await insert(app.db, 'session', [{ ...row, created_at: app.clock.now().toISOString() }]);
}

/** A client's store with a line in it. */
export async function addStore({ app }: Asked, name: string): Promise<void> {
  const id = await addMemory(app.db, { scope: 'store', name }, app.clock.now().toISOString());
  const by = { job: newId('job'), actor: { kind: 'user', id: null } } as const;
  await app.files(await app.memories.of(id)).write(by, { path: 'a.md', text: '- One.\n' });
}

/** An entry that no night has sorted yet, which says what it changes. */
export async function learnInstead({ app, store }: Pick<Served, 'app' | 'store'>, text: string, changes: string) {
  const by = { job: newId('job'), actor: { kind: 'job', id: null } } as const;
  const at = app.clock.now().toISOString();
  const entry = { id: 'e_0123456789ab', type: 'project', text, changes, strength: 'stated', by: 'human' } as const;
  const where = {
    memory: store.id,
    session: null,
    turn: null,
    at,
    day: at.slice(0, 10),
    prompt: '',
    job: by.job,
  } as const;
  await commit(app.memories, { memory: store.id, paths: [] }, by, async () => ({
    files: [],
    rows: (change) => putEntry(change, { ...entry, ...where, evidence: [], state: 'new', reason: null }),
  }));
}
