// The user scope at the doors: what commands send there and say of it, and the scopes that commands name.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { type TestApp, testApp } from '../support/app.ts';
import { rowsIn } from '../support/doors.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const TEA = 'I prefer tea over coffee.';
const TOLD_TEA = 'The user prefers tea over coffee.';
const PNPM = 'Always use pnpm instead of npm.';
const LOG = 'logs/2026/11/2026-11-20.md';

interface Scoped extends TestApp {
  /** The directory of the user scope. */
  user: string;
  transcript: string;
}

async function scopedApp(settings: object = { userScope: true }): Promise<Scoped> {
  const testing = await testApp({ settings });
  return { ...testing, user: join(testing.home, '.claude/memory'), transcript: aSession([TEA, PNPM]).path };
}

test('extract sends what is about the user to the user scope at once, says so, and its log and the night know it', async () => {
  const testing = await scopedApp();
  const { stdout } = await testing.nocturne('learn', testing.transcript);
  expect(stdout).toContain(`user      ${TOLD_TEA} [user scope, ${testing.user}]\n`);
  expect(stdout).toContain(`feedback  ${PNPM}\n`);
  expect(readFileSync(join(testing.user, LOG), 'utf8')).toContain(TOLD_TEA);
  expect(readFileSync(join(testing.dir, LOG), 'utf8')).not.toContain('coffee');
  await testing.nocturne('worker', '--once', '--nightly');
  expect(readFileSync(join(testing.user, 'user-profile.md'), 'utf8')).toContain(TOLD_TEA);
  const { stdout: why } = await testing.nocturne('why', testing.transcript);
  expect(why.match(/^session /gm)).toHaveLength(1);
});

test('with the setting off everything stays in the project', async () => {
  const testing = await scopedApp({});
  const { stdout } = await testing.nocturne('learn', testing.transcript);
  expect(stdout).not.toContain('user scope');
  expect(readFileSync(join(testing.dir, LOG), 'utf8')).toContain(TOLD_TEA);
  expect(existsSync(testing.user)).toBe(false);
});

test('what is about the user waits while there can be no user scope, is named, and is learned once', async () => {
  const { nocturne, environment, user, dir, transcript } = await scopedApp();
  mkdirSync(dirname(user));
  writeFileSync(user, 'in the way');
  await nocturne('learn', '--later', transcript);
  await nocturne('worker', '--once');
  const { stdout } = await nocturne('--json');
  expect(JSON.stringify(JSON.parse(stdout).needs)).toMatch(/\.claude\/memory/);
  rmSync(user);
  await nocturne('retry', '--failed');
  await runHere(['worker', '--once'], { ...environment, NOCTURNE_NOW: '2026-11-22T02:00:00Z' });
  const said = (place: string) => readFileSync(join(place, LOG), 'utf8').match(/\*\*\w+\*\* .*/g);
  expect(said(user)).toEqual([expect.stringContaining(TOLD_TEA)]);
  expect(said(dir)).toEqual([expect.stringContaining(PNPM)]);
});

test('remember keeps what is about the user in the user scope, unless a place is named', async () => {
  const { environment, user, dir } = await scopedApp();
  const remember = (...more: string[]) =>
    jsonHere<{ outcome: string; memory: string }>(['remember', 'Likes plums.', ...more], environment);
  expect(await remember('--type', 'user')).toMatchObject({ outcome: 'remembered', memory: user });
  expect(await remember('--type', 'user')).toMatchObject({ outcome: 'known', memory: user });
  expect(await remember('--type', 'user', '--scope', 'project')).toMatchObject({ outcome: 'remembered', memory: dir });
  expect(await remember('--type', 'feedback')).toMatchObject({ outcome: 'known', memory: dir });
  const { stdout } = await runHere(['remember', '--type', 'user', 'Likes pears.'], environment);
  const undo = /nocturne (undo .*) takes it back/.exec(stdout)?.[1] as string;
  expect((await runHere(undo.split(' '), environment)).stdout).toContain('undone');
  expect(readFileSync(join(user, 'logs/2026/11/2026-11-21.md'), 'utf8')).not.toContain('pears');
});

