// Settings that no test of a feature sets in config.json: that each does what its line says.

import { expect, test } from 'vitest';
import { insert } from '../../../src/db/sql.ts';
import { type TestApp, testApp } from '../../support/app.ts';
import { workUntilIdle } from '../../support/doors.ts';
import { laterApp } from '../../support/due-work.ts';
import { aSession } from '../../support/session-file.ts';

const NOTE = (name: string, text: string) => `---\nname: ${name}\ndescription: A note\ntype: project\n---\n${text}\n`;

test('databaseUrl is where memory is looked for', async () => {
  const settings = { databaseUrl: 'postgres://127.0.0.1:1/none' };
  const opening = testApp({ settings, variables: { NOCTURNE_DATABASE_URL: '' } });
  await expect(opening).rejects.toThrow('The database at postgres://127.0.0.1:1/none');
});

/** What the night does in four days. */
async function nightLater(first: TestApp, settings: object): Promise<TestApp> {
  const then = await laterApp(first, '2026-11-25T04:00:00Z', { settings });
  await workUntilIdle(then.app, { onResult: () => {}, onError: (message) => expect.unreachable(message) });
  return then;
}

test('versionDays is how long all versions are kept', async () => {
  const kept = async (settings: object) => {
    const first = await testApp({ now: '2026-11-21T12:00:00Z' });
    await workUntilIdle(first.app, { onResult: () => {}, onError: () => {} });
    for (let n = 0; n < 12; n++)
      await first.store.write({ actor: 'user' }, { path: 'note.md', text: NOTE('note', `It is ${n}.`) });
    const { app, store } = await nightLater(first, settings);
    const { items } = await app.files(await app.memoryFor()).versions({ limit: 100 });
    return items.filter(({ path }) => path === 'note.md' && store.dir !== '').length;
  };
  expect([await kept({}), await kept({ versionDays: 1 })]).toEqual([12, 10]);
});

test('forgetDays is how long a topic waits unused before it is put away', async () => {
  const first = await testApp({ now: '2026-11-21T12:00:00Z' });
  await first.app.extract({ transcript: aSession(['Always use pnpm.']).path, ended: true });
  const memory = await first.app.memoryFor();
  await first.app.dream(memory, {});
  const [topic = ''] = (await first.store.list()).filter((path) => !/MEMORY|logs/.test(path));
  const use = { shown: 0, used: 1, used_at: '2026-11-21T12:00:00Z' };
  await insert(first.app.db, 'topic_use', [{ memory: memory.id, file: 'mem_other', ...use }]);
  expect(await (await nightLater(first, {})).store.list()).toContain(topic);
  const second = await laterApp(first, '2026-11-26T04:00:00Z', { settings: { forgetDays: { feedback: 1 } } });
  await second.app.extract({
    transcript: aSession(['I prefer short answers.'], { id: '20000000-2222-4333-8444-555555555555' }).path,
    ended: true,
  });
  await second.app.dream(memory, {});
  expect(await second.store.list()).toContain(`archive/${topic}`);
});
