// LoCoMo over a small file of ours that has the published one's shape and none of its words.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runAgent } from '../../../src/agent/loop.ts';
import { testModel } from '../../support/app.ts';
import { type MessagesRequest, says } from '../../support/messages-server.ts';
import { hereWith } from '../../support/run-here.ts';
import { answer } from '../../support/scripted-model.ts';
import { tempDir } from '../../support/temp.ts';
import { evaluate } from '../main.ts';
import { readLocomo } from './file.ts';
import { ANSWER, f1, JUDGE } from './rules.ts';
import type { Answered } from './run.ts';

const FILE = join(import.meta.dirname, 'shaped.json');
const text = readFileSync(FILE, 'utf8');
const textOf = ({ messages: [first] }: MessagesRequest) => String(first?.content);

/** Answers from what is given, as these know it, and judges by the letter. */
function reader() {
  return testModel((request) => {
    const system: unknown = request.system;
    const asked = textOf(request);
    if (system === JUDGE) {
      const [, right, theirs] = /Right answer: (.*)\nTheir answer: (.*)/.exec(asked) ?? [];
      return says(right === theirs ? 'Yes.' : 'No.');
    }
    if (system !== ANSWER) return answer(request);
    if (asked.includes('When did Tilda buy') && asked.includes('bought the canoe')) return says('7 May 2024');
    if (asked.includes('vest') && asked.includes('How many boats')) return says('3');
    return says('Not mentioned.');
  });
}

test('each question is answered with what nocturne tells, with the whole conversation and with nothing; the same command asks nothing twice', async () => {
  const model = await reader();
  const environment = { ANTHROPIC_API_KEY: 'loopback', ANTHROPIC_BASE_URL: model.access.baseURL, HOME: tempDir() };
  const args = ['--locomo', FILE, '--model', 'test-model', '--out', tempDir()];
  const run = (more: string[] = []) =>
    hereWith(() => evaluate([...args, ...more], { runAgent }), { PATH: process.env.PATH, ...environment });
  const { code, stdout } = await run(['--json']);
  expect(code).toBe(0);
  const { answers } = JSON.parse(stdout) as { answers: Answered[] };
  expect(answers).toHaveLength(3 * 6);
  const right = (as: string, category: number) =>
    answers.filter((each) => each.with === as && each.category === category).map(({ isRight }) => isRight);
  expect(right('the whole conversation', 2)).toEqual([true]);
  expect(right('nothing', 2)).toEqual([false]);
  // What nobody said is right where it is said so; judged by no model.
  expect(right('nothing', 5)).toEqual([true]);
  // Of the two lines that begin as a rule does, a night keeps one, and the session after is told it.
  expect(right('nocturne', 4)).toEqual([true, false]);
  const asked = model.requests.length;
  const again = await run();
  expect(model.requests).toHaveLength(asked);
  expect(again.stdout).toMatch(/^\| never said \(adversarial\): right \| 1 \(n 1; 0\.21–1\) \|/m);
  expect(again.stdout).toMatch(/^\| when \(temporal\): F1 \| 0 \(n 1; 0–0\) \| 1 \(n 1; 1–1\) \| 0 /m);
});

test('a conversation has its sessions in their order, and every line is a prompt; answers are words in common', () => {
  const [conversation, ...more] = readLocomo(text, FILE);
  expect(more).toEqual([]);
  expect(conversation?.sessions.map(({ startsAt, lines }) => [startsAt, lines.length])).toEqual([
    ['2024-05-08T13:56:00.000Z', 2],
    ['2024-06-01T00:05:00.000Z', 2],
  ]);
  expect(conversation?.sessions[0]?.lines[0]).toMatch(/^Tilda: Yesterday .* \[a picture of a green canoe\]$/);
  expect(f1('The 7 May', '7 May 2024', 2)).toBeCloseTo(0.8);
  expect(f1('donkeys, goats', 'goats, two donkeys', 1)).toBeCloseTo((1 + 2 / 3) / 2);
  expect(f1('likely not', 'Likely not; she has goats', 3)).toBe(1);
  expect(f1('a cow', 'the', 4)).toBe(0);
});

test('what was asked for wrongly is told with what to do', async () => {
  const here = (...args: string[]) =>
    hereWith(() => evaluate(args, { runAgent }), { PATH: process.env.PATH, HOME: tempDir() });
  const model = ['--model', 'some-model'];
  expect(await here('--locomo', FILE, ...model)).toMatchObject({ code: 1, stderr: expect.stringContaining('no key') });
  expect(await here()).toMatchObject({ code: 2, stderr: expect.stringContaining('Nothing was asked for') });
  const broken = (as: string) => {
    const path = join(tempDir(), 'x.json');
    writeFileSync(path, as);
    return here('--locomo', path, ...model);
  };
  expect((await broken('{')).stderr).toContain('x.json is not JSON');
  expect((await broken('[{"sample_id": "a"}]')).stderr).toMatch(
    /has not the shape of LoCoMo's file: .*\n.*conversation/,
  );
  const undated = text.replace('1:56 pm on 8 May, 2024', 'one day');
  expect((await broken(undated)).stderr).toContain('conv-1, session 1 begins at "one day"');
});
