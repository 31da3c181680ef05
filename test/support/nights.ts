// A night's work as the doors see it: sessions that wait with a dream, and what is in the memory directory after it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestApp } from './app.ts';
import { runHere } from './run-here.ts';
import { aSession } from './session-file.ts';
import { tempDir } from './temp.ts';

const DAYS = [
  ['Always use pnpm instead of npm.', 'Run the tests, please.'],
  ['I prefer short answers.', 'The release deadline is 2026-12-04.'],
  ['Never commit to main directly.'],
  ['Bugs are tracked in Linear under the ORCHARD project.', 'Thanks.'],
  ['What does this function do?'],
  ['I am a data engineer, new to Rust.', 'Never mock the database in tests.', 'Always use pnpm instead of npm.'],
];

/** Six sessions of six days, in a directory of their own. */
export function sixSessions(): string[] {
  const dir = tempDir();
  return DAYS.map((prompts, index) => {
    const id = `${index}0000000-2222-4333-8444-555555555555`;
    return aSession(prompts, { dir, id, startsAt: `2026-11-1${index}T09:00:00Z` }).path;
  });
}

/** Puts sessions and a dream into the inbox. */
export async function enqueueNight({ environment }: Pick<TestApp, 'environment'>, sessions: string[]): Promise<void> {
  for (const args of [['learn', ...sessions], ['dream']]) {
    const { code, stderr } = await runHere([...args, '--later'], environment);
    if (code !== 0) throw new Error(`${args[0]} ended with ${code}: ${stderr}`);
  }
}

export async function isIdle({ rows }: TestApp): Promise<boolean> {
  return (await rows('waiting')).length === 0;
}

/** What a memory directory holds, without what differs between two runs of the same work: ids of jobs and machines, order of lines. */
export async function memoryOf({
  store,
  dir,
  rows,
}: Pick<TestApp, 'dir' | 'rows'> & { store: Pick<TestApp['store'], 'list'> }) {
  const files: Record<string, string[]> = {};
  for (const path of await store.list()) files[path] = readFileSync(join(dir, path), 'utf8').split('\n').sort();
  const withoutJob = (row: object) => JSON.stringify({ ...row, job: '', memory: '', machine: '' });
  return {
    files,
    coverage: (await rows('coverage')).map(withoutJob).sort(),
    entries: (await rows('entries')).map(withoutJob).sort(),
    waiting: (await rows('waiting')).length,
  };
}
