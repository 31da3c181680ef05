// Recall as its users meet it: the command, the SessionStart hook, the library; and the switches at every door.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Environment } from '../../src/base/config/config.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { answerHook, recallFor } from '../../src/hook/start-recall.ts';
import { agentMemory } from '../../src/tools/own-agent.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { COMPILED, DOOR, until } from '../support/run.ts';
import { jsonHere, runHere, runJsonHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const SESSION = '11111111-2222-4333-8444-555555555555';

function fill(dir: string, more: Record<string, string> = {}): void {
  const files = {
    'MEMORY.md': '# Memory\n\n- How releases are cut [releases.md]\n- Who the user is [user.md]\n',
    'releases.md':
      '---\nname: releases\ndescription: How releases are cut\ntype: feedback\n---\n- Cut them on Fridays.\n',
    'user.md': '---\nname: user\ndescription: Who the user is\ntype: user\n---\n- A data engineer.\n',
    ...more,
  };
  mkdirSync(dir, { recursive: true });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(dir, path), text);
}

async function filledApp(options: Parameters<typeof testApp>[0] = {}): Promise<TestApp> {
  const testing = await testApp(options);
  fill(testing.dir);
  return testing;
}

/** What the hook answers in an environment, in this process. */
async function answer(
  environment: Environment,
  more: object = {},
  options: Parameters<typeof answerHook>[1]['options'] = {},
): Promise<string> {
  const config = await loadConfig({}, environment);
  const said = await answerHook(config, { input: JSON.parse(sessionStart(more)), options });
  return said === '' ? '' : JSON.parse(said).hookSpecificOutput.additionalContext;
}

/** Runs the hook as an agent does, which may leave the pipe open. */
function hook(input: string, environment: Environment, { args = [] as string[], leavesOpen = false } = {}) {
  const env = { NODE_COMPILE_CACHE: COMPILED, ...environment };
  const child = spawn(process.execPath, [DOOR, 'recall', '--hook', ...args], { env, cwd: tempDir() });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stdout = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stdin.on('error', () => undefined);
  child.stdin.write(input);
  if (!leavesOpen) child.stdin.end();
  return new Promise<{ code: number | null; stdout: string }>((resolve) => {
    child.once('close', (code) => resolve({ code, stdout }));
  });
}

function sessionStart(more: object = {}): string {
  const common = { session_id: SESSION, transcript_path: '/x.jsonl', cwd: '/work/app', model: 'claude-opus-5-5' };
  return JSON.stringify({ ...common, hook_event_name: 'SessionStart', source: 'startup', ...more });
}

test('recall is one section, and says what is in it', async () => {
  const { environment, dir } = await filledApp();
  const told = await recallFor(await loadConfig({}, environment), { query: 'releases' });
  expect(told.text).toMatch(/^<nocturne-memory>\n[\s\S]*Cut them on Fridays[\s\S]*\n<\/nocturne-memory>$/);
  expect(told).toMatchObject({
    memory: dir,
    state: { enabled: true },
    index: { lines: 4, shownLines: 4 },
    topics: [
      { path: 'releases.md', type: 'feedback', matches: true, gone: [], isCut: false },
      { path: 'user.md', matches: false },
    ],
    entries: [],
  });
});

test('where the disk does not let the rows be opened, recall goes by the files', async () => {
  const { app, home, environment } = await filledApp();
  const database = join(home, 'nocturne.db');
  await app.close();
  for (const end of ['-shm', '-wal', '']) rmSync(`${database}${end}`, { force: true });
  // What cannot be opened as a file, also by those whom no mode stops.
  mkdirSync(database);
  expect(await answer(environment)).toContain('- Cut them on Fridays.');
});

test('search --all finds what any known memory says, and where', async () => {
  const { dir, nocturne, environment } = await filledApp();
  const other = tempDir();
  fill(other, {
    'hosts.md': '---\nname: hosts\ndescription: Hosts\ntype: reference\n---\n- Staging is alpha on Fridays.\n',
  });
  await nocturne('remember', '--memory', other, 'Plums are ripe.');
  expect((await runHere(['search', 'alpha'], environment)).code).toBe(1);
  const { stdout } = await runHere(['search', 'staging Fridays', '--all'], environment);
  expect(stdout).toContain(`${join(other, 'hosts.md')}:6  Staging is alpha on Fridays.`);
  const { values } = await runJsonHere<{ hits: object[] }>(['search', 'Fridays', '--all'], environment);
  expect(values[0]?.hits).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ memory: dir, path: 'releases.md' }),
      expect.objectContaining({ memory: other, path: 'hosts.md' }),
    ]),
  );
});

