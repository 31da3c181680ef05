import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DreamReport } from '../../jobs/dream.ts';
import type { ExtractReport } from '../../jobs/extract.ts';
import type { Environment } from '../../src/base/config/config.ts';
import { environmentIn, testApp, testModel } from '../support/app.ts';
import { beginJob, workElsewhere } from '../support/doors.ts';
import { error, says } from '../support/messages-server.ts';
import { DOOR, run, runJson } from '../support/run.ts';
import { jsonHere, runHere, runJsonHere } from '../support/run-here.ts';
import { aSession, RULE } from '../support/session-file.ts';
import { ON_POSTGRES, tempDir } from '../support/temp.ts';

const LOG = 'logs/2026/11/2026-11-20.md';
const OTHER_ID = '22222222-2222-4333-8444-555555555555';

/** A memory as reports call it: its directory, or its id. */
const placeOf = (dir: string) => (ON_POSTGRES ? expect.stringMatching(/^memory_\w{24}$/) : dir);

const TWO = [RULE, 'Thanks, that is all.'];

test('learn --json prints one JSON object per session on stdout, and nothing else there or beside it', async () => {
  const { environment, dir, store } = await testApp();
  const sessions = [aSession(TWO), aSession(TWO, { id: OTHER_ID })];
  const args = ['learn', ...sessions.map(({ path }) => path)];
  const { code, stderr, values } = await runJson<ExtractReport>(args, environment);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const evidence = { quote: RULE, speaker: 'human', at: '2026-11-20T09:00:10.000Z' };
  const entry = { id: expect.stringMatching(/^e_[0-9a-f]{12}$/), type: 'feedback', text: RULE };
  expect(values).toEqual(
    sessions.map((session) => ({
      ...{
        session: session.id,
        transcript: session.path,
        memory: placeOf(dir),
        outcome: 'recorded',
      },
      entries: [
        {
          ...{ ...entry, evidence: [{ message: session.turn(1), ...evidence }] },
          ...{ session: session.id, turn: session.turn(1) },
        },
      ],
      ...{
        job: expect.stringMatching(/^job_[0-9a-f]{12,}$/),
        openTurns: 0,
        refused: [],
        pendingTurns: 0,
      },
      ...{ unreadableLines: 0, spend: expect.objectContaining({ inputTokens: 100, outputTokens: 10 }) },
    })),
  );
  expect((await store.read(LOG))?.match(/\*\*feedback\*\* Always use pnpm/g)).toHaveLength(2);
});

test('a transcript that is gone, one of no known format and a model that fails end with 1, and keep no other from being extracted', async () => {
  const odd = join(tempDir(), 'odd.txt');
  writeFileSync(odd, 'no transcript at all\n');
  const model = await testModel([error(400, 'not today'), says('Nothing.')]);
  const { environment } = await testApp({ server: model });
  const paths = [odd, `${odd}.gone`, aSession(TWO).path, aSession(TWO, { id: OTHER_ID }).path];
  const { code, values } = await runJsonHere<ExtractReport>(['learn', ...paths], environment);
  const none = (outcome: string) => ({ outcome, entries: [] });
  expect({ code, values }).toMatchObject({
    code: 1,
    values: [...['unknown-format', 'transcript-gone', 'failed'].map(none), { outcome: 'nothing-worth-keeping' }],
  });
  const words = [odd, `${odd}.gone`, 'not today'];
  expect(values.slice(0, 3).map(({ error }) => error?.message)).toEqual(
    words.map((said) => expect.stringContaining(said)),
  );
});

test('why a job failed stands on stderr, what became of it on stdout', async () => {
  const model = await testModel(() => error(400, 'not today'));
  const { nocturne } = await testApp({ server: model });
  const extracted = await nocturne('learn', aSession(TWO).path);
  expect(extracted).toMatchObject({ code: 1, stdout: expect.stringMatching(/^\w+: failed\n$/) });
  expect(extracted.stderr).toContain('not today');
  await nocturne('remember', 'Always use pnpm.');
  const dreamt = await nocturne('dream');
  expect(dreamt).toMatchObject({ code: 1, stdout: 'dream: failed\n', stderr: expect.stringContaining('not today') });
});

