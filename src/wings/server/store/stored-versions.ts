// The versions of a store as the API has them: listed newest first, read, redacted.
// Who made one is told as the API tells actors: a key, a session that nocturne read, or a person of this machine.

import { redactVersion as redact } from '../../../memory/history/redact/redaction.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { ApiError } from '../api-errors.ts';
import type { At } from './stored-memories.ts';

export type ApiActor =
  | { type: 'session_actor'; session_id: string }
  | { type: 'api_actor'; api_key_id: string }
  | { type: 'user_actor'; user_id: string };

export interface MemoryVersion {
  id: string;
  memory: string;
  operation: 'created' | 'modified' | 'deleted';
  path: string | null;
  content: string | null;
  sha: string | null;
  sizeBytes: number | null;
  createdAt: string;
  createdBy: ApiActor | null;
  redactedAt: string | null;
  redactedBy: ApiActor | null;
}

export interface ListVersions {
  memory?: string;
  operation?: string;
  session?: string;
  key?: string;
  since?: string;
  until?: string;
  limit: number;
  withContent: boolean;
  after?: { at: string; id: string };
}

interface Row extends Omit<MemoryVersion, 'content' | 'createdBy' | 'redactedBy'> {
  content: Buffer | null;
  actor: string;
  redactor: string | null;
  session: string | null;
  kind: string | null;
}

const SELECT = `select version.id, memory, op as operation, version.path, sha, iif(op = 'deleted', null, size) as sizeBytes,
    at as createdAt, actor, redacted_at as redactedAt, redacted_by as redactor, job.session, job.kind, content
  from version left join job on version.actor = 'job:' || job.id
  where (version.path is null or version.path not like '.%')`;

/** The session of a job that read one is that session; any other job is one of its own. */
const SESSION = `'sesn_' || coalesce(job.session, replace(job.id, 'job_', ''))`;

export async function listVersions({ store, user, look }: At, args: ListVersions) {
  if (!args.after) await look();
  const conditions: [string, (string | undefined)[]][] = [
    ['memory = ?', [args.memory]],
    ['op = ?', [args.operation]],
    ["version.actor = 'tool:' || ?", [args.key]],
    [`(${SESSION} = ? or job.session = ?)`, [args.session, args.session]],
    ['at >= ?', [args.since]],
    ['at <= ?', [args.until]],
    // In one instant the later commit is the newer.
    ['(at, version.rowid) < (?, (select rowid from version where id = ?))', [args.after?.at, args.after?.id]],
  ];
  const given = conditions.filter(([, values]) => values.every((value) => value !== undefined));
  const sql = `${SELECT} ${given.map(([each]) => `and ${each}`).join(' ')} order by at desc, version.rowid desc limit ?`;
  const rows = store.ledger.all<Row>(sql, ...given.flatMap(([, values]) => values as string[]), args.limit + 1);
  const items = rows.slice(0, args.limit).map((row) => read(row, { user, withContent: args.withContent }));
  return { items, hasMore: rows.length > args.limit };
}

export async function retrieveVersion({ store, user }: At, { id }: { id: string }): Promise<MemoryVersion> {
  return read(rowOf(store.ledger, id), { user, withContent: true });
}

export async function redactVersion({ store, config, user }: At, { id, by }: { id: string; by: string }) {
  rowOf(store.ledger, id);
  await redact(id, { store, home: config.home, now: config.clock.now(), by: `tool:${by}` });
  return read(rowOf(store.ledger, id), { user, withContent: true });
}

function rowOf(ledger: Ledger, id: string): Row {
  const row = ledger.get<Row>(`${SELECT} and version.id = ?`, id);
  if (!row) throw new ApiError('not_found_error', 'There is no such memory version in this memory store.');
  return row;
}

function read(row: Row, { user, withContent }: { user: string; withContent: boolean }): MemoryVersion {
  const { actor, redactor, session, kind, content, path, ...version } = row;
  return {
    ...version,
    path: path === null ? null : `/${path}`,
    content: withContent ? (content?.toString() ?? null) : null,
    createdBy: actorOf(actor, { session, user }),
    redactedBy: redactor === null ? null : actorOf(redactor, { session: null, user }),
  };
}

function actorOf(actor: string, { session, user }: { session: string | null; user: string }): ApiActor | null {
  const id = actor.slice(actor.indexOf(':') + 1);
  if (actor === 'person' || actor === 'external') return { type: 'user_actor', user_id: user };
  if (id.startsWith('apikey_')) return { type: 'api_actor', api_key_id: id };
  if (!actor.startsWith('job:')) return null;
  const read = session ?? id.replace('job_', '');
  return { type: 'session_actor', session_id: read.startsWith('sesn_') ? read : `sesn_${read}` };
}
