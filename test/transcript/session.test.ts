import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSession, readPointAt } from '../../src/transcript/session.ts';
import { readTurns } from '../../src/transcript/turns.ts';
import type { Turn } from '../../src/transcript/types.ts';
import { collect, hasReal, lines, real, realFiles, transcriptOf } from '../support/transcripts.ts';

describe('openSession', () => {
  test.each([
    ['nothing', ''],
    ['white space', ' \n\n'],
    ['prose', 'Dear diary,\n'],
    ['an empty array', '[]'],
    ['a torn array', '[{"role":"user","content":"hi"}'],
    ['an array of numbers', '[1, 2]'],
    ['records of Qwen Code', '{"uuid":"u","sessionId":"s","type":"user","message":{"role":"user","parts":[]}}\n'],
    ['a JSON object', '{"intent": "x", "outcome": "y"}'],
  ])('refuses %s as of an unknown format', async (_, text) => {
    const path = transcriptOf(text);
    await expect(openSession(path)).rejects.toMatchObject({
      code: 'unknown-format',
      message: expect.stringContaining('claude-code, '),
    });
  });

  test('refuses bytes that are no text', async () => {
    const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * 7919) % 256));
    await expect(openSession(transcriptOf(bytes))).rejects.toMatchObject({ code: 'unknown-format' });
  });

  test('says of a file that is not there that it is gone', async () => {
    await expect(openSession('/nowhere/session.jsonl')).rejects.toMatchObject({ code: 'transcript-gone' });
    await expect(openSession('')).rejects.toThrow('It is not known where the transcript of the session is.');
    await expect(openSession(import.meta.dirname)).rejects.toThrow(`${import.meta.dirname} is a directory.`);
  });

  test('refuses a JSON array too large to be held in memory, before reading it', async () => {
    const path = transcriptOf('[{"role":"user","content":"hi"}');
    truncateSync(path, 257 * 2 ** 20);
    await expect(openSession(path)).rejects.toMatchObject({
      code: 'bad-input',
      message: expect.stringContaining('257 MiB'),
    });
  });

  test('knows a session that begins with pictures of many megabytes', async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'A'.repeat(5 * 2 ** 20) } };
    const content = [image, image, { type: 'text', text: 'What is this?' }];
    const record = { type: 'user', uuid: 'u', sessionId: 's', message: { role: 'user', content } };
    const messages = await collect((await openSession(transcriptOf(lines(record)))).messages());
    expect(messages.map(({ id, speaker }) => [id, speaker])).toEqual([['u', 'human']]);
  });

  test('knows a format whatever the file is called', async () => {
    const record = { type: 'user', uuid: 'u', sessionId: 's', message: { role: 'user', content: 'hi' } };
    expect((await openSession(transcriptOf(`\ufeff${JSON.stringify(record)}\r\n`, 'x.txt'))).format).toBe(
      'claude-code',
    );
    expect((await openSession(transcriptOf('\n [ {"role":"user","content":"hi"} ]', 'x.jsonl'))).format).toBe(
      'messages',
    );
  });
});

test('what is read on from a point counts its damaged lines once, also where the file was rewritten meanwhile', async () => {
  const prompt = (at: number) => ({
    ...{ type: 'user', uuid: `u${at}`, sessionId: 's', timestamp: `2026-11-20T09:0${at}:00.001Z` },
    message: { role: 'user', content: `Prompt ${at}.` },
  });
  const before = lines(prompt(1), prompt(2));
  const path = transcriptOf(before);
  const from = (await readPointAt(path, Buffer.byteLength(lines(prompt(1))))) ?? undefined;
  const rest = lines('{"torn', prompt(3), { ...prompt(4), filler: 'x'.repeat(2 << 20) }, prompt(5));
  const read = async () => {
    const session = await openSession(path);
    return { ids: (await collect(session.messages(from))).map(({ id }) => id), unreadable: session.unreadableLines };
  };
  writeFileSync(path, before + rest);
  expect(await read()).toEqual({ ids: ['u2', 'u3', 'u4', 'u5'], unreadable: 1 });
  writeFileSync(path, before + lines('{"torn', prompt(3)));
  expect(await read()).toEqual({ ids: ['u2', 'u3'], unreadable: 1 });
  writeFileSync(path, before.replace('Prompt 1.', 'Prompt X.') + rest);
  expect(await read()).toEqual({ ids: ['u1', 'u2', 'u3', 'u4', 'u5'], unreadable: 1 });
});

