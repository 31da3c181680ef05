// What failed stays listed, is explained, and is tried again or dismissed when a person says so.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeSpoolItem } from '../../src/queue/spool.ts';
import type { SessionFate } from '../../src/worker/session-fate.ts';
import { type TestApp, testApp, testModel } from '../support/app.ts';
import { workDue, workSession } from '../support/due-work.ts';
import { error, says } from '../support/messages-server.ts';
import { runJsonHere } from '../support/run-here.ts';
import { aSession, RULE, type SessionFile, sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

/** A session that the model found too long, so that it was given up at its first try. */
async function givenUp() {
  let isMended = false;
  const model = await testModel(() => (isMended ? says('Nothing.') : error(413, 'too large')));
  const testing = await testApp({ server: model, settings: { excerptTokens: 500 } });
  const session = aSession();
  await workSession(testing, session.path);
  expect(await testing.rows('failures')).toMatchObject([{ state: 'failed', code: 'oversize' }]);
  const mend = () => {
    isMended = true;
  };
  return { testing, session, mend, model };
}

test('what was given up is in status, which ends with 3, and why says all about it', async () => {
  const { testing, session } = await givenUp();
  const { code, values } = await runJsonHere<Record<string, unknown>>([], testing.environment);
  expect(code).toBe(3);
  expect(values[0]).toMatchObject({
    needs: [
      {
        text: expect.stringContaining('1 session could not be learned from'),
        command: 'nocturne retry --failed',
      },
    ],
    all: { pending: 0, failed: [{ store: testing.dir, code: 'oversize', kind: 'extract' }] },
  });
  const why = await runJsonHere<SessionFate>(['why', session.id.slice(0, 8)], testing.environment);
  expect(why.code).toBe(0);
  expect(why.values[0]).toMatchObject({
    session: session.id,
    transcript: session.path,
    memory: testing.dir,
    turns: [{ turns: 1, state: 'gave-up' }],
    waiting: null,
    failure: { state: 'given up', code: 'oversize' },
    next: expect.stringContaining(`nocturne retry ${session.id}`),
  });
  const text = await testing.nocturne('why', session.path);
  expect(text.stdout).toMatch(/^failed {6}just now: oversize, given up: .*413/m);
});

test.each([
  ['its id', (session: SessionFile) => [session.id]],
  ['its transcript', (session: SessionFile) => [session.path]],
  ['--failed', () => ['--failed']],
])('retry by %s puts it in again, and it is done', async (_, args) => {
  const { testing, session, mend } = await givenUp();
  mend();
  const { code, stdout } = await testing.nocturne('retry', ...args(session));
  expect({ code, stdout }).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`session ${session.id.slice(0, 8)} waits in `),
  });
  expect(await testing.rows('failures')).toEqual([]);
  expect(await workDue(testing)).toMatchObject([{ outcome: 'nothing-worth-keeping' }]);
  expect(await testing.rows('fates')).toEqual(['nothing']);
  expect(await testing.nocturne()).toMatchObject({ code: 0 });
});

test('a memory that is not there is no word for all of them: it is told, and nothing is tried', async () => {
  const { testing } = await givenUp();
  const nowhere = tempDir();
  const { code, stdout, stderr } = await testing.nocturne('retry', '--failed', '--memory', nowhere);
  expect({ code, stdout, stderr }).toMatchObject({
    ...{ code: 1, stdout: '' },
    stderr: expect.stringContaining(`There is no memory at ${nowhere}.`),
  });
  expect(await testing.rows('failures')).toHaveLength(1);
});

