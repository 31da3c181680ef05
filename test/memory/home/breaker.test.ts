import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { openHome } from '../../../src/memory/home/home.ts';
import { tempDir } from '../../support/temp.ts';

const START = Date.parse('2026-11-21T02:00:00Z');
const after = { after: 3 };
const failure = { code: 'network' as const, message: 'gone' };

/** A breaker of one home, as a process sees it that begins so many minutes after the start. */
function breakers() {
  const dir = tempDir();
  return {
    dir,
    at(minutes: number) {
      const home = openHome(dir, fixedClock(new Date(START + minutes * 60_000).toISOString()));
      onTestFinished(() => home.close());
      return home.breaker;
    },
  };
}

function isoAt(minutes: number): string {
  return new Date(START + minutes * 60_000).toISOString();
}

test('it opens after so many failures in a row, over all processes, and says when it tries again', async () => {
  const { at } = breakers();
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
  const { at } = breakers();
  for (let n = 0; n < 2; n++) await at(0).fail(failure, after);
  await at(0).pass();
  expect((await at(0).read()).failures).toBe(2);
  await at(0).close();
  for (let n = 0; n < 2; n++) await at(0).fail(failure, after);
  expect(await at(0).read()).toMatchObject({ state: 'closed', failures: 2 });
});

test('after the pause one job tries, and only one; its success closes the breaker', async () => {
  const { at } = breakers();
  for (let n = 0; n < 3; n++) await at(0).fail(failure, after);
  const [one, two] = [at(6), at(6)];
  expect(await one.admit()).toEqual({ isAdmitted: true, isProbe: true });
  expect(await two.admit()).toEqual({ isAdmitted: false, until: isoAt(7) });
  expect((await two.read()).state).toBe('half-open');
  await one.close();
  expect(await two.admit()).toEqual({ isAdmitted: true, isProbe: false });
});

test('a failed try opens it for twice as long, up to an hour', async () => {
  const { at } = breakers();
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
  const { at } = breakers();
  for (let n = 0; n < 6; n++) await at(0).fail(failure, after);
  expect(await at(0).read()).toMatchObject({ failures: 6, until: isoAt(5) });
});

test('a long pause that a server asks for is everyone’s, at the first failure; a short one is the job’s own', async () => {
  const { at } = breakers();
  await at(0).fail({ code: 'overloaded', message: 'later', retryAfterMs: 20_000 }, after);
  expect((await at(0).read()).state).toBe('closed');
  await at(0).fail({ code: 'overloaded', message: 'later', retryAfterMs: 7_200_000 }, after);
  expect(await at(1).admit()).toEqual({ isAdmitted: false, until: isoAt(120) });
});

test('a try whose process died is given to another, and so is one that ended without asking a model', async () => {
  const { at, dir } = breakers();
  for (let n = 0; n < 3; n++) await at(0).fail(failure, after);
  expect(await at(6).admit()).toMatchObject({ isProbe: true });
  await at(6).pass();
  expect(await at(6).admit()).toMatchObject({ isProbe: true });
  const { pid } = spawnSync(process.execPath, ['--version']);
  const db = new Database(join(dir, 'home.db'));
  db.prepare('update breaker set prober = ?').run(`${hostname()}:${pid}:1`);
  db.close();
  expect(await at(6).admit()).toMatchObject({ isProbe: true });
});

test('one that was opened by a clock that was ahead lets a job try at once', async () => {
  const { at } = breakers();
  const aYear = 365 * 24 * 60;
  for (let n = 0; n < 3; n++) await at(aYear).fail(failure, after);
  expect(await at(0).read()).toMatchObject({ state: 'half-open', until: isoAt(0) });
  expect(await at(0).admit()).toEqual({ isAdmitted: true, isProbe: true });
  await at(0).close();
  expect(await at(0).read()).toMatchObject({ state: 'closed', failures: 0 });
});
