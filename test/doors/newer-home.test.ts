// This program on what the next house works on: it says that a newer nocturne does, and changes nothing.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { copyHome } from '../next/old-homes.ts';
import { noPostgres, ownDatabase } from '../support/own-database.ts';
import { runHere } from '../support/run-here.ts';
import { scriptedModel } from '../support/scripted-model.ts';

const refused = { code: 1, stderr: expect.stringMatching(/by a newer nocturne .*\n.*Update nocturne on this machine/) };

test('a home and a directory that were taken in are refused with words, and their marks stay', async () => {
  const old = copyHome('plain');
  const { NOCTURNE_NEXT: _, ...before } = old.environment(await scriptedModel());
  const at = ['--memory', old.memory];
  expect((await runHere(['list', ...at], { ...before, NOCTURNE_NEXT: '1' })).code).toBe(0);
  const marks = () =>
    [join(old.home, 'home.db'), join(old.memory, '.nocturne/ledger.db')].map((path) => readFileSync(path).length);
  expect(await runHere(['learn', old.session('1')], before)).toMatchObject(refused);
  expect(await runHere(['remember', 'Tea at four.', ...at], before)).toMatchObject(refused);
  expect(
    await runHere(['remember', 'Tea at four.', ...at], { ...before, NOCTURNE_HOME: join(old.user, 'other') }),
  ).toMatchObject(refused);
  expect(marks()).toEqual([512, 512]);
  expect((await runHere(['recall', ...at], { ...before, NOCTURNE_NEXT: '1' })).stdout).toContain('pnpm');
});

test(`a database that was taken in is refused with words ${noPostgres}`, async ({ skip }) => {
  skip(noPostgres !== '');
  const database = await ownDatabase({ isNew: true });
  onTestFinished(() => database.drop());
  const old = copyHome('fleet');
  await old.fill(database.url);
  const { NOCTURNE_NEXT: _, ...env } = old.environment(await scriptedModel());
  const before = { ...env, NOCTURNE_DATABASE_URL: database.url };
  expect((await runHere(['list', '--memory', old.memory], { ...before, NOCTURNE_NEXT: '1' })).code).toBe(0);
  const told = await runHere(['remember', 'Tea at four.', '--memory', old.memory], before);
  expect(told).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/made by a newer nocturne .*\n.*Update nocturne/),
  });
});
