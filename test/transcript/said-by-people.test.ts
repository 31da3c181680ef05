// The reader against a count that knows nothing of it: what people typed or chose in the shared sessions.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../src/transcript/messages.ts';
import { fold, saidInClaudeCode, saidInCodex } from '../support/said-by-people.ts';
import { hasReal, messagesAt, real, realFiles } from '../support/transcripts.ts';

const wordsOf = ({ parts }: Message): string =>
  fold(parts.map((part) => (part.kind === 'text' ? part.text : '')).join('\n'));

async function read(file: string): Promise<string[]> {
  const messages = await messagesAt(join(real, file));
  return messages.flatMap((message) => (message.speaker === 'human' ? [wordsOf(message)] : [])).sort();
}

/** What is counted and not read, and why. */
const EXPLAINED: Record<string, { counted: string[]; why: string }> = {
  'claude-code/moredip+session-share/session-viewer/test/INTEGRATION/fixtures/images-in-user-messages.jsonl': {
    counted: [''],
    why: 'resumed, it repeats the picture of its first prompt in a record without words: the same picture, sent once',
  },
  'claude-code/entireio+cli/03a1382e-ecd5-42c4-b3d4-5c659e165904.jsonl': {
    counted: ['is 241 really still a problem?'],
    why: "said as a server's call was refused, in a version whose record says no more of that than of the server's error",
  },
};

describe.skipIf(!hasReal)('what people said (../shared/transcripts; skipped where they are not there)', () => {
  test('in Claude Code is all read, and nothing else', async () => {
    const files = await realFiles(/^claude-code.*\.jsonl$/);
    expect(files.length).toBeGreaterThan(50);
    const [counted, found]: [string, string[]][][] = [[], []];
    for (const file of files) {
      counted?.push([file, saidInClaudeCode(readFileSync(join(real, file), 'utf8'))]);
      found?.push([file, [...(await read(file)), ...(EXPLAINED[file]?.counted ?? [])].sort()]);
    }
    expect(found).toEqual(counted);
  });

  test('in Codex is all read, and nothing else', async () => {
    const files = await realFiles(/^codex.*\.jsonl$/);
    expect(files.length).toBeGreaterThan(10);
    for (const file of files)
      expect(await read(file), file).toEqual(saidInCodex(readFileSync(join(real, file), 'utf8')));
  });
});
