// The worker, one loop for all: takes in what hooks have told of, brings working copies that are behind, looks for sessions without
// a hook, begins the night, claims what is due and works it, and rests until something wakes it: the next second, the instant the
// next item is due, an end of work here, or BullMQ where a Redis is set.
// Promises: what a queue loses, or never says, comes a second later; what cannot be worked now keeps nothing else waiting; a hook
// that saw a worker awake is heard by it; what a hook named is worked though no other follows.

import { setFlagsFromString } from 'node:v8';

import { programOf } from '../agent/programs/programs.ts';
import { observeFigures } from '../agent/telemetry.ts';
import { changedSettings, refreshAgentSettings } from '../base/config/config.ts';
import { type AppError, describeError, isAppError, onAppError } from '../base/errors.ts';
import { accessSaid, whereNew } from '../base/key.ts';
import { thisProcess } from '../base/process.ts';
import { DAY_MS } from '../base/time.ts';
import { endInterrupted } from '../memory/job-rows.ts';
import { memoriesBehind } from '../memory/memories.ts';
import { breakerOf, ceilingsSaid, closeBreaker, gateOf, MODEL_KINDS } from '../queue/breaker.ts';
import { claim, freeClaims, nextDue } from '../queue/inbox.ts';
import { reopenDay } from '../queue/spend.ts';
import { awakeIn, spoolFiles } from '../queue/spool.ts';
import { figuresOf, followClock, release } from '../queue/waiting-work.ts';
import { openWake, type Wake } from '../queue/wake.ts';
import { leaveWorker, queueNamespace, seeWorker } from '../queue/workers.ts';
import type { App } from './compose.ts';
import { loginSign } from './model-programs.ts';
import { backUpHourly, nextNightly, nightIfDue } from './nightly.ts';
import { type WorkResult, workItem } from './work-item.ts';

export interface WorkerOptions {
  /** Ends the worker. Jobs of a resident one get `CLOSE_MS` to finish; what is not done is given back. */
  signal: AbortSignal;
  /** `idle`: it ends where nothing is due; `hooked`: and where nothing that hooks told of comes due; default: at the signal alone. */
  ends?: 'idle' | 'hooked';
  /** Begins a night, after a sweep. */
  isNight?: boolean;
  onResult(result: WorkResult): void;
  onError(message: string): void;
}

const TICK_MS = 1_000;
/** What is expected may be there any moment. */
const EXPECTING_MS = 250;
const CARE_MS = 5_000;
const HOUR_MS = 3_600_000;
const CLOSE_MS = 10_000;
/** The clock that tells what is due and the one that rests are not one. */
const LEAST_REST_MS = 10;
/** Passes with another key, login or model; with other ceilings. */
const FOR_ACCESS = ['no-model', 'auth', 'plan-limit'];

/** Works until it is told to end, or has nothing to do any more. Errors: `bad-input` for a queue URL or a `dreamCron` that cannot be one. */
export async function runWorker(app: App, options: WorkerOptions): Promise<void> {
  const { config, clock, db, machine } = app;
  nextNightly(config, clock.now());
  const { queueUrl, telemetry, home, zone } = config;
  const wake = openWake({
    ...(!options.ends && queueUrl && { url: queueUrl }),
    namespace: await queueNamespace(db, home),
    now: () => clock.now(),
    onError: options.onError,
  });
  const awake = awakeIn(home, clock);
  const read = () => figuresOf({ db, clock, zone });
  const endMetrics = telemetry && !options.ends ? await observeFigures(read, clock) : undefined;
  try {
    if (options.ends === 'idle') return await new Loop(app, options, wake).run();
    if (options.ends === undefined) {
      awake.enter();
      await seeWorker(db, { machine, now: clock.now() });
      return await new Loop(app, options, wake).run();
    }
    while (awake.enterIfNeeded()) {
      const loop = new Loop(app, options, wake);
      await loop.run();
      awake.leave();
      // A hook that came since the loop looked last has relied on this worker.
      if (options.signal.aborted || spoolFiles(home).every((file) => loop.looked.has(file))) return;
    }
  } finally {
    endMetrics?.();
    awake.leave();
    if (!options.ends) await leaveWorker(db).catch(onAppError(() => undefined));
    await wake.close();
  }
}

/** Takes back what a worker that waits, perhaps for days, does without (nocturne.js): real sessions take three times as long so. */
function workAtSpeed(): void {
  for (const flag of ['--opt', '--maglev', '--sparkplug', '--no-optimize-for-size']) setFlagsFromString(flag);
}

