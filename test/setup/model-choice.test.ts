// Which model reads the sessions: what set-up offers, what it takes by itself, what it says of it, and what it keeps.

import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { keepKey } from '../../src/base/key.ts';
import { ollamaUrl } from '../../src/setup/choose-model.ts';
import { testModel } from '../support/app.ts';
import { fakeProgram, NOT_LOGGED_IN } from '../support/fake-program.ts';
import { says } from '../support/messages-server.ts';
import { aPerson, type Person } from '../support/person.ts';
import { runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';

const LOGGED_OUT = { stdout: 'Not logged in\n', code: 1 };
/** Nobody's Ollama is asked in a test. */
const CLOSED = '127.0.0.1:1';

function someone(agents: ('.claude' | '.codex')[] = ['.claude']) {
  const person = aPerson();
  for (const directory of agents) mkdirSync(join(person.user, directory));
  const environment = { ...person.environment, OLLAMA_HOST: CLOSED };
  const home = join(person.user, '.nocturne');
  const kept = () => JSON.parse(readFileSync(join(home, 'config.json'), 'utf8'));
  const setup = (...args: string[]) => runHere(['setup', ...args], environment);
  const has = (name: 'claude' | 'codex') => fakeProgram(name, join(person.user, 'bin'));
  return { ...person, environment, home, kept, setup, has };
}

function learnable(person: Person): void {
  const dir = join(person.user, '.claude', 'projects', '-home-kim-harbour');
  mkdirSync(dir, { recursive: true });
  const session = aSession(['Always use pnpm instead of npm.'], {
    dir,
    id: '11111111-2222-4333-8444-555555555555',
    cwd: '/home/kim/harbour',
  });
  utimesSync(session.path, new Date('2026-11-21T01:00:00Z'), new Date('2026-11-21T01:00:00Z'));
}

/** A server of the Messages protocol that lists its models, as Ollama and LM Studio do. */
async function aLocalServer(models: string[]) {
  const headers: object[] = [];
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'local', stop_reason: 'end_turn' };
  const reply = { ...message, content: [{ type: 'text', text: 'Hi' }], usage: { input_tokens: 1, output_tokens: 1 } };
  const server = createServer((request, response) => {
    const isList = request.url === '/v1/models';
    if (!isList) headers.push(request.headers);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(isList ? { data: models.map((id) => ({ id })) } : reply));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  return { headers, host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('without a key the login of the agent is taken: it says who reads, what it uses up, and tries it once', async () => {
  const person = someone();
  learnable(person);
  const claude = person.has('claude');
  const ended = await person.setup('--yes');
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(ended.stdout).toContain('Claude Code with your login, claude.ai (max): Anthropic reads your sessions.');
  expect(ended.stdout).toMatch(
    /It uses up your plan: about [\d,]+ tokens in 2 requests on a day like your last ones, at most 100 requests a day/,
  );
  expect(ended.stdout).toContain('Whether its terms allow that is yours to check.');
  expect(ended.stdout).toContain('claude-code answers.');
  expect(claude.starts()).toHaveLength(1);
  expect(ended.stdout).toMatch(/1 session of the last 7 days, about [\d,]+ tokens in 1 request, less than a minute/);
  const environment = { CLAUDE_CONFIG_DIR: join(person.user, '.claude') };
  expect(person.kept()).toEqual({
    model: 'claude-code',
    agentPrograms: { 'claude-code': { path: claude.path, environment } },
  });
  expect(existsSync(join(person.home, 'key'))).toBe(false);
});

test('with neither login nor key it is offline for now, said in one line; what is in use stays at the next set-up', async () => {
  const person = someone();
  person.has('claude').is({ status: NOT_LOGGED_IN });
  const ended = await person.setup('--yes');
  const said = ended.stdout.split('\n').find((line) => line.includes('offline')) ?? '';
  expect(said).toContain('no login of these agents and no key was found');
  expect(said).toContain('It understands nothing.');
  expect(person.kept()).toEqual({ model: 'offline' });
  person.has('claude');
  expect(JSON.parse((await person.setup('--yes', '--json')).stdout).model).toBe('offline');
  await person.setup('--yes', '--model', 'claude-code');
  expect(person.kept().model).toBe('claude-code');
});

test('a key that is only in the environment is taken with a word that it costs money; a login comes before it, a kept key stays', async () => {
  const person = someone();
  learnable(person);
  const server = await testModel(() => says('Hi'));
  const environment = {
    ...person.environment,
    ANTHROPIC_API_KEY: 'sk-ant-shell',
    ANTHROPIC_BASE_URL: server.access.baseURL,
  };
  const ended = await runHere(['setup', '--yes'], environment);
  expect(ended.stdout).toContain('The key of this shell, for claude-opus-5-5: ');
  expect(ended.stdout).toMatch(
    /It costs money: about \$0\.\d\d \(about [\d,]+ tokens in 2 requests\) on a day like your last ones; a limit a day \(dayMoneyUsd\) has to be at least \$0\.39\./,
  );
  expect(ended.stdout).toContain('the nightly run has none');
  expect(ended.stdout).not.toContain('sk-ant-shell');
  person.has('claude');
  const model = async () =>
    JSON.parse((await runHere(['setup', '--yes', '--dry-run', '--json'], environment)).stdout).model;
  expect(await model()).toBe('claude-code');
  keepKey({ home: person.home }, 'sk-ant-kept');
  expect(await model()).toBe('claude-opus-5-5');
});

test('a mistyped offline is no model: nothing is sent', async () => {
  const person = someone();
  const ended = await runHere(['dream', '--model', 'ofline'], person.environment);
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('Did you mean offline?') });
});

test('a proxy’s key of the shell is kept with the proxy’s address; a yes is no answer to which number', async () => {
  const person = someone();
  const server = await testModel(() => says('Hi'));
  const { apiKey, baseURL } = server.access;
  const environment = { ...person.environment, ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: baseURL };
  const ended = await runHere(['setup', 'codex'], environment, { isTerminal: true, stdin: 'y\n9\n\ny\ny\n' });
  expect(ended.stdout).toContain('y is no number of the list. A model by its id: nocturne setup --model ID.');
  expect(ended.stdout).toContain('9 is no number');
  expect(person.kept()).toEqual({ baseUrl: baseURL });
  expect(readFileSync(join(person.home, 'endpoint-key'), 'utf8')).toBe(`${apiKey}\n`);
  expect(existsSync(join(person.home, 'key'))).toBe(false);
});

test('at a terminal one question shows all there is; d shows the settings, and n leaves nothing behind', async () => {
  const person = someone();
  const claude = person.has('claude');
  person.has('codex').is({ status: LOGGED_OUT });
  const ended = await runHere(['setup'], person.environment, { isTerminal: true, stdin: '\nd\nn\n' });
  expect(ended.stdout.replace(/\s+/g, ' ')).toMatch(
    / 1 Claude Code with your login, .* 2 An API key that you type .* 3 None for now \(offline\).* Not offered: Codex \(.*\) is not logged in/,
  );
  expect(ended.stderr).toContain('Which number? [1] ');
  expect(ended.stdout).toContain('+  "model": "claude-code"');
  expect(ended.stderr).toContain('Nothing was changed.');
  expect(existsSync(person.home)).toBe(false);
  expect(claude.starts()).toEqual([]);
});

test('a local endpoint is offered with its models, kept with its address, and asked without any key', async () => {
  const person = someone();
  const local = await aLocalServer(['qwen3:8b', 'nomic-embed-text', 'llama3.2']);
  keepKey({ home: person.home }, 'sk-ant-kept');
  const environment = { ...person.environment, OLLAMA_HOST: local.host, ANTHROPIC_API_KEY: 'sk-ant-shell' };
  const ended = await runHere(['setup'], environment, { isTerminal: true, stdin: '3\ny\n' });
  expect(ended.stdout.replace(/\s+/g, ' ')).toContain(
    `2 qwen3:8b of Ollama at http://${local.host}: Nothing leaves this machine`,
  );
  expect(ended.stdout).toContain('llama3.2 answers.');
  expect(person.kept()).toEqual({ baseUrl: `http://${local.host}`, model: 'llama3.2' });
  const sent = JSON.stringify(local.headers);
  expect(sent).toContain('none');
  expect(sent).not.toContain('sk-ant');
  // The night has neither of the shell's variables.
  const night = await loadConfig({}, { HOME: person.user, NOCTURNE_HOME: person.home });
  expect(night).toMatchObject({
    model: 'llama3.2',
    access: { baseURL: `http://${local.host}` },
    requestMs: 20 * 60_000,
  });
  const again = await runHere(['setup', '--yes', '--model', 'qwen3:8b'], environment);
  expect(again.stdout).toContain('qwen3:8b answers.');
  expect(person.kept().model).toBe('qwen3:8b');
});

test('another endpoint is named by its address and model, and its key is kept beside Anthropic’s', async () => {
  const person = someone();
  const server = await testModel(() => says('Hi'));
  keepKey({ home: person.home }, 'sk-ant-kept');
  await runHere(['config', 'baseUrl', server.access.baseURL as string], person.environment);
  const asked = ['setup', '--yes', '--model', 'qwen/big', '--key-stdin'];
  const ended = await runHere(asked, person.environment, { stdin: 'sk-other\n' });
  expect(ended.stdout).toContain('The key works: qwen/big answers.');
  expect(ended.stdout + ended.stderr).not.toContain('sk-other');
  expect(person.kept()).toEqual({ model: 'qwen/big', baseUrl: server.access.baseURL });
  expect(server.headers.map((each) => each.authorization ?? each['x-api-key'])).toEqual([
    expect.stringContaining('sk-other'),
  ]);
  expect(readFileSync(join(person.home, 'key'), 'utf8')).toBe('sk-ant-kept\n');
  expect(statSync(join(person.home, 'endpoint-key')).mode & 0o777).toBe(0o600);
  // Back to Anthropic's: its own key, and the address is gone.
  await runHere(['setup', '--yes', '--model', 'offline'], person.environment);
  expect(person.kept()).toMatchObject({ model: 'offline' });
});

test.each([
  ['is not there', undefined, 1, 'Codex (codex) is not installed here.', false],
  ['is not logged in', { status: LOGGED_OUT }, 0, 'is not logged in', true],
  ['is too old', { version: { stdout: '0.9.0\n' } }, 0, 'is older than', true],
])('a program that is named and %s: that is said with what to do', async (_, fake, code, words, isKept) => {
  const person = someone();
  if (fake) person.has('codex').is(fake);
  const ended = await person.setup('--yes', '--model', 'codex');
  expect(ended.code).toBe(code);
  expect(ended.stdout + ended.stderr).toContain(words);
  expect(existsSync(join(person.home, 'config.json'))).toBe(isKept);
  if (isKept) expect(ended.stdout).toContain('Sessions that end from now on wait until the model can be asked.');
});

test.each([
  [undefined, 'http://127.0.0.1:11434'],
  ['0.0.0.0', 'http://127.0.0.1:11434'],
  ['0.0.0.0:8080', 'http://127.0.0.1:8080'],
  ['https://ollama.lan:443/', 'https://ollama.lan:443'],
  ['[::1]:9000', 'http://[::1]:9000'],
])('OLLAMA_HOST %s is called at %s', (host, url) => {
  expect(ollamaUrl(host)).toBe(url);
});
