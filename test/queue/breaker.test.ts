// The breaker, on both engines: what the jobs that ended last say of whether a model may be asked.

import { describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../src/base/errors.ts';
import type { Db } from '../../src/db/sql.ts';
import { beginJob, endJob } from '../../src/memory/job-rows.ts';
import { breakerOf, closeBreaker, mayTry } from '../../src/queue/breaker.ts';
import { spendOf } from '../../src/queue/spend.ts';
import { ENGINE_TAKEN, inWorld, NOW, skipped } from '../support/memory-world.ts';

const minute = (n: number) => new Date(Date.parse(NOW) + n * 60_000);
const CEILINGS = { jobTokens: 1e9, dayTokens: 1e9, zone: 'UTC' };

/** A job ended so, after so many requests to the model. */
async function ended(
  db: Db,
  atMinute: number,
  end: { code?: ErrorCode; retryAfterMs?: number; progress?: number; calls?: number },
): Promise<void> {
  const { code, retryAfterMs, progress, calls = 1 } = end;
  const at = minute(atMinute).toISOString();
  const job = await beginJob(db, { kind: 'extract', startedBy: 'hook', at });
  const { reserve } = spendOf({ db, clock: { now: () => minute(0) }, ceilings: CEILINGS, model: 'm' }, job);
  for (let n = 0; n < calls; n += 1) await reserve(1, 0);
  const error = code && { code, message: `It was ${code}.`, retryAfterMs };
  await endJob(db, job, { outcome: code ? 'failed' : 'extracted', error, progress, at });
}

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('it opens after so many failures in a row, tries again after five minutes, and waits twice as long each time up to an hour', () =>
    inWorld(engine, async ({ db }) => {
      const state = (n: number) => breakerOf(db, { after: 3, now: minute(n) });
      await ended(db, 0, { code: 'network' });
      await ended(db, 0, { code: 'server-error' });
      await ended(db, 0, { code: 'ceiling' });
      await ended(db, 0, { code: 'transcript-gone' });
      expect(await state(1)).toMatchObject({ state: 'closed', failures: 2 });
      await ended(db, 1, { code: 'network' });
      const open = { state: 'open', failures: 3, until: minute(6).toISOString(), code: 'network' };
      expect(await state(1)).toMatchObject({ ...open, reason: 'It was network.' });
      // Those that were under way open it no further.
      await ended(db, 2, { code: 'network' });
      expect(await state(2)).toMatchObject({ until: minute(6).toISOString() });
      expect(await state(6)).toMatchObject({ state: 'half-open' });
      let at = 6;
      for (const pause of [10, 20, 40, 60, 60]) {
        await ended(db, at, { code: 'network' });
        expect(await state(at)).toMatchObject({ state: 'open', until: minute(at + pause).toISOString() });
        at += pause;
      }
      await ended(db, at, {});
      expect(await state(at)).toEqual({ state: 'closed', failures: 0, until: null, code: null, reason: null });
    }));

  it('progress begins the count anew, also of a job that failed then; one that asked no model, or was interrupted, says nothing', () =>
    inWorld(engine, async ({ db }) => {
      const state = (n: number) => breakerOf(db, { after: 2, now: minute(n) });
      await ended(db, 0, { code: 'network' });
      await ended(db, 1, { calls: 0 });
      expect(await state(1)).toMatchObject({ failures: 1 });
      await ended(db, 2, { code: 'network', progress: 4 });
      expect(await state(2)).toMatchObject({ failures: 0 });
      await ended(db, 3, { code: 'network' });
      await ended(db, 4, {});
      expect(await state(4)).toMatchObject({ failures: 0 });
    }));

  it('a long pause that a server asks for is everyone’s at once; a short one is the job’s own', () =>
    inWorld(engine, async ({ db }) => {
      await ended(db, 0, { code: 'overloaded', retryAfterMs: 20_000 });
      expect(await breakerOf(db, { after: 5, now: minute(0) })).toMatchObject({ state: 'closed' });
      await ended(db, 1, { code: 'plan-limit', retryAfterMs: 3 * 3_600_000 });
      const now = minute(2);
      expect(await breakerOf(db, { after: 5, now })).toMatchObject({ state: 'open', until: minute(181).toISOString() });
      await closeBreaker(db, now);
      expect(await breakerOf(db, { after: 5, now })).toMatchObject({ state: 'closed' });
    }));

  it('a clock that was ahead keeps it neither open nor closed', () =>
    inWorld(engine, async ({ db }) => {
      await ended(db, 60 * 24, { code: 'plan-limit', retryAfterMs: 3_600_000 });
      expect(await breakerOf(db, { after: 1, now: minute(1) })).toMatchObject({ state: 'closed' });
    }));

  it('where it is half open one tries; another does where that one died, and none while it works', () =>
    inWorld(engine, async ({ db, again }) => {
      const other = (await again()).db;
      const until = minute(5).toISOString();
      expect(
        await Promise.all([mayTry(db, { until, now: minute(5) }), mayTry(other, { until, now: minute(5) })]),
      ).toContain(true);
      expect(await mayTry(other, { until, now: minute(5.5) })).toBe(false);
      await db.run(
        `insert into inbox (kind, key, payload, priority, since, not_before, owner, until) values ('extract', 's', '{}', 1, '', '', 'a', ?)`,
        minute(6.5).toISOString(),
      );
      expect(await mayTry(other, { until, now: minute(6) })).toBe(false);
      expect(await mayTry(other, { until, now: minute(7) })).toBe(true);
      expect(await mayTry(db, { until, now: minute(7) })).toBe(false);
    }));
});
