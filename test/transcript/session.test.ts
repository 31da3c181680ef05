import { truncateSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openSession } from '../../src/transcript/session.ts';
import { transcriptOf } from '../support/transcripts.ts';

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
