// pause: nothing is done unasked, everywhere or in a project, until the pause is ended or a time is over. retry: what failed, or waits
// after a failure, is due now, or is taken off the list.

import { resolve } from 'node:path';
import type { Config } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import { canonicalPath } from '../base/files/directories.ts';
import { sayCount } from '../base/text/wording.ts';
import { memoryRow } from '../memory/memories.ts';
import { gitRoot, pausedAt, pauseEnd } from '../memory/paths.ts';
import type { SessionRow } from '../memory/session-rows.ts';
import { wholeId } from '../memory/short-ids.ts';
import { closeBreaker } from '../queue/breaker.ts';
import { type InboxRow, put } from '../queue/inbox.ts';
import { endPause, pause as pauseAll, pausesOf } from '../queue/pauses.ts';
import { reopenDay } from '../queue/spend.ts';
import { dismiss, LIMITS, listWork, releasePaused, retry as retryRows } from '../queue/waiting-work.ts';
import { print } from '../terminal/output.ts';
import { plainly, sayTime, shellPath } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { type CommonOptions, MEMORY, parsed, withApp } from './cli-options.ts';
import { namesOf } from './later.ts';
import type { Call, CommandSpec } from './spec.ts';

interface PauseOptions extends CommonOptions {
  project?: string | true;
  for?: number;
  off?: boolean;
}

const pause: CommandSpec<PauseOptions> = {
  name: 'pause',
  about: 'stop all automatic work for now',
  options: [
    [
      '--for <time>',
      'how long: 45m, 2h, 3d (default: until pause --off)',
      { parse: parsed(durationMs, 'Give minutes, hours or days: 45m, 2h, 3d.') },
    ],
    ['--off', 'end the pause', { conflicts: 'for' }],
    ['--project [dir]', 'only the project of this directory (default: the current one)'],
  ],
  more: 'Sessions wait meanwhile, and nothing is recalled.',
  json: '{ project, until }; with --off { project, wasPaused, released, left, enabled, reason }',
  examples: ['pause --for 2h --project', 'pause --off'],
  inApp: (app, call) => (call.options.off ? stop(app, call) : begin(app, call)),
};

async function begin({ db, clock, config }: App, { options }: Call<PauseOptions>): Promise<void> {
  const { for: lengthMs, json } = options;
  const now = clock.now();
  const until = lengthMs ? new Date(now.getTime() + lengthMs).toISOString() : null;
  const project = projectFrom(options);
  await pauseAll(db, { project, until }, now);
  const when = until && sayTime(until, config);
  const said = `${project ?? 'nocturne'} is paused until ${when ?? pauseEnd(project)}`;
  print(json ? { project, until } : plainly(said, config));
}

async function stop(app: App, { options }: Call<PauseOptions>): Promise<void> {
  const { db, clock, config } = app;
  const project = projectFrom(options);
  const now = clock.now();
  const pauses = await pausesOf(db, now);
  const ended = pauses.find((each) => (project === null ? each.project : pausedAt(each, project)) === project);
  const left = ended ? await endPause(db, ended.project, now) : pauses;
  // What another pause still holds is held again by whoever comes to work it.
  const released = ended ? await releasePaused(db, now) : 0;
  const { enabled, reason, pausedUntil } = await app.standing({ cwd: project ?? undefined });
  if (options.json) return print({ project, wasPaused: ended !== undefined, released, left, enabled, reason });
  const what = plainly(project ?? 'nocturne', config);
  const due = released > 0 ? `; ${released} that waited ${released === 1 ? 'is' : 'are'} due now` : '';
  print(ended ? `${what} is not paused any more${due}` : `${what} was not paused`);
  if (!enabled && pausedUntil === undefined) print(`still off: ${plainly(reason, config)}`);
  for (const { project: of, until } of left) {
    const when = until === null ? '' : ` until ${sayTime(until, config)}`;
    print(`still paused: ${plainly(of ?? 'everything', config)}${when}; ${endOf(of, config)} ends that`);
  }
}

/** The command that ends it from everywhere. */
function endOf(project: string | null, config: Config): string {
  return `${pauseEnd(project)}${project === null ? '' : ` ${shellPath(project, config)}`}`;
}

/** The root of the project that is meant; null: everything. */
function projectFrom({ project }: PauseOptions): string | null {
  if (project === undefined) return null;
  const dir = canonicalPath(project === true ? process.cwd() : project);
  return gitRoot(dir) ?? dir;
}

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function durationMs(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text.trim()) ?? [];
  return count && Number(count) > 0 ? Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS] : undefined;
}

interface RetryOptions extends CommonOptions {
  all?: boolean;
  failed?: boolean;
  dismiss?: boolean;
}

const retry: CommandSpec<RetryOptions, [string[]]> = {
  name: 'retry',
  about: 'try again what failed: given up, or waiting after a failure',
  args: [['[session...]', 'sessions by id or transcript, or other work by its key (dream, a day)']],
  options: [
    ['--failed', "all work that was given up, or waits for a limit: yours of a day, or the provider's"],
    ['--all', 'that, and all that waits to be tried again'],
    ['--dismiss', 'do not try it again: take it off the list of what failed'],
    ...MEMORY,
  ],
  json: 'one line per piece of work: { memory, kind, key, isDismissed }',
  more: 'For all memories, or with --memory for one. It also lets work go on when a daily limit was reached.',
  examples: ['retry --failed'],
  run: (call) => {
    const [names] = call.args;
    const { failed, all } = call.options;
    if (names.length === 0 && !failed && !all) call.wrong('name a session, or use --failed or --all');
    return withApp(call, (app) => tryAgain(app, names, call.options));
  },
};

