// What people have on their disks: homes and memories of an earlier schema. They are taken in once, when they are opened:
// nothing of them is lost, nothing is done or paid twice, and the databases of before lie beside.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { ShownProposal } from '../../jobs/review/shown-proposals.ts';
import type { Environment } from '../../src/base/config/config.ts';
import { all, clientOf, refusal, served } from '../server/served.ts';
import { testModel } from '../support/app.ts';
import { type Before, copyBefore, MADE_BY } from '../support/before.ts';
import { entriesShown, messagesBy, obey, shown } from '../support/obedient.ts';
import { jsonHere, runHere } from '../support/run-here.ts';

const PNPM = 'Always use pnpm instead of npm.';
const DELTA = 'Deploys go through the pipeline delta.';
const BRAVO = 'Never rerun bravo at night.';
const ALPHA = 'Staging runs on alpha.';
const NAMES = 'Never log customer names.';
const LINTER = 'Always run the linter twice.';
const REDIS = 'We use Redis 8 for the sessions.';
const SAID = [PNPM, DELTA, BRAVO, ALPHA, NAMES, LINTER, REDIS];

/** Records whatever it is shown of what was said, and keeps all entries of a night. */
const eager = obey({
  record: (request) =>
    messagesBy(request, 'human').flatMap((message) =>
      SAID.filter((text) => shown(request, 'excerpt').includes(text)).map((text) => ({
        ...{ type: 'feedback', strength: 'stated', text },
        evidence: [{ message, quote: text }],
      })),
    ),
  propose: (request) =>
    entriesShown(request).map(({ id, text }) => ({
      ...{ kind: 'put', topic: 'rules', type: 'feedback', description: 'What holds' },
      ...{ in: [{ text, entries: [id] }], reason: 'New.' },
    })),
});

async function begin(name: Parameters<typeof copyBefore>[0]) {
  const before = copyBefore(name);
  const server = await testModel(eager);
  const environment = before.environment(server);
  const at = ['--memory', before.memory];
  return { before, server, environment, at, run: (...args: string[]) => runHere(args, environment) };
}

interface Listed {
  topics: { name: string; pinned: boolean }[];
  waiting: { text: string }[];
}

/** How often these words are kept: as a line of a topic, or as an entry that waits for one. */
async function timesKept(words: string, { memory }: Before, environment: Environment): Promise<number> {
  const { waiting } = await jsonHere<Listed>(['list', '--memory', memory], environment);
  const lines = readdirSync(memory)
    .filter((name) => name.endsWith('.md') && name !== 'MEMORY.md')
    .flatMap((name) => readFileSync(join(memory, name), 'utf8').split('\n'));
  return [...lines, ...waiting.map(({ text }) => text)].filter((text) => text.includes(words)).length;
}

/** The databases of before beside one of today, and what is in them. */
function besides(path: string) {
  const names = readdirSync(dirname(path)).filter((name) => name.includes('.before-'));
  return names.sort().map((name) => {
    const { mode, mtimeMs } = statSync(join(dirname(path), name));
    const db = new Database(join(dirname(path), name), { readonly: true });
    const wings = db.prepare('select count(*) from wing_version').pluck().get();
    db.close();
    return { name, mode: mode & 0o777, mtimeMs, wings };
  });
}

test('a memory is taken in once, with its versions and what undo needs; the database of before lies beside it', async () => {
  const { before, server, environment, at, run } = await begin('ordinary');
  const { versions } = await jsonHere<{ versions: { id: string }[] }>(
    ['show', 'tools.md', '--history', ...at],
    environment,
  );
  expect((await run('show', 'tools.md', '--version', versions[0]?.id ?? '', ...at)).stdout).toContain(PNPM);
  const [ledger, home] = [join(before.memory, '.nocturne/ledger.db'), join(before.home, 'home.db')];
  const put = { mode: 0o600, mtimeMs: expect.any(Number), wings: expect.any(Number) };
  const aside = [besides(ledger), besides(home)];
  expect(aside).toEqual([[{ name: 'ledger.db.before-21', ...put }], [{ name: 'home.db.before-12', ...put }]]);
  expect((await run('why', PNPM, ...at)).stdout).toContain('11111111');
  expect((await run('recall', '--query', 'pnpm', ...at)).stdout).toContain(PNPM);
  expect(await run('check', ...at)).toMatchObject({ code: 0 });
  const undone = await jsonHere(['undo', '--last', '--any', ...at], environment);
  expect(undone).toMatchObject({ outcome: 'undone', kind: 'extract' });
  expect(await timesKept(BRAVO, before, environment)).toBe(0);
  expect(await jsonHere(['undo', '--last', '--any', ...at], environment)).toMatchObject({ kind: 'dream' });
  expect(existsSync(join(before.memory, 'tools.md'))).toBe(false);
  expect([besides(ledger), besides(home)]).toEqual(aside);
  expect(server.requests).toEqual([]);
});

