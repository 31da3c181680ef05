// Notices a worker that is stalled: after an outage of the queue's server a connection may look alive and never bring a
// wake-up again. Counted in ticks with work that could ask the queue, not in time: after the sleep of a laptop much time is
// gone in which nothing could arrive, and while the server is away there is nothing to arrive. The embedded queue is never
// away: where it keeps failing its directory is gone or broken, and only a new process opens it anew.

import { isAppError } from '../../base/errors.ts';
import type { WakeQueue } from '../../queue/queue.ts';

export class QueueWatchdog {
  readonly #queue: Pick<WakeQueue, 'counts' | 'kind'>;
  readonly #patience: number;
  #working = 0;
  #silentTicks = 0;
  #hasFailed = false;

  /** Stalled after so many ticks without a sign. */
  constructor(queue: Pick<WakeQueue, 'counts' | 'kind'>, patience: number) {
    this.#queue = queue;
    this.#patience = patience;
  }

  /** A wake-up arrived, and `work` is what came of it. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#silentTicks = 0;
    this.#working += 1;
    try {
      return await work();
    } finally {
      this.#working -= 1;
    }
  }

  /** The queue could not be notified. */
  queueFailed(): void {
    this.#hasFailed = true;
  }

  /** To be asked once a tick: `silent` where wake-ups wait in the queue and none arrives, `failing` where the queue is broken. */
  async look({ hasWork }: { hasWork: boolean }): Promise<'silent' | 'failing' | null> {
    const isSilent = hasWork && this.#working === 0 && !this.#hasFailed && (await this.#hasWaiting());
    const isFailing = this.#hasFailed && this.#queue.kind === 'embedded' && this.#working === 0;
    const isServerAway = this.#hasFailed && !isFailing;
    this.#hasFailed = false;
    if (isServerAway) return null;
    this.#silentTicks = isSilent || isFailing ? this.#silentTicks + 1 : 0;
    if (this.#silentTicks < this.#patience) return null;
    return isFailing ? 'failing' : 'silent';
  }

  async #hasWaiting(): Promise<boolean> {
    try {
      return (await this.#queue.counts()).waiting > 0;
    } catch (error) {
      if (!isAppError(error)) throw error;
      this.#hasFailed = true;
      return false;
    }
  }
}
