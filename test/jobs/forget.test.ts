// Forgetting, through the app: what goes, what stays, and that it is not learned again from the same source.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { thisProcess } from '../../src/base/process.ts';
import { addSupport, allEntries, type EntryRow, entryRow, writeEntry } from '../../src/memory/ledger/entries.ts';
import { takeLease } from '../../src/memory/ledger/job-rows.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { lineId } from '../../src/memory/text/topic.ts';
import { testApp, testModel } from '../support/app.ts';
import { type JobsInProcess, jobsInProcess } from '../support/jobs-in-process.ts';
import { calls } from '../support/messages-server.ts';
import { aSession, type SessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const PNPM = 'Always use pnpm instead of npm.';
const DEADLINE = 'The release deadline is 2026-12-04.';
const OTHER_ID = '22222222-2222-4333-8444-555555555555';

/** A memory into which a session and a dream went. */
async function dreamt(prompts: string[]): Promise<JobsInProcess & { session: SessionFile }> {
  const opened = await jobsInProcess();
  const session = aSession(prompts);
  await opened.extract(session.path);
  await opened.dream();
  return { ...opened, session };
}

/** Everything that the memory says, without history and reports. */
async function told(store: Store): Promise<string> {
  return (await store.list()).map((path) => readFileSync(join(store.dir, path), 'utf8')).join('\n');
}

const statesOf = (store: Store) => Object.fromEntries(allEntries(store.ledger).map((row) => [row.text, row.state]));

test('what is forgotten leaves topic, index and log, what stands beside it stays, and undo brings it back', async () => {
  const { store, forget, undo } = await dreamt([PNPM, 'Never commit to main directly.', DEADLINE]);
  const before = await told(store);
  const report = await forget('PNPM instead');
  expect(report).toMatchObject({
    outcome: 'forgotten',
    topics: [],
    lines: [{ path: 'working-agreements.md', text: PNPM }],
    entries: [{ day: '2026-11-20', text: PNPM }],
    job: expect.stringMatching(/^job_/),
  });
  const after = await told(store);
  expect(after).not.toContain('pnpm');
  expect(after).toContain('Never commit to main directly.');
  expect(statesOf(store)).toMatchObject({ [PNPM]: 'forgotten', [DEADLINE]: 'distilled' });
  expect(await undo()).toMatchObject({ outcome: 'undone', job: report.job });
  expect((await told(store)).split('\n').sort()).toEqual(before.split('\n').sort());
  expect(statesOf(store)).toMatchObject({ [PNPM]: 'distilled' });
});

test('a topic goes with its file, its entries and every line of the index that links it, whoever wrote that', async () => {
  const { store, forget } = await dreamt([PNPM, DEADLINE]);
  writeFileSync(join(store.dir, 'own.md'), '# My own notes\n\n- The orchard has 40 trees.\n');
  const index = readFileSync(join(store.dir, 'MEMORY.md'), 'utf8');
  writeFileSync(join(store.dir, 'MEMORY.md'), `${index}\n- [Own](own.md) — 40 trees\n`);
  expect(await forget('own')).toMatchObject({ outcome: 'forgotten', topics: ['own.md'], entries: [] });
  expect(await forget('project-facts.md')).toMatchObject({
    topics: ['project-facts.md'],
    entries: { length: 1 },
  });
  expect(existsSync(join(store.dir, 'own.md')) || existsSync(join(store.dir, 'project-facts.md'))).toBe(false);
  expect(await told(store)).not.toMatch(/trees|deadline|own\.md|project-facts/);
  expect(await store.read('MEMORY.md')).toContain('[working-agreements.md]');
});

test('reprocessing the session and extracting a copy of it bring nothing back that was forgotten', async () => {
  const { store, session, extract, dream, reprocess, forget } = await dreamt([PNPM, DEADLINE]);
  await forget(PNPM);
  const [again] = await reprocess({ session: session.id });
  expect(again?.entries.map((entry) => entry.text)).toEqual([DEADLINE]);
  const copy = join(tempDir(), 'copy.jsonl');
  writeFileSync(copy, readFileSync(session.path, 'utf8').replaceAll(session.id, OTHER_ID));
  await extract(copy, new Set([session.turn(1), session.turn(2)]));
  await dream();
  expect(await told(store)).not.toContain('pnpm');
  expect(statesOf(store)[PNPM]).toBe('forgotten');
});

test('the same statement from the same message is not learned again in other words', async () => {
  const session = aSession([PNPM]);
  const record = (text: string, quote: string) =>
    calls('record_entries', {
      entries: [{ type: 'feedback', strength: 'stated', text, evidence: [{ message: session.turn(1), quote }] }],
    });
  const model = await testModel([
    record(PNPM, PNPM),
    record('Use pnpm, not npm.', 'Always use pnpm'),
    record('Kim wants pnpm used instead.', 'use pnpm instead'),
  ]);
  const { app, store } = await testApp({ server: model });
  expect((await app.extract({ transcript: session.path, ended: true })).entries).toHaveLength(1);
  expect(await app.forget(store, { target: PNPM, confirm: async () => true })).toMatchObject({ outcome: 'forgotten' });
  for (const _ of ['other words', 'yet others']) {
    const [report] = await app.reprocess(store, { session: session.id, ended: true });
    expect(report).toMatchObject({ outcome: 'nothing-worth-keeping', entries: [], coverage: [{ became: 'nothing' }] });
  }
  expect(model.requests).toHaveLength(3);
  expect(await told(store)).not.toContain('pnpm');
});

test('another session that says it anew is listened to, and so is a person', async () => {
  const { store, extract, dream, forget, remember } = await dreamt([PNPM]);
  await forget(PNPM);
  const anew = aSession([PNPM], { id: OTHER_ID });
  expect((await extract(anew.path)).entries).toHaveLength(1);
  await forget(PNPM);
  expect(await remember({ text: PNPM, type: 'feedback' })).toMatchObject({ outcome: 'remembered' });
  await dream();
  expect(await told(store)).toContain(`- ${PNPM}`);
});

test('a text that may mean several things changes nothing, unless all of them are asked for', async () => {
  const { store, forget } = await dreamt([PNPM, 'Never use pnpm for publishing.']);
  const before = await told(store);
  const report = await forget('pnpm');
  expect(report).toMatchObject({ outcome: 'ambiguous', job: null, candidates: [{ kind: 'line' }, { kind: 'line' }] });
  expect(await told(store)).toBe(before);
  expect(await forget(report.candidates[0]?.id ?? '')).toMatchObject({
    outcome: 'forgotten',
    entries: { length: 1 },
  });
  expect(await forget('pnpm', { all: true })).toMatchObject({ outcome: 'forgotten' });
  expect(await told(store)).not.toContain('pnpm');
  expect(await forget('pnpm')).toMatchObject({ outcome: 'unknown', candidates: [] });
});

test('words are found where a search finds them: at the beginning of a word, not inside one', async () => {
  const { forget } = await dreamt([DEADLINE, 'Never push on line 2 of `maxRetryCount`.']);
  const meant = async (words: string) =>
    (await forget(words, { confirm: async () => false })).lines.map(({ text }) => text);
  expect(await meant('line')).toEqual([expect.stringContaining('on line 2')]);
  expect(await meant('deadl')).toEqual([DEADLINE]);
  expect(await meant('DEADLINE  is 2026-12-04.')).toEqual([DEADLINE]);
  expect(await meant('retry')).toEqual([expect.stringContaining('maxRetryCount')]);
  for (const part of ['eadline', 'ease deadline', '.']) expect((await forget(part)).outcome).toBe('unknown');
});

test('a line is forgotten by its topic and number, as why and search name it', async () => {
  const { store, forget } = await dreamt([PNPM, 'Never use pnpm for publishing.']);
  const { lines } = await forget('working-agreements:8', { confirm: async () => false });
  expect(lines).toMatchObject([{ path: 'working-agreements.md', text: expect.stringContaining('publishing') }]);
  expect(await forget('working-agreements:99')).toMatchObject({ outcome: 'unknown' });
  expect(await forget('working-agreements.md:7')).toMatchObject({ outcome: 'forgotten', lines: [{ text: PNPM }] });
  expect(await told(store)).toContain('publishing');
});

test('an entry that shares its line with another is forgotten alone: the other is distilled anew', async () => {
  const { store, dream, forget, remember } = await jobsInProcess();
  const one = await remember({ text: 'The staging host is alpha.', type: 'project' });
  const two = await remember({ text: 'The staging host is reached by VPN only.', type: 'project' });
  const merged = 'The staging host is alpha, reached by VPN only.';
  await store.commit({ actor: 'job:test' }, (ledger) => ({
    files: [{ path: 'hosts.md', change: () => `---\nname: hosts\ntype: project\n---\n\n- ${merged}\n` }],
    rows(transaction) {
      for (const { entry } of [one, two]) {
        addSupport(transaction, { path: 'hosts.md', line: lineId(merged), entry: entry.id });
        writeEntry(transaction, { ...(entryRow(ledger, entry.id) as EntryRow), state: 'distilled' });
      }
    },
  }));
  expect(await forget(one.entry.id)).toMatchObject({ entries: [{ id: one.entry.id }], topics: ['hosts.md'] });
  expect(statesOf(store)).toMatchObject({ [one.entry.text]: 'forgotten', [two.entry.text]: 'new' });
  await dream();
  const now = await told(store);
  expect(now).not.toContain('alpha');
  expect(now).toContain(`- ${two.entry.text}`);
});

test('a line of a person’s in a log can be forgotten, before and after a dream read it', async () => {
  const { store, dream, forget } = await dreamt([PNPM]);
  const log = join(store.dir, 'logs/2026/11/2026-11-20.md');
  for (const dreams of [false, true]) {
    writeFileSync(log, `${readFileSync(log, 'utf8')}- The gate code changed${dreams ? ' again' : ''}.\n`);
    if (dreams) await dream();
    expect(await forget('gate code')).toMatchObject({ outcome: 'forgotten', entries: { length: 1 } });
    expect(await told(store)).not.toContain('gate code');
  }
  await dream();
  expect(await told(store)).not.toContain('gate code');
});

test('without a yes and while a dream works nothing is changed', async () => {
  const { store, forget } = await dreamt([PNPM]);
  const before = await told(store);
  const unsure = await forget(PNPM, { confirm: async () => false });
  expect(unsure).toMatchObject({ outcome: 'unconfirmed', lines: { length: 1 }, job: null });
  const now = new Date('2026-11-21T02:00:00Z');
  takeLease(store.ledger, { key: 'dream', owner: `${thisProcess()}/test`, now, ttlMs: 60_000 });
  expect(await forget(PNPM)).toMatchObject({ outcome: 'busy', job: null });
  expect(await told(store)).toBe(before);
});

test('a whole session is forgotten by its id: its entries, what rests on them alone, and what they are a part of', async () => {
  const { store, extract, dream, forget, undo } = await dreamt([PNPM, 'Never commit to main directly.']);
  const other = aSession(['Never commit to main directly.'], { id: OTHER_ID });
  await extract(other.path);
  await dream();
  const before = await told(store);
  expect(await forget('11111111')).toMatchObject({ outcome: 'ambiguous', candidates: [{ kind: 'entry' }, {}] });
  const report = await forget('11111111', { all: true });
  expect(report.entries.map(({ text }) => text).sort()).toEqual([PNPM, 'Never commit to main directly.']);
  await dream();
  expect(await told(store)).not.toContain('pnpm');
  expect(readFileSync(join(store.dir, 'working-agreements.md'), 'utf8')).toContain('- Never commit to main directly.');
  await undo();
  await undo({ job: report.job as string });
  expect(await told(store)).toBe(before);
});

test('what was put away in the archive is forgotten with what it rests on, by name and by words', async () => {
  const { store, forget } = await dreamt([PNPM]);
  const id = allEntries(store.ledger)[0]?.id as string;
  await store.rename({ actor: 'person' }, { from: 'working-agreements.md', to: 'archive/working-agreements.md' });
  expect(await forget(id)).toMatchObject({ outcome: 'forgotten', lines: [{ path: 'archive/working-agreements.md' }] });
  expect(existsSync(join(store.dir, 'archive/working-agreements.md'))).toBe(false);
});
