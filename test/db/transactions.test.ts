// Writes: all of them or nothing, one after another, by any number of processes; and what is lost with a connection.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { connect as connectTo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/db/open-database.ts';
import type { Sql } from '../../src/db/sql.ts';
import { commit } from '../../src/memory/commit.ts';
import { Memories } from '../../src/memory/memories.ts';
import { apiErrorOf } from '../../src/server/api-shapes.ts';
import { sized } from '../support/depth.ts';
import { ENGINES, inWorld, JOB, skipped } from '../support/memory-world.ts';
import { tempDir } from '../support/temp.ts';

const put = (sql: Sql, key: string, value: string) =>
  sql.run('insert into setting (key, value) values (?, ?)', key, value);
const valueAt = async (db: Sql, key: string) =>
  (await db.get<{ value: string }>('select value from setting where key = ?', key))?.value;

describe.each(ENGINES)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('a write is done whole, or not at all', () =>
    inWorld(engine, async ({ db }) => {
      expect(
        await db.write(async (sql) => {
          await put(sql, 'a', '1');
          return valueAt(sql, 'a');
        }),
      ).toBe('1');
      const thrown = db.write(async (sql) => {
        await put(sql, 'b', '1');
        throw new Error('thrown');
      });
      await expect(thrown).rejects.toThrow('thrown');
      expect([await valueAt(db, 'a'), await valueAt(db, 'b')]).toEqual(['1', undefined]);
      await db.write((sql) => put(sql, 'b', '2'));
    }));

  it('inside a write the database itself cannot be asked', () =>
    inWorld(engine, async ({ db }) => {
      const asks = [
        () => db.write((sql) => put(sql, 'a', '1')),
        () => put(db, 'a', '1'),
        () => db.get('select 1 as one'),
        () => db.all('select 1 as one'),
      ];
      for (const ask of asks) await expect(db.write(ask as () => Promise<unknown>)).rejects.toThrow('inside a write');
      expect(await valueAt(db, 'a')).toBeUndefined();
    }));

  it('who reads sees what is committed, and nothing of a write under way', () =>
    inWorld(engine, async ({ db, home, url }) => {
      const other = await openDatabase({ home, url });
      await put(db, 'a', '1');
      let written: () => void = () => undefined;
      const isWritten = new Promise<void>((resolve) => {
        written = resolve;
      });
      let end: () => void = () => undefined;
      const mayEnd = new Promise<void>((resolve) => {
        end = resolve;
      });
      const write = other.write(async (sql) => {
        await sql.run("update setting set value = '2' where key = 'a'");
        await put(sql, 'b', '1');
        written();
        await mayEnd;
      });
      await isWritten;
      expect([await valueAt(db, 'a'), await valueAt(db, 'b')]).toEqual(['1', undefined]);
      end();
      await write;
      await other.close();
      expect([await valueAt(db, 'a'), await valueAt(db, 'b')]).toEqual(['2', '1']);
    }));

  it('three hundred writes at once are all done, and reads between them', () =>
    inWorld(engine, async ({ db }) => {
      await put(db, 'n', '0');
      const one = () =>
        db.write(async (sql) => {
          const row = await sql.get<{ value: string }>(`select value from setting where key = 'n'${db.lock.wait}`);
          await sql.run("update setting set value = ? where key = 'n'", String(Number(row?.value) + 1));
        });
      const all = Array.from({ length: 300 }, (_, n) => (n % 3 === 0 ? valueAt(db, 'n') : one()));
      await Promise.all(all);
      expect(await valueAt(db, 'n')).toBe('200');
    }));

  const times = sized({ quick: 30, deep: 600 });
  it(`four processes write ${times} times each: none fails, none is lost, none waits for over 2 s`, () =>
    inWorld(engine, async ({ db, home, url }) => {
      await put(db, 'n', '0');
      const script = join(import.meta.dirname, 'writing-child.ts');
      const run = () => promisify(execFile)(process.execPath, [script, home, url ?? '-', String(times)]);
      const said = (await Promise.all([run(), run(), run(), run()])).map(({ stdout }) => JSON.parse(stdout));
      const counted = said.flatMap((each) => each.counted as number[]).sort((a, b) => a - b);
      expect(said.map(({ failed }) => failed)).toEqual([0, 0, 0, 0]);
      expect(counted).toEqual(Array.from({ length: 4 * times }, (_, n) => n + 1));
      expect(await valueAt(db, 'n')).toBe(String(4 * times));
      expect(Math.max(...said.map(({ worstMs }) => worstMs))).toBeLessThan(2_000);
    }));
});

