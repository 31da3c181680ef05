// What doctor says where the program of an agent is the model.

import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Environment, loadConfig } from '../../src/base/config/config.ts';
import { examine } from '../../src/setup/doctor.ts';
import { isDeep } from '../support/depth.ts';
import { fakeProgram, LOGGED_IN_BY_KEY, NOT_LOGGED_IN } from '../support/fake-program.ts';
import { aPerson, type Person } from '../support/person.ts';
import { runHere } from '../support/run-here.ts';

async function aPersonWith(name: 'claude' | 'codex', more: Environment = {}) {
  const person = aPerson();
  mkdirSync(join(person.user, '.claude'));
  mkdirSync(join(person.user, '.codex'));
  const program = fakeProgram(name, join(person.user, 'bin'));
  const model = name === 'claude' ? 'claude-code' : name;
  const environment = { ...person.environment, ...more, OLLAMA_HOST: '127.0.0.1:1' };
  await runHere(['setup', model, '--yes', '--model', model, '--schedule', 'none'], environment);
  return { ...person, program, model };
}

async function programLines(person: Person, more: Environment = {}, isOnline = false) {
  const config = await loadConfig({}, { ...person.environment, ...more });
  const checks = await examine(config, { cwd: person.user, isOnline });
  return checks.filter(({ what }) => what === 'program' || what === 'model');
}

test('doctor shows which file the program is, its version and how it pays, and asks it as the schedule would', async () => {
  const person = await aPersonWith('claude');
  const before = person.program.starts().length;
  const checks = await programLines(person, {}, true);
  expect(checks).toEqual([
    {
      what: 'program',
      state: 'ok',
      found: `Claude Code 2.1.197, ${person.program.path}, on your plan, claude.ai (max)`,
    },
    { what: 'model', state: 'ok', found: 'claude-code answers' },
  ]);
  expect(person.program.starts()).toHaveLength(before + 1);
  person.program.is({ status: LOGGED_IN_BY_KEY });
  expect((await programLines(person))[0]?.found).toContain('by a key of ANTHROPIC_API_KEY (max), which costs money');
});

test('what works in a shell alone is told: a path that was not kept, and a token of the shell', async () => {
  const person = await aPersonWith('claude');
  writeFileSync(join(person.home, 'config.json'), '{ "model": "claude-code" }');
  const [unkept] = await programLines(person);
  expect(unkept).toMatchObject({
    state: 'fail',
    remedy: expect.stringContaining('nocturne setup --model claude-code'),
  });
  expect(unkept?.found).toMatch(/^as the schedule starts it: Claude Code \(claude\) is not installed here/);
  await runHere(['setup', '--yes', '--model', 'claude-code', '--schedule', 'none'], person.environment);
  // Logged in by a token of the shell's environment, which is kept nowhere.
  writeFileSync(
    person.program.path,
    `#!/bin/sh
case " $* " in
  ' --version ') echo 2.1.197 ;;
  *) if [ -n "$CLAUDE_CODE_OAUTH_TOKEN" ]; then echo '{"loggedIn":true,"authMethod":"oauth_token"}'; else echo '{"loggedIn":false}'; fi ;;
esac
`,
  );
  const [token] = await programLines(person, { CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-x' });
  expect(token?.found).toMatch(/^as the schedule starts it: Claude Code .* is not logged in/);
  expect(JSON.stringify(token)).not.toContain('sk-ant-oat01');
});

test('a program that moved, is logged out, or is another program of its name, is told with its path', async () => {
  const person = await aPersonWith('claude');
  const moved = join(person.user, 'elsewhere');
  mkdirSync(moved);
  renameSync(person.program.path, join(moved, 'claude'));
  const [gone] = await programLines(person);
  expect(gone).toMatchObject({
    state: 'fail',
    found: expect.stringContaining(`${person.program.path}, where set-up found it, is gone`),
  });
  const [onPath] = await programLines(person, { PATH: `${person.environment.PATH}:${moved}` });
  expect(onPath).toMatchObject({
    state: 'fail',
    remedy: expect.stringContaining('nocturne setup --model claude-code'),
  });
  fakeProgram('claude', join(person.user, 'bin')).is({ status: NOT_LOGGED_IN });
  expect(await programLines(person)).toMatchObject([{ state: 'fail', remedy: expect.stringContaining('/login') }]);
  writeFileSync(person.program.path, '#!/bin/sh\necho hello, I am a script\n');
  chmodSync(person.program.path, 0o755);
  const [other] = await programLines(person);
  expect(other?.found).toContain(`${person.program.path} is not Claude Code`);
  expect(other?.found).toContain('hello, I am a script');
});

test.runIf(isDeep)('the file of Codex that goes out with each request is named, where there is one', async () => {
  const person = await aPersonWith('codex');
  const found = async () => (await programLines(person)).map((each) => each.found);
  expect(await found()).toEqual([`Codex 0.169.0, ${person.program.path}, on your plan, ChatGPT`]);
  const file = join(person.user, '.codex', 'AGENTS.md');
  writeFileSync(file, 'Be brief.\n');
  expect(await found()).toContain(`it sends ${file} along with each request`);
});

test.runIf(isDeep)('what a program says where it fails is told', async () => {
  const person = await aPersonWith('codex');
  person.program.answers({ stderr: 'its disk is full\n', code: 2 });
  const [, model] = await programLines(person, {}, true);
  expect(model).toMatchObject({
    state: 'warn',
    found: expect.stringContaining('Codex could not answer: its disk is full'),
  });
});
