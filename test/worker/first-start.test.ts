// The first start on what people have of an earlier nocturne: homes, a server, a database that machines share, and a home of
// `next`. Nothing is lost, nothing that was forgotten comes back, nothing is paid for twice.

import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Anthropic, { AuthenticationError } from '@anthropic-ai/sdk';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { type Environment, loadConfig } from '../../src/base/config/config.ts';
import { openApp } from '../../src/worker/compose.ts';
import { served as serve, work } from '../server/served.ts';
import { testModel } from '../support/app.ts';
import { isDeep } from '../support/depth.ts';
import { copyHome, MADE_BY, type OldHome } from '../support/old-homes.ts';
import { noPostgres, ownDatabase } from '../support/own-database.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { answer } from '../support/scripted-model.ts';
import { sessionFile } from '../support/session-file.ts';

const PNPM = 'Always use pnpm instead of npm.';
const NAMES = 'Never log customer names.';
const LINTER = 'Always run the linter before a commit.';
const REDIS = 'We use Redis 8 for the sessions.';
const THURSDAYS = 'Releases are cut on Thursdays.';
const MONDAYS = 'Never deploy on Mondays.';

interface Listed {
  topics: { name: string; pinned: boolean }[];
  waiting: { text: string }[];
}

async function begin(old: OldHome, more: Environment = {}) {
  const server = await testModel((request) => answer(request));
  const environment = { ...old.environment(server), ...more };
  const run = (...args: string[]) => runHere(args, environment);
  const at = ['--memory', old.memory];
  return {
    ...{ server, environment, run, at },
    json: <T>(...args: string[]) => jsonHere<T>(args, environment),
    /** How often these words are kept: as a line of a topic, or as an entry that waits for one. */
    async kept(words: string) {
      const { waiting } = await jsonHere<Listed>(['list', ...at], environment);
      const topics = readdirSync(old.memory).filter((name) => name.endsWith('.md') && name !== 'MEMORY.md');
      const lines = topics.flatMap((name) => readFileSync(join(old.memory, name), 'utf8').split('\n'));
      return [...lines, ...waiting.map(({ text }) => text)].filter((text) => text.includes(words)).length;
    },
  };
}

test('a home is taken in once, with what was learned, pinned, paused, proposed and forgotten, and nothing is asked for', async () => {
  const old = copyHome('kim');
  const { server, run, json, at, kept } = await begin(old);
  expect(await json<Listed>('list', ...at)).toMatchObject({
    topics: [{ name: 'user-profile', pinned: true }, { name: 'working-agreements' }],
  });
  for (const words of [PNPM, LINTER, REDIS, THURSDAYS]) expect([words, await kept(words)]).toEqual([words, 1]);
  expect(await kept(NAMES)).toBe(0);
  expect((await run('next', ...at)).stdout).toContain(PNPM);
  expect((await run('why', PNPM, ...at)).stdout).toContain('11111111');
  expect(await json(...at)).toMatchObject({ spendToday: { usedTokens: 660 } });
  expect(await run('check', ...at)).toMatchObject({ code: 0 });
  for (const digit of ['1', '2', '3', '4']) expect((await run('learn', old.session(digit))).code).toBe(0);
  expect(server.requests).toEqual([]);
  expect(await kept(NAMES)).toBe(0);
  expect(
    [join(old.home, 'home.db'), join(old.memory, '.nocturne/ledger.db')].map((path) => existsSync(`${path}.before`)),
  ).toEqual([true, true]);
});

test('the first session that starts after it is told what was learned before', async () => {
  const old = copyHome('plain');
  const { environment } = await begin(old);
  const stdin = JSON.stringify({
    hook_event_name: 'SessionStart',
    source: 'startup',
    session_id: 'a',
    cwd: '/home/kim/orchard',
  });
  const told = await runHere(['recall', '--hook', '--agent', 'codex'], environment, { stdin });
  expect(told).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(PNPM) });
});