// Counted by hand in the files.
const GOLDEN: Record<string, { turns: number; within?: number; unreadable?: number }> = {
  'FSM1+cipher-box/1cd4e81e-c965-4804-bcb3-528cd9728724': { turns: 9 },
  'JanDeDobbeleer+oh-my-posh/030df228-1b4b-482d-b343-0fc9c13a3d1a': { turns: 14, within: 5 },
  'JanDeDobbeleer+oh-my-posh/bf77db8f-a917-4fc4-be70-ca1927a57d56': { turns: 2 },
  'M-Thisness+M-Claude/f726527a-2135-406b-adf3-fc3bbe16dd91': { turns: 14, unreadable: 21 },
  'daaain+claude-code-log/test/test_data/edge_cases': { turns: 3, within: 1, unreadable: 7 },
  // The measured 30 prompts, six texts typed while a tool ran, three reasons for which a call of the
  // agent's own tools was rejected (why one of a server was, its record does not tell apart from an error).
  'entireio+cli/03a1382e-ecd5-42c4-b3d4-5c659e165904': { turns: 30, within: 9 },
  // Its last line is a text that was queued and never sent.
  'JanDeDobbeleer+oh-my-posh/5834c1ee-18ef-4761-a251-478863eb2f10': { turns: 7, within: 1 },
  // 22 questions were answered, two texts were typed while a tool ran, a command has an argument, and two
  // commands went to the shell.
  'FSM1+cipher-box/12f1f541-2a05-4a60-a551-14b836a1ad82': { turns: 7, within: 27 },
  'entireio+cli/130d7b7e-5801-4345-9bd6-f32fd9b8429b': { turns: 5 },
  // Names the origin of notices only: what was typed after the first notice is a person's all the same.
  'entireio+git-sync/76731dd6-65de-4d92-be87-716b3e380099': { turns: 14, within: 2 },
  'entireio+git-sync/5b613073-e70b-48a1-b6ae-c6aaa99ec2b1': { turns: 23, within: 1 },
  // Resumed by an editor into the same file: both prompts and answers stand in it twice.
  'moredip+session-share/session-viewer/test/INTEGRATION/fixtures/images-in-user-messages': { turns: 2, unreadable: 2 },
};

describe.skipIf(!hasReal)('real sessions (../shared/transcripts; skipped where they are not there)', () => {
  const readBefore = new Map<string, { format: string; turns: Turn[] }>();
  /** Read once for all tests. */
  const turnsOf = async (file: string) => {
    const known = readBefore.get(file);
    if (known) return known;
    const session = await openSession(join(real, file));
    const read = { format: session.format, turns: await collect(readTurns(session.messages())) };
    readBefore.set(file, read);
    return read;
  };

  test('of Claude Code are all read, every message once, every turn with its own id', async () => {
    for (const file of await realFiles(/^claude-code.*\.jsonl$/)) {
      const { format, turns } = await turnsOf(file);
      expect(format, file).toBe('claude-code');
      const ids = turns.flatMap((turn) => turn.messages.map((message) => message.id));
      expect(turns.length, file).toBeGreaterThan(0);
      expect(new Set(ids).size, file).toBe(ids.length);
      const calls = turns
        .flatMap((turn) => turn.messages.flatMap(({ parts }) => parts))
        .filter((part) => part.kind === 'call');
      expect(
        calls.every((part) => part.tool !== ''),
        file,
      ).toBe(true);
    }
  });

  test.each(Object.entries(GOLDEN))(
    '%s has the turns that a reader counts',
    async (file, { turns, within = 0, unreadable = 0 }) => {
      const session = await openSession(join(real, 'claude-code', `${file}.jsonl`));
      const read = await collect(readTurns(session.messages()));
      const human = read.flatMap((turn) => turn.messages).filter((message) => message.speaker === 'human');
      expect(read).toHaveLength(turns);
      expect(human.filter((message) => !message.beginsTurn)).toHaveLength(within);
      expect(session.unreadableLines).toBe(unreadable);
    },
  );

  test('keep the ids of what was there before as they grow', async () => {
    const files = await realFiles(/^claude-code-growth.*\.jsonl$/);
    expect(files).toHaveLength(4);
    const read = async (file: string) => collect(readTurns((await openSession(join(real, file))).messages()));
    const last = await read(files.at(-1) as string);
    for (const file of files) {
      const turns = await read(file);
      expect(turns.map((turn) => turn.id)).toEqual(last.slice(0, turns.length).map((turn) => turn.id));
    }
  });

  test('of other agents, and summaries, are refused', async () => {
    const files = await realFiles(/\.summary\.json$/);
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      await expect(openSession(join(real, file)), file).rejects.toMatchObject({ code: 'unknown-format' });
    }
  });
});
