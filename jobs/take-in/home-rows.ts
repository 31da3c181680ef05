// The rows of the home of an earlier nocturne, as rows of the one database: keys, what was spent, ceilings, pauses, what set-up
// declined, which sessions on the disk were seen, what clients sent and asked for. Once: what says so is written with them. What waited
// of clients waits; a dream that had begun goes on, and passes by what it has read.

import type { OldDatabase } from '../../src/db/old-database.ts';
import { insert, keepSetting, newId, type Row, type Sql, settingOf } from '../../src/db/sql.ts';
import { memoryRow } from '../../src/memory/memories.ts';
import { sessionNamed } from '../../src/memory/session-rows.ts';
import { put } from '../../src/queue/inbox.ts';
import type { ClientDream } from '../client-dream.ts';
import { NOTHING_TOLD } from '../dream/dream-landing.ts';

export interface OldStore extends Record<string, string | number | null> {
  id: string;
  dir: string | null;
  name: string;
}

/** Further columns of the memory that a store becomes. */
export function storeRow({ tenant, owner, allows_secrets, removed_at, ...store }: OldStore) {
  const { description, metadata, archived_at, created_at } = store;
  const flags = { ...(owner !== null && { owner }), ...(allows_secrets === 1 && { allowsSecrets: true }) };
  const more = { description, metadata, archived_at, deleted_at: removed_at, tenant: tenant ?? '' };
  return { more: { ...more, flags: JSON.stringify(flags) } as Row, createdAt: created_at as string };
}

export async function takeInHomeRows(
  sql: Sql,
  old: OldDatabase,
  { of, machine, now, kept }: { of: string; machine: string; now: Date; kept: Map<string, Buffer[]> },
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
  for (const [key, value] of settingsOf(old, machine))
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
function settingsOf({ rows }: OldDatabase, machine: string): [string, string | undefined][] {
  const pauses = rows<{ project: string; until: string | null }>('pause');
  const [declined] = rows<{ before: string }>('declined');
  const [limits] = rows<{ day_tokens: number; day_micro_usd: number | null; zone: string }>('limits');
  const [server] = rows<{ user: string }>('server');
  const [night] = rows<{ at: string }>('nightly');
  const [looked] = rows<{ at: string }>('looked');
  const looks = rows<Record<string, unknown>>('look').map(({ modified_at: modifiedAt, store: dir, ...look }) => ({
    ...look,
    modifiedAt,
    dir,
  }));
  const blocked = rows<{ path: string; reason: string; since: string }>('blocked').map((row) => {
    return { ...row, size: 0, modifiedAt: row.since, verdict: 'blocked', cwd: null, dir: null };
  });
  const found = pauses.map(({ project, until }) => ({ project: project || null, until }));
  const money = limits?.day_micro_usd == null ? {} : { dayMoneyUsd: limits.day_micro_usd / 1e6 };
  return [
    ['pauses', found.length > 0 ? JSON.stringify(found) : undefined],
    ['declined_before', declined?.before],
    ['limits', limits && JSON.stringify({ dayTokens: limits.day_tokens, zone: limits.zone, ...money })],
    ['user', server?.user],
    ['night', night?.at],
    ['looked', looked?.at],
    [`swept ${machine}`, looks.length + blocked.length > 0 ? JSON.stringify([...looks, ...blocked]) : undefined],
  ];
}

/** The kept messages of a part; null where they are gone. */
type PartBytes = (part: { store: string; session: string; file: string }) => Buffer | null;

type Kept = Map<string, Buffer[]>;
interface OldPart {
  store: string;
  session: string;
  after: number;
  count: number;
  sha: string;
  file: string;
}

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

/** Stores that dreams made as copies of others: these are taken in first, and keep the ids of their versions. */
export function copiesIn(old: OldDatabase): Set<string | null> {
  const dreams = old.rows<{ updates: number; output: string | null }>('dream');
  return new Set(dreams.flatMap(({ updates, output }) => (updates === 1 ? [] : [output])));
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
    const told = {
      request: JSON.stringify(request),
      usage: JSON.stringify(usage),
      output: JSON.stringify(NOTHING_TOLD),
    };
    const said = { actor: row.owner, ...told };
    const times = { created_at: row.created_at, started_at: row.began_at, ended_at: row.ended_at };
    await insert(
      sql,
      'job',
      [{ ...job, ...said, ...times, archived_at: row.archived_at } as Row],
      'on conflict do nothing',
    );
    if (row.ended_at !== null) continue;
    const tenant = (await memoryRow(sql, input))?.tenant;
    const item = { kind: 'dream', key: updates ? input : id, memory: (memory ?? input) as string, job: id } as const;
    await put(sql, { ...item, payload: {}, tenant, notBefore: now }, now);
  }
}
