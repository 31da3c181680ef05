import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listFiles } from '../../src/base/files/directories.ts';
import { redact } from '../../src/base/secrets/redact-text.ts';
import { openSession, openSnapshot, snapshotLines } from '../../src/transcript/session.ts';
import { readTurns } from '../../src/transcript/turns.ts';
import { type TestApp, testApp, testModel } from '../support/app.ts';
import { enqueueExtract } from '../support/doors.ts';
import { workDue } from '../support/due-work.ts';
import { error } from '../support/messages-server.ts';
import { aSession } from '../support/session-file.ts';
import { collect, fixtures, hasReal, real, realFiles, transcriptOf } from '../support/transcripts.ts';

const TOKEN = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;

/** What is kept of sessions. */
async function keptIn({ app }: TestApp): Promise<string[]> {
  const pieces = await app.db.all<{ body: Uint8Array }>('select body from piece');
  return pieces.map(({ body }) => Buffer.from(body).toString());
}

function withSecrets() {
  const session = aSession([`Always use pnpm instead of npm. My token is ${TOKEN}.`]);
  session.add('I prefer short answers.', [
    { calls: 'Bash', input: { env: { password: 'hunter2hunter2' }, command: 'ls' }, result: `TOKEN=${TOKEN}` },
    { says: 'Done.' },
  ]);
  return session;
}

async function enqueued(testing: TestApp, transcript: string) {
  const waiting = await enqueueExtract(testing.app, { transcript, ended: true, snapshot: true });
  return { waiting, work: async () => (await workDue(testing))[0] };
}

test('a snapshot holds no secret', async () => {
  const testing = await testApp();
  await enqueued(testing, withSecrets().path);
  const text = (await keptIn(testing)).join('');
  expect(text).toContain('Always use pnpm instead of npm.');
  expect(text).not.toMatch(/ghp_a1B2|hunter2/);
});

test('a session that is gone is extracted from its snapshot, and not again', async () => {
  const testing = await testApp();
  const session = withSecrets();
  const { work } = await enqueued(testing, session.path);
  renameSync(session.path, `${session.path}.away`);
  expect(await work()).toMatchObject({ outcome: 'recorded', delayedUntil: null });
  // It is kept as long as versions, for who asks what a line rests on.
  expect(await keptIn(testing)).toHaveLength(1);
  renameSync(`${session.path}.away`, session.path);
  const again = await testing.app.extract({ transcript: session.path, ended: true });
  expect(again).toMatchObject({ outcome: 'nothing-new', session: session.id });
});

test('a session that is still there is read itself', async () => {
  const testing = await testApp();
  const session = withSecrets();
  const { work } = await enqueued(testing, session.path);
  session.add('The release deadline is 2026-12-04.');
  expect(await work()).toMatchObject({ outcome: 'recorded' });
  expect(readFileSync(join(testing.dir, 'logs/2026/11/2026-11-20.md'), 'utf8')).toContain('2026-12-04');
  expect(await keptIn(testing)).toHaveLength(1);
});

test('work that waits for another try keeps its snapshot', async () => {
  const model = await testModel([error(529, 'overloaded'), error(529, 'overloaded'), error(529, 'overloaded')]);
  const testing = await testApp({ server: model });
  const session = withSecrets();
  const { work } = await enqueued(testing, session.path);
  rmSync(session.path);
  expect(await work()).toMatchObject({ outcome: 'failed', delayedUntil: expect.any(String) });
  expect(await keptIn(testing)).toHaveLength(1);
});

/** Everything that coverage and entries rest on. */
async function standing(session: Awaited<ReturnType<typeof openSession>>) {
  const turns = await collect(readTurns(session.messages()));
  const ofMessage = ({
    id,
    speaker,
    at,
    follows,
    isPrivate,
    isSidechain,
  }: (typeof turns)[number]['messages'][number]) =>
    JSON.stringify({ id, speaker, at, follows, isPrivate, isSidechain });
  return {
    turns: turns.map(({ id, at, messages }) => ({ id, at, messages: messages.map(ofMessage) })),
    unreadable: session.unreadableLines,
    ...{ id: session.id, format: session.format, path: session.path, cwd: session.cwd, at: session.modifiedAt },
  };
}

test('in every format a snapshot has the ids, turns and speakers of the original', async () => {
  const own = listFiles(fixtures)
    .filter((file) => /\.jsonl?$/.test(file))
    .map((file) => join(fixtures, file));
  // Ids that are made of what was said stay what they are, though it is redacted.
  const chained = transcriptOf(
    JSON.stringify([
      { role: 'user', content: `My token is ${TOKEN}.` },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'Bash', input: { command: `x ${TOKEN}` } }] },
      { role: 'user', content: 'Thanks.' },
    ]),
  );
  const reals = hasReal ? (await realFiles(/^(codex|gemini|opencode|copilot)\//)).slice(0, 12) : [];
  const formats = new Set<string>();
  for (const path of [...own, chained, ...reals.map((file) => join(real, file))]) {
    const session = await openSession(path).catch(() => null);
    if (session === null) continue;
    formats.add(session.format);
    const kept = (await collect(snapshotLines(session, redact))).join('');
    expect(await standing(openSnapshot(Buffer.from(kept))), path).toEqual(await standing(session));
    expect(kept).not.toContain(TOKEN);
  }
  expect([...formats].sort()).toEqual(
    ['atif', 'claude-code', 'codex', 'copilot', 'entire', 'gemini', 'messages', 'openai', 'opencode', 'pi'].sort(),
  );
});
