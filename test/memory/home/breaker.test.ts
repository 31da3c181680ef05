import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { describe, expect, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { HOMES } from '../../support/homes.ts';

const START = Date.parse('2026-11-21T02:00:00Z');
const after = { after: 3 };
const failure = { code: 'network' as const, message: 'gone' };

function isoAt(minutes: number): string {
  return new Date(START + minutes * 60_000).toISOString();
}

describe.each(HOMES)('$name', ({ isShared, setUp, begin }) => {
  setUp();

  /** A breaker of one home, as a process sees it that begins so many minutes after the start. */
  async function breakers() {
    const { open, run } = await begin();
    return { run, at: (minutes: number) => open(fixedClock(isoAt(minutes))).breaker };
  }

  test('it opens after so many failures in a row, over all processes, and says when it tries again', async () => {
    const { at } = await breakers();
    await at(0).fail(failure, after);
    await at(0).fail(failure, after);
    expect(await at(0).admit()).toEqual({ isAdmitted: true, isProbe: false });
    await at(0).fail({ code: 'auth', message: 'no key' }, after);
    expect(await at(1).admit()).toEqual({ isAdmitted: false, until: isoAt(5) });
    expect(await at(1).read()).toEqual({
      state: 'open',
      failures: 3,
      until: isoAt(5),
      code: 'auth',
      reason: 'no key',
      skips: 1,
    });
  });

  test('progress begins the count anew; a job that asked no model changes nothing', async () => {
    const { at } = await breakers();
    for (let n = 0; n < 2; n++) await at(0).fail(failure, after);
    await at(0).pass();
    expect((await at(0).read()).failures).toBe(2);
    await at(0).close();
    for (let n = 0; n < 2; n++) await at(0).fail(failure, after);
    expect(await at(0).read()).toMatchObject({ state: 'closed', failures: 2 });
  });

  test('after the pause one job tries, and only one; its success closes the breaker', async () => {
    const { at } = await breakers();
    for (let n = 0; n < 3; n++) await at(0).fail(failure, after);
    const [one, two] = [at(6), at(6)];
    expect(await one.admit()).toEqual({ isAdmitted: true, isProbe: true });
    expect(await two.admit()).toEqual({ isAdmitted: false, until: isoAt(7) });
    expect((await two.read()).state).toBe('half-open');
    await one.close();
    expect(await two.admit()).toEqual({ isAdmitted: true, isProbe: false });
  });

  test('a failed try opens it for twice as long, up to an hour', async () => {
    const { at } = await breakers();
    for (let n = 0; n < 3; n++) await at(0).fail(failure, after);
    const pauses: number[] = [];
    let minutes = 5;
    for (let n = 0; n < 6; n++) {
      expect(await at(minutes).admit()).toMatchObject({ isProbe: true });
      await at(minutes).fail(failure, after);
      const until = Date.parse((await at(minutes).read()).until as string);
      pauses.push((until - START) / 60_000 - minutes);
      minutes = (until - START) / 60_000;
    }
    expect(pauses).toEqual([10, 20, 40, 60, 60, 60]);
  });

  test('jobs that were under way when it opened open it no further', async () => {
    const { at } = await breakers();
    for (let n = 0; n < 6; n++) await at(0).fail(failure, after);
    expect(await at(0).read()).toMatchObject({ failures: 6, until: isoAt(5) });
  });

  test('a long pause that a server asks for is everyone’s, at the first failure; a short one is the job’s own', async () => {
    const { at } = await breakers();
    await at(0).fail({ code: 'overloaded', message: 'later', retryAfterMs: 20_000 }, after);
    expect((await at(0).read()).state).toBe('closed');
    await at(0).fail({ code: 'overloaded', message: 'later', retryAfterMs: 7_200_000 }, after);
    expect(await at(1).admit()).toEqual({ isAdmitted: false, until: isoAt(120) });
  });

  test('a try whose process died is given to another, and so is one that ended without asking a model', async () => {
    const { at, run } = await breakers();
    for (let n = 0; n < 3; n++) await at(0).fail(failure, after);
    expect(await at(6).admit()).toMatchObject({ isProbe: true });
    await at(6).pass();
    expect(await at(6).admit()).toMatchObject({ isProbe: true });
    const { pid } = spawnSync(process.execPath, ['--version']);
    // On other machines nobody sees that a process died, only that it was not seen for long.
    const lost = isShared
      ? `to_char(clock_timestamp() at time zone 'utc' - interval '2 minutes 1 second', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
      : 'null';
    await run(`update breaker set prober = '${hostname()}:${pid}:1', prober_seen_at = ${lost}`);
    expect(await at(6).admit()).toMatchObject({ isProbe: true });
  });

  test('one that was opened by a clock that was ahead lets a job try at once', async () => {
    const { at } = await breakers();
    const aYear = 365 * 24 * 60;
    for (let n = 0; n < 3; n++) await at(aYear).fail(failure, after);
    expect(await at(0).read()).toMatchObject({ state: 'half-open', until: isoAt(0) });
    expect(await at(0).admit()).toEqual({ isAdmitted: true, isProbe: true });
    await at(0).close();
    expect(await at(0).read()).toMatchObject({ state: 'closed', failures: 0 });
  });
});
