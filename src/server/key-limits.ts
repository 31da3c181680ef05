// How much one key may have of the server, kept in this process alone: so many requests a minute, spread over it as they come; and
// at most so many streams that it holds open, ended when idle, when the key is revoked, and with the server.

import type { Clock } from '../base/time.ts';
import { ApiError } from './api-errors.ts';
import type { ApiKeys } from './api-keys.ts';

const MINUTE_MS = 60_000;
const MOST_STREAMS = 8;

export class RateLimit {
  readonly #perMinute: number;
  readonly #clock: Clock;
  readonly #left = new Map<string, { tokens: number; atMs: number }>();

  /** `perMinute` 0: no limit. */
  constructor(perMinute: number, clock: Clock) {
    this.#perMinute = perMinute;
    this.#clock = clock;
  }

  /** Takes one request of a key; answers after how many seconds it may be made where there are too many, else 0. */
  take(key: string): number {
    if (this.#perMinute === 0) return 0;
    const nowMs = this.#clock.now().getTime();
    const { tokens, atMs } = this.#left.get(key) ?? { tokens: this.#perMinute, atMs: nowMs };
    const refilled = tokens + (Math.max(0, nowMs - atMs) / MINUTE_MS) * this.#perMinute;
    const there = Math.min(this.#perMinute, refilled);
    this.#left.set(key, { tokens: there < 1 ? there : there - 1, atMs: nowMs });
    return there < 1 ? Math.max(1, Math.ceil(((1 - there) / this.#perMinute) * (MINUTE_MS / 1_000))) : 0;
  }
}

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
  /** How many each key has open. */
  readonly #open = new Map<string, number>();

  constructor(options: StreamsOptions) {
    this.#options = options;
  }

  /** Answers a signal at which the stream is to end; it has ended with its client. Throws `ApiError` where the key has as many as it may. */
  begin(caller: string, client: AbortSignal): AbortSignal {
    const { keys, closing, idleMs = 5 * 60_000, checkMs = 2_000 } = this.#options;
    const open = this.#open.get(caller) ?? 0;
    if (open >= MOST_STREAMS) {
      throw new ApiError('rate_limit_error', `This key has ${MOST_STREAMS} streams open; end one first.`, {
        retryAfterSeconds: Math.ceil(idleMs / 1_000),
      });
    }
    const over = new AbortController();
    const ended = AbortSignal.any([client, closing, over.signal]);
    if (ended.aborted) return ended;
    this.#open.set(caller, open + 1);
    // Nothing is sent on them as yet: idle from the beginning.
    const idle = setTimeout(() => over.abort(), idleMs).unref();
    // Where it cannot be told, it is asked again.
    const look = () =>
      keys.isIn(caller).then(
        (isIn) => isIn || over.abort(),
        () => {},
      );
    const looking = setInterval(look, checkMs).unref();
    ended.addEventListener('abort', () => {
      clearTimeout(idle);
      clearInterval(looking);
      this.#open.set(caller, (this.#open.get(caller) ?? 1) - 1);
    });
    return ended;
  }
}