class Loop {
  readonly #app: App;
  readonly #options: WorkerOptions;
  readonly #wake: Wake;
  readonly #working = new Set<Promise<unknown>>();
  readonly #failures: unknown[] = [];
  /** Aborts what is still under way some time after the end began. */
  readonly #late = new AbortController();
  /** Ends a rest. */
  #rest = new AbortController();
  #caredMs = Number.NEGATIVE_INFINITY;
  /** When hooks told of something last. */
  #toldMs: number;
  #sweepAtMs: number;
  #isSweepWanted = false;
  #sweeping: Promise<void> | undefined;
  #isNightWanted: boolean;
  /** What was in the spool when it was looked into last. */
  looked: ReadonlySet<string> = new Set();

  constructor(app: App, options: WorkerOptions, wake: Wake) {
    const { ends, isNight = false, signal } = options;
    this.#app = app;
    this.#options = options;
    this.#wake = wake;
    this.#toldMs = app.clock.now().getTime();
    this.#sweepAtMs = ends && !isNight ? Infinity : 0;
    this.#isNightWanted = isNight;
    signal.addEventListener('abort', () => this.#rest.abort(), { once: true });
  }

  async run(): Promise<void> {
    const { signal, ends } = this.#options;
    try {
      for (;;) {
        const mayCome = await this.#turn().catch((error) => {
          if (ends || !isAppError(error, 'database-unavailable')) throw error;
          this.#told(error);
          return false;
        });
        if (signal.aborted || this.#failures.length > 0) break;
        const next = await this.#nextDue();
        if (ends && this.#working.size === 0 && this.#isOver({ mayCome, next })) break;
        const ms = Math.max(next - this.#nowMs(), LEAST_REST_MS);
        await this.#wake.next(Math.min(mayCome ? EXPECTING_MS : TICK_MS, ms), this.#rest.signal);
        if (this.#rest.signal.aborted && !signal.aborted) this.#rest = new AbortController();
      }
    } finally {
      const patience = setTimeout(() => this.#late.abort(new Error('the worker ends')), CLOSE_MS);
      await Promise.all(this.#working).finally(() => clearTimeout(patience));
      await this.#sweeping;
    }
    if (!signal.aborted && this.#failures.length > 0) throw this.#failures[0];
  }

  readonly #told = (error: AppError) => this.#options.onError(describeError(error));

  readonly #nowMs = () => this.#app.clock.now().getTime();

  /** When the next item is due that is not yet. */
  async #nextDue(): Promise<number> {
    const { db, clock, machine } = this.#app;
    const now = clock.now();
    const next = await nextDue(db, { machine, now, after: now }).catch(onAppError(() => null, 'database-unavailable'));
    return next?.getTime() ?? Infinity;
  }

  #isOver({ mayCome, next }: { mayCome: boolean; next: number }): boolean {
    const { debounceMs, throttleMs } = this.#app.config;
    const isHooked = this.#options.ends === 'hooked';
    const untilMs = isHooked ? this.#toldMs + Math.max(debounceMs, throttleMs) : Number.NEGATIVE_INFINITY;
    return next > untilMs && !(mayCome && untilMs > this.#nowMs());
  }

  /** Answers whether something is expected that is not there yet. */
  async #turn(): Promise<boolean> {
    const isCaring = performance.now() - this.#caredMs >= CARE_MS;
    if (isCaring) {
      this.#caredMs = performance.now();
      await this.#care();
    }
    const mayCome = await this.#takeIn();
    await this.#bring();
    await this.#sweepIfDue();
    // Once what is new was found: a dream waits for its extractions.
    if (isCaring) await nightIfDue(this.#app, { isAsked: this.#isNightWanted, onError: this.#options.onError });
    this.#isNightWanted = false;
    const { concurrency } = this.#app.config;
    while (this.#working.size < concurrency && !this.#options.signal.aborted) if (!(await this.#startNext())) break;
    return mayCome;
  }

  /** All that is done besides looking for work. */
  async #care(): Promise<void> {
    const { db, clock, machine, config } = this.#app;
    const now = clock.now();
    if (!this.#options.ends) await seeWorker(db, { machine, now });
    await endInterrupted(db, now);
    await freeClaims(db);
    await followClock(db, now);
    await this.#readSettings().catch(onAppError(this.#told));
    if (config.agentMemory.settings.problem) await refreshAgentSettings(config);
    // Where several machines share the database it is not known whose key or ceiling it waits for.
    if (db.engine === 'sqlite') await this.#endWaits();
    if (!this.#options.ends) await backUpHourly(this.#app).catch(onAppError(this.#told));
  }

  /** What `config.json` says since it was changed counts from now on, and what waited for that is due. */
  async #readSettings(): Promise<void> {
    const { db, clock, config } = this.#app;
    const changed = await changedSettings(config);
    if (!changed) return;
    nextNightly({ ...config, ...changed }, clock.now());
    Object.assign(config, changed);
    await release(db, ['settings'], clock.now());
  }

  /** What waits for a key, a login or a ceiling is due where that is another than before: who changes it wants it. */
  async #endWaits(): Promise<void> {
    const { db, clock, config } = this.#app;
    const program = programOf(config.model);
    await whereNew(config, accessSaid(config, program ? loginSign(program.name, config) : undefined), async () => {
      const { code } = await breakerOf(db, { after: config.breakerAfter, now: clock.now() });
      if (code !== null && FOR_ACCESS.includes(code)) await closeBreaker(db, clock.now());
      await release(db, FOR_ACCESS, clock.now());
    });
    await whereNew(config, ceilingsSaid(config), async () => {
      await reopenDay(db);
      await release(db, ['ceiling'], clock.now());
    });
  }

  async #takeIn(): Promise<boolean> {
    this.looked = new Set(spoolFiles(this.#app.config.home));
    if (this.looked.size === 0) return false;
    // What is not needed to wait is loaded when it is.
    const { ingestSpool } = await import('./ingest.ts');
    const { announced, lagging, sessionBegan } = await ingestSpool(this.#app, this.#options.onError);
    if (announced.length + lagging > 0) this.#toldMs = this.#nowMs();
    this.#isSweepWanted ||= sessionBegan;
    for (const { notBefore, ...each } of announced) await this.#wake.ring({ ...each, at: new Date(notBefore) });
    return lagging > 0;
  }

  /** Working copies of this machine that are behind: another one committed, or a process died. */
  async #bring(): Promise<void> {
    const { db, machine, memories } = this.#app;
    for (const memory of await memoriesBehind(db, machine)) {
      await memories.of(memory);
      const copy = memories.copyOf(memory);
      await copy?.hold(() => copy.bring()).catch(onAppError(this.#told));
    }
  }

  /** Beside the work where the worker stays; what asks for one while one is under way gets another. */
  async #sweepIfDue(): Promise<void> {
    const { signal, ends, onError } = this.#options;
    const nowMs = this.#nowMs();
    if (this.#sweeping || !(this.#isSweepWanted || nowMs >= this.#sweepAtMs)) return;
    this.#isSweepWanted = false;
    this.#sweepAtMs = ends ? Infinity : nowMs + HOUR_MS;
    const sweep = async () => {
      const { sweepSessions } = await import('./ingest.ts');
      const since = new Date(nowMs - this.#app.config.sweepDays * DAY_MS);
      for (const problem of (await sweepSessions(this.#app, { since, signal })).problems) onError(problem);
    };
    this.#sweeping = sweep()
      .catch((error) => onError(`The search for sessions that no hook told of ended early: ${describeError(error)}`))
      .finally(() => {
        this.#sweeping = undefined;
        this.#rest.abort();
      });
    if (ends) await this.#sweeping;
  }

  /** Begins to work the next item that may be worked; answers whether there was one. */
  async #startNext(): Promise<boolean> {
    const { db, clock, machine, config } = this.#app;
    const { signal, ends, onResult, onError } = this.#options;
    const { why, isProbe } = await gateOf(this.#app);
    if (why !== null) return false;
    const kinds = [...MODEL_KINDS, 'undo' as const];
    const item = await claim(db, { owner: thisProcess(), machine, kinds, now: clock.now(), forMs: config.leaseMs });
    if (!item) return false;
    if (!ends) workAtSpeed();
    const work = workItem(this.#app, item, { isProbe, signal: ends ? signal : this.#late.signal })
      .then((result) => result && onResult(result))
      .catch((error) => {
        if (ends) this.#failures.push(error);
        else onError(describeError(error));
      })
      .finally(() => {
        this.#working.delete(work);
        this.#rest.abort();
      });
    this.#working.add(work);
    return true;
  }
}
