// Which action `undo` means: looked for in the memories that belong to where one stands, the project's, the user's and the
// working tree's, or in the one that is named. And how an action is told to a person.

import { AppError, isAppError } from '../../../base/errors.ts';
import { canonicalPath } from '../../../base/files/directories.ts';
import { statNow } from '../../../base/files/files.ts';
import { type Pushed, pushedBy } from '../../../memory/history/undo.ts';
import { commitsOf, jobRow, lastChangingJob } from '../../../memory/ledger/job-rows.ts';
import { findId, shortId } from '../../../memory/ledger/short-ids.ts';
import type { Store } from '../../../memory/store/store.ts';
import type { App } from '../../compose.ts';
import { type MemoryScope, scopeDir } from '../../places.ts';
import type { CommonOptions } from './options.ts';
import { sayWhen } from './words.ts';

export interface Action {
  store: Store;
  /** Whose memory, where that is not the project's or the one that was named. */
  scope?: MemoryScope;
  job: string;
}

const MOST_SHOWN = 8;

/** The last one that a person began, or with `any` whoever did, in the project's memory or the named one; undefined: none. */
export async function lastAction(app: App, options: CommonOptions & { any?: boolean }): Promise<Action | undefined> {
  if (options.any) {
    const store = await app.storeFor({ cwd: process.cwd() });
    const job = lastChangingJob(store.ledger)?.id;
    return job === undefined ? undefined : { store, job };
  }
  const found = (await memoriesHere(app, options)).flatMap((place) => {
    const last = lastChangingJob(place.store.ledger, { byPerson: true });
    return last ? [{ ...place, job: last.id, at: last.at }] : [];
  });
  return found.reduce<(typeof found)[number] | undefined>(
    (latest, each) => (latest && latest.at > each.at ? latest : each),
    undefined,
  );
}

/** The action of this id, or that a prefix of it means, wherever it is among the memories here. */
export async function actionCalled(app: App, id: string, options: CommonOptions): Promise<Action | undefined> {
  const found = (await memoriesHere(app, options)).flatMap((place) => {
    const job = findId(place.store.ledger, 'job', id);
    return job === undefined ? [] : [{ ...place, job }];
  });
  if (found.length < 2) return found[0];
  const whole = found.find(({ job }) => job === id);
  if (whole) return whole;
  throw new AppError('bad-input', `${JSON.stringify(id)} may mean ${found.length} jobs.`, {
    remedy: `Say which: ${found.map(({ job, store }) => `${shortId(store.ledger, 'job', job)} in ${store.dir}`).join(', ')}`,
  });
}

async function memoriesHere(app: App, options: CommonOptions): Promise<Omit<Action, 'job'>[]> {
  const cwd = process.cwd();
  const places: Omit<Action, 'job'>[] = [{ store: await app.storeFor({ cwd }) }];
  if (options.memory !== undefined || options.scope !== undefined) return places;
  for (const scope of ['user', 'local'] as const) {
    const dir = canonicalPath(scopeDir(app.config, { memory: scope, cwd }));
    const isWorkedIn = statNow(`${dir}/.nocturne/ledger.db`)?.isFile;
    if (!isWorkedIn || places.some(({ store }) => store.dir === dir)) continue;
    try {
      places.push({ store: await app.store(dir), scope });
    } catch (error) {
      // What cannot be opened holds nothing that could be taken back now; who names it is told why.
      if (!isAppError(error)) throw error;
    }
  }
  return places;
}

const DID: Record<string, string> = {
  extract: 'learned from a session',
  dream: 'dreamed',
  reprocess: 'learned a session again',
  remember: 'remembered',
  forget: 'forgot',
  pin: 'pinned a topic',
  unpin: 'let dreams change a topic again',
  restore: 'made a file what it was',
  edit: 'edited a file',
  review: 'decided in review',
  import: 'imported an archive',
  share: 'shared with the team',
  init: 'began topics',
  'apply-snapshot': 'took in a snapshot',
};

/** What was done, when, by which name it is taken back, and what it wrote. */
export function describeAction({ store: { ledger }, scope, job: id }: Action, { config }: App): string[] {
  const job = jobRow(ledger, id);
  if (!job) return [];
  const when = sayWhen(job.endedAt ?? job.createdAt, { now: config.clock.now(), zone: config.zone });
  const where = scope === 'user' ? ', in the user scope' : scope === 'local' ? ", in the team's memory" : '';
  const about = ledger.all<{ text: string }>('select text from entry where job = ? limit ?', id, MOST_SHOWN + 1);
  const marks = commitsOf(ledger, id)
    .map(() => '?')
    .join(', ');
  const sql = `select distinct path from version where "commit" in (${marks}) and path is not null order by path limit ?`;
  const files = ledger.all<{ path: string }>(sql, ...commitsOf(ledger, id), MOST_SHOWN + 1);
  const shown = [...about.map(({ text }) => text), ...files.map(({ path }) => path)];
  return [
    `${DID[job.kind] ?? `did ${job.kind}`}, ${when}${where} (${shortId(ledger, 'job', id)})`,
    ...shown.slice(0, MOST_SHOWN).map((line) => `  ${line}`),
    ...(shown.length > MOST_SHOWN ? ['  …'] : []),
  ];
}

/** What of an action has left the machine, as sentences. */
export async function sayPushed({ store, job }: Action, { config }: App): Promise<string[]> {
  return describePushed(await pushedBy(store, job, config.environment));
}

export function describePushed(pushed: Pushed[]): string[] {
  if (pushed.length === 0) return [];
  return [
    'It has left this machine: others have what was pushed, until you commit and push the file without it.',
    ...pushed.map(({ path, to }) => `  ${path} (${to.join(', ')})`),
  ];
}
