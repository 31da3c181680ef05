// What a session's own environment decides, where its memory is, whether and by which model, holds for that session: the worker that
// its hook starts works those of others by theirs.

import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Environment } from '../../src/base/config/config.ts';
import { listFiles } from '../../src/base/files/directories.ts';
import { systemClock } from '../../src/base/time.ts';
import { projectMemoryDir } from '../../src/memory/paths.ts';
import { awakeIn } from '../../src/queue/spool.ts';
import { environmentIn } from '../support/app.ts';
import { runHook, SILENT, spooledIn } from '../support/hook.ts';
import { until } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const QUIET = new Date('2026-11-21T01:00:00Z');

/** Two projects, `a` and `b`, with a session each, and a home. */
function twoProjects() {
  const user = tempDir();
  const home = join(user, '.nocturne');
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'config.json'), '{ "model": "offline" }');
  const fixed = { NOCTURNE_FIXED: JSON.stringify({ debounceMs: 0, throttleMs: 0 }) };
  const environment = environmentIn(user, {
    ...fixed,
    NOCTURNE_NOW: '2026-11-21T02:00:00Z',
    NOCTURNE_MODEL: undefined,
  });
  const projectOf = (name: string, n: number) => {
    const cwd = join(user, name);
    mkdirSync(join(cwd, '.git'), { recursive: true });
    writeFileSync(join(cwd, '.git', 'HEAD'), 'ref: refs/heads/main\n');
    const memory = projectMemoryDir(join(user, '.claude'), cwd);
    mkdirSync(memory, { recursive: true });
    const id = `${n}1111111-2222-4333-8444-555555555555`;
    const session = aSession([`Always use tabs in project ${name}.`], { id, cwd, dir: join(memory, '..') });
    const { path } = session;
    utimesSync(path, QUIET, QUIET);
    const ends = (more: Environment = {}) =>
      runHook(
        { hook_event_name: 'SessionEnd', session_id: id, transcript_path: path, cwd },
        { ...environment, ...more },
      );
    return { memory, path, ends, session };
  };
  const [a, b] = [projectOf('a', 1), projectOf('b', 2)];
  /** Both end, b under these variables, and it is b's hook that starts the worker. */
  const bothEnd = async (more: Environment) => {
    const awake = awakeIn(home, systemClock);
    awake.enter();
    expect(await a.ends()).toMatchObject(SILENT);
    awake.leave();
    expect(await b.ends(more)).toMatchObject(SILENT);
    await until(() => spooledIn(home).length === 0 && awakeNone(home));
  };
  const nocturne = (args: string[], more: Environment = {}) =>
    runHere(args, { ...environment, ...more }, { cwd: user });
  /** Looks for sessions that no hook told of, and works them as nobody's session. */
  const sweep = async () => {
    const found = await nocturne(['learn', '--later', '--json']);
    await nocturne(['worker', '--once']);
    return found;
  };
  return { user, a, b, bothEnd, nocturne, sweep };
}

const awakeNone = (home: string) => listFiles(join(home, 'awake')).length === 0;

/** What is kept in a memory directory, of which project. */
function saysOf(dir: string): string[] {
  if (!existsSync(dir)) return [];
  const texts = listFiles(dir)
    .filter((path) => path.endsWith('.md'))
    .map((path) => readFileSync(join(dir, path), 'utf8'));
  return [...new Set(texts.flatMap((text) => text.match(/in (?:no )?project [abc]/g) ?? []))];
}

test.each(['NOCTURNE_MEMORY_DIR', 'CLAUDE_COWORK_MEMORY_PATH_OVERRIDE'])(
  '%s holds for the session that has it, for no other that its worker takes, and for whoever finds it later or learns it by hand',
  async (name) => {
    const { user, a, b, bothEnd, nocturne, sweep } = twoProjects();
    const own = join(user, 'own');
    await bothEnd({ [name]: own });
    const places = () => [saysOf(own), saysOf(a.memory), saysOf(b.memory)];
    expect(places()).toEqual([['in project b'], ['in project a'], []]);
    expect(await sweep()).toMatchObject({ code: 0 });
    for (const args of [[], ['--memory', own, b.path], ['--later', '--memory', own, b.path]]) {
      await nocturne(['learn', ...args]);
      await sweep();
      expect(places()).toEqual([['in project b'], ['in project a'], []]);
    }
  },
);

