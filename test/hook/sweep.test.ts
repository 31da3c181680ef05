// Sessions that no hook told of: found where agents keep them, once, and not opened again while they stay as they are.

import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { App } from '../../src/worker/compose.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { enqueueExtract, openApp, sweepSessions } from '../support/doors.ts';
import { keepAwake, runHook } from '../support/hook.ts';
import { runJson, until } from '../support/run.ts';
import { runJsonHere } from '../support/run-here.ts';
import { aSession, type SessionFile } from '../support/session-file.ts';
import { ON_POSTGRES, tempDir } from '../support/temp.ts';
import { fixtures, lines } from '../support/transcripts.ts';
import { workerHere } from '../support/worker-here.ts';

const QUIET = new Date('2026-11-21T01:00:00Z');

/** A session of Claude Code in the home, quiet for an hour. */
function claudeSession({ home }: Pick<TestApp, 'home'>, n = 1): SessionFile {
  const dir = join(home, '.claude/projects/-home-kim-orchard');
  mkdirSync(dir, { recursive: true });
  const session = aSession(['Always use pnpm instead of npm.'], { dir, id: `1111111${n}-2222-4333-8444-555555555555` });
  quiet(session.path);
  return session;
}

function quiet(path: string): void {
  utimesSync(path, QUIET, QUIET);
}

/** How many sessions a sweep takes. */
const taken = async (app: App) => (await sweepSessions(app)).enqueued.length;

function place({ home }: TestApp, path: string, fixture: string): string {
  const target = join(home, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, readFileSync(join(fixtures, fixture)));
  quiet(target);
  return target;
}

test('the sessions of all agents are found, and nothing that lies beside them', async () => {
  const testing = await testApp();
  const { path } = claudeSession(testing);
  const places = [
    path,
    place(testing, '.codex/sessions/2026/11/02/rollout-2026-11-02T09-00-00-019e.jsonl', 'codex.jsonl'),
    place(testing, '.gemini/tmp/ab12/chats/session-2026-11-02-7c1f.jsonl', 'gemini.jsonl'),
    place(testing, '.copilot/session-state/2a000000/events.jsonl', 'copilot.jsonl'),
    place(testing, '.pi/agent/sessions/--home-ada--/2026_1.jsonl', 'pi.jsonl'),
  ];
  place(testing, '.claude/projects/p/agent-a1.jsonl', 'claude-code.jsonl');
  place(testing, '.claude/projects/p/s/subagents/agent-a1.jsonl', 'claude-code.jsonl');
  place(testing, '.codex/history.jsonl', 'codex.jsonl');
  expect(await sweepSessions(testing.app)).toMatchObject({ problems: [], enqueued: { length: places.length } });
  const waiting = (await testing.rows('waiting')).map(({ payload }) => payload);
  expect(waiting).toEqual(expect.arrayContaining(places.map((transcript) => ({ transcript, ended: false }))));
  expect(await taken(testing.app)).toBe(0);
});

test('of a session whose project is not known nothing is taken up where memory lives by project, else all of it', async () => {
  const testing = await testApp();
  const { agentDirs } = testing.app.config;
  const target = join(agentDirs.gemini, 'tmp/ab12/chats/session-2026-11-02-7c1f.jsonl');
  mkdirSync(dirname(target), { recursive: true });
  const hello = { id: 'g-1', type: 'user', content: [{ text: 'Always use tabs.' }] };
  writeFileSync(target, lines({ sessionId: 'g', projectHash: 'ab12', kind: 'main' }, hello));
  quiet(target);
  const byProject = await openApp({ ...testing.app.config, memoryDir: undefined });
  onTestFinished(() => byProject.close());
  expect(await sweepSessions(byProject)).toEqual({ enqueued: [], problems: [] });
  expect(await taken(testing.app)).toBe(1);
});

test.skipIf(ON_POSTGRES)(
  'a home that was lost learns from a sweep which memory directories there are, with what waits in them',
  async () => {
    const { home, dir, nocturne } = await testApp();
    const session = claudeSession({ home });
    await nocturne('learn', '--later', session.path);
    // A second home on the same memory directory stands for the one that was lost.
    const lost = await testApp({ home: tempDir(), dir: tempDir() });
    const config = {
      ...lost.app.config,
      memoryDir: dir,
      agentDirs: { ...lost.app.config.agentDirs, 'claude-code': join(home, '.claude') },
    };
    const app = await openApp(config);
    onTestFinished(() => app.close());
    utimesSync(session.path, new Date('2026-11-21T01:59:00Z'), new Date('2026-11-21T01:59:00Z'));
    expect(await app.home.stores()).not.toContain(dir);
    expect(await taken(app)).toBe(0);
    expect(await app.home.stores()).toContain(dir);
  },
);

