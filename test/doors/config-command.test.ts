// Settings by the command line: what they are, and setting them without harm to the file that a person wrote.

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import type { Setting } from '../../src/setup/settings-file.ts';
import { aPerson } from '../support/person.ts';
import { jsonHere, runHere } from '../support/run-here.ts';

const WRITTEN = `{
  // mine
  "model": "mine", /* by proxy */
  "forgetDays": { "project": 30, /* a month */ },
  "excludedPaths": ["~/a",], // secret
}
`;

function aHome(text?: string) {
  const { environment } = aPerson();
  const home = environment.NOCTURNE_HOME as string;
  const file = join(home, 'config.json');
  if (text !== undefined) {
    mkdirSync(home, { recursive: true });
    writeFileSync(file, text);
  }
  return { home, file, environment, now: () => readFileSync(file, 'utf8') };
}

test('it shows what is not as by default, and of one setting value, default and its line of the docs', async () => {
  const { environment, file } = aHome(WRITTEN);
  const all = await jsonHere<{ file: string; settings: Setting[] }>(['config'], environment);
  expect(all.file).toBe(file);
  expect(all.settings.map(({ name, value, default: by }) => [name, value, by])).toEqual([
    ['model', 'mine', 'claude-opus-5-5'],
    ['excludedPaths', ['~/a'], []],
    ['forgetDays.project', 30, 365],
  ]);
  const one = await runHere(['config', 'planRequests'], environment);
  expect(one).toMatchObject({ code: 0, stderr: '' });
  expect(one.stdout).toMatch(
    /^planRequests: 100 \(default\)\n {2}Requests a day that agents.*\n {2}Takes: integer, at least 0\.\n$/,
  );
  expect((await runHere(['config'], aHome().environment)).stdout).toContain('All settings have their defaults.');
  const mistyped = await runHere(['config', 'planRequest'], environment);
  expect(mistyped).toMatchObject({ code: 1, stderr: expect.stringContaining('Did you mean planRequests?') });
});

test('the password of an address is not shown', async () => {
  const { environment } = aHome('{ "queueUrl": "redis://kim:hunter2@queue:6379/1" }');
  const shown = await runHere(['config'], environment);
  expect(shown.stdout).toContain('queueUrl: redis://kim:…@queue:6379/1');
});

test('one is set in its place, and unset again; every comment and comma stays', async () => {
  const { environment, now } = aHome(WRITTEN);
  const set = (...args: string[]) => runHere(['config', ...args], environment);
  expect((await set('model', 'offline')).stdout).toContain('model: offline (default: claude-opus-5-5)');
  expect(now()).toBe(WRITTEN.replace('"mine"', '"offline"'));
  await set('forgetDays.user', 'null');
  expect(now()).toContain('"forgetDays": { "project": 30, /* a month */ "user": null, },');
  await set('projects.~/v1.2/x.enabled', 'false');
  const config = await loadConfig({}, environment);
  expect(config).toMatchObject({ forgetDays: { user: null }, projects: { '~/v1.2/x': { enabled: false } } });
  for (const name of ['forgetDays.user', 'projects.~/v1.2/x.enabled']) await set('--unset', name);
  expect(now()).toBe(WRITTEN.replace('"mine"', '"offline"'));
});

test.each([
  ['concurrency', '100', 'too big', 'concurrency takes: integer, 1 to 64.'],
  ['concurrency', 'two', 'expected number', 'concurrency takes: integer, 1 to 64.'],
  ['team', 'all', 'invalid option', 'team takes: off, read, write.'],
  ['zone', '5', 'zone: not a time zone', 'IANA time zone'],
  ['dreamHours', '3', 'dreamHours is no longer a setting: it is always 24; nothing', ''],
  ['excludedPaths', '~/a', 'expected array', 'takes: list, like ["one", "two"]'],
  ['forgetDays.projct', '5', 'projct is not a setting', ''],
  ['modle', 'x', 'modle is not a setting', 'Did you mean model?'],
])('%s %s is refused with what is expected, and nothing is written', async (name, value, problem, remedy) => {
  const { environment, now, home } = aHome(WRITTEN);
  const ended = await runHere(['config', name, value], environment);
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toContain(problem);
  expect(ended.stderr).toContain('nothing was changed');
  expect(ended.stderr).toContain(remedy);
  expect(now()).toBe(WRITTEN);
  expect(readdirSync(home)).toEqual(['config.json']);
  const fresh = aHome();
  await runHere(['config', name, value], fresh.environment);
  expect(existsSync(fresh.home)).toBe(false);
});

test('a daily limit of money that has no room for a request is told where it is set, with the least that has', async () => {
  const { environment } = aHome();
  const set = async (value: string) => (await runHere(['config', 'dayMoneyUsd', value], environment)).stderr;
  expect(await set('0.2')).toContain(
    'dayMoneyUsd has to be at least 0.39: a request of claude-opus-5-5 may cost that much',
  );
  expect((await runHere(['doctor'], environment)).stdout).toContain('nocturne config dayMoneyUsd 0.39');
  for (const enough of ['0.39', '0']) expect(await set(enough)).toBe('');
});

test('a file that is not JSON is left alone and its line named; one with a wrong setting can be mended by name', async () => {
  const broken = aHome('{\n  "model": "x"\n  "team": "off"\n}\n');
  const ended = await runHere(['config', 'team', 'read'], broken.environment);
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('in line 3') });
  expect(broken.now()).toContain('"team": "off"');
  const wrong = aHome('{\n  "modle": "x", // ?\n  "dayTokens": "many"\n}\n');
  expect(await runHere(['config'], wrong.environment)).toMatchObject({ code: 1 });
  const first = await runHere(['config', '--unset', 'modle'], wrong.environment);
  expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('modle is taken out. ') });
  expect(first.stderr).toContain('dayTokens');
  await runHere(['config', 'dayTokens', '7'], wrong.environment);
  expect((await loadConfig({}, wrong.environment)).dayTokens).toBe(7);
});

test('a mistyped offline is no model', async () => {
  const { environment, file } = aHome(WRITTEN);
  const ended = await runHere(['config', 'model', 'offlne'], environment);
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('no such model (did you mean offline?)') });
  expect(readFileSync(file, 'utf8')).toBe(WRITTEN);
});

test('a link stays a link, the mode stays, and where the environment wins that is said', async () => {
  const { environment, home, file } = aHome(WRITTEN);
  const kept = join(home, 'dotfiles.json');
  writeFileSync(kept, WRITTEN);
  chmodSync(kept, 0o640);
  rmSync(file);
  symlinkSync('dotfiles.json', file);
  const ended = await runHere(['config', 'model', 'offline'], { ...environment, NOCTURNE_MODEL: 'mine' });
  expect(ended).toMatchObject({
    code: 0,
    stderr: 'NOCTURNE_MODEL is set in this shell, and counts here instead of this setting.\n',
  });
  expect(lstatSync(file).isSymbolicLink()).toBe(true);
  expect(readFileSync(kept, 'utf8')).toContain('"offline"');
  expect(statSync(kept).mode & 0o777).toBe(0o640);
});
