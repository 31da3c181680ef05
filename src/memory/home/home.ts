// The home: `$NOCTURNE_HOME/home.db`, or what a wing keeps it in: what is known over all memory directories of this user: which there are, what
// was spent (day-spend.ts), which workers run, what a person paused or declined, what sweeps made of the transcripts they looked at, and what could not be taken yet.

import { join } from 'node:path';
import { onAppError } from '../../base/errors.ts';
import { statNow } from '../../base/files/files.ts';
import { type ProcessName, thisProcess } from '../../base/process.ts';
import { type Clock, dayOf } from '../../base/time.ts';
import { Sql } from '../ledger/database.ts';
import { openForLooking } from '../ledger/opening.ts';
import { HOME } from '../ledger/schema.ts';
import { Breaker } from './breaker.ts';
import { DaySpend } from './day-spend.ts';
import {
  answerNow,
  FileDatabase,
  type HomeDatabase,
  HomePart,
  openSoundHome,
  put,
  row,
  rows,
  run,
  type Steps,
} from './home-database.ts';

/** That the database was made again is told for so long. */
const DAMAGE_TOLD_MS = 7 * 86_400_000;
const IF_DAMAGED =
  'Run the same command again: the file is kept aside and made again. No memory is lost, only which directories are known, what was spent today, and pauses.';

/**
 * Opens the home that this machine's file keeps. `zone`: whose days spend is counted by. `look` finds memory directories,
 * which are remembered once after the database was made again.
 */
export function openHome(dir: string, clock: Clock, zone = 'UTC', look?: () => string[]): Home {
  const now = clock.now();
  const file = { path: join(dir, 'home.db'), ifDamaged: IF_DAMAGED, now, today: dayOf(now, zone) };
  const sql = new Sql(openSoundHome(file), IF_DAMAGED);
  if (look) answerNow(sql, lookAround(look, now.toISOString()));
  return new Home(dir, { database: new FileDatabase(sql), clock, zone });
}

function* lookAround(look: () => string[], now: string): Steps<void> {
  if (!(yield* row('select 1 from damage where looked = 0'))) return;
  for (const dir of look()) yield* addingStore(dir, now);
  yield* run('update damage set looked = 1');
}

/**
 * What a home says of where nocturne may work, looked up and nothing else, for those who must not wait: the pauses that
 * last, and the memory directories that are known. Null where it cannot be told; nothing is made or mended.
 */
export function lookIntoHome(dir: string, clock: Clock): { pauses: Pause[]; stores: string[] } | null {
  const path = join(dir, 'home.db');
  if (!statNow(path)) return { pauses: [], stores: [] };
  const db = openForLooking(path, { schema: HOME, isInUse: statNow(`${path}-wal`) !== null });
  if (!db) return null;
  const sql = new Sql(db, IF_DAMAGED);
  try {
    return { pauses: answerNow(sql, pausesAt(clock.now())), stores: answerNow(sql, storePaths()) };
  } finally {
    sql.close();
  }
}

function* storePaths(): Steps<string[]> {
  return (yield* rows<{ path: string }>('select path from store order by path')).map(({ path }) => path);
}

function* addingStore(path: string, now: string): Steps<void> {
  // Looked up first: who only asks waits for nobody that writes.
  if (yield* row('select 1 from store where path = ?', path)) return;
  yield* run('insert into store (path, added_at) values (?, ?) on conflict (path) do nothing', path, now);
}

/** That the database of the home was damaged and made again. */
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
  return `home.db was damaged, kept as ${kept} and made again at ${at}${pauses}`;
}

export class Home {
  readonly dir: string;
  /** Whether models may be asked at all. */
  readonly breaker: Breaker;
  readonly swept: SweptTranscripts;
  readonly blocked: Blocked;
  readonly pauses: Pauses;
  readonly days: DaySpend;
  readonly workers: Workers;
  /** For those who keep rows of their own in the home. */
  readonly database: HomeDatabase;
  readonly #clock: Clock;

  constructor(dir: string, { database, clock, zone }: { database: HomeDatabase; clock: Clock; zone: string }) {
    this.dir = dir;
    this.#clock = clock;
    this.database = database;
    this.breaker = new Breaker(database, clock);
    this.swept = new SweptTranscripts(database, clock);
    this.blocked = new Blocked(database, clock);
    this.pauses = new Pauses(database, clock);
    this.days = new DaySpend(database, clock, zone);
    this.workers = new Workers(database, clock);
  }

