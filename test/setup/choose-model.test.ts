import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { AppError } from '../../src/base/errors.ts';
import { keepKey } from '../../src/base/key.ts';
import type { AgentName } from '../../src/setup/agents/agents.ts';
import { type Around, defaultOf, offersOf } from '../../src/setup/choose-model.ts';
import type { FoundProgram } from '../../src/worker/model-programs.ts';
import { tempDir } from '../support/temp.ts';

interface Scene {
  /** Logged in, and how; null: there, and not logged in. */
  claude?: 'plan' | 'key' | null;
  codex?: 'plan' | null;
  agents?: AgentName[];
  sessions?: Around['sessions'];
  settings?: object;
  hasKey?: boolean;
  env?: Record<string, string>;
  isOllama?: boolean;
}

function program(name: FoundProgram['name'], paidBy: 'plan' | 'key' | null): FoundProgram {
  const found = { name, title: name, company: name, path: `/bin/${name}`, version: '9.9.9' };
  if (paidBy === null) return { ...found, problem: new AppError('auth', 'not logged in') };
  return { ...found, login: { isLoggedIn: true, paidBy, said: paidBy } };
}

async function around(scene: Scene): Promise<Around> {
  const home = tempDir();
  writeFileSync(join(home, 'config.json'), JSON.stringify(scene.settings ?? {}));
  if (scene.hasKey) keepKey({ home }, 'k');
  const { claude, codex, agents = ['claude-code', 'codex'], sessions = {} } = scene;
  return {
    config: await loadConfig({}, { HOME: '/nowhere', NOCTURNE_HOME: home, ...scene.env }),
    ...{ agents, sessions },
    programs: [
      ...(claude === undefined ? [] : [program('claude-code', claude)]),
      ...(codex === undefined ? [] : [program('codex', codex)]),
    ],
    locals: scene.isOllama ? [{ title: 'Ollama', baseUrl: 'http://127.0.0.1:11434', models: ['m'] }] : [],
    dayOf: () => ({ requests: 4, tokens: 41_234, microUsd: 123_456 }),
  };
}

const SHELL = { ANTHROPIC_API_KEY: 'sk' };

test.each<[string, Scene, string]>([
  ['the login of the agent', { claude: 'plan', env: SHELL }, 'claude-code'],
  ['a login by a key, too', { claude: 'key' }, 'claude-code'],
  [
    'of two the one with more sessions',
    { claude: 'plan', codex: 'plan', sessions: { codex: 3, 'claude-code': 2 } },
    'codex',
  ],
  ['no login of an agent that it is not set up for', { claude: 'plan', agents: ['codex'] }, 'offline'],
  [
    'that of the agent, though the other has more',
    { claude: 'plan', codex: 'plan', agents: ['codex'], sessions: { 'claude-code': 9 } },
    'codex',
  ],
  ['a key where nobody is logged in', { claude: null, env: SHELL }, 'claude-opus-5-5'],
  ['a token as well', { env: { ANTHROPIC_AUTH_TOKEN: 't' } }, 'claude-opus-5-5'],
  ['no local endpoint unasked', { isOllama: true }, 'offline'],
  ['neither: offline', { claude: null, codex: null }, 'offline'],
  ['what is in use: a kept key', { claude: 'plan', hasKey: true }, 'claude-opus-5-5'],
  ['what is in use: a key command', { claude: 'plan', settings: { keyCommand: ['pass'] } }, 'claude-opus-5-5'],
  ['what is in use: offline', { claude: 'plan', settings: { model: 'offline' } }, 'offline'],
  ['what is in use: an endpoint', { claude: 'plan', settings: { baseUrl: 'http://h', model: 'm' } }, 'm'],
  [
    'what is in use: a program, with its model',
    { claude: 'plan', codex: 'plan', settings: { model: 'codex/gpt-6' } },
    'codex/gpt-6',
  ],
  [
    'what is in use, though it is logged out now',
    { claude: 'plan', codex: null, settings: { model: 'codex' } },
    'codex',
  ],
  ['not a model that lacks its key', { claude: 'plan', settings: { model: 'claude-sonnet-5-5' } }, 'claude-code'],
])('taken unasked: %s', async (_, scene, model) => {
  const at = await around(scene);
  expect(defaultOf(offersOf(at), at).model).toBe(model);
});

test.each<[Scene, string, RegExp]>([
  [
    { claude: 'plan' },
    'program',
    /^claude-code reads your sessions, those with Codex too\. It uses up your plan: .*41,000 tokens in 4 requests/,
  ],
  [{ claude: 'plan', agents: ['claude-code'] }, 'program', /^claude-code reads your sessions\. /],
  [{ claude: 'key' }, 'program', /It is logged in by a key, so it costs money/],
  [
    { hasKey: true },
    'key',
    /^Anthropic reads your sessions\. It costs money: about \$0\.12 \(about 41,000 tokens in 4 requests\) on a day/,
  ],
  [
    { env: { ...SHELL, ANTHROPIC_BASE_URL: 'https://proxy.corp/x' } },
    'key',
    /^Whoever runs proxy\.corp reads your sessions/,
  ],
  [{ isOllama: true }, 'local', /^Nothing leaves this machine/],
  [{}, 'offline', /only what is said outright, in English.* It understands nothing/],
])('%j: an offer of the kind %s says who reads and what it takes', async (scene, kind, words) => {
  const offers = offersOf(await around(scene));
  expect(offers.find((each) => each.kind === kind)?.about).toMatch(words);
});
