import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Inspection } from '../../jobs/inspect.ts';
import { testApp } from '../support/app.ts';
import { runJson } from '../support/run.ts';
import { runHere, runJsonHere } from '../support/run-here.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';
import { fixtures, lines, transcriptOf } from '../support/transcripts.ts';

function aSession() {
  const session = sessionFile(tempDir());
  session.add('Always use pnpm instead of npm.', [
    { says: 'I look around.' },
    { calls: 'Bash', input: { command: 'ls' }, result: 'package.json' },
    { says: 'Done.' },
  ]);
  session.add('Thanks, that is all.');
  return session;
}

test('transcript tells what would be offered, and makes neither a home nor a memory directory', async () => {
  const parent = tempDir();
  const environment = { PATH: process.env.PATH, NOCTURNE_HOME: join(parent, 'home'), NOCTURNE_ZONE: 'UTC' };
  const session = aSession();
  const args = ['transcript', session.path, '--memory', join(parent, 'memory')];
  const { code, stderr, values } = await runJson<Inspection>(args, environment);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(values).toHaveLength(1);
  expect(values[0]).toMatchObject({
    transcript: session.path,
    format: 'claude-code',
    session: session.id,
    cwd: '/home/kim/orchard',
    memory: join(parent, 'memory'),
    speakers: { human: 2, assistant: 4, tool: 1 },
    turns: [
      { id: session.turn(1), at: '2026-11-20T09:00:10.000Z', state: 'pending' },
      { id: session.turn(2), state: 'pending' },
    ],
    offered: { turns: 2, messages: 7, tokens: expect.any(Number) },
    skipped: [],
  });
  expect(existsSync(join(parent, 'home')) || existsSync(join(parent, 'memory'))).toBe(false);
});

test('transcript goes by the ledger of the memory directory and leaves it as it is', async () => {
  const { app, environment, dir } = await testApp();
  const session = aSession();
  await app.extract({ transcript: session.path, ended: true });
  session.add('And never commit to main.');
  const before = readdirSync(dir, { recursive: true }).filter((name) => statSync(join(dir, String(name))).isFile());
  const { values } = await runJsonHere<Inspection>(['transcript', session.path, '--live'], environment);
  expect(values[0]?.turns.map(({ state }) => state)).toEqual(['recorded', 'nothing', 'open']);
  expect(values[0]?.offered).toMatchObject({ turns: 0, tokens: 0 });
  expect(values[0]?.skipped.map(({ what, count }) => `${count} ${what}`)).toEqual(['1 turns', '1 turns', '1 turns']);
  const after = readdirSync(dir, { recursive: true }).filter((name) => statSync(join(dir, String(name))).isFile());
  expect(after).toEqual(before);
  const ended = await runJsonHere<Inspection>(['transcript', session.path], environment);
  expect(ended.values[0]?.offered.turns).toBe(1);
  expect(ended.values[0]?.offered.excerpts[0]?.messages.at(-2)).toEqual({
    id: session.turn(3),
    speaker: 'human',
    isContext: false,
  });
});

test('transcript says in words what is skipped, and of an unknown file which formats there are', async () => {
  const { environment } = await testApp();
  const session = aSession();
  const { stdout } = await runHere(['transcript', session.path], environment);
  expect(stdout).toMatch(/^turns {5}2: 2 pending$/m);
  expect(stdout).toMatch(/^offered {3}7 messages of 2 turns, about \d+ tokens in 1 excerpts$/m);
  const torn = transcriptOf(lines({ type: 'user', uuid: 'u', sessionId: 's', message: { content: 'hi' } }, '{"to'));
  expect((await runHere(['transcript', torn], environment)).stdout).toMatch(
    /^skipped {3}1 lines: they cannot be read$/m,
  );
  const unknown = await runHere(['transcript', transcriptOf('Dear diary,')], environment);
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toContain('claude-code');
});

test('transcript names what was abandoned, by message or by turn', async () => {
  const { environment } = await testApp();
  const { stdout } = await runHere(['transcript', join(fixtures, 'pi.jsonl')], environment);
  expect(stdout).toMatch(/^skipped {3}2 messages: abandoned: the session went back to before they were said$/m);
  const edited = transcriptOf(
    lines(
      ...['Use tabs.', 'Use spaces.'].map((content, at) => ({
        ...{
          type: 'user',
          uuid: `u${at}`,
          parentUuid: 'root',
          sessionId: 's',
          timestamp: `2026-11-20T09:0${at}:00.001Z`,
        },
        message: { role: 'user', content },
      })),
    ),
  );
  expect((await runHere(['transcript', edited], environment)).stdout).toMatch(
    /^skipped {3}1 turns: abandoned: an edited prompt was sent in their place$/m,
  );
});