test('what waited in a home is worked once, and what is done after that can be undone', async () => {
  const old = copyHome('kim');
  const { server, run, json, at, kept } = await begin(old);
  expect((await run('worker', '--once')).code).toBe(0);
  expect(await kept(MONDAYS)).toBe(1);
  const asked = server.requests.length;
  expect(asked).toBe(1);
  expect((await run('worker', '--once')).code).toBe(0);
  expect((await run('learn', old.session('6'))).code).toBe(0);
  expect(server.requests).toHaveLength(asked);
  expect((await run('review', '--accept-all', ...at)).code).toBe(0);
  for (const words of [PNPM, LINTER, THURSDAYS, MONDAYS]) expect([words, await kept(words)]).toEqual([words, 1]);
  expect(await json('undo', '--last', '--any', ...at)).toMatchObject({ outcome: 'undone' });
  expect(await kept(NAMES)).toBe(0);
});

test('broken off before its databases were put aside it goes on, and nothing is there or counted twice', async () => {
  const old = copyHome('kim');
  const { run, json, at, kept } = await begin(old);
  expect((await run('list', ...at)).code).toBe(0);
  for (const path of [join(old.home, 'home.db'), join(old.memory, '.nocturne/ledger.db')])
    renameSync(`${path}.before`, path);
  expect((await run('list', ...at)).code).toBe(0);
  for (const words of [PNPM, LINTER, REDIS, THURSDAYS]) expect([words, await kept(words)]).toEqual([words, 1]);
  expect(await json(...at)).toMatchObject({ spendToday: { usedTokens: 660 } });
});

test('while a process of the earlier nocturne is at work there, that is said, and afterwards all is taken in', async () => {
  const old = copyHome('plain');
  const theirs = new Database(join(old.home, 'home.db'));
  theirs.exec('pragma journal_mode = wal; select * from sqlite_master');
  const { run, at, kept } = await begin(old);
  const stderr = expect.stringMatching(/Another process has been writing to .*home\.db.*\n.*or end it\./);
  expect(await run('list', ...at)).toMatchObject({ code: 1, stderr });
  theirs.close();
  expect(await kept(PNPM)).toBe(1);
});

test('of two processes that start at once one takes a home in, and both have it', async () => {
  const old = copyHome('kim');
  const { environment, json, at, kept } = await begin(old);
  const config = await loadConfig({}, environment);
  for (const app of await Promise.all([openApp(config), openApp(config), openApp(config)])) await app.close();
  for (const words of [PNPM, LINTER, REDIS, THURSDAYS]) expect([words, await kept(words)]).toEqual([words, 1]);
  expect(await json(...at)).toMatchObject({ spendToday: { usedTokens: 660 } });
  expect(readdirSync(old.home).filter((name) => name.startsWith('home.db'))).toEqual(['home.db', 'home.db.before']);
});

test('a directory that no home knows is taken in when it is opened; what a person wrote since is an edit of theirs', async () => {
  const old = copyHome('plain');
  rmSync(join(old.home, 'home.db'));
  appendFileSync(join(old.memory, 'working-agreements.md'), '- A line of mine.\n');
  const { server, run, json, at, kept } = await begin(old);
  for (const words of [PNPM, THURSDAYS, 'A line of mine.']) expect([words, await kept(words)]).toEqual([words, 1]);
  const shown = await json<{ versions: { actor: string }[] }>('show', 'working-agreements', '--history', ...at);
  expect(JSON.stringify(shown.versions[0])).toContain('external');
  expect(shown.versions.length).toBeGreaterThan(1);
  expect((await run('learn', old.session('1'))).code).toBe(0);
  expect(server.requests).toEqual([]);
});

