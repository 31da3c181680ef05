// A session is read while it grows: what was said keeps its id.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isAppError } from '../../../src/base/errors.ts';
import { fixtures, messagesAt, transcriptOf } from '../../support/transcripts.ts';

/** The file as it was before, at every length; `list`: what grows of a document. */
function before(text: string, list: string): string[] {
  if (list === 'lines') return [...text.matchAll(/\n/g)].map(({ index }) => text.slice(0, index));
  const document = JSON.parse(text);
  const all: unknown[] = list === '' ? document : document[list];
  const parts = all.map((_, at) => all.slice(0, at));
  return parts.map((part) => JSON.stringify(list === '' ? part : { ...document, [list]: part }));
}

const idsOf = async (path: string) => (await messagesAt(path)).map(({ id }) => id);

test.each([
  ['claude-code.jsonl', 'lines'],
  // Before the first prompt is told as an event, its text is taken for the prompt.
  ['codex.jsonl', 'lines', 2_000],
  ['gemini.jsonl', 'lines'],
  ['copilot.jsonl', 'lines'],
  ['pi.jsonl', 'lines'],
  ['entire.jsonl', 'lines'],
  ['gemini-legacy.json', 'messages'],
  ['opencode.json', 'messages'],
  ['messages.json', ''],
  ['openai-chat.json', 'messages'],
  ['openai-responses.json', ''],
  ['atif.json', 'steps'],
])('%s keeps its ids, in their order, as its %s grow', async (file, list, from = 0) => {
  const whole = await idsOf(join(fixtures, file));
  expect(new Set(whole).size).toBe(whole.length);
  let wereRead = 0;
  for (const part of before(readFileSync(join(fixtures, file), 'utf8'), list)) {
    if (part.length < from) continue;
    try {
      const ids = await idsOf(transcriptOf(part));
      expect(whole.filter((id) => ids.includes(id))).toEqual(ids);
      wereRead += 1;
    } catch (error) {
      // Too short to tell whose it is.
      if (!isAppError(error, 'unknown-format')) throw error;
    }
  }
  expect(wereRead).toBeGreaterThan(2);
});
