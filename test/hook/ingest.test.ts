// From the spool into the inbox: each session once, each problem named, nothing gone before the inbox has it.

import fs, { appendFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { namesInSpool, type SpoolItem, writeSpoolItem } from '../../src/queue/spool.ts';
import { openSession } from '../../src/transcript/session.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { ingestSpool, openApp, rowsIn } from '../support/doors.ts';
import { workDue } from '../support/due-work.ts';
import { filesIn, spooledIn } from '../support/hook.ts';
import { runHere, runJsonHere } from '../support/run-here.ts';
import { aSession, RULE } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';
import { fixtures, lines, transcriptOf } from '../support/transcripts.ts';

const NOW = '2026-11-21T02:00:00.000Z';

const TWO = [RULE, 'I prefer short answers.'];

function spool({ home }: TestApp, item: Partial<SpoolItem>): void {
  const given: SpoolItem = {
    v: 1,
    agent: 'claude-code',
    session: 's1',
    transcript: null,
    cwd: '/home/kim/orchard',
    event: 'SessionEnd',
    size: null,
    mtime: null,
    at: NOW,
  };
  writeSpoolItem(home, { ...given, ...item });
}

async function ingest({ app }: TestApp) {
  const problems: string[] = [];
  const ingested = await ingestSpool(app, { onProblem: (message) => problems.push(message) });
  return { ...ingested, problems };
}

async function waiting({ rows }: TestApp) {
  return (await rows('waiting')).map(({ payload, notBefore }) => ({ ...(payload as object), notBefore }));
}

test('a session waits once, from its last hook on, however many hooks named it', async () => {
  const testing = await testApp();
  const session = aSession(TWO);
  const call = { session: session.id, transcript: session.path };
  spool(testing, { ...call, event: 'Stop', at: '2026-11-21T01:59:00.000Z' });
  spool(testing, { ...call, event: 'Stop', at: '2026-11-21T01:59:30.000Z' });
  spool(testing, { ...call, event: 'PreCompact', at: NOW });
  expect(await ingest(testing)).toMatchObject({ announced: 1, problems: [] });
  const expected = { transcript: session.path, ended: false, notBefore: '2026-11-21T02:00:10.000Z' };
  expect(await waiting(testing)).toEqual([expected]);
  spool(testing, { ...call, at: '2026-11-21T02:00:05.000Z' });
  await ingest(await testApp({ ...testing, now: '2026-11-21T02:00:05.000Z' }));
  expect(await waiting(testing)).toEqual([{ ...expected, ended: true, notBefore: '2026-11-21T02:00:15.000Z' }]);
  expect(spooledIn(testing.home)).toEqual([]);
});

test('a session that goes on is worked again once its pace allows, however much is added', async () => {
  const testing = await testApp();
  const session = aSession(TWO);
  const dueAfterHookAt = async (minute: string) => {
    const at = `2026-11-21T02:${minute}:00.000Z`;
    spool(testing, { session: session.id, transcript: session.path, event: 'Stop', at });
    await ingest(await testApp({ ...testing, now: at }));
    return (await waiting(testing))[0]?.notBefore.slice(11, 19);
  };
  expect(await dueAfterHookAt('00')).toBe('02:00:10');
  await runHere(['worker', '--once'], { ...testing.environment, NOCTURNE_NOW: '2026-11-21T02:00:10Z' });
  session.add('Remember that the deploy key is rotated on Mondays.');
  expect(await dueAfterHookAt('01')).toBe('02:05:10');
  session.add('Thanks.');
  expect(await dueAfterHookAt('02')).toBe('02:05:10');
});

test('a session has ended where its end was told and nothing was added since, in whatever order hooks were heard', async () => {
  const testing = await testApp();
  const session = aSession(TWO);
  const call = { session: session.id, transcript: session.path, size: 100 };
  spool(testing, { ...call, at: '2026-11-21T01:59:59.000Z' });
  spool(testing, { ...call, event: 'Stop' });
  await ingest(testing);
  expect(await waiting(testing)).toMatchObject([{ ended: true }]);
  spool(testing, { ...call, at: '2026-11-21T01:59:59.000Z' });
  spool(testing, { ...call, event: 'Stop', size: 200 });
  await ingest(testing);
  expect(await waiting(testing)).toMatchObject([{ ended: false }]);
});

/** How often a file is opened by `work`. */
async function timesOpened(path: string, work: () => Promise<unknown>): Promise<number> {
  const opened = vi.spyOn(fs.promises, 'open');
  await work();
  const times = opened.mock.calls.filter(([each]) => each === path).length;
  opened.mockRestore();
  return times;
}

test('a transcript is opened, and its format told, once by who takes it in and once by its job', async () => {
  const testing = await testApp({ settings: { debounceMs: 0, throttleMs: 0 } });
  // A document is read whole where it is opened, and not again. It tells no working directory.
  const path = transcriptOf(
    JSON.stringify([{ role: 'user', content: 'Always use pnpm instead of npm.' }]),
    'chat.json',
  );
  const once = await timesOpened(path, () => openSession(path));
  spool(testing, { session: 'chat', transcript: path });
  expect(await timesOpened(path, () => ingest(testing))).toBe(once);
  let worked: Awaited<ReturnType<typeof workDue>> = [];
  const byJob = await timesOpened(path, async () => {
    worked = await workDue(testing);
  });
  expect(worked).toMatchObject([{ kind: 'extract', outcome: 'recorded' }]);
  expect(byJob).toBe(once);
});

test('what cannot be read in the spool, or is no file, is set aside and named, and keeps nothing else from being taken in', async () => {
  const testing = await testApp();
  const session = aSession(TWO);
  spool(testing, { session: session.id, transcript: session.path });
  const bad = { 'a.json': '', 'b.json': '{"v":1', 'c.json': '{"v":2}', 'd.json': '{"v":1,"agent":"claude-code"}' };
  const dir = join(testing.home, 'spool');
  const at = { at: '2026-11-21T02:00:00.000Z', session: null, transcript: null, cwd: null };
  for (const [n, environment] of [null, 'x', { NOCTURNE_MODEL: 1 }].entries())
    Object.assign(bad, {
      [`d${n}.json`]: JSON.stringify({ v: 1, agent: 'codex', event: 'Stop', ...at, environment }),
    });
  for (const [name, text] of Object.entries(bad)) writeFileSync(join(dir, name), text);
  mkdirSync(join(dir, 'e.json'));
  symlinkSync('/nowhere', join(dir, 'f.json'));
  const names = [...Object.keys(bad), 'e.json', 'f.json'];
  const { announced, problems } = await ingest(testing);
  expect(announced).toBe(1);
  expect(problems).toEqual(
    names.map((name) => expect.stringContaining(`set aside as ${join(dir, 'damaged', name)}: `)),
  );
  const whys = [...Array(3).fill('environment is no object of texts'), 'it is no file', 'it is no file'];
  expect(problems.slice(4)).toEqual(whys.map((why) => expect.stringMatching(new RegExp(`: ${why}\\.$`))));
  expect(filesIn(join(dir, 'damaged'))).toEqual(names);
  expect(await ingest(testing)).toMatchObject({ announced: 0, problems: [] });
});

test('a hook whose clock was ahead holds its session back no longer than any other', async () => {
  const testing = await testApp();
  const session = aSession(TWO);
  spool(testing, { session: session.id, transcript: session.path, at: '2030-01-01T00:00:00.000Z' });
  spool(testing, { session: 'gone', transcript: join(tempDir(), 'gone.jsonl'), at: '2030-01-01T00:00:00.000Z' });
  expect(await ingest(testing)).toMatchObject({ announced: 1, lagging: 0 });
  expect(await waiting(testing)).toMatchObject([{ notBefore: '2026-11-21T02:00:10.000Z' }]);
  expect(spooledIn(testing.home)).toEqual([]);
});

test('what a killed hook left half written goes after a minute', async () => {
  const testing = await testApp();
  mkdirSync(join(testing.home, 'spool'));
  for (const [name, at] of [
    ['old.tmp', '2026-11-21T01:58:00Z'],
    ['new.tmp', '2026-11-21T01:59:30Z'],
  ] as const) {
    writeFileSync(join(testing.home, 'spool', name), '{');
    utimesSync(join(testing.home, 'spool', name), new Date(at), new Date(at));
  }
  await ingest(testing);
  expect(filesIn(join(testing.home, 'spool'))).toEqual(['new.tmp']);
});

test('a transcript that is not there yet is waited for until the debounce is over, and then named', async () => {
  const testing = await testApp();
  const path = join(tempDir(), 'late.jsonl');
  spool(testing, { transcript: path, at: '2026-11-21T01:59:55.000Z' });
  expect(await ingest(testing)).toMatchObject({ announced: 0, lagging: 1, problems: [] });
  expect(spooledIn(testing.home)).toHaveLength(1);
  writeFileSync(path, readFileSync(aSession(TWO).path));
  expect(await ingest(testing)).toMatchObject({ announced: 1, lagging: 0 });
  rmSync(path);
  spool(testing, { transcript: path, at: '2026-11-21T01:59:50.000Z' });
  expect((await ingest(testing)).problems).toEqual([expect.stringContaining(`There is no transcript at ${path}`)]);
  expect(spooledIn(testing.home)).toEqual([]);
});

test('a session whose file does not tell its project is of the one in which the hook was called: nothing is taken where that is excluded', async () => {
  const testing = await testApp();
  const at = async (excludedPaths: string[]) => {
    const app = await openApp({ ...testing.app.config, memoryDir: undefined, excludedPaths });
    onTestFinished(() => app.close());
    return app;
  };
  const [excluding, app] = [await at(['/home/kim/orchard']), await at([])];
  const hello = { id: 'g-1', type: 'user', timestamp: NOW, content: [{ text: 'Always use tabs.' }] };
  const transcript = transcriptOf(lines({ sessionId: 'g', projectHash: 'ab12', kind: 'main' }, hello));
  const spooled = () => spool(testing, { agent: 'gemini', transcript });
  spooled();
  const { announced, problems } = await ingest({ ...testing, app: excluding });
  expect([announced, problems]).toEqual([0, [expect.stringContaining('/home/kim/orchard')]]);
  expect(await excluding.hasMemory({ cwd: '/home/kim/orchard' })).toBe(false);
  expect(spooledIn(testing.home)).toEqual([]);
  spooled();
  expect(await ingest({ ...testing, app })).toMatchObject({ announced: 1, problems: [] });
  const store = await app.storeFor({ cwd: '/home/kim/orchard' });
  expect((await rowsIn(app, store)('waiting')).map(({ payload }) => payload)).toMatchObject([{ transcript }]);
});

test.each([
  ['Claude Code', 'claude-code', { entrypoint: 'sdk-cli' }],
  ['the Agent SDK', 'claude-code', { entrypoint: 'sdk-ts' }],
])('a session that %s ran without a person is taken in only where that is switched on', async (_, agent, mark) => {
  const path = join(tempDir(), 's.jsonl');
  const records = readFileSync(aSession(TWO).path, 'utf8').trim().split('\n');
  writeFileSync(path, lines(...records.map((record) => ({ ...JSON.parse(record), ...mark }))));
  const item = { agent: agent as SpoolItem['agent'], transcript: path };
  const off = await testApp();
  spool(off, item);
  expect((await ingest(off)).problems).toEqual([expect.stringContaining('is skipped: non-interactive')]);
  expect(await waiting(off)).toEqual([]);
  const on = await testApp({ settings: { nonInteractive: true } });
  spool(on, item);
  expect(await ingest(on)).toMatchObject({ announced: 1, problems: [] });
  // A person took it up.
  appendFileSync(path, lines({ ...JSON.parse(records[0] as string), entrypoint: 'cli', uuid: 'later' }));
  spool(off, item);
  expect(await ingest(off)).toMatchObject({ announced: 1, problems: [] });
});

test.each([
  [
    'codex',
    '019e0000-0000-7000-8000-00000000000a',
    '.codex/sessions/2026/11/02/rollout-2026-11-02T09-00-00-',
    '.jsonl',
  ],
  ['copilot', '2a000000-0000-4000-8000-000000000001', '.copilot/session-state/', '/events.jsonl'],
] as const)('a session of %s whose hook names no transcript is found by its id', async (agent, id, before, behind) => {
  const testing = await testApp();
  const path = join(testing.home, `${before}${id}${behind}`);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, readFileSync(join(fixtures, `${agent}.jsonl`)));
  spool(testing, { agent, session: id, event: 'SessionEnd' });
  expect(await ingest(testing)).toMatchObject({ announced: 1, problems: [] });
  expect(await waiting(testing)).toMatchObject([{ transcript: path, ended: true }]);
});

