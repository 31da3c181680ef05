import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Config, type Environment, loadConfig } from '../../src/base/config/config.ts';
import { makeDirectory } from '../../src/base/files/files.ts';
import { keepKey } from '../../src/base/key.ts';
import { backUp } from '../../src/db/backup.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import type { AgentName } from '../../src/setup/agents/agents.ts';
import { findPrograms } from '../../src/setup/agents/agents.ts';
import { type Checked, examine } from '../../src/setup/doctor.ts';
import { applyChange, planInstall } from '../../src/setup/plan.ts';
import { testModel } from '../support/app.ts';
import { error } from '../support/messages-server.ts';
import { aPerson, type Person } from '../support/person.ts';
import { run } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';

async function doctor(person: Person, more: Environment = {}, { isOnline = false } = {}) {
  const config = await loadConfig({}, { ...person.environment, ...more });
  const checks = await examine(config, { cwd: person.user, isOnline });
  return {
    checks,
    of: (what: string) => checks.filter((check) => check.what.startsWith(what)),
    text: JSON.stringify(checks),
  };
}

/** What is kept beside the files is there. */
async function makeRows(home: string): Promise<void> {
  await (await openDatabase({ home })).close();
}

async function installed(person: Person, agent: AgentName, node = process.execPath): Promise<Config> {
  const config = await loadConfig({}, person.environment);
  const change = planInstall(config, { agent, programs: { ...findPrograms(person.environment), node } });
  makeDirectory(config.home);
  applyChange(config, change);
  keepKey(config, 'sk-ant-x1');
  return config;
}

test('before install, doctor says what is missing and how it is got, makes nothing, and ends with 3', async () => {
  const person = aPerson();
  const ended = await run(['doctor'], person.environment);
  expect(ended).toMatchObject({ code: 3, stderr: '' });
  expect(ended.stdout).toContain('fail  hook: installed for no agent\n      Run nocturne setup.');
  expect(ended.stdout).toContain('fail  key: none is set\n');
  expect(readdirSync(person.user)).toEqual(['bin']);
});

test('after install with a key and a scheduler, doctor finds hook, key, queue, worker, schedule and home in order', async () => {
  const person = aPerson({ hasSystemd: true });
  const config = await installed(person, 'claude-code');
  const units = join(person.user, '.config', 'systemd', 'user');
  mkdirSync(units, { recursive: true });
  writeFileSync(join(units, 'nocturne.timer'), '');
  await makeRows(config.home);
  const { checks, of, text } = await doctor(person);
  expect(text).not.toContain('sk-ant');
  const hook = of('hook')[0] as Checked;
  // The hook's program is there in a build and, beside this file, in a checkout.
  expect(hook.what).toBe('hook of Claude Code');
  expect(checks.filter((check) => check.state !== 'ok' && !check.what.startsWith('hook'))).toEqual([]);
  expect(of('key')).toMatchObject([{ found: join(person.home, 'key') }]);
  expect(of('schedule')).toMatchObject([{ found: 'systemd; no night yet' }]);
  expect(of('worker')).toMatchObject([{ found: expect.stringContaining('the hook starts one') }]);
});

test('doctor names what went wrong since: hooks edited away or switched off, a key and a home that others can read', async () => {
  const person = aPerson();
  const home = person.home;
  const settings = join(person.user, '.claude', 'settings.json');
  await installed(person, 'claude-code');
  const whole = readFileSync(settings, 'utf8');
  chmodSync(join(home, 'key'), 0o644);
  chmodSync(home, 0o755);
  writeFileSync(settings, whole.replace('"Stop"', '"StopFailure"'));
  const first = await doctor(person);
  expect(first.of('hook')).toMatchObject([{ state: 'fail', found: expect.stringContaining('names another nocturne') }]);
  expect(first.of('key')).toMatchObject([{ state: 'fail', remedy: expect.stringContaining('chmod 600') }]);
  expect(first.of('home')).toMatchObject([{ state: 'fail', remedy: `Run chmod -R go= ${home}.` }]);
  writeFileSync(settings, '{}');
  expect((await doctor(person)).of('hook')).toMatchObject([{ state: 'fail', found: `gone from ${settings}` }]);
  writeFileSync(settings, '{ "enabledPlugins": { "nocturne@nocturne": true } }');
  expect((await doctor(person)).of('hook')).toMatchObject([{ state: 'ok', found: expect.stringContaining('plugin') }]);
});

