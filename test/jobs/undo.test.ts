import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { thisProcess } from '../../src/base/process.ts';
import { enqueueExtract } from '../../src/doors/cli/commands/enqueue.ts';
import { dueItems } from '../../src/doors/worker/desk.ts';
import { workKey } from '../../src/doors/worker/work.ts';
import { coverageWhere } from '../../src/memory/ledger/coverage.ts';
import { allEntries, type EntryRow, writeEntry } from '../../src/memory/ledger/entries.ts';
import { lastJobs, takeLease } from '../../src/memory/ledger/job-rows.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { aSession, type SessionFile } from '../support/session-file.ts';

const LOG = 'logs/2026/11/2026-11-20.md';
const REPORT = '.nocturne/dreams/2026-11-21';
const SECOND = '22222222-2222-4333-8444-555555555555';

async function extracted(...prompts: string[]): Promise<TestApp & { session: SessionFile }> {
  const testing = await testApp();
  const made = aSession(prompts);
  await testing.app.extract({ transcript: made.path, ended: true });
  return { ...testing, session: made };
}

function file({ dir }: TestApp, path: string): string {
  return readFileSync(join(dir, path), 'utf8');
}

/** All files of the memory by path, with what entries and coverage the ledger knows. */
async function snapshot(testing: TestApp) {
  const paths = [...(await testing.store.list()), `${REPORT}.md`, `${REPORT}.json`];
  return {
    files: Object.fromEntries(
      paths.filter((path) => existsSync(join(testing.dir, path))).map((path) => [path, file(testing, path)]),
    ),
    entries: testing.store.ledger.all('select * from entry order by id'),
    support: testing.store.ledger.all('select * from support order by path, line, entry'),
    index: testing.store.ledger.all('select * from index_line order by line'),
  };
}

function edit(testing: TestApp, path: string, from: string, to: string): void {
  expect(file(testing, path)).toContain(from);
  writeFileSync(join(testing.dir, path), file(testing, path).replace(from, to));
}

function times(text: string, part: string): number {
  return text.split(part).length - 1;
}

test('undoing a dream takes back its topics, index, report and entry states; dreaming again gives the same facts once', async () => {
  const testing = await extracted('Always use pnpm instead of npm.', 'I prefer short answers.');
  const before = await snapshot(testing);
  await testing.app.dream(testing.store, {});
  const dreamt = await snapshot(testing);
  const report = await testing.app.undo(testing.store, { last: true });
  expect(report).toMatchObject({ outcome: 'undone', kind: 'dream', stays: [] });
  expect(await snapshot(testing)).toEqual(before);
  await testing.app.dream(testing.store, {});
  const again = await snapshot(testing);
  expect(again.files['working-agreements.md']).toBe(dreamt.files['working-agreements.md']);
  expect(again.files['MEMORY.md']).toBe(dreamt.files['MEMORY.md']);
  expect(again.support).toEqual(dreamt.support);
});

test('undoing an extraction removes its entries, no sweep takes the turns up, and extract learns them once', async () => {
  const testing = await extracted('Always use pnpm instead of npm.', 'I prefer short answers.');
  const log = file(testing, LOG);
  const { session: made, app, store } = testing;
  expect(await app.undo(store, { last: true })).toMatchObject({ outcome: 'undone', kind: 'extract', turns: 2 });
  expect(await store.read(LOG)).toBeNull();
  expect(coverageWhere(store.ledger).map((row) => row.disposition)).toEqual(['undone', 'undone']);
  const swept = await app.extract({ transcript: made.path, ended: true });
  expect(swept).toMatchObject({ outcome: 'nothing-new', spend: { calls: 0 } });
  for (const outcome of ['recorded', 'nothing-new']) {
    expect(await app.extract({ transcript: made.path, ended: true, reopenUndone: true })).toMatchObject({ outcome });
  }
  expect(file(testing, LOG).replace(/ p=\S+/g, '')).toBe(log.replace(/ p=\S+/g, ''));
  expect(allEntries(store.ledger).map((entry) => entry.state)).toEqual(['new', 'new']);
});

test('reprocess learns an undone session afresh too', async () => {
  const testing = await extracted('Always use pnpm instead of npm.');
  await testing.app.undo(testing.store, { last: true });
  await testing.app.reprocess(testing.store, { session: testing.session.id, ended: true });
  expect(times(file(testing, LOG), '** Always use pnpm')).toBe(1);
  expect(coverageWhere(testing.store.ledger).map((row) => row.disposition)).toEqual(['recorded']);
});

