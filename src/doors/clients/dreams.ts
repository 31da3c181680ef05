// The dreams that clients asked for: a row of the home each, which the server and the worker read and write. The work
// itself is in the inbox of the store it writes to (dreams/work.ts).
// Promises: a final status never changes; a store is the target of one open dream at a time.

import { type ProcessName, thisProcess } from '../../base/process.ts';
import type { Clock } from '../../base/time.ts';
import { type HomeDatabase, insert, row, run, type Steps } from '../../memory/home/home-database.ts';
import type { SpentTokens } from '../../memory/home/spend.ts';
import { newId } from '../../memory/ledger/ledger.ts';
import type { SessionName } from '../shared.ts';

export const STATUSES = ['pending', 'running', 'completed', 'failed', 'canceled'] as const;
export type DreamStatus = (typeof STATUSES)[number];

export type DreamErrorType =
  | 'timeout'
  | 'internal_error'
  | 'input_memory_store_too_large'
  | 'input_memory_store_unavailable'
  | 'input_session_unavailable';

export interface DreamError {
  type: DreamErrorType;
  message: string;
}

export interface DreamSession extends SessionName {
  /** Of one of this disk, a project's: its id there. */
  local?: string;
}

export interface DreamRow {
  /** `drm_…` */
  id: string;
  /** The key that asked for it. */
  owner: string;
  /** The store that it reads. */
  input: string;
  /** It writes to the store that it reads. */
  updates: boolean;
  /** The store that is held for it. */
  target: string | null;
  /** Where the result is; null until that is known. */
  output: string | null;
  sessions: DreamSession[];
  model: string;
  speed: 'standard' | null;
  instructions: string | null;
  status: DreamStatus;
  error: DreamError | null;
  usage: { input: number; output: number; cacheCreation: number; cacheRead: number };
  createdAt: string;
  /** Since when its output is there. */
  beganAt: string | null;
  endedAt: string | null;
  archivedAt: string | null;
  /** Since when nothing is left to do for it. */
  closedAt: string | null;
}

/** The session that a dream's jobs and versions are told by. */
export function sessionOfDream(id: string): string {
  return `sesn_${id.replace('drm_', '')}`;
}

export interface DreamFilter {
  /** Which are meant. */
  isSeen(row: DreamRow): Promise<boolean>;
  statuses?: readonly string[];
  /** Instants, both exclusive. */
  since?: string;
  until?: string;
  withArchived: boolean;
  limit: number;
  after?: { createdAt: string; id: string };
}

type Row = Omit<DreamRow, 'sessions' | 'error' | 'usage' | 'updates'> & {
  updates: number;
  sessions: string;
  errorType: DreamErrorType | null;
  errorMessage: string | null;
  inputTokens: number;
  outputTokens: number;
  cacheCreation: number;
  cacheRead: number;
};

type Claimed = Pick<DreamRow, 'status' | 'output' | 'target'> & { process: ProcessName | null; seenAt: string | null };

const COLUMNS = `id, owner, input, updates, target, output, sessions, model, speed, instructions, status, error_type as "errorType",
  error_message as "errorMessage", input_tokens as "inputTokens", output_tokens as "outputTokens",
  cache_creation_tokens as "cacheCreation", cache_read_tokens as "cacheRead", created_at as "createdAt", began_at as "beganAt", ended_at as "endedAt",
  archived_at as "archivedAt", closed_at as "closedAt"`;
const OPEN = `status in ('pending', 'running')`;
const HOUR_MS = 3_600_000;

export class Dreams {
  readonly #rows: HomeDatabase;
  readonly #clock: Clock;
  readonly #process: ProcessName;

  constructor(rows: HomeDatabase, clock: Clock) {
    this.#rows = rows;
    this.#clock = clock;
    this.#process = thisProcess();
  }

