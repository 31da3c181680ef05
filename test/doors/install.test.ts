import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { aPerson, type Person } from '../support/person.ts';
import { DOOR, run } from '../support/run.ts';
import { runHere, runJsonHere } from '../support/run-here.ts';

const SETTINGS = '{\n  // mine\n  "model": "opus" // best\n}\n';

function withSettings(person: Person, text = SETTINGS): string {
  mkdirSync(join(person.user, '.claude'));
  const file = join(person.user, '.claude', 'settings.json');
  writeFileSync(file, text);
  return file;
}

test('install shows the change as a diff and makes it, uninstall takes it back, and both say so only once', async () => {
  const person = aPerson();
  const file = withSettings(person);
  const installed = await run(['install', 'claude-code', '--yes'], person.environment);
  expect(installed).toMatchObject({ code: 0, stdout: expect.stringContaining('+  "hooks": {') });
  expect(installed.stdout).toContain(`--- ${file}`);
  expect(installed.stderr).toContain('nocturne doctor');
  expect(readFileSync(file, 'utf8')).toMatch(/"model": "opus", \/\/ best\n {2}"hooks": \{\n {4}"SessionEnd"/);
  const again = await run(['install', 'claude-code', '--yes'], person.environment);
  expect(again).toMatchObject({ code: 0, stdout: `${file}: all is in place\n` });
  const gone = await runHere(['uninstall', 'claude-code', '--yes'], person.environment);
  expect(gone).toMatchObject({ code: 0, stdout: expect.stringContaining('-  "hooks": {') });
  expect(readFileSync(file, 'utf8')).toBe(SETTINGS);
  const nothing = await runHere(['uninstall', 'claude-code'], person.environment);
  expect(nothing).toMatchObject({ code: 0, stdout: `${file}: nothing of nocturne's is in it\n` });
});

test('--dry-run, and no terminal to ask at, change nothing: the latter ends with 3', async () => {
  const person = aPerson({ has: ['cron'] });
  const file = withSettings(person);
  const before = readdirSync(person.user);
  const dry = await runHere(['install', 'claude-code', '--dry-run'], person.environment);
  expect(dry).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('+  "hooks"') });
  expect(dry.stdout).toContain('worker --once --nightly');
  const unasked = await runHere(['install', 'claude-code'], person.environment);
  expect(unasked).toMatchObject({ code: 3, stderr: expect.stringContaining('--yes') });
  expect(readFileSync(file, 'utf8')).toBe(SETTINGS);
  expect(readdirSync(person.user)).toEqual(before);
});

test('--json says the same as data, and writes nothing on a dry run', async () => {
  const person = aPerson({ has: ['cron'] });
  const { code, stderr, values } = await runJsonHere<object>(['install', 'codex', '--dry-run'], person.environment);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(values).toEqual([
    {
      agent: 'codex',
      file: join(person.user, '.codex', 'hooks.json'),
      isChanged: true,
      diff: expect.stringContaining('--- /dev/null'),
      rules: [],
      schedule: { name: 'cron', texts: [{ path: 'crontab', text: expect.stringMatching(/^30 3 \* \* \* env /) }] },
    },
  ]);
});

test('settings that do not parse are left alone, and the error names file and line', async () => {
  const person = aPerson();
  const file = withSettings(person, '{\n  "model": "opus"\n  "x": 1\n}\n');
  const ended = await runHere(['install', 'claude-code', '--yes'], person.environment);
  expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(`${file} is not JSON`) });
  expect(ended.stderr).toContain('line 3');
  expect(readFileSync(file, 'utf8')).toBe('{\n  "model": "opus"\n  "x": 1\n}\n');
  expect(existsSync(join(person.user, '.nocturne'))).toBe(false);
});

test('an agent, a scheduler or two sources of a key that do not go are wrong usage', async () => {
  const person = aPerson();
  for (const args of [
    ['install'],
    ['install', 'vim'],
    ['install', 'codex', '--schedule', 'at'],
    ['install', 'codex', '--key-stdin', '--key-file', 'x'],
  ]) {
    expect(await runHere(args, person.environment)).toMatchObject({ code: 2, stdout: '' });
  }
  const absent = await runHere(['install', 'codex', '--yes', '--schedule', 'cron'], person.environment);
  expect(absent).toMatchObject({ code: 1, stderr: expect.stringContaining('no cron here') });
  expect(existsSync(join(person.user, '.codex'))).toBe(false);
});

test('the night goes into a crontab beside what is there, once, and out of it to the byte with the last agent', async () => {
  const person = aPerson({ has: ['cron'] });
  writeFileSync(person.crontab, '# mine\n0 1 * * * backup\n');
  await runHere(['install', 'claude-code', '--yes'], person.environment);
  await runHere(['install', 'gemini', '--yes'], person.environment);
  const lines = readFileSync(person.crontab, 'utf8').split('\n');
  expect(lines).toHaveLength(4);
  expect(lines[2]).toMatch(
    /^30 3 \* \* \* env NOCTURNE_HOME=\S+ PATH=\S+ NOCTURNE_ZONE=UTC CLAUDE_CONFIG_DIR=\S+ \S+ \S+nocturne\.js worker --once --nightly >\S+ 2>&1 # nocturne nightly$/,
  );
  await runHere(['uninstall', 'claude-code', '--yes'], person.environment);
  expect(readFileSync(person.crontab, 'utf8')).toContain('# nocturne nightly');
  const last = await runHere(['uninstall', 'gemini', '--yes'], person.environment);
  expect(last.stderr).toContain('The night is out of cron.');
  expect(readFileSync(person.crontab, 'utf8')).toBe('# mine\n0 1 * * * backup\n');
});

