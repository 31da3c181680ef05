// The desk of a worker of a fleet: what is due is told by rows, over all stores of the database at once, and which item a
// woken worker works by the turn of tenants, whatever it was woken for. No store is opened but to work in it.

import { isAppError } from '../../../base/errors.ts';
import { thisProcess } from '../../../base/process.ts';
import { type DeskParts, type Due, openStores, type Taken } from '../../../doors/worker/desk.ts';
import { outboxRows } from '../../../memory/ledger/entries.ts';
import { newId } from '../../../memory/ledger/ledger.ts';
import type { Store } from '../../../memory/store/store.ts';
import type { Ask } from '../postgres.ts';
import { dropOlder } from '../transcripts/transcript-rows.ts';
import { beginNight, type Claim, dueWork, nextDue, releaseClaim, renewClaim, takeNext } from './due.ts';

/** Looked at together; what is behind them is seen when they are done. */
const MOST_DUE = 500;
/** What another works on just now is not claimed again at once. */
const REST_MS = 1_000;

export class FleetDesk {
  readonly #parts: DeskParts;
  readonly #ask: Ask;

  constructor(parts: DeskParts, ask: Ask) {
    this.#parts = parts;
    this.#ask = ask;
  }

  busy(onError: (message: string) => void): Promise<Store[]> {
    return openStores(this.#parts, onError);
  }

  async due(): Promise<Due[]> {
    return dueWork(this.#ask, { now: this.#parts.config.clock.now(), limit: MOST_DUE });
  }

  async nextDue(now: string): Promise<Due | undefined> {
    return nextDue(this.#ask, new Date(now));
  }

  async take(): Promise<Taken | null> {
    const { config, store: open, deliver } = this.#parts;
    const { clock, leaseMs: ttlMs } = config;
    const ask = this.#ask;
    const claim = await takeNext(ask, { owner: `${thisProcess()}/${newId('claim')}`, ttlMs, now: clock.now() });
    if (!claim) return null;
    const renewing = setInterval(() => void renewClaim(ask, claim, ttlMs).catch(() => {}), ttlMs / 3).unref();
    const done = async (outcome?: string) => {
      clearInterval(renewing);
      await letGo(ask, claim, outcome === 'busy' ? REST_MS : 0);
    };
    try {
      const store = await open(claim.store);
      // What a process that died left there.
      if (outboxRows(store.ledger).length > 0) await deliver(store);
      return { store, kind: claim.kind, key: claim.key, done };
    } catch (error) {
      await done('busy');
      throw error;
    }
  }

  async beginNight(dueAt: Date | undefined): Promise<void> {
    const { config, home } = this.#parts;
    const isPaused = (await home.pauses.all()).some(({ project }) => project === null);
    if (isPaused) await home.nightlyRound(dueAt, () => {});
    // Who begins the night for all drops what nobody needs any more.
    else if (await beginNight(this.#ask, { dueAt, now: config.clock.now() })) {
      await dropOlder(this.#ask, config.sessionDays);
    }
  }
}

/** Where that fails the claim ends by the database's time. */
async function letGo(ask: Ask, claim: Claim, restMs: number): Promise<void> {
  try {
    await releaseClaim(ask, claim, { restMs });
  } catch (error) {
    if (!isAppError(error, 'database-unavailable')) throw error;
  }
}
