// nocturne alone: what a person reads who looks at what happened, what waits and what it cost.

import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Environment } from '../../src/base/config/config.ts';
import { environmentIn, testApp, testModel } from '../support/app.ts';
import { error } from '../support/messages-server.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const SHOP = ['Always use pnpm instead of npm.', 'Always lint before pushing.', 'Never commit to main directly.'];
const API = ['Always run the migrations before the tests.'];

/** A person with two projects, whose memory lies where Claude Code keeps it. */
function person(): { home: string; project(name: string): string; at(now: string): Environment } {
  const home = tempDir();
  return {
    home,
    project(name) {
      const root = join(home, 'code', name);
      mkdirSync(join(root, '.git'), { recursive: true });
      return root;
    },
    at: (now) => environmentIn(home, { NOCTURNE_ZONE: 'Europe/Berlin', NOCTURNE_NOW: now }),
  };
}

function session(cwd: string, prompts: string[], id = '11111111-2222-4333-8444-555555555555'): string {
  return aSession(prompts, { id, cwd }).path;
}

/** What a person cannot use: ids of 36 characters, times of logs, words of the code. */
const INTERNAL =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}|\d\dT\d\d:\d\d|breaker|no limit|reserved|ledger|inbox|\blease|undefined|NaN/;

function readable(text: string): string {
  for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(80);
  expect(text).not.toMatch(INTERNAL);
  return text;
}

test('where nothing is set up, nocturne says what it is and how to begin, and makes nothing', async () => {
  const { home, at } = person();
  const { code, stdout } = await runHere([], at('2026-11-22T08:00:00Z'));
  expect(code).toBe(0);
  expect(readable(stdout)).toMatch(/^nocturne is a memory for your coding agents: .*\n[\s\S]*\n {2}nocturne setup\n$/);
  expect(readdirSync(home)).toEqual([]);
});

test('nocturne tells what was learned since one last looked, what waits elsewhere too, and the one next step', async () => {
  const { at, project } = person();
  const [shop, api] = [project('shop'), project('api')];
  await runHere(['learn', session(shop, SHOP)], at('2026-11-21T22:10:00Z'));
  const second = session(api, API, '22222222-2222-4333-8444-555555555555');
  await runHere(['learn', second], at('2026-11-21T22:20:00Z'));
  const memory = '.claude/projects/';
  const dir = readdirSync(join(at('').HOME ?? '', memory)).find((name) => name.endsWith('api')) ?? '';
  const there = join(at('').HOME ?? '', memory, dir, 'memory');
  await runHere(['dream', '--review', '--memory', there], at('2026-11-21T22:30:00Z'));
  const first = await runHere([], at('2026-11-22T08:00:00Z'));
  expect(first.code).toBe(3);
  const said = readable(first.stdout);
  expect(said).toMatch(/^4 things learned so far\n/);
  expect(said).toContain('  ~/code/shop, yesterday 23:10\n  - ');
  for (const each of [...SHOP, ...API]) expect(said).toContain(`  - ${each}\n`);
  const review = 'cd ~/code/api && nocturne review';
  expect(said).toContain(`1 proposed change in ~/code/api waits for your answer.\n    ${review}\n`);
  expect(said).toContain('\nCost        nothing this month\nNext night  in 18 hours (03:30)\n');
  expect(said).toContain('\nNext step   nocturne setup\n');
  const again = readable((await runHere([], at('2026-11-22T08:05:00Z'))).stdout);
  expect(again).toMatch(/^Nothing new since you last looked, 5 minutes ago\.\n/);
  expect(again).toContain(review);
  // What scripts ask is no look of a person.
  await runHere(
    ['learn', session(shop, ['The release deadline is 2026-12-04.'], '33333333-2222-4333-8444-555555555555')],
    at('2026-11-22T09:00:00Z'),
  );
  const json = await jsonHere<{ learned: object[]; lookedAt: string }>([], at('2026-11-22T09:05:00Z'));
  expect(json).toMatchObject({
    lookedAt: '2026-11-22T08:05:00.000Z',
    learned: [{ project: '~/code/shop', entries: 1 }],
    needs: [{ command: review }],
  });
  const third = readable((await runHere([], at('2026-11-23T09:00:00Z'))).stdout);
  expect(third).toMatch(
    /^1 thing learned since you last looked, yesterday 09:05\n\n {2}~\/code\/shop, yesterday 10:00\n/,
  );
});

test('the next step of a paused project is the command that ends its pause', async () => {
  const { at, project } = person();
  const shop = project('shop');
  const now = at('2026-11-22T08:00:00Z');
  await runHere(['setup', 'claude-code', '--yes', '--schedule', 'none'], now);
  await runHere(['pause', '--project'], now, { cwd: shop });
  const { stdout } = await runHere([], now, { cwd: shop });
  expect(readable(stdout)).toMatch(/\nNext step {3}nocturne pause --off --project\n$/);
  await runHere(['pause', '--off', '--project'], now, { cwd: shop });
  expect((await runHere([], now, { cwd: shop })).stdout).not.toContain('pause');
});

test('a model that refuses is told as a person would say it, with the command that looks into it', async () => {
  const model = await testModel(() => error(401, 'invalid x-api-key'));
  const testing = await testApp({ server: model, settings: { breakerAfter: 1 } });
  const path = session('/home/kim/shop', SHOP);
  await testing.nocturne('learn', '--later', path);
  await testing.nocturne('worker', '--once');
  const { code, stdout } = await runHere([], { ...testing.environment, NOCTURNE_NOW: '2026-11-21T02:02:00Z' });
  expect(code).toBe(3);
  const said = readable(stdout);
  expect(said).toMatch(/The model could not be asked 1 time in a row; it is asked again in \d+\s+minutes/);
  expect(await testing.json('--json')).toMatchObject({ modelPause: { state: 'open' } });
});

