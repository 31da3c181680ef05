// The hook as agents call it: silent and successful whatever it is given, and what it was told is extracted once.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type TestApp, testApp } from '../support/app.ts';
import { sized, waysTaken } from '../support/depth.ts';
import { filesIn, hookLog, keepAwake, runHook, SILENT, spooledIn, startHook } from '../support/hook.ts';
import { until } from '../support/run.ts';
import { aSession, RULE } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

/** An app whose time runs, because hooks know no other, and which waits for nothing. */
function hookApp(): Promise<TestApp> {
  return testApp({ now: '', settings: { debounceMs: 0 } });
}

function claudeCode(session: { id: string; path: string }, more: object = {}) {
  return {
    session_id: session.id,
    transcript_path: session.path,
    cwd: '/home/kim/orchard',
    hook_event_name: 'SessionEnd',
    reason: 'prompt_input_exit',
    ...more,
  };
}

const TWO = [RULE, 'I prefer short answers.'];
const path = '/home/kim/s.jsonl';
const common = { session_id: 's1', transcript_path: path, cwd: '/home/kim' };
const stop = { stop_hook_active: false, last_assistant_message: 'Done.' };

/** A start of the hook is a twentieth of a second of the processor: the small size takes a third of what only differs in its input. */
function ofThese<T>(inputs: readonly T[]): T[] {
  const taken = waysTaken([0, 1, 2]);
  return inputs.filter((_, at) => taken.includes(at % 3));
}

const event = (hook_event_name: string, more: object = {}) => ({ ...common, hook_event_name, ...more });
const byCodex = { turn_id: 't1', model: 'm', permission_mode: 'default', ...stop };
const byGemini = { timestamp: '2026-11-20T09:00:00Z' };

const ANNOUNCED: [string, string[], { hook_event_name: string }, string][] = [
  ['Claude Code at the end', [], event('SessionEnd', { reason: 'clear' }), 'claude-code'],
  ['Claude Code after a turn', ['claude-code'], event('Stop', stop), 'claude-code'],
  ['Claude Code before it compacts', [], event('PreCompact', { trigger: 'auto' }), 'claude-code'],
  ['Claude Code at the start', [], event('SessionStart', { source: 'startup' }), 'claude-code'],
  ['Codex after a turn', ['codex'], event('Stop', byCodex), 'codex'],
  ['Codex at the end', ['codex'], event('SessionEnd', { reason: 'other' }), 'codex'],
  [
    'Gemini CLI after a turn',
    ['gemini'],
    event('AfterAgent', { ...byGemini, prompt: 'p', prompt_response: 'r' }),
    'gemini',
  ],
  ['Gemini CLI at the end', ['gemini'], event('SessionEnd', { ...byGemini, reason: 'exit' }), 'gemini'],
  ["opencode's plugin", ['opencode'], event('session.idle'), 'opencode'],
];

test.each(ofThese(ANNOUNCED))('%s is spooled as what it is', async (_, args, input, agent) => {
  const home = tempDir();
  keepAwake(home);
  expect(await runHook(input, { NOCTURNE_HOME: home, HOME: home }, { args })).toMatchObject(SILENT);
  const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
  const item = { v: 1, agent, session: 's1', transcript: path, cwd: '/home/kim', event: input.hook_event_name };
  expect(spooledIn(home)).toEqual([{ ...item, environment: {}, size: null, mtime: null, at }]);
});

test.each([
  ['in what a worker has started', {}, { NOCTURNE_WORKER: '1' }],
  ['in a subagent', { agent_id: 'a1', agent_type: 'Explore' }, {}],
])('%s a hook does nothing and leaves no trace', async (_, more, environment) => {
  const home = join(tempDir(), 'home');
  const input = { ...claudeCode({ id: 's1', path }), ...more };
  expect(await runHook(input, { NOCTURNE_HOME: home, ...environment })).toMatchObject(SILENT);
  expect(filesIn(home)).toEqual([]);
});

test('a session that plugin and settings announce at once is extracted once, and not again when they do so again', async () => {
  const testing = await hookApp();
  keepAwake(testing.home);
  const session = aSession(TWO);
  const both = () =>
    Promise.all(
      ['Stop', 'SessionEnd', 'SessionEnd'].map((hook_event_name) => {
        const input = claudeCode(session, { hook_event_name });
        return runHook(input, testing.environment);
      }),
    );
  for (const ended of await both()) expect(ended).toMatchObject(SILENT);
  expect(spooledIn(testing.home)).toHaveLength(3);
  expect(await testing.nocturne('worker', '--once')).toMatchObject({ code: 0 });
  expect(spooledIn(testing.home)).toEqual([]);
  expect(await testing.rows('fates')).toEqual(['recorded', 'recorded']);
  expect(await testing.rows('jobs')).toHaveLength(1);
  const entries = (await testing.rows('entries')).map(({ text }) => text);
  await both();
  expect((await testing.nocturne('worker', '--once')).stderr).toContain('nothing new');
  expect((await testing.rows('entries')).map(({ text }) => text)).toEqual(entries);
  expect(await testing.rows('jobs')).toHaveLength(1);
});

test('where no worker is awake the hooks start one, which does the work and goes', async () => {
  const testing = await testApp({ now: '', settings: { debounceMs: 300 } });
  const session = aSession(TWO);
  const calls = [claudeCode(session, { hook_event_name: 'Stop' }), claudeCode(session), claudeCode(session)];
  await Promise.all(calls.map((input) => runHook(input, testing.environment)));
  await until(async () => (await testing.rows('coverage')).length === 2);
  await until(() => filesIn(join(testing.home, 'awake')).length === 0);
  expect(spooledIn(testing.home)).toEqual([]);
  expect(await testing.rows('jobs')).toHaveLength(1);
  expect(filesIn(join(testing.home, 'logs'))).toEqual(['nocturne.log', 'worker.log']);
});