/** A session of another project, and a home of `next` that has learned it. */
async function besideIt(old: OldHome, environment: Environment) {
  const meadow = join(old.user, '.claude/projects/-home-kim-meadow');
  const inner = { ...environment, NOCTURNE_HOME: join(old.home, 'next') };
  mkdirSync(meadow, { recursive: true });
  mkdirSync(inner.NOCTURNE_HOME, { recursive: true });
  writeFileSync(join(inner.NOCTURNE_HOME, 'config.json'), '{ "dayTokens": 400000, "planRequests": 900 }');
  const session = sessionFile(meadow, { id: '55555555-2222-4333-8444-555555555555', cwd: '/home/kim/meadow' });
  for (const said of ['Always mow on Fridays.', 'Never water at noon.']) session.add(said);
  const memory = join(meadow, 'memory');
  const at = ['--memory', memory];
  const did: string[][] = [
    ['learn', session.path],
    ['dream', ...at],
    ['forget', 'Never water at noon.', '--yes', ...at],
    ['remember', THURSDAYS, ...at],
  ];
  for (const args of did) expect(await runHere(args, inner)).toMatchObject({ code: 0 });
  return { session: session.path, memory, at };
}

test('a home of `next` alone moves up whole: versions, undo, what was forgotten, settings', async () => {
  const old = copyHome('plain');
  for (const name of readdirSync(old.home)) rmSync(join(old.home, name));
  const { server, environment, run, json } = await begin(old);
  const { session, at } = await besideIt(old, environment);
  const asked = server.requests.length;
  expect(await json<Listed>('list', ...at)).toMatchObject({
    topics: [{ name: 'working-agreements' }],
    waiting: [{ text: THURSDAYS }],
  });
  expect(existsSync(join(old.home, 'next'))).toBe(false);
  expect(readFileSync(join(old.home, 'config.json'), 'utf8')).toContain('900');
  expect((await run('learn', session)).code).toBe(0);
  expect((await run('next', ...at)).stdout).not.toContain('at noon');
  expect(await json('undo', '--last', ...at)).toMatchObject({ outcome: 'undone', kind: 'remember' });
  expect(await json('undo', '--last', ...at)).toMatchObject({ outcome: 'undone', kind: 'forget' });
  expect((await run('next', ...at)).stdout).toContain('at noon');
  expect(server.requests).toHaveLength(asked);
  // Schedules and agents' settings may name it still.
  const inner = join(old.home, 'next');
  expect((await runHere(['next', ...at], { ...environment, NOCTURNE_HOME: inner })).stdout).toContain('at noon');
  mkdirSync(join(inner, 'spool'), { recursive: true });
  writeFileSync(join(inner, 'spool/0.json'), '{}');
  expect((await run('list', ...at)).code).toBe(0);
  expect(existsSync(inner)).toBe(false);
});

test('a home of `next` beside one of an earlier nocturne: both are taken in, each once, and of each ceiling the lower counts', async () => {
  const old = copyHome('plain');
  const { server, environment, run, json, at, kept } = await begin(old);
  const beside = await besideIt(old, environment);
  const asked = server.requests.length;
  for (const words of [PNPM, THURSDAYS]) expect([words, await kept(words)]).toEqual([words, 1]);
  expect((await run('next', ...beside.at)).stdout).toContain('Always mow on Fridays.');
  expect(await json(...at)).toMatchObject({ spendToday: { usedTokens: 440, ceilingTokens: 400_000 } });
  for (const path of [old.session('1'), beside.session]) expect((await run('learn', path)).code).toBe(0);
  expect((await run('next', ...beside.at)).stdout).not.toContain('at noon');
  expect(server.requests).toHaveLength(asked);
});

