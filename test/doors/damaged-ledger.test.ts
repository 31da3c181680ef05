// A ledger whose pages or rows are damaged in the middle: every command says what to do.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeError } from '../../src/base/errors.ts';
import { allEntries } from '../../src/memory/ledger/entries.ts';
import { ledgerDamage, openLedger } from '../../src/memory/ledger/ledger.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { runHere } from '../support/run-here.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

async function closed(): Promise<TestApp> {
  const testing = await testApp();
  const session = sessionFile(tempDir());
  for (const prompt of ['Always use pnpm instead of npm.', 'I prefer short answers.']) session.add(prompt);
  await testing.app.extract({ transcript: session.path, ended: true });
  await testing.app.dream(testing.store, {});
  testing.store.close();
  return testing;
}

const COMMANDS = [
  ['status'],
  ['list'],
  ['check'],
  ['recall'],
  ['dream'],
  ['list', '--day'],
  ['show', '--history'],
  ['doctor'],
];

const DAMAGES: [string, (dir: string) => void][] = [
  [
    'a page of its entries is damaged',
    (dir) => {
      const path = join(dir, '.nocturne/ledger.db');
      const bytes = readFileSync(path);
      const page = Math.floor(bytes.lastIndexOf('Always use pnpm') / 4096) * 4096;
      bytes.fill(0xff, page, page + 12);
      writeFileSync(path, bytes);
    },
  ],
  [
    'the evidence of an entry is no JSON',
    (dir) => {
      const ledger = openLedger(dir);
      ledger.run("update entry set evidence = substr(evidence, 1, 20) where text like '%pnpm%'");
      ledger.close();
    },
  ],
];

test.each(DAMAGES)('where %s, commands say what to do, and check --repair rebuilds', async (_, damage) => {
  const testing = await closed();
  damage(testing.dir);
  expect(ledgerDamage(testing.dir)).not.toEqual([]);
  const said: string[] = [];
  for (const command of COMMANDS) {
    const { code, stderr, stdout } = await runHere(command, testing.environment);
    expect(stderr + stdout, command.join(' ')).not.toMatch(/\n {4}at |SyntaxError|Nobody planned/);
    if (code !== 0) said.push(stderr + stdout);
  }
  expect(said.length).toBeGreaterThan(1);
  expect(said.filter((text) => !text.includes('--repair'))).toEqual([]);
  const repaired = await runHere(['check', '--repair'], testing.environment);
  expect(repaired).toMatchObject({ code: 0, stdout: expect.stringContaining('mended') });
  const ledger = openLedger(testing.dir);
  expect(allEntries(ledger).map(({ state }) => state)).toEqual(['distilled', 'distilled']);
  ledger.close();
});

test('what a driver throws is told in words, whatever it is', () => {
  expect(describeError({ code: '57P03', message: 'the database system is starting up' })).toBe(
    'the database system is starting up',
  );
  expect(describeError({ severity: 'ERROR', code: '42P01' })).toBe('{"severity":"ERROR","code":"42P01"}');
  expect(describeError(new AggregateError([new Error('one'), { message: 'two' }]))).toBe('one, two');
});
