// What tests of the page do beside it, in whichever house they ask: as a person, an editor or another process does.

import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Environment } from '../../../src/base/config/config.ts';
import { systemClock } from '../../../src/base/time.ts';
import { openHome } from '../../../src/memory/home/home.ts';
import { openDatabase } from '../../../src/next/db/open-database.ts';
import { newId } from '../../../src/next/db/sql.ts';
import type { MemoryRow } from '../../../src/next/memory/memories.ts';
import { dropOld } from '../../../src/next/memory/versions.ts';
import * as nextTickets from '../../../src/next/page/page-tickets.ts';
import { pause } from '../../../src/next/queue/pauses.ts';
import { spendOf } from '../../../src/next/queue/spend.ts';
import { allWorkers } from '../../../src/next/queue/workers.ts';
import type { App } from '../../../src/next/worker/compose.ts';
import { lookedAt as lookedAtNext } from '../../../src/next/worker/overview.ts';
import { memoryId } from '../../../src/wings/page/shell.ts';
import * as tickets from '../../../src/wings/page/visits.ts';
import { HOUSE, ON_POSTGRES } from '../../support/temp.ts';
import { fill, type Plan } from '../../wings/page/filled.ts';
import type { Served } from '../../wings/server/served.ts';
import { fillNext } from './filled-next.ts';

type Asked = Pick<Served, 'app'>;

export const appNext = ({ app }: Asked) => app as unknown as App;
const rowOf = ({ store }: Pick<Served, 'store'>) => store as unknown as MemoryRow;

/** What the page calls a memory. */
export function idOf({ store }: Pick<Served, 'store'>): string {
  return HOUSE === 'old' ? memoryId(store.dir) : rowOf({ store }).id;
}

export function ticketTo(world: Asked): Promise<string> {
  const { app } = world;
  return HOUSE === 'old' ? tickets.makeTicket(app.home, app.config.clock) : nextTickets.makeTicket(appNext(world));
}

/** A memory is known to the page from here on, as once something was learned there. */
export async function know({ app, store }: Pick<Served, 'app' | 'store'>): Promise<void> {
  if (HOUSE === 'old') await app.home.addStore(store.dir);
  else await appNext({ app }).files(rowOf({ store })).list();
}

export function lookedAt(world: Asked): Promise<string | null> {
  return HOUSE === 'old' ? world.app.home.lookedAt() : lookedAtNext(appNext(world).db);
}

export function fillMemory(world: Pick<Served, 'app' | 'store'>, plan: Plan): Promise<void> {
  return HOUSE === 'old' ? fill(world.store, plan) : fillNext(appNext(world), rowOf(world), plan);
}

/** A file is written by nocturne itself. */
export async function write(world: Pick<Served, 'app' | 'store'>, path: string, text: string): Promise<void> {
  if (HOUSE === 'old') await world.store.write({ actor: 'person' }, { path, text });
  else {
    const by = { job: newId('job'), actor: { kind: 'user', id: null } } as const;
    await appNext(world).files(rowOf(world)).write(by, { path, text });
  }
}

/** An editor adds to the end of a file; where memory has no directory, another process does. */
export async function append(world: Pick<Served, 'app' | 'store' | 'dir'>, path: string, text: string): Promise<void> {
  if (!ON_POSTGRES) return appendFileSync(join(world.dir, path), text);
  const by = { job: newId('job'), actor: { kind: 'user', id: null } } as const;
  await appNext(world)
    .files(rowOf(world))
    .changeAll(by, [{ path, make: (before) => `${before ?? ''}${text}` }]);
}

/** Words of a file are others, by an editor. */
export function editOutside({ dir }: Pick<Served, 'dir'>, path: string, old: string, text: string): void {
  const before = readFileSync(join(dir, path), 'utf8');
  writeFileSync(join(dir, path), before.replace(old, text));
}

/** All that stands in the files of a memory. */
export async function saidIn(world: Pick<Served, 'app' | 'store' | 'dir'>): Promise<string> {
  const { dir } = world;
  if (ON_POSTGRES) {
    const { items } = await appNext(world).files(rowOf(world)).list({ content: true, limit: 1_000 });
    return items.map((item) => ('text' in item ? item.text : '')).join('\n');
  }
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((path) => /^[^.].*\.md$/.test(path));
  return paths.map((path) => readFileSync(join(dir, path), 'utf8')).join('\n');
}

