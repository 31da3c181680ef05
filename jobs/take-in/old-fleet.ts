// Take in: the PostgreSQL database that machines of an earlier nocturne shared. It kept each memory's ledger as the pages of a
// SQLite file, and beside it what waits, what was recalled, and transcripts.
//
// 1. In one transaction, while no other machine does: each memory, for the directories it stood for; then the home's rows.
// 2. In the same: its tables get other names, and stay; in their place stands that a newer nocturne works there.
//
// Promises: taken in whole or not at all, by whichever machine comes first.

import { type OldDatabase, readOld } from '../../src/db/old-database.ts';
import { insert, type Row, type Sql } from '../../src/db/sql.ts';
import { addMemory, type Memories, type Scope } from '../../src/memory/memories.ts';
import { copiesIn, keptParts, type OldStore, storeRow, takeInHomeRows } from './home-rows.ts';
import { projectOf, takeInLedger } from './old-ledger.ts';

const HOME_TABLES = [
  'pause',
  'nightly',
  'declined',
  'looked',
  'limits',
  'memory_store',
  'api_key',
  'key_spend',
  'spend',
];
const CLIENT_TABLES = ['server', 'sent_session', 'sent_part', 'dream'];
/** A number of tables that an earlier nocturne does not know. */
const NEWER = 900;

interface OldTranscript {
  store: string;
  kind: 'session' | 'part';
  name: string;
  session: string;
  redacted: string[];
  bytes: Buffer[];
}

export async function takeInFleet({
  memories,
  describe,
}: {
  memories: Memories;
  describe(dir: string): { scope: Scope; name: string };
}): Promise<void> {
  const { db, clock, machine } = memories;
  const now = clock.now();
  const at = now.toISOString();
  await db.write(async (sql) => {
    // 1.
    await sql.run("select pg_advisory_xact_lock(hashtext('nocturne before'))");
    const there = await sql.get<{ there: string | null }>("select to_regclass('nocturne.store') as there");
    if (there?.there == null) return;
    const home = await tablesOf(sql, 'nocturne_home', [...HOME_TABLES, ...CLIENT_TABLES]);
    const transcripts = await transcriptsIn(sql);
    const known = home.rows<OldStore>('memory_store');
    const stores = await sql.all<{ id: string; source: string | null; state: string }>(
      "select id, source, state from nocturne.store where state <> 'arriving' order by created_at, id",
    );
    const copies = copiesIn(home);
    for (const { id: store, source, state } of stores.sort(
      (a, b) => Number(copies.has(a.id)) - Number(copies.has(b.id)),
    )) {
      const row = known.find(({ id, dir }) => id === store || dir === store);
      const [, host = '', dir = ''] = /^([^:]*):(.*)$/s.exec(source ?? '') ?? [];
      const what = source === null ? { scope: 'store' as const, name: row?.name ?? store } : describe(dir);
      const { more, createdAt } = row ? storeRow(row) : { more: {}, createdAt: at };
      const deleted_at = state === 'removed' ? (row?.removed_at ?? at) : null;
      const id = row?.id ?? store;
      const ledger = await ledgerOf(sql, store);
      const name = (what.scope === 'project' && projectOf(ledger)) || what.name;
      const made = { ...more, deleted_at, id, scope: what.scope, name };
      await addMemory(sql, made, createdAt);
      if (source !== null) await insert(sql, 'place', [{ machine: `host:${host}`, path: dir, memory: id }]);
      const own = transcripts.filter((each) => each.store === store && each.kind === 'session');
      const kept = new Map(own.map(({ session, bytes }) => [session, bytes]));
      await takeInLedger(sql, ledger, { memory: id, hasDirectory: false, machine, at, kept });
      ledger.close();
      const redact = 'update session set redacted = ? where memory = ? and name = ?';
      for (const { session, redacted } of own.filter((each) => each.redacted.length > 0))
        await sql.run(redact, JSON.stringify(redacted), id, session);
    }
    const parts = new Map(transcripts.map(({ store, name, bytes }) => [`${store} ${name}`, Buffer.concat(bytes)]));
    const kept = keptParts(home, ({ store, session, file }) => parts.get(`${store} ${session}/${file}`) ?? null);
    await takeInHomeRows(sql, home, { of: 'the database', machine, now, kept });
    // 2.
    await sql.run('alter schema nocturne rename to nocturne_before');
    await sql.run('alter schema nocturne_home rename to nocturne_home_before');
    await sql.run('create schema nocturne');
    await sql.run('create table nocturne.database (id text not null, schema int not null)');
    await sql.run('insert into nocturne.database values (?, ?)', machine, NEWER);
  });
}

async function tablesOf(sql: Sql, schema: string, names: readonly string[]): Promise<OldDatabase> {
  const tables = new Map<string, Row[]>();
  for (const name of names) tables.set(name, await sql.all<Row>(`select * from ${schema}.${name}`));
  return { rows: <Found>(table: string) => (tables.get(table) ?? []) as Found[], close() {} };
}

/** A memory's ledger, with what the database kept in tables of its own. */
async function ledgerOf(sql: Sql, store: string): Promise<OldDatabase> {
  const select = 'select bytes from nocturne.page where store = ? order by number';
  const pages = await sql.all<{ bytes: Buffer }>(select, store);
  const ledger = readOld(Buffer.concat(pages.map(({ bytes }) => bytes)));
  const rowsIn = (table: string) => sql.all<Row>(`select * from nocturne.${table} where store = ?`, store);
  const uses = await rowsIn('topic_use');
  const paths = new Map(ledger.rows<{ id: string; path: string }>('memory').map(({ id, path }) => [id, path]));
  const shown = uses.map(({ store: _, memory, ...use }) => ({ path: paths.get(memory as string) ?? '', ...use }));
  const beside = new Map<string, Row[]>([
    ['inbox', await rowsIn('work_inbox')],
    ['failure', await rowsIn('failure')],
    ['topic_use', shown],
  ]);
  return {
    rows: <Found>(table: string) => (beside.get(table) as Found[]) ?? ledger.rows<Found>(table),
    close: ledger.close,
  };
}

async function transcriptsIn(sql: Sql): Promise<OldTranscript[]> {
  const found: OldTranscript[] = [];
  const rows = await sql.all<
    Omit<OldTranscript, 'bytes'> & { id: string; head: string; tail: string; pieces: string[] }
  >(
    "select id, store, kind, name, session, head, tail, pieces, redacted from nocturne.transcript where state = 'whole'",
  );
  for (const { id, head, tail, pieces, ...row } of rows) {
    const bytes: Buffer[] = [Buffer.from(head)];
    for (const sha of pieces) {
      const piece = 'select bytes from nocturne.transcript_piece where transcript = ? and sha = ?';
      const got = await sql.get<{ bytes: Buffer }>(piece, id, sha);
      if (got) bytes.push(got.bytes);
    }
    found.push({ ...row, bytes: [...bytes, Buffer.from(tail)].filter(({ length }) => length > 0) });
  }
  return found;
}
