// Work that waits. worker: works it, for ever or once. retry: what failed, or waits after a failure, is due now, or is taken off the
// list.

import { resolve } from 'node:path';
import { AppError } from '../base/errors.ts';
import { sayCount } from '../base/text/wording.ts';
import { formatIn } from '../base/time.ts';
import { memoryRow } from '../memory/memories.ts';
import { wholeId } from '../memory/short-ids.ts';
import { closeBreaker, gateOf } from '../queue/breaker.ts';
import { reopenDay } from '../queue/spend.ts';
import { dismiss, listWork, retry as retryRows, type WorkRow } from '../queue/waiting-work.ts';
import { allWorkers } from '../queue/workers.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import { plainly, sayOutcome } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import type { WorkResult } from '../worker/work-item.ts';
import { runWorker } from '../worker/worker.ts';
import { type CommonOptions, isNamed, MEMORY, MODEL, memoryKept, withApp } from './cli-options.ts';
import { workNames } from './printer.ts';
import type { Call, CommandSpec } from './spec.ts';

const SIGN_OF_LIFE_WITHIN_MS = 120_000;
/** What a queue left open keeps a process no longer than this once its work has ended. */
const EXITS_WITHIN_MS = 1_000;
const MOST_REASONS = 3;

interface WorkerOptions extends CommonOptions {
  once?: boolean;
  nightly?: boolean;
  afterHook?: boolean;
  check?: boolean;
}

const worker: CommandSpec<WorkerOptions> = {
  name: 'worker',
  about: 'do the waiting work',
  options: [
    ['--once', 'do what is due now, then end'],
    ['--nightly', 'with --once: look for new sessions, and dream in every memory; the schedule runs this'],
    ['--after-hook', 'with --once: wait for what hooks have named to be due', { isHidden: true }],
    ['--check', 'only say by the exit code whether a worker runs'],
    MODEL,
  ],
  json: 'one line per piece of work: { memory, kind, key, outcome, delayedUntil, reason }',
  examples: ['worker --once --model offline'],
  run: work,
};

function work(call: Call<WorkerOptions>): Promise<void> {
  const { options } = call;
  const { once, nightly, afterHook, json } = options;
  if (nightly && !once) call.wrong('--nightly needs --once');
  return withApp({ options, parts: { ...call.parts, startedBy: 'program' } }, async (app) => {
    if (options.check) return checkAlive(app);
    const signal = endOnSignals();
    /** A sweep may meet the same few every second for hours. */
    const troubles = new Set<string>();
    const onError = (message: string) => {
      if (troubles.has(message)) return;
      troubles.add(message);
      note(`nocturne: ${message}`);
      void app.log('warn', { event: 'trouble', error: message });
    };
    /** In the order in which they came: what is said of each is looked up. */
    let saying = Promise.resolve();
    const onResult = (result: WorkResult) => {
      saying = saying.then(async () => {
        const { memory, key, ...rest } = result;
        const names = await workNames(app, result);
        if (json) print({ memory: names.place, ...rest, key: names.key });
        else note(describeResult(app, result, names));
      });
    };
    if (!once && process.stderr.isTTY) note('Waiting for work; Ctrl-C ends it. nocturne tells what waits.');
    await app.log('info', { event: 'worker-started' });
    try {
      const ends = once ? (afterHook ? 'hooked' : 'idle') : undefined;
      await runWorker(app, { signal, ends, isNight: nightly, onResult, onError });
    } finally {
      await saying;
      await app.log('info', { event: 'worker-ended' });
    }
    // BullMQ waits without end for a server that is away.
    if (!once) setTimeout(() => process.exit(), EXITS_WITHIN_MS).unref();
    if (!once || afterHook) return;
    const waiting = (await listWork(app.db)).filter(({ state }) => state === 'waiting');
    const { why } = await gateOf(app, { isLooking: true });
    const reasons = new Set([...waiting.flatMap(({ error }) => error ?? []), ...(why ? [why] : [])]);
    const said = [...reasons].slice(0, MOST_REASONS).map((reason) => `${plainly(reason, app.config)} `);
    const later = `${sayCount(waiting.length, 'job')} for later. ${said.join('')}nocturne why SESSION tells what one waits for.`;
    if (waiting.length > 0) note(later);
    if (signal.aborted) process.exitCode = EXIT.later;
  });
}

