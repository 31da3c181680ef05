// A new database is put at its place whole: as if it had been made there, whoever else makes it, and wherever its
// making is cut off.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { openHome } from '../../../src/memory/home/home.ts';
import { beginJob } from '../../../src/memory/ledger/job-rows.ts';
import { ledgerDamage, openLedger, readTextOrDatabase } from '../../../src/memory/ledger/ledger.ts';
import { copyBefore } from '../../support/before.ts';
import { sized } from '../../support/depth.ts';
import { onFaultyDisk } from '../../support/faulty-files.ts';
import { tempDir } from '../../support/temp.ts';

const now = new Date('2026-11-20T10:00:00Z');
const clock = fixedClock(now.toISOString());
const KINDS = [
  { name: 'ledger', file: '.nocturne/ledger.db', open: (dir: string) => openLedger(dir) },
  { name: 'home', file: 'home.db', open: (dir: string) => openHome(dir, clock) },
];
const OPENER = join(import.meta.dirname, '../../fixtures/memory/opener.ts');

/** What a new one is made of. */
function schemaOf(kind = KINDS[0]) {
  const dir = tempDir();
  kind?.open(dir).close();
  return contents(join(dir, kind?.file ?? '')).schema;
}

/** Everything that a database says of itself, but for where in the file it stands. */
function contents(path: string) {
  const db = new Database(path, { fileMustExist: true });
  try {
    const schema = db.prepare('select type, name, tbl_name, sql from sqlite_master order by type, name').all();
    const tables = (schema as { type: string; name: string }[]).filter(({ type }) => type === 'table');
    const rows = tables.map(({ name }) => [name, db.prepare(`select * from "${name}"`).all()]);
    const names = ['user_version', 'application_id', 'journal_mode', 'page_size', 'encoding', 'auto_vacuum'];
    const pragmas = names.map((name) => [name, db.pragma(name, { simple: true })]);
    return { schema, rows, pragmas, isSound: db.pragma('integrity_check', { simple: true }) };
  } finally {
    db.close();
  }
}

/** The same of a file that was made in its place: one that was there before, with nothing in it. */
async function madeInPlace({ file, open }: (typeof KINDS)[number]) {
  const path = join(tempDir(), file);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, '', { mode: 0o600 });
  const opened = open(path.slice(0, -file.length));
  // Its tables are in its log.
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0);
  await opened.close();
  return contents(path);
}

/** What changes the disk when one is made, in its order. */
async function callsOf({ open }: (typeof KINDS)[number]): Promise<string[]> {
  const calls: string[] = [];
  for (let at = 1; ; at += 1) {
    const { failed } = await onFaultyDisk({ at, kind: 'after' }, async () => open(tempDir()).close());
    if (failed === null) return calls;
    calls.push(failed);
  }
}

const leftovers = (dir: string) =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.tmp'));

test.each(KINDS)('a new $name is what its schema makes, private, and nothing is left beside it', async (kind) => {
  const dir = tempDir();
  const path = join(dir, kind.file);
  const opened = kind.open(dir);
  expect(statSync(`${path}-wal`).size).toBe(0);
  for (const end of ['', '-wal', '-shm']) expect(statSync(path + end).mode & 0o777).toBe(0o600);
  await opened.close();
  const made = contents(path);
  expect(made).toEqual(await madeInPlace(kind));
  expect(made.isSound).toBe('ok');
  expect(made.pragmas).toContainEqual(['journal_mode', 'wal']);
  expect(made.schema.length).toBeGreaterThan(5);
  expect(leftovers(dir)).toEqual([]);
  expect(statSync(path).nlink).toBe(1);
});

test('what is written to a new ledger waits for the disk and is wiped where it is deleted', () => {
  const ledger = openLedger(tempDir());
  const pragmas = ['synchronous', 'secure_delete', 'temp_store', 'busy_timeout'];
  expect(pragmas.map((name) => Object.values(ledger.get(`pragma ${name}`) ?? {})[0])).toEqual([2, 1, 2, 15_000]);
  ledger.close();
});

test('of a new copy of what is kept elsewhere, all is in its log', () => {
  const dir = tempDir();
  const ledger = openLedger(dir, undefined, { isCopy: true });
  expect(statSync(join(dir, '.nocturne/ledger.db-wal')).size).toBeGreaterThan(100_000);
  ledger.closeWithoutLog();
});

test.each(KINDS)(
  'whatever call fails while a $name is made, the next opening finds or makes it whole',
  async (kind) => {
    const whole = await madeInPlace(kind);
    const { calls } = await onFaultyDisk({ at: 0, kind: 'error' }, async () => kind.open(tempDir()).close());
    for (const fault of ['error', 'crash', 'after'] as const) {
      for (let at = 1; at <= calls; at += 1) {
        const dir = tempDir();
        await onFaultyDisk({ at, kind: fault }, async () => kind.open(dir).close());
        await kind.open(dir).close();
        expect(contents(join(dir, kind.file))).toEqual(whole);
      }
    }
  },
);

test.each(KINDS)('where no file can have two names, a $name is made in its place', async (kind) => {
  const dir = tempDir();
  const at = (await callsOf(kind)).indexOf('linkSync') + 1;
  await onFaultyDisk({ at, kind: 'error' }, async () => {
    const opened = kind.open(dir);
    expect(statSync(join(dir, `${kind.file}-wal`)).size).toBeGreaterThan(0);
    await opened.close();
  });
  expect(leftovers(dir)).toEqual([]);
  expect(contents(join(dir, kind.file))).toEqual(await madeInPlace(kind));
});

