import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allEntries } from '../../src/memory/ledger/entries.ts';
import { testApp, testModel } from '../support/app.ts';
import { calls, says } from '../support/messages-server.ts';
import { aSession, type SessionFile, sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const LOG = 'logs/2026/11/2026-11-20.md';

function entry(text: string, message: string, quote: string, more: object = {}) {
  return { type: 'feedback', strength: 'stated', text, evidence: [{ message, quote }], ...more };
}

function threeTurns(): SessionFile {
  return aSession([
    'Always use pnpm instead of npm.',
    'The release deadline is 2026-12-04.',
    'I prefer short answers.',
  ]);
}

test('a session becomes entries with checked quotes in the log of its day, and coverage', async () => {
  const { app, dir } = await testApp();
  const session = threeTurns();
  const report = await app.extract({ transcript: session.path, ended: true });
  expect(report).toMatchObject({
    session: session.id,
    outcome: 'recorded',
    coverage: [{ from: session.turn(1), to: session.turn(3), became: 'recorded' }],
    unreadableLines: 0,
  });
  expect(report.entries.map((item) => [item.type, item.turn, item.evidence])).toEqual([
    [
      'feedback',
      session.turn(1),
      [
        {
          message: session.turn(1),
          quote: 'Always use pnpm instead of npm.',
          speaker: 'human',
          at: '2026-11-20T09:00:10.000Z',
        },
      ],
    ],
    [
      'project',
      session.turn(2),
      [
        {
          message: session.turn(2),
          quote: 'The release deadline is 2026-12-04.',
          speaker: 'human',
          at: '2026-11-20T09:00:30.000Z',
        },
      ],
    ],
    [
      'user',
      session.turn(3),
      [
        {
          message: session.turn(3),
          quote: 'I prefer short answers.',
          speaker: 'human',
          at: '2026-11-20T09:00:50.000Z',
        },
      ],
    ],
  ]);
  expect(readFileSync(join(dir, LOG), 'utf8')).toContain('- 09:00 **feedback** Always use pnpm instead of npm.');
});

test('the same transcript twice costs no model call the second time', async () => {
  const model = await testModel([says('Nothing worth keeping.')]);
  const { app } = await testApp({ server: model });
  const session = threeTurns();
  expect((await app.extract({ transcript: session.path, ended: true })).outcome).toBe('nothing-worth-keeping');
  const second = await app.extract({ transcript: session.path, ended: true });
  expect(second).toMatchObject({ outcome: 'nothing-new', spend: { calls: 0 } });
  expect(model.requests).toHaveLength(1);
});

test('the last turn of a session that still runs is left alone until it is quiet', async () => {
  const { app } = await testApp({ now: new Date().toISOString() });
  const session = threeTurns();
  const live = await app.extract({ transcript: session.path, ended: false });
  expect(live).toMatchObject({ unsettledTurns: 1, coverage: [{ from: session.turn(1), to: session.turn(2) }] });
  expect((await app.extract({ transcript: session.path, ended: true })).entries.map((item) => item.turn)).toEqual([
    session.turn(3),
  ]);
});

test('a model that never stops calling tools is asked five times, and what it recorded stays', async () => {
  const session = threeTurns();
  const model = await testModel((_, call) =>
    calls('record_entries', {
      entries: [
        entry(`Rule ${call}: pnpm.`, session.turn(1), 'Always use pnpm instead of npm.'),
        entry('Rule 0: yarn.', session.turn(1), 'Always use yarn.'),
      ],
    }),
  );
  const { app, store } = await testApp({ server: model });
  const report = await app.extract({ transcript: session.path, ended: true });
  expect(report.outcome).toBe('turn-limit');
  expect(report.spend.calls).toBe(5);
  expect(model.requests).toHaveLength(5);
  expect(allEntries(store.ledger).map((row) => row.text)).toContain('Rule 1: pnpm.');
});

test.each([
  ['call after call, in three requests', 3],
  ['in three calls of one reply, which leave one more request', 2],
])('45 facts of one excerpt are all recorded, %s', async (how, requests) => {
  const session = sessionFile(tempDir());
  const facts = Array.from({ length: 45 }, (_, at) => `Service number ${at + 1} listens on port ${7000 + at}.`);
  session.add(facts.join('\n'));
  const parts = [0, 20, 40].map((from) => ({
    name: 'record_entries',
    input: {
      entries: facts.slice(from, from + 20).map((fact) => entry(fact, session.turn(1), fact, { type: 'project' })),
    },
  }));
  const model = await testModel(
    how.startsWith('in three') ? [{ tools: parts }, says('Done.')] : parts.map((part) => ({ tools: [part] })),
  );
  const { app, store } = await testApp({ server: model });
  expect(await app.extract({ transcript: session.path, ended: true })).toMatchObject({ outcome: 'recorded' });
  expect(model.requests).toHaveLength(requests);
  expect(
    allEntries(store.ledger)
      .map((row) => row.text)
      .sort(),
  ).toEqual(facts.toSorted());
});

test('a model that fails in its third turn leaves nothing behind, and the next try records once', async () => {
  const session = threeTurns();
  const record = {
    tools: [
      {
        name: 'record_entries',
        input: { entries: [entry('Use pnpm.', session.turn(1), 'Always use pnpm instead of npm.')] },
      },
    ],
  };
  const look = { name: 'memory', input: { command: 'view', path: '/memories' } };
  const model = await testModel([
    { tools: [...record.tools, look] },
    calls('memory', look.input),
    { text: 'No.', stop: 'refusal' },
    record,
  ]);
  const { app, store, dir } = await testApp({ server: model });
  const failed = await app.extract({ transcript: session.path, ended: true });
  expect(failed).toMatchObject({ outcome: 'failed', error: { code: 'refusal' }, entries: [], coverage: [] });
  expect(await store.list()).toEqual([]);
  const again = await app.extract({ transcript: session.path, ended: true });
  expect(again.entries).toHaveLength(1);
  expect(readFileSync(join(dir, LOG), 'utf8').match(/Use pnpm\./g)).toHaveLength(1);
});

test('an entry whose quote nobody said comes back to the model, which can mend it', async () => {
  const session = threeTurns();
  const model = await testModel([
    calls('record_entries', { entries: [entry('Use yarn.', session.turn(1), 'Always use yarn instead of npm.')] }),
    calls('record_entries', { entries: [entry('Use pnpm.', session.turn(1), 'Always use pnpm')] }),
  ]);
  const { app } = await testApp({ server: model });
  const report = await app.extract({ transcript: session.path, ended: true });
  expect(report.entries.map((item) => item.text)).toEqual(['Use pnpm.']);
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('quote');
});

test('what CLAUDE.md of the project says is not recorded again, and takes no second request', async () => {
  const project = tempDir();
  writeFileSync(join(project, 'CLAUDE.md'), '# Rules\n\n- Always use pnpm instead of npm.\n');
  const session = aSession(['Always use pnpm instead of npm. I prefer short answers.'], { cwd: project });
  const model = await testModel([
    calls('record_entries', {
      entries: [
        entry('Always use pnpm instead of npm.', session.turn(1), 'Always use pnpm instead of npm.'),
        entry('Prefers short answers.', session.turn(1), 'I prefer short answers.', { type: 'user' }),
      ],
    }),
  ]);
  const { app } = await testApp({ server: model });
  const report = await app.extract({ transcript: session.path, ended: true });
  expect(report.entries.map((item) => item.text)).toEqual(['Prefers short answers.']);
  expect(model.requests).toHaveLength(1);
});

test('a turn in which something is private is covered as such, and shown to nobody, as context neither', async () => {
  const model = await testModel(() => says('Nothing.'));
  const { app } = await testApp({ server: model });
  const session = sessionFile(tempDir());
  session.add('Use spaces. <private>\nMy pin is 4711.\n', [{ says: 'Noted: 4711, and spaces.' }]);
  session.add('Thanks, that is all.');
  const report = await app.extract({ transcript: session.path, ended: true });
  expect(report.coverage.map(({ became }) => became)).toEqual(['private', 'nothing']);
  expect(JSON.stringify(model.requests)).toContain('Thanks, that is all.');
  expect(JSON.stringify(model.requests)).not.toMatch(/4711|Use spaces/);
  await app.extract({ transcript: session.path, ended: true });
  expect(model.requests).toHaveLength(1);
});

test('a prompt that was edited and sent again after the same message takes the place of all that followed it', async () => {
  const model = await testModel(() => says('Nothing.'));
  const { app } = await testApp({ server: model });
  const path = join(tempDir(), 'rewound.jsonl');
  const prompt = (uuid: string, parentUuid: string | null, content: string) =>
    `${JSON.stringify({ parentUuid, sessionId: 's', type: 'user', uuid, message: { role: 'user', content } })}\n`;
  const first = prompt('p1', null, 'First things first.') + prompt('p2', 'p1', 'Use tabs.');
  writeFileSync(path, `${first}${prompt('p3', 'p2', 'And semicolons.')}${prompt('p4', 'p1', 'Use spaces.')}`);
  const report = await app.extract({ transcript: path, ended: true });
  const shown = JSON.stringify(model.requests);
  expect(shown).toMatch(/First things first.*Use spaces/);
  expect(shown).not.toMatch(/Use tabs|semicolons/);
  expect(report.coverage).toEqual([
    { from: 'p1', to: 'p1', became: 'nothing' },
    { from: 'p4', to: 'p4', became: 'nothing' },
  ]);
});

test("a session of nocturne's own agent is never extracted", async () => {
  const model = await testModel(() => says('Nothing.'));
  const { app } = await testApp({ server: model });
  const session = threeTurns();
  await app.extract({ transcript: session.path, ended: true });
  const path = join(tempDir(), 'own.json');
  writeFileSync(path, JSON.stringify(model.requests[0]?.messages));
  const report = await app.extract({ transcript: path, ended: true });
  expect(report).toMatchObject({ outcome: 'nothing-new', coverage: [] });
  expect(model.requests).toHaveLength(1);
});