test('a session in the home of nocturne is its own business', async () => {
  const testing = await testApp();
  spool(testing, { transcript: aSession(['Always use pnpm.'], { cwd: testing.home }).path });
  expect((await ingest(testing)).problems).toEqual([expect.stringContaining('is skipped: own')]);
});

test('of what strangers put into hooks nothing stays in the spool for ever, and what waits has a name', async () => {
  const testing = await testApp();
  const odd = ['/tmp/a\0b.jsonl', `/tmp/${'x'.repeat(5_000)}`, `/tmp/${'x'.repeat(300)}`, '/dev/null', 'a.jsonl', ''];
  const loop = join(tempDir(), 'loop');
  symlinkSync(loop, loop);
  const wait = [...odd, loop].map((transcript, at) => ({ session: `s${at}`, transcript, event: 'Stop' }));
  for (const call of wait) spool(testing, { ...call, at: NOW });
  spool(testing, { session: 'cwd', transcript: '/tmp/none', cwd: '/tmp/a\0b', event: 'Stop', at: NOW });
  spool(testing, { session: 'begins', cwd: '/tmp/a\0b', event: 'SessionStart', at: NOW });
  // Their transcripts may still come, for as long as the debounce.
  await ingest(testing);
  const named = namesInSpool(testing.home);
  expect(named.toSorted()).toEqual(
    ['cwd', ...wait.map(({ session }) => session)].map((id) => `claude-code session ${id}`).toSorted(),
  );
  const { values } = await runJsonHere<{ checks: { what: string; found: string }[] }>(['doctor'], testing.environment);
  const found = values[0]?.checks.find(({ what }) => what === 'news from hooks')?.found ?? '';
  expect(named.filter((name) => !found.includes(name))).toEqual([]);

  const later = await testApp({ home: testing.home, dir: testing.dir, now: '2026-11-21T02:01:00.000Z' });
  const { problems } = await ingest(later);
  expect(spooledIn(testing.home)).toEqual([]);
  expect(problems).toHaveLength(wait.length + 1);
});
