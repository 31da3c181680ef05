import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { atif, entire } from '../../../src/transcript/formats/atif.ts';
import { messagesFormat, openai } from '../../../src/transcript/formats/chat-arrays.ts';
import { claudeCode } from '../../../src/transcript/formats/claude-code.ts';
import { opencode } from '../../../src/transcript/formats/opencode.ts';
import { pi } from '../../../src/transcript/formats/pi.ts';
import type { Source } from '../../../src/transcript/messages.ts';
import { objectsIn } from '../../../src/transcript/records.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { fixtures, transcriptOf } from '../../support/transcripts.ts';

const FORMATS = [claudeCode, pi, entire, opencode, atif, messagesFormat, openai];

function sourceOf(path: string): Source {
  const text = readFileSync(path, 'utf8');
  const document = () => (path.endsWith('.json') ? JSON.parse(text) : undefined);
  return { path, records: [...objectsIn(text, '{"')], document };
}

const named = (file: string): string | undefined =>
  FORMATS.map((format) => format.name)
    .filter((name) => file.startsWith(name))
    .sort((a, b) => b.length - a.length)[0];

test('each fixture is taken for its own format by that format alone', async () => {
  const files = readdirSync(fixtures).filter((file) => named(file) !== undefined);
  expect(files.length).toBeGreaterThanOrEqual(9);
  for (const file of files) {
    const takenFor: string[] = [];
    for (const format of FORMATS) if (format.open(sourceOf(join(fixtures, file)))) takenFor.push(format.name);
    expect(takenFor, file).toEqual([named(file)]);
  }
});

const odd: [string, unknown][] = [
  ['an empty object', {}],
  ['an empty array', []],
  ['records of Qwen Code', { uuid: 'u', sessionId: 's', type: 'user', message: { role: 'user', parts: [] } }],
  ['an object of something else', { intent: 'x', outcome: 'y' }],
  ['an empty export', { info: {}, messages: [] }],
  ['messages of no role', { messages: [{ content: 'hi' }] }],
  ['no messages', { model: 'm', messages: [] }],
  ['a role nobody has', [{ role: 'narrator', content: 'hi' }]],
  ['content that is a number', [{ role: 'user', content: 7 }]],
  ['calls alone, with nobody who speaks', [{ type: 'phone_call', number: 7 }]],
  ['a record with input and output', { input: 'x', output: 'y' }],
  ['a trajectory of another kind', { schema_version: '1.0', agent: {}, steps: [{ source: 'user', message: 'hi' }] }],
  ['a trajectory without steps', { schema_version: 'ATIF-v1.7', agent: {} }],
  [
    'an Anthropic result among OpenAI messages',
    [
      { role: 'system', content: 'x' },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] },
    ],
  ],
  ['a model list', { model: 'm', input: 3 }],
  ['a package.json', { name: 'x', version: '1.0.0', messages: { a: 'b' } }],
  ['a version', { v: 1, type: 'user' }],
];

const refusal = { code: 'unknown-format', message: expect.stringContaining('claude-code, ') };

test.each(odd)('%s is of an unknown format', async (_, value) => {
  for (const indent of [0, 2])
    await expect(openSession(transcriptOf(JSON.stringify(value, null, indent)))).rejects.toMatchObject(refusal);
});

test.each([
  ['nothing', ''],
  ['white space', ' \n\n'],
  ['prose', 'Dear diary,\n'],
  ['a torn array', '[{"role":"user","content":"hi"}'],
  ['bytes', Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * 7919) % 256))],
])('%s is no transcript', async (_, text) => {
  await expect(openSession(transcriptOf(text))).rejects.toMatchObject(refusal);
});

test('JSON lines of whole chats, as they are made for training, are no session, however many', async () => {
  const line = `${JSON.stringify({
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'ho' },
    ],
  })}\n`;
  await expect(openSession(transcriptOf(line.repeat(2_000)))).rejects.toMatchObject(refusal);
});
