// The pages that a ledger's log holds are exactly what turns the file of before into the database of now.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { type Pages, pagesOfFile, pagesOfLog } from '../../../../src/wings/fleet/stores/log-pages.ts';
import { sized } from '../../../support/depth.ts';
import { seeded } from '../../../support/random.ts';
import { tempDir } from '../../../support/temp.ts';

const seeds = sized({ quick: 3, deep: 60 });

function opened() {
  const path = join(tempDir(), 'x.db');
  const db = new Database(path);
  onTestFinished(() => void db.close());
  for (const pragma of ['journal_mode = wal', 'wal_autocheckpoint = 0', 'secure_delete = on', 'cache_size = 5'])
    db.pragma(pragma);
  db.exec('create table t (id integer primary key, text text)');
  return { db, log: () => readFileSync(`${path}-wal`), empty: () => db.pragma('wal_checkpoint(truncate)') };
}

function applied(before: Buffer, { count, changed }: Pages): Buffer {
  const after = Buffer.alloc(count * 4_096);
  before.copy(after);
  for (const [number, bytes] of changed) bytes.copy(after, (number - 1) * 4_096);
  return after;
}

test('a log that holds no commit, is empty, or is none, has no pages', () => {
  const { log, empty } = opened();
  empty();
  expect(pagesOfLog(log())).toBeNull();
  expect(pagesOfLog(Buffer.alloc(100_000, 7))).toBeNull();
});

test.each(Array.from({ length: seeds }, (_, seed) => seed))(
  'after whatever was done and taken back, with seed %i',
  (seed) => {
    const random = seeded(seed + 1);
    const { db, log, empty } = opened();
    const insert = db.prepare('insert into t (text) values (?)');
    const some = () => Array.from({ length: 1 + random.below(60) }, () => 'x'.repeat(random.below(9_000)));
    const steps = [
      () => some().map((text) => insert.run(text)),
      () => db.prepare('delete from t where id % ? = 0').run(2 + random.below(4)),
      () => db.prepare("update t set text = text || 'y' where id % ? = 0").run(1 + random.below(5)),
      () => db.exec('vacuum'),
      () => {
        // More than fits into the cache: what is taken back lies in the log.
        db.exec('begin');
        for (let n = 0; n < 5; n += 1) some().map((text) => insert.run(text));
        db.exec('rollback');
      },
    ];
    for (let round = 0; round < 6; round += 1) {
      empty();
      const before = db.serialize();
      for (let n = 1 + random.below(4); n > 0; n -= 1) random.pick(steps)();
      const pages = pagesOfLog(log());
      const now = db.serialize();
      expect((pages ? applied(before, pages) : before).equals(now)).toBe(true);
      expect(applied(Buffer.alloc(0), pagesOfFile(now)).equals(now)).toBe(true);
    }
  },
);

test('a log that was cut off, or damaged, gives what was committed before that', () => {
  const { db, log, empty } = opened();
  empty();
  const insert = db.prepare('insert into t (text) values (?)');
  insert.run('first'.repeat(2_000));
  const { length } = log();
  insert.run('second'.repeat(2_000));
  expect(pagesOfLog(log())?.changed.size).toBeGreaterThan(
    pagesOfLog(log().subarray(0, length))?.changed.size as number,
  );
  for (const end of [length + 24, length + 5_000]) {
    expect(pagesOfLog(log().subarray(0, end))).toEqual(pagesOfLog(log().subarray(0, length)));
  }
  const damaged = log();
  damaged[length + 100] = (damaged[length + 100] as number) ^ 1;
  expect(pagesOfLog(damaged)).toEqual(pagesOfLog(log().subarray(0, length)));
});