test('a command that says how it is undone names the memory that it worked on', async () => {
  const { nocturne } = await scopedApp();
  const elsewhere = join(tempDir(), "Kim's memory");
  for (const where of [
    ['--scope', 'user'],
    ['--memory', elsewhere],
  ]) {
    const last = ['undo', '--last', ...where];
    for (const command of [['remember', 'Likes plums.', ...where], ['forget', '--yes', 'plums', ...where], last]) {
      const { stdout } = await nocturne(...command);
      const undo = /nocturne (undo (?:--memory '.*'|--scope user) job_\w+) /.exec(stdout)?.[1] ?? stdout;
      const words = undo.replace(/'(.*)'/, (_, quoted) => quoted.replaceAll("'\\''", "'").replaceAll(' ', '\0'));
      const pasted = words.split(' ').map((word) => word.replaceAll('\0', ' '));
      expect((await nocturne(...pasted)).stdout).toContain('undone');
      if (command[0] === 'remember') await nocturne(...command);
    }
  }
});

test('forget in a project reaches what was sent to the user scope, and says how to bring it back there', async () => {
  const { app, transcript, environment, user } = await scopedApp();
  await app.extract({ transcript, ended: true });
  const forgotten = await runHere(['forget', '--yes', 'over coffee'], environment);
  expect(forgotten.stdout).toMatch(/entry {2}e_\w+ \(2026-11-20, user scope\): The user prefers tea/);
  const isHeld = () => existsSync(join(user, LOG)) && readFileSync(join(user, LOG), 'utf8').includes(TOLD_TEA);
  expect(isHeld()).toBe(false);
  const [, undo = ''] =
    /nocturne (undo --scope .*) does/.exec(forgotten.stdout) ??
    /nocturne (undo .*) brings/.exec(forgotten.stdout) ??
    [];
  await runHere(undo.split(' '), environment);
  expect(isHeld()).toBe(true);
});

test('a secret that went to the user scope is redacted there with the project’s', async () => {
  const { app, transcript, user, nocturne, rows } = await scopedApp();
  await app.extract({ transcript, ended: true });
  const { stdout, code } = await nocturne('redact', '--match', 'tea over', '--yes');
  const where = join(user, LOG);
  expect({ stdout, code }).toMatchObject({ code: 0, stdout: expect.stringContaining(where) });
  expect(readFileSync(join(user, LOG), 'utf8')).not.toContain('tea over');
  const told = [...(await rowsIn(app, await app.store(user))('entries')), ...(await rows('entries'))];
  expect(JSON.stringify(told)).not.toContain('tea over');
});

test('--scope names whose memory list, remember and search are about', async () => {
  const { environment, home } = await scopedApp({});
  const root = tempDir();
  execFileSync('git', ['init', '-q', root]);
  mkdirSync(join(root, 'src'));
  const places = { user: join(home, '.claude/memory'), local: join(root, '.claude/memory') };
  const here = (...args: string[]) => jsonHere<Record<string, unknown>>(args, environment, { cwd: join(root, 'src') });
  for (const [scope, dir] of Object.entries(places)) {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, `${scope}-topic.md`), `---\nname: ${scope}-topic\ntype: project\n---\n- Says ${scope}.\n`);
    expect(JSON.stringify(await here('list', '--scope', scope))).toContain(`${scope}-topic`);
    expect(await here('remember', '--scope', scope, `Keep ${scope} tidy.`)).toMatchObject({ memory: dir });
    expect(JSON.stringify(await here('search', '--scope', scope, 'says'))).toContain(`${scope}-topic`);
  }
  expect(JSON.stringify(await jsonHere(['list'], environment))).not.toContain('-topic');
  const { code, stderr } = await runHere(['list', '--scope', 'team'], environment);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('project, user, local') });
});

test('NOCTURNE_MEMORY_DIR may begin with ~/, which is the user’s directory', async () => {
  const { environment, home } = await scopedApp({});
  mkdirSync(join(home, 'mem'));
  writeFileSync(join(home, 'mem', 'plums.md'), '---\nname: plums\ntype: user\n---\n- Likes plums.\n');
  const { stdout } = await runHere(['list'], { ...environment, NOCTURNE_MEMORY_DIR: '~/mem' });
  expect(stdout).toContain('plums');
});
