// Opening the database: made once, by whoever comes first; another's is refused and stays as it is. Damage is asked for in cli/damage.test.ts.

import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { databasePath, openDatabase, SCHEMA_VERSION } from '../../src/db/open-database.ts';
import { ENGINES, skipped } from '../support/memory-world.ts';
import { ownDatabase } from '../support/own-database.ts';
import { tempDir } from '../support/temp.ts';

const opening = join(import.meta.dirname, 'opening-child.ts');

describe.each(ENGINES)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  /** A home, and a database without tables. */
  async function inNew(work: (of: { home: string; url?: string }) => Promise<void>): Promise<void> {
    const own = engine === 'postgres' ? await ownDatabase({ isNew: true }) : undefined;
    await work({ home: join(tempDir(), 'home'), url: own?.url }).finally(() => own?.drop());
  }

  it('four processes that come first at once find the same tables', () =>
    inNew(async ({ home, url }) => {
      const keys = ['a', 'b', 'c', 'd'];
      await Promise.all(keys.map((key) => promisify(execFile)(process.execPath, [opening, home, url ?? '-', key])));
      const db = await openDatabase({ home, url });
      const found = await db.all<{ key: string }>("select key from setting where value = 'here' order by key");
      expect(found.map(({ key }) => key)).toEqual(keys);
      await db.close();
    }));

  it.each([
    ['a newer nocturne', SCHEMA_VERSION + 1, /newer nocturne \(tables \d+/, /Update/],
    ['an older one', -1, /another nocturne \(tables/, /move the database away/],
    ['another program', 0, /tables of another program/, /of its own/],
  ])('the tables of %s are refused, and stay', (_, version, words, remedy) =>
    inNew(async ({ home, url }) => {
      if (engine === 'sqlite') {
        mkdirSync(home, { recursive: true });
        const other = new Database(databasePath(home));
        other.exec('create table setting (key text, mine integer)');
        other.pragma(`user_version = ${version}`);
        other.close();
      } else {
        const pg = await import('pg');
        const client = new pg.default.Client({ connectionString: url });
        await client.connect();
        await client.query('create table setting (key text, mine text)');
        if (version !== 0) {
          await client.query('alter table setting rename mine to value');
          await client.query("insert into setting (key, value) values ('schema', $1)", [String(version)]);
        }
        await client.end();
      }
      const before = engine === 'sqlite' ? readFileSync(databasePath(home)) : null;
      const told = await openDatabase({ home, url }).catch((error: unknown) => error);
      expect(told).toMatchObject({
        code: 'storage',
        message: expect.stringMatching(words),
        remedy: expect.stringMatching(remedy),
      });
      if (before) expect(readFileSync(databasePath(home))).toEqual(before);
    }),
  );
});

test('the database is for its user alone, with what SQLite puts beside it', async () => {
  const home = join(tempDir(), 'home');
  const before = process.umask(0);
  try {
    const db = await openDatabase({ home });
    await db.run("insert into setting (key, value) values ('a', '1')");
    const path = databasePath(home);
    for (const each of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(each).mode & 0o777).toBe(0o600);
    await db.close();
  } finally {
    process.umask(before);
  }
});

test('a file that cannot be used says why', async () => {
  const home = join(tempDir(), 'home');
  mkdirSync(databasePath(home), { recursive: true });
  await expect(openDatabase({ home })).rejects.toMatchObject({
    code: 'storage',
    remedy: expect.stringContaining('may write there'),
  });
});
