// The home of an earlier nocturne (`home.db`): each store that clients have, under the id that they know; each directory; then, in one
// transaction, keys, what was spent, ceilings, pauses, what set-up declined, what clients sent and asked for. Once: what says so is written
// with them. What waited of clients waits; a dream that had begun goes on, and passes by what it has read. Its database is put aside.
//
// And the PostgreSQL database that machines of an earlier nocturne shared. It kept each memory's ledger as the pages of a SQLite file, and
// beside it what waits and transcripts. In one transaction, while no other machine does: each memory, for the directories it stood for;
// then the home's rows; its tables get other names, and stay; in their place stands that a newer nocturne works there.

import { join } from 'node:path';
import { isAppError } from '../../src/base/errors.ts';
import { isDirectory } from '../../src/base/files/directories.ts';
import { readBytesNow } from '../../src/base/files/files.ts';
import { type OldDatabase, openOld, putAside, readOld } from '../../src/db/old-database.ts';
import { insert, keepSetting, newId, type Row, type Sql, settingOf } from '../../src/db/sql.ts';
import { addMemory, type Memories, memoryRow, type Scope } from '../../src/memory/memories.ts';
import { sessionNamed } from '../../src/memory/session-rows.ts';
import { put } from '../../src/queue/inbox.ts';
import type { ClientDream } from '../client-dream.ts';
import { NOTHING_TOLD } from '../dream/dream-landing.ts';
import { projectOf, takeIn, takeInLedger } from '../take-in.ts';

type OldStore = Record<string, string | number | null> & { id: string; dir: string | null; name: string };

/** Further columns of the memory that a store becomes. */
function storeRow({ tenant, owner, allows_secrets, removed_at, ...store }: OldStore) {
  const { description, metadata, archived_at, created_at } = store;
  const flags = { ...(owner !== null && { owner }), ...(allows_secrets === 1 && { allowsSecrets: true }) };
  const more = { description, metadata, archived_at, deleted_at: removed_at, tenant: tenant ?? '' };
  return { more: { ...more, flags: JSON.stringify(flags) } as Row, createdAt: created_at as string };
}

async function takeInHomeRows(
  sql: Sql,
  old: OldDatabase,
  { of, now, kept }: { of: string; now: Date; kept: Map<string, Buffer[]> },
): Promise<void> {
  const once = `taken_in ${of}`;
  if ((await settingOf(sql, once)) !== undefined) return;
  await keepSetting(sql, once, now.toISOString());
  for (const { stores, day_micro_usd, tenant, ...key } of old.rows<Row>('api_key')) {
    const row = { ...key, memories: stores ?? null, day_usd: day_micro_usd ?? null, tenant: tenant ?? '' };
    await insert(sql, 'api_key', [row], 'on conflict do nothing');
  }
  for (const { day = '', used = 0, reserved = 0, calls = 0, plan_requests, ...usd } of old.rows<Record<string, number>>(
    'spend',
  )) {
    const micro_usd = (usd.used_micro_usd ?? 0) + (usd.reserved_micro_usd ?? 0);
    await add(sql, { day, scope: '', tokens: used + reserved, micro_usd, calls });
    if (plan_requests) await add(sql, { day, scope: 'plan', tokens: 0, micro_usd: 0, calls: plan_requests });
  }
  for (const { key, day, micro_usd } of old.rows<Row>('key_spend'))
    await add(sql, { day, scope: key, tokens: 0, micro_usd, calls: 0 } as Row);
  for (const [key, value] of settingsOf(old))
    if (value !== undefined) await insert(sql, 'setting', [{ key, value }], 'on conflict (key) do nothing');
  await takeInSessions(sql, old, { kept, now });
  await takeInDreams(sql, old, now);
}

/** What was spent here on the same day counts, too. */
function add(sql: Sql, row: Row): Promise<void> {
  const sum = (column: string) => `${column} = day.${column} + excluded.${column}`;
  const set = ['tokens', 'micro_usd', 'calls'].map(sum).join(', ');
  return insert(sql, 'day', [row], `on conflict (day, scope) do update set ${set}`);
}

/** Single values, by the names that they have here. */
function settingsOf({ rows }: OldDatabase): [string, string | undefined][] {
  const pauses = rows<{ project: string; until: string | null }>('pause');
  const [declined] = rows<{ before: string }>('declined');
  const [limits] = rows<{ day_tokens: number; day_micro_usd: number | null; zone: string }>('limits');
  const [server] = rows<{ user: string }>('server');
  const [night] = rows<{ at: string }>('nightly');
  const found = pauses.map(({ project, until }) => ({ project: project || null, until }));
  const money = limits?.day_micro_usd == null ? {} : { dayMoneyUsd: limits.day_micro_usd / 1e6 };
  return [
    ['pauses', found.length > 0 ? JSON.stringify(found) : undefined],
    ['declined_before', declined?.before],
    ['limits', limits && JSON.stringify({ dayTokens: limits.day_tokens, zone: limits.zone, ...money })],
    ['user', server?.user],
    ['night', night?.at],
  ];
}

