import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { findSessions } from '../../src/transcript/find-sessions.ts';
import { isInteractive, openSession } from '../../src/transcript/session.ts';
import { readTurns } from '../../src/transcript/turns.ts';
import { sized } from '../support/depth.ts';
import { tempDir } from '../support/temp.ts';
import { collect, fixtures, lines, messagesAt, transcriptOf } from '../support/transcripts.ts';

const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');
const WRITINGS: [string, (text: string) => Buffer][] = [
  ['zstd', (text) => zstdCompressSync(text)],
  ['gzip', (text) => gzipSync(text)],
  ['UTF-16', utf16],
  ['UTF-16, the other way round', (text) => utf16(text).swap16()],
];

describe.each(WRITINGS)('a transcript written in %s', (_, write) => {
  test.each(['codex.jsonl', 'claude-code.jsonl', 'gemini-legacy.json', 'opencode.json'])(
    'of %s is read like the plain one',
    async (file) => {
      const text = readFileSync(join(fixtures, file), 'utf8');
      const [plain, other] = [await openSession(transcriptOf(text)), await openSession(transcriptOf(write(text)))];
      expect(await collect(other.messages())).toEqual(await collect(plain.messages()));
      expect(other).toMatchObject({ id: plain.id, cwd: plain.cwd, unreadableLines: plain.unreadableLines });
    },
  );

  test('of several megabytes is read', async () => {
    const prompt = (at: number) => ({
      ...{ type: 'user', uuid: `u${at}`, sessionId: 's', origin: { kind: 'human' } },
      timestamp: `2026-11-20T09:00:00.${String(100 + at)}Z`,
      message: { role: 'user', content: `${at} ${'ä'.repeat(40_000)}` },
    });
    const path = transcriptOf(write(lines(...Array.from({ length: 30 }, (_, at) => prompt(at)))));
    const session = await openSession(path);
    const turns = await collect(readTurns(session.messages()));
    expect(turns).toHaveLength(30);
  });

  test('tells who ran it', async () => {
    const by = async (originator: string): Promise<boolean> => {
      const meta = { timestamp: '', type: 'session_meta', payload: { id: 'a', originator } };
      const filler = { timestamp: '', type: 'event_msg', payload: { type: 'x', text: 'y'.repeat(100_000) } };
      return isInteractive(await openSession(transcriptOf(write(lines(meta, filler)))));
    };
    expect([await by('codex_exec'), await by('codex-tui')]).toEqual([false, true]);
  });
});

test('a compressed transcript that was cut says so', async () => {
  const text = readFileSync(join(fixtures, 'codex.jsonl'), 'utf8').repeat(50);
  for (const compress of [zstdCompressSync, gzipSync]) {
    const whole = compress(text);
    const path = transcriptOf(whole.subarray(0, whole.length - 20));
    const read = async () => messagesAt(path);
    await expect(read()).rejects.toMatchObject({
      code: 'bad-input',
      message: expect.stringMatching(/ and damaged\.$/),
    });
  }
});

test.skipIf(sized({ quick: true, deep: false }))(
  'a compressed transcript that holds more than it may is not read, and says what to do',
  async () => {
    for (const compress of [zstdCompressSync, gzipSync]) {
      const mebibyte = compress(Buffer.alloc(2 ** 20, '[{"role":"user","content":"hi"},'));
      const path = transcriptOf(Buffer.concat(Array.from({ length: 257 }, () => mebibyte)));
      await expect(openSession(path)).rejects.toMatchObject({
        code: 'bad-input',
        message: expect.stringContaining('MiB'),
        remedy: 'Decompress it and give that file.',
      });
    }
  },
);

test('a rollout that Codex compresses, or decompresses to go on with it, is still that session', async () => {
  const text = readFileSync(join(fixtures, 'codex.jsonl'), 'utf8');
  const dir = tempDir();
  const rollout = join(dir, 'sessions', 'rollout-x.jsonl');
  const plain = transcriptOf(text, 'rollout-x.jsonl');
  const before = await openSession(plain);
  writeFileSync(`${plain}.zst`, zstdCompressSync(text));
  renameSync(plain, `${plain}.away`);
  const after = await openSession(plain);
  expect(after).toMatchObject({ id: before.id, path: `${plain}.zst` });
  expect(await collect(after.messages())).toHaveLength(19);
  renameSync(`${plain}.zst`, `${plain}.zst.away`);
  renameSync(`${plain}.away`, plain);
  expect((await openSession(`${plain}.zst`)).path).toBe(plain);
  await expect(openSession(rollout)).rejects.toMatchObject({ code: 'transcript-gone' });
});

test('compressed rollouts are found, and not beside the plain one', () => {
  const dir = tempDir();
  const dirs = { 'claude-code': dir, codex: dir, gemini: dir, copilot: dir, pi: dir };
  const put = (path: string): void => writeFileSync(join(dir, path), 'x');
  const found = (): string[] => findSessions(dirs, { agents: ['codex'] }).map(({ path }) => path.slice(dir.length + 1));
  mkdirSync(join(dir, 'archived_sessions'));
  put('archived_sessions/rollout-a.jsonl.zst');
  expect(found()).toEqual(['archived_sessions/rollout-a.jsonl.zst']);
  put('archived_sessions/rollout-a.jsonl');
  expect(found()).toEqual(['archived_sessions/rollout-a.jsonl']);
});
