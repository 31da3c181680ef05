import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isAppError } from '../../../src/base/errors.ts';
import { openSession, type Session } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import type { Message } from '../../../src/transcript/types.ts';
import { sized } from '../../support/depth.ts';
import { countUnreadable, mutatedLines, mutatedValue } from '../../support/mutations.ts';
import { seeded } from '../../support/random.ts';
import { tempDir } from '../../support/temp.ts';
import { collect, fixtures } from '../../support/transcripts.ts';

async function readAll(session: Session): Promise<Message[]> {
  const messages = (await collect(readTurns(session.messages()))).flatMap((turn) => turn.messages);
  expect(new Set(messages.map((message) => message.id)).size).toBe(messages.length);
  return messages;
}

const LINES = sized({ quick: 400, deep: 5_000 });
const COPIES = sized({ quick: 30, deep: 120 });

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

test.each([
  [
    'pi',
    (entry: Record<string, unknown>) =>
      typeof entry.type === 'string' &&
      (entry.type !== 'message' ||
        (typeof entry.message === 'object' && entry.message !== null && !Array.isArray(entry.message))),
  ],
  ['entire', (line: Record<string, unknown>) => line.v === 1 && isText(line.type)],
])(
  `${LINES} damaged lines of %s are read without a crash, and each unreadable one is counted`,
  async (name, isRecord) => {
    const lines = readFileSync(join(fixtures, `${name}.jsonl`), 'utf8')
      .trimEnd()
      .split('\n');
    const damaged = mutatedLines(lines, LINES, 20_261_120);
    const path = join(tempDir(), 'damaged.jsonl');
    writeFileSync(
      path,
      Buffer.concat([lines[0] as string, ...damaged].flatMap((line) => [Buffer.from(line), NEWLINE])),
    );

    const session = await openSession(path);
    expect(session.format).toBe(name);
    expect((await readAll(session)).length).toBeGreaterThan(0);
    const unreadable = countUnreadable(damaged, isRecord);
    expect(unreadable).toBeGreaterThan(LINES / 5);
    expect(session.unreadableLines).toBeGreaterThanOrEqual(unreadable);
    // Where several records stand on a line, each counts for itself.
    const glued = damaged.filter((line) => /\}\s*\{/.test(line.toString('utf8'))).length;
    expect(session.unreadableLines).toBeLessThanOrEqual(unreadable + 2 * glued);
  },
);

const NEWLINE = Buffer.from('\n');

test.each([
  'opencode.json',
  'atif.json',
  'messages.json',
  'messages-request.json',
  'openai-chat.json',
  'openai-responses.json',
])(`${COPIES} damaged copies of %s are read, or refused as of an unknown format`, async (name) => {
  const text = readFileSync(join(fixtures, name), 'utf8');
  const value: unknown = JSON.parse(text);
  const random = seeded(20_261_121);
  const damaged = mutatedLines([JSON.stringify(value)], COPIES, 20_261_121);
  const path = join(tempDir(), name);
  let read = 0;
  for (let count = 0; count < COPIES; count++) {
    const damage = count % 4 === 0 ? damaged[count] : JSON.stringify(mutatedValue(value, random));
    writeFileSync(path, damage ?? '');
    try {
      await readAll(await openSession(path));
      read++;
    } catch (error) {
      if (!isAppError(error, 'unknown-format')) throw error;
    }
  }
  expect(read).toBeGreaterThan(COPIES / 15);
  expect(read).toBeLessThan(COPIES);
});

test('an entry of an export and a step of a trajectory that cannot be read are counted', async () => {
  const count = async (name: string, list: 'messages' | 'steps'): Promise<number> => {
    const document = JSON.parse(readFileSync(join(fixtures, name), 'utf8'));
    document[list].splice(1, 0, null, { info: {} }, 'x');
    const path = join(tempDir(), name);
    writeFileSync(path, JSON.stringify(document));
    const session = await openSession(path);
    await readAll(session);
    return session.unreadableLines;
  };
  expect(await count('opencode.json', 'messages')).toBe(3);
  expect(await count('atif.json', 'steps')).toBe(3);
});