/** What another process does to what crosses memories. */
export async function elsewhere(world: Pick<Served, 'app' | 'home'>) {
  if (HOUSE === 'old') {
    const home = openHome(world.home, world.app.config.clock);
    onTestFinished(() => home.close());
    return {
      pause: (project: string) => home.pauses.begin({ project, until: null }),
      enterWorker: () => home.workers.enter('redis'),
    };
  }
  const { db, clock, machine } = appNext(world);
  return {
    pause: (project: string) => pause(db, { project, until: null }, clock.now()),
    enterWorker: () =>
      db.run(
        'insert into worker (process, machine, started_at, seen_at) values (?, ?, ?, ?)',
        ...['other:1:1', machine, clock.now().toISOString(), clock.now().toISOString()],
      ),
  };
}

/** The user's memory in all projects, with something in it. */
export async function rememberOfUser(world: Pick<Served, 'app'>, text: string): Promise<void> {
  if (HOUSE === 'next') {
    const app = appNext(world);
    const dir = join(app.config.claudeDir, 'memory');
    await app.remember(await app.memories.ofDirectory(dir, { scope: 'user', name: 'user' }), {
      text,
      type: 'feedback',
    });
    return;
  }
  const { app } = world;
  const second = await app.store(join(app.config.claudeDir, 'memory'));
  await app.home.addStore(second.dir);
  await app.remember(second, { text, type: 'feedback' });
}

/** What a prompt's hook answers. */
export async function answerPrompt({ app }: Asked, input: object): Promise<string> {
  const [old, next] = ['../../../src/doors/recall-prompt.ts', '../../../src/next/hook/prompt-recall.ts'];
  const door = (await import(HOUSE === 'old' ? old : next)) as typeof import('../../../src/next/hook/prompt-recall.ts');
  return door.answerPrompt(app.config, { input: { ...input }, isOver: () => false });
}

/** All versions go but the last of each file. */
export async function dropOldVersions(world: Pick<Served, 'app' | 'store'>, now: Date): Promise<void> {
  if (HOUSE === 'next') await dropOld(appNext(world).db, { now, versionDays: 1, versionsKept: 1 });
  else
    (await import('../../../src/memory/history/versions.ts')).dropOldVersions(world.store.ledger, {
      now,
      days: 1,
      kept: 1,
    });
}

/** The processes that are workers of a home. */
export async function workersOf({ NOCTURNE_HOME: home = '', NOCTURNE_DATABASE_URL: url }: Environment) {
  const pidOf = ({ process }: { process: string }) => Number(process.split(':')[1]);
  if (HOUSE === 'old') {
    const opened = openHome(home, systemClock);
    return opened.workers
      .all()
      .then((all) => all.map(pidOf))
      .finally(() => opened.close());
  }
  const db = await openDatabase({ home, url });
  return allWorkers(db)
    .then((all) => all.map(pidOf))
    .finally(() => db.close());
}

/** So many tokens were used on a day of this month. */
export async function spend(world: Asked, day: string, tokens: number): Promise<void> {
  const at = new Date(`2026-11-${day}T12:00:00Z`);
  if (HOUSE === 'old') {
    const limits = { dayTokens: 10_000_000, zone: 'UTC' };
    await world.app.home.days.reserve({ tokens, microUsd: tokens * 4, at, limits });
    return;
  }
  const { db } = appNext(world);
  const ceilings = { jobTokens: 10_000_000, dayTokens: 10_000_000, zone: 'UTC' };
  const prices = { filler: { input: 4, output: 4, cacheRead: 4, cacheWrite: 4 } };
  const clock = { now: () => at };
  const by = spendOf({ db, clock, ceilings, prices, model: 'filler' }, newId('job'));
  await by.settle(await by.reserve(tokens, 1, {}), {
    ...{ calls: 1, inputTokens: tokens, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 },
  });
}

/** The memory of the team whose repository that is. */
export async function teamDir(world: Asked): Promise<string> {
  const rows =
    HOUSE === 'next' ? await appNext(world).db.all<{ dir: string }>("select dir from memory where scope = 'team'") : [];
  const dirs = HOUSE === 'old' ? await world.app.home.stores() : rows.map(({ dir }) => dir);
  return dirs.find((dir) => dir.endsWith('/orchard/.claude/memory')) as string;
}
