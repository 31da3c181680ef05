// Who is awake: told by files, rightly also where their writers were killed or live on another host.

import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixedClock, systemClock } from '../../src/base/time.ts';
import { awakeIn, isAnyAwake } from '../../src/queue/spool.ts';
import { filesIn } from '../support/hook.ts';
import { tempDir } from '../support/temp.ts';

test('a worker is awake from its entering to its leaving', () => {
  const home = tempDir();
  expect(isAnyAwake(home, systemClock)).toBe(false);
  const awake = awakeIn(home, systemClock);
  expect(isAnyAwake(home, systemClock)).toBe(false);
  awake.enter();
  expect(isAnyAwake(home, systemClock)).toBe(true);
  awake.leave();
  awake.leave();
  expect(isAnyAwake(home, systemClock)).toBe(false);
});

test('of two that are awake the older one is needed, and the younger when the older has gone', () => {
  const home = tempDir();
  const older = awakeIn(home, fixedClock('2026-11-21T02:00:00Z'));
  const younger = awakeIn(home, fixedClock('2026-11-21T02:00:01Z'));
  expect(younger.enterIfNeeded()).toBe(true);
  expect(older.enterIfNeeded()).toBe(true);
  expect(younger.enterIfNeeded()).toBe(false);
  expect(filesIn(join(home, 'awake'))).toHaveLength(1);
  older.leave();
  expect(younger.enterIfNeeded()).toBe(true);
  younger.leave();
});

test('a killed worker is not awake, and its file goes when the next one enters', () => {
  const home = tempDir();
  mkdirSync(join(home, 'awake'));
  // No process has this id.
  writeFileSync(join(home, 'awake', '000000000000001-1'), `${hostname()}:4194999:1`);
  writeFileSync(join(home, 'awake', '000000000000002-2'), '');
  writeFileSync(join(home, 'awake', '000000000000003-3.x.tmp'), `${hostname()}:${process.pid}:`);
  expect(isAnyAwake(home, systemClock)).toBe(false);
  const next = awakeIn(home, systemClock);
  expect(next.enterIfNeeded()).toBe(true);
  expect(filesIn(join(home, 'awake'))).toHaveLength(1);
  next.leave();
});

test('a worker on another host is awake as long as it renews its file', () => {
  const home = tempDir();
  mkdirSync(join(home, 'awake'));
  const file = join(home, 'awake', '000000000000001-1');
  writeFileSync(file, 'another-host:1:1');
  const at = new Date('2026-11-21T02:00:00Z');
  utimesSync(file, at, at);
  expect(isAnyAwake(home, fixedClock('2026-11-21T02:01:00Z'))).toBe(true);
  expect(isAnyAwake(home, fixedClock('2026-11-21T02:05:00Z'))).toBe(false);
});
