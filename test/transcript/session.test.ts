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
  // The measured 30 prompts, six texts typed while a tool ran, four reasons for which a call was rejected.
  'entireio+cli/03a1382e-ecd5-42c4-b3d4-5c659e165904': { turns: 30, within: 10 },
  // Its last line is a text that was queued and never sent.
  'JanDeDobbeleer+oh-my-posh/5834c1ee-18ef-4761-a251-478863eb2f10': { turns: 7, within: 1 },
  // 22 questions were answered, two texts were typed while a tool ran, and a command has an argument.
  'FSM1+cipher-box/12f1f541-2a05-4a60-a551-14b836a1ad82': { turns: 7, within: 25 },
  'entireio+cli/130d7b7e-5801-4345-9bd6-f32fd9b8429b': { turns: 5 },
  // Names the origin of notices only: what was typed after the first notice is a person's all the same.
  'entireio+git-sync/76731dd6-65de-4d92-be87-716b3e380099': { turns: 14, within: 2 },
  'entireio+git-sync/5b613073-e70b-48a1-b6ae-c6aaa99ec2b1': { turns: 23, within: 1 },
  // Resumed by an editor into the same file: both prompts and answers stand in it twice.
  'moredip+session-share/session-viewer/test/INTEGRATION/fixtures/images-in-user-messages': { turns: 2, unreadable: 2 },
};

