// OpenTelemetry metrics, through the API package alone, as spans (telemetry.ts): they go where the SDK sends them that a
// user registers. Whoever loads this file has telemetry on.
// Promises: figures are read only when a reader asks for them, and not again within 15 s; no name of a store, a session or
// a person is in them.

import { metrics } from '@opentelemetry/api';
import { type Clock, dayOf } from '../base/time.ts';
import type { Home } from '../memory/home/home.ts';
import { countLeased } from '../memory/ledger/job-rows.ts';
import type { App } from './compose.ts';
import type { WorkFigures } from './wing.ts';
import { eachLedger } from './worker/known-work.ts';

/** What is true now of all memory that a worker works for. */
export interface Figures extends WorkFigures {
  /** What counts against today's ceilings: used, and reserved for requests under way. */
  tokens: number;
  microUsd: number;
}

const READ_AT_MOST_EVERY_MS = 15_000;

/** Offers figures to whatever reads metrics; answers what ends that. Where they cannot be read the reader is told why. */
export function observeFigures(read: () => Promise<Figures>, clock: Clock): () => void {
  const meter = metrics.getMeter('nocturne');
  const gauge = (name: string, description: string, unit: string) =>
    meter.createObservableGauge(`nocturne.${name}`, { description, unit });
  const waiting = gauge('work.waiting', 'items that wait in the inboxes', '{item}');
  const oldest = gauge('work.oldest', 'how long the oldest of them waits', 's');
  const tokens = gauge('spend.tokens', "what counts against today's ceiling of tokens", '{token}');
  const usd = gauge('spend.usd', "what counts against today's ceiling of money", 'USD');
  const leases = gauge('leases', 'keys that somebody works on', '{lease}');
  const all = [waiting, oldest, tokens, usd, leases];
  let last: { figures: Promise<Figures>; atMs: number } | undefined;
  const figuresAt = (nowMs: number) => {
    if (!last || Math.abs(nowMs - last.atMs) >= READ_AT_MOST_EVERY_MS) {
      const reading = { figures: read(), atMs: nowMs };
      last = reading;
      reading.figures.catch(() => {
        if (last === reading) last = undefined;
      });
    }
    return last.figures;
  };
  const observe: Parameters<typeof meter.addBatchObservableCallback>[0] = async (result) => {
    const nowMs = clock.now().getTime();
    const found = await figuresAt(nowMs);
    const sinceMs = found.oldestSince === null ? nowMs : Date.parse(found.oldestSince);
    result.observe(waiting, found.waiting);
    result.observe(oldest, Math.max(0, nowMs - sinceMs) / 1_000);
    result.observe(tokens, found.tokens);
    result.observe(usd, found.microUsd / 1e6);
    result.observe(leases, found.leases);
  };
  meter.addBatchObservableCallback(observe, all);
  return () => meter.removeBatchObservableCallback(observe, all);
}

/** The figures of an app; where several machines share the memory, of all of it. */
export async function figuresOf({ home, config, ...app }: Pick<App, 'home' | 'config' | 'figures'>): Promise<Figures> {
  const now = config.clock.now();
  const spend = await home.days.spendOf(dayOf(now, config.zone));
  return {
    ...(await (app.figures?.() ?? figuresOfLedgers(home, now))),
    tokens: spend.usedTokens + spend.reservedTokens,
    microUsd: spend.usedMicroUsd + spend.reservedMicroUsd,
  };
}

/** Of the memory directories that a home knows; what cannot be opened counts nothing. */
async function figuresOfLedgers(home: Home, now: Date): Promise<WorkFigures> {
  const found: WorkFigures = { waiting: 0, oldestSince: null, leases: 0 };
  await eachLedger(
    { home, keeping: null },
    {
      look(ledger) {
        const inbox = ledger.get<{ items: number; since: string | null }>(
          'select count(*) as items, min(coalesce(since, not_before)) as since from inbox',
        );
        found.waiting += inbox?.items ?? 0;
        const since = inbox?.since ?? null;
        if (since !== null && (found.oldestSince === null || since < found.oldestSince)) found.oldestSince = since;
        found.leases += countLeased(ledger, now);
      },
    },
  );
  return found;
}
