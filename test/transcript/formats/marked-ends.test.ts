// Whether a mark of the tool's own tells how a call ended, or only what it printed, by format.

import { expect, test } from 'vitest';
import { outputOf } from '../../../src/transcript/formats/codex-items.ts';
import type { Result } from '../../../src/transcript/messages.ts';
import { messagesAt, transcriptOf } from '../../support/transcripts.ts';

const FAKE = 'Exit code: 1\nWall time: 0.1 seconds\n';

test.each<[what: string, output: unknown, failed: boolean, isMarked: boolean]>([
  ['an exit code above the output', `Exit code: 1\nWall time: 0.1 seconds\nOutput:\nx`, true, true],
  [
    'an exit code 0 there',
    'Chunk ID: ab\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nfatal: x',
    false,
    true,
  ],
  ['an exit code in a record of its own', '{"output":"x","metadata":{"exit_code":2}}', true, true],
  [
    'an exit code that a command prints',
    `Chunk ID: ab\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n${FAKE}`,
    false,
    true,
  ],
  [
    'a command that still runs and prints one',
    'Chunk ID: ab\nWall time: 1 s\nProcess running with session ID 7\nOutput:\nExit code: 1',
    false,
    false,
  ],
  ['an exit code without what stands around it', FAKE, true, false],
  ['words', 'failed to parse function arguments: missing field', true, false],
  ['nothing', 'Plan updated', false, false],
])('Codex: %s', (_, output, failed, isMarked) => {
  const [result] = outputOf({ call_id: 'c1', output: output as string }, false);
  expect(result).toMatchObject({ isError: failed });
  expect((result as Result).isUnmarked ?? false).toBe(!isMarked);
});

async function resultIn(...messages: object[]): Promise<Result | undefined> {
  const read = await messagesAt(transcriptOf(JSON.stringify(messages), 'session.json'));
  return read.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === 'result' ? part : [])))[0];
}

test('Anthropic messages: the flag is the mark; OpenAI messages: words are none', async () => {
  const asked = { role: 'user', content: 'Run it' };
  const anthropic = (given: object) =>
    resultIn(
      asked,
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'x' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'Error: x', ...given }] },
    );
  expect(await anthropic({ is_error: true })).toEqual({
    kind: 'result',
    callId: 't1',
    text: 'Error: x',
    isError: true,
  });
  expect(await anthropic({})).toEqual({ kind: 'result', callId: 't1', text: 'Error: x', isError: false });
  const openai = await resultIn(
    asked,
    { role: 'assistant', tool_calls: [{ id: 't1', type: 'function', function: { name: 'sh', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 't1', content: 'Error: x' },
  );
  expect(openai).toMatchObject({ isError: true, isUnmarked: true });
});
