// Streams that clients hold open: at most so many a key, ended when idle, when their key is revoked, and with the server.

import { ApiError } from './api-errors.ts';
import type { ApiKeys } from './api-keys.ts';

const MOST = 8;

export interface StreamBounds {
  idleMs?: number;
  /** How often keys are looked at. */
  checkMs?: number;
}

interface StreamsOptions extends StreamBounds {
  keys: ApiKeys;
  closing: AbortSignal;
}

export class Streams {
  readonly #options: StreamsOptions;
  readonly #open = new Map<AbortController, string>();

  constructor(options: StreamsOptions) {
    this.#options = options;
    options.closing.addEventListener('abort', () => this.#end(() => true));
  }

  /** Answers a signal at which the stream is to end; it has ended with its client. Throws `ApiError` where the key has as many as it may. */
  begin(caller: string, client: AbortSignal): AbortSignal {
    const { keys, idleMs = 5 * 60_000, checkMs = 2_000 } = this.#options;
    if ([...this.#open.values()].filter((id) => id === caller).length >= MOST) {
      throw new ApiError('rate_limit_error', `This key has ${MOST} streams open; end one first.`, {
        retryAfterSeconds: Math.ceil(idleMs / 1_000),
      });
    }
    const stream = new AbortController();
    this.#open.set(stream, caller);
    // Nothing is sent on them as yet: idle from the beginning.
    const idle = setTimeout(() => stream.abort(), idleMs).unref();
    const check = setInterval(() => {
      // Where it cannot be told, it is asked again.
      keys.isIn(caller).then((isIn) => isIn || this.#end((id) => id === caller), ignore);
    }, checkMs).unref();
    stream.signal.addEventListener('abort', () => {
      clearTimeout(idle);
      clearInterval(check);
      this.#open.delete(stream);
    });
    if (client.aborted) stream.abort();
    else client.addEventListener('abort', () => stream.abort());
    return stream.signal;
  }

  #end(isMeant: (caller: string) => boolean): void {
    for (const [stream, caller] of this.#open) if (isMeant(caller)) stream.abort();
  }
}

function ignore(): void {}
