// How a program says that it is logged in and who pays, in the words that were seen (Claude Code 2.1.197, Codex 0.169.0);
// which model ids name one.

import { expect, test } from 'vitest';
import { claudeCode, codex, programOf } from '../../../src/agent/programs/programs.ts';

test.each<[string, object, string, string]>([
  ['nobody', { loggedIn: false, authMethod: 'none', apiProvider: 'firstParty' }, 'none', 'not logged in'],
  ['a plan', { loggedIn: true, authMethod: 'claude.ai', subscriptionType: 'max' }, 'plan', 'claude.ai (max)'],
  ['a token for machines', { loggedIn: true, authMethod: 'oauth_token' }, 'plan', 'oauth_token'],
  [
    'a key of the environment',
    { loggedIn: true, authMethod: 'api_key', apiKeySource: 'ANTHROPIC_API_KEY' },
    'key',
    'a key of ANTHROPIC_API_KEY',
  ],
  [
    'a plan, and a key that is used before it',
    { loggedIn: true, authMethod: 'claude.ai', apiKeySource: 'ANTHROPIC_API_KEY', subscriptionType: null },
    'key',
    'a key of ANTHROPIC_API_KEY',
  ],
  [
    'the Console',
    { loggedIn: true, authMethod: 'claude.ai', apiKeySource: '/login managed key', subscriptionType: null },
    'key',
    'a key of /login managed key',
  ],
  [
    'a helper for keys',
    { loggedIn: true, authMethod: 'api_key_helper', apiKeySource: 'apiKeyHelper' },
    'key',
    'a key of apiKeyHelper',
  ],
  ['another cloud', { loggedIn: true, authMethod: 'third_party', apiProvider: 'bedrock' }, 'key', 'third_party'],
])('Claude Code is logged in by %s', (_, status, pays, said) => {
  const { loggedIn } = status as { loggedIn: boolean };
  const read = claudeCode.readStatus({
    code: loggedIn ? 0 : 1,
    stdout: `${JSON.stringify(status, null, 2)}\n`,
    stderr: '',
  });
  expect(read).toEqual({ isLoggedIn: pays !== 'none', paidBy: pays === 'plan' ? 'plan' : 'key', said });
});

test.each([
  ['nobody', 1, 'Not logged in\n', 'none'],
  ['a plan', 0, 'Logged in using ChatGPT\n', 'plan'],
  ['a plan, after a warning', 0, 'WARNING: proceeding, even though…\nLogged in using ChatGPT\n', 'plan'],
  ['a key', 0, 'API key configured - sk-made-***56789\nAuthentication is checked when you send a request.\n', 'key'],
  ['a token that is none', 1, 'Error checking login status: invalid token\n', 'none'],
  [
    'a directory that is not there',
    1,
    'Error loading configuration: CODEX_HOME points to "/x", but that path does not exist\n',
    'none',
  ],
])('Codex is logged in by %s', (_, code, stderr, pays) => {
  const { isLoggedIn, paidBy } = codex.readStatus({ code, stdout: '', stderr });
  expect(isLoggedIn ? paidBy : 'none').toBe(pays);
});

test('what is no JSON, or not of the program, is not logged in', () => {
  for (const stdout of ['', 'hello', '[]', '{}', '{"loggedIn":"yes"}']) {
    expect(claudeCode.readStatus({ code: 0, stdout, stderr: '' }).isLoggedIn, stdout).toBe(false);
    expect(codex.readStatus({ code: 0, stdout, stderr: '' }).isLoggedIn, stdout).toBe(false);
  }
});

test('a model id names a program, with a model of it or without; no other does', () => {
  expect(programOf('claude-code')).toEqual({ name: 'claude-code' });
  expect(programOf('codex/gpt-5.5')).toEqual({ name: 'codex', model: 'gpt-5.5' });
  expect(programOf('claude-code/us.anthropic/x')).toEqual({ name: 'claude-code', model: 'us.anthropic/x' });
  for (const other of ['claude-opus-5-5', 'offline', 'gemini', 'codex/', 'Codex', 'codex-2', 'x/codex', 'toString'])
    expect(programOf(other), other).toBeNull();
});
