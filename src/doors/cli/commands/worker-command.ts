// worker: works what waits, for ever or once.

import { hostname } from 'node:os';
import type { Config } from '../../../base/config/config.ts';
import { formatIn } from '../../../base/time.ts';
import type { WorkerRow } from '../../../memory/home/home.ts';
import { shortKey } from '../../../memory/ledger/short-ids.ts';
import type { Store } from '../../../memory/store/store.ts';
import { namesInSpool } from '../../../queue/spool.ts';
import type { App } from '../../compose.ts';
import { openIntake, workAfterHook } from '../../hook/intake.ts';
import { observeFigures } from '../../telemetry.ts';
import { figuresOf } from '../../worker/known-work.ts';
import type { WorkResult } from '../../worker/work.ts';
import { runWorker, untilIdle } from '../../worker/worker.ts';
import type { Call, CommandSpec } from '../spec.ts';
import { type CommonOptions, MODEL, withApp } from '../terminal/options.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import { plainly } from '../terminal/phrases.ts';

const SIGN_OF_LIFE_WITHIN_MS = 120_000;
/** Kept in mind at once. */
const MOST_TROUBLES = 100;

interface WorkerOptions extends CommonOptions {
  once?: boolean;
  nightly?: boolean;
  afterHook?: boolean;
  check?: boolean;
}

/** What a queue left open keeps a process no longer than this once its work has ended. */
const EXITS_WITHIN_MS = 1_000;

const worker: CommandSpec<WorkerOptions> = {
  name: 'worker',
  about: 'do the work that waits in the inboxes',
  group: 'Jobs and numbers',
  options: [
    ['--once', 'work the inboxes without the queue, and end when nothing is due'],
    ['--nightly', 'with --once: sweep, and dream over every known directory; what a scheduler runs'],
    ['--after-hook', 'with --once: wait for what hooks have named to be due', { isHidden: true }],
    ['--check', 'do nothing, and tell by the exit code whether a worker of this home is alive'],
    MODEL,
  ],
  json: 'one line per piece of work: { memory, kind, key, outcome, delayedUntil, reason }',
  examples: ['worker --once --model offline'],
  run: work,
};

function work(call: Call<WorkerOptions>): Promise<void> {
  const { options } = call;
  if (options.nightly && !options.once) call.wrong('--nightly goes with --once');
  return withApp({ options, parts: { ...call.parts, startedBy: 'program' } }, async (app) => {
    if (options.check) return checkAlive(app);
    const signal = endOnSignals();
    const { say, sayTrouble } = sayOnce();
    const onError = (message: string) => {
      if (sayTrouble(`nocturne: ${message}`)) void app.log('warn', { event: 'trouble', error: message });
    };
    const { once, nightly } = options;
    const intake = openIntake(app, { signal, onError, isResident: !once, isNight: nightly });
    const work = {
      signal,
      takeIn: intake.takeIn,
      onResult(result: WorkResult, store: Store) {
        if (options.json) print({ memory: store.id, ...result });
        else say(describeResult(result, store, app.config));
      },
      onError,
    };
    await app.log('info', { event: 'worker-started' });
    for (const error of app.overruled) await app.log('warn', { event: 'trouble', error });
    try {
      if (!options.once) {
        if (process.stderr.isTTY) note('Waiting for work; Ctrl-C ends it. nocturne status tells what waits.');
        const { telemetry, clock } = app.config;
        const endMetrics = telemetry ? await observeFigures(() => figuresOf(app), clock) : undefined;
        await runWorker(app, work).finally(endMetrics);
        // BullMQ waits without end for a server that is away.
        setTimeout(() => process.exit(), EXITS_WITHIN_MS).unref();
        return;
      }
      if (options.afterHook) return await workAfterHook(app, { ...work, intake });
      // Swept first: what is new has a directory then, and a dream waits for its extractions.
      if (options.nightly) {
        await intake.takeIn();
        await app.desk.beginNight(undefined, onError);
      }
      await runWorker(app, { ...work, until: untilIdle });
    } finally {
      await intake.end();
      await app.log('info', { event: 'worker-ended' });
    }
    await nameDelayed(app, work.onError);
    for (const name of namesInSpool(app.config.home)) note(`waits in the spool for its transcript: ${name}`);
    if (signal.aborted) process.exitCode = EXIT.later;
  });
}

/** For supervisors: a worker that hangs or was suspended gives no sign of life. */
async function checkAlive(app: App): Promise<void> {
  const ageMs = (seenAt: string) => app.config.clock.now().getTime() - Date.parse(seenAt);
  // What several machines share has the workers of all: those of others say nothing of this machine's.
  const isMeant = ({ process }: WorkerRow) => !app.config.databaseUrl || process.startsWith(`${hostname()}:`);
  const alive = (await app.home.workers.all()).filter(
    (row) => isMeant(row) && ageMs(row.seenAt) < SIGN_OF_LIFE_WITHIN_MS,
  );
  for (const { process, backend, seenAt } of alive)
    note(`${process} (${backend}) was seen at ${toSecond(seenAt, app.config.zone)}`);
  if (alive.length > 0) return;
  note('No worker of this home was seen within two minutes.');
  process.exitCode = EXIT.failed;
}

/**
 * Says a line on stderr unless it was the last one said; of troubles, of which a sweep may meet the same few every second
 * for hours, each once until there is a result again. Answers whether it was said.
 */
function sayOnce() {
  let last = '';
  const troubles = new Set<string>();
  const say = (line: string): boolean => {
    const isNew = line !== last;
    if (isNew) note(line);
    last = line;
    return isNew;
  };
  return {
    say(line: string) {
      if (say(line)) troubles.clear();
    },
    sayTrouble(line: string): boolean {
      if (troubles.has(line)) return false;
      if (troubles.size === MOST_TROUBLES) troubles.clear();
      troubles.add(line);
      return say(line);
    },
  };
}

/** Tries may be seconds apart. */
function toSecond(instant: string, zone: string): string {
  return formatIn(instant, zone, 'yyyy-MM-dd HH:mm:ss');
}

function describeResult(result: WorkResult, store: Store, config: Config): string {
  const { kind, key, outcome, delayedUntil, reason } = result;
  const later = delayedUntil && outcome !== 'busy' ? `, again at ${toSecond(delayedUntil, config.zone)}` : '';
  return `${shortKey(store.ledger, { kind, key })}: ${outcome}${later}${reason ? ` (${plainly(reason, config)})` : ''} [${store.id}]`;
}

async function nameDelayed(app: App, onError: (message: string) => void): Promise<void> {
  for (const store of await app.desk.busy(onError)) {
    for (const item of await store.work.items()) {
      note(
        `waits until ${toSecond(item.notBefore, app.config.zone)}: ${shortKey(store.ledger, item)}${item.failure ? ` (${plainly(item.failure, app.config)})` : ''} [${store.id}]`,
      );
    }
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