/** For supervisors: a worker that hangs or was suspended gives no sign of life. */
async function checkAlive({ db, clock, config, machine }: App): Promise<void> {
  // What several machines share has the workers of all: those of others say nothing of this machine's.
  const alive = (await allWorkers(db)).filter(
    (row) => row.machine === machine && clock.now().getTime() - Date.parse(row.seen_at) < SIGN_OF_LIFE_WITHIN_MS,
  );
  for (const { process, seen_at } of alive) note(`${process} was seen at ${toSecond(seen_at, config.zone)}`);
  if (alive.length > 0) return;
  note('No worker gave a sign of life in the last two minutes.');
  process.exitCode = EXIT.failed;
}

/** Tries may be seconds apart. */
function toSecond(instant: string, zone: string): string {
  return formatIn(instant, zone, 'yyyy-MM-dd HH:mm:ss');
}

function describeResult(
  { config }: App,
  { outcome, delayedUntil, reason }: WorkResult,
  { name, place }: Awaited<ReturnType<typeof workNames>>,
): string {
  const later = delayedUntil ? `, again at ${toSecond(delayedUntil, config.zone)}` : '';
  return `${name}: ${sayOutcome(outcome)}${later}${reason ? ` (${plainly(reason, config)})` : ''} [${place}]`;
}

/** Aborts at the first SIGTERM or SIGINT; the second ends the process at once. */
function endOnSignals(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(1);
      controller.abort(new Error(`ended by ${name}`));
    });
  }
  return controller.signal;
}

interface RetryOptions extends CommonOptions {
  failed?: boolean;
  dismiss?: boolean;
}

const retry: CommandSpec<RetryOptions, [string[]]> = {
  name: 'retry',
  about: 'try again what failed: given up, or waiting after a failure',
  args: [['[session...]', 'sessions by id or transcript, or other work by its key (dream, a day)']],
  options: [
    ['--failed', 'all work that was given up, or waits after a failure or for a limit'],
    ['--dismiss', 'do not try it again: take it off the list of what failed'],
    ...MEMORY,
  ],
  json: 'one line per piece of work: { memory, kind, key, isDismissed }',
  more: 'For all memories, or with --memory for one. It also lets work go on when a daily limit was reached.',
  examples: ['retry --failed'],
  run: (call) => {
    const [names] = call.args;
    const { failed } = call.options;
    if (names.length === 0 && !failed) call.wrong('name a session, or use --failed');
    return withApp(call, (app) => tryAgain(app, names, call.options));
  },
};

async function tryAgain(app: App, names: string[], options: RetryOptions): Promise<void> {
  const { db, clock } = app;
  const { failed, dismiss: isDismissed = false, json } = options;
  const memory = isNamed(options) ? (await memoryKept(app)).id : undefined;
  const listed = await listWork(db, { memory });
  const isAsked = ({ state, code }: WorkRow) => state === 'failed' || (!isDismissed && code !== null);
  const meant = new Set(failed ? listed.filter(isAsked) : []);
  for (const name of names) for (const each of await workCalled(app, name, listed)) meant.add(each);
  const now = clock.now();
  for (const each of meant) {
    if (isDismissed) await dismiss(db, each.id);
    else await retryRows(db, [each.id], now);
    const of = each.memory === null ? null : await memoryRow(db, each.memory);
    const { key, name, place } = await workNames(app, { ...each, memory: of });
    const did = isDismissed ? 'is off the list' : 'waits';
    print(json ? { memory: place, kind: each.kind, key, isDismissed } : `${name} ${did} in ${place}`);
  }
  if (meant.size === 0 && !json) print('Nothing failed.');
  if (isDismissed) return;
  // Whoever asks has mended what was wrong, or wants to see.
  await closeBreaker(db, now);
  await reopenDay(db);
}

/** The listed work of this name. */
async function workCalled({ db }: App, name: string, listed: WorkRow[]): Promise<WorkRow[]> {
  const whole = await wholeId(db, 'session', name);
  const select = 'select id from session where name = ? or path = ?';
  const sessions = await db.all<{ id: string }>(select, whole, resolve(name));
  const ids = new Set([whole, ...sessions.map(({ id }) => id)]);
  const found = listed.filter(({ kind, key }) => ids.has(key) || (kind === 'dream' && name === 'dream'));
  if (found.length > 0) return found;
  throw new AppError('bad-input', `Nothing called ${name} failed or waits.`, {
    remedy: 'nocturne why SESSION says what became of a session, nocturne learn SESSION reads what was given up of it.',
  });
}

export const commands = [worker, retry] as CommandSpec[];