/** The kept messages of a part; null where they are gone. */
type PartBytes = (part: { store: string; session: string; file: string }) => Buffer | null;

type Kept = Map<string, Buffer[]>;
type OldPart = { store: string; session: string; after: number; count: number; sha: string; file: string };

/** What was kept of sessions, read before anything is written. */
export function keptParts(old: OldDatabase, bytesOf: PartBytes): Kept {
  const kept: Kept = new Map();
  for (const part of old.rows<OldPart>('sent_part').sort((a, b) => a.after - b.after)) {
    const key = `${part.store} ${part.session}`;
    const bytes = bytesOf(part);
    if (bytes) kept.set(key, [...(kept.get(key) ?? []), part.after === 0 ? bytes : renamed(bytes, part.after)]);
  }
  return kept;
}

/** What was appended has ids of its own, chained to nothing that came before. */
function renamed(bytes: Buffer, after: number): Buffer {
  const lines = bytes
    .toString()
    .split('\n')
    .map((line) => {
      if (!line.startsWith('{"message":')) return line;
      const { message } = JSON.parse(line);
      return JSON.stringify({ message: { ...message, id: `${after}/${message.id}` } });
    });
  return Buffer.from(lines.join('\n'));
}

async function takeInSessions(sql: Sql, old: OldDatabase, { kept, now }: { kept: Kept; now: Date }): Promise<void> {
  const parts = Map.groupBy(old.rows<OldPart>('sent_part'), ({ store, session }) => `${store} ${session}`);
  for (const row of old.rows<Record<string, string | number | null>>('sent_session')) {
    const [name, memory] = [row.id as string, row.store as string];
    const store = await memoryRow(sql, memory);
    if (!store) continue;
    const of = (parts.get(`${memory} ${name}`) ?? []).sort((a, b) => a.after - b.after);
    const sent = JSON.stringify(of.map(({ after, count, sha }) => [after, count, sha]));
    const there = await sessionNamed(sql, memory, name);
    const id = there?.id ?? newId('session');
    if (!there) await insert(sql, 'session', [{ id, name, memory, created_at: row.created_at } as Row]);
    await sql.run(
      'update session set path = null, machine = null, sent = ?, sent_at = ?, sent_by = ?, created_at = ? where id = ?',
      ...[sent, row.updated_at as string, row.owner as string, row.created_at as string, id],
    );
    await sql.run('delete from piece where session = ?', id);
    for (const [n, body] of (kept.get(`${memory} ${name}`) ?? []).entries())
      await insert(sql, 'piece', [{ session: id, n, body }]);
    if (row.waits !== 1 && row.extract_at === null) continue;
    const payload = { ended: true, takeUp: ['declined', 'gave_up'] };
    const item = { kind: 'extract', key: id, memory, payload, tenant: store.tenant, notBefore: now } as const;
    await put(sql, item, now);
  }
}

async function takeInDreams(sql: Sql, old: OldDatabase, now: Date): Promise<void> {
  for (const row of old.rows<Record<string, string | number | null>>('dream')) {
    const [id, input, updates] = [row.id as string, row.input as string, row.updates === 1];
    const named = JSON.parse(row.sessions as string) as { id: string; store: string; local?: string }[];
    const sessions = [];
    for (const { id: as, store, local = as } of named)
      sessions.push({ id: as, row: (await sessionNamed(sql, store, local))?.id ?? null });
    const { model, speed, instructions } = row as unknown as ClientDream;
    const request: ClientDream = { input, updates, sessions, model, speed, instructions };
    const written = row.cache_creation_tokens as number;
    const usage = {
      inputTokens: (row.input_tokens as number) + written,
      ...{ outputTokens: row.output_tokens, cacheWriteTokens: written, cachedInputTokens: row.cache_read_tokens },
    };
    const began = row.began_at !== null;
    const memory = began ? row.output : updates ? input : null;
    const outcome =
      { failed: row.error_type, canceled: 'canceled', completed: 'dreamed' }[row.status as string] ?? null;
    const job = { id, kind: 'dream', memory, status: row.status, outcome, error: row.error_message, started_by: 'api' };
    const told = { request: JSON.stringify(request), usage: JSON.stringify(usage), actor: row.owner };
    const { created_at, began_at: started_at, ended_at, archived_at } = row;
    const times = { created_at, started_at, ended_at, archived_at, output: JSON.stringify(NOTHING_TOLD) };
    await insert(sql, 'job', [{ ...job, ...told, ...times } as Row], 'on conflict do nothing');
    if (row.ended_at !== null) continue;
    const tenant = (await memoryRow(sql, input))?.tenant;
    const item = { kind: 'dream', key: updates ? input : id, memory: (memory ?? input) as string, job: id } as const;
    await put(sql, { ...item, payload: {}, tenant, notBefore: now }, now);
  }
}

