// A redaction reaches the sessions of a store in the database: the words are in no row afterwards, and the sessions are what
// they were without them, also when they are sent again.

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { redactMatches } from '../../../src/memory/history/redact/redaction.ts';
import { scrubOf } from '../../../src/memory/history/redact/scrub.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { redactingElsewhere, redactTranscripts } from '../../../src/wings/fleet/fleet-redaction.ts';
import type { Database } from '../../../src/wings/fleet/postgres.ts';
import type { FleetStores } from '../../../src/wings/fleet/stores/fleet-stores.ts';
import type { Transcripts } from '../../../src/wings/fleet/transcripts/fleet-transcripts.ts';
import { aSession, type SessionFile, sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { lineTo } from './line.ts';
import { noPostgres, type OwnDatabase, openStores, ownDatabase, putStore } from './own-database.ts';
import { machine, openTranscriptDatabase, readThrough, storeIn } from './transcripts.ts';

const WORDS = 'violet giraffe "seven"';

describe.skipIf(noPostgres)(`a redaction in a store with sessions in the database ${noPostgres}`, () => {
  let own: OwnDatabase;
  let database: Database;
  let stores: FleetStores;
  let here: Transcripts;
  let there: Transcripts;

  beforeAll(async () => {
    own = await ownDatabase();
    database = await openTranscriptDatabase(own.url);
    stores = await openStores(own.url);
    here = machine(database);
    there = machine(database, { machine: 'two' });
  });

  afterAll(async () => {
    await stores?.close();
    await database?.close();
    await own?.drop();
  });

  const send = async (session: SessionFile, store: string) => here.send(await openSession(session.path), store);

  async function readFrom(name: string) {
    const session = await there.open(name);
    const read = await readThrough(session);
    session.discard?.();
    return read;
  }

  /** How many rows of the whole schema hold the text, as a row or its bytes show it. */
  async function rowsWith(text: string): Promise<number> {
    const tables = await own.ask<{ name: string }>(
      `select tablename as name from pg_tables where schemaname = 'nocturne'`,
    );
    let count = 0;
    for (const { name } of tables) {
      const bytes = ['page', 'file', 'transcript_piece'].includes(name) ? `or position($1::bytea in bytes) > 0` : '';
      const sql = `select count(*)::int as n from nocturne.${name} as row where position($2 in row::text) > 0 ${bytes}`;
      const values = bytes ? [Buffer.from(text), text] : [text];
      count += (await own.ask<{ n: number }>(bytes ? sql : sql.replace('$2', '$1'), values))[0]?.n ?? 0;
    }
    return count;
  }

  function talk(dir = tempDir()): SessionFile {
    const session = sessionFile(dir, { cwd: '/home/kim/violet giraffe "seven"/orchard' });
    session.add('Use tabs.', [{ says: `I saw ${WORDS} in it.` }]);
    session.add(`The name is ${WORDS}.`, [
      {
        calls: 'Bash',
        input: { command: `echo '${WORDS}'`, nested: [{ of: WORDS }], pin: 4711 },
        result: JSON.stringify({ said: WORDS }),
      },
    ]);
    session.add('Thanks.');
    return session;
  }

  test('takes the words from every row of its files, its ledger and its sessions, and of no other store', async () => {
    const store = await putStore(stores, { 'a.md': `The ${WORDS} lives here.\n` });
    const session = talk();
    const name = await send(session, store);
    const other = await send(session, await storeIn(database));
    const before = await readFrom(name);
    const untouched = await readFrom(other);
    const opened = await stores.open(store);
    onTestFinished(() => opened.close());
    const elsewhere = redactingElsewhere(here);
    const redact = (isDry: boolean) =>
      redactMatches(scrubOf(WORDS), { store: opened, home: here.deps.home, now: new Date(), elsewhere, isDry });
    const payload = JSON.stringify({ transcript: name, ended: true, instructions: `Not ${WORDS}.` });
    const waiting = `insert into work_inbox (store, kind, key, payload, not_before) values ($1, 'extract', 'one', $2, '')`;
    await own.ask(waiting, [store, payload]);
    expect(await redact(true)).toMatchObject({ sessions: [name], files: ['a.md'] });
    expect(await rowsWith('violet')).toBeGreaterThan(0);
    expect(await readFrom(name)).toEqual(before);
    expect(await redact(false)).toMatchObject({ sessions: [name], remaining: [] });
    const after = await readFrom(name);
    expect(JSON.stringify(after)).toBe(
      JSON.stringify(before)
        .replaceAll(JSON.stringify(JSON.stringify(WORDS).slice(1, -1)).slice(1, -1), '[redacted]')
        .replaceAll(JSON.stringify(WORDS).slice(1, -1), '[redacted]'),
    );
    expect(await readFrom(other)).toEqual(untouched);
    await own.ask('delete from transcript where id = $1', [other.slice('fleet:'.length)]);
    expect(await rowsWith('violet')).toBe(0);
  });

  test('a word that the form of a session is made of leaves it as readable as it was', async () => {
    const store = await storeIn(database);
    const session = sessionFile(tempDir());
    session.add('the text of a message is human', [{ says: 'a session, a part, true, 0' }]);
    const name = await send(session, store);
    const before = await readFrom(name);
    for (const match of ['text', 'message', 'human', 'session', 'part', '/[0-9]/', '/true|false/', '/[{}":]/']) {
      await redactTranscripts(scrubOf(match), { transcripts: here, store });
    }
    const after = await readFrom(name);
    expect(after.messages.map(({ id, speaker, at }) => [id, speaker, at])).toEqual(
      before.messages.map(({ id, speaker, at }) => [id, speaker, at]),
    );
    expect(after.messages.map(({ parts }) => parts.map((part) => Object(part).text))).toEqual([
      ['the [redacted] of a [redacted] is [redacted]'],
      ['a [redacted], a [redacted], [redacted], [redacted]'],
    ]);
  });

  test('words on the border of two pieces go, too', async () => {
    const store = await storeIn(database);
    const border = 2 ** 20;
    const kept = async (filler: number) => {
      const session = aSession(['x'.repeat(filler), WORDS]);
      const name = await send(session, store);
      const pieces = await own.ask<{ bytes: Buffer }>(
        'select piece.bytes from transcript_piece as piece join transcript on id = transcript where id = $1 order by array_position(pieces, sha)',
        [name.slice('fleet:'.length)],
      );
      return Buffer.concat(pieces.map(({ bytes }) => bytes));
    };
    const at = (await kept(100)).indexOf('violet');
    const begins = (await kept(100 + border - 9 - at)).indexOf('violet');
    expect(begins).toBe(border - 9);
    expect(await redactTranscripts(scrubOf(WORDS), { transcripts: here, store })).toHaveLength(2);
    expect(await rowsWith('violet')).toBe(0);
    expect(await rowsWith('giraffe')).toBe(0);
  });

  test('a session that grows after it is sent without the words, and with what is new', async () => {
    const store = await storeIn(database);
    const session = talk();
    const name = await send(session, store);
    await redactTranscripts(scrubOf(WORDS), { transcripts: here, store });
    session.add('And now for something new.', [{ says: 'Very well.' }]);
    expect(await send(session, store)).toBe(name);
    const { messages } = await readFrom(name);
    const local = await readThrough(await openSession(session.path));
    expect(messages.map(({ id }) => id)).toEqual(local.messages.map(({ id }) => id));
    expect(JSON.stringify(messages)).not.toMatch(/violet|giraffe/);
    const said = JSON.stringify(messages);
    for (const words of ['Use tabs.', 'Thanks.', 'And now for something new.']) expect(said).toContain(words);
  });

  test('who is sending begins anew, and what had arrived of it is in no row', async () => {
    const store = await storeIn(database);
    const session = talk();
    const opened = await openSession(session.path);
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    const { promise: hasPut, resolve: isPut } = Promise.withResolvers<void>();
    const slow = {
      ...opened,
      async *messages() {
        yield* opened.messages();
        for await (const message of opened.messages())
          yield { ...message, id: `${message.id}-2`, parts: [{ kind: 'text', text: 'x'.repeat(2 ** 18) } as const] };
        isPut();
        await goOn;
      },
    };
    const sending = here.send(slow, store);
    await hasPut;
    expect(await rowsWith('violet')).toBeGreaterThan(0);
    expect(await redactTranscripts(scrubOf(WORDS), { transcripts: there, store })).toEqual([]);
    expect(await rowsWith('violet')).toBe(0);
    resolve();
    await expect(sending).rejects.toMatchObject({ code: 'fenced' });
    expect(await rowsWith('violet')).toBe(0);
  });

  test.each(['request', 'answer'] as const)(
    'where the last %s is lost the session is whole, and redacting again is enough',
    async (cut) => {
      const store = await storeIn(database);
      const name = await send(talk(), store);
      const before = (await readFrom(name)).messages.length;
      const line = await lineTo(own.url);
      onTestFinished(() => line.close());
      const far = await openTranscriptDatabase(line.url);
      onTestFinished(() => far.close());
      const distant = machine(far, { onStep: (step) => void (step === 'end' && line.cutAt(cut)) });
      const again = (transcripts: Transcripts) => redactTranscripts(scrubOf(WORDS), { transcripts, store });
      await expect(again(distant)).rejects.toMatchObject({ code: 'database-unavailable' });
      expect((await readFrom(name)).messages).toHaveLength(before);
      await again(here);
      expect(await rowsWith('violet')).toBe(0);
      expect((await readFrom(name)).messages).toHaveLength(before);
    },
  );
});
