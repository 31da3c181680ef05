// Sending a session to the database while it grows, while it is read, and while who sends it dies or hangs: only what is new is
// sent, a reader gets all of the old or all of the new one, and whoever sends it next goes on.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openSession } from '../../../src/transcript/session.ts';
import type { Database } from '../../../src/wings/fleet/postgres.ts';
import type { TranscriptDeps, Transcripts } from '../../../src/wings/fleet/transcripts/fleet-transcripts.ts';
import { SEED, sized, waysTaken } from '../../support/depth.ts';
import { seeded } from '../../support/random.ts';
import { sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { lineTo } from './line.ts';
import { noPostgres, type OwnDatabase, ownDatabase } from './own-database.ts';
import { broughtFiles, machine, openTranscriptDatabase, readThrough, storeIn } from './transcripts.ts';

const MIB = 2 ** 20;
const random = seeded(SEED);

/** Words that no two turns have alike. */
function words(bytes: number, of: number): string {
  const sentence = Array.from({ length: 12 }, (_, n) => `turn${of} word${n}`).join(' ');
  return `${sentence} `.repeat(Math.ceil(bytes / sentence.length)).slice(0, bytes);
}

/** A session of so many turns of 64 kB. */
function longSession(turns: number) {
  const session = sessionFile(tempDir());
  for (let turn = 0; turn < turns; turn++) session.add(`question ${turn}`, [{ says: words(MIB / 16, turn) }]);
  return session;
}

describe.skipIf(noPostgres)(`sending a session to the database ${noPostgres}`, () => {
  let own: OwnDatabase;
  let database: Database;
  let store: string;
  let reader: Transcripts;
  let sent: number;

  beforeAll(async () => {
    own = await ownDatabase();
    database = await openTranscriptDatabase(own.url);
    reader = machine(database, { machine: 'two' });
  });

  afterAll(async () => {
    await database?.close();
    await own?.drop();
  });

  async function begin(more: Partial<TranscriptDeps> = {}): Promise<Transcripts> {
    store = await storeIn(database);
    sent = 0;
    return machine(database, { ...more, onSent: (bytes) => (sent += bytes) });
  }

  const send = async (from: Transcripts, path: string) => from.send(await openSession(path), store);

  async function messagesAt(name: string, from = reader) {
    const session = await from.open(name);
    const { messages } = await readThrough(session);
    session.discard?.();
    return messages;
  }

  const messagesIn = async (path: string) => (await readThrough(await openSession(path))).messages;
  const piecesKept = async () =>
    (
      await own.ask<{ n: number }>(
        'select count(*)::int as n from transcript_piece join transcript on id = transcript where store = $1',
        [store],
      )
    )[0]?.n;

  test('a session that grew keeps its name, and only its last piece and what is new are sent', async () => {
    const here = await begin();
    const session = longSession(50);
    const name = await send(here, session.path);
    expect(sent).toBeGreaterThan(3 * MIB);
    const size = await reader.sizeOf(name);
    sent = 0;
    session.add('one more', [{ says: 'Done.' }]);
    expect(await send(here, session.path)).toBe(name);
    expect(sent).toBeLessThanOrEqual(MIB);
    expect(await messagesAt(name)).toEqual(await messagesIn(session.path));
    expect(await reader.sizeOf(name)).toBeGreaterThan(size ?? Number.POSITIVE_INFINITY);
    expect(await piecesKept()).toBe(4);
  });

  test('one that did not change sends nothing, and its file is not read', async () => {
    const here = await begin();
    const session = longSession(1);
    const name = await send(here, session.path);
    sent = 0;
    const opened = await openSession(session.path);
    const unread = { ...opened, messages: () => expect.unreachable('it was read') };
    expect(await here.send(unread, store)).toBe(name);
    expect(sent).toBe(0);
  });

  test('one that was rewritten is what it became, and what it was is in no row', async () => {
    const here = await begin();
    const session = longSession(20);
    const name = await send(here, session.path);
    const other = sessionFile(tempDir());
    other.add('Begin again.', [{ says: 'From the beginning.' }]);
    writeFileSync(session.path, '');
    appendFileSync(session.path, JSON.stringify({ type: 'summary', summary: 'x' }));
    appendFileSync(session.path, `\n${readFileSync(other.path, 'utf8')}`);
    expect(await send(here, session.path)).toBe(name);
    expect(await messagesAt(name)).toEqual(await messagesIn(session.path));
    expect(await piecesKept()).toBe(1);
  });

  test('the same session in files of two machines, or in two stores, is kept for each', async () => {
    const here = await begin();
    const session = longSession(1);
    const opened = await openSession(session.path);
    const names = [await here.send(opened, store), await machine(database, { machine: 'three' }).send(opened, store)];
    names.push(await here.send(opened, await storeIn(database)));
    expect(new Set(names).size).toBe(3);
  });

  test('who reads while it is sent again gets all of the old or all of the new one', async () => {
    const here = await begin();
    const session = longSession(20);
    const name = await send(here, session.path);
    const versions = [await messagesIn(session.path)];
    let isSending = true;
    let met = 0;
    const reading = (async () => {
      while (isSending || met === 0) {
        const read = await messagesAt(name);
        expect(versions.filter((version) => version.length === read.length)).toEqual([read]);
        met += 1;
      }
    })();
    for (let growth = 0; growth < sized({ quick: 2, deep: 4 }); growth++) {
      session.add(
        `more ${growth}`,
        Array.from({ length: 10 }, (_, n) => ({ says: words(MIB / 16, growth * 100 + n) })),
      );
      versions.push(await messagesIn(session.path));
      await send(here, session.path);
    }
    isSending = false;
    await reading;
    expect(await messagesAt(name)).toEqual(versions.at(-1));
    expect(broughtFiles(reader.deps.home)).toEqual([]);
  });

  function start(path: string, how = '', at = 0, flags: string[] = []) {
    const program = join(import.meta.dirname, 'transcripts-sender.ts');
    const child = spawn(process.execPath, [...flags, program, own.url, store, path, how, String(at)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const said: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
    return { child, said, closed: once(child, 'close') };
  }

  const STEPS = ['begin', 'put', 'put', 'put', 'end', 'done'];
  const numbers = STEPS.map((_, at) => at + 1);
  const killed = sized({ quick: [random.pick(numbers.slice(1, 5))], deep: numbers });
  const sendings = waysTaken(['first', 'again'] as const);

  test.each(sendings.includes('first') ? killed : [])(
    'killed before its step %i, a first sending leaves nothing to read or all, and the next one sends what is lacking',
    async (at) => {
      const here = await begin({ leaseMs: 250 });
      const { path } = longSession(40);
      const { said, closed } = start(path, 'die', at);
      expect(await closed).toEqual([null, 'SIGKILL']);
      expect(said).toEqual(STEPS.slice(0, at));
      const whole = await own.ask(`select from transcript where store = $1 and state = 'whole'`, [store]);
      expect(whole).toHaveLength(STEPS[at - 1] === 'done' ? 1 : 0);
      const arrived = said.slice(0, -1).filter((step) => step === 'put').length;
      const name = await sendOnceFree(here, path);
      expect(Math.ceil(sent / MIB)).toBe(STEPS[at - 1] === 'done' ? 0 : 3 - arrived);
      expect(await messagesAt(name)).toEqual(await messagesIn(path));
    },
  );

  /** Whoever died holds the session until its lease ends. */
  const sendOnceFree = (from: Transcripts, path: string) =>
    expect
      .poll(() => send(from, path).catch((error) => error.code), { timeout: 20_000, interval: 30 })
      .toMatch(/^fleet:/)
      .then(() => send(from, path));

  test.each(sendings.includes('again') ? killed : [])(
    'killed before its step %i, sending it again leaves the old one or the new one',
    async (at) => {
      const here = await begin({ leaseMs: 250 });
      const session = longSession(1);
      const name = await send(here, session.path);
      const before = await messagesIn(session.path);
      session.add(
        'much more',
        Array.from({ length: 40 }, (_, n) => ({ says: words(MIB / 16, n) })),
      );
      const { closed } = start(session.path, 'die', at);
      expect(await closed).toEqual([null, 'SIGKILL']);
      const after = await messagesIn(session.path);
      expect(await messagesAt(name)).toEqual(STEPS[at - 1] === 'done' ? after : before);
      expect(await sendOnceFree(here, session.path)).toBe(name);
      expect(await messagesAt(name)).toEqual(after);
      expect(await piecesKept()).toBe(3);
    },
  );

  test('one that hangs past its lease and goes on keeps nothing of what another sent meanwhile', async () => {
    const here = await begin({ leaseMs: 250 });
    const session = longSession(40);
    const { child, said, closed } = start(session.path, 'stop', random.pick([2, 3, 4, 5]));
    await expect.poll(() => said.length, { timeout: 20_000, interval: 20 }).toBeGreaterThan(1);
    session.add('meanwhile');
    const name = await sendOnceFree(here, session.path);
    // It may have been told to go on before it stopped.
    const waking = setInterval(() => child.kill('SIGCONT'), 50);
    expect(await closed.finally(() => clearInterval(waking))).toEqual([0, null]);
    expect(said.at(-2)).toBe('ended fenced');
    expect(await messagesAt(name)).toEqual(await messagesIn(session.path));
  });

  test('while another process sends it nobody else does', async () => {
    const here = await begin();
    const { path } = longSession(1);
    const opened = await openSession(path);
    let isAtIt = false;
    const holding = machine(database);
    const { promise: goOn, resolve } = Promise.withResolvers<void>();
    const slow = {
      ...opened,
      async *messages() {
        yield* opened.messages();
        isAtIt = true;
        await goOn;
      },
    };
    const first = holding.send(slow, store);
    await expect.poll(() => isAtIt).toBe(true);
    await expect(here.send(opened, store)).rejects.toMatchObject({ code: 'conflict' });
    resolve();
    const name = await first;
    expect(await here.send(opened, store)).toBe(name);
  });

  test.each(['request', 'answer'] as const)(
    'the last %s is lost: it is told, and sending it again is enough',
    async (cut) => {
      const here = await begin();
      const line = await lineTo(own.url);
      onTestFinished(() => line.close());
      const far = await openTranscriptDatabase(line.url);
      onTestFinished(() => far.close());
      const { path } = longSession(1);
      const distant = machine(far, { onStep: (step) => void (step === 'end' && line.cutAt(cut)) });
      await expect(send(distant, path)).rejects.toMatchObject({ code: 'database-unavailable' });
      const name = await send(here, path);
      expect(sent).toBe(0);
      expect(await messagesAt(name)).toEqual(await messagesIn(path));
    },
  );

  test(`a session of ${sized({ quick: 6, deep: 24 })} MB is sent and read in memory that does not grow with it`, async () => {
    await begin();
    const peakOf = async (turns: number) => {
      const { path } = longSession(turns);
      // So that what is not collected yet is not taken for what is held.
      const { said, closed } = start(path, '', 0, ['--max-old-space-size=64', '--max-semi-space-size=4']);
      expect(await closed).toEqual([0, null]);
      const name = said.find((line) => line.startsWith('ended kept '))?.slice('ended kept '.length) ?? '';
      return { path, name, peak: Number(said.at(-1)?.slice('peak '.length)) };
    };
    const small = await peakOf(1);
    const large = await peakOf(sized({ quick: 6, deep: 24 }) * 16);
    expect(large.peak - small.peak).toBeLessThan(24 * MIB);
    expect(await messagesAt(large.name)).toEqual(await messagesIn(large.path));
  });
});
