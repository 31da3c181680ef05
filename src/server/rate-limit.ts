// How often a key may ask: so many requests a minute, spread over it as they come, kept in this process alone.

import type { Clock } from '../base/time.ts';

const MINUTE_MS = 60_000;

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
