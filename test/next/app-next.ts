// The app of the next house as test/support/app.ts has that of the old one: a home and a memory of its own, on SQLite, or on
// PostgreSQL where NOCTURNE_TEST_NEXT says so; and what is kept beside the files, as tests of both houses look at it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { runAgent as loopInProcess } from '../../src/agent/loop.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { entriesWhere } from '../../src/next/memory/entries.ts';
import type { MemoryRow } from '../../src/next/memory/memories.ts';
import { type App, openApp } from '../../src/next/worker/compose.ts';
import { environmentIn, type TestAppOptions } from '../support/app.ts';
import { ownDatabase } from '../support/own-database.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { asking, scriptedModel } from '../support/scripted-model.ts';
import { tempDir } from '../support/temp.ts';

export async function testAppNext(options: TestAppOptions = {}) {
  const [home, dir] = [options.home ?? tempDir(), options.dir ?? tempDir()];
  if (options.settings) writeFileSync(join(home, 'config.json'), JSON.stringify(options.settings));
  const database = process.env.NOCTURNE_TEST_NEXT === 'postgres' ? await ownDatabase() : undefined;
  const environment = environmentIn(home, {
    NOCTURNE_HOME: home,
    NOCTURNE_MEMORY_DIR: dir,
    ...(database && { NOCTURNE_DATABASE_URL: database.url }),
    ...(options.now !== undefined && { NOCTURNE_NOW: options.now }),
    ...asking(options.server ?? (await scriptedModel())),
    ...options.variables,
  });
  const runAgent = options.isForked ? undefined : loopInProcess;
  const app = await openApp(await loadConfig({}, environment), { runAgent });
  (options.whenDone ?? onTestFinished)(async () => {
    await app.close();
    await database?.drop();
  });
  const memory = await app.memoryFor();
  const list = async () =>
    (await app.files(memory).list()).items.flatMap((file) => ('path' in file ? [file.path] : []));
  return {
    ...{ app, home, dir, environment },
    store: { ...memory, dir, list },
    rows: rowsOfNext(app, memory),
    nocturne: (...args: string[]) => runHere(args, environment),
    json: <T>(...args: string[]) => jsonHere<T>(args, environment),
  };
}

/** What became of a turn, in the words of the old house. */
const FATES: Record<string, string> = { 'own-write': 'main-agent', gave_up: 'gave-up' };

const QUERIES = {
  async coverage({ db }: App, { id }: MemoryRow) {
    const rows = await db.all<Record<string, string>>(
      `select s.name as session, t.id as turn, t.begins as "from", t.through as "throughMessage", t.day, t.job,
         case t.state when 'done' then case when exists (select 1 from entry e where e.memory = t.memory and e.turn = t.id
           and e.state <> 'gone') then 'recorded' else 'nothing' end when 'skipped' then t.reason else t.state end as fate
       from turn t join session s on s.id = t.session where t.memory = ? order by s.name, t.through`,
      id,
    );
    return rows.map(({ fate = '', ...row }) => ({ ...row, disposition: FATES[fate] ?? fate }));
  },
  fates: async (app: App, memory: MemoryRow) =>
    (await QUERIES.coverage(app, memory)).map(({ disposition }) => disposition),
  async entries({ db }: App, { id }: MemoryRow) {
    const names = new Map(
      (await db.all<{ id: string; name: string }>('select id, name from session')).map((row) => [row.id, row.name]),
    );
    const entries = await entriesWhere(db, id);
    return entries.map((entry) => ({ ...entry, session: entry.session && names.get(entry.session) }));
  },
  async waiting({ db }: App, { id }: MemoryRow) {
    const rows = await db.all<Record<string, string | number>>(
      `select id, kind, key, payload, not_before as "notBefore", attempts, error as failure, since from inbox
       where memory = ? and state = 'waiting' order by not_before, id`,
      id,
    );
    return rows.map((row) => ({ ...row, payload: JSON.parse(`${row.payload}`) }));
  },
  jobs: ({ db }: App, { id }: MemoryRow) =>
    db.all(
      `select job.id, kind, case status when 'running' then 'running' else 'ended' end as status, outcome, error, code,
         s.name as session, job.created_at as "createdAt", ended_at as "endedAt", undoes
       from job left join session s on s.id = job.session where job.memory = ? order by job.created_at desc, job.id desc`,
      id,
    ),
  failures: ({ db }: App, { id }: MemoryRow) =>
    db.all(
      `select kind, case state when 'failed' then 'failed' else 'retrying' end as state, code, attempts, failures from inbox
       where memory = ? and code is not null order by id desc`,
      id,
    ),
  outbox: async () => [],
  versions: ({ db }: App, { id }: MemoryRow) =>
    db.all(
      `select content, actor_kind || ':' || coalesce(actor, '') as actor, change as "commit" from version where memory = ? order by seq`,
      id,
    ),
  support: ({ db }: App, { id }: MemoryRow) =>
    db.all('select file as path, line, source as entry from rests where memory = ? order by file, line, source', id),
  leases: ({ db }: App) => db.all('select until from inbox where owner is not null'),
  async uses({ db }: App, { id }: MemoryRow) {
    const rows = await db.all<{ path: string }>(
      `select file.path, shown, used, shown_at as "shownAt", used_at as "usedAt" from topic_use
       join file on file.memory = topic_use.memory and file.id = topic_use.file where topic_use.memory = ?`,
      id,
    );
    return new Map(rows.map((row) => [row.path, row]));
  },
};

/** As `rowsOf` of test/support/rows.ts. */
export function rowsOfNext(app: App, memory: MemoryRow) {
  return (query: keyof typeof QUERIES) => QUERIES[query](app, memory);
}
