// The threads that have stores open: one thread has a store, so that what one finds held or slow is no other's business.
// Promises: nothing here waits in a thread. A store that another process holds is asked again and again for a second and more; then
// whoever asked is told that it is held, and nothing was changed.

import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { fileIdentity, looksNow, packagePath } from '../../../base/files/files.ts';
import type { StoreRow } from '../../../doors/clients/stores.ts';
import { ApiError, held, inTheMiddle } from '../api-errors.ts';
import type { Answered, Asked, Failure, ThreadData } from '../server-thread.ts';
import type { Memory, Retrieved } from './stored-memories.ts';
import type { ArgsOf, ResultOf, WorkName } from './thread-work.ts';

const HELD_FOR_MS = 1_200;
const BETWEEN_TRIES_MS = 25;
const CLOSED_WITHIN_MS = 2_000;

/** Not told from where this file is, which the build packs into others. */
const ENTRY = pathToFileURL(
  import.meta.url.endsWith('.ts')
    ? packagePath('src', 'wings', 'server', 'server-thread.ts')
    : packagePath('dist', 'lib', 'server-thread.js'),
);

interface Thread {
  worker: Worker;
  waiting: Map<number, PromiseWithResolvers<Answered>>;
  /** What is sent next, together: waking a thread costs more than most that it is asked. */
  outgoing: Asked[];
  /** It is awake, and takes what is next when it answers. */
  isAtWork: boolean;
  /** The memory directories that it has. */
  dirs: Set<string>;
}

export interface StoreThreadsOptions extends ThreadData {
  /** Told of what went wrong in a store that is not a caller's doing. */
  onTrouble(trouble: { dir: string; message: string }): void;
  /** Default: as many as the machine has cores, 2 to 8. */
  count?: number;
  /** Their program; default: the one that is beside this. */
  entry?: URL;
}

export class StoreThreads {
  readonly #options: StoreThreadsOptions;
  readonly #count: number;
  readonly #threads: Thread[] = [];
  #ids = 0;

  constructor(options: StoreThreadsOptions) {
    this.#options = options;
    this.#count = options.count ?? Math.min(8, Math.max(2, availableParallelism()));
  }

  /** Does something with the store of a memory directory. Throws `ApiError`. */
  async run<Name extends WorkName>(dir: string, work: Name, args: ArgsOf<Name>): Promise<ResultOf<Name>> {
    const began = performance.now();
    for (;;) {
      const { value, failure } = await this.#ask(this.#threadOf(dir), { dir, work, args });
      if (!failure) return value as ResultOf<Name>;
      if (!failure.isHeld) throw this.#errorOf(failure, dir);
      if (performance.now() - began >= HELD_FOR_MS) throw held();
      await pause(BETWEEN_TRIES_MS);
    }
  }

  /** Closes the store of a memory directory, so that the directory can be moved. */
  async closeStore(dir: string): Promise<void> {
    const thread = this.#threads.find(({ dirs }) => dirs.has(dir));
    if (thread) await this.#ask(thread, { dir, work: null, args: null });
    thread?.dirs.delete(dir);
  }

  async close(): Promise<void> {
    const threads = this.#threads.splice(0);
    // Copies of what several machines share are thrown away; what is under way there was waited for.
    const ending = this.#options.shared
      ? threads.map((thread) => this.#ask(thread, { dir: '', work: null, args: null }))
      : [];
    await Promise.race([Promise.all(ending), pause(CLOSED_WITHIN_MS, undefined, { ref: false })]);
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
  }

  #errorOf({ told, trouble }: Failure, dir: string): ApiError {
    if (trouble !== undefined) this.#options.onTrouble({ dir, message: trouble });
    const { type, message, ...rest } = told;
    return new ApiError(type, message, rest);
  }

