// What keeps dreams from running is named by `status` and `doctor`.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkMemoryDirectory } from '../../src/doors/doctor/examine.ts';
import { dreamHolds } from '../../src/doors/worker/hold.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { runHere, runJsonHere } from '../support/run-here.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const LOG = 'logs/2026/11/2026-11-20.md';

async function dreamed(): Promise<TestApp> {
  const testing = await testApp();
  const session = sessionFile(tempDir());
  for (const prompt of ['Always use pnpm instead of npm.', 'I prefer short answers.', 'Never commit to main directly.'])
    session.add(prompt);
  await testing.app.extract({ transcript: session.path, ended: true });
  expect((await testing.app.dream(testing.store, {})).outcome).toBe('dreamed');
  return testing;
}

interface Status {
  attention: string[];
  missing: string[];
  dreamHolds: { why: string; needsPerson: boolean }[];
}

test('a dream that was refused is named with its reason until one comes to its end', async () => {
  const testing = await dreamed();
  const path = join(testing.dir, LOG);
  const log = readFileSync(path, 'utf8');
  writeFileSync(path, '# 2026-11-20\n');
  expect((await testing.app.dream(testing.store, {})).outcome).toBe('refused');
  const why = expect.stringContaining('was refused: 3 of 3 entries are missing from the logs at once');
  expect(await dreamHolds(testing.app, testing.store.ledger)).toEqual([{ why, needsPerson: true }]);
  const status = await runJsonHere<Status>(['status'], testing.environment);
  expect(status.code).toBe(3);
  expect(status.values[0]?.attention).toEqual([expect.stringContaining('--accept-missing')]);
  const doctor = await runHere(['doctor'], testing.environment);
  expect(doctor.stdout).toContain('was refused: 3 of 3 entries');
  writeFileSync(path, log);
  await testing.app.dream(testing.store, {});
  expect(await dreamHolds(testing.app, testing.store.ledger)).toEqual([]);
});

test('topics that went at once are named as what keeps dreams from running, once', async () => {
  const testing = await dreamed();
  for (const path of ['MEMORY.md', 'user-profile.md', 'working-agreements.md']) rmSync(join(testing.dir, path));
  expect((await testing.app.dream(testing.store, {})).outcome).toBe('refused');
  const status = await runJsonHere<Status>(['status'], testing.environment);
  expect(status.values[0]?.attention).toEqual([expect.stringContaining('3 files are missing')]);
  expect(await checkMemoryDirectory(testing.dir, testing.app)).toMatchObject([{ state: 'fail' }]);
});

test('a log that is gone is named by status, which ends with 3, and accepted by its day', async () => {
  const testing = await dreamed();
  rmSync(join(testing.dir, LOG));
  const status = await runJsonHere<Status>(['status'], testing.environment);
  expect(status.code).toBe(3);
  expect(status.values[0]).toMatchObject({
    missing: [LOG],
    dreamHolds: [],
    attention: [expect.stringContaining(LOG)],
  });
  const unfit = await runHere(['dream', '--accept-missing', 'yesterday'], testing.environment);
  expect(unfit.stderr).toContain('"yesterday" is no day');
  expect((await runHere(['dream', '--accept-missing', '2026-11-20'], testing.environment)).code).toBe(0);
  expect((await runJsonHere<Status>(['status'], testing.environment)).values[0]?.missing).toEqual([]);
});

test('status tells the rest where a ledger cannot be read, and what to do', async () => {
  const testing = await dreamed();
  testing.store.close();
  writeFileSync(join(testing.dir, '.nocturne/ledger.db'), 'no database at all');
  const status = await runJsonHere<Status>(['status'], testing.environment);
  expect(status.code).toBe(3);
  expect(status.values[0]?.attention[0]).toContain('nocturne check --repair');
});
