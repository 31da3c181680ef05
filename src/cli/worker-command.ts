// worker: works what waits, for ever or once.

import { formatIn } from '../base/time.ts';
import { memoryRow } from '../memory/memories.ts';
import { gateOf } from '../queue/breaker.ts';
import { namesInSpool } from '../queue/spool.ts';
import { listWork } from '../queue/waiting-work.ts';
import { allWorkers } from '../queue/workers.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import { plainly, sayFate, sayOutcome } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { refusedOf } from '../worker/session-fate.ts';
import type { WorkResult } from '../worker/work-item.ts';
import { runWorker } from '../worker/worker.ts';
import { type CommonOptions, MODEL, withApp } from './cli-options.ts';
import { namesOf } from './later.ts';
import type { Call, CommandSpec } from './spec.ts';

const SIGN_OF_LIFE_WITHIN_MS = 120_000;
/** Kept in mind at once. */
const MOST_TROUBLES = 100;
/** What a queue left open keeps a process no longer than this once its work has ended. */
const EXITS_WITHIN_MS = 1_000;

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
      if (troubles.size === MOST_TROUBLES) troubles.clear();
      troubles.add(message);
      note(`nocturne: ${message}`);
      void app.log('warn', { event: 'trouble', error: message });
    };
    /** In the order in which they came: what is said of each is looked up. */
    let saying = Promise.resolve();
    const onResult = (result: WorkResult) => {
      saying = saying.then(async () => {
        const { memory, key, ...rest } = result;
        const names = await namesOf(app, result);
        if (json) print({ memory: names.place, ...rest, key: names.key });
        else note(await describeResult(app, result, names));
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
    await nameDelayed(app);
    for (const name of namesInSpool(app.config.home)) note(`waits for its transcript: ${name}`);
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

async function describeResult(
  { config, db }: App,
  { key, outcome, delayedUntil, reason }: WorkResult,
  { name, place }: Awaited<ReturnType<typeof namesOf>>,
): Promise<string> {
  const refused = outcome === 'nothing-worth-keeping' ? await refusedOf(db, [key]) : [];
  const { length } = refused;
  const did =
    length > 0 ? `${sayFate(null, length)} (${name.replace('session', 'nocturne why')})` : sayOutcome(outcome);
  const later = delayedUntil ? `, again at ${toSecond(delayedUntil, config.zone)}` : '';
  return `${name}: ${did}${later}${reason ? ` (${plainly(reason, config)})` : ''} [${place}]`;
}

async function nameDelayed(app: App): Promise<void> {
  const { db, clock, config } = app;
  const now = clock.now().toISOString();
  const { why } = await gateOf(app, { isLooking: true });
  for (const { kind, key, memory: id, state, not_before, error } of await listWork(db)) {
    if (state !== 'waiting') continue;
    const memory = id === null ? null : await memoryRow(db, id);
    const { name, place } = await namesOf(app, { kind, key, memory });
    const reason = error ?? (not_before <= now ? why : null);
    note(
      `waits until ${toSecond(not_before, config.zone)}: ${name}${reason ? ` (${plainly(reason, config)})` : ''} [${place}]`,
    );
  }
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

export const commands: CommandSpec[] = [worker];