  #ask(thread: Thread, asked: Omit<Asked, 'id'>): Promise<Answered> {
    const answer = Promise.withResolvers<Answered>();
    this.#ids += 1;
    thread.waiting.set(this.#ids, answer);
    if (thread.outgoing.length === 0 && !thread.isAtWork) setImmediate(() => this.#send(thread));
    thread.outgoing.push({ id: this.#ids, ...asked });
    return answer.promise;
  }

  #send(thread: Thread): void {
    thread.isAtWork = thread.outgoing.length > 0;
    if (thread.isAtWork) thread.worker.postMessage(thread.outgoing.splice(0));
  }

  #threadOf(dir: string): Thread {
    const own = this.#threads.find(({ dirs }) => dirs.has(dir));
    if (own) return own;
    const fewest = this.#threads.toSorted((a, b) => a.dirs.size - b.dirs.size)[0];
    const isFree = fewest !== undefined && (fewest.dirs.size === 0 || this.#threads.length >= this.#count);
    const thread = isFree ? fewest : this.#start();
    thread.dirs.add(dir);
    return thread;
  }

  #start(): Thread {
    const { environment, user, shared, entry = ENTRY } = this.#options;
    const worker = new Worker(entry, { workerData: { environment, user, shared } satisfies ThreadData });
    const thread: Thread = { worker, waiting: new Map(), outgoing: [], isAtWork: false, dirs: new Set() };
    worker.on('message', (all: Answered[]) => {
      for (const answered of all) {
        thread.waiting.get(answered.id)?.resolve(answered);
        thread.waiting.delete(answered.id);
      }
      this.#send(thread);
    });
    this.#threads.push(thread);
    void this.#watch(thread);
    return thread;
  }

  /** A thread that ends takes what it was asked with it; another has its stores from then on. */
  async #watch(thread: Thread): Promise<void> {
    let message = 'The thread of the store ended.';
    try {
      await once(thread.worker, 'exit');
    } catch (error) {
      message = `The thread of the store failed: ${(error as Error).message}`;
    }
    const at = this.#threads.indexOf(thread);
    if (at >= 0) this.#threads.splice(at, 1);
    for (const { resolve } of thread.waiting.values()) {
      resolve({ id: 0, failure: { told: inTheMiddle(), isHeld: false, trouble: message } });
    }
  }
}

const MOST_BYTES = 16 * 1024 * 1024;
/** Of a memory beside its content. */
const ROW_BYTES = 1_024;

export class RecentMemories {
  readonly #threads: StoreThreads;
  /** By store and id; what was read last is the last. */
  readonly #kept = new Map<string, Retrieved>();
  #bytes = 0;

  constructor(threads: StoreThreads) {
    this.#threads = threads;
  }

  /** A memory of a store as it stands. Throws `ApiError`. */
  async retrieve({ dir, kind }: Pick<StoreRow, 'dir' | 'kind'>, id: string): Promise<Memory> {
    const name = `${id} ${dir}`;
    const before = this.#kept.get(name);
    const found = before && looksAsBefore(before) ? before : await this.#threads.run(dir, 'retrieveMemory', { id });
    this.#drop(name);
    if (kind === 'own') this.#keep(name, found);
    return found.memory;
  }

  #keep(name: string, retrieved: Retrieved): void {
    if (retrieved.restsOn === null) return;
    this.#kept.set(name, retrieved);
    this.#bytes += bytesOf(retrieved);
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= MOST_BYTES) break;
      this.#drop(oldest);
    }
  }

  #drop(name: string): void {
    const kept = this.#kept.get(name);
    if (!kept) return;
    this.#kept.delete(name);
    this.#bytes -= bytesOf(kept);
  }
}

function bytesOf({ memory }: Retrieved): number {
  return 2 * memory.content.length + ROW_BYTES;
}

function looksAsBefore({ restsOn }: Retrieved): boolean {
  if (restsOn === null) return false;
  return looksNow(restsOn.file) === restsOn.looks && fileIdentity(restsOn.ledger) === restsOn.identity;
}
