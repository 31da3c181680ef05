// A session in the database is the session that its agent wrote, wherever it is read: same id, messages, turns and texts, but
// for what is redacted in it.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isAppError } from '../../../src/base/errors.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import type { Session } from '../../../src/transcript/types.ts';
import type { Database } from '../../../src/wings/fleet/postgres.ts';
import type { Transcripts } from '../../../src/wings/fleet/transcripts/fleet-transcripts.ts';
import { sized } from '../../support/depth.ts';
import { collect, fixtures, hasReal, lines, real, realFiles, transcriptOf } from '../../support/transcripts.ts';
import { noPostgres, type OwnDatabase, ownDatabase } from './own-database.ts';
import {
  broughtFiles,
  machine,
  openTranscriptDatabase,
  readThrough,
  redactedThrough,
  storeIn,
  withoutInputs,
} from './transcripts.ts';

const REAL_AT_MOST = sized({ quick: 6, deep: Number.POSITIVE_INFINITY });

describe.skipIf(noPostgres)(`a session in the database ${noPostgres}`, () => {
  let own: OwnDatabase;
  let database: Database;
  let store: string;
  let here: Transcripts;
  let there: Transcripts;

  beforeAll(async () => {
    own = await ownDatabase();
    database = await openTranscriptDatabase(own.url);
    store = await storeIn(database);
    here = machine(database);
    there = machine(database, { machine: 'two' });
  });

  afterAll(async () => {
    await database?.close();
    await own?.drop();
  });

  async function expectSame(local: Session) {
    const name = await here.send(local, store);
    const session = await there.open(name);
    expect(session.path).toBe(name);
    const { read, hasSecret } = await redactedThrough(local);
    expect(withoutInputs(await readThrough(session), hasSecret)).toEqual(withoutInputs(read, hasSecret));
    const idsOf = async (of: Session) =>
      (await collect(readTurns(of.messages()))).map(({ id, at, messages }) => [
        id,
        at,
        messages.map((each) => each.id),
      ]);
    expect(await idsOf(session)).toEqual(await idsOf(local));
    session.discard?.();
    expect(broughtFiles(there.deps.home)).toEqual([]);
  }

  test.each(readdirSync(fixtures))('%s is the same session on another machine', async (file) => {
    await expectSame(await openSession(join(fixtures, file)));
  });

  test.skipIf(!hasReal)('real sessions of every agent are the same on another machine', async () => {
    const agents = await Array.fromAsync(
      ['claude-code/', 'claude-code-growth/', 'codex/', 'copilot/', 'gemini/', 'opencode/'],
      (agent) => realFiles(new RegExp(`^${agent}`)),
    );
    let compared = 0;
    for (const files of agents) {
      for (const file of files.slice(0, Math.ceil(REAL_AT_MOST / agents.length))) {
        const local = await openSession(join(real, file)).catch((error) => {
          if (isAppError(error, 'unknown-format')) return null;
          throw error;
        });
        if (!local) continue;
        await expectSame(local);
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThanOrEqual(agents.length - 1);
  });

  const human = (uuid: string, content: unknown, more: object = {}) => ({
    ...{
      type: 'user',
      uuid,
      sessionId: 'hostile',
      cwd: '/home/kim/a',
      timestamp: '2026-11-20T09:00:00Z',
      isSidechain: false,
    },
    ...{ message: { role: 'user', content } },
    ...more,
  });

  test('bytes that no text should hold arrive as they were read', async () => {
    const text = [
      human('u1', 'a \u0000 NUL, \ud800 a lone half, \u2028 a line\u2029end, \u202e turned, \ufeff mark'),
      Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0xc3, 0x28]).toString('latin1'),
      human('u\u0000 2', 'its id holds a NUL'),
      human('u3', '{"message":{"id":"u1"}}\n{"session":{}}\n{"unreadableLines":7}'),
      human('u4', 'in a directory', { cwd: '/home/\u0000/\ud800/"\n' }),
    ];
    await expectSame(await openSession(transcriptOf(lines(...text))));
    const strange = lines(human('u1', 'hello', { sessionId: 'NUL \u0000 and \ud800', cwd: '\u0000' }));
    await expectSame(await openSession(transcriptOf(strange)));
    const torn = Buffer.concat([
      Buffer.from(lines(human('u1', 'hello'))),
      Buffer.from([0xff, 0xc0, 0x80, 0x0a]),
      Buffer.alloc(4_096),
    ]);
    await expectSame(await openSession(transcriptOf(torn)));
  });

  test('what is marked as private, and the texts of programs, never reach the database', async () => {
    const text = lines(
      human('u1', 'Use spaces. <private>my sister is Ada</private>'),
      human('u2', 'the system says heliotrope', { isMeta: true }),
      human('u3', 'Use tabs.'),
    );
    const name = await here.send(await openSession(transcriptOf(text)), store);
    const rows = await own.ask<{ row: string }>(
      `select convert_from(bytes, 'utf8') || (select head || tail from transcript where id = transcript) as row from transcript_piece where transcript = $1`,
      [name.slice('fleet:'.length)],
    );
    const kept = rows.map(({ row }) => row).join('\n');
    expect(kept).toContain('Use tabs.');
    expect(kept).not.toMatch(/sister|Ada|heliotrope/);
  });

  test('a secret on the border of two pieces is in neither', async () => {
    const secret = `ghp_${'aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gH3jK5'}`;
    const border = 2 ** 20;
    async function keptOf(fillerLength: number): Promise<string> {
      const filler = 'lorem ipsum '.repeat(border / 8).slice(0, fillerLength);
      const said = [filler, `the token is ${secret}, and "quoted" ${JSON.stringify({ token: secret })}`];
      const sessionId = `border-${fillerLength}`;
      const text = lines(...said.map((each, at) => human(`u${at}`, each, { sessionId })));
      const name = await here.send(await openSession(transcriptOf(text)), store);
      const [row] = await own.ask<{ pieces: number; text: string }>(
        `select count(*)::int as pieces, convert_from(string_agg(piece.bytes, ''::bytea order by array_position(pieces, sha)), 'utf8') as text
         from transcript_piece as piece join transcript on id = transcript where id = $1 group by id`,
        [name.slice('fleet:'.length)],
      );
      expect(row?.pieces).toBe(fillerLength < border / 2 ? 1 : 2);
      expect(row?.text).not.toContain(secret.slice(4, 20));
      return row?.text ?? '';
    }
    const at = (await keptOf(100)).indexOf('[redacted:');
    // The last is where the secret itself would begin to lie on it.
    for (const before of [1, 5, 12]) {
      const kept = await keptOf(100 + border - before - at);
      expect(kept.indexOf('[redacted:')).toBe(border - before);
    }
  });

  test('one that is not kept, or has only begun to arrive, is gone', async () => {
    const gone = { code: 'transcript-gone' };
    await expect(there.open('fleet:tran_000000000000')).rejects.toMatchObject(gone);
    expect(await there.sizeOf('fleet:tran_000000000000')).toBeNull();
    await own.ask(
      `insert into transcript (id, store, kind, name, session, format) values ('tran_begun', $1, 'session', 'x', 'x', 'codex')`,
      [store],
    );
    await expect(there.open('fleet:tran_begun')).rejects.toMatchObject(gone);
    expect(broughtFiles(there.deps.home)).toEqual([]);
  });

  test('a store that is not in the database takes none, and what a store has goes with it', async () => {
    const local = await openSession(join(fixtures, 'codex.jsonl'));
    await expect(here.send(local, 'memstore_none')).rejects.toMatchObject({ code: 'bad-input' });
    const other = await storeIn(database);
    const name = await here.send(local, other);
    await own.ask('delete from store where id = $1', [other]);
    await expect(there.open(name)).rejects.toMatchObject({ code: 'transcript-gone' });
    expect(await own.ask('select from transcript_piece where transcript = $1', [name.slice('fleet:'.length)])).toEqual(
      [],
    );
  });
});
