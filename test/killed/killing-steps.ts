// Kills this process at the nth step (from 1) by which it changes or asks something outside: a call that changes a file, a statement
// to SQLite or PostgreSQL, a request to a model. KILLED_AT: `n`; 0: never, and the steps are counted.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import Database from 'better-sqlite3';
import pg from 'pg';

const at = Number(process.env.KILLED_AT);
export const steps = { taken: 0 };

function step(): void {
  steps.taken += 1;
  if (steps.taken === at) process.kill(process.pid, 'SIGKILL');
}

type Call = (...args: unknown[]) => unknown;

function counting(of: object, names: readonly string[]): void {
  for (const name of names) {
    const call = Reflect.get(of, name) as Call;
    const counted = function (this: unknown, ...args: unknown[]) {
      step();
      return call.apply(this, args);
    };
    Object.assign(of, { [name]: counted });
  }
}

const WRITES = 'renameSync linkSync writeFileSync fsyncSync rmSync unlinkSync mkdirSync copyFileSync';
counting(fs, WRITES.split(' '));
syncBuiltinESMExports();
counting(Database.prototype, ['exec']);
counting(pg.Client.prototype, ['query']);
counting(globalThis, ['fetch']);

const { prepare } = Database.prototype;
Database.prototype.prepare = function (this: Database.Database, sql: string) {
  const statement: object = prepare.call(this, sql);
  counting(statement, ['run', 'all', 'get']);
  return statement;
} as typeof prepare;