test('no session is paid again, what waits is sorted in once, and today’s spend still counts', async () => {
  const { before, server, environment, at, run } = await begin('ordinary');
  expect(await jsonHere(['status', ...at], environment)).toMatchObject({ spendToday: { usedTokens: 440 } });
  for (const digit of ['1', '2']) expect(await run('extract', before.session(digit))).toMatchObject({ code: 0 });
  expect(server.requests).toEqual([]);
  expect((await run('dream', ...at)).code).toBe(0);
  for (const words of [PNPM, DELTA, BRAVO]) expect(await timesKept(words, before, environment)).toBe(1);
  const asked = server.requests.length;
  expect((await run('dream', ...at)).code).toBe(0);
  expect((await run('worker', '--once')).code).toBe(0);
  expect(server.requests).toHaveLength(asked);
});

test('what was forgotten stays forgotten, pins and pauses hold, and what waits is done once', async () => {
  const { before, server, environment, at, run } = await begin('waiting');
  const { topics } = await jsonHere<Listed>(['list', ...at], environment);
  expect(topics).toMatchObject([{ name: 'logging', pinned: true }]);
  const proposals = await jsonHere<ShownProposal[]>(['review', ...at], environment);
  expect(proposals.map(({ kind, state }) => `${kind} ${state}`)).toEqual(['add waiting']);
  expect((await run('worker', '--once')).code).toBe(0);
  expect(await timesKept(REDIS, before, environment)).toBe(1);
  const asked = server.requests.length;
  expect((await run('worker', '--once')).code).toBe(0);
  for (const digit of ['3', '4', '5']) expect((await run('extract', before.session(digit))).code).toBe(0);
  expect(server.requests).toHaveLength(asked);
  expect((await run('review', '--accept-all', ...at)).code).toBe(0);
  await run('reprocess', '--session', '33333333-2222-4333-8444-555555555555', ...at);
  expect((await run('dream', ...at)).code).toBe(0);
  for (const words of [NAMES, LINTER, REDIS]) expect(await timesKept(words, before, environment)).toBe(1);
  expect(await timesKept(ALPHA, before, environment)).toBe(0);
  const home = new Database(join(before.home, 'home.db'), { readonly: true });
  const pause = home.prepare('select project, until from pause').get();
  expect([pause, home.prepare('select before from declined').pluck().get()]).toEqual([
    { project: '/home/kim/paused', until: null },
    '2026-11-01T00:00:00.000Z',
  ]);
  home.close();
});

test('a server goes on with its keys and stores: they have the ids that clients know', async () => {
  const { home } = copyBefore('server');
  const { key, keyId, revoked, store, own, memory } = MADE_BY.server;
  const { url } = await served({ app: { home, now: MADE_BY.now } });
  const { sdk } = clientOf({ url, key, id: keyId });
  const stores = await all(sdk.beta.memoryStores.list());
  expect(stores.map(({ id, name }) => [id, name]).sort()).toEqual(
    [
      [store, 'notes'],
      [own, 'own'],
    ].sort(),
  );
  const found = await sdk.beta.memoryStores.memories.retrieve(memory, { memory_store_id: store, view: 'full' });
  expect(found).toMatchObject({ path: '/a.md', content: 'The queue is Redis.\n' });
  const refused = await refusal(all(clientOf({ url, key: revoked, id: '' }).sdk.beta.memoryStores.list()));
  expect(refused.status).toBe(401);
});
