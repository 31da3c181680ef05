// What the database keeps of sessions that were sent to it, redacted: a row each, and its text in pieces, each by the
// SHA-256 of its bytes.
// Promises: each function is one statement, or reads at one moment. A session is replaced by one statement, so a reader gets
// the old or the new one, whole; only who holds the fence puts pieces; what a session does not name goes with it. Nothing is
// shared between sessions, so that a redaction reaches every copy. Leases and ages are by the database's time.

import { AppError } from '../../../base/errors.ts';
import type { Ask, Database } from '../postgres.ts';

/** A session of an agent's file; or a part of one that a client of the server sent. */
export type Kind = 'session' | 'part';

/** What is kept, and how it is known again. */
export interface TranscriptName {
  store: string;
  kind: Kind;
  name: string;
}

/** The right to replace what is kept of a session. */
export interface SendLease {
  id: string;
  fence: number;
}

/** What a session is replaced by, once its pieces are there. */
export interface Whole {
  /** What goes before the pieces, and behind them. */
  head: string;
  tail: string;
  pieces: string[];
  bytes: number;
}

export interface TranscriptRow extends Whole, TranscriptName {
  id: string;
  session: string;
  sizeBytes: number;
  redacted: string[];
}

const ROW = `id, store, kind, name, session, head, tail, pieces, bytes::float8 as bytes, size_bytes::float8 as "sizeBytes", redacted`;
const MS = `* interval '1 millisecond'`;

export async function transcriptRow(ask: Ask, id: string): Promise<TranscriptRow | null> {
  return (await ask<TranscriptRow>(`select ${ROW} from transcript where id = $1 and state = 'whole'`, [id]))[0] ?? null;
}

/** Those of a store that have arrived. */
export async function transcriptsOf(ask: Ask, store: string): Promise<{ id: string; session: string }[]> {
  return ask(`select id, session from transcript where store = $1 and state = 'whole' order by sent_at, id`, [store]);
}

/** The id of what was sent before of the same file, unchanged since; from now on it counts as sent now. */
export async function sentBefore(
  ask: Ask,
  { store, kind, name }: TranscriptName,
  file: { sizeBytes: number; modifiedAt: string },
): Promise<string | null> {
  const [row] = await ask<{ id: string }>(
    `update transcript set sent_at = clock_timestamp()
     where store = $1 and kind = $2 and name = $3 and state = 'whole' and size_bytes = $4 and modified_at = $5 returning id`,
    [store, kind, name, file.sizeBytes, file.modifiedAt],
  );
  return row?.id ?? null;
}

/** Begins to send a session, or to send it again; null where another process is at it. Throws `bad-input` for a store that is not there. */
export async function beginSending(
  ask: Ask,
  { id, leaseMs, ...what }: TranscriptName & { id: string; session: string; format: string; leaseMs: number },
): Promise<(SendLease & { redacted: string[] }) | null> {
  const { store, kind, name, session, format } = what;
  try {
    const [row] = await ask<SendLease & { redacted: string[] }>(
      `insert into transcript (id, store, kind, name, session, format, until)
       values ($1, $2, $3, $4, $5, $6, clock_timestamp() + $7 ${MS})
       on conflict (store, kind, name) do update set fence = transcript.fence + 1, until = excluded.until
       where transcript.until is null or transcript.until < clock_timestamp() returning id, fence, redacted`,
      [id, store, kind, name, session, format, leaseMs],
    );
    return row ?? null;
  } catch (error) {
    if (!isForeignKey(error)) throw error;
    throw new AppError('bad-input', `There is no memory store ${store} in the database.`, { cause: error });
  }
}

/** Takes a session from whoever sends it; null where it is not there any more. */
export async function takeOver(ask: Ask, { id, leaseMs }: { id: string; leaseMs: number }): Promise<SendLease | null> {
  const [row] = await ask<SendLease>(
    `update transcript set fence = fence + 1, until = clock_timestamp() + $2 ${MS} where id = $1 returning id, fence`,
    [id, leaseMs],
  );
  return row ?? null;
}

/** The sums of the pieces that are there; asked under the lease, no other comes or goes. */
export async function arrivedPieces(ask: Ask, { id }: SendLease): Promise<Set<string>> {
  const rows = await ask<{ sha: string }>('select sha from transcript_piece where transcript = $1', [id]);
  return new Set(rows.map(({ sha }) => sha));
}

/** Puts a piece; false where the lease was lost. */
export async function putPiece(
  ask: Ask,
  { id, fence }: SendLease,
  { sha, bytes }: { sha: string; bytes: Buffer },
): Promise<boolean> {
  // The lock makes who takes over wait for this piece, so that they see it.
  const held = await ask(
    `with held as (select id from transcript where id = $1 and fence = $2 and until is not null for share),
     put as (insert into transcript_piece select id, $3, $4 from held on conflict do nothing)
     select id from held`,
    [id, fence, sha, bytes],
  );
  return held.length === 1;
}

