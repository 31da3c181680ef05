// What a person asks a job to keep, where the words hold a secret.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listFiles } from '../../src/base/files/directories.ts';
import { testApp } from '../support/app.ts';
import { runHere } from '../support/run-here.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

test('a secret in the instructions of any command is in no byte of the memory and the home', async () => {
  const { environment, dir, home } = await testApp();
  const session = sessionFile(tempDir());
  session.add('Always use pnpm instead of npm.');
  const secret = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
  const commands = [
    ['extract', session.path],
    ['dream'],
    ['reprocess', '--all'],
    ['enqueue', 'extract', session.path],
    ['enqueue', 'dream'],
    ['enqueue', 'reprocess', '--all'],
  ];
  for (const command of commands) {
    const ended = await runHere([...command, '--instructions', `Keep what uses ${secret}.`], environment);
    expect(ended, command.join(' ')).toMatchObject({ code: 0, stderr: '' });
  }
  const places = [dir, home];
  const texts = (await Promise.all(places.map(listFiles))).flatMap((paths, at) =>
    paths.map((path) => readFileSync(join(places[at] as string, path), 'latin1')),
  );
  expect(texts.filter((text) => text.includes(secret))).toEqual([]);
  expect(texts.filter((text) => text.includes('Keep what uses [redacted:github].'))).not.toEqual([]);
});
