import { truncateSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openSession, readPointAt } from '../../src/transcript/session.ts';
import { collect, lines, transcriptOf } from '../support/transcripts.ts';

describe('openSession', () => {
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
      message: expect.stringContaining('256 MiB'),
    });
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
  const from = readPointAt(path, Buffer.byteLength(lines(prompt(1)))) ?? undefined;
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