test('undoing a reprocess brings back what was there before it, and the coverage of the first run', async () => {
  const testing = await extracted('Always use pnpm instead of npm.');
  const before = await snapshot(testing);
  await testing.app.reprocess(testing.store, { all: true, ended: true });
  expect(await testing.app.undo(testing.store, { last: true })).toMatchObject({ outcome: 'undone', kind: 'reprocess' });
  expect(await snapshot(testing)).toEqual(before);
  expect(coverageWhere(testing.store.ledger).map((row) => row.disposition)).toEqual(['recorded']);
});

test('an extraction whose entries were dreamt is refused, naming the dream, and can be undone after it', async () => {
  const testing = await extracted('Always use pnpm instead of npm.', 'I prefer short answers.');
  await testing.app.dream(testing.store, {});
  const before = await snapshot(testing);
  const [dream, extract] = lastJobs(testing.store.ledger, 2).map((job) => job.id);
  const report = await testing.app.undo(testing.store, { job: extract });
  expect(report).toMatchObject({ outcome: 'refused', undo: null });
  expect(report.stays).toEqual([
    expect.objectContaining({ kind: 'entry', by: [`dream ${dream}`] }),
    expect.objectContaining({ kind: 'entry', by: [`dream ${dream}`] }),
  ]);
  expect(await snapshot(testing)).toEqual(before);
  await testing.app.undo(testing.store, { job: dream });
  expect(await testing.app.undo(testing.store, { job: extract })).toMatchObject({ outcome: 'undone' });
  expect(await testing.store.list()).toEqual([]);
});

test('with partial an entry that was distilled since stays with its lines and its turn, and only the rest is learned again', async () => {
  const testing = await extracted('Always use pnpm instead of npm.', 'I prefer short answers.');
  const { app, store, session: made } = testing;
  const [first] = allEntries(store.ledger) as [EntryRow];
  await store.commit({ actor: 'job:job_dream' }, () => ({
    files: [],
    rows: (transaction) => writeEntry(transaction, { ...first, state: 'distilled' }),
  }));
  const extract = lastJobs(store.ledger, 1)[0]?.id;
  const log = file(testing, LOG);
  const report = await app.undo(store, { job: extract, partial: true });
  expect(report).toMatchObject({ outcome: 'undone-in-part', turns: 1, stays: [{ kind: 'entry', name: first.text }] });
  expect(file(testing, LOG)).toBe(log.slice(0, log.lastIndexOf('- 09:')));
  expect(coverageWhere(store.ledger).map((row) => row.disposition)).toEqual(['recorded', 'undone']);
  await app.extract({ transcript: made.path, ended: true, reopenUndone: true });
  expect(file(testing, LOG)).toBe(log);
  expect(allEntries(store.ledger).map((entry) => entry.state)).toEqual(['distilled', 'new']);
});

test('a topic line that a person changed since is named, and stays with partial; it is not learned twice', async () => {
  const testing = await extracted('Always use pnpm instead of npm.', 'Never commit to main directly.');
  const { app, store } = testing;
  await app.dream(store, {});
  edit(testing, 'working-agreements.md', 'Always use pnpm instead of npm.', 'Always use pnpm 11 instead of npm.');
  const refused = await app.undo(store, { last: true });
  expect(refused).toMatchObject({
    outcome: 'refused',
    stays: [{ kind: 'line', name: 'Always use pnpm instead of npm.', by: ['an edit made outside'] }],
  });
  expect(file(testing, 'working-agreements.md')).toContain('Never commit');
  expect(await app.undo(store, { last: true, partial: true })).toMatchObject({ outcome: 'undone-in-part' });
  const topic = file(testing, 'working-agreements.md');
  expect(topic).toMatch(/^---\nname: working-agreements\n.*\n---\n\n- Always use pnpm 11 instead of npm\.\n$/s);
  expect(topic).not.toContain('Never commit');
  expect(file(testing, 'MEMORY.md')).toContain('[working-agreements.md]');
  await app.dream(store, {});
  expect(times(file(testing, 'working-agreements.md'), 'pnpm')).toBe(times(topic, 'pnpm'));
  expect(times(file(testing, 'working-agreements.md'), '- Never commit to main directly.')).toBe(1);
});

