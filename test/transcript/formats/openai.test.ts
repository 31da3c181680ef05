import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { finishedCalls } from '../../../src/transcript/own-writes.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { messageLine } from '../../support/message-line.ts';
import { collect, fixtures, messagesAt, transcriptOf } from '../../support/transcripts.ts';

const chat = join(fixtures, 'openai-chat.json');
const responses = join(fixtures, 'openai-responses.json');

async function open(document: unknown) {
  return openSession(transcriptOf(JSON.stringify(document)));
}
const idsOf = async (document: unknown): Promise<string[]> =>
  (await collect((await open(document)).messages())).map(({ id }) => id);

describe('an OpenAI chat', () => {
  test('is read with parsed arguments, and instructions are nobody human', async () => {
    const session = await openSession(chat);
    const messages = await collect(session.messages());
    expect(session).toMatchObject({ format: 'openai' });
    expect(messages.map(messageLine)).toMatchInlineSnapshot(`
      [
        "  | ce57bf009cfb0b9f | harness | You are a helpful assistant.",
        "  | 5cc6ba2aa0a67138 | harness | Be terse.",
        "> | 976115f95222baae | human | Always use tabs. | [image/png, 1 kB]",
        "  | 6dcb7e4c87bf03ce | assistant | call call_1 write_file {"path":"/home/ada/notes/memory/tabs.md","content":"tabs"} | call call_2 list "{\\"torn\\":"",
        "  | df0060aa9e80213c | tool | result call_1 written",
        "  | 22e9e9c7806f4e53 | tool | error call_2 Error: arguments are no JSON",
        "  | b3654c9d888d2652 | assistant | Tabs it is.",
        "  | 023ec9726e2e0af3 | harness | <environment_context>
        <cwd>/home/ada</cwd>
      </environment_context>",
        "> | dedd846d3dd7fe90 | human | Thanks.",
      ]
    `);
  });

  test('reads the same as a plain array, and is named by what the person said first', async () => {
    const { messages } = JSON.parse(readFileSync(chat, 'utf8'));
    const session = await open(messages);
    expect(session.format).toBe('openai');
    expect(await idsOf(messages)).toEqual((await messagesAt(chat)).map(({ id }) => id));
    expect(session.id).toBe((await idsOf(messages))[2]);
  });

  test('keeps the ids it had while it could have been an array of Anthropic', async () => {
    const talk = [
      { role: 'user', content: 'List the files.' },
      { role: 'assistant', content: 'Gladly.' },
      { role: 'user', content: [{ type: 'text', text: 'Go on.' }] },
    ];
    const call = { id: 'c', type: 'function', function: { name: 'ls', arguments: '{}' } };
    const grown = [...talk, { role: 'assistant', content: null, tool_calls: [call] }];
    expect((await open(talk)).format).toBe('messages');
    expect((await open(grown)).format).toBe('openai');
    expect((await idsOf(grown)).slice(0, 3)).toEqual(await idsOf(talk));
    expect((await open(grown)).id).toBe((await open(talk)).id);
  });

  test('shows which calls succeeded, with what they were told', async () => {
    for (const path of [chat, responses]) {
      const [first] = await collect(readTurns((await openSession(path)).messages()));
      expect(first && finishedCalls(first).filter(({ text }) => text.includes('notes/memory/tabs.md'))).toHaveLength(1);
    }
  });

  test.each([
    ['Error: no such file', true],
    ['TypeError: x is not a function', true],
    ['{"error":"denied"}', true],
    ['{"error":null,"rows":[]}', false],
    ['{"output":"x","metadata":{"exit_code":0}}', false],
    ['Exit code: 2\nOutput: x', true],
    ['Exit code: 0\nOutput: x', false],
    ['# Error handling', false],
  ])('tells of the result %j whether it failed', async (content, isError) => {
    const [, message] = await collect(
      (
        await open([
          { role: 'user', content: 'x' },
          { role: 'tool', tool_call_id: 'c', content },
        ])
      ).messages(),
    );
    expect(message?.parts).toEqual([{ kind: 'result', callId: 'c', text: content, isError, isUnmarked: true }]);
  });
});

describe('items of the OpenAI Responses API', () => {
  test('are read with each call and its result, without reasoning', async () => {
    const session = await openSession(responses);
    expect(session.format).toBe('openai');
    expect((await collect(session.messages())).map(messageLine)).toMatchInlineSnapshot(`
      [
        "  | 47d0c01dc46027ec | harness | Be terse.",
        "> | 6845da0a04604c3f | human | Always use tabs. | [image, https://example.test/shot.png] | [application/pdf, 1 kB]",
        "  | d6cb1d2a6ad0b2f6 | assistant | call call_1 shell {"command":["bash","-lc","go vet"]}",
        "  | 2d55e50cf31084a5 | tool | error call_1 {"output":"vet failed","metadata":{"exit_code":1}}",
        "  | cf1e140f0a17cdc3 | assistant | call call_2 apply_patch "*** Begin Patch\\n*** Add File: /home/ada/notes/memory/tabs.md\\n+tabs\\n*** End Patch"",
        "  | 97fc640c52c27e1e | tool | result call_2 Done!",
        "  | 4d24901a54648de7 | assistant | call call_3 shell {"commands":["ls","pwd"],"command":"ls\\npwd"}",
        "  | 2b6d793140fd9ce7 | tool | error call_3 Exit code: 2
      a.go",
        "  | 26d497e0595880a8 | assistant | call mcp_1 find {"q":"tabs"}",
        "  | 60e85469d1420bdd | tool | result mcp_1 2 notes",
        "  | ff69aab39611f93f | assistant | Tabs it is.",
        "  | 1ea9a1ad4329729d | harness | # AGENTS.md instructions for /home/ada

      Use spaces.",
        "> | 3a7fc6b85c9f342c | human | Thanks.",
      ]
    `);
  });

  test('are read from the body of a request, also where its input is a mere text', async () => {
    const input = JSON.parse(readFileSync(responses, 'utf8'));
    expect(await idsOf({ model: 'gpt-5.4', instructions: 'Be terse.', input })).toEqual(await idsOf(input));
    const [message] = await collect((await open({ model: 'gpt-5.4', input: 'Use tabs.' })).messages());
    expect(message).toMatchObject({ speaker: 'human', parts: [{ kind: 'text', text: 'Use tabs.' }] });
  });
});
