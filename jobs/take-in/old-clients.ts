// What clients of an earlier nocturne's server sent and asked for, as rows of the one database: sessions with what is kept of them, and
// dreams. What waited of both waits; a dream that had begun goes on, and passes by what it has read.

import type { OldDatabase } from '../../src/db/old-database.ts';
import { insert, newId, type Row, type Sql } from '../../src/db/sql.ts';
import { memoryRow } from '../../src/memory/memories.ts';
import { sessionNamed } from '../../src/memory/session-rows.ts';
import { put } from '../../src/queue/inbox.ts';
import type { ClientDream } from '../client-dream.ts';
import { NOTHING_TOLD } from '../dream/dream-landing.ts';

/** The kept messages of a part; null where they are gone. */
export type PartBytes = (part: { store: string; session: string; file: string }) => Buffer | null;

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

export async function takeInSessions(
  sql: Sql,
  old: OldDatabase,
  { kept, now }: { kept: Kept; now: Date },
): Promise<void> {
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

export async function takeInDreams(sql: Sql, old: OldDatabase, now: Date): Promise<void> {
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
