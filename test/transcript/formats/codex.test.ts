import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/transcript/messages.ts';
import { finishedCalls } from '../../../src/transcript/own-writes.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { brief } from '../../support/brief.ts';
import { collect, fixtures, lines, messagesAt, messagesOf, transcriptOf } from '../../support/transcripts.ts';

const fixture = join(fixtures, 'codex.jsonl');

const record = (type: string, payload: object, timestamp = '2026-11-02T09:00:00.000Z'): object => ({
  timestamp,
  type,
  payload,
});
const meta = (id: string, more: object = {}): object => record('session_meta', { id, cwd: '/home/ada', ...more });
const event = (type: string, more: object = {}): object => record('event_msg', { type, ...more });
const item = (type: string, more: object = {}): object => record('response_item', { type, ...more });
const says = (role: string, ...texts: string[]): object =>
  item('message', { role, content: texts.map((text) => ({ type: 'input_text', text })) });
const typed = (message: string, more: object = {}): object => event('user_message', { message, ...more });
const answer = (id: string, output: unknown): object => item('function_call_output', { call_id: id, output });

const ids = (messages: readonly Message[]): string[] => messages.map(({ id }) => id);

describe('a Codex rollout', () => {
  test('is read in file order, each thing once, each by the one who said it', async () => {
    const session = await openSession(fixture);
    expect((await collect(session.messages())).map(brief)).toMatchInlineSnapshot(`
      [
        "  | harness | "<permissions instructions>Ask first.</pe"",
        "  | harness | "# AGENTS.md instructions for /home/ada/a" | "<environment_context>\\n  <cwd>/home/ada/a"",
        "> | human | "Use this logo, please." | [image, /home/ada/logo.png]",
        "  | assistant | "I look at the site."",
        "  | assistant | call exec_command {"cmd":"ls site","workdir":"/home/ada/acme"}",
        "  | tool | error "Chunk ID: 1a\\nWall time: 0.1 se"",
        "  | human | "it is in web/, sorry"",
        "  | assistant | call apply_patch "*** Begin Patch\\n*** Update File: web/index.html\\n+<img>\\n*** End Patch\\n"",
        "  | tool | result "Success. Updated the following"",
        "  | assistant | call web_search {"type":"search","query":"img width"} | result """,
        "  | assistant | "The logo is in."",
        "> | human | "Ask a colleague to review it."",
        "  | assistant | call collaboration.spawn_agent {"message":"Review web/index.html"}",
        "  | tool | result "{\\"agent_id\\":\\"019e0000-0000-700"",
        "  | subagent | "<subagent_notification>\\n{\\"agent_path\\":\\"b"",
        "  | assistant | call local_shell {"type":"exec","command":["bash","-lc","git commit"]}",
        "  | tool | error "aborted by user after 6.2s"",
        "  | harness | "<turn_aborted>\\nThe user interrupted the "",
        "> | human | "Thanks, stop here."",
      ]
    `);
    expect(session).toMatchObject({
      id: '019e0000-0000-7000-8000-00000000000a',
      format: 'codex',
      cwd: '/home/ada/acme',
      subagent: undefined,
      unreadableLines: 1,
    });
  });

  test('keeps the time, the directory of the turn and the branch of the session', async () => {
    const messages = await messagesAt(fixture);
    expect(messages[2]).toMatchObject({ at: '2026-11-02T09:00:07.000Z', cwd: '/home/ada/acme', branch: 'main' });
    expect(messages.at(-1)).toMatchObject({ cwd: '/home/ada/acme/web', branch: 'main' });
  });

  test('keeps the ids of what a fork copied, under new times, and goes by the first of its sessions', async () => {
    const said = [
      event('task_started', { turn_id: 't1' }),
      typed('hello'),
      item('function_call', { name: 'ls', arguments: '{}', call_id: 'c1' }),
      answer('c1', 'ok'),
    ];
    const copied = said.map((line) => ({ ...line, timestamp: '2026-12-24T09:00:00.000Z' }));
    const fork = transcriptOf(lines(meta('fork', { forked_from_id: 'origin' }), meta('origin'), ...copied));
    const session = await openSession(fork);
    expect(session.id).toBe('fork');
    expect(ids(await collect(session.messages()))).toEqual(ids(await messagesOf(meta('origin'), ...said)));
  });

  test('gives the same words of two sessions, and of two turns, ids of their own', async () => {
    const turn = (id: string): object[] => [event('task_started', { turn_id: id }), typed('go on')];
    const both = [
      ...(await messagesOf(meta('a'), ...turn('t1'), ...turn('t2'))),
      ...(await messagesOf(meta('b'), ...turn('t3'))),
    ];
    expect(new Set(ids(both)).size).toBe(3);
  });

  test('of old holds what was typed among what was injected', async () => {
    const messages = await messagesOf(
      meta('a'),
      says('user', '<environment_context>\n<cwd>/</cwd>\n</environment_context>'),
      says('user', '# AGENTS.md instructions for /\n\n<INSTRUCTIONS>x</INSTRUCTIONS>'),
      says('user', '<user_instructions>x</user_instructions>', 'Use tabs.'),
      says('user', 'Another language model started to solve this problem and produced a summary'),
    );
    expect(messages.map(brief)).toEqual([
      '  | harness | "<environment_context>\\n<cwd>/</cwd>\\n</env"',
      '  | harness | "# AGENTS.md instructions for /\\n\\n<INSTRUC"',
      '> | human | "Use tabs."',
      '  | harness | "Another language model started to solve "',
    ]);
  });

  test('takes nothing for typed that is not an event, where one is', async () => {
    const messages = await messagesOf(
      meta('a'),
      says('user', 'A hook added this.'),
      typed('hi'),
      typed('x', { kind: 'other' }),
    );
    expect(messages.map(brief)).toEqual(['> | human | "hi"', '  | harness | "x"']);
  });

  test('holds a prompt without what an editor put before it, and all of what only looks like that', async () => {
    const prompt = '# Context from my IDE setup:\n\n## Active file: a.ts\n\n## My request for Codex:\nUse tabs.';
    const quoted = `Why do I see this?\n${prompt}`;
    const browser = '# In app browser:\n- Current URL: http://x\n\n## My request for Codex:\nUse tabs.';
    const messages = await messagesOf(meta('a'), typed(prompt), typed(browser), typed(quoted));
    expect(messages.map(({ parts }) => parts)).toEqual([
      [{ kind: 'text', text: 'Use tabs.' }],
      [{ kind: 'text', text: 'Use tabs.' }],
      [{ kind: 'text', text: quoted }],
    ]);
  });

  test('names the files that a person put to a prompt, each once', async () => {
    const named = (name: string) => `## ${name}: /home/kim/${name}\n\n`;
    const prompt = `\n# Files mentioned by the user:\n\n${named('a (2).png')}${named('b.mp4')}## My request for Codex:\nUse both.`;
    const [message] = await messagesOf(meta('a'), typed(prompt, { local_images: ['/home/kim/a (2).png'] }));
    expect(message?.parts).toEqual([
      { kind: 'text', text: 'Use both.' },
      { kind: 'attachment', label: 'file, /home/kim/b.mp4' },
      { kind: 'attachment', label: 'image, /home/kim/a (2).png' },
    ]);
  });

  test('does not take for typed what /init stands for', async () => {
    const prompt =
      'Generate a file named AGENTS.md that serves as a contributor guide for this repository.\nYour goal …';
    expect((await messagesOf(meta('a'), typed(prompt))).map(({ speaker }) => speaker)).toEqual(['harness']);
  });

  test('of a subagent names its parent, and nobody in it is human', async () => {
    const source = { subagent: { thread_spawn: { parent_thread_id: 'root' } } };
    const said = [typed('Review it.'), says('assistant', 'Fine.'), answer('c1', 'x')];
    const session = await openSession(transcriptOf(lines(meta('child', { source }), meta('root'), ...said)));
    expect(session).toMatchObject({ id: 'root/child', subagent: { session: 'root', agent: 'child' } });
    const messages = await collect(session.messages());
    expect(messages.map(brief)).toEqual([
      '~ | harness | "Review it."',
      '~ | subagent | "Fine."',
      '~ | tool | result "x"',
    ]);
    // What it copied from its parent is covered there, not here.
    expect(ids(await messagesOf(meta('root'), ...said))).not.toEqual(expect.arrayContaining([messages[2]?.id]));
    const review = transcriptOf(
      lines(meta('r', { source: { subagent: 'review' }, parent_thread_id: 'p' }), typed('x')),
    );
    expect((await openSession(review)).id).toBe('p/r');
  });

  test('marks what was rolled back, and begins no turn with it', async () => {
    const turn = (id: string, text: string): object[] => [
      event('task_started', { turn_id: id }),
      typed(text),
      says('assistant', `${text}?`),
      event('task_complete', { turn_id: id }),
    ];
    const messages = await messagesOf(
      meta('a'),
      ...turn('t1', 'one'),
      ...turn('t2', 'two'),
      ...turn('t3', 'three'),
      event('thread_rolled_back', { num_turns: 2 }),
      ...turn('t4', 'four'),
    );
    expect(messages.map(brief)).toEqual([
      '> | human | "one"',
      '  | assistant | "one?"',
      'x | harness | "two"',
      'x | harness | "two?"',
      'x | harness | "three"',
      'x | harness | "three?"',
      '> | human | "four"',
      '  | assistant | "four?"',
    ]);
  });

  test.each([
    ['Exit code: 0\nWall time: 0 seconds\nOutput:\nerror: none', false],
    ['Exit code: 1\nWall time: 0 seconds\nOutput:\n', true],
    ['Chunk ID: ab\nWall time: 0.1 seconds\nProcess exited with code 127\nOutput:\n', true],
    ['Chunk ID: ab\nWall time: 0.1 seconds\nProcess running with session ID 7\nOutput:\nExit code: 3', false],
    ['{"output":"x","metadata":{"exit_code":2}}', true],
    ['{"output":"x","metadata":{"exit_code":0}}', false],
    [{ content: 'x', success: false }, true],
    [[{ type: 'input_text', text: 'Script completed\nOutput:\n' }], false],
    [[{ type: 'input_text', text: 'Script failed\nOutput:\n' }], true],
    ['aborted by user after 6.2s', true],
    ['failed to parse function arguments: missing field', true],
    ['apply_patch verification failed: no such file', true],
    ['collab spawn failed: agent thread limit reached (max 6)', true],
    ['Plan updated', false],
  ])('knows of the output %j whether the call failed', async (output, isError) => {
    const [message] = await messagesOf(meta('a'), answer('c1', output));
    expect(message?.parts[0]).toMatchObject({ kind: 'result', callId: 'c1', isError });
  });

  test.each([
    ['exec_command_end', { exit_code: 1 }, true],
    ['patch_apply_end', { success: false }, true],
    ['mcp_tool_call_end', { result: { Err: 'no' } }, true],
    ['mcp_tool_call_end', { result: { Ok: { isError: true } } }, true],
    ['mcp_tool_call_end', { result: { Ok: { isError: false } } }, false],
  ])('knows by the event %s %j whether the call failed', async (type, more, isError) => {
    const [message] = await messagesOf(meta('a'), event(type, { call_id: 'c1', ...more }), answer('c1', 'done'));
    expect(message?.parts[0]).toMatchObject({ isError });
  });

  test('holds what a person wants to be reviewed', async () => {
    const target = { type: 'custom', instructions: 'only the parser' };
    const review = (given: object) => event('entered_review_mode', { target: given, user_facing_hint: 'x' });
    const messages = await messagesOf(
      meta('a'),
      typed('Format it.'),
      review(target),
      review({ type: 'uncommittedChanges' }),
    );
    expect(messages.slice(1)).toMatchObject([
      { speaker: 'human', beginsTurn: false, parts: [{ text: '/review only the parser' }] },
    ]);
  });

  test('of a newer version holds what was typed as completed items, and nothing that was injected beside them', async () => {
    const completed = (item: object): object => event('item_completed', { thread_id: 'a', turn_id: 't1', item });
    const records = [
      meta('a', { history_mode: 'paginated', thread_source: 'user' }),
      event('task_started', { turn_id: 't1' }),
      says('user', 'Injected without a tag.'),
      says('user', 'Use tabs.'),
      completed({
        type: 'UserMessage',
        id: 'u1',
        content: [
          { type: 'text', text: 'Use tabs.', text_elements: [] },
          { type: 'local_image', path: '/home/ada/a.png' },
          { type: 'skill', name: 'format', path: '/home/ada/SKILL.md' },
        ],
      }),
      completed({ type: 'CommandExecution', id: 'c1', status: 'failed', exit_code: 1 }),
      answer('c1', 'no'),
      says('assistant', 'Done.'),
      completed({ type: 'AgentMessage', id: 'm1', content: [{ type: 'Text', text: 'Done.' }] }),
      completed({ type: 'UserMessage', id: 'u2', content: [{ type: 'text', text: 'And in YAML?' }] }),
      event('task_complete', { turn_id: 't1' }),
    ];
    const messages = await messagesOf(...records);
    expect(messages.map(brief)).toEqual([
      '> | human | "Use tabs." | [image, /home/ada/a.png]',
      '  | tool | error "no"',
      '  | assistant | "Done."',
      '  | human | "And in YAML?"',
    ]);
    // The same session, written the older way: Codex rewrites such files.
    const older = [meta('a'), records[1], typed('Use tabs.', { local_images: ['/home/ada/a.png'] })] as object[];
    expect((await messagesOf(...older))[0]?.id).toBe(messages[0]?.id);
  });

  test('of a reviewer or of another program is nobody’s words', async () => {
    for (const source of ['guardian_review', 'memory_consolidation', 'automation']) {
      const session = await openSession(
        transcriptOf(lines(meta('a', { thread_source: source }), typed('Look at it.'))),
      );
      expect(session.subagent).toEqual({ session: 'a', agent: 'a' });
      expect((await collect(session.messages())).map(brief)).toEqual(['~ | harness | "Look at it."']);
    }
  });

  test('has what other agents sent as reports of subagents', async () => {
    const sent = (author: string, content: string): object =>
      record('inter_agent_communication', { author, recipient: '/root', content, trigger_turn: false });
    const messages = await messagesOf(
      meta('a'),
      typed('go'),
      sent('/root/review', 'It is fine.'),
      sent('/root', 'Review it.'),
    );
    expect(messages.slice(1).map(brief)).toEqual(['  | subagent | "It is fine."', '  | harness | "Review it."']);
  });

  test('shows which calls succeeded, with what they were told and when, by patch and by shell', async () => {
    const call = (name: string, args: object): object =>
      item('function_call', { name, arguments: JSON.stringify(args), call_id: 'c1' });
    const patch = item('custom_tool_call', {
      name: 'apply_patch',
      input: '*** Begin Patch\n*** Add File: /home/ada/memory/a.md\n+x\n*** End Patch',
      call_id: 'c1',
    });
    const told = async (...records: object[]): Promise<string[]> => {
      const session = await openSession(transcriptOf(lines(meta('a'), typed('Remember it.'), ...records)));
      const turns = await collect(readTurns(session.messages()));
      const calls = turns.flatMap(finishedCalls);
      for (const { began, ended } of calls) expect([began, ended]).toEqual([expect.any(String), expect.any(String)]);
      return calls.map(({ text }) => text);
    };
    const done = item('custom_tool_call_output', { call_id: 'c1', output: 'Exit code: 0\nOutput:\nSuccess.' });
    const shell = call('shell', { command: ['bash', '-lc', 'echo x >> memory/a.md'] });
    expect(await told(patch, done)).toEqual([expect.stringContaining('Add File: /home/ada/memory/a.md\n+x\n')]);
    expect(await told(patch, answer('c1', 'Exit code: 1\nOutput:\n'))).toEqual([]);
    expect(await told(shell, answer('c1', 'Exit code: 0\nOutput:\n'))).toEqual([
      expect.stringContaining('memory/a.md'),
    ]);
    expect(await told(call('exec_command', { cmd: 'rm memory/a.md' }), answer('c1', ''))).toHaveLength(1);
  });
});