test('a queue out of reach, a spool that nobody empties and settings that cannot be read are named', async () => {
  const person = aPerson();
  const spool = join(person.home, 'spool');
  mkdirSync(join(spool, 'damaged'), { recursive: true, mode: 0o700 });
  chmodSync(person.home, 0o700);
  writeFileSync(join(spool, 'one.json'), '{}');
  utimesSync(join(spool, 'one.json'), new Date('2026-11-20T20:00:00Z'), new Date('2026-11-20T20:00:00Z'));
  const { of } = await doctor(person, { NOCTURNE_QUEUE_URL: 'redis://127.0.0.1:1', ANTHROPIC_API_KEY: 'sk-ant-x2' });
  expect(of('queue')).toMatchObject([{ state: 'fail', found: expect.stringContaining('127.0.0.1:1') }]);
  const waiting = { state: 'warn', found: '1 waiting, the oldest since 2026-11-20 20:00: one.json' };
  expect(of('news from hooks')).toMatchObject([waiting]);
  expect(of('key')).toMatchObject([{ state: 'warn', found: expect.stringContaining('the nightly schedule has none') }]);
  writeFileSync(join(spool, 'damaged', 'two.json'), '');
  rmSync(join(spool, 'one.json'));
  expect((await doctor(person)).of('news from hooks')).toMatchObject([{ state: 'warn' }]);
  writeFileSync(join(person.home, 'config.json'), '{ "dayTokens": "x" }');
  const unread = await runHere(['doctor'], person.environment);
  expect(unread).toMatchObject({ code: 1, stderr: expect.stringContaining('dayTokens') });
});

test('a dreamCron that gives no night is named, for no worker starts with it', async () => {
  const person = aPerson();
  const home = person.home;
  mkdirSync(home, { mode: 0o700, recursive: true });
  writeFileSync(join(home, 'config.json'), '{ "dreamCron": "0 3 30 2 *" }');
  expect((await doctor(person)).of('settings')).toEqual([
    {
      what: 'settings',
      state: 'fail',
      found: expect.stringContaining('"0 3 30 2 *"'),
      remedy: expect.stringContaining('dreamCron'),
    },
  ]);
});

test('of a home that is damaged or no directory, doctor says what it is and goes on looking', async () => {
  const person = aPerson();
  const home = person.home;
  mkdirSync(home, { mode: 0o700, recursive: true });
  writeFileSync(join(home, 'nocturne.db'), 'no database at all');
  const damaged = await doctor(person);
  const remedy = 'Run nocturne check --restore.';
  expect(damaged.of('database')).toMatchObject([{ state: 'fail', remedy }]);
  rmSync(home, { recursive: true });
  writeFileSync(home, '');
  expect((await doctor(person)).of('home')).toMatchObject([{ state: 'fail', found: `${home} is no directory` }]);
});

test('a database that is gone is a fault, with copies of it and without', async () => {
  const person = aPerson();
  const path = join(person.home, 'nocturne.db');
  expect((await run(['remember', 'Cheese is in the fridge.'], person.environment)).code).toBe(0);
  rmSync(path);
  const lost = await run(['doctor'], person.environment);
  expect(lost).toMatchObject({
    code: 3,
    stdout: expect.stringContaining('fail  database: ~/.nocturne/nocturne.db is gone, and'),
  });
  await run(['list', '--all'], person.environment);
  expect((await doctor(person)).of('database')).toEqual([]);
  await backUp(person.home, { now: new Date('2026-11-21T01:00:00Z') });
  rmSync(path);
  const [found] = (await doctor(person)).of('database');
  expect(found).toMatchObject({ state: 'fail', remedy: expect.stringContaining('nocturne check --restore') });
});

test('--online asks the model with one small request, and says what it refused', async () => {
  const model = await testModel([{ text: 'Hi' }, error(401, 'no such key')]);
  const person = aPerson();
  const home = person.home;
  await makeRows(home);
  const reach = {
    ANTHROPIC_API_KEY: model.access.apiKey,
    ANTHROPIC_BASE_URL: model.access.baseURL,
    NOCTURNE_MODEL: 'test-model',
  };
  expect((await doctor(person, reach)).of('model')).toEqual([]);
  expect(model.requests).toEqual([]);
  const online = await doctor(person, reach, { isOnline: true });
  expect(online.of('model')).toEqual([{ what: 'model', state: 'ok', found: 'test-model answers' }]);
  expect(model.requests).toMatchObject([{ max_tokens: 1 }]);
  const refused = await doctor(person, reach, { isOnline: true });
  expect(refused.of('model')).toMatchObject([{ state: 'fail', found: expect.stringContaining('no such key') }]);
  expect(refused.text).not.toContain(model.access.apiKey);
});

test.each(['claude-code', 'codex', 'gemini', 'opencode'] as const)(
  'another Node in the hooks of %s than this one is named',
  async (agent) => {
    const person = aPerson();
    await installed(person, agent, join(person.user, 'my node', 'bin', 'node'));
    const named = { state: 'fail', found: expect.stringContaining('another nocturne or Node') };
    expect((await doctor(person)).of('hook')).toMatchObject([named]);
    await installed(person, agent);
    expect((await doctor(person)).of('hook')).toMatchObject([{ state: 'ok' }]);
  },
);
