// `npm start` as somebody new runs it, on a session of their own.

import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { runAgent } from '../../src/agent/loop.ts';
import { startWith } from '../../src/cli/start.ts';
import { aPerson } from '../support/person.ts';
import { hereWith } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const checkout = join(import.meta.dirname, '../..');
const program = join(checkout, 'src/cli/start.ts');

/** As a process. */
function start(words: string[]) {
  const env = { ...aPerson().environment, TMPDIR: tempDir() };
  return promisify(execFile)(process.execPath, [program, ...words], { cwd: checkout, env });
}

function startHere(...given: Parameters<typeof startWith>) {
  return hereWith(() => startWith(...given), aPerson().environment);
}

test('npm start shows what was remembered, its words, every file and what is recalled, and names what it leaves', async () => {
  const session = aSession();
  const { stdout, stderr } = await start([session.path]);
  expect(stderr).toContain(`  session ${session.id.slice(0, 8)}: learned\n  dream: sorted into topics\n`);
  expect(stdout).toContain('- Always use pnpm instead of npm.\n    you: “Always use pnpm instead of npm.”\n');
  const titles = [...stdout.matchAll(/^(.*)\n─+$/gm)].map((match) => match[1]);
  expect(titles).toEqual([
    'Remembered: 1 thing, each with the words it rests on',
    'MEMORY.md',
    'logs/2026/11/2026-11-20.md',
    'working-agreements.md',
    'What the next session is told',
  ]);
  expect(stdout.slice(stdout.indexOf('What the next'))).toContain('- Always use pnpm instead of npm.');
  expect(stdout).not.toContain(session.id);
  const memory = /^The memory stays in (\S+);/m.exec(stdout)?.[1] as string;
  expect(readdirSync(dirname(memory))).toEqual(['memory']);
});

test('npm start of a session with nothing that rules find says what they find, and leaves nothing', async () => {
  const session = aSession(['Where is the parser?']);
  const temporary = tempDir();
  const root = join(temporary, 'nocturne');
  const { stdout, code } = await startHere([session.path], { root, parts: { runAgent } });
  expect(code).toBe(0);
  expect(stdout).toContain('Nothing was worth keeping.\nThe offline model takes only what is said outright');
  expect(stdout).not.toContain('What the next session is told');
  expect(readdirSync(temporary)).toEqual([]);
});
