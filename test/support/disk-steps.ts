// Tells of every step by which this process changes the disk: a call that changes a file, a statement outside of a
// transaction, a transaction's beginning or its end. What a crash inside a transaction takes back needs no look of its
// own.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import Database from 'better-sqlite3';

/** Calls `step` before each; what it throws is thrown in the step's place. Answers what takes that back. */
export function onEachStep(step: () => void): () => void {
  const names = ['renameSync', 'linkSync', 'writeFileSync', 'fsyncSync', 'rmSync'] as const;
  const calls = Object.fromEntries(names.map((name) => [name, fs[name]]));
  const { prepare, transaction } = Database.prototype;

  for (const name of names) {
    const call = fs[name] as (...args: unknown[]) => unknown;
    Object.assign(fs, {
      [name](this: unknown, ...args: unknown[]) {
        step();
        return call.apply(this, args);
      },
    });
  }
  syncBuiltinESMExports();

  Database.prototype.prepare = function (this: Database.Database, sql: string) {
    const statement: Database.Statement<unknown[]> = prepare.call(this, sql);
    const run = statement.run.bind(statement);
    statement.run = (...values) => {
      if (!this.inTransaction) step();
      return run(...values);
    };
    return statement;
  } as typeof prepare;

  Database.prototype.transaction = function (this: Database.Database, work: () => unknown) {
    const whole: ReturnType<typeof transaction> = transaction.call(this, work);
    const immediate = () => {
      if (this.inTransaction) return whole.immediate();
      step();
      const result = whole.immediate();
      step();
      return result;
    };
    return Object.assign(() => whole(), { ...whole, immediate });
  } as typeof transaction;

  return () => {
    Object.assign(fs, calls);
    syncBuiltinESMExports();
    Object.assign(Database.prototype, { prepare, transaction });
  };
}
