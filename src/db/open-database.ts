// Opens the one database of a home: `nocturne.db` in it, or PostgreSQL where a URL is set. It makes the tables where there are
// none, and refuses those of another nocturne, newer or older, with words. Opening looks for no damage: what is damaged says so
// when it is read.

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError, isAppError } from '../base/errors.ts';
import { listNames } from '../base/files/directories.ts';
import { makeDirectory, makeFile, readTextNow, statNow } from '../base/files/files.ts';
import type { Db } from './sql.ts';

/** Another number with every change of schema.sql but for columns that nobody reads and that go, until there is a release. */
export const SCHEMA_VERSION = 5;

/**
 * In the index of SQLite the lines of a memory stand together, by a number made of the last five digits of its id: so a search
 * costs what there is in one memory, however many others there are. Two with one number are told apart by their lines.
 */
export const LINES_OF_MEMORY = 2 ** 32;

const DIGITS = '0123456789abcdef';

export function lineBucket(memory: string): number {
  return [...memory.slice(-5)].reduceRight((sum, digit) => sum * 17 + DIGITS.indexOf(digit) + 1, 0);
}

/** The same in SQL, with where a line stands in it. */
function placeOf(row: 'new' | 'old'): string {
  const digit = (n: number) => `instr('${DIGITS}', substr(${row}.memory, -${n}, 1))`;
  const bucket = [1, 2, 3, 4, 5].map(digit).reduce((sum, next) => `(${sum}) * 17 + ${next}`);
  return `(${bucket}) * ${LINES_OF_MEMORY} + ${row}.id`;
}

const SEARCH = {
  sqlite: `create virtual table line_fts using fts5(text, content = '', contentless_delete = 1, tokenize = 'trigram');
create trigger line_in after insert on line begin insert into line_fts (rowid, text) values (${placeOf('new')}, new.text); end;
create trigger line_out after delete on line begin delete from line_fts where rowid = ${placeOf('old')}; end;`,
  postgres: `create extension if not exists pg_trgm; create extension if not exists btree_gin; create index line_text on line using gin (memory, text gin_trgm_ops);`,
};

export function databasePath(home: string): string {
  return join(home, 'nocturne.db');
}

/**
 * Opens it, to be closed. Errors: `storage` where the file cannot be used or other tables are there, `bad-input` for a wrong URL,
 * `database-unavailable`.
 */
export async function openDatabase({ home, url }: { home: string; url?: string }): Promise<Db> {
  return url === undefined ? openFile(databasePath(home)) : openServer(url);
}

/** Whether this is the name of a copy of the database, as backup.ts gives it. */
export function isCopy(name: string): boolean {
  return /^nocturne-.*\.db$/.test(name);
}

/** What is said where it is lost, and copies are left. */
export function lostDatabase(path: string): AppError | null {
  if ((statNow(path)?.bytes ?? 0) > 0 || !listNames(join(dirname(path), 'backups')).some(isCopy)) return null;
  const remedy = 'Run nocturne check --restore: it takes the newest good copy.';
  return new AppError('storage', `${path} is gone or empty, and there are copies of it.`, { remedy });
}

async function openFile(path: string): Promise<Db> {
  const [{ connect, inTurn, openSqlite, telling }, { leaveMark }] = await Promise.all([
    import('./sqlite.ts'),
    import('./old-database.ts'),
  ]);
  makeDirectory(dirname(path));
  const lost = lostDatabase(path);
  if (lost) throw lost;
  // An earlier nocturne would begin a home of its own here.
  leaveMark(join(dirname(path), 'home.db'));
  // What SQLite puts beside it gets its mode.
  makeFile(path);
  const db = telling(path, () => connect(path));
  try {
    /** Whether the tables are there; refuses others. */
    const isMade = () => {
      const version = db.pragma('user_version', { simple: true }) as number;
      if (version === SCHEMA_VERSION) return true;
      if (version !== 0 || db.prepare('select 1 from sqlite_schema').get()) throw otherTables(path, version);
      return false;
    };
    if (!(await inTurn(path, isMade))) {
      await inTurn(path, () => db.pragma('journal_mode = wal'));
      const make = db.transaction(() => {
        // Another process may have been faster.
        if (isMade()) return;
        db.exec(strict(schema()));
        db.exec(SEARCH.sqlite);
        db.pragma(`user_version = ${SCHEMA_VERSION}`);
      });
      await inTurn(path, () => make.immediate());
    }
    return openSqlite(path, db);
  } catch (error) {
    db.close();
    throw error;
  }
}

async function openServer(url: string): Promise<Db> {
  const { openPostgres } = await import('./postgres.ts');
  const db = await openPostgres(url);
  try {
    const tables = "select 1 from pg_class where oid = to_regclass('setting')";
    if (!(await db.get(tables))) {
      await db.write(async (sql) => {
        await sql.run("select pg_advisory_xact_lock(hashtext('nocturne'))");
        if (await sql.get(tables)) return;
        await sql.run(forPostgres(schema()));
        await sql.run("insert into setting (key, value) values ('schema', ?)", String(SCHEMA_VERSION));
      });
    }
    const version = "select value from setting where key = 'schema'";
    const found = await db.get<{ value: string }>(version).catch((error) => {
      if (isAppError(error)) throw error;
    });
    if (Number(found?.value) !== SCHEMA_VERSION) throw otherTables(db.name, Number(found?.value));
    // Where the extension is refused, search goes through the lines.
    const isSearched = await db.get("select 1 from pg_class where oid = to_regclass('line_text')");
    if (!isSearched) await db.run(SEARCH.postgres).catch(() => undefined);
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** `found`: their number; 0 or none are no nocturne's. */
function otherTables(name: string, found: number): AppError {
  const [by, remedy] =
    found > SCHEMA_VERSION
      ? ['a newer nocturne', 'Update nocturne on this machine.']
      : ['another nocturne', 'Use that nocturne, or move the database away: this one then starts a new one.'];
  if (found) return new AppError('storage', `${name} was written by ${by} (tables ${found}).`, { remedy });
  return new AppError('storage', `${name} has tables of another program.`, {
    remedy: 'Give nocturne a database of its own.',
  });
}

function schema(): string {
  return readTextNow(fileURLToPath(new URL('./schema.sql', import.meta.url))) ?? '';
}

/** SQLite checks the types of columns where it is told to. */
function strict(sql: string): string {
  return sql.replace(/^(create table [^;]*\));$/gm, '$1 strict;');
}

/** The same tables in the types of PostgreSQL; texts are compared by their bytes, as in SQLite. */
function forPostgres(sql: string): string {
  return sql
    .replace(/--[^\n]*/g, '')
    .replace(/integer primary key autoincrement/g, 'bigint generated by default as identity primary key')
    .replace(/\binteger\b/g, 'bigint')
    .replace(/\bblob\b/g, 'bytea')
    .replace(/([(,]\s*\w+) text\b/g, '$1 text collate "C"');
}