  /** Enters a dream; answers the id of the one that holds the target, where one does. */
  create(
    of: Pick<DreamRow, 'owner' | 'input' | 'updates' | 'target' | 'sessions' | 'model' | 'speed' | 'instructions'>,
  ): Promise<DreamRow | { heldBy: string }> {
    const entered = {
      id: newId('drm'),
      ...of,
      sessions: JSON.stringify(of.sessions),
      updates: Number(of.updates),
      status: 'pending',
      created_at: this.#now(),
    };
    return this.#rows.transaction(function* (): Steps<DreamRow | { heldBy: string }> {
      const held = 'select id from dream where target = ? and closed_at is null';
      const holder = of.target && (yield* row<{ id: string }>(held, of.target));
      if (holder) return { heldBy: holder.id };
      yield* insert('dream', entered);
      return (yield* finding(entered.id)) as DreamRow;
    });
  }

  find(id: string): Promise<DreamRow | null> {
    return this.#rows.do(finding(id));
  }

  /** Newest first. */
  async list({ isSeen, statuses, since, until, withArchived, limit, after }: DreamFilter): Promise<DreamRow[]> {
    const conditions: [string, string[]][] = [['true', []]];
    if (statuses) conditions.push([`status in (${statuses.map(() => '?').join(', ')})`, [...statuses]]);
    if (since !== undefined) conditions.push(['created_at > ?', [since]]);
    if (until !== undefined) conditions.push(['created_at < ?', [until]]);
    if (!withArchived) conditions.push(['archived_at is null', []]);
    if (after) conditions.push(['(created_at, id) < (?, ?)', [after.createdAt, after.id]]);
    const where = conditions.map(([sql]) => sql).join(' and ');
    const sql = `select ${COLUMNS} from dream where ${where} order by created_at desc, id desc`;
    const found = await this.#rows.all<Row>(sql, ...conditions.flatMap(([, values]) => values));
    const seen: DreamRow[] = [];
    for (const each of found.map(read)) {
      if (seen.length === limit) break;
      if (await isSeen(each)) seen.push(each);
    }
    return seen;
  }

  /** Those for which something is left to do, oldest first. */
  async open(): Promise<DreamRow[]> {
    const sql = `select ${COLUMNS} from dream where closed_at is null order by created_at, id`;
    return (await this.#rows.all<Row>(sql)).map(read);
  }

  /** This process begins it: answers the id of the store it is to write to. Null where another one does, or it is over. */
  claim(id: string): Promise<string | null> {
    const [own, database, clock] = [this.#process, this.#rows, this.#clock];
    return database.transaction(function* (): Steps<string | null> {
      const sql = `select status, process, output, target,
        (select seen_at from worker where worker.process = dream.process) as "seenAt" from dream where id = ?`;
      const found = yield* row<Claimed>(sql, id);
      if (found?.status !== 'pending') return null;
      const { process, seenAt } = found;
      const isOthers = process !== null && process !== own;
      if (isOthers && !database.isGone({ process, seenAt }, yield* database.now(clock))) return null;
      const output = found.output ?? found.target ?? newId('memstore');
      yield* run('update dream set process = ?, output = ? where id = ?', own, output, id);
      return output;
    });
  }

  /** It is worked from now on, and writes to `output`; false where it was canceled meanwhile. */
  async begin(id: string, output: string): Promise<boolean> {
    const sql = "update dream set status = 'running', output = ?, began_at = ? where id = ? and status = 'pending'";
    return (await this.#rows.run(sql, output, this.#now(), id)) > 0;
  }

  async complete(id: string): Promise<void> {
    await this.#rows.do(ending(id, 'completed', this.#now()));
  }

  fail(id: string, { type, message }: DreamError): Promise<void> {
    const now = this.#now();
    return this.#rows.transaction(function* (): Steps<void> {
      if (!(yield* ending(id, 'failed', now))) return;
      yield* run('update dream set error_type = ?, error_message = ? where id = ?', type, message, id);
    });
  }

  /** It fails, and nothing was begun for it that would have to stop. */
  async failAtOnce(id: string, error: DreamError): Promise<void> {
    await this.fail(id, error);
    await this.close(id);
  }

  /** One that no worker has begun is over with it. */
  cancel(id: string): Promise<void> {
    const now = this.#now();
    return this.#rows.transaction(function* (): Steps<void> {
      const isPending = (yield* finding(id))?.status === 'pending';
      if ((yield* ending(id, 'canceled', now)) && isPending) yield* closing(id, now);
    });
  }

  /** Nothing is left to do for it: its target is free. */
  close(id: string): Promise<void> {
    return this.#rows.do(closing(id, this.#now()));
  }

  async archive(id: string): Promise<void> {
    await this.#rows.run('update dream set archived_at = coalesce(archived_at, ?) where id = ?', this.#now(), id);
  }

  /** Ends those that lasted too long. */
  async endLate(hours: number): Promise<void> {
    const before = new Date(this.#clock.now().getTime() - hours * HOUR_MS).toISOString();
    const late = await this.#rows.all<{ id: string }>(`select id from dream where ${OPEN} and created_at <= ?`, before);
    const message = `It was not done within ${hours} hours.`;
    for (const { id } of late) await this.fail(id, { type: 'timeout', message });
  }

  async addUsage(
    id: string,
    { inputTokens, outputTokens, cacheWriteTokens, cachedInputTokens }: SpentTokens,
  ): Promise<void> {
    await this.#rows.run(
      `update dream set input_tokens = input_tokens + ?, output_tokens = output_tokens + ?,
         cache_creation_tokens = cache_creation_tokens + ?, cache_read_tokens = cache_read_tokens + ? where id = ?`,
      inputTokens - cacheWriteTokens,
      outputTokens,
      cacheWriteTokens,
      cachedInputTokens,
      id,
    );
  }

  #now(): string {
    return this.#clock.now().toISOString();
  }
}

function* finding(id: string): Steps<DreamRow | null> {
  const found = yield* row<Row>(`select ${COLUMNS} from dream where id = ?`, id);
  return found ? read(found) : null;
}

/** False where it was over before. */
function* ending(id: string, status: DreamStatus, now: string): Steps<boolean> {
  const sql = `update dream set status = ?, ended_at = ? where id = ? and ${OPEN}`;
  return (yield* run(sql, status, now, id)) > 0;
}

function* closing(id: string, now: string): Steps<void> {
  yield* run('update dream set closed_at = coalesce(closed_at, ?) where id = ?', now, id);
}

function read(row: Row): DreamRow {
  const { errorType, errorMessage, inputTokens, outputTokens, cacheCreation, cacheRead, sessions, ...rest } = row;
  return {
    ...rest,
    updates: row.updates === 1,
    sessions: JSON.parse(sessions),
    error: errorType === null ? null : { type: errorType, message: errorMessage ?? '' },
    usage: { input: inputTokens, output: outputTokens, cacheCreation, cacheRead },
  };
}