test('recall makes no directory and no file where nothing is remembered', async () => {
  const home = tempDir();
  const environment: Environment = { PATH: process.env.PATH, HOME: home, NOCTURNE_MEMORY_DIR: join(home, 'a/memory') };
  const { code, stdout, stderr } = await runHere(['next'], environment);
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  expect(stderr).toContain('nothing is remembered in');
  expect(existsSync(join(home, 'a'))).toBe(false);
  fill(join(home, 'a/memory'));
  await runHere(['next'], environment);
  expect(readdirSync(join(home, 'a/memory')).sort()).toEqual(['MEMORY.md', 'releases.md', 'user.md']);
});

test('the hook answers a SessionStart in kind, without the index that Claude Code loads by itself', async () => {
  const { environment } = await filledApp();
  const { code, stdout } = await hook(sessionStart(), environment);
  expect(code).toBe(0);
  const { context, ...others } = { context: await answer(environment), ...JSON.parse(stdout) };
  const hookSpecificOutput = { hookEventName: 'SessionStart', additionalContext: context };
  expect(others).toEqual({ systemMessage: 'nocturne: 2 lines recalled', hookSpecificOutput });
  expect(context).toContain('Cut them on Fridays');
  expect(context).not.toContain('## MEMORY.md');
  expect(await answer(environment, {}, { agent: 'codex' })).toContain('## MEMORY.md');
});

test('the hook takes at most 10,000 characters, whatever is remembered', async () => {
  const { environment, dir } = await filledApp();
  fill(dir, { 'user.md': '- A line that says something.\n'.repeat(2_000), 'releases.md': 'ß\n'.repeat(9_000) });
  const context = await answer(environment, {}, { characters: 90_000, agent: 'codex' });
  expect(context.length).toBeLessThanOrEqual(10_000);
  expect(context.length).toBeGreaterThan(5_000);
  expect(context).toContain('(cut here: read user.md)');
});

test.each([
  ['nothing', ''],
  ['what is no JSON', 'SessionStart'],
  ['a list', '[1]'],
  ['half an object', '{"session_id":"'],
  ['a subagent’s start', sessionStart({ agent_id: 'a1' })],
])('the hook is silent and fine when it gets %s', async (_, input) => {
  const { environment } = await filledApp();
  expect(await runHere(['recall', '--hook'], environment, { stdin: input })).toMatchObject({ code: 0, stdout: '' });
});

test('the hook does not wait for a pipe that stays open, nor fail on settings it cannot use', async () => {
  const { environment } = await filledApp();
  const open = await hook(sessionStart(), environment, { leavesOpen: true });
  expect(open).toMatchObject({ code: 0, stdout: expect.stringContaining('Cut them on Fridays') });
  const unusable = { ...environment, NOCTURNE_MEMORY_DIR: '/' };
  const refused = await runHere(['recall', '--hook'], unusable, { stdin: sessionStart() });
  expect(refused).toMatchObject({ code: 0, stdout: expect.stringContaining('go on without memory') });
});

test('a session gets the same bytes until it is cleared or compacted, whatever changes meanwhile', async () => {
  const { environment, dir, rows } = await filledApp();
  const first = await answer(environment);
  fill(dir, { 'user.md': '- A gardener.\n' });
  const later = { ...environment, NOCTURNE_NOW: '2026-12-24T02:00:00Z' };
  for (const source of ['startup', 'resume']) expect(await answer(later, { source })).toBe(first);
  expect(await answer(later, { session_id: 'another' })).toContain('A gardener');
  const compacted = await answer(later, { source: 'compact' });
  expect(compacted).toContain('A gardener');
  fill(dir);
  expect(await answer(later, { source: 'resume' })).toBe(compacted);
  expect(await answer(later, { source: 'clear' })).toContain('A data engineer');
  expect((await rows('uses')).get('user.md')).toMatchObject({ shown: 4, used: 0 });
});

test('what is forgotten or redacted is not given to a session again', async () => {
  const { environment, dir, nocturne } = await filledApp();
  expect(await answer(environment)).toContain('data engineer');
  await nocturne('redact', '--match', 'data engineer', '--yes');
  const second = await answer(environment, { source: 'resume' });
  expect(second).not.toContain('data engineer');
  fill(dir, { 'user.md': '- A gardener.\n' });
  expect(await answer(environment, { source: 'resume' })).toBe(second);
  await nocturne('remember', 'Likes plums.');
  expect(await answer(environment, { source: 'resume' })).toBe(second);
  await nocturne('forget', '--yes', 'Likes plums.');
  expect(await answer(environment, { source: 'resume' })).toContain('A gardener');
});

test('recall says which topics were used: those that a query asked for', async () => {
  const { environment, nocturne, rows } = await filledApp();
  const config = await loadConfig({}, environment);
  for (const query of [undefined, 'when are releases cut']) await recallFor(config, { query });
  await nocturne('next', '--prompt', 'when are releases cut');
  const uses = await rows('uses');
  expect(uses.get('releases.md')).toMatchObject({ shown: 2, used: 1 });
  expect(uses.get('user.md')).toMatchObject({ shown: 2, used: 0 });
});

