// What a damaged file of ours still gives, for one that is made anew.

import Database from 'better-sqlite3';
import type { Value } from './database.ts';

/**
 * @internal
 * Copies the rows that a damaged file still gives into a new database, table by table; answers the tables of which some
 * may be lacking.
 */
export function salvageRows(from: string, into: Database.Database, tables: string[]): Set<string> {
  let old: Database.Database;
  try {
    old = new Database(from, { readonly: true, fileMustExist: true });
  } catch {
    return new Set(tables);
  }
  try {
    return new Set(tables.filter((table) => !salvageTable(old, { table, into })));
  } finally {
    old.close();
  }
}

/**
 * @internal
 * Makes the tables that wings have in a damaged file in a new one, where it still says what they are; answers them, with
 * the table that notes them.
 */
export function makeTablesOfWings(from: string, into: Database.Database): string[] {
  let old: Database.Database | undefined;
  try {
    old = new Database(from, { readonly: true, fileMustExist: true });
    const noted = old.prepare<[], string>('select tables from wing_version').pluck().all();
    const tables = noted.flatMap((each) => JSON.parse(each) as string[]);
    const made = old.prepare<[string], string>(
      "select sql from sqlite_master where tbl_name = ? and sql is not null order by type = 'index'",
    );
    const steps = tables.flatMap((table) => made.pluck().all(table));
    into.transaction(() => {
      for (const sql of steps) into.exec(sql);
    })();
    return tables.length > 0 ? [...tables, 'wing_version'] : [];
  } catch {
    return [];
  } finally {
    old?.close();
  }
}

/** Whether all rows of the table are sure to be there. */
function salvageTable(old: Database.Database, { table, into }: { table: string; into: Database.Database }): boolean {
  try {
    const namesOf = (db: Database.Database) =>
      (db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name);
    const known = new Set(namesOf(into));
    const columns = namesOf(old).filter((name) => known.has(name));
    const insert = into.prepare(
      `insert or replace into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
    );
    let isWhole = true;
    for (const row of old
      .prepare<[], Value[]>(`select ${columns.join(', ')} from ${table}`)
      .raw(true)
      .iterate()) {
      try {
        insert.run(...row);
      } catch {
        isWhole = false;
      }
    }
    const [checked] = old.pragma(`quick_check('${table}')`) as { quick_check: string }[];
    return isWhole && checked?.quick_check === 'ok';
  } catch {
    return false;
  }
}
