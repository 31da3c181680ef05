// The seam to SQL: the same statement has the same answer in both engines.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allOf, type Db, insert, replace } from '../../src/db/sql.ts';
import { ENGINES, inWorld, skipped } from '../support/memory-world.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Names in the order of their bytes: not that of a language, and not that of JavaScript. */
const NAMES = ['', 'A', 'Z', '_', 'a', 'a b', 'a-b', 'a.md', 'a/b', 'ab', 'b', 'Ä', 'ä', 'ａ', '\u{1f600}'];

async function withNames(db: Db): Promise<void> {
  await insert(
    db,
    'setting',
    NAMES.toReversed().map((key) => ({ key: `n:${key}`, value: String(NAMES.indexOf(key)) })),
  );
}

describe.each(ENGINES)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('texts are sorted and compared by their bytes', () =>
    inWorld(engine, async ({ db }) => {
      await withNames(db);
      const sorted = await db.all<{ key: string }>(
        "select key from setting where key >= 'n:' and key < 'n;' order by key",
      );
      expect(sorted.map(({ key }) => key.slice(2))).toEqual(NAMES);
      for (const [at, name] of NAMES.entries()) {
        const behind = 'select count(*) as n from setting where key > ? and key < ?';
        expect(await db.get(behind, `n:${name}`, 'n;')).toEqual({ n: NAMES.length - 1 - at });
        expect(await db.get('select value from setting where key = ?', `n:${name}`)).toEqual({ value: String(at) });
      }
      const like = 'select count(*) as n from setting where key like ?';
      expect(await db.get(like, 'n:a%')).toEqual({ n: NAMES.filter((name) => name.startsWith('a')).length });
      expect(await db.get(like, 'n:_')).toEqual({ n: NAMES.filter((name) => [...name].length === 1).length });
      const last = await db.get<{ key: string }>("select max(key) as key from setting where key < 'n;'");
      expect(last?.key).toBe('n:\u{1f600}');
    }));

  it('numbers, sums, truth values and nulls are told alike', () =>
    inWorld(engine, async ({ db }) => {
      const day = { day: '2026-03-02', tokens: 3_000_000_001, micro_usd: 0, calls: 1 };
      await insert(db, 'day', [
        { ...day, scope: 'a' },
        { ...day, scope: 'b', tokens: 4, calls: 2 },
      ]);
      expect(
        await db.get(
          'select sum(tokens) as sum, count(*) as n, max(calls) as most, sum(calls) filter (where calls > 9) as none from day',
        ),
      ).toEqual({ sum: 3_000_000_005, n: 2, most: 2, none: null });
      expect(await db.all('select tokens + ? as more, calls > ? as "isMore" from day order by scope', 1, 1)).toEqual([
        { more: 3_000_000_002, isMore: 0 },
        { more: 5, isMore: 1 },
      ]);
      expect(await db.run('update day set tokens = tokens + ? where tokens + ? <= ?', 10, 10, 20)).toBe(1);
      expect(await db.get('select coalesce(max(tokens), 0) as n from day where scope = ?', 'none')).toEqual({ n: 0 });
    }));

  it('bytes come back as they were, and a text without what no text can hold', () =>
    inWorld(engine, async ({ db }) => {
      await db.run("insert into memory (id, scope, name, created_at, updated_at) values ('m', 'store', 'm', '', '')");
      await db.run("insert into session (id, name, memory, created_at) values ('s', 's', 'm', '')");
      const bodies = [Buffer.alloc(0), Buffer.from([0, 255, 0, 128]), new Uint8Array([1, 2]), Buffer.from('ä\0')];
      await insert(
        db,
        'piece',
        bodies.map((body, n) => ({ session: 's', n, body })),
      );
      const found = await db.all<{ body: Buffer }>('select body from piece order by n');
      expect(found.map(({ body }) => [...body])).toEqual(bodies.map((body) => [...body]));
      await db.run('insert into setting (key, value) values (?, ?)', 'a\0b', 'half \ud83d of one');
      expect(await db.get('select key, value from setting where key = ?', 'a\0b')).toEqual({
        key: 'a\ufffdb',
        value: 'half \ufffd of one',
      });
    }));

  it('rows are inserted, replaced, returned and counted, however many they are', () =>
    inWorld(engine, async ({ db }) => {
      const rows = Array.from({ length: 2_500 }, (_, n) => ({ key: `k${n}`, value: 'one' }));
      await db.write((sql) => insert(sql, 'setting', rows));
      await db.write((sql) => insert(sql, 'setting', rows, 'on conflict do nothing'));
      await replace(db, 'setting', ['key'], { key: 'k7', value: 'two' });
      const keys = rows.map(({ key }) => key);
      const select = 'select key from setting where value = ? and key in (#)';
      expect(await allOf(db, select, keys, 'one')).toHaveLength(2_499);
      expect(await db.run("delete from setting where value = 'one'")).toBe(2_499);
      expect(await db.run("delete from setting where value = 'one'")).toBe(0);
      const returning = "update setting set value = value || '!' where key = ? returning value";
      expect(await db.write((sql) => sql.get(returning, 'k7'))).toEqual({ value: 'two!' });
      expect(await db.get(`select value from setting where key = 'none'`)).toBeUndefined();
      await expect(insert(db, 'setting', [{ key: 'k7', value: 'three' }])).rejects.toThrow();
      await expect(db.run('insert into setting (key, value) values (?, ?)', 'null', null)).rejects.toThrow();
      await insert(db, 'setting', []);
    }));
});