test('where a systemd user manager answers, the night is a timer of it, unless --schedule says otherwise', async () => {
  const person = aPerson({ has: ['systemd', 'cron'] });
  const units = join(person.user, '.config', 'systemd', 'user');
  const installed = await runHere(['install', 'codex', '--yes'], person.environment);
  expect(installed.stderr).toContain('The night is in systemd.');
  expect(readdirSync(units)).toEqual(['nocturne.service', 'nocturne.timer']);
  expect(readFileSync(person.systemctlCalls, 'utf8').split('\n')).toEqual([
    '--user show-environment',
    '--user daemon-reload',
    '--user enable --now nocturne.timer',
    '',
  ]);
  expect(existsSync(person.crontab)).toBe(false);
  await runHere(['uninstall', 'codex', '--yes'], person.environment);
  expect(readdirSync(units)).toEqual([]);
  expect(readFileSync(person.systemctlCalls, 'utf8')).toContain('--user disable --now nocturne.timer\n');
  const { stderr } = await runHere(['install', 'codex', '--yes', '--schedule', 'none'], person.environment);
  expect(stderr).toContain('the first session after its time (dreamCron) does');
  expect([existsSync(person.crontab), readdirSync(units)]).toEqual([false, []]);
  await runHere(['install', 'codex', '--yes', '--schedule', 'cron'], person.environment);
  expect(existsSync(person.crontab)).toBe(true);
  await runHere(['uninstall', 'codex', '--yes'], person.environment);
  // It was made for the night alone.
  expect(existsSync(person.crontab)).toBe(false);
});

test('a key is kept from a file or by a command, 0600, and is in nothing that install prints', async () => {
  const person = aPerson();
  const given = join(person.user, 'given');
  writeFileSync(given, 'sk-ant-given\n');
  const home = join(person.user, '.nocturne');
  const kept = await runHere(['install', 'codex', '--yes', '--key-file', given], person.environment);
  expect(readFileSync(join(home, 'key'), 'utf8')).toBe('sk-ant-given\n');
  expect(statSync(join(home, 'key')).mode & 0o777).toBe(0o600);
  expect(statSync(home).mode & 0o777).toBe(0o700);
  expect(kept.stdout + kept.stderr).not.toContain('sk-ant');
  writeFileSync(join(home, 'config.json'), '{\n  "zone": "UTC"\n}\n');
  await runHere(['install', 'codex', '--yes', '--key-command', 'op read op://x/y/z'], person.environment);
  expect(JSON.parse(readFileSync(join(home, 'config.json'), 'utf8'))).toEqual({
    zone: 'UTC',
    keyCommand: ['op', 'read', 'op://x/y/z'],
  });
  await runHere(['install', 'codex', '--yes', '--key-command', 'cat ~/k | head -1'], person.environment);
  expect(JSON.parse(readFileSync(join(home, 'config.json'), 'utf8')).keyCommand).toEqual([
    '/bin/sh',
    '-c',
    'cat ~/k | head -1',
  ]);
  const gone = await runHere(['uninstall', 'codex', '--yes'], person.environment);
  expect(gone.stderr).toContain(`The key stays in ${join(home, 'key')}`);
});

test('--key-stdin keeps what comes on stdin', () => {
  const person = aPerson();
  const ended = spawnSync(process.execPath, [DOOR, 'install', 'codex', '--yes', '--key-stdin'], {
    env: person.environment,
    input: 'sk-ant-piped\n',
    encoding: 'utf8',
  });
  expect(ended.status).toBe(0);
  expect(readFileSync(join(person.user, '.nocturne', 'key'), 'utf8')).toBe('sk-ant-piped\n');
});

const hasScript = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') ?? false;

test.skipIf(!hasScript)('at a terminal install asks for each thing, and shows no key while it is typed', async () => {
  const person = aPerson();
  const file = withSettings(person);
  const shown = await atTerminal(
    person,
    ['install', 'claude-code'],
    [
      ['Add them? [y/N]', 'y'],
      ['Change this? [y/N]', 'y'],
      ['API key', 'sk-ant-typed'],
    ],
  );
  expect(shown).toContain('Edit(~/.claude/projects/*/memory/*.md)');
  expect(shown).not.toContain('sk-ant-typed');
  expect(readFileSync(join(person.user, '.nocturne', 'key'), 'utf8')).toBe('sk-ant-typed\n');
  expect(readFileSync(file, 'utf8')).toContain('"Edit(~/.claude/projects/*/memory/logs/**/*.md)"');
  const kept = readFileSync(file, 'utf8');
  const refused = await atTerminal(person, ['uninstall', 'claude-code'], [['Change this? [y/N]', '']]);
  expect(refused).toContain('Nothing was changed.');
  expect(readFileSync(file, 'utf8')).toBe(kept);
});

/** Runs nocturne in a terminal, answers when it is asked, and returns all that the terminal showed. */
function atTerminal(person: Person, args: string[], answers: [question: string, answer: string][]): Promise<string> {
  const command = [process.execPath, DOOR, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('/usr/bin/env', ['script', '-qec', command, '/dev/null'], {
    env: { ...person.environment, PATH: `${person.environment.PATH}:/usr/bin:/bin`, SHELL: '/bin/sh' },
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return new Promise((resolve, reject) => {
    let shown = '';
    let seen = 0;
    child.once('error', reject);
    child.once('close', () => resolve(shown));
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text;
      const [question, answer] = answers[0] ?? [];
      if (question === undefined || !shown.slice(seen).includes(question)) return;
      seen = shown.length;
      answers.shift();
      child.stdin.write(`${answer}\r`);
    });
  });
}