test('what awaits a file, a server or a clock inside a write is found by every test on SQLite', () =>
  inWorld('sqlite', async ({ db }) => {
    await expect(db.write(() => turn())).rejects.toThrow('something else');
    await expect(db.write(() => readFile(import.meta.filename))).rejects.toThrow('something else');
    await db.write(async (sql) => {
      for (let n = 0; n < 200; n += 1) await put(sql, `k${n}`, '1');
    });
  }));

test('whoever waits for another process that writes lets the event loop go on', () =>
  inWorld('sqlite', async ({ db, home }) => {
    const other = await openDatabase({ home });
    let end: () => void = () => undefined;
    const mayEnd = new Promise<void>((resolve) => {
      end = resolve;
    });
    const held = other.write(async (sql) => {
      await put(sql, 'a', '1');
      await mayEnd;
    });
    let turns = 0;
    const waiting = put(db, 'b', '1');
    while (turns < 50) {
      await turn();
      turns += 1;
    }
    end();
    await held;
    await waiting;
    expect([await valueAt(db, 'a'), await valueAt(db, 'b')]).toEqual(['1', '1']);
    await other.close();
  }));

/** Stands before a server, and breaks connections off. */
async function proxyTo(url: string) {
  const { port: itsPort, hostname } = new URL(url);
  let cut: 'before' | 'after' | null = null;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connectTo(Number(itsPort), hostname);
    let isAnswerLost = false;
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    client.on('data', (bytes) => {
      const isCommit = cut !== null && bytes.includes('commit\0');
      if (isCommit && cut === 'before') end();
      else {
        isAnswerLost ||= isCommit;
        upstream.write(bytes);
      }
      if (isCommit) cut = null;
    });
    // The answer is there, so it was done.
    upstream.on('data', (bytes) => (isAnswerLost ? end() : client.write(bytes)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const through = new URL(url);
  through.host = `127.0.0.1:${port}`;
  return {
    url: through.href,
    /** The next COMMIT is lost on its way, or its answer is. */
    cutNext: (when: 'before' | 'after') => {
      cut = when;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

describe.each(['before', 'after'] as const)('a connection that breaks %s COMMIT was answered', (when) => {
  test.skipIf(skipped('postgres') !== '')('is told as what it is, and all of it was done, or nothing', () =>
    inWorld('postgres', async ({ db, home, url, store }) => {
      const proxy = await proxyTo(url ?? '');
      const { row } = await store();
      const through = await openDatabase({ home: tempDir(), url: proxy.url });
      const memories = new Memories({ db: through, home, clock: { now: () => new Date() } });
      try {
        proxy.cutNext(when);
        const add = commit(memories, { memory: row.id, paths: [] }, JOB, async () => ({
          files: [{ path: 'a.md', make: () => 'line\n' }],
        }));
        const message = expect.stringContaining('did not say whether this was done');
        await expect(add).rejects.toMatchObject({ code: 'database-unavailable', message });
        // A client that was told that nothing was changed would ask again.
        expect(apiErrorOf(await add.catch((error) => error)).type).toBe('api_error');
        const versions = await db.all<{ content: Buffer }>('select content from version where memory = ?', row.id);
        expect(versions.map(({ content }) => String(content))).toEqual(when === 'after' ? ['line\n'] : []);
        expect(await db.all('select 1 from change')).toHaveLength(versions.length);
      } finally {
        await through.close();
        proxy.close();
      }
    }),
  );
});
