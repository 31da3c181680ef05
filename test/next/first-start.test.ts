// The first start on what people have of the nocturne of before: homes, a server, a database that machines share, and a home of
// `next`. Nothing is lost, nothing that was forgotten comes back, nothing is paid for twice.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testModel } from '../support/app.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { answer } from '../support/scripted-model.ts';
import { copyHome, type OldHome } from './old-homes.ts';

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

async function begin(old: OldHome) {
  const server = await testModel((request) => answer(request));
  const environment = old.environment(server);
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
  expect((await run('recall', ...at)).stdout).toContain(PNPM);
  expect((await run('why', PNPM, ...at)).stdout).toContain('11111111');
  const proposals = await json<{ kind: string; state: string }[]>('review', ...at);
  expect(proposals.map(({ kind, state }) => `${kind} ${state}`)).toEqual(['add waiting', 'add waiting']);
  expect(await json('status', ...at)).toMatchObject({ spendToday: { usedTokens: 660 } });
  expect(await run('check', ...at)).toMatchObject({ code: 0 });
  for (const digit of ['1', '2', '3', '4']) expect((await run('learn', old.session(digit))).code).toBe(0);
  expect(server.requests).toEqual([]);
  expect(await kept(NAMES)).toBe(0);
  expect(
    [join(old.home, 'home.db'), join(old.memory, '.nocturne/ledger.db')].map((path) => existsSync(`${path}.before`)),
  ).toEqual([true, true]);
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
