// Notices a worker that is deaf: after an outage of the queue's server a connection may look alive and never bring a
// wake-up again. Counted in sweeps that found work and could ask the queue, not in time: after the sleep of a laptop
// much time is gone in which nothing could be heard, and while the server is away there is nothing to hear. The embedded
// queue is never away: where it fails in every sweep its directory is gone or broken, and only a new process opens it anew.

import type { Bell } from '../../queue/queue.ts';

export class Hearing {
  readonly #bell: Pick<Bell, 'counts' | 'kind'>;
  readonly #patience: number;
  #working = 0;
  #silentSweeps = 0;

  /** Deaf after so many sweeps without a sound. */
  constructor(bell: Pick<Bell, 'counts' | 'kind'>, patience: number) {
    this.#bell = bell;
    this.#patience = patience;
  }

  /** A wake-up was heard, and `work` is what came of it. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#silentSweeps = 0;
    this.#working += 1;
    try {
      return await work();
    } finally {
      this.#working -= 1;
    }
  }

  /** To be asked once a sweep: whether wake-ups have waited in the queue for long while this process heard none. */
  async isDeaf({ hasWork }: { hasWork: boolean }): Promise<boolean> {
    const isIdle = this.#working === 0;
    const isSilent = hasWork && isIdle && (await this.#bell.counts()).waiting > 0;
    this.#silentSweeps = isSilent ? this.#silentSweeps + 1 : 0;
    return this.#silentSweeps >= this.#patience;
  }

  /** To be asked instead in a sweep in which the queue failed. */
  isDeafByFailure(): boolean {
    if (this.#bell.kind !== 'embedded' || this.#working > 0) return false;
    this.#silentSweeps += 1;
    return this.#silentSweeps >= this.#patience;
  }
}
