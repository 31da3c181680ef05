import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { accessSaid, keepKey, keySource, readAccess, whereNew } from '../../src/base/key.ts';
import { tempDir } from '../support/temp.ts';

const KEY = 'sk-ant-0123456789';

async function configOf(home: string, env: Record<string, string> = {}) {
  return loadConfig({}, { NOCTURNE_HOME: home, PATH: process.env.PATH, NOCTURNE_NOW: '2026-11-21T02:00:00Z', ...env });
}

function settings(home: string, value: object): void {
  writeFileSync(join(home, 'config.json'), JSON.stringify(value));
}

test('the environment’s key counts before the file’s, and that before the command’s', async () => {
  const home = tempDir();
  expect(keySource(await configOf(home))).toBe('none');
  expect(await readAccess(await configOf(home))).toEqual({
    apiKey: undefined,
    authToken: undefined,
    baseURL: undefined,
  });
  settings(home, { keyCommand: [process.execPath, '-e', `console.log(' ${KEY}-command ')`] });
  expect((await readAccess(await configOf(home))).apiKey).toBe(`${KEY}-command`);
  keepKey({ home }, `${KEY}\n`);
  expect((await readAccess(await configOf(home))).apiKey).toBe(KEY);
  const { apiKey, baseURL } = await readAccess(
    await configOf(home, { ANTHROPIC_API_KEY: 'own', ANTHROPIC_BASE_URL: 'http://h' }),
  );
  expect({ apiKey, baseURL }).toEqual({ apiKey: 'own', baseURL: 'http://h' });
  expect((await readAccess(await configOf(home, { ANTHROPIC_AUTH_TOKEN: 't' }))).apiKey).toBeUndefined();
});

test('an endpoint of the settings is asked with the key that was kept for it, else without; Anthropic’s goes nowhere else', async () => {
  const home = tempDir();
  keepKey({ home }, KEY);
  settings(home, { baseUrl: 'http://127.0.0.1:11434' });
  const shell = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_AUTH_TOKEN: KEY, ANTHROPIC_BASE_URL: 'http://elsewhere' };
  const local = await configOf(home, shell);
  expect(keySource(local)).toBe('unneeded');
  expect(await readAccess(local)).toEqual({ baseURL: 'http://127.0.0.1:11434', apiKey: 'none' });
  keepKey(local, 'its-own');
  expect(await readAccess(local)).toEqual({ baseURL: 'http://127.0.0.1:11434', apiKey: 'its-own' });
  settings(home, {});
  expect((await readAccess(await configOf(home))).apiKey).toBe(KEY);
  settings(home, { baseUrl: 'file:///etc' });
  await expect(configOf(home)).rejects.toThrow('baseUrl: expected an address');
});

test('a kept key is 0600, and a key file that others can read is refused without its content being told', async () => {
  const home = tempDir();
  keepKey({ home }, KEY);
  const path = join(home, 'key');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, 'utf8')).toBe(`${KEY}\n`);
  const config = await configOf(home);
  for (const mode of [0o640, 0o604, 0o644]) {
    chmodSync(path, mode);
    const refused = await readAccess(config).catch((error) => error);
    expect(refused).toMatchObject({ code: 'auth', remedy: expect.stringContaining(`chmod 600 ${path}`) });
    expect(JSON.stringify(refused) + refused.message).not.toContain(KEY);
  }
  chmodSync(path, 0o600);
  writeFileSync(path, '\n');
  await expect(readAccess(config)).rejects.toThrow('nothing');
  expect(() => keepKey({ home }, 'not a key')).toThrow('more than one word');
});

test.each([
  ['process.stdout.write("half-a-sk-ant"); process.exit(7)', 'failed (7)'],
  ['console.log("")', 'nothing'],
  ['console.log("two words")', 'more than one word'],
])('a key command that does %s is an error that tells nothing of what it printed', async (program, words) => {
  const home = tempDir();
  settings(home, { keyCommand: [process.execPath, '-e', program] });
  const failed = await readAccess(await configOf(home)).catch((error) => error);
  expect(failed).toMatchObject({ code: 'auth', message: expect.stringContaining(words) });
  expect(failed.message).not.toMatch(/sk-ant|two words/);
});

test('a key command gets no shell, no input, and is asked once in five minutes', async () => {
  const home = tempDir();
  const count = join(home, 'count');
  const program = `require('fs').appendFileSync(${JSON.stringify(count)}, 'x'); process.stdin.on('end', () => console.log(process.argv[1])).resume()`;
  settings(home, { keyCommand: [process.execPath, '-e', program, '$HOME;k'] });
  expect((await readAccess(await configOf(home))).apiKey).toBe('$HOME;k');
  await readAccess(await configOf(home));
  expect(readFileSync(count, 'utf8')).toBe('x');
  await readAccess(await configOf(home, { NOCTURNE_NOW: '2026-11-21T02:05:00Z' }));
  expect(readFileSync(count, 'utf8')).toBe('xx');
});

test('two workers of one home that reach the model in two ways find nothing new in each other; a new key they both do', async () => {
  const home = tempDir();
  const workers = [await configOf(home, { ANTHROPIC_API_KEY: 'own' }), await configOf(home)];
  const findNew = async () => {
    const found: number[] = [];
    for (const [at, config] of workers.entries())
      await whereNew(config, accessSaid(config), async () => void found.push(at));
    return found;
  };
  expect(await findNew()).toEqual([0, 1]);
  for (const _ of [1, 2, 3]) expect(await findNew()).toEqual([]);
  keepKey({ home }, KEY);
  expect(await findNew()).toEqual([1]);
  expect(statSync(join(home, 'access')).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(home, 'access'), 'utf8')).not.toContain(KEY);
});

test('whoever dies while it does what a new key asks for leaves that to the next', async () => {
  const home = tempDir();
  const dies = async () => {
    throw new Error('killed');
  };
  const [first, next] = [await configOf(home), await configOf(home)];
  await expect(whereNew(first, accessSaid(first), dies)).rejects.toThrow('killed');
  let isDone = false;
  await whereNew(next, accessSaid(next), async () => {
    isDone = true;
  });
  expect(isDone).toBe(true);
});
