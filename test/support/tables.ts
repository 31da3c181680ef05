// A home's database with its tables and nothing in them, as a copy of one that this process made: that costs half of what making
// the tables anew does.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { databasePath, openDatabase } from '../../src/db/open-database.ts';
import { tempDir } from './temp.ts';

let made: Promise<Buffer> | undefined;

async function make(): Promise<Buffer> {
  const home = tempDir();
  await (await openDatabase({ home })).close();
  return readFileSync(databasePath(home));
}

/** For a directory in which there is nothing of nocturne's. */
export async function giveTables(home: string): Promise<void> {
  made ??= make();
  const tables = await made;
  if (!existsSync(databasePath(home))) writeFileSync(databasePath(home), tables, { mode: 0o600 });
}
