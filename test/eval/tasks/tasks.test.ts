// Each task turns on its need: its check takes what is right, and neither the untouched tree nor what one does without knowing.
// It starts many processes (node:child_process, in world.ts).

import { readFileSync, rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { countIn, runsOf } from './run.ts';
import { TASKS, textOf, worldOf } from './world.ts';

test.each(TASKS)('$name: $need', ({ sections, ...task }) => {
  const world = worldOf({ sections, ...task });
  onTestFinished(() => rmSync(world.dir, { recursive: true, force: true }));
  const faults = ['wrong', 'right'].map((way) => {
    world.must(`git reset -q --hard && git clean -fdq && git switch -qC main ${world.base}`);
    if (way === 'wrong') expect(world.fault()).not.toBe('');
    world.must(textOf(sections, way));
    return world.fault();
  });
  expect(faults).toEqual([expect.stringMatching(/./), '']);
});

test('every six runs have each task once, half of them told, and each task is told twice of four times', () => {
  const runs = runsOf(37);
  expect(runs).toEqual(runsOf(37));
  for (const from of [0, 6, 12, 18]) {
    const round = runs.slice(from, from + 6);
    expect(new Set(round.map(({ task }) => task.name)).size).toBe(6);
    expect(round.filter(({ isTold }) => isTold).length).toBe(3);
  }
  for (const { name } of TASKS) expect(runs.filter(({ task, isTold }) => task.name === name && isTold).length).toBe(2);
});

test('calls that failed, calls, questions and requests are counted in the transcript', () => {
  const session = sessionFile(tempDir());
  session.add('Fix it.', [
    { calls: 'Bash', input: { command: 'npm test' }, result: 'Exit code 1', fails: true },
    { calls: 'Bash', input: { command: 'npm run test:ledger' }, result: 'pass 3' },
    { says: 'It is fixed. Shall I commit?' },
  ]);
  const transcript = readFileSync(session.path, 'utf8').replaceAll(
    '"role":"assistant"',
    '"role":"assistant","usage":{"input_tokens":10,"cache_read_input_tokens":4,"output_tokens":2}',
  );
  expect(countIn(transcript)).toEqual({ failures: 1, calls: 2, questions: 1, tokens: 48, requests: 3 });
});
