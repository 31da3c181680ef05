// What one process of all does at a time, on a PostgreSQL database of the file's own.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Alone } from '../../../src/wings/fleet/alone.ts';
import { type Database, openDatabase } from '../../../src/wings/fleet/postgres.ts';
import { noPostgres, type OwnDatabase, ownDatabase } from './own-database.ts';

describe.skipIf(noPostgres)(`alone ${noPostgres}`, () => {
  let own: OwnDatabase;
  let database: Database;
  beforeAll(async () => {
    own = await ownDatabase();
    database = await openDatabase(own.url);
  });
  afterAll(async () => {
    await database.close();
    await own.drop();
  });
  const machine = (leaseMs?: number) => new Alone(database.ask, { leaseMs });

  test('of eight that ask at once one does it, and when it is done the next may', async () => {
    const held = Promise.withResolvers<string>();
    const machines = Array.from({ length: 8 }, () => machine());
    let begun = 0;
    let refused = 0;
    const asked = machines.map(async (each) => {
      const answer = await each.do('look', () => {
        begun += 1;
        return held.promise;
      });
      if (answer === null) refused += 1;
      if (refused === 7) held.resolve('done');
      return answer;
    });
    const answers = await Promise.all(asked);
    expect([begun, answers.filter((each) => each === 'done').length]).toEqual([1, 1]);
    expect(await machines[3]?.do('look', async () => 'again')).toBe('again');
  });

  test('what is kept for a process it does again and nobody else, until it ends; what is called otherwise is free', async () => {
    const [one, other] = [machine(), machine()];
    expect(await one.do('kept', async () => 1, { keepMs: 60_000 })).toBe(1);
    expect(await other.do('kept', async () => 2)).toBeNull();
    expect(await other.do('free', async () => 2)).toBe(2);
    expect(await one.do('kept', async () => 3, { keepMs: 60_000 })).toBe(3);
    await one.close();
    expect(await other.do('kept', async () => 4)).toBe(4);
  });

  test('the work of a process that died is another’s once its time is over, and a failure lets it go', async () => {
    const hangs = Promise.withResolvers<void>();
    const dead = machine().do('died', () => hangs.promise);
    const other = machine();
    while ((await own.ask("select from alone where name = 'died'")).length === 0);
    expect(await other.do('died', async () => 'mine')).toBeNull();
    await own.ask("update alone set until = clock_timestamp() - interval '1 second' where name = 'died'");
    expect(await other.do('died', async () => 'mine')).toBe('mine');
    hangs.resolve();
    await dead;
    await expect(other.do('fails', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await machine().do('fails', async () => 'free')).toBe('free');
  });
});