// Prompts that a person typed, of every file; a program of its own, written for this, counted the same but for the two
// files above that are damaged, or say everything twice.
const PROMPTS: Record<string, number> = {
  'claude-code-growth/entireio+cli/768de5d6-9fad-475b-8a4f-dfa7ddc01bb0/00': 1,
  'claude-code-growth/entireio+cli/768de5d6-9fad-475b-8a4f-dfa7ddc01bb0/01': 3,
  'claude-code-growth/entireio+cli/768de5d6-9fad-475b-8a4f-dfa7ddc01bb0/02': 4,
  'claude-code-growth/entireio+cli/768de5d6-9fad-475b-8a4f-dfa7ddc01bb0/03': 5,
  'claude-code/EntityProcess+agentv/f6b7329a-914c-4f62-8090-4e29b032b173': 1,
  'claude-code/FSM1+cipher-box/12f1f541-2a05-4a60-a551-14b836a1ad82': 6,
  'claude-code/FSM1+cipher-box/1cd4e81e-c965-4804-bcb3-528cd9728724': 9,
  'claude-code/JanDeDobbeleer+oh-my-posh/030df228-1b4b-482d-b343-0fc9c13a3d1a': 13,
  'claude-code/JanDeDobbeleer+oh-my-posh/5834c1ee-18ef-4761-a251-478863eb2f10': 7,
  'claude-code/JanDeDobbeleer+oh-my-posh/bf77db8f-a917-4fc4-be70-ca1927a57d56': 2,
  'claude-code/JanDeDobbeleer+oh-my-posh/df0a6e5d-bba0-4488-b540-8f55f98b5b1b': 1,
  'claude-code/JanDeDobbeleer+oh-my-posh/e3c445a1-7bce-4ed8-ac91-5aa08adc027f': 4,
  'claude-code/M-Thisness+M-Claude/agent-a5c3259': 0,
  'claude-code/M-Thisness+M-Claude/agent-aa843bf': 0,
  'claude-code/M-Thisness+M-Claude/c10f5964-20bd-4783-aa1a-30b06c8a702a': 6,
  'claude-code/M-Thisness+M-Claude/f726527a-2135-406b-adf3-fc3bbe16dd91': 14,
  'claude-code/PackmindHub+context-evaluator/540a8f92-9d04-4794-9d44-a53d78eedef2': 1,
  'claude-code/d-kimuson+claude-code-viewer/sample-project/1af7fc5e-8455-4414-9ccd-011d40f70b2a': 0,
  'claude-code/d-kimuson+claude-code-viewer/sample-project/5c0375b4-57a5-4f26-b12d-d022ee4e51b7': 0,
  'claude-code/d-kimuson+claude-code-viewer/sample-project/agent-test-hash-123': 0,
  'claude-code/d-kimuson+claude-code-viewer/sample-project/agent-test-hash-456': 0,
  'claude-code/daaain+claude-code-log/test/test_data/edge_cases': 3,
  'claude-code/daaain+claude-code-log/test/test_data/representative_messages': 4,
  'claude-code/daaain+claude-code-log/test/test_data/session_b': 2,
  'claude-code/entireio+cli/03a1382e-ecd5-42c4-b3d4-5c659e165904': 30,
  'claude-code/entireio+cli/130d7b7e-5801-4345-9bd6-f32fd9b8429b': 5,
  'claude-code/entireio+cli/1b3e6441-62e3-4b41-8a0c-9d252f531f7a': 1,
  'claude-code/entireio+cli/8b418ea5-895d-4ad5-abe8-4489d36e454f': 4,
  'claude-code/entireio+cli/9d440bfc-a64f-43be-aa10-10a3764a59ea': 1,
  'claude-code/entireio+entire-graph/09e82c6a-87c1-4cac-b38f-0ef49e46781d': 2,
  'claude-code/entireio+git-sync/0dd6955a-aa73-4e84-9d5f-f97ee290332e': 2,
  'claude-code/entireio+git-sync/4908d37d-7580-4b96-8fbd-ed1d7851ffba': 4,
  'claude-code/entireio+git-sync/4f8f5e9b-9f90-4c22-88b9-988c55f45833': 7,
  'claude-code/entireio+git-sync/5b613073-e70b-48a1-b6ae-c6aaa99ec2b1': 23,
  'claude-code/entireio+git-sync/76731dd6-65de-4d92-be87-716b3e380099': 14,
  'claude-code/entireio+git-sync/8155f2c7-bab2-4be9-9e17-b4140feb7b6b': 1,
  'claude-code/entireio+git-sync/88db7fea-797f-49be-9036-c762ae804ce0': 7,
  'claude-code/entireio+git-sync/8ff21ea1-e320-4771-a636-a6590f0b5080': 7,
  'claude-code/entireio+skills/415c4d06-7225-447d-a197-6c6793576b63': 10,
  'claude-code/entireio+skills/4e46a154-ff2f-42c6-9e7c-e0226e6ae859': 2,
  'claude-code/entireio+skills/647f82b2-5e8a-4754-80a8-1e3f869083e3': 2,
  'claude-code/entireio+skills/810cdadc-9c84-436b-a940-aec5dc4ae8dc': 5,
  'claude-code/entireio+skills/95047199-69f0-49a5-9432-18cba428ecec': 8,
  'claude-code/entireio+skills/c5b3d2bd-c81b-487f-94a7-8fcb42d2abcb': 6,
  'claude-code/entireio+skills/dfa3fdbd-f0ec-461d-b6c3-d40c4b05556b': 4,
  'claude-code/moredip+session-share/samples/claude-code-projects/0ccf1a04-1b4c-43b6-8aa5-79e41db43a68': 3,
  'claude-code/moredip+session-share/samples/claude-code-projects/0ccf1a04-1b4c-43b6-8aa5-79e41db43a68/subagents/agent-a5bdbc1': 0,
  'claude-code/moredip+session-share/samples/claude-code-projects/0ccf1a04-1b4c-43b6-8aa5-79e41db43a68/subagents/agent-aa5ef13': 0,
  'claude-code/moredip+session-share/samples/claude-code-projects/0ccf1a04-1b4c-43b6-8aa5-79e41db43a68/subagents/agent-afbbf75': 0,
  'claude-code/moredip+session-share/session-viewer/test/INTEGRATION/fixtures/edit-tool-variants': 1,
  'claude-code/moredip+session-share/session-viewer/test/INTEGRATION/fixtures/images-in-user-messages': 2,
  'claude-code/obra+episodic-memory/test/fixtures/short-conversation': 1,
  'claude-code/obra+episodic-memory/test/fixtures/tiny-conversation': 2,
  'claude-code/polecatspeaks+StarCar/67913b32-31ef-4c07-b6eb-71c56e7cedcc': 1,
  'claude-code/simonw+claude-code-transcripts/tests/sample_session': 2,
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

  test('of Claude Code have the prompts that were counted, in every file', async () => {
    const prompts: [string, number][] = [];
    for (const file of await realFiles(/^claude-code.*\.jsonl$/)) {
      const messages = (await turnsOf(file)).turns.flatMap((turn) => turn.messages);
      const typed = messages.filter(({ speaker, beginsTurn }) => speaker === 'human' && beginsTurn);
      prompts.push([file.replace(/\.jsonl$/, ''), typed.length]);
    }
    expect(Object.fromEntries(prompts)).toEqual(PROMPTS);
  });

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
