import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isAppError } from '../../../src/base/errors.ts';
import { finishedCalls } from '../../../src/transcript/own-writes.ts';
import { MOST_ON_A_LINE, readObjects } from '../../../src/transcript/records.ts';
import { openSession, type Session } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { sized } from '../../support/depth.ts';
import { countUnreadable, isObjectText, mutatedLines, mutatedValue } from '../../support/mutations.ts';
import { seeded } from '../../support/random.ts';
import { fixtures, messagesAt, transcriptOf } from '../../support/transcripts.ts';

const read = (file: string): string => readFileSync(join(fixtures, file), 'utf8');

/** Reads all of it, as an extraction does. */
async function readWhole(path: string): Promise<Session> {
  const session = await openSession(path);
  const ids = new Set<string>();
  let messages = 0;
  for await (const turn of readTurns(session.messages())) {
    finishedCalls(turn);
    for (const { id } of turn.messages) ids.add(id);
    messages += turn.messages.length;
  }
  expect(ids.size).toBe(messages);
  return session;
}

const LINES = sized({ quick: 100, deep: 2_000 });
const COPIES = sized({ quick: 8, deep: 60 });
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
type Line = Record<string, unknown>;
/** What is a record of the format, where not every object is. */
const RECORDS: Record<string, (line: Line) => boolean> = {
  pi: ({ type, message }) => typeof type === 'string' && (type !== 'message' || isObject(message)),
  entire: ({ v, type }) => v === 1 && typeof type === 'string' && type !== '',
};

test.each([
  ['claude-code', 2],
  ['codex', 3],
  ['gemini', 1],
  ['copilot', 1],
  ['pi', 1],
  ['entire', 1],
])(
  `of ${LINES} damaged lines of %s all are read to the end, and each that cannot be is counted`,
  async (name, intact) => {
    const whole = read(`${name}.jsonl`)
      .split('\n')
      .filter((line) => isObjectText(line));
    const lines = mutatedLines(whole, LINES);
    const head = whole.slice(0, intact).map((line) => Buffer.from(line));
    const path = transcriptOf(Buffer.concat([...head, ...lines].flatMap((line) => [line, Buffer.from('\n')])));
    const { format, unreadableLines } = await readWhole(path);
    expect(format).toBe(name);
    const unreadable = countUnreadable(lines, RECORDS[name]);
    expect(unreadableLines).toBeGreaterThanOrEqual(unreadable);
    expect(unreadableLines).toBeLessThan(lines.length);
    // Where several records stand on a line, each counts for itself.
    const glued = lines.filter((line) => /\}\s*\{/.test(line.toString('utf8'))).length;
    if (name in RECORDS) expect(unreadableLines).toBeLessThanOrEqual(unreadable + 2 * glued);
  },
);

test.each([
  'opencode.json',
  'atif.json',
  'gemini-legacy.json',
  'messages.json',
  'messages-request.json',
  'openai-chat.json',
  'openai-responses.json',
])(`${COPIES} damaged copies of %s are read, or refused as of an unknown format`, async (file) => {
  const value: unknown = JSON.parse(read(file));
  const random = seeded(20_261_121);
  const damaged = mutatedLines([JSON.stringify(value)], COPIES, 20_261_121);
  let wereRead = 0;
  for (let count = 0; count < COPIES; count++) {
    const damage = count % 4 === 0 ? damaged[count] : JSON.stringify(mutatedValue(value, random));
    try {
      await readWhole(transcriptOf(damage ?? ''));
      wereRead += 1;
    } catch (error) {
      if (!isAppError(error, 'unknown-format')) throw error;
    }
  }
  expect(wereRead).toBeGreaterThan(COPIES / 15);
  expect(wereRead).toBeLessThan(COPIES);
});

test.each([
  ['opencode.json', 'messages', 3],
  ['atif.json', 'steps', 3],
])('what cannot be read of %s is counted', async (file, list, count) => {
  const document = JSON.parse(read(file));
  document[list].splice(1, 0, null, { info: {} }, 'x');
  expect((await readWhole(transcriptOf(JSON.stringify(document)))).unreadableLines).toBe(count);
});

test('a line nested deeper than a stack is read like any other', async () => {
  const deep = `${'{"a":'.repeat(200_000)}0${'}'.repeat(200_000)}`;
  const line = read('codex.jsonl')
    .split('\n')
    .find((record) => record.includes('"local_shell_call"')) as string;
  const shell = line.replace('"call_id":"call_sh",', '').replace(/"action":\{.*?\}/, `"action":${deep}`);
  const path = transcriptOf(`${read('codex.jsonl').split('\n')[0]}\n${shell}\n`);
  expect(await messagesAt(path)).toHaveLength(1);
});

test('of the records on one line so many are read, and the next line as ever', () => {
  const torn = '{"id":1,"torn":{"id":2}'.repeat(3 * MOST_ON_A_LINE);
  const path = transcriptOf(`${'{"id":1}'.repeat(2 * MOST_ON_A_LINE)}\n${torn}\n{"id":3}\n`);
  let unreadable = 0;
  const objects = [...readObjects(path, '{"id":', () => unreadable++)];
  expect(objects.length).toBeGreaterThan(MOST_ON_A_LINE);
  expect(objects.length).toBeLessThanOrEqual(2 * MOST_ON_A_LINE + 1);
  expect(objects.at(-1)).toEqual({ id: 3 });
  expect(unreadable).toBe(2);
});

const NO_TEXT = '{"toString":1,"valueOf":1}';

test.each([
  ['gemini.jsonl', /(?<="status":)"success"/g],
  ['claude-code.jsonl', /(?<="timestamp":)"[^"]*"/g],
  ['codex.jsonl', /(?<="command":\[)"bash"/g],
  ['copilot.jsonl', /(?<="type":)"session.start"/g],
  ['openai-responses.json', /(?<="type": )"function_call_output"/g],
  ['messages.json', /(?<="type": )"tool_use"/g],
  ['atif.json', /(?<="schema_version": )"[^"]*"/g],
])('%s with a value of which no text can be made, in place of %s, is read or refused', async (file, place) => {
  const text = read(file);
  expect(text.search(place)).toBeGreaterThan(-1);
  try {
    await readWhole(transcriptOf(text.replace(place, NO_TEXT)));
  } catch (error) {
    if (!isAppError(error, 'unknown-format')) throw error;
  }
});

test('lines that hold nothing are passed over', async () => {
  const records = read('codex.jsonl')
    .split('\n')
    .filter((line) => isObjectText(line));
  const [head, rest] = [records.slice(0, 3).join('\n'), records.slice(3)];
  const plain = await messagesAt(transcriptOf(`${head}\n${rest.join('\n')}\n`));
  const path = transcriptOf(`${head}\n\n \r\n\0\0\n${'\n'.repeat(300_000)}${rest.join('\n\n\t\n')}\n`);
  expect((await messagesAt(path)).map(({ id }) => id)).toEqual(plain.map(({ id }) => id));
  expect((await openSession(path)).unreadableLines).toBe(0);
});
