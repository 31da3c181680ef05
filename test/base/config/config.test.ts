import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../../src/base/config/config.ts';
import { FIXED, FORMER } from '../../../src/base/config/settings.ts';
import { testApp } from '../../support/app.ts';
import { runHere } from '../../support/run-here.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

const PLAIN = { HOME: '/nowhere' };

test('a command’s own option wins over the environment, that over config.json, that over the default', async () => {
  const home = tempDir();
  const env = { ...PLAIN, NOCTURNE_HOME: home };
  expect((await loadConfig({}, env)).model).toBe('claude-opus-5-5');
  writeFileSync(join(home, 'config.json'), '{ "model": "from-file", "zone": "Asia/Tokyo", "dayTokens": 7 }');
  expect(await loadConfig({}, env)).toMatchObject({ model: 'from-file', zone: 'Asia/Tokyo', dayTokens: 7 });
  expect((await loadConfig({}, { ...env, NOCTURNE_MODEL: 'from-env' })).model).toBe('from-env');
  expect((await loadConfig({ model: 'given' }, { ...env, NOCTURNE_MODEL: 'from-env' })).model).toBe('given');
});

test('NOCTURNE_QUEUE_URL wins over REDIS_URL, and an empty one asks for none', async () => {
  const env = { ...PLAIN, NOCTURNE_HOME: tempDir(), REDIS_URL: 'redis://one' };
  expect((await loadConfig({}, env)).queueUrl).toBe('redis://one');
  expect((await loadConfig({}, { ...env, NOCTURNE_QUEUE_URL: 'redis://two' })).queueUrl).toBe('redis://two');
  expect((await loadConfig({}, { ...env, NOCTURNE_QUEUE_URL: '' })).queueUrl).toBe('');
});

test.each([
  ['{ "concurrency": 65 }', 'concurrency'],
  ['{ "dayTokens": "many" }', 'dayTokens'],
  ['{ not json', 'config.json'],
  ['{ "zone": "Mars/Base" }', 'zone'],
])('config.json with %s is refused by name', async (text, named) => {
  const home = tempDir();
  writeFileSync(join(home, 'config.json'), text);
  await expect(loadConfig({}, { ...PLAIN, NOCTURNE_HOME: home })).rejects.toThrow(named);
});

test.each(['NOCTURNE_FIXED', 'NOCTURNE_NOW'])('what is not to be read in %s is refused by its name', async (name) => {
  const env = { ...PLAIN, NOCTURNE_HOME: tempDir(), [name]: '{ not json' };
  const message = expect.stringContaining(name);
  await expect(loadConfig({}, env)).rejects.toMatchObject({ code: 'bad-input', message });
});

test('what is wrong in config.json is said setting by setting, and a mistyped one with the nearest name', async () => {
  const home = tempDir();
  writeFileSync(join(home, 'config.json'), '{ "planRequest": 3, "concurrency": 99, "forgetDays": { "projekt": 1 } }');
  await expect(loadConfig({}, { ...PLAIN, NOCTURNE_HOME: home })).rejects.toMatchObject({
    message: `${join(home, 'config.json')}: concurrency: too big: expected number to be <=64; forgetDays: projekt is not a setting; planRequest is not a setting.`,
    remedy: 'Did you mean planRequests? Correct or remove it.',
  });
});

test('what is no setting is told and left out by what reads, and no model is asked before that is corrected', async () => {
  const settings = { modell: 'x', forgetDays: { projekt: 1, user: 7 } };
  const { environment, home, nocturne } = await testApp({ settings });
  const config = await loadConfig({}, environment);
  expect(config.forgetDays).toMatchObject({ user: 7, project: 365 });
  const unknown = 'forgetDays: projekt is not a setting; modell is not a setting. Did you mean model?';
  const stderr = expect.stringContaining(`config.json: ${unknown}`);
  for (const command of [['list'], ['next'], ['config'], []])
    expect(await nocturne(...command)).toMatchObject({ code: 0, stderr });
  expect((await nocturne()).stderr.split('modell is not')).toHaveLength(2);
  const stdout = expect.stringContaining('modell is not a setting');
  expect(await nocturne('doctor')).toMatchObject({ code: 3, stdout });
  const { path } = aSession();
  const refused = await nocturne('learn', path);
  expect(refused.code).not.toBe(0);
  expect(`${refused.stdout}${refused.stderr}`).toMatch(/No\s+model\s+is\s+asked/);
  writeFileSync(join(home, 'config.json'), '{}');
  expect(await nocturne('learn', path)).toMatchObject({ code: 0 });
});