/** Work, and how a person calls it. */
interface Known {
  row: Pick<InboxRow, 'kind' | 'key' | 'memory'> & Partial<InboxRow>;
  session?: Pick<SessionRow, 'name' | 'path'>;
}

async function tryAgain(app: App, asked: string[], options: RetryOptions): Promise<void> {
  const { db, clock } = app;
  const names = await Promise.all(asked.map((name) => wholeId(db, 'session', name)));
  const isNamed = options.memory !== undefined || options.scope !== undefined || options.store !== undefined;
  const memory = isNamed ? (await app.findMemory())?.id : undefined;
  const work = await Promise.all((await listWork(db, { memory })).map((row) => knownBy(app, row)));
  const given = options.dismiss ? [] : await givenUp(app, memory, work);
  const left = new Set(names);
  let waiting = 0;
  const meant = [...work, ...given].filter((each) => {
    const { state, code } = each.row;
    const named = names.filter((name) => isMeant(each, name));
    for (const name of named) left.delete(name);
    const isListed = state === 'failed' || (!options.dismiss && LIMITS.includes(code ?? ''));
    const isAsked = isListed ? options.failed || options.all : options.all && !options.dismiss && state !== undefined;
    waiting += state === 'waiting' && !isAsked ? 1 : 0;
    return named.length > 0 || isAsked;
  });
  if (left.size > 0) {
    throw new AppError('bad-input', `Nothing called ${[...left].join(', ')} failed or waits.`, {
      remedy: 'nocturne why SESSION says what became of a session; nocturne lists what failed.',
    });
  }
  const now = clock.now();
  for (const each of meant) {
    await (options.dismiss ? dismissOne(app, each) : putAgain(app, each, now));
    await tell(app, each, options);
  }
  if (options.dismiss) {
    if (meant.length === 0 && !options.json) print('Nothing failed that could be taken off the list.');
    return;
  }
  // Whoever asks has mended what was wrong, or wants to see.
  await closeBreaker(db, now);
  await reopenDay(db);
  if (meant.length > 0 || options.json) return;
  if (waiting === 0) print('Nothing failed, and nothing waits.');
  else print(`Nothing failed; ${sayCount(waiting, 'job')} ${waiting === 1 ? 'waits' : 'wait'}: nocturne retry --all`);
}

async function knownBy({ db }: App, row: InboxRow): Promise<Known> {
  if (row.kind !== 'extract') return { row };
  return { row, session: await db.get<SessionRow>('select name, path from session where id = ?', row.key) };
}

/** Sessions of which turns were given up, although no work of theirs is listed any more. */
async function givenUp({ db }: App, memory: string | undefined, work: readonly Known[]): Promise<Known[]> {
  const rows = await db.all<SessionRow>(
    `select distinct s.id, s.memory, s.name, s.path from turn t join session s on s.id = t.session
     where t.state = 'gave_up' ${memory === undefined ? '' : 'and t.memory = ?'} order by s.id`,
    ...(memory === undefined ? [] : [memory]),
  );
  const listed = new Set(work.map(({ row }) => row.key));
  return rows
    .filter(({ id }) => !listed.has(id))
    .map(({ id, memory: of, ...session }) => ({ row: { kind: 'extract', key: id, memory: of }, session }));
}

function isMeant({ row, session }: Known, what: string): boolean {
  if (row.key === what || (row.kind === 'dream' && what === 'dream')) return true;
  return session !== undefined && (session.name === what || session.path === resolve(what));
}

async function putAgain({ db }: App, { row }: Known, now: Date): Promise<void> {
  const { kind, key, memory } = row;
  const before = row.payload === undefined ? { ended: true } : JSON.parse(row.payload);
  const payload = kind === 'extract' ? { ...before, takeUp: ['gave_up', 'undone', 'declined'] } : before;
  await db.write(async (sql) => {
    await put(sql, { kind, key, memory: memory ?? undefined, machine: row.machine, payload, notBefore: now }, now);
    if (row.id !== undefined) await retryRows(sql, [row.id], now);
  });
}

async function dismissOne({ db }: App, { row: { id, state } }: Known): Promise<void> {
  if (id === undefined) return;
  if (state === 'failed') await dismiss(db, id);
  else await db.run('update inbox set failures = 0, code = null, error = null where id = ?', id);
}

async function tell(app: App, { row }: Known, { json, dismiss: isDismissed = false }: RetryOptions) {
  const { kind } = row;
  const of = row.memory === null ? null : await memoryRow(app.db, row.memory);
  const { key, name, place: memory } = await namesOf(app, { kind, key: row.key, memory: of });
  print(
    json ? { memory, kind, key, isDismissed } : `${name} ${isDismissed ? 'is off the list' : 'waits'} in ${memory}`,
  );
}

export const commands: CommandSpec[] = [pause, retry];