test('a file is no memory directory, for commands that only look either', async () => {
  const { nocturne } = await testApp();
  const file = join(tempDir(), 'notes.md');
  writeFileSync(file, 'Notes.\n');
  for (const command of [['list'], ['search', 'x'], ['--json'], ['remember', 'Always use pnpm.'], ['next']]) {
    expect(await nocturne(...command, '--memory', file)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `nocturne: --memory ${file} is a file.\n  Give the memory directory.\n`,
    });
  }
});

test('a session that somebody else works on and a ceiling end with 75: try again later', async () => {
  const session = aSession(TWO);
  const held = await testApp();
  await workElsewhere(held.app, held.store, session);
  const busy = await runJsonHere<ExtractReport>(['learn', session.path], held.environment);
  expect(busy).toMatchObject({ code: 75, values: [{ outcome: 'busy', spend: { calls: 0 } }] });
  const model = await testModel([]);
  const poor = await testApp({ server: model, settings: { dayTokens: 1 } });
  const ceiling = await runJsonHere<ExtractReport>(['learn', session.path], poor.environment);
  expect(ceiling).toMatchObject({ code: 75, values: [{ outcome: 'ceiling' }] });
  expect(model.requests).toEqual([]);
});

test.each([
  ['an unknown option', ['learn', 'x.jsonl', '--dry-run']],
  ['nothing to learn again', ['learn', '--again']],
  ['a night that does not end', ['worker', '--nightly']],
  ['two things to learn again', ['learn', '--again', '--all', '--day', '2026-11-20']],
  ['a day that is none', ['learn', '--again', '--day', '2026-13-01']],
])('%s is wrong usage: exit 2, words on stderr, nothing made', async (_, args) => {
  const home = join(tempDir(), 'home');
  const ended = await runHere(args, { PATH: process.env.PATH, HOME: home });
  expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('nocturne') });
  expect(existsSync(home)).toBe(false);
});

const WITHOUT_MODEL = { NOCTURNE_MODEL: undefined, ANTHROPIC_API_KEY: undefined };

test('without a key and without the offline model the error names both ways out, and nothing is remembered', async () => {
  const { environment, store, app } = await testApp();
  const args = ['learn', aSession(TWO).path];
  const ended = await runJsonHere<ExtractReport>(args, { ...environment, ...WITHOUT_MODEL });
  expect(ended).toMatchObject({ code: 1, values: [{ outcome: 'failed', error: { code: 'no-model' }, entries: [] }] });
  expect(ended.values[0]?.error?.message).toMatch(/ANTHROPIC_API_KEY.*--model offline/s);
  expect(await store.list()).toEqual([]);
  expect(await app.home.days.spendOf('2026-11-21')).toMatchObject({ reservedTokens: 0, calls: 0 });
  expect((await runHere([...args, '--model', 'offline'], environment)).code).toBe(0);
});

test.each([['learn'], ['dream']])('%s without a key makes nothing where nothing was', async (command) => {
  const { environment } = await testApp();
  const dir = join(tempDir(), 'memory');
  const args = command === 'learn' ? [command, aSession(TWO).path] : [command];
  const without = { ...environment, ...WITHOUT_MODEL, NOCTURNE_MEMORY_DIR: dir };
  expect((await runHere(args, without)).code).toBe(1);
  expect(existsSync(dir)).toBe(false);
});

