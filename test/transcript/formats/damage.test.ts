import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isAppError } from '../../../src/base/errors.ts';
import { finishedCalls } from '../../../src/transcript/own-writes.ts';
import { openSession, type Session } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { sized, waysTaken } from '../../support/depth.ts';
import { countUnreadable, isObjectText, mutatedLines, mutatedValue } from '../../support/mutations.ts';
import { seeded } from '../../support/random.ts';
import { collect, fixtures, messagesAt, transcriptOf } from '../../support/transcripts.ts';

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

/** How long the processor works for it, the lesser of two times. */
async function cost(path: string): Promise<number> {
  const once = async () => {
    const before = process.cpuUsage();
    await readWhole(path);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  return Math.min(await once(), await once());
}

describe('a megabyte of lines that hold nothing', () => {
  const record = read('codex.jsonl')
    .split('\n')
    .filter((line) => isObjectText(line));
  const records = `${record.join('\n')}\n`;
  const head = `${record.slice(0, 3).join('\n')}\n`;
  const padded = (unit: string) => transcriptOf(`${head}${unit.repeat(1e6 / unit.length)}${records}`);
  const full = transcriptOf(records.repeat(Math.ceil(1e6 / records.length)));

  test.each(waysTaken(['\n', '\r\n', ' \t\n', '\0\n', '\n\n  \n']))(
    '(%j) costs no more than twice one of records',
    async (unit) => {
      const path = padded(unit);
      expect((await readWhole(path)).unreadableLines).toBe(0);
      expect(await cost(path)).toBeLessThan(2 * (await cost(full)));
    },
  );

  test('is passed over without a shift in where records begin', async () => {
    const plain = await messagesAt(transcriptOf(head + records));
    const spread = `${head}\n\n \r\n${'\n'.repeat(300_000)}${record.join('\n\n\t\n')}\n`;
    const session = await openSession(transcriptOf(spread));
    expect((await collect(session.messages())).map(({ id }) => id)).toEqual(plain.map(({ id }) => id));
    for await (const turn of readTurns(session.messages())) {
      if (turn.byte !== undefined)
        expect(
          Buffer.from(spread)
            .subarray(turn.byte, turn.byte + 1)
            .toString(),
        ).toBe('{');
    }
  });

  test('is no transcript where too many in a row are no record', async () => {
    await expect(readWhole(padded('x\n'))).rejects.toMatchObject({
      code: 'bad-input',
      message: expect.stringContaining('250000 lines in a row'),
    });
    expect((await readWhole(padded('a line of another program\n'))).unreadableLines).toBe(Math.floor(1e6 / 26));
  });
});
