// `npm run eval` on a small file of LoCoMo's shape, in this process but where one is interrupted.

import { execFile } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { runAgent } from '../../src/agent/loop.ts';
import { testModel } from '../support/app.ts';
import { isDeep } from '../support/depth.ts';
import { says } from '../support/messages-server.ts';
import { hereWith } from '../support/run-here.ts';
import { tempDir } from '../support/temp.ts';
import { evaluate as evaluateWith } from './main.ts';

/** As in run.ts: halves the CPU time that a start costs. */
const COMPILED = join(import.meta.dirname, '../../node_modules/.cache/nocturne-test');
const urlOf = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, path)).href);
const FILE = join(import.meta.dirname, '../fixtures/eval/locomo-shaped.json');
const LOCOMO = ['--set', 'locomo', '--locomo', FILE];

/** In a process of its own, agents too. `interrupt`: the signal of Ctrl-C is sent when it aborts. */
function evaluate(
  args: string[],
  environment = {},
  interrupt?: AbortSignal,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { PATH: process.env.PATH, HOME: tempDir(), NODE_COMPILE_CACHE: COMPILED, ...environment };
  return new Promise((resolve) => {
    const program = `import { evaluate } from ${urlOf('main.ts')};
      import { runAgent } from ${urlOf('../../src/agent/loop.ts')};
      await evaluate(${JSON.stringify(args)}, { runAgent });`;
    const child = execFile(
      process.execPath,
      ['--input-type=module', '--eval', program],
      { env },
      (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
    interrupt?.addEventListener('abort', () => child.kill('SIGINT'));
  });
}

/** The same in this process, agents too. */
function evaluateHere(args: string[], environment = {}) {
  return hereWith(() => evaluateWith(args, { runAgent }), { PATH: process.env.PATH, HOME: tempDir(), ...environment });
}

test('without a key the offline model is measured, and leaves nothing behind', async () => {
  const temporary = tempDir();
  const { code, stdout, stderr } = await evaluateHere([...LOCOMO, '--json'], { TMPDIR: temporary });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const result = JSON.parse(stdout);
  expect(result).toMatchObject({ version: 1, set: 'locomo', samples: ['conv-1'], model: 'offline' });
  expect(result.figures).toMatchObject({ sessions: 2, facts: 4, retention: { count: 0, of: 0 } });
  expect(result.values['dream: facts retained']).toBe(1);
  expect(readdirSync(temporary)).toEqual([]);
});

test('a table for people compares with an earlier result, and says how it was measured', async () => {
  const before = join(tempDir(), 'before.json');
  const values = { 'dream: facts retained': 0.5, 'dream: unsupported lines': 0 };
  writeFileSync(before, JSON.stringify({ version: 1, set: 'locomo', samples: ['conv-1'], values }));
  const { code, stdout } = await evaluateHere([...LOCOMO, '--perfect', '--against', before, '--details']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/dream: facts retained +│ 1\.00 {2}4 of 4 .*│ 0\.500 \(\+0\.500\)/);
  expect(stdout).toMatch(/dream: unsupported lines +│ 0 of 4 .*│ the same/);
  expect(stdout).toMatch(/memory +│ plain append +│ whole transcript/);
  expect(stdout).toContain('not by meaning');
});

test('LoCoMo’s file alone is a set: turns that entries rest on, and what reading costs beside the whole conversation', async () => {
  const { code, stdout } = await evaluateHere(['--locomo', FILE, '--perfect', '--model', 'offline']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/turns that say a fact, an entry rests on them +│ 1\.00 {2}4 of 4/);
  const [, tokens, all] =
    /tokens to read all of it +│.*│.*│ (\d+) [\s\S]*reading all of it for each +│.*│.*│ (\d+) /.exec(stdout) ?? [];
  expect(Number(tokens)).toBeGreaterThan(0);
  expect(Number(all)).toBe(3 * Number(tokens));
  expect(stdout).toContain(`question, without a cache, takes ${all} tokens`);
  const both = await evaluateHere(['--locomo', FILE, '--set', 'own']);
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('--locomo is a set of its own') });
});

test('what it is likely to cost is said before a model is asked, also without a key', async () => {
  const { code, stdout, stderr } = await evaluateHere([...LOCOMO, '--model', 'claude-haiku-5-5', '--estimate']);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toMatch(
    /^Model claude-haiku-5-5: about 4 requests, \d+k tokens in, \d+k out: about \$\d+\.\d\d at list price\.$/m,
  );
  expect((await evaluateHere([...LOCOMO, '--model', 'mine', '--estimate'])).stderr).toContain('mine has no price here');
});

test.runIf(isDeep)('interrupted it goes on where it stopped, and its figures are those of the whole', async () => {
  const interrupt = new AbortController();
  const model = await testModel((_, call) => {
    if (call !== 2) return says('Nothing worth keeping.');
    interrupt.abort();
    return 'hang';
  });
  const temporary = tempDir();
  const environment = {
    TMPDIR: temporary,
    ANTHROPIC_API_KEY: model.access.apiKey,
    ANTHROPIC_BASE_URL: model.access.baseURL,
  };
  const args = [...LOCOMO, '--model', 'some-model', '--json'];
  const first = await evaluate(args, environment, interrupt.signal);
  expect(first).toMatchObject({ code: 130, stderr: expect.stringContaining('The same command goes on from here') });
  const second = await evaluateHere(args, environment);
  expect(second).toMatchObject({ code: 0, stderr: expect.stringContaining('Going on with what') });
  expect(model.requests).toHaveLength(3);
  expect(JSON.parse(second.stdout).figures.memory).toMatchObject({ calls: 2, tokens: 220 });
  expect(readdirSync(temporary)).toEqual([]);
});

test('what was asked for wrongly is told with what to do', async () => {
  const other = join(tempDir(), 'other.json');
  writeFileSync(other, JSON.stringify({ version: 1, set: 'own', samples: [], values: {} }));
  const noFile = await evaluateHere(['--set', 'locomo']);
  const noKey = await evaluateHere(['--model', 'some-model']);
  const ofAnother = await evaluateHere([...LOCOMO, '--against', other]);
  expect(noFile).toMatchObject({ code: 2, stderr: expect.stringContaining('--set locomo needs --locomo FILE') });
  expect(noKey).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no key for model some-model') });
  expect(ofAnother).toMatchObject({ code: 2, stderr: expect.stringContaining('is of the set own') });
});