test('a function that is gone from the session’s working tree is marked', async () => {
  const { environment, dir } = await filledApp();
  const root = tempDir();
  execFileSync('git', ['init', root], { stdio: 'ignore' });
  writeFileSync(join(root, 'a.ts'), 'export function keepMe() {}\n');
  fill(dir, { 'user.md': '- Calls `keepMe()` and `dropMe()`.\n' });
  expect(await answer(environment, { cwd: root })).toContain('Not found in the working tree now: `dropMe()`.');
});

test('what was recalled into a session is not extracted from it', async () => {
  const other = await testApp();
  fill(other.dir, { 'user.md': '- Always use pnpm instead of npm.\n' });
  const recalled = await answer(other.environment);
  expect(recalled).toContain('pnpm');
  const { app } = await testApp();
  const session = aSession([`${recalled}\n\nI prefer short answers.`, 'Thanks.']);
  const { entries } = await app.extract({ transcript: session.path, ended: true });
  expect(entries.map(({ text }) => text)).toEqual(['The user prefers short answers.']);
});

test('pause and resume: no recall, no extraction, no dream unasked; sessions wait and are worked on after', async () => {
  const testing = await filledApp();
  const { environment, rows } = testing;
  expect(await runHere(['pause', '--for', '90m'], environment)).toMatchObject({
    code: 0,
    stdout: 'nocturne is paused until today 03:30\n',
  });
  expect(await answer(environment)).toBe('');
  expect((await runHere(['next'], environment)).stderr).toContain('paused until today 03:30');
  await runHere(['learn', '--later', aSession(['Always use pnpm instead of npm.', 'Thanks.']).path], environment);
  const { stderr } = await runHere(['worker', '--once'], environment);
  expect(stderr).toContain('off, again at 2026-11-21 03:00');
  expect(await rows('waiting')).toMatchObject([
    { kind: 'extract', attempts: 0, notBefore: '2026-11-21T03:00:00.000Z' },
  ]);
  expect(await rows('coverage')).toEqual([]);

  const over = { ...environment, NOCTURNE_NOW: '2026-11-21T03:31:00Z' };
  await runHere(['worker', '--once'], over);
  expect(await rows('fates')).toEqual(['recorded', 'nothing']);
  expect(await runHere(['pause', '--off'], over)).toMatchObject({ code: 0, stdout: 'nocturne was not paused\n' });
});

test('the end of a pause begins what waited for it, and status says while it lasts that it does', async () => {
  const { nocturne, rows } = await filledApp();
  await nocturne('pause');
  await nocturne('learn', '--later', aSession().path);
  await nocturne('worker', '--once');
  expect(await rows('waiting')).toMatchObject([{ notBefore: '2026-11-21T03:00:00.000Z' }]);
  const off = /Off +nothing happens by itself here: nocturne is paused until\s+nocturne pause --off\n/;
  expect((await nocturne()).stdout).toMatch(off);
  expect((await nocturne('doctor')).stdout).toContain(
    'nocturne is paused until nocturne pause --off\n      Run nocturne pause --off',
  );
  expect((await nocturne('pause', '--off')).stdout).toBe('nocturne is not paused any more; 1 that waited is due now\n');
  expect((await nocturne()).stdout).not.toMatch(/^Off/m);
  await until(async () => (await rows('waiting')).length === 0);
  expect(await rows('fates')).toEqual(['recorded']);
});

test('what a person asks for by name is done in a pause too, with a note', async () => {
  const { nocturne } = await filledApp();
  await nocturne('pause');
  const session = aSession(['Always use pnpm instead of npm.', 'Thanks.']);
  const { code, stdout, stderr } = await nocturne('learn', session.path);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr:
      'nocturne is off here (nocturne is paused until nocturne pause --off); done anyway, because you asked for it.\n',
  });
  expect(stdout).toContain('Always use pnpm');
  expect((await nocturne('pause', '--off')).stdout).toBe('nocturne is not paused any more\n');
});