test('what a hook announced is worked at its pace though no hook follows, by the worker that the hook started, which then goes', async () => {
  const testing = await testApp({ now: '', settings: { debounceMs: 0, throttleMs: 3_000 } });
  const session = aSession(TWO);
  const stopped = () => runHook(claudeCode(session, { hook_event_name: 'Stop' }), testing.environment);
  await stopped();
  await until(async () => (await testing.rows('coverage')).length === 1);
  session.add('Never commit to main directly.');
  await stopped();
  await until(async () => (await testing.rows('coverage')).length === 2);
  const [last, first] = (await testing.rows('jobs')).map(({ createdAt }) => Date.parse(createdAt));
  expect((last as number) - (first as number)).toBeGreaterThan(2_500);
  await until(() => filesIn(join(testing.home, 'awake')).length === 0);
});

test('a home that is given relative is the same one to the worker that the hook starts, which keeps there what it compiled', async () => {
  const { environment, home, rows } = await hookApp();
  const given = relative(process.cwd(), home);
  await runHook(claudeCode(aSession(TWO)), { ...environment, NOCTURNE_HOME: given, NODE_COMPILE_CACHE: undefined });
  await until(async () => (await rows('coverage')).length === 2);
  await until(() => filesIn(join(home, 'awake')).length === 0);
  await until(() => filesIn(join(home, 'compiled')).length > 0);
});

test('a pipe that stays open is read as far as the JSON goes, and no longer than half a second', async () => {
  const home = tempDir();
  keepAwake(home);
  const environment = { NOCTURNE_HOME: home };
  const whole = JSON.stringify(claudeCode({ id: 's1', path }));
  expect(await runHook(whole, environment, { isOpen: true })).toMatchObject(SILENT);
  expect(hookLog(home)).toEqual([]);
  expect(await runHook(whole.slice(0, -1), environment, { isOpen: true })).toMatchObject(SILENT);
  expect(await runHook('', environment, { isOpen: true })).toMatchObject(SILENT);
  expect(spooledIn(home).map(({ event }) => event)).toEqual(['SessionEnd']);
  expect(hookLog(home)).toEqual([
    expect.stringContaining('the input is not JSON'),
    expect.stringContaining('no input within 500 ms'),
  ]);
});

const PASSED_OVER: [string, string | Buffer | object, string | RegExp][] = [
  ['nothing', '', 'not JSON'],
  ['no JSON', '{"session_id": "s1",}', 'not JSON'],
  ['no object', '[1]', 'names no event'],
  ['null', 'null', 'no JSON object'],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x7b, 0x00]), 'not JSON'],
  ['an event of no interest', { ...common, hook_event_name: 'PreToolUse' }, 'PreToolUse'],
  ['no session', { hook_event_name: 'Stop' }, 'neither session nor transcript'],
  // Which of these depends on how much of it comes within half a second.
  ['hundred megabytes', `{"session_id":"${'s'.repeat(100 * 2 ** 20)}`, /more than 4194304|not JSON|no input/],
];

test.each(ofThese(PASSED_OVER))('given %s it is silent and says so in its log', async (_, input, reason) => {
  const home = tempDir();
  expect(await runHook(input, { NOCTURNE_HOME: home })).toMatchObject(SILENT);
  expect(hookLog(home)).toEqual([expect.stringMatching(reason)]);
  expect(spooledIn(home)).toEqual([]);
});

test('its log does not grow without end', async () => {
  const home = tempDir();
  mkdirSync(join(home, 'logs'));
  writeFileSync(join(home, 'logs', 'hook.log'), 'x'.repeat(300 * 1024));
  await runHook('', { NOCTURNE_HOME: home });
  expect(hookLog(home)).toEqual([expect.stringContaining('not JSON')]);
  expect(filesIn(join(home, 'logs'))).toEqual(['hook.log', 'hook.log.1']);
});

test('a disk that takes nothing, and a home that is none, are no reason to say anything', async () => {
  const home = tempDir();
  const input = claudeCode({ id: 's1', path });
  // No file of this process may have a byte, as on a full disk.
  const full = ['/bin/sh', '-c', 'trap "" XFSZ; ulimit -f 0; exec "$@"', 'sh'];
  expect(await runHook(input, { NOCTURNE_HOME: home }, { under: full })).toMatchObject(SILENT);
  expect(spooledIn(home)).toEqual([]);
  expect(filesIn(join(home, 'spool'))).toEqual([]);
  const file = join(home, 'file');
  writeFileSync(file, '');
  expect(await runHook(input, { NOCTURNE_HOME: file })).toMatchObject(SILENT);
});

test('SIGTERM at any moment leaves a whole spool file or none', async () => {
  const home = tempDir();
  keepAwake(home);
  const session = aSession(TWO);
  const ends = new Set<string>();
  // On a busy machine a hook ends by itself later.
  const stepMs = sized({ quick: 30, deep: 10 });
  for (let delayMs = 0; delayMs <= 150 || !ends.has('0'); delayMs += delayMs < 150 ? stepMs : delayMs) {
    const hook = startHook(claudeCode(session), { NOCTURNE_HOME: home });
    await after(delayMs);
    hook.child.kill('SIGTERM');
    const { code, signal, printed } = await hook.ended;
    expect(printed).toBe('');
    ends.add(String(signal ?? code));
    // Throws for a file that is not whole.
    for (const item of spooledIn(home)) expect(item).toMatchObject({ v: 1, session: session.id });
  }
  expect([...ends].filter((end) => end !== 'SIGTERM' && end !== '0')).toEqual([]);
  expect(hookLog(home)).toEqual([]);
});
