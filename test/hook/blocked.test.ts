// A hiccup on the machine (settings with a slip, a directory that is closed or gone) costs no session: each is learned
// once, when it is mended, without a touch on its file; until then it is named.

import { chmodSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { Environment } from '../../src/base/config/config.ts';
import { writeSpoolItem } from '../../src/queue/spool.ts';
import { aPerson, type Person } from '../support/person.ts';
import { runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';

const BROKEN = '{ "model": "opus" "x": 1 }';
const FACTS = [
  'Always use pnpm instead of npm.',
  'Never push to main on Fridays.',
  'We deploy with the blue pipeline.',
];
let person: Person;
let environment: Environment;
let projects: string;

beforeEach(() => {
  person = aPerson();
  environment = { ...person.environment, NOCTURNE_MODEL: 'offline' };
  projects = join(person.user, '.claude', 'projects');
  mkdirSync(join(projects, '-home-kim-orchard'), { recursive: true });
});

/** A session of an hour ago that teaches the nth fact. */
function session(n: number, project = '-home-kim-orchard') {
  const made = aSession([FACTS[n] as string], {
    dir: join(projects, project),
    id: `${n}1111111-2222-4333-8444-555555555555`,
  });
  utimesSync(made.path, new Date('2026-11-21T01:00:00Z'), new Date('2026-11-21T01:00:00Z'));
  return made;
}

function settings(text: string): void {
  writeFileSync(join(person.user, '.claude', 'settings.json'), text);
}

const hookTold = (path: string, id: string) =>
  writeSpoolItem(environment.NOCTURNE_HOME as string, {
    ...{ v: 1, agent: 'claude-code', session: id, transcript: path, cwd: '/home/kim/orchard', event: 'SessionEnd' },
    ...{ size: null, mtime: null, at: '2026-11-21T01:00:00.000Z' },
  });

const night = (now = '2026-11-21T02:00:00Z') =>
  runHere(['worker', '--once', '--nightly'], { ...environment, NOCTURNE_NOW: now });

/** How often each fact is in the daily logs. */
async function learned(): Promise<number[]> {
  const place = { ...environment, NOCTURNE_MEMORY_DIR: join(projects, '-home-kim-orchard', 'memory') };
  const { stdout } = await runHere(['list', '--day', '2026-11-20'], place);
  return FACTS.map((fact) => stdout.split(new RegExp(fact.slice(0, -1), 'i')).length - 1);
}

test('settings with comments are no hiccup; broken ones are named, and mended every session is learned once', async () => {
  settings('{\n  // mine\n  "model": "opus", // best\n}\n');
  session(0);
  await night();
  settings(BROKEN);
  session(1);
  const told = session(2);
  hookTold(told.path, told.id);
  const broken = await night('2026-11-21T03:00:00Z');
  expect(broken.stderr).toContain('settings.json is not JSON');
  const doctor = await runHere(['doctor'], environment);
  expect(doctor.code).toBe(3);
  expect(doctor.stdout).toMatch(/^fail {2}agent settings: .*settings\.json is not JSON/m);
  expect(doctor.stdout).toMatch(new RegExp(`^fail {2}sessions: .*${told.id}`, 'm'));
  // Of the first, too, nobody can tell.
  const alone = await runHere([], environment);
  expect(alone.stdout).toContain('3 sessions could not be read yet');
  expect((await runHere([], environment)).code).toBe(3);
  // So long after that no sweep would look at sessions of that day.
  settings('{ "model": "opus" }');
  await night('2026-12-09T02:00:00Z');
  await night('2026-12-09T03:00:00Z');
  expect(await learned()).toEqual([1, 1, 1]);
  expect((await runHere(['doctor'], environment)).stdout).not.toMatch(/could not be taken|^fail {2}(agent|sessions)/m);
});

test('settings that break while a session waits only put it off', async () => {
  const told = session(0);
  await runHere(['learn', '--later', told.path], environment);
  settings(BROKEN);
  await runHere(['worker', '--once'], environment);
  settings('{}');
  await runHere(['worker', '--once'], { ...environment, NOCTURNE_NOW: '2026-11-21T02:10:00Z' });
  expect(await learned()).toEqual([1, 0, 0]);
});

test('a memory directory that cannot be made, and a disk with sessions that is gone, are waited for', async () => {
  const notes = join(person.user, 'notes');
  writeFileSync(notes, 'a file where a directory should be');
  settings(JSON.stringify({ autoMemoryDirectory: join(notes, 'memory') }));
  const [swept, told] = [session(0), session(1)];
  hookTold(swept.path, swept.id);
  await night();
  hookTold(told.path, told.id);
  renameSync(join(projects, '-home-kim-orchard'), join(person.user, 'elsewhere'));
  await night('2026-11-21T03:00:00Z');
  const doctor = await runHere(['doctor'], environment);
  expect(doctor.stdout).toMatch(new RegExp(`^fail {2}sessions: .*${told.id}`, 'm'));
  rmSync(notes);
  renameSync(join(person.user, 'elsewhere'), join(projects, '-home-kim-orchard'));
  await night('2026-12-09T02:00:00Z');
  const { stdout } = await runHere(['list', '--day', '2026-11-20'], {
    ...environment,
    NOCTURNE_MEMORY_DIR: join(notes, 'memory'),
  });
  expect(stdout.match(/pnpm/g)).toHaveLength(1);
  expect(stdout.match(/Fridays/g)).toHaveLength(1);
});

// Nothing is closed to root.
test.skipIf(process.getuid?.() === 0)('what is closed to this user keeps nothing else from being found', async () => {
  mkdirSync(join(projects, 'closed'));
  const closed = session(1, 'closed');
  session(0);
  chmodSync(join(projects, 'closed'), 0);
  expect((await night()).stderr).toContain(join(projects, 'closed'));
  expect(await learned()).toEqual([1, 0, 0]);
  chmodSync(join(projects, 'closed'), 0o700);
  chmodSync(closed.path, 0);
  await night('2026-11-21T03:00:00Z');
  chmodSync(closed.path, 0o600);
  await night('2026-12-09T02:00:00Z');
  expect(await learned()).toEqual([1, 1, 0]);
});