test('a job whose process died is interrupted, and one that runs is not', async () => {
  const { environment, app, store, rows } = await testApp();
  const dead = await beginJob(app, store, `${hostname()}:999999999:1`);
  const alive = await beginJob(app, store);
  await runHere(['worker', '--once'], environment);
  const jobs = new Map((await rows('jobs')).map((job) => [job.id, job]));
  expect(jobs.get(dead)).toMatchObject({
    status: 'ended',
    outcome: 'interrupted',
    endedAt: '2026-11-21T02:00:00.000Z',
  });
  expect(jobs.get(alive)).toMatchObject({ status: 'running', outcome: null });
});

test('dream --json says what was done with each entry', async () => {
  const { environment } = await testApp();
  const extracted = await runJsonHere<ExtractReport>(['learn', aSession(TWO).path], environment);
  const { code, stderr, values } = await runJsonHere<DreamReport>(['dream'], environment);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const entries = extracted.values[0]?.entries.map(({ id }) => id);
  expect(values).toEqual([
    {
      outcome: 'dreamed',
      job: expect.stringMatching(/^job_/),
      operations: [{ kind: 'add', entries, topic: 'working-agreements', reason: expect.any(String) }],
      spend: expect.objectContaining({ calls: expect.any(Number) }),
      proposals: [],
      refused: [],
      left: [],
    },
  ]);
});

test('learn --again --json reads a session, a day or everything again, and prints one object per session', async () => {
  const { environment } = await testApp();
  const sessions = [aSession(TWO), aSession(TWO, { id: OTHER_ID, startsAt: '2026-11-18T09:00:00Z' })];
  await runHere(['learn', ...sessions.map(({ path }) => path)], environment);
  for (const [what, expected] of [
    [[sessions[0]?.id ?? ''], [sessions[0]?.id]],
    [['--day', '2026-11-18'], [OTHER_ID]],
    [['--all'], sessions.map(({ id }) => id)],
  ] as const) {
    const { code, values } = await runJsonHere<ExtractReport>(['learn', '--again', ...what], environment);
    expect(code).toBe(0);
    expect(values.map(({ session }) => session).sort()).toEqual(expected);
    for (const report of values) expect(report).toMatchObject({ outcome: 'recorded' });
  }
});

test('learning again what was never learned is an error that says what to do instead', async () => {
  const { nocturne } = await testApp();
  const ended = await nocturne('learn', '--again', 'nobody');
  const said = expect.stringMatching(/nocturne \w+ TRANSCRIPT/);
  expect(ended).toMatchObject({ code: 1, stdout: '', stderr: said });
});

test('--later puts work into the inbox and does none of it; nocturne --json counts what waits', async () => {
  const { environment, store, rows } = await testApp();
  const session = aSession(TWO);
  for (const args of [['learn', session.path, '--instructions', 'be brief'], ['learn', session.path], ['dream']]) {
    expect(await runHere([...args, '--later'], environment)).toMatchObject({ code: 0, stderr: '' });
  }
  const waiting = new Map((await rows('waiting')).map(({ kind, payload }) => [kind, payload]));
  expect([...waiting.keys()].toSorted()).toEqual(['dream', 'extract']);
  expect(waiting.get('extract')).toMatchObject({ transcript: session.path, ended: true });
  expect(await store.list()).toEqual([]);
  const { code, values } = await runJsonHere<Record<string, unknown>>([], environment);
  expect(code).toBe(0);
  expect(values).toMatchObject([{ memory: placeOf(store.dir), workers: [], all: { pending: 2 } }]);
});