export async function renewSending(ask: Ask, { id, fence }: SendLease, leaseMs: number): Promise<void> {
  await ask(
    `update transcript set until = clock_timestamp() + $3 ${MS} where id = $1 and fence = $2 and until is not null`,
    [id, fence, leaseMs],
  );
}

/** Gives up; the pieces stay, for who sends it again. */
export async function stopSending(ask: Ask, { id, fence }: SendLease): Promise<void> {
  await ask('update transcript set until = null where id = $1 and fence = $2', [id, fence]);
}

/** The session is this from now on; false where the lease was lost. `file`: what was read of it just now. */
export async function endSending(
  ask: Ask,
  { id, fence }: SendLease,
  { head, tail, pieces, bytes, file, redacted }: Whole & { file?: FileRead; redacted?: string[] },
): Promise<boolean> {
  const ended = await ask(
    `with whole as (update transcript set state = 'whole', head = $3, tail = $4, pieces = $5, bytes = $6, until = null,
       size_bytes = coalesce($7, size_bytes), modified_at = coalesce($8, modified_at), redacted = coalesce($9, redacted),
       sent_at = case when $7::bigint is null then sent_at else clock_timestamp() end
       where id = $1 and fence = $2 and until is not null returning id, pieces),
     gone as (delete from transcript_piece using whole where transcript = whole.id and sha <> all (whole.pieces))
     select id from whole`,
    [id, fence, head, tail, pieces, bytes, file?.sizeBytes ?? null, file?.modifiedAt ?? null, redacted ?? null],
  );
  return ended.length === 1;
}

export interface FileRead {
  sizeBytes: number;
  modifiedAt: string;
}

/** Ends all sending into a store: whoever is at it starts over. */
export async function fenceSenders(ask: Ask, store: string): Promise<void> {
  await ask('update transcript set fence = fence + 1, until = null where store = $1', [store]);
}

/** Removes the pieces that have arrived in a store and are of no whole session yet. */
export async function dropArriving(ask: Ask, store: string): Promise<void> {
  await ask(
    `delete from transcript_piece using transcript
     where transcript.id = transcript_piece.transcript and store = $1 and until is null and sha <> all (pieces)`,
    [store],
  );
}

/** The pieces of a session, one after the other. Throws `conflict` where it was replaced meanwhile, for readers outside `readWhole`. */
export async function* piecesOf(
  ask: Ask,
  { id, pieces }: Pick<TranscriptRow, 'id' | 'pieces'>,
): AsyncGenerator<Buffer> {
  for (const sha of pieces) {
    const [row] = await ask<{ bytes: Buffer }>(
      'select bytes from transcript_piece where transcript = $1 and sha = $2',
      [id, sha],
    );
    if (!row) throw new AppError('conflict', `Session ${id} was replaced while it was read.`);
    yield row.bytes;
  }
}

/** Reads a session as it is at one moment; false where it is not kept. */
export function readWhole(
  database: Pick<Database, 'readAtOnce'>,
  id: string,
  to: (row: TranscriptRow, pieces: AsyncGenerator<Buffer>) => Promise<void>,
): Promise<boolean> {
  return database.readAtOnce(async (ask) => {
    const row = await transcriptRow(ask, id);
    if (row) await to(row, piecesOf(ask, row));
    return row !== null;
  });
}

/**
 * Removes the agents' sessions that were sent last so many days ago, but none that an item of the inbox names, or may mean as
 * what is to be reprocessed; answers how many.
 */
export async function dropOlder(ask: Ask, days: number): Promise<number> {
  const gone = await ask(
    `delete from transcript where kind = 'session' and sent_at < clock_timestamp() - $1 * interval '1 day'
       and (until is null or until < clock_timestamp()) and not exists (
         select from work_inbox where work_inbox.store = transcript.store
           and (work_inbox.kind = 'reprocess' or position('${NAMED}' || transcript.id in payload) > 0)) returning id`,
    [days],
  );
  return gone.length;
}

/** How items of the inbox, and ledgers, name a session that is kept here. */
export const NAMED = 'fleet:';

export async function removeNamed(
  ask: Ask,
  { store, kind }: Omit<TranscriptName, 'name'>,
  names: string,
): Promise<void> {
  await ask('delete from transcript where store = $1 and kind = $2 and starts_with(name, $3)', [store, kind, names]);
}

export async function idOfNamed(ask: Ask, { store, kind, name }: TranscriptName): Promise<string | null> {
  const sql = `select id from transcript where store = $1 and kind = $2 and name = $3 and state = 'whole'`;
  return (await ask<{ id: string }>(sql, [store, kind, name]))[0]?.id ?? null;
}

/** The sessions of which no part was sent since. */
export async function partsBefore(ask: Ask, at: Date): Promise<{ store: string; id: string }[]> {
  return ask(
    `select store, session as id from transcript where kind = 'part' group by store, session having max(sent_at) < $1::timestamptz`,
    [at.toISOString()],
  );
}

function isForeignKey(error: unknown): boolean {
  return Object(error).code === '23503';
}
