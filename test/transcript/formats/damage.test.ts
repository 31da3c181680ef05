import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isAppError } from '../../../src/base/errors.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { findMemoryWrites } from '../../../src/transcript/writes/memory-writes.ts';
import { sized, waysTaken } from '../../support/depth.ts';
import { countUnreadable, isObjectText, mutatedLines, mutatedValue } from '../../support/mutations.ts';
import { seeded } from '../../support/random.ts';
import { collect, fixtures, transcriptOf } from '../../support/transcripts.ts';

const read = (file: string): string => readFileSync(join(fixtures, file), 'utf8');

/** Reads all of it, as an extraction does; the lines that were not readable. */
async function readWhole(path: string): Promise<number> {
  const session = await openSession(path);
  const ids = new Set<string>();
  let messages = 0;
  for await (const turn of readTurns(session.messages())) {
    findMemoryWrites(turn, { dirs: ['/home/ada/memory'], cwd: session.cwd, home: '/home/ada' });
    for (const { id } of turn.messages) ids.add(id);
    messages += turn.messages.length;
  }
  expect(ids.size).toBe(messages);
  return session.unreadableLines;
}

const LINES = sized({ quick: 400, deep: 3_000 });

describe(`${LINES} damaged lines`, () => {
  test.each([
    ['claude-code.jsonl', 2],
    ['codex.jsonl', 3],
    ['gemini.jsonl', 1],
    ['copilot.jsonl', 1],
  ])('of %s are read to the end, and each that cannot be is counted', async (file, intact) => {
    const whole = read(file)
      .split('\n')
      .filter((line) => isObjectText(line));
    const lines = mutatedLines(whole, LINES);
    const head = whole.slice(0, intact).map((line) => Buffer.from(line));
    const path = transcriptOf(Buffer.concat([...head, ...lines].flatMap((line) => [line, Buffer.from('\n')])));
    const unreadable = await readWhole(path);
    expect(unreadable).toBeGreaterThanOrEqual(countUnreadable(lines));
    expect(unreadable).toBeLessThan(lines.length);
  });
});

describe('a damaged document of Gemini CLI', () => {
  const text = read('gemini-legacy.json');

  test(`with ${LINES} odd messages is read to the end`, async () => {
    const random = seeded(2);
    const document = JSON.parse(text) as { messages: unknown[] };
    const messages = Array.from({ length: LINES }, (_, at) =>
      mutatedValue(document.messages[at % document.messages.length], random),
    );
    await expect(readWhole(transcriptOf(JSON.stringify({ ...document, messages }, null, 1)))).resolves.toBeGreaterThan(
      0,
    );
  });

  test('is read or refused, but never more than that', async () => {
    const line = JSON.stringify(JSON.parse(text));
    let refused = 0;
    for (const bytes of mutatedLines([line], LINES / 10, 3)) {
      try {
        await readWhole(transcriptOf(bytes));
      } catch (error) {
        if (!isAppError(error, 'unknown-format')) throw error;
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(LINES / 100);
    expect(refused).toBeLessThan(LINES / 10);
  });
});

test('a line nested deeper than a stack is read like any other', async () => {
  const deep = `${'{"a":'.repeat(200_000)}0${'}'.repeat(200_000)}`;
  const line = read('codex.jsonl')
    .split('\n')
    .find((record) => record.includes('"local_shell_call"')) as string;
  const shell = line.replace('"call_id":"call_sh",', '').replace(/"action":\{.*?\}/, `"action":${deep}`);
  const path = transcriptOf(`${read('codex.jsonl').split('\n')[0]}\n${shell}\n`);
  expect(await collect((await openSession(path)).messages())).toHaveLength(1);
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
      expect(await readWhole(path)).toBe(0);
      expect(await cost(path)).toBeLessThan(2 * (await cost(full)));
    },
  );

  test('is passed over without a shift in where records begin', async () => {
    const plain = await collect((await openSession(transcriptOf(head + records))).messages());
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
    expect(await readWhole(padded('a line of another program\n'))).toBe(Math.floor(1e6 / 26));
  });
});