test('what is dismissed is off the list, and why tells its failure until a person has it done after all', async () => {
  const { testing, session, mend } = await givenUp();
  const explained = async () => {
    const { values } = await runJsonHere<SessionFate>(['why', session.id], testing.environment);
    const { stdout } = await testing.nocturne('why', session.id);
    return { ...values[0], isTold: /^failed /m.test(stdout) };
  };
  expect(await testing.nocturne('retry', '--dismiss', session.id)).toMatchObject({ code: 0 });
  expect((await testing.nocturne('retry', '--failed')).stdout).toBe('Nothing failed.\n');
  expect(await testing.nocturne()).toMatchObject({ code: 0 });
  const left = { turns: [{ state: 'gave-up' }], next: expect.stringContaining('given up') };
  expect(await explained()).toMatchObject({ ...left, failure: { state: 'ended' }, isTold: true });
  mend();
  await testing.nocturne('learn', session.id);
  expect(await explained()).toMatchObject({ turns: [{ state: 'nothing' }], failure: null, isTold: false });
});

test('what is off the list is tried again by the model that its own session names', async () => {
  const { testing, session, mend, model } = await givenUp();
  await testing.nocturne('retry', '--dismiss', session.id);
  writeSpoolItem(testing.home, {
    ...{ v: 1, agent: 'claude-code', event: 'SessionStart', at: '2026-11-21T02:00:00.000Z' },
    ...{ session: session.id, transcript: session.path, cwd: null, size: null, mtime: null },
    environment: { NOCTURNE_MODEL: 'its-own' },
  });
  mend();
  await workDue(testing);
  expect((await testing.nocturne('learn', session.id)).stdout).toContain('nothing worth keeping');
  expect(model.requests.at(-1)?.model).toBe('its-own');
});

test('retry by the beginning of an id that two sessions have is refused with both, and nothing is tried', async () => {
  const { testing, session } = await givenUp();
  const other = session.id.replace(/.$/, 'f');
  const { path } = aSession(['Never commit to main.'], { dir: tempDir(), id: other });
  expect((await testing.nocturne('learn', '--later', path)).code).toBe(0);
  const unclear = await testing.nocturne('retry', session.id.slice(0, 8));
  expect(unclear).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('may mean 2 sessions') });
  for (const id of [session.id, other]) expect(unclear.stderr).toContain(id);
  expect(await testing.rows('failures')).toHaveLength(1);
  expect((await testing.nocturne('retry', session.id)).code).toBe(0);
  expect(await testing.rows('failures')).toEqual([]);
});

test('retry closes the breaker and ends a wait; for what nobody knows it says so, and without a name it is wrong usage', async () => {
  const model = await testModel(() => error(401, 'invalid x-api-key'));
  const testing = await testApp({ server: model, settings: { breakerAfter: 1 } });
  const session = aSession();
  await workSession(testing, session.path);
  const ask = () => testing.json<SessionFate>('why', session.id);
  expect(await ask()).toMatchObject({
    turns: [{ state: 'pending' }],
    waiting: { why: expect.stringContaining('invalid x-api-key') },
    failure: { code: 'auth', state: 'tried again' },
    next: expect.stringContaining('no model is asked before'),
  });
  await testing.nocturne('retry', '--failed');
  expect(await ask()).toMatchObject({ next: 'A worker reads it as soon as it runs.' });
  expect(await testing.rows('waiting')).toMatchObject([{ notBefore: '2026-11-21T02:00:00.000Z', failure: null }]);
  const unknown = await testing.nocturne('retry', 'no-such-session');
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('no-such-session') });
  expect(await testing.nocturne('retry')).toMatchObject({ code: 2 });
  expect(await testing.nocturne('why', 'no-such-session')).toMatchObject({ code: 1 });
});

test('where the provider takes no more today, what nocturne names asks it again', async () => {
  let isOver = false;
  const model = await testModel(() =>
    isOver ? says('Nothing.') : { ...error(429, 'No more today.'), headers: { 'retry-after': '36000' } },
  );
  const testing = await testApp({ server: model });
  await workSession(testing, aSession().path);
  const { needs } = await testing.json<{ needs: { text: string; command: string }[] }>();
  expect(needs).toMatchObject([{ text: expect.stringContaining('(in 10 h)'), command: 'nocturne retry --failed' }]);
  isOver = true;
  expect((await testing.nocturne('worker', '--once')).stderr).toContain('1 job for later');
  expect((await testing.nocturne('retry', '--failed')).stdout).toContain(' waits in ');
  await testing.nocturne('worker', '--once');
  expect(await testing.rows('waiting')).toEqual([]);
  expect(await testing.rows('fates')).toEqual(['nothing']);
});