test('config.json is read with comments and trailing commas; what is no JSON is named by its line', async () => {
  const home = tempDir();
  const load = (text: string) => {
    writeFileSync(join(home, 'config.json'), text);
    return loadConfig({}, { ...PLAIN, NOCTURNE_HOME: home });
  };
  const said = '{\n  // less\n  "dayTokens": 7, /* for now */\n  "excludedPaths": ["~/a",],\n}\n';
  expect(await load(said)).toMatchObject({ dayTokens: 7, excludedPaths: ['~/a'] });
  const broken = `${join(home, 'config.json')} is not JSON: Comma expected in line 3.`;
  await expect(load('{\n  "dayTokens": 7 // less\n  "team": "off"\n}\n')).rejects.toThrow(broken);
  await expect(load('{ "queueUrl": "redis://:sk-secret')).rejects.not.toThrow('sk-secret');
});

test('a config.json that begins with a byte order mark is read', async () => {
  const home = tempDir();
  writeFileSync(join(home, 'config.json'), '\ufeff{ "dayTokens": 7 }');
  expect((await loadConfig({}, { ...PLAIN, NOCTURNE_HOME: home })).dayTokens).toBe(7);
});

test.each([
  [{}, undefined, { requestMs: 240_000, wallMs: 1_260_000, jobWallMs: 1_800_000 }],
  [{}, 'https://models.example', { requestMs: 240_000 }],
  [{}, 'https://localhost.example', { requestMs: 240_000 }],
  [{}, 'http://127.0.0.1:11434', { requestMs: 1_200_000, wallMs: 6_060_000, jobWallMs: 6_060_000 }],
  [{}, 'http://localhost:1234/v1', { requestMs: 1_200_000 }],
  [{}, 'http://[::1]:1234', { requestMs: 1_200_000 }],
  [{ requestMs: 600_000 }, 'http://localhost:1234', { requestMs: 600_000, wallMs: 3_060_000 }],
])('%j with the model at %s: a request has its time, and what holds it has room for it', async (given, url, times) => {
  const home = tempDir();
  writeFileSync(join(home, 'config.json'), JSON.stringify(given));
  expect(await loadConfig({}, { ...PLAIN, NOCTURNE_HOME: home, ANTHROPIC_BASE_URL: url })).toMatchObject(times);
});

test('a config.json with what is not a setting any more works with what counts instead, and each is named', async () => {
  const home = tempDir();
  const before = Object.fromEntries(Object.keys(FORMER).map((name) => [name, 'whatever']));
  writeFileSync(join(home, 'config.json'), JSON.stringify({ ...before, dayTokens: 7 }));
  const config = await loadConfig({}, { ...PLAIN, NOCTURNE_HOME: home });
  expect(config).toMatchObject({
    ...FIXED,
    dayTokens: 7,
    wallMs: 1_260_000,
    telemetry: false,
    former: Object.keys(FORMER),
  });
  expect(config).not.toHaveProperty('dreamMinEntries');
  expect(FORMER).not.toHaveProperty('startMs');
  const environment = { ...PLAIN, PATH: process.env.PATH, NOCTURNE_HOME: home };
  const said = 'dreamHours is no longer a setting: it is always 24; ';
  expect(await runHere(['list'], environment)).toMatchObject({ code: 0, stderr: expect.stringContaining(said) });
  expect((await runHere(['doctor'], environment)).stdout).toContain(said);
  expect((await runHere(['config'], environment)).stderr).toContain(said);
});

test('~/ in NOCTURNE_HOME is the user’s directory, as no shell expands it in a settings file', async () => {
  expect((await loadConfig({}, { HOME: '/nowhere', NOCTURNE_HOME: '~/night' })).home).toBe('/nowhere/night');
});

test('Gemini CLI’s sessions are looked for where its settings are', async () => {
  const { agentDirs } = await loadConfig({}, { ...PLAIN, GEMINI_CLI_HOME: '/elsewhere' });
  expect(agentDirs.gemini).toBe('/elsewhere/.gemini');
});
