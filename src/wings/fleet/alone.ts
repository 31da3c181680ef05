// What one process of all does at a time: a lease by name, kept while the work goes on, and for a while after where the same
// process is to do it again. Promises: of those that ask at once one gets it; that of a process that died ends by the
// database's time.

import { randomUUID } from 'node:crypto';
import { thisProcess } from '../../base/process.ts';
import type { Ask } from './postgres.ts';

const DEFAULT_LEASE_MS = 15_000;
const UNTIL = `clock_timestamp() + $3 * interval '1 millisecond'`;

export interface AloneOptions {
  /** How long the lease of a process that hangs keeps others from the work; default: 15 s. */
  leaseMs?: number;
}

export class Alone {
  readonly #ask: Ask;
  readonly #leaseMs: number;
  readonly #owner = `${thisProcess()}/${randomUUID()}`;
  /** What this process does now: it does nothing twice at a time either. */
  readonly #now = new Set<string>();
  /** What is kept for this process afterwards. */
  readonly #kept = new Set<string>();

  constructor(ask: Ask, { leaseMs = DEFAULT_LEASE_MS }: AloneOptions = {}) {
    this.#ask = ask;
    this.#leaseMs = leaseMs;
  }

  /** See `Shared.alone`. */
  async do<T>(name: string, work: () => Promise<T>, { keepMs = 0 }: { keepMs?: number } = {}): Promise<T | null> {
    if (this.#now.has(name)) return null;
    this.#now.add(name);
    try {
      if (!(await this.#take(name))) return null;
      const renewing = setInterval(() => this.#hold(name, this.#leaseMs).catch(ignore), this.#leaseMs / 3).unref();
      try {
        return await work();
      } finally {
        clearInterval(renewing);
        if (keepMs > 0) this.#kept.add(name);
        // Where that fails it ends by itself.
        await (keepMs > 0 ? this.#hold(name, keepMs) : this.#release(name)).catch(ignore);
      }
    } finally {
      this.#now.delete(name);
    }
  }

  /** Lets go of what was kept. */
  async close(): Promise<void> {
    for (const name of this.#kept) await this.#release(name).catch(ignore);
  }

  async #take(name: string): Promise<boolean> {
    const taken = await this.#ask(
      `insert into alone values ($1, $2, ${UNTIL}) on conflict (name) do update
         set owner = excluded.owner, until = excluded.until where alone.owner = $2 or alone.until < clock_timestamp()
       returning 1 as one`,
      [name, this.#owner, this.#leaseMs],
    );
    return taken.length === 1;
  }

  async #hold(name: string, forMs: number): Promise<void> {
    await this.#ask(`update alone set until = ${UNTIL} where name = $1 and owner = $2`, [name, this.#owner, forMs]);
  }

  async #release(name: string): Promise<void> {
    this.#kept.delete(name);
    await this.#ask('delete from alone where name = $1 and owner = $2', [name, this.#owner]);
  }
}

function ignore(): void {}
