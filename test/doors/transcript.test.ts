import { existsSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Environment } from '../../src/base/config/config.ts';
import type { SessionFate } from '../../src/worker/session-fate.ts';
import { testApp } from '../support/app.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';
import { lines, transcriptOf } from '../support/transcripts.ts';

function withTools() {
  const session = sessionFile(tempDir());
  session.add('Always use pnpm instead of npm.', [
    { says: 'I look around.' },
    { calls: 'Bash', input: { command: 'ls' }, result: 'package.json' },
    { says: 'Done.' },
  ]);
  session.add('Thanks, that is all.');
  return session;
}

/** Nothing was added for longer than a session is quiet before it counts as ended. */
function hasEnded(path: string): void {
  const at = new Date('2026-11-20T12:00:00Z');
  utimesSync(path, at, at);
}

const toldOf = (path: string, environment: Environment) => jsonHere<SessionFate>(['why', path], environment);

test('why of a session file tells what would be offered, without a model and without a memory', async () => {
  const parent = tempDir();
  const memory = join(parent, 'memory');
  const environment = {
    PATH: process.env.PATH,
    NOCTURNE_HOME: join(parent, 'home'),
    NOCTURNE_MEMORY_DIR: memory,
    NOCTURNE_NOW: '2026-11-21T02:00:00Z',
  };
  const session = withTools();
  hasEnded(session.path);
  expect(await toldOf(session.path, environment)).toMatchObject({
    session: session.id,
    turns: [{ turns: 2, state: 'pending' }],
    holds: { format: 'claude-code', turns: 2 },
  });
  expect(existsSync(memory)).toBe(false);
});

test('why of a session file goes by what the memory directory learned and leaves it as it is', async () => {
  const { app, environment, dir } = await testApp();
  const session = withTools();
  await app.extract({ transcript: session.path, ended: true });
  session.add('And never commit to main.');
  hasEnded(session.path);
  const files = () =>
    readdirSync(dir, { recursive: true }).filter((name) => statSync(join(dir, String(name))).isFile());
  const before = files();
  const { turns } = await toldOf(session.path, environment);
  expect(turns).toMatchObject([{ state: 'recorded' }, { state: 'nothing' }, { state: 'pending', turns: 1 }]);
  expect(files()).toEqual(before);
});

test('what is left out of a session file is named, and of an unknown file which formats there are', async () => {
  const { environment } = await testApp();
  const torn = transcriptOf(lines({ type: 'user', uuid: 'u', sessionId: 's', message: { content: 'hi' } }, '{"to'));
  expect((await toldOf(torn, environment)).holds).toMatchObject({ unreadableLines: 1 });
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
  expect((await toldOf(edited, environment)).turns).toContainEqual(
    expect.objectContaining({ turns: 1, why: expect.stringMatching(/an edited prompt was sent in their place$/) }),
  );
  const unknown = await runHere(['why', transcriptOf('Dear diary,')], environment);
  expect(unknown.code).toBe(1);
  expect(unknown.stderr).toContain('claude-code');
});