test('the log of a ledger that is gone does not come into the new one', () => {
  const dir = tempDir();
  const log = join(dir, '.nocturne/ledger.db-wal');
  const first = openLedger(dir);
  beginJob(first, { kind: 'dream', now });
  copyFileSync(log, join(dir, 'kept'));
  first.close();
  renameSync(join(dir, '.nocturne/ledger.db'), join(dir, 'gone'));
  renameSync(join(dir, 'kept'), log);
  const second = openLedger(dir);
  expect(second.all('select * from job')).toEqual([]);
  second.close();
  expect(ledgerDamage(dir)).toEqual([]);
});

/** A process that opens what it is told; `diesAt`: before its call of that number that changes the disk. */
function opener(...diesAt: string[]) {
  const child = spawn(process.execPath, [OPENER, ...diesAt], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, line: async () => (await lines.next()).value as string | undefined };
}

test('processes that begin the same memory and the same home at once each find it whole, and lose nothing', async () => {
  const openers = [opener(), opener(), opener()];
  for (const each of openers) expect(await each.line()).toBe('ready');
  for (let round = 0; round < sized({ quick: 15, deep: 200 }); round += 1) {
    const dir = tempDir();
    for (const { child } of openers) child.stdin.write(`${dir}\n`);
    for (const each of openers) expect(await each.line()).toBe('done');
    expect(leftovers(dir)).toEqual([]);
    const ledger = openLedger(dir);
    expect(ledger.all('select id from job')).toHaveLength(openers.length);
    ledger.close();
    const home = openHome(dir, clock);
    expect(await home.stores()).toHaveLength(openers.length);
    await home.close();
  }
  for (const { child } of openers) child.stdin.end();
  for (const { child } of openers) if (child.exitCode === null) await once(child, 'close');
});

test('beside what a process left that was killed while it made one, a ledger is begun and read as ever', async () => {
  const [kind] = KINDS as [(typeof KINDS)[number]];
  const whole = await madeInPlace(kind);
  const calls = await callsOf(kind);
  for (const [index, call] of calls.entries()) {
    // Before it has written anything, and while it has two names.
    if (!sized({ quick: ['writeFileSync', 'rmSync'], deep: calls }).includes(call)) continue;
    const dir = tempDir();
    const path = join(dir, kind.file);
    const { child, line } = opener(String(index + 1));
    expect(await line()).toBe('ready');
    child.stdin.end(`${dir}\n`);
    await once(child, 'close');
    const left = leftovers(dir);
    if (call === 'writeFileSync') expect([left.length, existsSync(path)]).toEqual([1, false]);
    if (call === 'rmSync') expect([left.length, statSync(path).nlink]).toEqual([1, 2]);
    openLedger(dir).close();
    expect(contents(path)).toEqual(whole);
    for (const name of left) expect(await Array.fromAsync(readTextOrDatabase(join(dir, name)))).toEqual([]);
  }
});

/** All rows that are in a database, but for those that are made of others, and nulls: a column may be newer than its row. */
function rowsOf(path: string): Record<string, unknown[]> {
  const db = new Database(path, { readonly: true });
  const tables = db
    .prepare("select name from pragma_table_list where schema = 'main' and type = 'table'")
    .pluck()
    .all();
  const kept = (tables as string[]).filter((name) => !/^(?:sqlite_schema|wing_version|topic|topic_line)$/.test(name));
  const valuesOf = (row: unknown) => Object.entries(row as object).filter(([, value]) => value !== null);
  const rowsIn = (name: string) => db.prepare(`select * from "${name}"`).all().map(valuesOf).map(Object.fromEntries);
  const rows = kept.map((name) => [name, rowsIn(name)]);
  db.close();
  return Object.fromEntries(rows.filter(([, found]) => (found as unknown[]).length > 0));
}

test('whatever call fails while a database of an earlier schema is taken in, it is what it was or has every row', async () => {
  for (const kind of sized({ quick: ['crash'] as const, deep: ['error', 'crash', 'after'] as const })) {
    for (let at = 1, isDone = false; !isDone; at += 1) {
      const { home, memory } = copyBefore('waiting');
      const [ledger, ofHome] = [join(memory, '.nocturne/ledger.db'), join(home, 'home.db')];
      const before = [rowsOf(ledger), rowsOf(ofHome)];
      const { failed } = await onFaultyDisk({ at, kind }, async () => {
        openLedger(memory).close();
        await openHome(home, clock).close();
      });
      isDone = failed === null;
      openLedger(memory).close();
      await openHome(home, clock).close();
      expect([rowsOf(ledger), rowsOf(ofHome)]).toEqual(before);
      expect([rowsOf(`${ledger}.before-21`), rowsOf(`${ofHome}.before-12`)]).toEqual(before);
      expect([contents(ledger).schema, contents(ledger).isSound]).toEqual([schemaOf(KINDS[0]), 'ok']);
    }
  }
});

test('a database is taken in while another process has it open, which goes on in it', () => {
  const { memory } = copyBefore('waiting');
  const other = new Database(join(memory, '.nocturne/ledger.db'));
  const waiting = other.prepare('select count(*) from inbox').pluck();
  expect(waiting.get()).toBe(1);
  const ledger = openLedger(memory);
  other.prepare("delete from inbox where kind = 'extract'").run();
  expect([waiting.get(), ledger.all('select * from inbox')]).toEqual([0, []]);
  other.close();
  ledger.close();
});
