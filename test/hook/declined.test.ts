// What a person declined at set-up: nothing takes it unasked, of a session that goes on only what is new is taken, and
// who asks for the session by name is given all of it.

import { mkdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type TestApp, testApp } from '../support/app.ts';
import { announceSession, sweepSessions } from '../support/doors.ts';
import { runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';

const OLD = 'Always use pnpm instead of npm.';
const NEW = 'Never push to main on Fridays.';

/** A session with one turn, then declined, quiet for an hour. */
async function declined() {
  const testing = await testApp();
  const dir = join(testing.home, '.claude/projects/-home-kim-orchard');
  mkdirSync(dir, { recursive: true });
  const session = aSession([OLD], { dir, startsAt: '2026-11-20T09:00:00Z' });
  quiet(session.path);
  await testing.app.home.decline(new Date('2026-11-20T09:00:25Z'));
  return { testing, session };
}

function quiet(path: string, at = new Date('2026-11-21T01:00:00Z')): void {
  utimesSync(path, at, at);
}

/** How many sessions it takes. */
const sweep = async ({ app }: TestApp) => (await sweepSessions(app)).enqueued.length;

async function learned({ rows }: TestApp, id: string): Promise<string[]> {
  return (await rows('entries')).filter(({ session }) => session === id).map(({ text }) => text);
}

test('no sweep takes what was declined, until the session goes on; then only what is new', async () => {
  const { testing, session } = await declined();
  expect(await sweep(testing)).toBe(0);
  expect(await sweep(testing)).toBe(0);
  session.add(NEW);
  quiet(session.path, new Date('2026-11-21T01:10:00Z'));
  expect(await sweep(testing)).toBe(1);
  await testing.nocturne('worker', '--once');
  expect(await learned(testing, session.id)).toEqual([expect.stringContaining(NEW.slice(0, -1))]);
  expect(await testing.rows('fates')).toEqual(['declined', 'recorded']);
  expect(await sweep(testing)).toBe(0);
});

test('why says of one turn that it is from before set-up, and how it is taken', async () => {
  const { testing, session } = await declined();
  const { stdout } = await testing.nocturne('why', session.path);
  expect(stdout).toMatch(
    /1 {2}not read: they are from before set-up.*\n.*1 turn from before set-up, not read\. Now: nocturne learn /,
  );
});

test('a turn that was under way is declined whole, with what was typed in it later', async () => {
  const { testing, session } = await declined();
  session.goOn([{ types: NEW }, { says: 'All right.' }]);
  quiet(session.path, new Date('2026-11-21T01:10:00Z'));
  await sweep(testing);
  await testing.nocturne('worker', '--once');
  expect(await learned(testing, session.id)).toEqual([]);
});

test('extract takes all of a session, also when something of it was taken since', async () => {
  const { testing, session } = await declined();
  session.add(NEW);
  quiet(session.path);
  await sweep(testing);
  await testing.nocturne('worker', '--once');
  expect((await testing.nocturne('learn', session.path)).stdout).toContain('1 thing learned');
  expect(await learned(testing, session.id)).toHaveLength(2);
  expect((await testing.nocturne('learn', session.path)).stdout).toContain('nothing new');
  const another = await declined();
  await another.testing.nocturne('learn', '--later', another.session.path);
  await another.testing.nocturne('worker', '--once');
  expect(await learned(another.testing, another.session.id)).toHaveLength(1);
});

test('a session of which all was declined gave nothing, and why says that it was not read', async () => {
  const { testing, session } = await declined();
  const { app, environment } = testing;
  const cwd = '/home/kim/orchard';
  await announceSession(app, { transcript: session.path, cwd, ended: true, isDueNow: true });
  await runHere(['worker', '--once'], environment);
  const { stdout } = await runHere(['list', '--sessions'], environment);
  expect(stdout).toMatch(/^ {2}.*: nothing kept \(nocturne why 11111111\)$/m);
  expect((await runHere(['why', '11111111'], environment)).stdout).toContain('not read: they are from before set-up');
  await runHere(['learn', session.path], environment);
  expect((await runHere(['list', '--sessions'], environment)).stdout).toMatch(/^ {2}.*: 1 entry \(11111111\)$/m);
});

test('learn --later takes what was declined too, whatever was looked at before', async () => {
  const { testing, session } = await declined();
  await sweep(testing);
  expect((await testing.nocturne('learn', '--later')).stdout).toContain('waits in');
  await testing.nocturne('worker', '--once');
  expect(await learned(testing, session.id)).toHaveLength(1);
  expect((await testing.nocturne('learn', '--later')).stdout).toContain('Nothing new');
});

test('learn takes what was declined, before and after a session went on', async () => {
  for (const goesOn of [false, true]) {
    const { testing, session } = await declined();
    if (goesOn) {
      session.add(NEW);
      quiet(session.path, new Date('2026-11-21T01:10:00Z'));
    }
    await sweep(testing);
    await testing.nocturne('worker', '--once');
    expect(await learned(testing, session.id)).toHaveLength(goesOn ? 1 : 0);
    const { stdout } = await testing.nocturne('learn');
    expect(stdout).toContain(`from 1 session.\n\norchard\n`);
    expect(await learned(testing, session.id)).toHaveLength(goesOn ? 2 : 1);
    expect(await sweep(testing)).toBe(0);
  }
});
