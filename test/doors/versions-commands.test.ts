// The commands about versions, as a person types them, over a real memory directory.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type TestApp, testApp } from '../support/app.ts';
import * as processes from '../support/run.ts';
import { runHere } from '../support/run-here.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const TOPIC = 'working-agreements.md';

function run({ environment }: TestApp, ...args: string[]) {
  return runHere(args, environment);
}

async function dreamt(): Promise<TestApp & { transcript: string }> {
  const testing = await testApp();
  const session = sessionFile(tempDir());
  session.add('Always use pnpm instead of npm.');
  await testing.app.extract({ transcript: session.path, ended: true });
  await testing.app.dream(testing.store, {});
  return { ...testing, transcript: session.path };
}

test('history, show, diff and restore lead from a change back to what was before it', async () => {
  const testing = await dreamt();
  const { store, dir } = testing;
  const text = readFileSync(join(dir, TOPIC), 'utf8');
  await store.commit({ actor: 'person' }, () => ({
    files: [{ path: TOPIC, change: (now) => `${now}- More.\n` }],
  }));
  const { stdout } = await processes.run(['show', TOPIC, '--history', '--json'], testing.environment);
  const { versions } = JSON.parse(stdout);
  expect(versions.map((version: { operation: string }) => version.operation)).toEqual(['modified', 'created']);
  const [, created] = versions;
  expect((await run(testing, 'show', join(dir, TOPIC), '--history')).stdout).toContain(
    `\t${created.id.slice(0, 15)}\tcreated\t`,
  );
  expect(await run(testing, 'show', TOPIC, '--version', created.id)).toMatchObject({ code: 0, stdout: text });
  expect((await run(testing, 'show', TOPIC, '--diff')).stdout).toMatch(
    /^--- .*\n\+\+\+ .*\n@@ .* @@\n( .*\n)+\+- More\.\n$/,
  );
  expect((await run(testing, 'restore', TOPIC, '--version', created.id)).code).toBe(0);
  expect((await run(testing, 'show', TOPIC)).stdout).toBe(text);
  const wrong = await run(testing, 'show', 'MEMORY.md', '--version', created.id);
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining(`not of MEMORY.md`) });
});

test('undo refuses with the reason and exit code 1, takes back what is asked for, and extract learns it again', async () => {
  const testing = await dreamt();
  const { store, transcript } = testing;
  const extract = store.ledger.get("select id from job where kind = 'extract'")?.id as string;
  expect(await run(testing, 'undo', extract)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('changed by dream'),
  });
  expect(await run(testing, 'undo')).toMatchObject({ code: 1, stderr: expect.stringContaining('--any') });
  expect((await run(testing, 'undo', '--last', '--any')).code).toBe(0);
  expect(JSON.parse((await run(testing, 'undo', '--last', '--any', '--json')).stdout)).toMatchObject({
    outcome: 'undone',
    job: extract,
  });
  expect(await store.list()).toEqual([]);
  expect(JSON.parse((await run(testing, 'extract', transcript, '--json')).stdout)).toMatchObject({
    outcome: 'recorded',
  });
});

test('redact tells what it would change, changes it, and leaves nothing to find', async () => {
  const testing = await dreamt();
  expect((await run(testing, 'redact', '--match', 'pnpm', '--dry-run')).stdout).toContain(TOPIC);
  expect(readFileSync(join(testing.dir, TOPIC), 'utf8')).toContain('pnpm');
  expect(await run(testing, 'redact', '--match', 'pnpm')).toMatchObject({ code: 0 });
  expect(readFileSync(join(testing.dir, TOPIC), 'utf8')).toContain('Always use [redacted] instead of npm.');
  expect((await run(testing, 'redact', '--match', 'pnpm')).stdout).toBe(
    'redacted 0 versions, 0 rows of the ledger, 0 files\n',
  );
});

test('history reads instants of any offset, and says what it cannot read, and that it knows no such file', async () => {
  const { environment } = await dreamt();
  const history = (...args: string[]) => runHere(['show', ...args, '--history'], environment);
  expect((await history(TOPIC, '--since', '2026-11-21T03:00:00+01:00')).stdout).toContain('created');
  expect((await history(TOPIC, '--until', '2026-11-21T02:59:59+01:00')).stdout).toBe('');
  for (const [args, code, words] of [
    [['--since', 'yesterday'], 2, "'yesterday' is invalid. It is no ISO-8601 instant"],
    [['--limit', 'many'], 2, "'many' is invalid. It is no whole number"],
    [['--operation', 'made'], 2, 'Allowed choices are created, modified, deleted'],
    [['nothing.md'], 1, 'No version of nothing.md is known'],
  ] as const) {
    expect(await history(...args)).toMatchObject({ code, stderr: expect.stringContaining(words) });
  }
});
