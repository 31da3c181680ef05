// Work for a worker. enqueue puts it into a memory directory's inbox and notifies the queue, where one is configured:
// the inbox is what counts, and with the queue out of reach the work waits there until a worker sweeps it. With --all it
// finds the sessions that no hook told of. retry puts what failed, or waits after a failure,
// into its inbox again, due now, or says that it may be forgotten.

import { resolve } from 'node:path';
import { AppError, describeError, isAppError } from '../../../base/errors.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { dayOf } from '../../../base/time.ts';
import { hasCovered, sessionRow } from '../../../memory/ledger/coverage.ts';
import type { WorkRows } from '../../../memory/ledger/inbox.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { severalMeant, shortKey, wholeId } from '../../../memory/ledger/short-ids.ts';
import { openSession } from '../../../transcript/session.ts';
import type { App } from '../../compose.ts';
import { extractKey, type Waiting } from '../../hook/ingest.ts';
import { type SweepReport, sweepSessions } from '../../hook/sweep.ts';
import { whyTurnedOff } from '../../places.ts';
import { takeSnapshot } from '../../transcripts.ts';
import { isHeldByCeiling } from '../../worker/hold.ts';
import { eachLedger, isMeant, isSessionMeant, type KnownWork, knownWork, sessionOf } from '../../worker/known-work.ts';
import { wakeQueueOptions } from '../../worker/worker.ts';
import type { CommandSpec } from '../spec.ts';
import { type CommonOptions, INSTRUCTIONS, inApp, MEMORY, withApp } from '../terminal/options.ts';
import { note, type Printing, print, progress } from '../terminal/output.ts';
import { AGAIN, FINDING, type FindingOptions, type ReprocessOptions, requestOf, sinceOf } from './learn-command.ts';

const FOUND_SHAPE = '{ agents, enqueued: [{ agent, transcript, memory }], problems, off? }';

const SHAPE = 'one line per piece of work: { memory, kind, key, isRung }';

const enqueue: CommandSpec = {
  name: 'enqueue',
  about: 'put work into the inbox for a worker',
  group: 'Under the hood',
};

interface EnqueueOptions extends FindingOptions {
  live?: boolean;
  all?: boolean;
  snapshot?: boolean;
}

const enqueueSessions: CommandSpec<EnqueueOptions, [string[]]> = {
  name: 'enqueue extract',
  about: 'extract sessions',
  group: 'Under the hood',
  args: [['[transcript...]', 'session files']],
  options: [
    ['--all', 'every session on this disk that has pending turns'],
    ['--live', 'the sessions still run: leave their last turns alone'],
    ['--snapshot', 'keep redacted copies, for agents that delete their sessions before a worker comes'],
    ...FINDING,
    ...MEMORY,
    INSTRUCTIONS,
  ],
  json: `${SHAPE}; with --all ${FOUND_SHAPE}`,
  examples: ['enqueue extract --all --since 30d && nocturne worker --once'],
  run: (call) => {
    const [transcripts] = call.args;
    const { all, live, snapshot } = call.options;
    if (all ? transcripts.length > 0 || snapshot : transcripts.length === 0) {
      call.wrong('give session files or --all, one of both');
    }
    return withApp(call, async (app) => {
      if (all) return find(app, call.options);
      const { instructions } = call.options;
      const ask = { ended: !live, instructions, snapshot };
      const waiting = Array.fromAsync(transcripts, (transcript) => enqueueExtract(app, { transcript, ...ask }));
      await tellQueue(app, await waiting, call.options);
      for (const transcript of transcripts) await noteTurnedOff(app, transcript);
    });
  },
};

/** A worker leaves alone what a person may have read at once. */
async function noteTurnedOff(app: App, transcript: string): Promise<void> {
  const { cwd } = await openSession(transcript);
  const why = whyTurnedOff(await app.standing({ cwd }));
  if (why) note(`nocturne is off where it ran (${why}): a worker leaves it. nocturne extract ${transcript} reads it.`);
}

const enqueueDream: CommandSpec<CommonOptions> = {
  name: 'enqueue dream',
  about: 'dream',
  group: 'Under the hood',
  options: [...MEMORY, INSTRUCTIONS],
  json: SHAPE,
  examples: ['enqueue dream && nocturne worker --once'],
  run: inApp(async (app, { options }) => {
    const store = await app.storeFor();
    const { instructions } = options;
    await tellQueue(app, [await put(app, { store, kind: 'dream', key: 'dream' }, { instructions })], options);
  }),
};

const enqueueAgain: CommandSpec<ReprocessOptions> = {
  name: 'enqueue reprocess',
  about: 'extract again',
  group: 'Under the hood',
  options: [...AGAIN, ...MEMORY, INSTRUCTIONS],
  json: SHAPE,
  examples: ['enqueue reprocess --day 2026-11-20'],
  run: (call) => {
    const request = requestOf(call);
    return withApp(call, async (app) => {
      const store = await app.storeFor();
      const session = request.session && wholeId(store.ledger, 'session', request.session);
      const key = session ?? request.day ?? 'all';
      const { instructions } = call.options;
      const waiting = await put(app, { store, kind: 'reprocess', key }, { ...request, session, instructions });
      await tellQueue(app, [waiting], call.options);
    });
  },
};