/** The texts of SQL in the sources, with the file of each; what is put into a template is left out. */
function statements(): { path: string; sql: string }[] {
  const files = ['src', 'jobs'].flatMap((top) =>
    readdirSync(join(ROOT, top), { recursive: true, encoding: 'utf8' })
      .map((path) => join(top, path))
      .filter((path) => path.endsWith('.ts') && !/^src\/(?:base|rules|transcript|agent)\//.test(path)),
  );
  return files.flatMap((path) => {
    const code = readFileSync(join(ROOT, path), 'utf8').replace(/^\s*(?:\/\/|\/?\*).*$/gm, '');
    const literals = code.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g);
    return [...literals]
      .map(([, ...given]) => ({
        path,
        sql: (given.find((text) => text !== undefined) ?? '').replace(/\$\{[^}]*\}/g, ''),
      }))
      .filter(({ sql }) =>
        /^\s*(?:select|insert into|update|delete from|with|create|drop|alter)\b|\b(?:where|order by|on conflict)\b/.test(
          sql,
        ),
      );
  });
}

/** What the engines lack, or read differently, with where it is right all the same. */
const FORBIDDEN: [RegExp, RegExp?][] = [
  // Of literals, not of what is between two.
  [/^[^']*(?:'[^']*'[^']*)*'[^'?]*\?[^']*'/],
  [/json_each|json_extract|->>/],
  [
    /\browid\b|\bglob\b|\binstr\b|\bifnull\b|insert or |\bgroup_concat\b|\bstring_agg\b/,
    /^src\/(?:db\/open-database|memory\/search)\.ts$/,
  ],
  [/::|\bany\s*\(|\bnow\(\)|\bgreatest\b|\bleast\b/],
  [/\bilike\b|\bmatch\b/i, /^src\/memory\/search\.ts$/],
  // Only of ASCII in one of them.
  [/\b(?:lower|upper)\(/],
  // Quietly one and a half in one of them, for what is beyond 32 bits.
  [/\?\s*\/|\/\s*\?/],
  [/\b(?:true|false)\b/],
];

test('no text of SQL uses what only one engine has, or what they read differently', () => {
  const found = statements();
  expect(found.length).toBeGreaterThan(40);
  const wrong = found.flatMap(({ path, sql }) =>
    FORBIDDEN.filter(([what, where]) => what.test(sql) && !where?.test(path)).map(
      ([what]) => `${path}: ${what} in ${sql}`,
    ),
  );
  expect(wrong).toEqual([]);
});
