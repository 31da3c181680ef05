// The home: `$NOCTURNE_HOME/home.db`, what is known over all memory directories of this user: which there are, what
// was spent (day-spend.ts), which workers run, what a person paused or declined, what sweeps made of the transcripts they looked at, and what could not be taken yet.

import { join } from 'node:path';
import { AppError } from '../../base/errors.ts';
import { statNow } from '../../base/files/files.ts';
import { isDead, type ProcessName, thisProcess } from '../../base/process.ts';
import { type Clock, dayOf } from '../../base/time.ts';
import { openForLooking, Sql } from '../ledger/database.ts';
import { HOME_STEPS, type WingSchema } from '../ledger/schema.ts';
import { Breaker } from './breaker.ts';
import { DaySpend } from './day-spend.ts';
import { openSoundHome } from './mend-home.ts';

export interface WorkerRow {
  process: ProcessName;
  /** `embedded`, `redis` or `postgres`. */
  backend: string;
  startedAt: string;
  /** When it last said that it lives, about every half minute. */
  seenAt: string;
}

/** That the database was made anew is told for so long. */
const DAMAGE_TOLD_MS = 7 * 86_400_000;
const IF_DAMAGED =
  'Run the same command again: the file is kept aside and made anew. No memory is lost, only which directories are known, what was spent today, and pauses.';

/** `zone`: whose days spend is counted by. */
export function openHome(dir: string, clock: Clock, zone = 'UTC'): Home {
  return new Home(dir, clock, zone);
}

/**
 * What a home says of where nocturne may work, looked up and nothing else, for those who must not wait: the pauses that
 * last, and the memory directories that are known. Null where it cannot be told; nothing is made or mended.
 */
export function lookIntoHome(dir: string, clock: Clock): { pauses: Pause[]; stores: string[] } | null {
  const path = join(dir, 'home.db');
  if (!statNow(path)) return { pauses: [], stores: [] };
  const db = openForLooking(path, { steps: HOME_STEPS, isInUse: statNow(`${path}-wal`) !== null });
  if (!db) return null;
  const sql = new Sql(db, IF_DAMAGED);
  try {
    return { pauses: new Pauses(sql, clock).all(), stores: storesOf(sql) };
  } finally {
    sql.close();
  }
}

function storesOf(sql: Sql): string[] {
  return sql.all<{ path: string }>('select path from store order by path').map(({ path }) => path);
}

/** That the database of the home was damaged and made anew. */
export interface HomeDamage {
  at: string;
  /** Where the damaged one is. */
  kept: string;
  /** The tables of which not all could be read. */
  lost: string[];
}

/** As a sentence without its stop. */
export function formatDamage({ at, kept, lost }: HomeDamage): string {
  const pauses = lost.includes('pause') ? ', nothing is done unasked until nocturne pause --off' : '';
  return `home.db was damaged, kept as ${kept} and made anew at ${at}${pauses}`;
}

export class Home {
  readonly dir: string;
  /** Whether models may be asked at all. */
  readonly breaker: Breaker;
  readonly swept: SweptTranscripts;
  readonly blocked: Blocked;
  readonly pauses: Pauses;
  readonly days: DaySpend;
  readonly #sql: Sql;
  readonly #clock: Clock;

