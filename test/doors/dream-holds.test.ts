// What keeps dreams from running, or an entry from its place, is named by `status` and `doctor`.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type TestApp, testApp, testModel } from '../support/app.ts';
import { calls, says } from '../support/messages-server.ts';
import { entriesShown } from '../support/obedient.ts';
import { recordIn } from '../support/recalling.ts';
import { runHere, runJsonHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';

const LOG = 'logs/2026/11/2026-11-20.md';

async function dreamed(): Promise<TestApp> {
  const testing = await testApp();
  const session = aSession([
    'Always use pnpm instead of npm.',
    'I prefer short answers.',
    'Never commit to main directly.',
  ]);
  await testing.app.extract({ transcript: session.path, ended: true });
  expect((await testing.app.dream(testing.store, {})).outcome).toBe('dreamed');
  return testing;
}

/** Some hours after midnight. */
const dreamAt = ({ environment }: TestApp, hour: number) =>
  runHere(['dream'], { ...environment, NOCTURNE_NOW: `2026-11-21T0${hour}:00:00Z` });

interface Status {
  needs: { text: string; isNotice?: boolean }[];
}

const attention = (status: Status | undefined) => status?.needs.flatMap(({ text, isNotice }) => (isNotice ? [] : text));

test('a log that lost all its entries at once is named until they are back; the dream goes on, and keeps them', async () => {
  const testing = await dreamed();
  const path = join(testing.dir, LOG);
  const log = readFileSync(path, 'utf8');
  writeFileSync(path, '# 2026-11-20\n');
  expect(await dreamAt(testing, 3)).toMatchObject({ code: 0 });
  const status = await runJsonHere<Status>([], testing.environment);
  expect([status.code, attention(status.values[0])]).toEqual([3, [expect.stringContaining(LOG)]]);
  writeFileSync(path, log);
  await dreamAt(testing, 4);
  expect(attention((await runJsonHere<Status>([], testing.environment)).values[0])).toEqual([]);
});

test('topics that went at once are named as what keeps dreams from running, once', async () => {
  const testing = await dreamed();
  const more = ['a.md', 'b.md', 'c.md', 'd.md'];
  for (const path of more) await testing.store.write({ actor: 'person' }, { path, text: '- Of it.\n' });
  for (const path of [...more, 'user-profile.md', 'working-agreements.md']) rmSync(join(testing.dir, path));
  expect((await dreamAt(testing, 3)).stderr).toContain('--accept-missing');
  const status = await runJsonHere<Status>([], testing.environment);
  expect(attention(status.values[0])).toEqual([expect.stringContaining('a.md and 5 more: is gone with many others')]);
  expect((await testing.nocturne('doctor')).stdout).toMatch(/a\.md and 5 more: is gone with many others/);
  expect((await testing.nocturne('check', '--restore')).code).toBe(0);
  await dreamAt(testing, 4);
  expect(attention((await runJsonHere<Status>([], testing.environment)).values[0])).toEqual([]);
});

test('a log that is gone is named by status, which ends with 3, and accepted by a word', async () => {
  const testing = await dreamed();
  rmSync(join(testing.dir, LOG));
  const status = await runJsonHere<Status>([], testing.environment);
  expect(status.code).toBe(3);
  expect(attention(status.values[0])).toEqual([expect.stringContaining(LOG)]);
  expect((await testing.nocturne('check', '--accept-missing')).code).toBe(0);
  expect(attention((await runJsonHere<Status>([], testing.environment)).values[0])).toEqual([]);
});

test('status tells of an entry once no dream could place it for three nights, and no longer when one has', async () => {
  let isRight = false;
  const server = await testModel((request) => {
    const [entry] = entriesShown(request);
    if (request.messages.length > 1 || !entry) return says('Done.');
    const text = isRight ? 'The harvest runs on crates.' : 'The harvest runs on port 9000.';
    const topic = { topic: 'harvest', type: 'project', description: 'The harvest' };
    const lines = [{ text, entries: [entry.id] }];
    return calls('propose_operations', { operations: [{ kind: 'put', reason: 'New.', ...topic, in: lines }] });
  });
  const testing = await testApp({ server });
  const { environment } = testing;
  await recordIn(testing, '2026-11-20T12:00:00Z', { type: 'project', text: 'The harvest runs on crates.' });
  const at = (day: string, hour: number) => ({ ...environment, NOCTURNE_NOW: `${day}T0${hour}:00:00Z` });
  const told = async (day: string) => {
    const { code, values } = await runJsonHere<Status>([], at(day, 8));
    return { code, about: attention(values[0])?.filter((each) => each.includes('could not be sorted')) };
  };
  for (const day of ['2026-11-21', '2026-11-22']) await runHere(['dream'], at(day, 3));
  expect((await told('2026-11-22')).about).toEqual([]);
  await runHere(['dream'], at('2026-11-23', 3));
  const why =
    'could not be sorted into topics for 3 nights, since 2026-11-21: what the model wanted to do with it was not allowed';
  expect(await told('2026-11-23')).toEqual({ code: 3, about: [expect.stringContaining(why)] });
  const shown = await runHere(['--json'], at('2026-11-23', 8));
  expect(shown).toMatchObject({ code: 3, stdout: expect.stringContaining(why) });
  expect(shown.stdout).not.toContain('operations[0]');
  isRight = true;
  // After three nights it rests for three weeks.
  expect(await runHere(['dream'], at('2026-12-13', 3))).toMatchObject({ code: 0 });
  expect((await told('2026-12-13')).about).toEqual([]);
});

test('an index without room for all topics is told by status and doctor, and needs nobody', async () => {
  const { app, dir, store, environment } = await testApp();
  const topic = (n: number) =>
    `---\nname: shed-${n}\ndescription: Of shed ${n}\ntype: project\n---\n\n- It is ${n} m wide.\n`;
  for (let n = 0; n < 210; n += 1) writeFileSync(join(dir, `shed-${n}.md`), topic(n));
  await app.dream(store, {});
  const told = /MEMORY\.md has no room for all topics \(200 lines, 25 kB\)/;
  const { values } = await runJsonHere<Status>([], environment);
  expect(values[0]?.needs.map(({ text }) => text)).toContainEqual(expect.stringMatching(told));
  expect(attention(values[0])?.join('\n')).not.toMatch(told);
  expect((await runHere(['doctor', '--no-online'], environment)).stdout).toMatch(
    new RegExp(`warn {2}memory: .*${told.source}`),
  );
});