/** Puts a session into the inbox of the memory directory it belongs to. */
export async function enqueueExtract(
  app: App,
  { snapshot, ...ask }: { transcript: string; ended: boolean; instructions?: string; snapshot?: boolean },
): Promise<Waiting> {
  const transcript = resolve(ask.transcript);
  const session = await openSession(transcript);
  const store = await app.storeFor(session);
  const key = extractKey({ session: session.id, transcript });
  const kept = await app.transcripts.keep(transcript, store.id, { isLive: !ask.ended });
  const payload = { ...ask, transcript: kept, takeDeclined: true };
  if (!snapshot || kept !== transcript) return put(app, { store, kind: 'extract', key }, payload);
  await takeSnapshot(store, { session, key, payload, notBefore: app.config.clock.now().toISOString() });
  return { store, kind: 'extract', key };
}

/** Puts work into an inbox, to be done at once. */
export async function put(app: App, waiting: Waiting, payload: object): Promise<Waiting> {
  const { store, kind, key } = waiting;
  await store.work.put({ kind, key, payload, notBefore: app.config.clock.now().toISOString() });
  return waiting;
}

async function tellQueue(app: App, waiting: Waiting[], { json }: Printing): Promise<void> {
  const url = app.config.queueUrl;
  const isNotified = url ? await notifyQueue(app, { url, waiting }) : false;
  for (const { store, kind, key } of waiting) {
    if (json) print({ memory: store.id, kind, key, isRung: isNotified });
    else print(`${shortKey(store.ledger, { kind, key })} waits in ${store.id}`);
  }
}

/** Whether the queue could be told. */
async function notifyQueue(app: App, { url, waiting }: { url: string; waiting: Waiting[] }): Promise<boolean> {
  try {
    const { openWakeQueue } = await import('../../../queue/queue.ts');
    const queue = await openWakeQueue({ ...(await wakeQueueOptions(app)), url });
    try {
      for (const { store, kind, key } of waiting) await queue.notify({ kind, store: store.id, key });
      return true;
    } finally {
      await queue.close();
    }
  } catch (error) {
    if (!isAppError(error)) throw error;
    note(`The queue was not notified: ${describeError(error)} The work waits; a worker finds it by itself.`);
    return false;
  }
}

interface RetryOptions extends CommonOptions {
  all?: boolean;
  failed?: boolean;
  dismiss?: boolean;
}

const retry: CommandSpec<RetryOptions, [string[]]> = {
  name: 'retry',
  about: 'try again what failed: given up, or waiting after a failure',
  group: 'Under the hood',
  args: [['[session...]', 'sessions by id or transcript, or other work by its key (dream, a day)']],
  options: [
    ['--failed', 'all work that was given up, or waits for a ceiling of the day'],
    ['--all', 'that, and all that waits after a failure or a pause'],
    ['--dismiss', 'do not try it again: take it off the list of what failed'],
    ...MEMORY,
  ],
  json: 'one line per piece of work: { memory, kind, key, isDismissed }',
  more: 'Looks into all known memory directories, or with --memory into one.',
  examples: ['retry --failed'],
  run: (call) => {
    const [sessions] = call.args;
    const { failed, all } = call.options;
    if (sessions.length === 0 && !failed && !all) call.wrong('name a session, or use --failed or --all');
    return withApp(call, async (app) => {
      const { json, dismiss = false } = call.options;
      const { count, waiting, isSpendRead } = await tryAgain(
        app,
        sessions,
        call.options,
        ({ ledger, dir, kind, key }) => {
          if (json) print({ memory: dir, kind, key, isDismissed: dismiss });
          else print(`${shortKey(ledger, { kind, key })} ${dismiss ? 'is off the list' : 'waits'} in ${dir}`);
        },
      );
      if (!isSpendRead) note('What is spent today is counted from nothing again: models may be asked.');
      if (count > 0 || dismiss || json) return;
      if (waiting === 0) print('Nothing failed, and nothing waits.');
      else
        print(`Nothing failed; ${sayCount(waiting, 'job')} ${waiting === 1 ? 'waits' : 'wait'}: nocturne retry --all`);
    });
  },
};

/** Work to be put in again. */
type Again = Pick<KnownWork, 'kind' | 'key'> & { payload: object };