test('lines that others added to the same files and to the report of the day stay where they are', async () => {
  const testing = await extracted('Always use pnpm instead of npm.');
  const { app, store } = testing;
  await app.dream(store, {});
  await app.extract({ transcript: aSession(['Never commit to main directly.'], { id: SECOND }).path, ended: true });
  await app.dream(store, {});
  appendFileSync(join(testing.dir, 'working-agreements.md'), '- A person was here.\n');
  const dreams = lastJobs(store.ledger, 9).filter((job) => job.kind === 'dream');
  const report = await app.undo(store, { job: dreams[1]?.id });
  expect(report).toMatchObject({ outcome: 'undone', stays: [] });
  const topic = file(testing, 'working-agreements.md');
  expect(topic).toContain('- Never commit to main directly.\n- A person was here.\n');
  expect(topic).not.toContain('- Always use pnpm');
  expect(JSON.parse(file(testing, `${REPORT}.json`)).map((row: { job: string }) => row.job)).toEqual([dreams[0]?.id]);
  expect(file(testing, `${REPORT}.md`)).not.toContain(dreams[1]?.id);
});

test('entries of another session in the log of the same day stay when an extraction is undone', async () => {
  const testing = await extracted('Always use pnpm instead of npm.');
  const { app, store } = testing;
  const first = lastJobs(store.ledger, 1)[0]?.id;
  await app.extract({ transcript: aSession(['Never commit to main directly.'], { id: SECOND }).path, ended: true });
  const log = file(testing, LOG);
  expect(await app.undo(store, { job: first })).toMatchObject({ outcome: 'undone' });
  expect(file(testing, LOG)).toBe(`# 2026-11-20\n\n${log.slice(log.indexOf('- ', log.indexOf(' -->')))}`);
});

test('an undo can be undone, and then the job once more', async () => {
  const testing = await extracted('Always use pnpm instead of npm.');
  const { app, store } = testing;
  await app.dream(store, {});
  const dreamt = await snapshot(testing);
  const first = await app.undo(store, { last: true });
  await expect(app.undo(store, { job: first.job })).rejects.toMatchObject({ code: 'bad-input' });
  expect(await app.undo(store, { job: first.undo ?? '' })).toMatchObject({ outcome: 'undone', kind: 'undo' });
  expect(await snapshot(testing)).toEqual(dreamt);
  expect(await app.undo(store, { last: true })).toMatchObject({ outcome: 'undone', job: first.job });
});

test('an undo whose work was learned anew is not redone', async () => {
  const testing = await extracted('Always use pnpm instead of npm.');
  const { app, store, session: made } = testing;
  const undone = await app.undo(store, { last: true });
  await app.extract({ transcript: made.path, ended: true, reopenUndone: true });
  const before = await snapshot(testing);
  expect(await app.undo(store, { job: undone.undo ?? '' })).toMatchObject({ outcome: 'refused' });
  expect(await snapshot(testing)).toEqual(before);
});

test('nothing is taken back while a dream runs', async () => {
  const testing = await extracted('Always use pnpm instead of npm.');
  const { app, store } = testing;
  takeLease(store.ledger, { key: 'dream', owner: `${thisProcess()}/x`, now: app.config.clock.now(), ttlMs: 60_000 });
  expect(await app.undo(store, { last: true })).toMatchObject({ outcome: 'busy', undo: null });
  expect(await store.read(LOG)).not.toBeNull();
});

test('a job that is older than versions are kept is no longer undone, and nothing is changed', async () => {
  const { dir, home, store, session: made } = await extracted('Always use pnpm instead of npm.');
  const log = await store.read(LOG);
  const job = lastJobs(store.ledger, 1)[0]?.id;
  const later = await testApp({ dir, home, now: '2027-02-20T00:00:00Z' });
  await later.app.dream(later.store, {});
  await expect(later.app.undo(later.store, { job })).rejects.toMatchObject({ code: 'refused' });
  expect(await store.read(LOG)).toBe(log);
  expect((await later.app.extract({ transcript: made.path, ended: true })).outcome).toBe('nothing-new');
});

test('a session that comes through the inbox again leaves its undone turns alone', async () => {
  const testing = await extracted('Always use pnpm instead of npm.');
  const { app, store, session: made } = testing;
  await app.undo(store, { last: true });
  await enqueueExtract(app, { transcript: made.path, ended: true });
  const [item] = await dueItems(app, store);
  expect(await workKey(app, { store, kind: 'extract', key: item?.key ?? '' })).toMatchObject({
    outcome: 'nothing-new',
  });
  expect(coverageWhere(store.ledger).map((row) => row.disposition)).toEqual(['undone']);
});

test.each([
  [{}, 'Say what to undo'],
  [{ job: 'job_x', last: true }, 'Say what to undo'],
  [{ job: 'job_x' }, 'There is no job job_x'],
])('what cannot be undone is refused in a sentence: %j', async (request, message) => {
  const { app, store } = await testApp();
  await expect(app.undo(store, request)).rejects.toThrow(message);
});
