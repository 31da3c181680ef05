import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/transcript/messages.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { collect, fixtures, messagesAt, transcriptOf } from '../../support/transcripts.ts';

const text = (words: string, more: object = {}): object => ({ type: 'text', text: words, ...more });
const talk = [
  { role: 'user', content: 'Always use tabs.' },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'hm' },
      { type: 'tool_use', id: 't1', name: 'ls', input: {} },
    ],
  },
  { role: 'user', content: [text('and quickly'), { type: 'tool_result', tool_use_id: 't1', content: 'a.go' }] },
  { role: 'assistant', content: [text('Done.')] },
];

async function read(array: unknown): Promise<Message[]> {
  return messagesAt(transcriptOf(JSON.stringify(array), 'chat.json'));
}
const ids = async (array: unknown): Promise<string[]> => (await read(array)).map((message) => message.id);

describe('an array of Anthropic messages', () => {
  test('is read with tool results before what was said beside them', async () => {
    const messages = await read(talk);
    expect(messages.map(({ speaker, beginsTurn }) => [speaker, beginsTurn])).toEqual([
      ['human', true],
      ['assistant', false],
      ['tool', false],
      ['human', true],
      ['assistant', false],
    ]);
    expect(messages[1]?.parts).toEqual([{ kind: 'call', id: 't1', tool: 'ls', input: {} }]);
    expect(messages[2]?.parts).toEqual([{ kind: 'result', callId: 't1', text: 'a.go', isError: false }]);
  });

  test('is named by its first message, or as it is told', async () => {
    const path = transcriptOf(JSON.stringify(talk), 'chat.json');
    const session = await openSession(path);
    expect(session).toMatchObject({ format: 'messages', id: (await ids(talk))[0], unreadableLines: 0 });
    expect((await openSession(path, { id: 'chat-7' })).id).toBe('chat-7');
  });

  test('keeps its ids as it grows, whatever the client does to marks and thinking', async () => {
    const marked = [
      { role: 'user', content: [text('Always use tabs.', { cache_control: { type: 'ephemeral' } })] },
      { role: 'assistant', content: [{ name: 'ls', input: {}, type: 'tool_use', id: 't1' }] },
      ...talk.slice(2),
      { role: 'user', content: 'Thanks.' },
    ];
    expect((await ids(marked)).slice(0, 5)).toEqual(await ids(talk));
  });

  test('shares no id with another array beyond what both begin with', async () => {
    const other = [talk[0], { role: 'assistant', content: 'No.' }, ...talk.slice(2)];
    const [first, ...rest] = await ids(talk);
    const [otherFirst, ...otherRest] = await ids(other);
    expect(otherFirst).toBe(first);
    expect(rest.filter((id) => otherRest.includes(id))).toEqual([]);
  });

  test('gives two equal messages two ids', async () => {
    const same = { role: 'user', content: 'yes' };
    expect(new Set(await ids([same, same, same])).size).toBe(3);
  });

  test('has no human where only a program spoke', async () => {
    const messages = await read([
      { role: 'user', content: [text('<system-reminder>Be terse.</system-reminder>')] },
      { role: 'user', content: '[Request interrupted by user]' },
      { role: 'user', content: [text('<system-reminder>x</system-reminder>'), text('Go.')] },
    ]);
    expect(messages.map((message) => message.speaker)).toEqual(['harness', 'harness', 'human']);
    expect(messages[2]?.parts).toEqual([{ kind: 'text', text: 'Go.' }]);
  });

  test('says what stood where a picture, a document or a search was', async () => {
    const [, found, shown] = await read([
      { role: 'user', content: 'look' },
      {
        role: 'assistant',
        content: [
          { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'x' } },
          {
            type: 'web_search_tool_result',
            tool_use_id: 's1',
            content: [{ type: 'web_search_result', title: 'X', url: 'https://x.test', encrypted_content: 'zzz' }],
          },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'url', url: 'https://x.test/a.png' } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'A'.repeat(4096) } },
        ],
      },
    ]);
    expect(found?.parts[1]).toEqual({ kind: 'result', callId: 's1', text: 'X https://x.test', isError: false });
    expect(shown?.parts).toEqual([
      { kind: 'attachment', label: 'image, https://x.test/a.png' },
      { kind: 'attachment', label: 'application/pdf, 3 kB' },
    ]);
  });
});

describe('a whole Messages request', () => {
  const path = join(fixtures, 'messages-request.json');
  const body = JSON.parse(readFileSync(path, 'utf8'));

  test('is read like its messages', async () => {
    const session = await openSession(path);
    expect(session.format).toBe('messages');
    const messages = await collect(session.messages());
    expect(messages.map((message) => message.id)).toEqual(await ids(body.messages));
    expect(session.id).toBe(messages[0]?.id);
  });

  test('is known with its keys in any order, on one line or many', async () => {
    for (const key of Object.keys(body)) {
      const { [key]: value, ...rest } = body;
      expect((await openSession(transcriptOf(JSON.stringify({ [key]: value, ...rest })))).format).toBe('messages');
    }
  });
});