test('why says of turns what became of them and why it was skipped, also before anything was done', async () => {
  const testing = await testApp();
  const session = aSession(['Always use pnpm instead of npm.', '<private>My pin is 4711.</private>']);
  session.add('Remember it.', [
    { calls: 'Write', input: { file_path: `${testing.dir}/note.md`, content: 'x' }, result: 'ok' },
    { says: 'Done.' },
  ]);
  session.add('Thanks.');
  const before = await runJsonHere<SessionFate>(['why', session.path], testing.environment);
  expect(before.values[0]?.turns.map(({ state }) => state)).toEqual(['pending', 'private', 'main-agent', 'open']);
  expect(before.values[0]?.next).toContain('Now: nocturne learn');
  await workSession(testing, session.path);
  const { values } = await runJsonHere<SessionFate>(['why', session.id], testing.environment);
  expect(values[0]?.turns).toMatchObject([
    { state: 'recorded' },
    { state: 'private', why: expect.stringContaining('private') },
    { state: 'main-agent', why: expect.stringContaining('main agent') },
    { state: 'nothing' },
  ]);
  expect(values[0]?.next).toBe('Nothing: all of it was read.');
  rmSync(session.path);
  const gone = await testing.nocturne('why', session.id);
  expect(gone).toMatchObject({ code: 0, stdout: expect.stringContaining('cannot be read') });
});

test('why tells the parts of a turn apart', async () => {
  const testing = await testApp();
  const note = (name: string) => ({
    calls: 'Write',
    input: { file_path: `${testing.dir}/${name}.md`, content: 'x' },
    result: 'ok',
  });
  const session = sessionFile(tempDir());
  session.add('Remember it.', [note('a'), { types: 'Also that.' }, note('b'), { types: 'Always use pnpm.' }]);
  session.add('Remember this.', [note('c'), { says: 'Saved.' }]);
  const ask = async () => {
    const { turns } = await testing.json<SessionFate>('why', session.path);
    return Object.fromEntries(turns.map((each) => [each.state, each.turns]));
  };
  expect(await ask()).toEqual({ 'main-agent': 2, pending: 1 });
  await testing.app.extract({ transcript: session.path, ended: true });
  expect(await ask()).toEqual({ 'main-agent': 2, recorded: 1 });
  const why = (await testing.nocturne('why', session.id)).stdout;
  expect(why).toContain('holds       2 turns\n');
  expect(why).toMatch(/^turns {7}2 {2}main-agent: the main agent itself wrote .*$/m);
  expect(why).toMatch(/^taught {6}feedback {3}Always use pnpm\.$/m);
});

/** A session where Claude Code keeps them, of a project without a memory directory set for it. */
function sessionOnDisk({ home }: TestApp): SessionFile {
  const dir = join(home, '.claude', 'projects', 'orchard');
  mkdirSync(dir, { recursive: true });
  return aSession([RULE, 'Thanks.'], { dir, id: '33333333-2222-4333-8444-555555555555' });
}

test('why finds a session that no row knows by its id on this disk', async () => {
  const testing = await testApp();
  const session = sessionOnDisk(testing);
  expect((await testing.json<SessionFate>('why', '33333333')).next).toContain(`nocturne learn ${session.path}`);
});

test('why says of a copy under another id that its turns are covered', async () => {
  const testing = await testApp();
  const session = sessionOnDisk(testing);
  await workSession(testing, session.path);
  const copy = session.path.replace('33333333', '44444444');
  const text = readFileSync(session.path, 'utf8');
  writeFileSync(copy, text.replaceAll(`"sessionId":"33333333`, `"sessionId":"44444444`));
  for (const what of [copy, '44444444'])
    expect(await testing.json<SessionFate>('why', what)).toMatchObject({
      turns: [{ state: 'recorded' }, { state: 'nothing' }],
      next: 'Nothing: all of it was read.',
    });
});
