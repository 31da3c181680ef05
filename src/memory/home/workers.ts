// The workers that run: a row each, which says when it was seen.

import { hostname } from 'node:os';
import { AppError } from '../../base/errors.ts';
import { isDead, type ProcessName, thisProcess } from '../../base/process.ts';
import type { Clock } from '../../base/time.ts';
import { type HomeDatabase, put, rows, run, type Steps } from './database.ts';

export interface WorkerRow {
  process: ProcessName;
  /** `embedded`, `redis` or `postgres`. */
  backend: string;
  startedAt: string;
  /** When it last said that it lives, about every half minute. */
  seenAt: string;
}

/** This process's worker, as it says every time that it lives: others may have taken it for gone. */
export type OwnWorker = Pick<WorkerRow, 'backend' | 'startedAt'>;

/** The workers that run; the rows of those that do no more are removed. */
export function* livingWorkers(database: HomeDatabase, clock: Clock): Steps<WorkerRow[]> {
  const found =
    yield* rows<WorkerRow>(`select process, backend, started_at as "startedAt", coalesce(seen_at, started_at) as "seenAt"
       from worker order by started_at`);
  const now = yield* database.now(clock);
  const gone = found.filter((row) => database.isGone(row, now));
  for (const { process } of gone) yield* run('delete from worker where process = ?', process);
  return found.filter((row) => !gone.includes(row));
}

/** Only one worker with the embedded queue may run on a machine's home: a second is refused by name. */
export function* entering(
  database: HomeDatabase,
  { backend, clock }: { backend: string; clock: Clock },
): Steps<OwnWorker> {
  const workers = yield* livingWorkers(database, clock);
  const isHere = ({ process }: WorkerRow) =>
    database.sharedTime === null || (process.startsWith(`${hostname()}:`) && !isDead(process));
  const other = workers.find((each) => each.backend === 'embedded' && each.process !== thisProcess() && isHere(each));
  if (backend === 'embedded' && other) {
    throw new AppError('queue-unavailable', `A worker with the embedded queue runs already: ${other.process}.`, {
      remedy: 'Let it work, stop it, or set NOCTURNE_QUEUE_URL to a Redis or Postgres that several workers share.',
    });
  }
  const own = { backend, startedAt: yield* database.now(clock) };
  yield* seeing(database, { own, clock });
  return own;
}

/** It lives, and so does the job by which it tries for all whether a model answers again (breaker.ts). */
export function* seeing(database: HomeDatabase, { own, clock }: { own?: OwnWorker; clock: Clock }): Steps<void> {
  const [process, seen_at] = [thisProcess(), yield* database.now(clock)];
  if (own) yield* put('worker', { process, backend: own.backend, started_at: own.startedAt, seen_at }, ['process']);
  if (database.sharedTime !== null) {
    yield* run('update breaker set prober_seen_at = ? where prober = ?', seen_at, process);
  }
}
