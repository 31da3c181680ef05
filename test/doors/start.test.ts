// `npm start` as somebody new runs it, on a session of their own.

import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { aPerson } from '../support/person.ts';
import { QUICK_WASM } from '../support/run.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

test('npm start shows what was remembered, its words, every file and what is recalled, and names what it leaves', async () => {
  const session = sessionFile(tempDir());
  session.add('Always use pnpm instead of npm.');
  const root = join(import.meta.dirname, '../..');
  const env = { ...aPerson().environment, TMPDIR: tempDir() };
  const start = [QUICK_WASM, join(root, 'src/doors/checkout/start.ts'), session.path];
  const { stdout } = await promisify(execFile)(process.execPath, start, { cwd: root, env });
  expect(stdout).toContain('- Always use pnpm instead of npm.\n    you: “Always use pnpm instead of npm.”\n');
  const titles = [...stdout.matchAll(/^(.*)\n─+$/gm)].map((match) => match[1]);
  expect(titles).toEqual([
    'Remembered: 1 thing, each with the words it rests on',
    'Daily log: logs/2026/11/2026-11-20.md',
    'Topic: working-agreements.md',
    'Index: MEMORY.md',
    'What the next session is told',
  ]);
  expect(stdout.slice(stdout.indexOf('What the next'))).toContain('- Always use pnpm instead of npm.');
  expect(stdout).not.toContain(session.id);
  const memory = /^The memory stays in (\S+);/m.exec(stdout)?.[1] as string;
  expect(readdirSync(dirname(memory))).toEqual(['memory']);
});