  /** Set for a week after the database was made again, or until someone resumes. */
  async damage(): Promise<HomeDamage | null> {
    const row = await this.database.get<{ at: string; kept: string; lost: string }>(
      'select at, kept, lost from damage',
    );
    const isOver = !row || this.#clock.now().getTime() - Date.parse(row.at) > DAMAGE_TOLD_MS;
    return isOver ? null : { ...row, lost: row.lost.split(' ').filter(Boolean) };
  }

  /** A person has seen that the database was made again. */
  async dismissDamage(): Promise<void> {
    await this.database.run('delete from damage');
  }

  /** Remembers a memory directory, so that workers look into its inbox. */
  addStore(path: string): Promise<void> {
    return this.database.do(addingStore(path, this.#now()));
  }

  /** Its inbox is looked into no more. */
  async removeStore(path: string): Promise<void> {
    await this.database.run('delete from store where path = ?', path);
  }

  stores(): Promise<string[]> {
    return this.database.do(storePaths());
  }

  /**
   * When the nightly round was done last. The first to ask is told, and noted for good, that it was just now; so is who
   * asks after a clock that was ahead, which would keep the nights away until then.
   */
  nightlyAt(): Promise<Date> {
    return this.database.do(nightAt(this.#now()));
  }

  /** Does the nightly round unless one was done since `dueAt`; of processes that ask at once, one does it. */
  nightlyRound(dueAt: Date | undefined, round: () => void): Promise<void> {
    const now = this.#now();
    return this.database.transaction(function* (): Steps<void> {
      const lastAt = yield* nightAt(now);
      if (dueAt && lastAt >= dueAt) return;
      round();
      yield* run('update nightly set at = ?', now);
    });
  }

  /** When the last nightly round was done; null: none was, here. */
  lastNightAt(): Promise<string | null> {
    return this.database.do(lastNight());
  }

  /** What was said before this instant, ISO-8601, was declined at set-up: only who asks for it by name is given it. */
  async declinedBefore(): Promise<string | undefined> {
    return (await this.database.get<{ before: string }>('select before from declined'))?.before;
  }

  decline(before: Date): Promise<void> {
    return this.database.put('declined', { id: 1, before: before.toISOString() }, ['id']);
  }

  /** When a person last looked at what nocturne did; null: never. */
  async lookedAt(): Promise<string | null> {
    return (await this.database.get<{ at: string }>('select at from looked'))?.at ?? null;
  }

  /** A person looks now. */
  noteLook(): Promise<void> {
    return this.database.put('looked', { id: 1, at: this.#now() }, ['id']);
  }

  /** Another one where another process wrote the home. */
  sign(): Promise<string> {
    return this.database.sign();
  }

  close(): Promise<void> {
    return this.database.close();
  }

  #now(): string {
    return this.#clock.now().toISOString();
  }
}

function* lastNight(): Steps<string | null> {
  return (yield* row<{ at: string }>('select at from nightly'))?.at ?? null;
}

function* nightAt(now: string): Steps<Date> {
  const lastAt = yield* lastNight();
  if (lastAt !== null && lastAt <= now) return new Date(lastAt);
  yield* run(
    `insert into nightly (id, at) values (1, ?) on conflict (id) do update set at = excluded.at
       where nightly.at > excluded.at`,
    now,
  );
  return new Date((yield* lastNight()) as string);
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
export class Pauses extends HomePart {
  /** Pauses a project, or everything, for now without end or until an instant. A pause that was there is replaced. */
  async begin({ project, until }: Pause): Promise<void> {
    const now = this.clock.now().toISOString();
    await this.database.run('delete from pause where until <= ?', now);
    await this.database.put('pause', { project: project ?? EVERYWHERE, until, at: now, assumed: 0 }, ['project']);
  }

  /** Ends the pause of a project, or of everything; false where there was none. */
  async end(project: string | null): Promise<boolean> {
    const lasted = (await this.all()).some((pause) => pause.project === project);
    await this.database.run('delete from pause where project = ?', project ?? EVERYWHERE);
    return lasted;
  }

  /** The pauses that last. */
  all(): Promise<Pause[]> {
    return this.database.do(pausesAt(this.clock.now()));
  }
}

function* pausesAt(now: Date): Steps<Pause[]> {
  const found = yield* rows<Pause>(
    'select project, until, assumed as "isAssumed" from pause where until is null or until > ? order by project',
    now.toISOString(),
  );
  return found.map(({ project, until, isAssumed }) => ({
    project: project === EVERYWHERE ? null : project,
    until,
    ...(isAssumed && { isAssumed: true }),
  }));
}

/** A session, or a directory of sessions, that could not be taken for settings, permissions or a missing directory. */
export interface BlockedPath {
  path: string;
  /** As a sentence. */
  reason: string;
  since: string;
}

/** What is taken as soon as it can be, however old it is then. */
export class Blocked extends HomePart {
  all(): Promise<BlockedPath[]> {
    return this.database.all<BlockedPath>('select path, reason, since from blocked order by since, path');
  }

  async add({ path, reason, since }: BlockedPath): Promise<void> {
    await this.database.run(
      `insert into blocked (path, reason, since) values (?, ?, ?)
         on conflict (path) do update set reason = excluded.reason where blocked.reason <> excluded.reason`,
      path,
      reason,
      since,
    );
  }

  async remove(path: string): Promise<void> {
    // Looked up first: who only asks waits for nobody that writes.
    if (await this.database.get('select 1 from blocked where path = ?', path))
      await this.database.run('delete from blocked where path = ?', path);
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
export class SweptTranscripts extends HomePart {
  all(): Promise<SweptTranscript[]> {
    const columns = 'path, size as "sizeBytes", modified_at as "modifiedAt", cwd, store, verdict';
    return this.database.all<SweptTranscript>(`select ${columns} from look`);
  }

  /** It was read since, whatever the sweep found. */
  async forget(path: string): Promise<void> {
    await this.database.run('delete from look where path = ?', path);
  }

  remember(swept: SweptTranscript[]): Promise<void> {
    return this.database.transaction(function* (): Steps<void> {
      for (const { sizeBytes: size, modifiedAt: modified_at, path, cwd, store, verdict } of swept) {
        yield* put('look', { path, size, modified_at, cwd, store, verdict }, ['path']);
      }
    });
  }
}

export interface WorkerRow {
  process: ProcessName;
  /** What wakes it: `redis` or `postgres`, or its own `polling`. */
  backend: string;
  startedAt: string;
  /** When it last said that it lives, about every half minute. */
  seenAt: string;
}

/** The workers that run: a row each, which says when it was seen. */
export class Workers extends HomePart {
  /** This process's worker, as it says every time that it lives: others may have taken it for gone. */
  #own: Pick<WorkerRow, 'backend' | 'startedAt'> | undefined;

  /** Those that run; the rows of those that do no more are removed. */
  all(): Promise<WorkerRow[]> {
    return this.database.do(this.#living());
  }

  /** Enters this process. */
  async enter(backend: string): Promise<void> {
    this.#own = await this.database.transaction(() => this.#entering(backend));
  }

  /** This process's worker lives, and so does the job by which it tries for all whether a model answers again (breaker.ts). */
  async see(): Promise<void> {
    await this.database.do(this.#seeing(this.#own));
  }

  async leave(): Promise<void> {
    this.#own = undefined;
    const leaving = this.database.run('delete from worker where process = ?', thisProcess());
    // It is seen no more, which ends it as well.
    await leaving.catch(onAppError(() => 0, 'database-unavailable'));
  }

  *#living(): Steps<WorkerRow[]> {
    const found =
      yield* rows<WorkerRow>(`select process, backend, started_at as "startedAt", coalesce(seen_at, started_at) as "seenAt"
       from worker order by started_at`);
    const now = yield* this.database.now(this.clock);
    const gone = found.filter((row) => this.database.isGone(row, now));
    for (const { process } of gone) yield* run('delete from worker where process = ?', process);
    return found.filter((row) => !gone.includes(row));
  }

  *#entering(backend: string): Steps<Pick<WorkerRow, 'backend' | 'startedAt'>> {
    const own = { backend, startedAt: yield* this.database.now(this.clock) };
    yield* this.#seeing(own);
    return own;
  }

  *#seeing(own: Pick<WorkerRow, 'backend' | 'startedAt'> | undefined): Steps<void> {
    const [process, seen_at] = [thisProcess(), yield* this.database.now(this.clock)];
    if (own) yield* put('worker', { process, backend: own.backend, started_at: own.startedAt, seen_at }, ['process']);
    if (this.database.sharedTime !== null) {
      yield* run('update breaker set prober_seen_at = ? where prober = ?', seen_at, process);
    }
  }
}