test('what is written longer than a line is wrapped, never cut', async () => {
  const { at, project } = person();
  const long = `Always read /srv/${'deeply/nested/'.repeat(8)}README.md before you change anything at all in the deployment scripts.`;
  await runHere(['learn', session(project('shop'), [long])], at('2026-11-21T22:10:00Z'));
  const { stdout } = await runHere([], at('2026-11-22T08:00:00Z'));
  expect(stdout).toContain(`/srv/${'deeply/nested/'.repeat(8)}README.md`);
  const others = stdout.split('\n').filter((line) => line.length > 80);
  expect(others.map((line) => line.trim().split(' ').length)).toEqual([1]);
});

test('settings of the agent that cannot be read are named once, with what waits for them, until they are mended', async () => {
  const { home, at, project } = person();
  const shop = project('shop');
  await runHere(['setup', 'claude-code', '--yes', '--schedule', 'none'], at('2026-11-21T20:00:00Z'));
  const file = join(home, '.claude', 'settings.json');
  const good = readFileSync(file, 'utf8');
  writeFileSync(file, '{ "hooks": oops');
  const dir = join(home, '.claude', 'projects', shop.replace(/[^A-Za-z0-9]/g, '-'));
  mkdirSync(dir, { recursive: true });
  const session = aSession(['Always use pnpm instead of npm.'], { dir, cwd: shop, startsAt: '2026-11-22T07:00:00Z' });
  utimesSync(session.path, new Date('2026-11-22T07:01:00Z'), new Date('2026-11-22T07:01:00Z'));
  for (const times of [1, 0]) {
    const { stderr } = await runHere(['learn', '--later'], at('2026-11-22T08:00:00Z'));
    expect(stderr.match(/not JSON/g) ?? []).toHaveLength(times);
  }
  const broken = await runHere([], at('2026-11-22T08:10:00Z'));
  expect(broken.code).toBe(3);
  expect(readable(broken.stdout).match(/not JSON/g)).toHaveLength(1);
  expect(broken.stdout).toMatch(/1 session could not be read yet/);
  expect(broken.stdout).not.toMatch(/\.\.|^Off/m);
  expect((await runHere([], at('2026-11-22T08:10:00Z'))).code).toBe(3);
  writeFileSync(file, `// Mine.\n${good}`);
  await runHere(['learn', '--later'], at('2026-11-22T08:20:00Z'));
  await runHere(['worker', '--once'], at('2026-11-22T08:20:00Z'));
  const mended = await runHere([], at('2026-11-22T08:30:00Z'));
  expect(mended.code).toBe(0);
  expect(readable(mended.stdout)).toContain('  - Always use pnpm instead of npm.\n');
  expect(mended.stdout).not.toContain('Waits for you');
  // What a setting asks for is there after the next set-up.
  const own = '.nocturne';
  writeFileSync(join(home, own, 'config.json'), '{ "recallPrompts": false }');
  const asked = await runHere([], at('2026-11-22T08:40:00Z'));
  expect(asked.stdout).toMatch(/other\s+hooks\s+than\s+config.json\s+asks\s+for/);
  expect(asked.stdout).toContain('\nNext step   nocturne setup claude-code\n');
  await runHere(['setup', 'claude-code', '--yes', '--schedule', 'none'], at('2026-11-22T08:50:00Z'));
  expect((await runHere([], at('2026-11-22T08:55:00Z'))).stdout).not.toContain('Waits for you');
});

test('a key that is not there is told once, with exit code 3 in each of its forms, and nobody is told that there is nothing to do', async () => {
  const { at, home, project } = person();
  const shop = project('shop');
  const withoutKey = (now: string) => ({ ...at(now), NOCTURNE_MODEL: 'claude-opus-5-5' });
  await runHere(['setup', 'claude-code', '--yes', '--schedule', 'none'], withoutKey('2026-11-21T20:00:00Z'));
  const idle = await runHere([], withoutKey('2026-11-21T20:05:00Z'), { cwd: shop });
  expect([idle.code, idle.stdout.match(/key/g)?.length]).toEqual([3, 1]);
  expect(readable(idle.stdout)).toMatch(/^Nothing learned from a session yet\.\n/);
  for (const form of [[], ['--json']]) {
    const { code, stdout } = await runHere(form, withoutKey('2026-11-21T20:05:00Z'));
    expect({ form, code }).toEqual({ form, code: 3 });
    expect(stdout).toMatch(/key: none is set/);
    if (!form.includes('--json')) continue;
    expect(JSON.parse(stdout).needs).toEqual([{ text: 'The key: none is set', command: 'nocturne setup' }]);
  }
  const dir = join(home, '.claude', 'projects', shop.replace(/[^A-Za-z0-9]/g, '-'));
  mkdirSync(dir, { recursive: true });
  const told = aSession(['Always use pnpm instead of npm.'], { dir, cwd: shop, startsAt: '2026-11-22T07:00:00Z' });
  utimesSync(told.path, new Date('2026-11-22T07:01:00Z'), new Date('2026-11-22T07:01:00Z'));
  await runHere(['learn', '--later'], withoutKey('2026-11-22T08:00:00Z'));
  await runHere(['worker', '--once'], withoutKey('2026-11-22T08:00:00Z'));
  const { code, stdout } = await runHere([], withoutKey('2026-11-22T08:01:00Z'), { cwd: shop });
  expect(code).toBe(3);
  expect(stdout).toMatch(/^Waiting +1 job for the next worker, [^;]*$/m);
  expect(stdout.match(/key/g)).toHaveLength(1);
  expect(stdout).toContain('\nNext step   nocturne setup\n');
});
