// The server of the next house as test/wings/server/served.ts has that of the old one: a home of its own, on SQLite, or on
// PostgreSQL where NOCTURNE_TEST_NEXT says so; and the official SDK that speaks to it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { runAgent as loopInProcess } from '../../../src/agent/loop.ts';
import { loadConfig } from '../../../src/base/config/config.ts';
import { isCheckedInDir } from '../../../src/memory/home/paths.ts';
import { insert, newId } from '../../../src/next/db/sql.ts';
import { markCanceled } from '../../../src/next/jobs/client-dream.ts';
import type { ExtractRequest } from '../../../src/next/jobs/extract/extract-report.ts';
import { addMemory, removedMemories, restoreMemory } from '../../../src/next/memory/memories.ts';
import { enterSession } from '../../../src/next/memory/session-rows.ts';
import { dropOld } from '../../../src/next/memory/versions.ts';
import { pagesOf } from '../../../src/next/page/page.ts';
import { put } from '../../../src/next/queue/inbox.ts';
import { type NewKey, RIGHTS } from '../../../src/next/server/api-keys.ts';
import { startServer } from '../../../src/next/server/serve.ts';
import { type App, openApp } from '../../../src/next/worker/compose.ts';
import { runWorker } from '../../../src/next/worker/worker.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { environmentIn } from '../../support/app.ts';
import { type OwnDatabase, ownDatabase } from '../../support/own-database.ts';
import { asking, scriptedModel } from '../../support/scripted-model.ts';
import { tempDir } from '../../support/temp.ts';
import { clientOf, type ServedOptions, type StoresAtHand } from '../../wings/server/served.ts';
import { rowsOfNext } from '../rows-next.ts';

/** By home, which a test may open again. */
const databases = new Map<string, OwnDatabase>();

export async function servedNext({ app: of = {}, ...options }: ServedOptions) {
  const whenDone = of.whenDone ?? onTestFinished;
  const [home, dir] = [of.home ?? tempDir(), of.dir ?? tempDir()];
  if (of.settings) writeFileSync(join(home, 'config.json'), JSON.stringify(of.settings));
  if (process.env.NOCTURNE_TEST_NEXT === 'postgres' && !databases.has(home)) {
    const made = await ownDatabase();
    databases.set(home, made);
    whenDone(() => made.drop());
  }
  const url = databases.get(home)?.url;
  const environment = environmentIn(home, {
    ...{ NOCTURNE_HOME: home, NOCTURNE_MEMORY_DIR: dir, ...(url && { NOCTURNE_DATABASE_URL: url }) },
    ...(of.now !== undefined && { NOCTURNE_NOW: of.now }),
    ...asking(of.server ?? (await scriptedModel())),
    ...of.variables,
  });
  const app = await openApp(await loadConfig({}, environment), { runAgent: loopInProcess });
  const { config, log, memories, db, clock } = app;
  // As whoever worked there did.
  const memory = await app.memoryFor();
  const pages = { openPages: pagesOf(app), port: 0, createsPerMinute: 0, readsPerMinute: 0 };
  const server = await startServer({ config, log, memories }, { ...pages, ...options });
  whenDone(async () => {
    await server.close(0);
    await app.close();
  });
  const now = () => clock.now().toISOString();
  const stores: StoresAtHand = {
    async create({ name, allowsSecrets }) {
      const flags = JSON.stringify({ allowsSecrets });
      return { id: await addMemory(db, { scope: 'store', name, flags }, now()) };
    },
    async adopt(at) {
      const kind = isCheckedInDir(at) ? 'team' : 'project';
      const row = at === dir ? memory : await memories.ofDirectory(at, { scope: kind, name: 'adopted' });
      return { ...row, kind };
    },
    restore: (id) => restoreMemory(db, id),
    async dropRemoved(days) {
      const later = new Date(clock.now().getTime() + 1);
      await dropOld(db, { now: later, versionDays: days, versionsKept: 10 });
    },
    removed: () => removedMemories(db),
    putByHand: async (id, path, text) =>
      app
        .files(await memories.of(id))
        .changeAll({ job: 'job_hand', actor: { kind: 'user', id: null } }, [{ path, make: () => text }]),
    async dump(id) {
      const tables = ['memory', 'file', 'version', 'turn', 'entry', 'rests', 'line'];
      const column = (table: string) => (table === 'memory' ? 'id' : 'memory');
      return Promise.all(tables.map((table) => db.all(`select * from ${table} where ${column(table)} = ?`, id)));
    },
    async sentTexts() {
      const pieces = await db.all<{ body: Buffer }>('select body from piece order by session, n');
      return pieces.map(({ body }) => body.toString());
    },
    beginCancel: (id) => markCanceled(id, memories),
    tenantOf: async (id) => (await memories.of(id)).tenant || null,
    openBreaker: () =>
      insert(db, 'job', [
        {
          ...{ id: newId('job'), kind: 'extract', status: 'failed', outcome: 'failed', started_by: 'worker' },
          ...{ code: 'network', error: 'Nobody answers.', created_at: now(), started_at: now(), ended_at: now() },
        },
      ]),
    async putSession({ id: name, path }) {
      const session = await openSession(path, { id: name });
      const memory = await app.memoryFor();
      await db.write(async (sql) => {
        const of = { memory: memory.id, machine: memories.machine, at: now() };
        const { id: key } = await enterSession(sql, of, session);
        const item = { kind: 'extract', key, memory: memory.id, payload: { ended: true } } as const;
        await put(sql, { ...item, notBefore: new Date('2026-12-01T00:00:00.000Z') }, clock.now());
      });
    },
  };
  return {
    app: { ...app, extract: (request: ExtractRequest, more = {}) => app.extract(request, { memory, ...more }) },
    ...{ home, dir, environment, store: { ...memory, dir }, rows: rowsOfNext(app, memory) },
    server,
    url: server.url,
    stores,
    async client(key: { stores?: 'all' | string[] } & Partial<NewKey> = {}, more = {}) {
      const { stores: memories = [], ...rest } = key;
      const made = { name: 'test', rights: RIGHTS, memories, dayMicroUsd: null, ...rest };
      const created = await server.deps.keys.create(made);
      return clientOf({ url: server.url, key: created.key, id: created.row.id }, more);
    },
  };
}

/** Works what waits, as a worker does. Answers what was put off, and why. */
export async function workNext(app: App): Promise<string[]> {
  const waits: string[] = [];
  await runWorker(app, {
    ends: 'idle',
    signal: new AbortController().signal,
    onResult: ({ delayedUntil, reason }) => delayedUntil && waits.push(`${reason}`),
    onError: (message) => expect.fail(message),
  });
  return waits;
}
