import { randomUUID } from 'node:crypto';
import { chmodSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ExtractReport } from '../../jobs/extract.ts';
import { keepKey } from '../../src/base/key.ts';
import { lastJobs } from '../../src/memory/ledger/job-rows.ts';
import { testApp, testModel } from '../support/app.ts';
import { run } from '../support/run.ts';
import { runHere, runJsonHere } from '../support/run-here.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

function aSession(): string {
  const session = sessionFile(tempDir(), { id: randomUUID() });
  session.add('Always use pnpm instead of npm.');
  session.add('Thanks, that is all.');
  return session.path;
}

test('worker --once --nightly extracts what waits, dreams over every known directory, and ends', async () => {
  const { environment, store, app } = await testApp();
  const other = await app.store(tempDir());
  await app.home.addStore(other.dir);
  await runHere(['enqueue', 'extract', aSession()], environment);
  const night = await run(['worker', '--once', '--nightly'], environment);
  expect(night).toMatchObject({ code: 0, stdout: '' });
  expect(night.stderr).toContain(`dream: nothing-new [${other.dir}]`);
  expect(lastJobs(store.ledger, 5).map(({ kind, outcome }) => [kind, outcome])).toEqual([
    ['dream', 'dreamed'],
    ['extract', 'recorded'],
  ]);
  expect(await app.home.lastNightAt()).toBe('2026-11-21T02:00:00.000Z');
});

test('--nightly without --once is wrong usage', async () => {
  const { environment } = await testApp();
  expect(await runHere(['worker', '--nightly'], environment)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--once'),
  });
});

test('without a key in the environment the kept one is used, by file or by command; one that others can read is not', async () => {
  const model = await testModel(() => ({ text: 'Nothing to keep.' }));
  const { environment, home } = await testApp({ server: model });
  const scheduler = { ...environment, ANTHROPIC_API_KEY: undefined };
  const extract = async () => {
    const { values } = await runJsonHere<ExtractReport>(['extract', aSession()], scheduler);
    return { outcome: values[0]?.outcome, code: values[0]?.error?.code, text: JSON.stringify(values) };
  };
  expect(await extract()).toMatchObject({ outcome: 'failed', code: 'no-model' });
  keepKey({ home }, model.access.apiKey);
  expect((await extract()).code).toBeUndefined();
  expect(model.requests.length).toBeGreaterThan(0);
  const asked = model.requests.length;
  chmodSync(join(home, 'key'), 0o644);
  const refused = await extract();
  expect(refused).toMatchObject({ outcome: 'failed', code: 'auth' });
  expect(refused.text).toContain('chmod 600');
  expect(refused.text).not.toContain(model.access.apiKey);
  expect(model.requests).toHaveLength(asked);
  writeFileSync(join(home, 'config.json'), JSON.stringify({ keyCommand: ['echo', model.access.apiKey] }));
  unlinkSync(join(home, 'key'));
  expect((await extract()).code).toBeUndefined();
  expect(model.requests.length).toBeGreaterThan(asked);
});
