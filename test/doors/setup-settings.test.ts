// What setup writes for an agent, for the night and of the key, and how all of it is taken out again.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { aPerson, type Person } from '../support/person.ts';
import { DOOR } from '../support/run.ts';
import { runHere, runJsonHere } from '../support/run-here.ts';

const SETTINGS = '{\n  // mine\n  "model": "opus" // best\n}\n';

function withSettings(person: Person, text = SETTINGS): string {
  mkdirSync(join(person.user, '.claude'));
  const file = join(person.user, '.claude', 'settings.json');
  writeFileSync(file, text);
  return file;
}

/** No key is asked for, and no model reached. */
const offline = ({ environment }: Person) => ({ ...environment, NOCTURNE_MODEL: 'offline' });

test('setup shows the change as a diff where it is asked to and makes it, --remove takes it back, and both say so only once', async () => {
  const person = aPerson();
  const file = withSettings(person);
  const dry = await runHere(['setup', 'claude-code', '--dry-run'], offline(person));
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining('+  "hooks": {') });
  expect(dry.stdout).toContain(`--- ${file}`);
  expect(await runHere(['setup', 'claude-code', '--yes'], offline(person))).toMatchObject({ code: 0 });
  const written = readFileSync(file, 'utf8');
  expect(written).toMatch(/"model": "opus", \/\/ best\n {2}"hooks": \{\n {4}"SessionEnd"/);
  expect(await runHere(['setup', 'claude-code', '--yes'], offline(person))).toMatchObject({ code: 0 });
  expect(readFileSync(file, 'utf8')).toBe(written);
  const removed = await runHere(['setup', 'claude-code', '--remove', '--yes'], offline(person));
  expect(removed).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`and so does ${person.home.replace(person.user, '~')}\n`),
  });
  expect(readFileSync(file, 'utf8')).toBe(SETTINGS);
  const nothing = await runHere(['setup', 'claude-code', '--remove'], offline(person));
  expect(nothing).toMatchObject({ code: 0, stdout: expect.stringContaining('No agent has settings of nocturne') });
});

test('--dry-run, and no terminal to ask at, change nothing: the latter ends with 3', async () => {
  const person = aPerson({ hasSystemd: true });
  const file = withSettings(person);
  const before = readdirSync(person.user);
  const dry = await runHere(['setup', 'claude-code', '--dry-run'], offline(person));
  expect(dry).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('+  "hooks"') });
  expect(dry.stdout).toContain('"worker" "--once" "--nightly"');
  const unasked = await runHere(['setup', 'claude-code'], offline(person));
  expect(unasked).toMatchObject({ code: 3, stderr: expect.stringContaining('--yes') });
  expect(readFileSync(file, 'utf8')).toBe(SETTINGS);
  expect(readdirSync(person.user)).toEqual(before);
});

test('--json says the same as data, and writes nothing on a dry run', async () => {
  const person = aPerson({ hasSystemd: true });
  const { code, stderr, values } = await runJsonHere<object>(['setup', 'codex', '--dry-run'], offline(person));
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(values).toEqual([
    {
      isDone: false,
      agents: [
        {
          agent: 'codex',
          file: join(person.user, '.codex', 'hooks.json'),
          isChanged: true,
          diff: expect.stringContaining('--- /dev/null'),
        },
      ],
      schedule: 'systemd',
      model: 'offline',
    },
  ]);
});

test('an agent, a scheduler or two sources of a key that do not go are wrong usage', async () => {
  const person = aPerson();
  for (const args of [
    ['setup', 'vim'],
    ['setup', 'codex', '--schedule', 'at'],
    ['setup', 'codex', '--key-stdin', '--key-command', 'x'],
  ]) {
    expect(await runHere(args, offline(person))).toMatchObject({ code: 2, stdout: '' });
  }
  expect(existsSync(join(person.user, '.codex'))).toBe(false);
});

test('where a systemd user manager answers, the night is a timer of it, until the last agent is out, unless --schedule says otherwise', async () => {
  const person = aPerson({ hasSystemd: true });
  const units = join(person.user, '.config', 'systemd', 'user');
  await runHere(['setup', 'codex', '--yes'], offline(person));
  expect(readdirSync(units)).toEqual(['nocturne.service', 'nocturne.timer']);
  expect(readFileSync(person.systemctlCalls, 'utf8').split('\n')).toEqual([
    '--user show-environment',
    '--user daemon-reload',
    '--user enable --now nocturne.timer',
    '',
  ]);
  await runHere(['setup', 'gemini', '--yes', '--schedule', 'none'], offline(person));
  await runHere(['setup', 'codex', '--remove', '--yes'], offline(person));
  expect(readdirSync(units)).toHaveLength(2);
  const last = await runHere(['setup', 'gemini', '--remove', '--yes'], offline(person));
  expect(last.stdout).toContain('out of systemd');
  expect(readdirSync(units)).toEqual([]);
  expect(readFileSync(person.systemctlCalls, 'utf8')).toMatch(
    /--user disable --now nocturne\.timer\n--user daemon-reload\n$/,
  );
  await runHere(['setup', 'codex', '--yes', '--schedule', 'none'], offline(person));
  expect(readdirSync(units)).toEqual([]);
});

test('a key is kept from stdin or by a command, 0600, and is in nothing that setup prints', async () => {
  const person = aPerson();
  const home = person.home;
  const kept = await runHere(['setup', 'codex', '--yes', '--key-stdin'], offline(person), { stdin: 'sk-ant-given\n' });
  expect(readFileSync(join(home, 'key'), 'utf8')).toBe('sk-ant-given\n');
  expect(statSync(join(home, 'key')).mode & 0o777).toBe(0o600);
  expect(statSync(home).mode & 0o777).toBe(0o700);
  expect(kept.stdout + kept.stderr).not.toContain('sk-ant');
  writeFileSync(join(home, 'config.json'), '{\n  "zone": "UTC"\n}\n');
  await runHere(['setup', 'codex', '--yes', '--key-command', 'op read op://x/y/z'], offline(person));
  expect(JSON.parse(readFileSync(join(home, 'config.json'), 'utf8'))).toEqual({
    zone: 'UTC',
    keyCommand: ['op', 'read', 'op://x/y/z'],
  });
  await runHere(['setup', 'codex', '--yes', '--key-command', 'cat ~/k | head -1'], offline(person));
  expect(JSON.parse(readFileSync(join(home, 'config.json'), 'utf8')).keyCommand).toEqual([
    '/bin/sh',
    '-c',
    'cat ~/k | head -1',
  ]);
  const gone = await runHere(['setup', 'codex', '--remove', '--yes'], offline(person));
  expect(gone.stdout).toContain('with the key');
  expect(readFileSync(join(home, 'key'), 'utf8')).toBe('sk-ant-given\n');
});

test('--key-stdin keeps what comes on stdin', () => {
  const person = aPerson();
  const ended = spawnSync(process.execPath, [DOOR, 'setup', 'codex', '--yes', '--key-stdin'], {
    env: offline(person),
    input: 'sk-ant-piped\n',
    encoding: 'utf8',
  });
  expect(ended.status).toBe(0);
  expect(readFileSync(join(person.home, 'key'), 'utf8')).toBe('sk-ant-piped\n');
});