const TABLES =
  'pause nightly declined looked limits memory_store api_key key_spend spend server sent_session sent_part dream';
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

interface TakingIn {
  memories: Memories;
  /** What a memory in a directory is. */
  describe(dir: string): { scope: Scope; name: string };
}

export async function takeInFleet({ memories, describe }: TakingIn): Promise<void> {
  const { db, clock, machine } = memories;
  const now = clock.now();
  const at = now.toISOString();
  await db.write(async (sql) => {
    await sql.run("select pg_advisory_xact_lock(hashtext('nocturne before'))");
    const there = await sql.get<{ there: string | null }>("select to_regclass('nocturne.store') as there");
    if (there?.there == null) return;
    const home = await tablesOf(sql, 'nocturne_home', TABLES.split(' '));
    const transcripts = await transcriptsIn(sql);
    const known = home.rows<OldStore>('memory_store');
    const stores = await sql.all<{ id: string; source: string | null; state: string }>(
      "select id, source, state from nocturne.store where state <> 'arriving' order by created_at, id",
    );
    for (const { id: store, source, state } of stores) {
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
      const redact = "update session set redacted = 'yes' where memory = ? and name = ?";
      for (const { session, redacted } of own) if (redacted.length > 0) await sql.run(redact, id, session);
    }
    const parts = new Map(transcripts.map(({ store, name, bytes }) => [`${store} ${name}`, Buffer.concat(bytes)]));
    const kept = keptParts(home, ({ store, session, file }) => parts.get(`${store} ${session}/${file}`) ?? null);
    await takeInHomeRows(sql, home, { of: 'the database', now, kept });
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
  const beside = { inbox: await rowsIn('work_inbox'), failure: await rowsIn('failure') };
  const rows = <Found>(table: string) =>
    (beside[table as keyof typeof beside] as Found[] | undefined) ?? ledger.rows<Found>(table);
  return { rows, close: ledger.close };
}

async function transcriptsIn(sql: Sql): Promise<OldTranscript[]> {
  const found: OldTranscript[] = [];
  type Kept = Omit<OldTranscript, 'bytes'> & { id: string; head: string; tail: string; pieces: string[] };
  const columns = 'id, store, kind, name, session, head, tail, pieces, redacted';
  const rows = await sql.all<Kept>(`select ${columns} from nocturne.transcript where state = 'whole'`);
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

/** Answers with what could not be taken in, and why. */
export async function takeInHome(
  /** The directory of that home. */
  home: string,
  { memories, describe }: TakingIn,
): Promise<{ place: string; why: string }[]> {
  const path = join(home, 'home.db');
  const left: { place: string; why: string }[] = [];
  const old = openOld(path);
  if (!old) return left;
  const { db, clock } = memories;
  const take = async (of: Parameters<typeof takeIn>[0]) => {
    try {
      await takeIn(of, memories);
    } catch (error) {
      const cause = isAppError(error) || (error as { code?: string }).code?.startsWith('SQLITE_');
      if (!cause) throw error;
      left.push({ place: of.dir, why: (error as Error).message });
    }
  };
  try {
    const stores = old.rows<OldStore>('memory_store');
    for (const store of stores.filter(({ dir }) => dir === null)) {
      const kept = join(home, 'stores', store.removed_at === null ? '' : '.removed', store.id, 'memory');
      await take({ dir: kept, id: store.id, scope: 'store', name: store.name, isStore: true, ...storeRow(store) });
    }
    const ids = new Map(stores.flatMap((store) => (store.dir === null ? [] : [[store.dir, store.id] as const])));
    const isOwn = (dir: string) => dir.startsWith(join(home, 'stores', '/'));
    const dirs = new Set([...old.rows<{ path: string }>('store').map((row) => row.path), ...ids.keys()]);
    for (const dir of dirs)
      if (!isOwn(dir) && isDirectory(dir)) await take({ dir, ...describe(dir), id: ids.get(dir) });
    const kept = keptParts(old, ({ store, session, file }) =>
      readBytesNow(join(home, 'sessions', store, session, file)),
    );
    const now = clock.now();
    await db.write((sql) => takeInHomeRows(sql, old, { of: path, now, kept }));
  } finally {
    old.close();
  }
  putAside(path);
  return left;
}