test('a project is paused by its root, for all its directories and no other', async () => {
  const { environment } = await filledApp();
  const root = tempDir();
  execFileSync('git', ['init', root], { stdio: 'ignore' });
  mkdirSync(join(root, 'src'));
  const paused = await jsonHere(['pause', '--project'], environment, { cwd: join(root, 'src') });
  expect(paused).toEqual({ project: root, until: null });
  expect(await answer(environment, { cwd: root })).toBe('');
  expect(await answer(environment, { cwd: tempDir() })).not.toBe('');
  // What would not end it says, from everywhere, what does.
  const end = `nocturne pause --off --project ${root}`;
  const all = await runHere(['pause', '--off'], environment, { cwd: tempDir() });
  expect(all.stdout).toBe(`nocturne was not paused\nstill paused: ${root}; ${end} ends that\n`);
  await runHere(['pause', '--project', '--for', '2h'], environment, { cwd: root });
  const timed = await runHere(['pause', '--off'], environment, { cwd: root });
  expect(timed.stdout).toBe(`nocturne was not paused\nstill paused: ${root} until today 04:00; ${end} ends that\n`);
  await runHere(['pause', '--off', '--project', root], environment);
  expect(await answer(environment, { cwd: root })).not.toBe('');
  expect((await runHere(['pause', '--off'], environment)).stdout).toBe('nocturne was not paused\n');
});

test('the pause of a project goes where its directory is moved to, and is ended there', async () => {
  const { environment } = await filledApp();
  const root = join(tempDir(), 'orchard');
  mkdirSync(root);
  await runHere(['pause', '--project'], environment, { cwd: root });
  const moved = `${root}-moved`;
  renameSync(root, moved);
  expect(await answer(environment, { cwd: moved })).toBe('');
  expect((await runHere(['doctor', '--no-online'], environment, { cwd: moved })).stdout).toContain(
    'Run nocturne pause --off --project.',
  );
  expect((await runHere(['pause', '--off', '--project'], environment, { cwd: moved })).stdout).toBe(
    `${moved} is not paused any more\n`,
  );
  expect(await answer(environment, { cwd: moved })).not.toBe('');
});

test.each(['0h', 'soon'])('pause --for %s is refused', async (time) => {
  const { nocturne } = await testApp();
  const { code, stderr } = await nocturne('pause', '--for', time);
  expect(code).toBe(2);
  expect(stderr).toContain('45m, 2h, 3d');
});

test('a directory is not dreamt over while every project it knows is turned off', async () => {
  const testing = await filledApp({ settings: { projects: { '/home/kim/orchard': { enabled: false } } } });
  const session = aSession(['Always use pnpm instead of npm.', 'Thanks.']);
  await testing.app.extract({ transcript: session.path, ended: true });
  expect((await testing.app.standing()).enabled).toBe(true);
  expect(await testing.app.standingOf(testing.store)).toEqual({
    enabled: false,
    reason: 'the project /home/kim/orchard is turned off in config.json',
  });
  await testing.nocturne('dream', '--later');
  const { stderr } = await testing.nocturne('worker', '--once');
  expect(stderr).toContain('dream: off (the project');
});

test.each([
  [{ CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' }, false],
  [{ CLAUDE_CODE_DISABLE_AUTO_MEMORY: '0' }, true],
  [{ CLAUDE_CODE_SIMPLE: 'true' }, false],
  [{ CLAUDE_CODE_SIMPLE: '0' }, true],
  [{ CLAUDE_CODE_REMOTE: '1' }, true],
])('%j: recalled is %s', async (switches, isOn) => {
  const { environment } = await filledApp();
  expect((await answer({ ...environment, ...switches })) !== '').toBe(isOn);
});

test('who turned the agent’s memory off to use nocturne says so once', async () => {
  const { environment, home } = await filledApp({ settings: { ignoreAgentSwitches: true } });
  mkdirSync(join(home, '.claude'));
  writeFileSync(join(home, '.claude/settings.json'), '{ "autoMemoryEnabled": false }');
  const off = { ...environment, CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' };
  expect(await answer(off)).toContain('Cut them on Fridays');
});

test('agentMemory gives an agent its words and its tool over the directory of the scope', async () => {
  const { environment, dir, home, app } = await filledApp();
  const config = await loadConfig({}, environment);
  const root = tempDir();
  execFileSync('git', ['init', root], { stdio: 'ignore' });
  mkdirSync(join(root, 'src'));
  const places = { user: join(home, '.claude/memory'), project: dir, local: join(root, '.claude/memory') };
  for (const [memory, place] of Object.entries(places)) {
    const agent = await agentMemory({ memory: memory as keyof typeof places, cwd: join(root, 'src'), config });
    onTestFinished(() => agent.close());
    expect(agent.dir).toBe(place);
    expect(agent.systemPrompt).toContain(place);
    expect(await app.home.stores()).toContain(place);
  }
  const agent = await agentMemory({ memory: 'project', cwd: root, config });
  onTestFinished(() => agent.close());
  expect(agent.systemPrompt).toContain('Cut them on Fridays');
  const [tool] = agent.tools;
  await tool?.run({ command: 'create', path: '/memories/food.md', file_text: '- Likes plums.\n' });
  expect(await tool?.run({ command: 'view', path: '/memories/food.md' })).toContain('Likes plums');
  expect(readFileSync(join(dir, 'food.md'), 'utf8')).toBe('- Likes plums.\n');
});
