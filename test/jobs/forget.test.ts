// Forgetting: what goes, what stays, and that it is not learned again from the same source.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { addMark, afterRestore, forgottenMarks, keepMarks, markedMessages } from '../../jobs/after-restore.ts';
import { insert } from '../../src/db/sql.ts';
import { commit } from '../../src/memory/commit.ts';
import { entriesWhere } from '../../src/memory/entries.ts';
import { headAt } from '../../src/memory/file-rows.ts';
import { lineId } from '../../src/memory/text/topic.ts';
import { testModel } from '../support/app.ts';
import { inJobs, type Jobs } from '../support/job-world.ts';
import { ENGINE_TAKEN, NOW, skipped, USER } from '../support/memory-world.ts';
import { calls } from '../support/messages-server.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const PNPM = 'Always use pnpm instead of npm.';
const MAIN = 'Never commit to main directly.';
const DEADLINE = 'The release deadline is 2026-12-04.';
const OTHER_ID = '22222222-2222-4333-8444-555555555555';
const LOG = 'logs/2026/11/2026-11-20.md';

/** A memory into which a session and a dream went. */
async function dreamt(here: Jobs, prompts: string[]) {
  const session = aSession(prompts);
  await here.extract(session);
  await here.dream();
  return session;
}

/** Everything that the memory says in its files. */
function told({ dir }: Jobs): string {
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.md'));
  const own = paths.filter((path) => !path.startsWith('.nocturne')).sort();
  return own.map((path) => `${path}\n${readFileSync(join(dir, path), 'utf8')}`).join('\n');
}

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = (title: string, work: (jobs: Jobs) => Promise<void>) =>
    test.skipIf(skipped(engine) !== '')(title, () => inJobs(engine, work));

  it('what is forgotten leaves topic, index, log and what sessions were told, and undo brings it back', async (here) => {
    await dreamt(here, [PNPM, MAIN, DEADLINE]);
    const at = { session: 's', memory: here.row.id, request: '', text: PNPM, at: NOW };
    await insert(here.db, 'recalled', [at, { ...at, memory: (await here.store()).row.id }]);
    const before = told(here);
    const report = await here.forget('PNPM instead');
    expect(report).toMatchObject({
      ...{ outcome: 'forgotten', topics: [], job: expect.stringMatching(/^job_/) },
      lines: [{ path: 'working-agreements.md', text: PNPM }],
      entries: [{ day: '2026-11-20', text: PNPM }],
    });
    expect(told(here)).not.toContain('pnpm');
    expect(told(here)).toContain(MAIN);
    expect(await here.states()).toMatchObject({ [PNPM]: 'forgotten', [DEADLINE]: 'placed' });
    expect(await here.db.all('select memory from recalled')).toHaveLength(1);
    expect(await here.undo()).toMatchObject({ outcome: 'undone', job: report.job });
    expect(told(here).split('\n').sort()).toEqual(before.split('\n').sort());
    expect(await here.states()).toMatchObject({ [PNPM]: 'placed' });
  });

  it('what was forgotten is so after a restore, not once that was taken back, and what was redacted is not forgotten', async (here) => {
    await dreamt(here, [PNPM, MAIN, DEADLINE]);
    const { id = '' } = (await here.db.get<{ id: string }>('select id from entry where text = ?', DEADLINE)) ?? {};
    addMark(here.memories.home, { what: 'redacted', ids: [`${here.row.id} ${id}`] });
    const first = await here.forget('PNPM instead');
    expect(await afterRestore(here.memories)).toMatchObject({ marked: 2 });
    expect(await here.states()).toMatchObject({ [PNPM]: 'forgotten', [MAIN]: 'placed' });
    await here.forget('main');
    await here.undo(first.job);
    await afterRestore(here.memories);
    expect(await here.states()).toMatchObject({ [PNPM]: 'placed', [MAIN]: 'forgotten' });
    const now = await here.db.get<{ state: string }>('select state from entry where id = ?', id);
    expect(now?.state).not.toBe('gone');
  });

  it('what was forgotten in a memory that was carried here stays unlearned, whatever else is forgotten', async (here) => {
    await dreamt(here, [PNPM, MAIN]);
    await here.forget('PNPM instead');
    const [gone] = await entriesWhere(here.db, here.row.id, "and state = 'gone'");
    const message = gone?.evidence[0]?.message ?? '';
    await keepMarks(here.db, await forgottenMarks(here.db, here.row.id));
    await here.forget('main');
    expect((await markedMessages(here.db))(message)).toBe(true);
  });

  it('of two things forgotten one after the other, the last of all that was there, each can be taken back alone', async (here) => {
    await dreamt(here, [PNPM, MAIN]);
    const first = await here.forget('PNPM instead');
    await here.forget('main');
    expect(existsSync(join(here.dir, LOG))).toBe(false);
    await here.undo(first.job);
    expect(told(here)).toContain(PNPM);
    expect(told(here)).not.toContain(MAIN);
    for (const path of [LOG, 'working-agreements.md'])
      expect(readFileSync(join(here.dir, path), 'utf8')).toContain(PNPM);
  });

  it('a topic goes with its file, its entries and every line of the index that links it, whoever wrote that', async (here) => {
    await dreamt(here, [PNPM, DEADLINE]);
    writeFileSync(join(here.dir, 'own.md'), '# My own notes\n\n- The orchard has 40 trees.\n');
    writeFileSync(join(here.dir, 'MEMORY.md'), `${here.file('MEMORY.md')}\n- [Own](own.md) — 40 trees\n`);
    expect(await here.forget('own')).toMatchObject({ outcome: 'forgotten', topics: ['own.md'], entries: [] });
    expect(await here.forget('project-facts.md')).toMatchObject({
      topics: ['project-facts.md'],
      entries: { length: 1 },
    });
    expect(existsSync(join(here.dir, 'own.md')) || existsSync(join(here.dir, 'project-facts.md'))).toBe(false);
    expect(told(here)).not.toMatch(/trees|deadline|own\.md|project-facts/);
    expect(here.file('MEMORY.md')).toContain('[working-agreements.md]');
  });

  it('learning the session again and extracting a copy of it bring nothing back that was forgotten', async (here) => {
    const session = await dreamt(here, [PNPM, DEADLINE]);
    await here.forget(PNPM);
    const [again] = await here.learnAgain({ session: session.id });
    expect(again?.entries.map((entry) => entry.text)).toEqual([DEADLINE]);
    const copy = join(tempDir(), 'copy.jsonl');
    writeFileSync(copy, readFileSync(session.path, 'utf8').replaceAll(session.id, OTHER_ID));
    await here.extract(copy, { reopen: new Set([session.turn(1), session.turn(2)]) });
    await here.dream();
    expect(told(here)).not.toContain('pnpm');
    expect((await here.states())[PNPM]).toBe('forgotten');
  });

  it('the same statement from the same message is not learned again in other words, nor the same in that session', async (here) => {
    const session = aSession([PNPM, 'As I said: always use pnpm instead of npm here.']);
    const record = (text: string, quote: string, turn = 1) =>
      calls('record_entries', {
        entries: [{ type: 'feedback', strength: 'stated', text, evidence: [{ message: session.turn(turn), quote }] }],
      });
    const server = await testModel([
      record(PNPM, PNPM),
      record('Use pnpm, not npm.', 'Always use pnpm'),
      record('Kim wants pnpm used instead.', 'use pnpm instead'),
      record('Always use pnpm instead of npm here.', 'always use pnpm instead of npm here', 2),
    ]);
    expect((await here.extract(session, {}, { server })).entries).toHaveLength(1);
    expect(await here.forget(PNPM)).toMatchObject({ outcome: 'forgotten' });
    for (const _ of ['other words', 'yet others', 'another message']) {
      const [report] = await here.learnAgain({ session: session.id }, { server });
      expect(report).toMatchObject({
        outcome: 'nothing-worth-keeping',
        entries: [],
      });
    }
    expect(server.requests).toHaveLength(4);
    expect(JSON.stringify(server.requests[1]?.messages)).not.toContain(`\\n| ${PNPM}\\n</known>`);
    expect(told(here)).not.toContain('pnpm');
  });

  it('another session that says it anew is listened to, and so is a person', async (here) => {
    await dreamt(here, [PNPM]);
    await here.forget(PNPM);
    expect((await here.extract(aSession([PNPM], { id: OTHER_ID }))).entries).toHaveLength(1);
    await here.forget(PNPM);
    expect(await here.remember({ text: PNPM, type: 'feedback' })).toMatchObject({ outcome: 'remembered' });
    await here.dream();
    expect(told(here)).toContain(`- ${PNPM}`);
  });

  it('a line is named by its place and by what was shown there; equal ones of a topic are one thing; an archived topic by its file', async (here) => {
    writeFileSync(join(here.dir, 'own.md'), '- Plums.\n- Pears.\n- Plums.\n');
    mkdirSync(join(here.dir, 'archive'));
    writeFileSync(join(here.dir, 'archive/old.md'), '- Plums.\n');
    expect(await here.forget('own:2', { said: 'Plums.' })).toMatchObject({ outcome: 'unknown', job: null });
    const { candidates } = await here.forget('plums');
    expect(candidates.map(({ id }) => id).sort()).toEqual(['archive/old:1', 'own:1']);
    expect(await here.forget('own:3', { said: 'Plums.' })).toMatchObject({ outcome: 'forgotten', lines: [{}, {}] });
    expect(here.file('own.md')).toBe('- Pears.\n');
    expect(await here.forget('old.md')).toMatchObject({ outcome: 'forgotten', topics: ['archive/old.md'] });
  });

  it('a text that may mean several things changes nothing, unless all of them are asked for', async (here) => {
    await dreamt(here, [PNPM, 'Never use pnpm for publishing.']);
    const before = told(here);
    const report = await here.forget('pnpm');
    expect(report).toMatchObject({ outcome: 'ambiguous', job: null, candidates: [{ kind: 'line' }, { kind: 'line' }] });
    expect(told(here)).toBe(before);
    expect(await here.forget(report.candidates[0]?.id ?? '')).toMatchObject({
      outcome: 'forgotten',
      entries: { length: 1 },
    });
    expect(await here.forget('pnpm', { all: true })).toMatchObject({ outcome: 'forgotten' });
    expect(told(here)).not.toContain('pnpm');
    expect(await here.forget('pnpm')).toMatchObject({ outcome: 'unknown', candidates: [] });
    await expect(here.forget('  ')).rejects.toMatchObject({ code: 'bad-input' });
  });

  it('words are found where a word begins, a line by its topic and number, as search and why name it', async (here) => {
    await dreamt(here, [DEADLINE, 'Never push on line 2 of `maxRetryCount`.', PNPM]);
    const meant = async (words: string) =>
      (await here.forget(words, { confirm: async () => false })).lines.map(({ text }) => text);
    expect(await meant('line')).toEqual([expect.stringContaining('on line 2')]);
    expect(await meant('deadl')).toEqual([DEADLINE]);
    expect(await meant('DEADLINE  is 2026-12-04.')).toEqual([DEADLINE]);
    expect(await meant('retry')).toEqual([expect.stringContaining('maxRetryCount')]);
    for (const part of ['eadline', 'ease deadline', '.']) expect((await here.forget(part)).outcome).toBe('unknown');
    const number = here.file('working-agreements.md').split('\n').indexOf(`- ${PNPM}`) + 1;
    expect(await meant(`working-agreements:${number}`)).toEqual([PNPM]);
    expect(await here.forget('working-agreements:99')).toMatchObject({ outcome: 'unknown' });
  });

  it('an entry that shares its line with another is forgotten alone: the other waits for a night again', async (here) => {
    const one = await here.remember({ text: 'The staging host is alpha.', type: 'project' });
    const two = await here.remember({ text: 'The staging host is reached by VPN only.', type: 'project' });
    const merged = 'The staging host is alpha, reached by VPN only.';
    const proposal = {
      memory: here.row.id,
      job: 'job_1',
      at: NOW,
      bases: JSON.stringify({ files: [], entries: [] }),
      state: 'open',
      decided_at: null,
      because: null,
    };
    await commit(here.memories, { memory: here.row.id, paths: 'all' }, USER, async () => ({
      files: [{ path: 'hosts.md', make: () => `---\nname: hosts\ntype: project\n---\n\n- ${merged}\n` }],
      async rows(change, [file]) {
        for (const { entry } of [one, two]) {
          const rest = { memory: here.row.id, file: file?.id ?? '', line: lineId(merged), source: entry.id };
          await change.put('rests', rest);
          const drop = { kind: 'drop', entries: [entry.id], because: 'ephemeral', reason: 'Of the day.' };
          const plan = JSON.stringify({ madeBy: 'model', operations: [drop], archiving: null });
          await change.put('proposal', { ...proposal, id: `prop_${entry.id}`, plan });
        }
        await change.sql.run("update entry set state = 'placed'");
      },
    }));
    expect(await here.forget(one.entry.id)).toMatchObject({ entries: [{ id: one.entry.id }], topics: ['hosts.md'] });
    expect(await here.states()).toMatchObject({ [one.entry.text]: 'forgotten', [two.entry.text]: 'new' });
    expect(await here.db.all('select id from proposal')).toEqual([{ id: `prop_${two.entry.id}` }]);
    await here.dream();
    expect(told(here)).not.toContain('alpha');
    expect(told(here)).toContain(`- ${two.entry.text}`);
  });

  it('a line of a person’s in a log can be forgotten, before and after a night read it', async (here) => {
    await dreamt(here, [PNPM]);
    for (const isRead of [false, true]) {
      writeFileSync(join(here.dir, LOG), `${here.file(LOG)}- The gate code changed${isRead ? ' again' : ''}.\n`);
      if (isRead) await here.dream();
      expect(await here.forget('gate code')).toMatchObject({ outcome: 'forgotten', entries: { length: 1 } });
      expect(told(here)).not.toContain('gate code');
    }
    await here.dream();
    expect(told(here)).not.toContain('gate code');
  });

  it('without a yes and while a dream works nothing is changed', async (here) => {
    await dreamt(here, [PNPM]);
    const before = told(here);
    const unsure = await here.forget(PNPM, { confirm: async () => false });
    expect(unsure).toMatchObject({ outcome: 'unconfirmed', lines: { length: 1 }, job: null });
    const item = { kind: 'dream', key: here.row.id, memory: here.row.id, payload: '{}', state: 'waiting', priority: 1 };
    const times = { since: NOW, not_before: NOW, until: '2099-01-01T00:00:00.000Z' };
    await insert(here.db, 'inbox', [{ ...item, ...times, owner: 'a worker' }]);
    expect(await here.forget(PNPM)).toMatchObject({ outcome: 'busy', job: null });
    expect(told(here)).toBe(before);
  });

  it('a whole session is forgotten by its name: its entries, what rests on them alone, and what they are a part of', async (here) => {
    await dreamt(here, [PNPM, MAIN]);
    await here.extract(aSession([MAIN], { id: OTHER_ID }));
    await here.dream();
    const before = told(here);
    expect(await here.forget('11111111')).toMatchObject({ outcome: 'ambiguous', candidates: [{ kind: 'entry' }, {}] });
    const report = await here.forget('11111111', { all: true });
    expect(report.entries.map(({ text }) => text).sort()).toEqual([PNPM, MAIN]);
    await here.dream();
    expect(told(here)).not.toContain('pnpm');
    expect(here.file('working-agreements.md')).toContain(`- ${MAIN}`);
    await here.undo();
    await here.undo(report.job);
    expect(told(here)).toBe(before);
  });

  it('what was put away in the archive is forgotten with what it rests on', async (here) => {
    await dreamt(here, [PNPM]);
    const [entry] = await here.entries();
    const from = 'working-agreements.md';
    await commit(here.memories, { memory: here.row.id, paths: 'all' }, USER, async () => ({
      files: [{ path: `archive/${from}`, from, make: (text) => text }],
    }));
    expect(await here.forget(entry?.id ?? '')).toMatchObject({
      outcome: 'forgotten',
      lines: [{ path: `archive/${from}` }],
    });
    expect(await headAt(here.db, here.row.id, `archive/${from}`)).toBeNull();
  });

  it('what a session told of the user is forgotten in the user’s memory, too', async (here) => {
    const user = await here.withDirectory('user');
    const userMemoryFor = async () => user.row;
    const session = aSession(['I prefer short answers.', PNPM]);
    await here.extract(session, {}, { userMemoryFor });
    const report = await here.forget('short answers', {}, user.row);
    expect(report).toMatchObject({ outcome: 'forgotten', entries: [{ scope: 'user' }] });
    expect(await here.entries(user.row)).toMatchObject([{ state: 'gone', reason: 'forgotten' }]);
    expect(existsSync(join(user.dir, LOG))).toBe(false);
    const [again] = await here.learnAgain({ all: true }, { userMemoryFor });
    expect(again?.entries.map(({ text }) => text)).toEqual([PNPM]);
    expect(await here.undo(report.job)).toMatchObject({ outcome: 'undone' });
    expect(await here.entries(user.row)).toMatchObject([{ state: 'new' }]);
  });
});