test('a session is enqueued once, then done, and again when it has grown', async () => {
  const testing = await testApp();
  const session = claudeSession(testing);
  expect(await taken(testing.app)).toBe(1);
  await enqueueExtract(testing.app, { transcript: session.path, ended: true });
  expect(await taken(testing.app)).toBe(0);
  expect(await testing.rows('waiting')).toHaveLength(1);
  await testing.nocturne('worker', '--once');
  expect(await taken(testing.app)).toBe(0);
  session.add('I prefer short answers.');
  quiet(session.path);
  expect(await taken(testing.app)).toBe(1);
  await testing.nocturne('worker', '--once');
  session.add('One more thing.');
  utimesSync(session.path, new Date('2026-11-21T01:50:00Z'), new Date('2026-11-21T01:50:00Z'));
  expect(await taken(testing.app)).toBe(0);
});

test('a session that has nothing new is not opened again until its size or time changes', async () => {
  const testing = await testApp();
  const { path } = claudeSession(testing);
  await testing.nocturne('learn', path);
  expect(await taken(testing.app)).toBe(0);
  // Another session of the same size in its place: it would be found if it were opened.
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll('1111', '2222'));
  quiet(path);
  expect(await taken(testing.app)).toBe(0);
  const later = new Date('2026-11-21T01:00:01Z');
  utimesSync(path, later, later);
  expect(await taken(testing.app)).toBe(1);
});

test('what was learned before counts for the memory directory that learned it', async () => {
  const testing = await testApp();
  const { path } = claudeSession(testing);
  await testing.nocturne('learn', path);
  for (let times = 0; times < 2; times += 1) expect(await taken(testing.app)).toBe(0);
  const elsewhere = await testApp({ home: testing.home });
  expect(await taken(elsewhere.app)).toBe(1);
});

test('learn --later says what waits then, silently on the way, and may be ended and repeated', async () => {
  const testing = await testApp();
  for (let n = 1; n <= 3; n++) claudeSession(testing, n);
  place(testing, '.codex/sessions/2026/11/02/rollout-2026-11-02T09-00-00-019e.jsonl', 'codex.jsonl');
  const damaged = place(testing, '.claude/projects/p/damaged.jsonl', 'codex.jsonl');
  writeFileSync(damaged, 'no session');
  utimesSync(damaged, QUIET, new Date('2026-11-20T01:00:00Z'));
  await sweepSessions(testing.app, { signal: AbortSignal.abort() });
  expect(await testing.rows('waiting')).toHaveLength(0);
  const codex = await runJsonHere(['learn', '--later', '--agent', 'codex'], testing.environment);
  expect(codex).toMatchObject({ code: 0, stderr: '', values: [{ kind: 'extract' }] });
  const first = await runJson(['learn', '--later'], testing.environment);
  expect(first).toMatchObject({ code: 0, values: { length: 3 } });
  expect(first.stderr).toMatch(/^\S+damaged\.jsonl is in none of the formats.*\n$/);
  const second = await testing.nocturne('learn', '--later');
  expect(second).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('Nothing new') });
  expect(await testing.rows('waiting')).toHaveLength(4);
});

test('--since bounds what is looked at, and what cannot be meant is refused', async () => {
  const testing = await testApp();
  claudeSession(testing);
  const all = (...more: string[]) => testing.nocturne('learn', '--later', ...more);
  expect((await all('--since', '2026-11-21T01:30:00Z')).stdout).toContain('Nothing new');
  expect((await all('--since', '1d')).stdout).toMatch(/^session \S+ waits in /);
  expect(await all('--since', 'yesterday')).toMatchObject({ code: 2, stderr: expect.stringContaining('Give a date') });
  expect(await all('--agent', 'opencode')).toMatchObject({ code: 2, stderr: expect.stringContaining('database') });
});

test('the start of a session makes a worker find what no hook told of', async () => {
  const testing = await testApp({ now: '' });
  keepAwake(testing.home);
  claudeSession(testing);
  utimesSync(claudeSession(testing).path, new Date(), new Date(Date.now() - 3_600_000));
  const input = { session_id: 's2', cwd: '/', hook_event_name: 'SessionStart', source: 'startup' };
  await runHook(input, testing.environment);
  expect((await testing.nocturne('worker', '--once')).stderr).toMatch(/^session \S+: learned/m);
});

test('a resident worker takes in the spool and sweeps beside its work', async () => {
  const testing = await testApp({ now: '', settings: { debounceMs: 0 } });
  const swept = claudeSession(testing);
  utimesSync(swept.path, new Date(), new Date(Date.now() - 3_600_000));
  const worker = await workerHere(testing.environment);
  await until(() => worker.said.some((line) => line.startsWith(`extract ${swept.id}`)));
  const session = aSession(['I prefer short answers.'], {
    dir: testing.dir,
    id: '99999999-2222-4333-8444-555555555555',
  });
  const input = { session_id: session.id, transcript_path: session.path, hook_event_name: 'SessionEnd', cwd: '/' };
  await runHook(input, testing.environment);
  await until(() => worker.said.some((line) => line.startsWith(`extract ${session.id}`)));
  await worker.stop();
});
