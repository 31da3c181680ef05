// The loop: what a hook told of is learned, once, whoever works; a night sorts it; what holds work back holds it.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runAgent } from '../../src/agent/loop.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { backupsIn } from '../../src/db/backup.ts';
import { addMemory } from '../../src/memory/memories.ts';
import { pause } from '../../src/queue/pauses.ts';
import { type SpoolItem, writeSpoolItem } from '../../src/queue/spool.ts';
import { listWork } from '../../src/queue/waiting-work.ts';
import { openApp } from '../../src/worker/compose.ts';
import { runWorker, type WorkerOptions } from '../../src/worker/worker.ts';
import { environmentIn } from '../support/app.ts';
import { ENGINES, type Engine } from '../support/memory-world.ts';
import { noPostgres, ownDatabase } from '../support/own-database.ts';
import { asking, scriptedModel } from '../support/scripted-model.ts';
import { aSession, RULE } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const NOW = '2026-11-21T02:00:00.000Z';

async function world(engine: Engine, settings: object = {}) {
  const home = tempDir();
  const database = engine === 'postgres' ? await ownDatabase() : undefined;
  if (database) onTestFinished(() => database.drop());
  const model = await scriptedModel();
  const open = async (now: string) => {
    const environment = environmentIn(home, {
      ...{ NOCTURNE_HOME: home, NOCTURNE_MEMORY_DIR: join(home, 'memory'), NOCTURNE_NOW: now },
      ...{ NOCTURNE_DATABASE_URL: database?.url, ...asking(model) },
    });
    const app = await openApp({ ...(await loadConfig({}, environment)), ...settings }, { runAgent });
    onTestFinished(() => app.close());
    return app;
  };
  const app = await open(NOW);
  const work = async (more: Partial<WorkerOptions> = {}, now = NOW) => {
    const said: string[] = [];
    await runWorker(now === NOW ? app : await open(now), {
      ...{ signal: new AbortController().signal, ends: 'idle' },
      onResult: ({ kind, outcome, delayedUntil }) =>
        void said.push(`${kind} ${outcome}${delayedUntil ? ' later' : ''}`),
      onError: (message) => void said.push(message),
      ...more,
    });
    return said;
  };
  const spool = (of: Partial<SpoolItem>) =>
    writeSpoolItem(home, {
      ...{ v: 1, agent: 'claude-code', session: 's', transcript: null, cwd: null, event: 'SessionEnd' },
      ...{ size: null, mtime: null, at: NOW, ...of },
    } as SpoolItem);
  return { app, home, work, spool };
}

test.skipIf(noPostgres).each(ENGINES)(
  'on %s what a hook told of is learned once it is due, and a night sorts it',
  async (engine) => {
    const { app, work, spool } = await world(engine);
    const session = aSession([RULE, 'Thanks.']);
    spool({ session: session.id, transcript: session.path });
    expect(await work()).toEqual([]);
    expect(await listWork(app.db)).toMatchObject([{ kind: 'extract', not_before: '2026-11-21T02:00:10.000Z' }]);
    expect(await work({}, '2026-11-21T02:00:10Z')).toEqual(['extract recorded']);
    expect(await listWork(app.db)).toEqual([]);
    expect(await work({ isNight: true }, '2026-11-21T03:00:00Z')).toEqual(['dream dreamed']);
    const memory = await app.memoryFor({ cwd: '/' });
    const { items } = await app.files(memory).list();
    expect(items.map((item) => ('path' in item ? item.path : ''))).toContain('MEMORY.md');
    if (memory.dir) expect(readFileSync(join(memory.dir, 'MEMORY.md'), 'utf8')).not.toBe('');
  },
);

test('what a hook told while the worker that it relied on was at its last look is worked before that one ends', async () => {
  const { home, work, spool } = await world('sqlite');
  const session = aSession([RULE, 'Thanks.']);
  mkdirSync(join(home, 'spool'), { recursive: true });
  writeFileSync(join(home, 'spool', 'damaged.json'), '{');
  let isTold = false;
  const said = await work({
    ends: 'hooked',
    onError() {
      if (!isTold) spool({ session: session.id, transcript: session.path, at: '2026-11-21T01:50:00.000Z' });
      isTold = true;
    },
  });
  expect(said).toContain('extract recorded');
});

test('while a worker stays, what clients keep in stores is copied each hour, and where there are none nothing is', async () => {
  const { app, home, work } = await world('sqlite');
  const stay = async (now: string) => {
    const end = new AbortController();
    setImmediate(() => end.abort());
    await work({ ends: undefined, signal: end.signal }, now);
    return backupsIn(home).length;
  };
  expect(await stay('2026-11-21T02:00:00Z')).toBe(0);
  await addMemory(app.db, { scope: 'store', name: 'notes' }, NOW);
  const copies = [];
  for (const now of ['02:00:00', '02:59:59', '03:00:00']) copies.push(await stay(`2026-11-21T${now}Z`));
  expect(copies).toEqual([1, 1, 2]);
});

test('what is paused waits, and is worked when the pause is over', async () => {
  const { app, work, spool } = await world('sqlite');
  const session = aSession([RULE]);
  spool({ session: session.id, transcript: session.path });
  await pause(app.db, { project: null, until: '2026-11-21T02:30:00.000Z' }, app.clock.now());
  expect(await work({}, '2026-11-21T02:10:00Z')).toEqual(['extract off later']);
  expect(await listWork(app.db)).toMatchObject([{ error: expect.stringContaining('nocturne is paused until') }]);
  expect(await work({}, '2026-11-21T02:30:00Z')).toEqual(['extract recorded']);
});
