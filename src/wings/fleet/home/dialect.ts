// The home's SQL as PostgreSQL speaks it: statements differ in how values are named, what makes tables in the
// names of types and in what SQLite says of a table. What is not known to say the same is refused, not guessed.

/** The PostgreSQL schema of the home's tables. */
export const HOME_SCHEMA = 'nocturne_home';

/** Before all tables: the row that everything that writes changes first. It is the lock, and its number the home's sign. */
export const CHANGE = `
create table change (number bigint not null);
insert into change values (0);
create function note_change() returns trigger language plpgsql as $$
begin
  update ${HOME_SCHEMA}.change set number = number + 1;
  return null;
end $$;
`;

const TYPES: Record<string, string> = {
  integer: 'bigint',
  text: 'text collate "C"',
  blob: 'bytea',
  real: 'double precision',
};
const STATEMENTS = /^(?:create table|create (?:unique )?index|insert into)\s/i;
const known = new Map<string, string>();

/** A statement with `?` for each value, with `$1` and so on for them. */
export function toPostgres(sql: string): string {
  let made = known.get(sql);
  if (made === undefined) {
    let count = 0;
    made = sql.replace(/'[^']*'|"[^"]*"|\?/g, (found) => {
      if (found !== '?') return found;
      count += 1;
      return `$${count}`;
    });
    known.set(sql, made);
  }
  return made;
}

/** Statements of SQLite's that make tables. */
export function toPostgresTables(sql: string): string {
  return statementsOf(sql).map(toPostgresStatement).join(';\n');
}

function toPostgresStatement(sql: string): string {
  if (!STATEMENTS.test(sql)) throw new Error(`not known to be the same in PostgreSQL: ${sql}`);
  const table = /^create table (\w+)/i.exec(sql)?.[1];
  if (table) {
    const made = withTypes(sql.replace(/\)\s*strict(?:,\s*without rowid)?$/i, ')'));
    return `${made};
create trigger note_change before insert or update or delete on ${table} for each statement execute function note_change()`;
  }
  return sql;
}

function withTypes(sql: string): string {
  return outsideQuotes(sql, (part) =>
    part.replace(/\b(?:integer|text|blob|real)\b/gi, (type) => TYPES[type.toLowerCase()] ?? type),
  );
}

function statementsOf(sql: string): string[] {
  const marked = outsideQuotes(sql, (part) => part.replaceAll(';', '\0'));
  return marked
    .split('\0')
    .map((each) => each.trim())
    .filter(Boolean);
}

function outsideQuotes(sql: string, change: (part: string) => string): string {
  return sql.replace(/'[^']*'|"[^"]*"|[^'"]+/g, (part) => (/^['"]/.test(part) ? part : change(part)));
}