test('without --memory a session goes to its project’s own directory, which a worktree shares with its main checkout', async () => {
  const home = tempDir();
  const main = join(tempDir(), 'my.orchard');
  const worktree = join(tempDir(), 'side');
  const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=k', '-c', 'user.email=k@k', ...args]);
  git('init', '--quiet', main);
  git('-C', main, 'commit', '--quiet', '--allow-empty', '-m', 'first');
  git('-C', main, 'worktree', 'add', '--quiet', worktree);
  mkdirSync(join(main, 'src'));
  const environment = environmentIn(home);
  const sessions = [aSession(TWO, { cwd: join(main, 'src') }), aSession(TWO, { id: OTHER_ID, cwd: worktree })];
  const extracted = await runHere(['learn', ...sessions.map(({ path }) => path)], environment);
  expect(extracted.code).toBe(0);
  const memory = join(home, '.claude', 'projects', main.replace(/[^A-Za-z0-9]/g, '-'), 'memory');
  expect(readFileSync(join(memory, LOG), 'utf8').match(/\*\*feedback\*\*/g)).toHaveLength(2);
  // Nobody would look there for it.
  const elsewhere = `kept in ${memory}, the memory of the project that it ran in`;
  expect(extracted.stdout.split(elsewhere)).toHaveLength(3);
  const status = await jsonHere<{ memory: string }>([], environment, { cwd: worktree });
  expect(status.memory).toBe(memory);
});

test('CLAUDE_CONFIG_DIR moves the projects’ directories, and --memory wins over all', async () => {
  const claude = tempDir();
  const environment: Environment = environmentIn(tempDir(), { CLAUDE_CONFIG_DIR: claude });
  const [own, given] = [aSession(TWO, { cwd: '/nowhere/my orchard' }), aSession(TWO, { id: OTHER_ID })];
  await runHere(['learn', own.path], environment);
  expect(existsSync(join(claude, 'projects', '-nowhere-my-orchard', 'memory', LOG))).toBe(true);
  const memory = join(tempDir(), 'given');
  const everywhere = { ...environment, NOCTURNE_MEMORY_DIR: tempDir() };
  await runHere(['learn', given.path, '--memory', memory], everywhere);
  expect(existsSync(join(memory, LOG))).toBe(true);
});

test('what a command compiled is kept in the home, where one is there', async () => {
  const { environment, home } = await testApp();
  const compiled = join(home, 'compiled');
  for (const there of [home, join(home, 'none')]) {
    expect(existsSync(compiled)).toBe(false);
    await run(['next'], { ...environment, NODE_COMPILE_CACHE: undefined, NOCTURNE_HOME: there });
    expect(existsSync(join(there, 'compiled'))).toBe(there === home);
    rmSync(compiled, { recursive: true, force: true });
  }
});

test('in a directory that is gone, a command says so instead of falling over', async () => {
  const { environment } = await testApp();
  const script = 'cd "$1" && rmdir "$1" && exec "$2" "$3" list';
  const ended = spawnSync('sh', ['-c', script, 'sh', tempDir(), process.execPath, DOOR], { env: environment });
  expect({ code: ended.status, said: String(ended.stderr) }).toEqual({
    code: 1,
    said: 'nocturne: The current directory no longer exists.\n  Change to another one, then run it again.\n',
  });
});

/** Prints each package that a process loads a file of, by a hook of Node's own. */
const NOTING = `
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)?.[1];
      if (name) console.error(name);
      return next(url, context);
    },
  });`;

test('of other people’s packages --version loads none: every command begins with that much', () => {
  const noting = `data:text/javascript,${encodeURIComponent(NOTING)}`;
  const door = join(import.meta.dirname, '../../src/cli/nocturne.js');
  const { status, stderr } = spawnSync(process.execPath, ['--import', noting, door, '--version'], { encoding: 'utf8' });
  expect([status, ...new Set(stderr.trim().split('\n'))]).toEqual([0, '']);
});

// With many machines the database is told the zone.
test.skipIf(ON_POSTGRES)(
  'a command that needs neither asks for no zone and cuts no words: each takes a tenth of a start',
  async () => {
    const { environment } = await testApp();
    const nodeArgs = ['--import', 'data:text/javascript,delete Intl.DateTimeFormat; delete Intl.Segmenter'];
    const { code, stderr } = await run(['list'], { ...environment, NOCTURNE_ZONE: undefined }, { nodeArgs });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  },
);