test.each([[[]], [['--later']]])(
  'learn %s by hand reads a session by its own environment, not by that of the shell',
  async (later) => {
    const { user, a, b, bothEnd, nocturne } = twoProjects();
    const own = join(user, 'own');
    const shell = join(user, 'shell');
    await bothEnd({ NOCTURNE_MEMORY_DIR: own });
    for (const { session, path } of [a, b]) {
      session.add('Never use tabs elsewhere, in no project c.');
      await nocturne(['learn', ...later, path], { NOCTURNE_MEMORY_DIR: shell });
    }
    await nocturne(['worker', '--once'], { NOCTURNE_MEMORY_DIR: shell });
    expect([saysOf(own), saysOf(a.memory), saysOf(b.memory), saysOf(shell)]).toEqual([
      ['in project b', 'in no project c'],
      ['in project a', 'in no project c'],
      [],
      [],
    ]);
  },
);

test('another directory of Claude Code keeps the memory of its own sessions, and the sessions of others stay where they were', async () => {
  const { user, a, bothEnd } = twoProjects();
  const claude = join(user, 'work');
  await bothEnd({ CLAUDE_CONFIG_DIR: claude });
  expect([saysOf(projectMemoryDir(claude, join(user, 'b'))), saysOf(a.memory)]).toEqual([
    ['in project b'],
    ['in project a'],
  ]);
});

test('memory that is turned off for one session is off for that one, now and later, and on for the others', async () => {
  const { a, b, bothEnd, nocturne, sweep } = twoProjects();
  await bothEnd({ CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' });
  await sweep();
  const { left } = JSON.parse((await nocturne(['learn', '--json'])).stdout);
  expect(Object.keys(left)).toEqual([expect.stringContaining('CLAUDE_CODE_DISABLE_AUTO_MEMORY')]);
  expect((await nocturne(['why', b.path])).stdout).toMatch(/Nothing by itself: .*CLAUDE_CODE_DISABLE_AUTO_MEMORY/);
  expect([saysOf(a.memory), saysOf(b.memory)]).toEqual([['in project a'], []]);
});

test('memory that is on for one session alone is on for that one', async () => {
  const { user, a, b, bothEnd } = twoProjects();
  writeFileSync(join(user, '.claude', 'settings.json'), '{ "autoMemoryEnabled": false }');
  await bothEnd({ CLAUDE_CODE_DISABLE_AUTO_MEMORY: '0' });
  expect([saysOf(a.memory), saysOf(b.memory)]).toEqual([[], ['in project b']]);
});

test('the model of one session is asked for that one alone, unless the command names another', async () => {
  const { a, b, bothEnd, nocturne, sweep } = twoProjects();
  await bothEnd({ NOCTURNE_MODEL: 'claude-opus-5-5' });
  await sweep();
  expect([saysOf(a.memory), saysOf(b.memory)]).toEqual([['in project a'], []]);
  await nocturne(['retry', '--failed']);
  await nocturne(['worker', '--once', '--model', 'offline']);
  expect(saysOf(b.memory)).toEqual(['in project b']);
});

test('a model that is none keeps that session alone from being read, and is said once', async () => {
  const { a, b, bothEnd, sweep } = twoProjects();
  await bothEnd({ NOCTURNE_MODEL: 'ofline' });
  expect((await sweep()).stderr).toContain('There is no model ofline');
  expect(await sweep()).toMatchObject({ stdout: '', stderr: '' });
  expect([saysOf(a.memory), saysOf(b.memory)]).toEqual([['in project a'], []]);
});