  constructor(dir: string, clock: Clock, zone: string) {
    this.dir = dir;
    this.#clock = clock;
    const now = clock.now();
    const file = { path: join(dir, 'home.db'), ifDamaged: IF_DAMAGED, now, today: dayOf(now, zone) };
    this.#sql = new Sql(openSoundHome(file), IF_DAMAGED);
    this.breaker = new Breaker(this.#sql, clock);
    this.swept = new SweptTranscripts(this.#sql);
    this.blocked = new Blocked(this.#sql);
    this.pauses = new Pauses(this.#sql, clock);
    this.days = new DaySpend(this.#sql, clock, zone);
  }

  /** Set for a week after the database was made anew, or until somebody resumes. */
  damage(): HomeDamage | null {
    const row = this.#sql.get<{ at: string; kept: string; lost: string }>('select at, kept, lost from damage');
    const isOver = !row || this.#clock.now().getTime() - Date.parse(row.at) > DAMAGE_TOLD_MS;
    return isOver ? null : { ...row, lost: row.lost.split(' ').filter(Boolean) };
  }

  /** Remembers the directories that `look` finds, once after the database was made anew. */
  lookAround(look: () => string[]): void {
    if (!this.#sql.get('select 1 from damage where looked = 0')) return;
    for (const dir of look()) this.addStore(dir);
    this.#sql.run('update damage set looked = 1');
  }

  /** A person has seen that the database was made anew. */
  dismissDamage(): void {
    this.#sql.run('delete from damage');
  }

  /** Remembers a memory directory, so that workers look into its inbox. */
  addStore(path: string): void {
    // Looked up first: who only asks waits for nobody that writes.
    if (this.#sql.get('select 1 from store where path = ?', path)) return;
    this.#sql.run('insert or ignore into store (path, added_at) values (?, ?)', path, this.#now());
  }

  /** Its inbox is looked into no more. */
  removeStore(path: string): void {
    this.#sql.run('delete from store where path = ?', path);
  }

  /** The home's database with a wing's own tables in it, which its steps make. */
  tablesOf(wing: WingSchema): Sql {
    this.#sql.takeStepsOf(wing);
    return this.#sql;
  }

  stores(): string[] {
    return storesOf(this.#sql);
  }

  /** Enters this process as a worker. Only one embedded worker may run on a home: a second is refused by name. */
  enterWorker(backend: string): void {
    this.#sql.transaction(() => {
      const other = this.workers().find((worker) => worker.backend === 'embedded' && worker.process !== thisProcess());
      if (backend === 'embedded' && other) {
        throw new AppError('queue-unavailable', `A worker with the embedded queue runs already: ${other.process}.`, {
          remedy: 'Let it work, stop it, or set NOCTURNE_QUEUE_URL to a Redis or Postgres that several workers share.',
        });
      }
      const now = this.#now();
      this.#sql.replace('worker', { process: thisProcess(), backend, started_at: now, seen_at: now });
    });
  }

  /** This process's worker lives. */
  seeWorker(): void {
    this.#sql.run('update worker set seen_at = ? where process = ?', this.#now(), thisProcess());
  }

  leaveWorker(): void {
    this.#sql.run('delete from worker where process = ?', thisProcess());
  }

  /** The workers that run; the rows of dead ones are removed. */
  workers(): WorkerRow[] {
    const rows =
      this.#sql.all<WorkerRow>(`select process, backend, started_at as startedAt, coalesce(seen_at, started_at) as seenAt
         from worker order by started_at`);
    for (const row of rows.filter((row) => isDead(row.process))) {
      this.#sql.run('delete from worker where process = ?', row.process);
    }
    return rows.filter((row) => !isDead(row.process));
  }

  /**
   * When the nightly round was done last. The first to ask is told, and noted for good, that it was just now; so is who
   * asks after a clock that was ahead, which would keep the nights away until then.
   */
  nightlyAt(): Date {
    const lastAt = this.lastNightAt();
    if (lastAt !== null && lastAt <= this.#now()) return new Date(lastAt);
    this.#sql.run(
      `insert into nightly (id, at) values (1, ?) on conflict (id) do update set at = excluded.at
         where at > excluded.at`,
      this.#now(),
    );
    return new Date(this.lastNightAt() as string);
  }

  /** Does the nightly round unless one was done since `dueAt`; of processes that ask at once, one does it. */
  nightlyRound(dueAt: Date | undefined, round: () => void): void {
    this.#sql.transaction(() => {
      const lastAt = this.nightlyAt();
      if (dueAt && lastAt >= dueAt) return;
      round();
      this.#sql.run('update nightly set at = ?', this.#now());
    });
  }

  /** When the last nightly round was done; null: none was, here. */
  lastNightAt(): string | null {
    return this.#sql.get<{ at: string }>('select at from nightly')?.at ?? null;
  }

  /** What was said before this instant, ISO-8601, was declined at set-up: only who asks for it by name is given it. */
  declinedBefore(): string | undefined {
    return this.#sql.get<{ before: string }>('select before from declined')?.before;
  }

  decline(before: Date): void {
    this.#sql.replace('declined', { id: 1, before: before.toISOString() });
  }

  /** When a person last looked at what nocturne did; null: never. */
  lookedAt(): string | null {
    return this.#sql.get<{ at: string }>('select at from looked')?.at ?? null;
  }

  /** A person looks now. */
  noteLook(): void {
    this.#sql.replace('looked', { id: 1, at: this.#now() });
  }

  close(): void {
    this.#sql.close();
  }

  #now(): string {
    return this.#clock.now().toISOString();
  }
}

export interface Pause {
  /** The root of a project; null: everything. */
  project: string | null;
  /** ISO-8601; null: until it is resumed. */
  until: string | null;
  /** Nobody made it: the pauses that there were could not be read. */
  isAssumed?: boolean;
}

const EVERYWHERE = '';

/** The pauses that a person made, of a project or of everything, for all who work unasked. */
export class Pauses {
  readonly #sql: Sql;
  readonly #clock: Clock;

  constructor(sql: Sql, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
  }

  /** Pauses a project, or everything, for now without end or until an instant. A pause that was there is replaced. */
  begin({ project, until }: Pause): void {
    this.#sql.run('delete from pause where until <= ?', this.#now());
    this.#sql.replace('pause', { project: project ?? EVERYWHERE, until, at: this.#now() });
  }

  /** Ends the pause of a project, or of everything; false where there was none. */
  end(project: string | null): boolean {
    const lasted = this.all().some((pause) => pause.project === project);
    this.#sql.run('delete from pause where project = ?', project ?? EVERYWHERE);
    return lasted;
  }

  /** The pauses that last. */
  all(): Pause[] {
    const rows = this.#sql.all<Pause>(
      'select project, until, assumed as isAssumed from pause where until is null or until > ? order by project',
      this.#now(),
    );
    return rows.map(({ project, until, isAssumed }) => ({
      project: project === EVERYWHERE ? null : project,
      until,
      ...(isAssumed && { isAssumed: true }),
    }));
  }

  #now(): string {
    return this.#clock.now().toISOString();
  }
}

/** A session, or a directory of sessions, that could not be taken for settings, permissions or a missing directory. */
export interface BlockedPath {
  path: string;
  /** As a sentence. */
  reason: string;
  since: string;
}

/** What is taken as soon as it can be, however old it is then. */
export class Blocked {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  all(): BlockedPath[] {
    return this.#sql.all<BlockedPath>('select path, reason, since from blocked order by since, path');
  }

  add({ path, reason, since }: BlockedPath): void {
    this.#sql.run(
      `insert into blocked (path, reason, since) values (?, ?, ?)
         on conflict (path) do update set reason = excluded.reason where reason <> excluded.reason`,
      path,
      reason,
      since,
    );
  }

  remove(path: string): void {
    // Looked up first: who only asks waits for nobody that writes.
    if (this.#sql.get('select 1 from blocked where path = ?', path))
      this.#sql.run('delete from blocked where path = ?', path);
  }
}

/** What a sweep made of a transcript, so that it is not read again while it stays as it is. */
export interface SweptTranscript {
  path: string;
  sizeBytes: number;
  modifiedAt: string;
  cwd: string | null;
  /** The memory directory that was asked; null: the verdict holds for any. */
  store: string | null;
  verdict: string;
}

/** What sweeps made of transcripts. Losing it costs time, never work. */
export class SweptTranscripts {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  all(): SweptTranscript[] {
    const columns = 'path, size as sizeBytes, modified_at as modifiedAt, cwd, store, verdict';
    return this.#sql.all<SweptTranscript>(`select ${columns} from look`);
  }

  remember(swept: SweptTranscript[]): void {
    this.#sql.transaction(() => {
      for (const { sizeBytes: size, modifiedAt: modified_at, path, cwd, store, verdict } of swept) {
        this.#sql.replace('look', { path, size, modified_at, cwd, store, verdict });
      }
    });
  }
}