/** `say` is told of each piece of work. Answers how many there were, how many others wait, and whether what was spent today could be read. */
export async function tryAgain(
  app: App,
  sessions: string[],
  options: RetryOptions,
  say: (work: Pick<Again, 'kind' | 'key'> & { ledger: Ledger; dir: string }) => void,
): Promise<{ count: number; waiting: number; isSpendRead: boolean }> {
  await refuseUnclear(app, sessions, options);
  const left = new Set(sessions);
  let count = 0;
  let waiting = 0;
  const look = async (ledger: Ledger, dir: string, rows: WorkRows) => {
    const meant = (await knownWork(rows)).filter((work) => {
      const names = sessions.filter((name) => isMeant(work, name));
      for (const name of names) left.delete(name);
      const isFailed = work.failure?.state === 'failed';
      const isHeld = !options.dismiss && work.item && isHeldByCeiling(work.item, work.failure);
      const isAsked = isFailed || isHeld ? options.failed || options.all : options.all && !options.dismiss;
      waiting += work.item && !isAsked ? 1 : 0;
      return names.length > 0 || isAsked;
    });
    const given = options.dismiss ? [] : givenUpSessions(ledger, [...left]);
    for (const { name } of given) left.delete(name);
    const works: Again[] = [
      ...meant.map((work) => ({ ...work, payload: (work.item ?? work.failure)?.payload as object })),
      ...given.map(({ work }) => work),
    ];
    for (const work of works) {
      await (options.dismiss ? rows.dropFailure(work) : putAgain(app, { rows, work }));
      say({ ...work, ledger, dir });
    }
    count += works.length;
  };
  for (const { dir, message } of await eachLedger(app, { only: options.memory, look }))
    note(`nocturne: ${dir}: ${message}`);
  if (left.size > 0) {
    throw new AppError('bad-input', `Nothing failed or waits under ${[...left].join(', ')}.`, {
      remedy: 'nocturne why SESSION says what became of a session; nocturne status lists what failed and waits.',
    });
  }
  const isSpendRead = options.dismiss === true || !(await app.home.days.unreadDay());
  if (!options.dismiss) {
    // Whoever asks has mended what was wrong, or wants to see.
    await app.home.breaker.close();
    await app.home.days.reopen(dayOf(app.config.clock.now(), app.config.zone));
  }
  return { count, waiting, isSpendRead };
}

/** Nothing is done where the beginning of an id may mean several sessions. */
async function refuseUnclear(app: App, names: string[], { memory }: RetryOptions): Promise<void> {
  const sessions = new Set<string>();
  const look = async (ledger: Ledger, _: string, rows: WorkRows) => {
    const work = (await knownWork(rows)).filter(({ kind }) => kind === 'extract');
    for (const { key } of work) sessions.add(sessionOf(key));
    for (const { work: given } of givenUpSessions(ledger, names)) sessions.add(sessionOf(given.key));
  };
  await eachLedger(app, { only: memory, look });
  for (const name of names) {
    const meant = [...sessions].filter((session) => isSessionMeant(session, name));
    if (meant.length < 2 || meant.includes(name)) continue;
    throw severalMeant(name, 'session', meant);
  }
}

function putAgain(app: App, { rows, work }: { rows: WorkRows; work: Again }): Promise<void> {
  const { kind, key } = work;
  const payload = { ...work.payload, ...(kind === 'extract' && { reopenGivenUp: true }) };
  return rows.putAgain({ kind, key, payload, notBefore: app.config.clock.now().toISOString() });
}

/** Sessions of which turns were given up, although no failure is listed any more. */
function givenUpSessions(ledger: Ledger, names: string[]): { name: string; work: Again }[] {
  const sessions = ledger.all("select distinct session from coverage where became = 'gave-up'");
  return sessions.flatMap(({ session }) => {
    const id = String(session);
    const name = names.find((meant) => isSessionMeant(id, meant));
    const transcript = sessionRow(ledger, id)?.path;
    if (!name || !transcript || !hasCovered(ledger, 'gave-up', id)) return [];
    const key = extractKey({ session: id, transcript });
    return [{ name, work: { kind: 'extract', key, payload: { transcript, ended: true } } }];
  });
}

/**
 * Finds sessions and puts what is pending into the inboxes; prints what it found. A file that
 * cannot be read is named and counted, and no failure: the rest has been found.
 */
export async function find(app: App, options: FindingOptions): Promise<void> {
  const agents = options.agent === undefined ? undefined : [options.agent];
  const since = options.since === undefined ? undefined : sinceOf(options.since, app.config.clock.now());
  const bar = progress('looking for sessions');
  let [found, looked] = [0, 0];
  const report = await sweepSessions(app, {
    agents,
    since,
    instructions: options.instructions,
    onFound(count) {
      found = count;
    },
    onLooked: () => bar.say(`looked at ${++looked} of ${sayCount(found, 'session')}`),
  }).finally(() => bar.stop());
  print(options.json ? report : describe(report));
  for (const problem of report.problems) note(problem);
}

function describe(report: SweepReport): string {
  const lines = Object.entries(report.agents).map(([agent, { found, enqueued = 0, ...skipped }]) => {
    const others = Object.entries(skipped).map(([verdict, count]) => `${count} ${verdict}`);
    return `${agent.padEnd(12)} ${found} found, ${enqueued} enqueued${others.length > 0 ? `, ${others.join(', ')}` : ''}`;
  });
  for (const [reason, count] of Object.entries(report.off ?? {}))
    lines.push(`${' '.repeat(13)}${count} off: ${reason}`);
  return lines.length > 0 ? lines.join('\n') : 'no sessions found';
}

export const commands: CommandSpec[] = [enqueue, enqueueSessions, enqueueDream, enqueueAgain, retry];
