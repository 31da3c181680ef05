// Files of the memory that are far too large: they are read up to a bound, named, and keep nothing else from going on.

import { mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { allEntries } from '../../src/memory/ledger/entries.ts';
import { testApp } from '../support/app.ts';
import { run, runJson } from '../support/run.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const SIZE = 200 * 2 ** 20;
const LOG = 'logs/2026/11/2026-11-20.md';

/** Real lines at the beginning, and as much as there may be behind them. */
function makeHuge(path: string, begin: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, begin + '- A line that somebody’s script has written again and again.\n'.repeat(300_000));
  truncateSync(path, SIZE);
}

test.each(['MEMORY.md', LOG])('a %s of 200 MB is read in part, named, and left as it is', async (path) => {
  const testing = await testApp();
  const say = async (prompt: string, startsAt: string) => {
    const session = sessionFile(tempDir(), { id: crypto.randomUUID(), startsAt });
    session.add(prompt);
    return testing.app.extract({ transcript: session.path, ended: true });
  };
  await say('Always use pnpm instead of npm.', '2026-11-20T09:00:00Z');
  await testing.app.dream(testing.store, {});
  const file = join(testing.dir, path);
  makeHuge(file, readFileSync(file, 'utf8'));
  for (const command of [['status'], ['list'], ['search', 'pnpm'], ['recall'], ['check'], ['log']]) {
    const startedMs = performance.now();
    const { code, signal, stderr } = await run(command, testing.environment);
    expect({ command, code, signal, stderr }).toMatchObject({ code: expect.any(Number), signal: null });
    expect(stderr).not.toMatch(/heap|\n {4}at /);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  }
  const status = await runJson<{ attention: string[] }>(['status'], testing.environment);
  expect(status.code).toBe(3);
  expect(status.values[0]?.attention.join('\n')).toContain(`${path} has 200 MB`);
  // Another day goes on, and what was distilled stays.
  expect((await say('Never commit to main directly.', '2026-11-19T09:00:00Z')).outcome).toBe('recorded');
  const report = await testing.app.dream(testing.store, {});
  if (path === LOG) expect(report.outcome).toBe('dreamed');
  else expect(report.error?.message).toContain('MEMORY.md has 200 MB');
  const topic = readFileSync(join(testing.dir, 'working-agreements.md'), 'utf8');
  expect(topic).toContain('Always use pnpm');
  expect(topic.includes('Never commit')).toBe(path === LOG);
  expect(allEntries(testing.store.ledger).every(({ state }) => state !== 'withdrawn')).toBe(true);
  expect(statSync(file).size).toBe(SIZE);
});
