import { expect, test } from 'vitest';
import { toPostgres, toPostgresTables } from '../../../../src/wings/fleet/home/dialect.ts';

test('values are named by their place; a question mark in quotes is none', () => {
  expect(toPostgres(`select "a?" from b where c = ? and d <> 'it''s ?' and e in (?, ?)`)).toBe(
    `select "a?" from b where c = $1 and d <> 'it''s ?' and e in ($2, $3)`,
  );
});

test('what makes a table and fills it says the same in PostgreSQL', () => {
  const tables = `
create table note (id integer primary key check (id = 1), body text not null default 'text; integer', size real,
  bytes blob, kind text) strict, without rowid;
create unique index note_kind on note (kind) where kind <> ';';
insert into note values (1, 'text', null, null, null);
`;
  expect(toPostgresTables(tables)).toBe(
    `create table note (id bigint primary key check (id = 1), body text collate "C" not null default 'text; integer', size double precision,
  bytes bytea, kind text collate "C");
create trigger note_change before insert or update or delete on note for each statement execute function note_change();
create unique index note_kind on note (kind) where kind <> ';';
insert into note values (1, 'text', null, null, null)`,
  );
});

test.each([
  'create virtual table a using fts5 (b)',
  'pragma user_version = 1',
  'create trigger a after insert on b begin select 1; end',
])('what is not known to be the same is refused: %s', (sql) =>
  expect(() => toPostgresTables(sql)).toThrow('not known to be the same in PostgreSQL'),
);
