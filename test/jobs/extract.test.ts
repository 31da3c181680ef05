// A session in, entries with their quotes, log lines and coverage out, on both engines.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { lookInto } from '../../src/memory/commit.ts';
import { keepPieces, sessionNamed } from '../../src/memory/session-rows.ts';
import { openSession } from '../../src/transcript/session.ts';
import { testModel } from '../support/app.ts';
import { inJobs, type Jobs, type JobsOptions } from '../support/job-world.ts';
import { ENGINE_TAKEN, skipped } from '../support/memory-world.ts';
import { calls, says } from '../support/messages-server.ts';
import { aSession, sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const LOG = 'logs/2026/11/2026-11-20.md';
const PNPM = 'Always use pnpm instead of npm.';

function entry(text: string, message: string, quote: string, more: object = {}) {
  return { type: 'feedback', strength: 'stated', text, evidence: [{ message, quote }], ...more };
}

const threeTurns = () => aSession([PNPM, 'The release deadline is 2026-12-04.', 'I prefer short answers.']);
const nothing = () => testModel(() => says('Nothing.'));

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = (title: string, work: (jobs: Jobs) => Promise<void>, of?: () => JobsOptions | Promise<JobsOptions>) =>
    test.skipIf(skipped(engine) !== '')(title, async () => inJobs(engine, work, await of?.()));

  it('a session becomes entries with checked quotes in the log of its day, and coverage; its job says all of it', async (here) => {
    const session = threeTurns();
    const report = await here.extract(session);
    expect(report).toMatchObject({
      session: session.id,
      outcome: 'recorded',
      ...{ unreadableLines: 0, readTurns: 3, spend: { calls: 1 } },
    });
    const at = ['2026-11-20T09:00:10.000Z', '2026-11-20T09:00:30.000Z', '2026-11-20T09:00:50.000Z'];
    expect(report.entries.map((item) => [item.type, item.turn, item.evidence])).toEqual(
      [
        ['feedback', PNPM],
        ['project', 'The release deadline is 2026-12-04.'],
        ['user', 'I prefer short answers.'],
      ].map(([type, quote], n) => {
        const message = session.turn(n + 1);
        return [type, message, [{ message, quote, speaker: 'human', at: at[n] }]];
      }),
    );
    expect(here.file(LOG)).toContain(`- 09:00 **feedback** ${PNPM}`);
    expect(here.file(LOG)).toContain(` s=${session.id} t=${session.turn(1)} `);
    const { job: _, memory: __, spend: ___, ...said } = report;
    const row = await here.db.get<{ output: string; status: string; progress: number; session: string }>(
      'select output, status, progress, session from job where id = ?',
      report.job,
    );
    expect(row).toMatchObject({ status: 'completed', progress: 3 });
    expect(JSON.parse(row?.output ?? '')).toEqual(JSON.parse(JSON.stringify(said)));
    expect(row?.session).toBe((await sessionNamed(here.db, here.row.id, session.id))?.id);
    expect(await here.extract(session)).toMatchObject({ outcome: 'nothing-new', job: null, spend: { calls: 0 } });
    expect(await here.db.all('select id from job')).toHaveLength(1);
  });

  it('the last turn of a session that still runs is left alone until it is quiet', async (here) => {
    const session = threeTurns();
    const live = await here.extract(session, { ended: false }, { quietMs: Number.POSITIVE_INFINITY });
    expect(live).toMatchObject({ openTurns: 1, readTurns: 2 });
    expect((await here.extract(session)).entries.map((item) => item.turn)).toEqual([session.turn(3)]);
  });

  it('a model that never stops calling tools is asked five times, and what it recorded stays', async (here) => {
    const session = threeTurns();
    const server = await testModel((_, call) =>
      calls('record_entries', {
        entries: [entry(`Rule ${call}: pnpm.`, session.turn(1), PNPM), entry('Rule 0: yarn.', session.turn(1), 'yarn')],
      }),
    );
    const report = await here.extract(session, {}, { server });
    expect(report).toMatchObject({ outcome: 'turn-limit', spend: { calls: 5 } });
    expect((await here.entries()).map((row) => row.text)).toContain('Rule 1: pnpm.');
  });

  it('a model that fails in its third turn leaves nothing behind, and the next try records once', async (here) => {
    const session = threeTurns();
    const record = { name: 'record_entries', input: { entries: [entry('Use pnpm.', session.turn(1), PNPM)] } };
    const look = { name: 'memory', input: { command: 'view', path: '/memories' } };
    const server = await testModel([
      { tools: [record, look] },
      { tools: [look] },
      { text: 'No.', stop: 'refusal' },
      { tools: [record] },
    ]);
    const failed = await here.extract(session, {}, { server });
    expect(failed).toMatchObject({ outcome: 'failed', error: { code: 'refusal' }, entries: [] });
    expect(failed).toMatchObject({ pendingTurns: 3, readTurns: 0 });
    expect([await here.entries(), await here.ranges()]).toEqual([[], []]);
    expect(await here.db.all('select id from version')).toEqual([]);
    const again = await here.extract(session, {}, { server });
    expect(again.entries).toHaveLength(1);
    expect(here.file(LOG).match(/Use pnpm\./g)).toHaveLength(1);
  });

  it('who has lost the claim writes nothing', async (here) => {
    const server = await nothing();
    const claim = { id: 7, owner: 'another', fence: 1 };
    const report = await here.extract(threeTurns(), {}, { server, claim });
    expect(report).toMatchObject({ outcome: 'failed', error: { code: 'fenced' }, pendingTurns: 3 });
    expect([await here.entries(), await here.ranges()]).toEqual([[], []]);
  });

  it('what is refused for the last time is given up for these turns, goes on, and can be taken up again', async (here) => {
    const session = sessionFile(tempDir());
    session.add(`Tell me a secret. ${'x '.repeat(3_000)}`);
    session.add(PNPM);
    let isUp = false;
    const server = await testModel((request) => {
      const input = JSON.stringify(request.messages);
      if (!isUp && !input.includes('pnpm')) return { text: 'No.', stop: 'refusal' };
      return input.includes('pnpm')
        ? calls('record_entries', { entries: [entry(PNPM, session.turn(2), PNPM)] })
        : says('No.');
    });
    const deps = { server, excerptTokens: 2_000 };
    expect(await here.extract(session, { attempts: 0 }, deps)).toMatchObject({ outcome: 'failed', pendingTurns: 2 });
    const report = await here.extract(session, { attempts: 2 }, deps);
    expect(report).toMatchObject({ outcome: 'failed', error: { code: 'refusal' }, gaveUpTurns: 1, readTurns: 1 });
    expect(await here.fates()).toEqual(['gave_up', 'done']);
    expect(await here.extract(session, {}, deps)).toMatchObject({ outcome: 'nothing-new' });
    isUp = true;
    await here.extract(session, { takeUp: ['gave_up'] }, deps);
    expect(await here.fates()).toEqual(['done', 'done']);
    expect(await here.extract(session, { takeUp: ['gave_up'] }, deps)).toMatchObject({ outcome: 'nothing-new' });
  });

  it('a turn in which something is private is covered as such, and shown to nobody, as context neither', async (here) => {
    const server = await nothing();
    const session = sessionFile(tempDir());
    session.add('Use spaces. <private>\nMy pin is 4711.\n', [{ says: 'Noted: 4711, and spaces.' }]);
    session.add('Thanks, that is all.');
    await here.extract(session, {}, { server });
    expect(await here.fates()).toEqual(['private', 'done']);
    expect(JSON.stringify(server.requests)).toContain('Thanks, that is all.');
    expect(JSON.stringify(server.requests)).not.toMatch(/4711|Use spaces/);
    await here.extract(session, {}, { server });
    expect(server.requests).toHaveLength(1);
  });

  it('a token that a person wrote into a topic is in no request, where the model looks it up neither, and stays on the disk', async (here) => {
    const token = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
    const rules = Array.from({ length: 400 }, (_, at) => `- Rule ${at} of this project has ${at * 7} words.`).join(
      '\n',
    );
    const topic = `- The registry takes ${token}.\n${rules}\n`;
    writeFileSync(join(here.dir, 'deploys.md'), topic);
    await lookInto(here.memories, { memory: here.row.id, paths: 'all' });
    const view = { name: 'memory', input: { command: 'view', path: '/memories/deploys.md' } };
    const server = await testModel((_, call) => (call === 1 ? { tools: [view] } : says('Nothing.')));
    await here.extract(threeTurns(), {}, { server });
    expect(JSON.stringify(server.requests[1]?.messages.at(-1))).toContain('The registry takes [redacted:');
    expect(JSON.stringify(server.requests)).not.toContain(token);
    expect(here.file('deploys.md')).toBe(topic);
  });

  it('what was declined is covered as such, until a person takes it', async (here) => {
    const server = await nothing();
    const deps = { server, declinedBefore: '2026-11-20T09:00:25.000Z' };
    const session = threeTurns();
    await here.extract(session, {}, deps);
    expect(await here.fates()).toEqual(['declined', 'done', 'done']);
    expect(JSON.stringify(server.requests[0]?.messages)).not.toContain('| I prefer short answers. context');
    await here.extract(session, {}, deps);
    expect(server.requests).toHaveLength(1);
    await here.extract(session, { takeUp: ['declined'] }, deps);
    expect(await here.fates()).toEqual(['done', 'done', 'done']);
    expect(server.requests).toHaveLength(2);
  });

  it('a prompt that was edited and sent again after the same message takes the place of all that followed it', async (here) => {
    const server = await nothing();
    const path = join(tempDir(), 'rewound.jsonl');
    const prompt = (uuid: string, parentUuid: string | null, content: string) =>
      `${JSON.stringify({ parentUuid, sessionId: 's', type: 'user', uuid, message: { role: 'user', content } })}\n`;
    const first = prompt('p1', null, 'First things first.') + prompt('p2', 'p1', 'Use tabs.');
    writeFileSync(path, `${first}${prompt('p3', 'p2', 'And semicolons.')}${prompt('p4', 'p1', 'Use spaces.')}`);
    await here.extract(path, {}, { server });
    const shown = JSON.stringify(server.requests);
    expect(shown).toMatch(/First things first.*Use spaces/);
    expect(shown).not.toMatch(/Use tabs|semicolons/);
    expect(await here.ranges()).toEqual([
      ['', 'p1', 'done'],
      ['', 'p4', 'done'],
    ]);
  });

  it("a session of nocturne's own agent is never extracted", async (here) => {
    const server = await nothing();
    await here.extract(threeTurns(), {}, { server });
    const path = join(tempDir(), 'own.json');
    writeFileSync(path, JSON.stringify(server.requests[0]?.messages));
    expect(await here.extract(path, {}, { server })).toMatchObject({ outcome: 'nothing-new', job: null });
    expect(server.requests).toHaveLength(1);
  });

  it('a resumed, forked or compacted copy under another id costs nothing, also one that begins within a turn', async (here) => {
    const session = threeTurns();
    await here.extract(session);
    const text = readFileSync(session.path, 'utf8');
    for (const [name, of] of Object.entries({ whole: text, cut: text.split('\n').slice(3).join('\n') })) {
      const path = join(tempDir(), `${name}.jsonl`);
      writeFileSync(path, of.replaceAll(`"sessionId":"${session.id}"`, `"sessionId":"${name}"`));
      expect(await here.extract(path)).toMatchObject({ session: name, outcome: 'nothing-new', spend: { calls: 0 } });
    }
  });

  it('what is about the user goes into the user’s memory in the same commit, and is taken back with it', async (here) => {
    const session = threeTurns();
    const user = await here.withDirectory('user');
    const userMemoryFor = async () => user.row;
    const report = await here.extract(session, {}, { userMemoryFor });
    expect(report.entries.map(({ memory }) => memory)).toEqual([undefined, undefined, user.row.id]);
    expect((await here.entries(user.row)).map(({ text, state }) => [text, state])).toEqual([
      ['The user prefers short answers.', 'new'],
    ]);
    expect(readFileSync(join(user.dir, LOG), 'utf8')).toContain('The user prefers short answers.');
    expect(here.file(LOG)).not.toContain('short answers');
    expect(await here.db.all('select distinct change from version')).toHaveLength(1);
    const [again] = await here.learnAgain({ session: session.id.slice(0, 8) }, { userMemoryFor });
    expect(again).toMatchObject({ outcome: 'recorded' });
    expect([await here.entries(), await here.entries(user.row)]).toMatchObject([{ length: 2 }, { length: 1 }]);
    expect(await here.undo(again?.job)).toMatchObject({ outcome: 'undone', turns: 0 });
    expect(await here.undo(report.job)).toMatchObject({ outcome: 'undone', turns: 3 });
    expect([await here.entries(), await here.entries(user.row)]).toEqual([[], []]);
    expect(await here.extract(session, {}, { userMemoryFor })).toMatchObject({ outcome: 'nothing-new' });
    expect(await here.extract(session, { takeUp: ['undone'] }, { userMemoryFor })).toMatchObject({
      outcome: 'recorded',
    });
    expect(await here.entries(user.row)).toHaveLength(1);
  });

  it('a session that is kept in pieces is read like its file, once that is gone', async (here) => {
    const session = threeTurns();
    await here.extract(session);
    session.add('Never deploy on a Friday.');
    const row = await sessionNamed(here.db, here.row.id, session.id);
    await keepPieces(here.db, row?.id ?? '', await openSession(session.path));
    const read = await here.extract(join(tempDir(), 'gone.jsonl'), { session: row?.id });
    expect(read).toMatchObject({ session: session.id, outcome: 'recorded', readTurns: 1 });
    expect(read.entries.map(({ text }) => text)).toEqual(['Never deploy on a Friday.']);
    expect(await sessionNamed(here.db, here.row.id, session.id)).toMatchObject({ path: session.path });
    const gone = await here.extract(join(tempDir(), 'gone.jsonl'));
    expect(gone).toMatchObject({ outcome: 'transcript-gone', memory: null, job: null });
  });

  it('pending turns are held as far as there is room for them, and the rest is read after', async (here) => {
    const server = await nothing();
    const session = aSession(Array.from({ length: 9 }, (_, at) => `Rule ${at}: ${'word '.repeat(40)}`));
    const report = await here.extract(session, {}, { server, heldCharacters: 500 });
    expect(report).toMatchObject({ readTurns: 9 });
    expect(server.requests.length).toBeGreaterThan(2);
    const offered = server.requests.map(({ messages }) => JSON.stringify(messages).match(/\| Rule \d/g) ?? []);
    expect(offered.flat().length).toBeGreaterThanOrEqual(9);
  });
});
