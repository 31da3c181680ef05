import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/transcript/messages.ts';
import { finishedCalls, sayWrites } from '../../src/transcript/own-writes.ts';
import { call, message, result } from '../support/turns.ts';

const input = { file_path: '/home/ada/notes/memory/a.md', content: '# Rules\n\n- tabs\n' };
const asked = message('a', 'assistant', [call('Write', input)]);
const answered = message('r', 'tool', [result('')]);
const find = (...messages: Message[]) => finishedCalls({ id: 'a', messages });

test('a call belongs with its result, but not with what a person says before that', () => {
  const human = message('h', 'human', ['Never on Fridays.'], { beginsTurn: false });
  expect(find(asked, answered, human)).toMatchObject([{ at: 0, through: 1, added: ['# Rules', '- tabs'] }]);
  expect(find(asked, human, answered)).toMatchObject([{ at: 0, through: 0 }]);
});

test('a call that failed, has no answer or is a subagent’s is none of the main agent’s finished calls', () => {
  expect(find(asked)).toEqual([]);
  expect(find(asked, message('r', 'tool', [result('', true)]))).toEqual([]);
  const subagents = [asked, answered].map((each) => ({ ...each, isSidechain: true, speaker: 'subagent' as const }));
  expect(find(...subagents)).toEqual([]);
});

test('what a call was told is found however deep it is nested', () => {
  let nested: unknown = 'tabs';
  for (let depth = 0; depth < 100_000; depth++) nested = depth % 2 === 0 ? [nested] : { a: nested };
  const text = find(message('a', 'assistant', [call('x', { first: 'one', nested })]), answered)[0]?.text.split('\n');
  expect([text?.slice(0, 3), text?.at(-1)]).toEqual([['first', 'one', 'nested'], 'tabs']);
});

describe('a memory by all appearance, wherever it is,', () => {
  test.each([
    ['memory', { command: 'create', path: '/memories/a.md', file_text: '- use tabs' }],
    ['memory', { command: 'insert', path: '/memories/a.md', insert_line: 0, insert_text: '- use tabs' }],
    ['memory', { command: 'str_replace', path: '/memories/a.md', old_str: 'x', new_str: 'x\n- use tabs' }],
    ['Write', { file_path: '/Users/x/.claude/projects/-Users-x-acme/memory/a.md', content: '- use tabs' }],
    ['Write', { file_path: 'C:\\Users\\x\\.claude\\projects\\C--acme\\memory\\a.md', content: '- use tabs' }],
    ['write_file', { path: '/Users/x/.codex/memories/a.md', content: '- use tabs' }],
  ])('is told apart, with what was written said as words: %s %j', (tool, told) => {
    const writing = message('a', 'assistant', [call(tool, told)]);
    expect(find(writing, answered)).toMatchObject([{ memory: { added: ['- use tabs'] } }]);
    const said = sayWrites(writing, new Set(['c']));
    expect(said.parts).toMatchObject([{ kind: 'text', text: expect.stringMatching(/^\[wrote \S+\]\n- use tabs$/) }]);
    expect(sayWrites(writing, new Set())).toBe(writing);
  });

  test.each([
    ['memory', { command: 'view', path: '/memories' }],
    ['memory', { command: 'delete', path: '/memories/a.md' }],
    ['Write', { file_path: '/home/ada/acme/memory/a.md', content: '- use tabs' }],
    ['Write', null],
    ['Bash', 'echo x'],
  ])('is not where nothing is added there: %s %j', (tool, told) => {
    expect(find(message('a', 'assistant', [call(tool, told)]), answered)).toMatchObject([{ memory: null }]);
  });
});