/** What clients of an earlier nocturne's server find, and what is done of what they asked for. */
async function goesOn(old: OldHome, facts: Record<string, string>, more: Environment = {}) {
  const { server, environment, run } = await begin(old, more);
  const served = await serve({
    app: { home: old.home, now: MADE_BY.now, server, variables: { ...environment, ...more } },
  });
  const sdk = new Anthropic({ apiKey: facts.key, baseURL: served.url, maxRetries: 0 });
  const { memoryStores, dreams } = sdk.beta;
  const names = (await memoryStores.list()).data.map(({ name }) => name).sort();
  expect(names).toEqual(['notes', 'notes', 'own']);
  const revoked = new Anthropic({ apiKey: facts.revoked, baseURL: served.url, maxRetries: 0 });
  await expect(revoked.beta.memoryStores.list()).rejects.toBeInstanceOf(AuthenticationError);
  const store = facts.store as string;
  const memory = await memoryStores.memories.retrieve(facts.memory as string, { memory_store_id: store, view: 'full' });
  expect(memory).toMatchObject({ path: '/a.md', content: 'The queue is Redis 8.\n' });
  expect(await dreams.retrieve(facts.done as string)).toMatchObject({
    status: 'completed',
    usage: { input_tokens: 200, output_tokens: 20 },
  });
  expect(await dreams.retrieve(facts.canceled as string)).toMatchObject({
    status: 'canceled',
    archived_at: MADE_BY.now.replace('Z', '.000Z'),
  });
  const ask = async (method: string, path: string, body?: object) => {
    const of = { method, headers: { 'x-api-key': facts.key as string }, body: body && JSON.stringify(body) };
    return (await fetch(`${served.url}/nocturne/v1/sessions/${path}`, of)).json();
  };
  expect(await ask('GET', facts.read as string)).toMatchObject({ messages: 3, memory_store_id: store });
  const again = await ask('PATCH', `${facts.read}?after=2`, [{ role: 'user', content: 'Never shout.' }]);
  expect(again).toMatchObject({ messages: 3 });
  expect(server.requests).toEqual([]);
  expect((await run('pause', '--off')).code).toBe(0);
  await work(served);
  expect(await dreams.retrieve(facts.pending as string)).toMatchObject({ status: 'completed' });
  const texts = async (id: string) => {
    const { data } = await memoryStores.memories.list(id, { view: 'full' });
    return JSON.stringify(data);
  };
  const [output] = (await dreams.retrieve(facts.pending as string)).outputs;
  const made = await texts(output?.memory_store_id as string);
  for (const words of ['Always answer in English.', 'Always close the gate.'])
    expect(made.split(words).length).toBeGreaterThan(1);
  expect(await texts(store)).toContain('Always close the gate.');
  // The session that waited, once for its store and once for the dream's, and the dream.
  expect(server.requests).toHaveLength(3);
  await work(served);
  expect(server.requests).toHaveLength(3);
}

test('a server goes on: its keys and stores, sessions that were sent, dreams that wait', async () => {
  await goesOn(copyHome('server'), MADE_BY.server);
});

test.runIf(isDeep)(`a database that machines shared is taken in, once ${noPostgres}`, async ({ skip }) => {
  skip(noPostgres !== '');
  const database = await ownDatabase({ isNew: true });
  onTestFinished(() => database.drop());
  const old = copyHome('fleet');
  await old.fill(database.url);
  const shared = { NOCTURNE_DATABASE_URL: database.url };
  const { server, run, json, at } = await begin(old, shared);
  const recalled = async () => (await run('next', ...at)).stdout;
  expect(await json<Listed>('list', ...at)).toMatchObject({
    topics: [{ name: 'working-agreements' }],
    waiting: [{ text: REDIS }, { text: THURSDAYS }],
  });
  expect(await json(...at)).toMatchObject({ spendToday: { ceilingTokens: 500_000 } });
  expect((await run('pause', '--off')).code).toBe(0);
  expect(await recalled()).toContain(PNPM);
  expect(await recalled()).not.toContain(NAMES);
  expect((await run('why', PNPM, ...at)).stdout).toContain('11111111');
  for (const digit of ['1', '2', '4']) expect((await run('learn', old.session(digit))).code).toBe(0);
  expect(await recalled()).not.toContain(NAMES);
  expect(server.requests).toEqual([]);
  expect((await run('pause')).code).toBe(0);
  await goesOn(old, MADE_BY.fleet, shared);
});
