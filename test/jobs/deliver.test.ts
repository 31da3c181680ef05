// Entries about the user on their way from a project to the user scope: what is kept where, once, and what becomes of
// them when the project takes them back.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../src/base/time.ts';
import { explainEntry } from '../../src/memory/dream/provenance.ts';
import { findFaults } from '../../src/memory/history/check.ts';
import { coverageWhere } from '../../src/memory/ledger/coverage.ts';
import { allEntries, outboxRows } from '../../src/memory/ledger/entries.ts';
import { openStore } from '../../src/memory/open.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { type JobsInProcess, jobsInProcess } from '../support/jobs-in-process.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const NOW = '2026-11-21T02:00:00Z';
const PNPM = 'Always use pnpm instead of npm.';
const TEA = 'I prefer tea over coffee.';
const TOLD_TEA = 'The user prefers tea over coffee.';
const LOG = 'logs/2026/11/2026-11-20.md';

async function userScope(): Promise<{ user: Store; asUser: JobsInProcess }> {
  const asUser = await jobsInProcess();
  return { user: asUser.store, asUser };
}

const project = (user: Store, dir = tempDir()) => jobsInProcess(dir, NOW, { user });

/** What the logs of a store say, entry by entry. */
function logged(store: Store): string[] {
  const path = join(store.dir, LOG);
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return [...text.matchAll(/^- \d\d:\d\d \*\*\w+\*\* (.*)$/gm)].map((match) => match[1] as string);
}

const statesOf = (store: Store) => Object.fromEntries(allEntries(store.ledger).map((row) => [row.text, row.state]));

/** A user scope that has tea from a project, and both sides' jobs. */
async function delivered() {
  const { user, asUser } = await userScope();
  const inProject = await project(user);
  const session = aSession([TEA, PNPM]);
  const report = await inProject.extract(session.path);
  await inProject.deliver();
  return { user, asUser, inProject, session, report };
}

test('an entry about the user is in the outbox with its coverage, and once delivered in the user scope alone', async () => {
  const { user } = await userScope();
  const { store, extract, dream, deliver } = await project(user);
  const { entries } = await extract(aSession([TEA, PNPM]).path);
  expect(entries.map(({ text, memory }) => [text, memory])).toEqual([
    [TOLD_TEA, user.dir],
    [PNPM, undefined],
  ]);
  expect(coverageWhere(store.ledger).map(({ disposition }) => disposition)).toEqual(['recorded', 'recorded']);
  expect(logged(store)).toEqual([PNPM]);
  expect(logged(user)).toEqual([]);
  expect(outboxRows(store.ledger)).toHaveLength(1);
  await deliver();
  expect(outboxRows(store.ledger)).toEqual([]);
  expect(logged(user)).toEqual([TOLD_TEA]);
  expect(logged(store)).toEqual([PNPM]);
  expect([statesOf(store), statesOf(user)]).toEqual([{ [TOLD_TEA]: 'sent', [PNPM]: 'new' }, { [TOLD_TEA]: 'new' }]);
  expect([await findFaults(store), await findFaults(user)]).toEqual([[], []]);
  await dream();
  expect(statesOf(store)).toEqual({ [TOLD_TEA]: 'sent', [PNPM]: 'distilled' });
});

test('a delivery that comes again changes nothing, whatever became of the entry in the user scope', async () => {
  const { user, asUser, inProject } = await delivered();
  const { store, deliver } = inProject;
  const again = async () => {
    store.ledger.run("insert into outbox (entry) select id from entry where state = 'sent'");
    await deliver();
    expect(outboxRows(store.ledger)).toEqual([]);
  };
  await again();
  expect(logged(user)).toEqual([TOLD_TEA]);
  await asUser.dream();
  await again();
  expect(statesOf(user)).toEqual({ [TOLD_TEA]: 'distilled' });
  writeFileSync(join(user.dir, LOG), '# 2026-11-20\n');
  await asUser.dream();
  await again();
  expect([logged(user), statesOf(user)]).toEqual([[], { [TOLD_TEA]: 'withdrawn' }]);
});

test('what is forgotten in the user scope is neither delivered again nor learned from another wording of the same words', async () => {
  const { user, asUser, inProject, session } = await delivered();
  expect(await asUser.forget('tea')).toMatchObject({ outcome: 'forgotten' });
  inProject.store.ledger.run("insert into outbox (entry) select id from entry where state = 'sent'");
  await inProject.deliver();
  rmSync(join(inProject.store.dir, '.nocturne'), { recursive: true });
  const afresh = await project(user, inProject.store.dir);
  await afresh.extract(session.path);
  afresh.store.ledger.run("update entry set id = 'e_000000000000', text = 'Likes tea.' where state = 'sent'");
  afresh.store.ledger.run("update outbox set entry = 'e_000000000000'");
  await afresh.deliver();
  expect([logged(user), statesOf(user)]).toEqual([[], { [TOLD_TEA]: 'forgotten' }]);
});

test('undo of the project’s job takes it out of the user scope, and redo puts it back, once', async () => {
  const { user, inProject } = await delivered();
  const { undo, deliver } = inProject;
  const undone = await undo();
  expect(undone).toMatchObject({ outcome: 'undone', turns: 2 });
  await deliver();
  expect([logged(user), statesOf(user)]).toEqual([[], { [TOLD_TEA]: 'withdrawn' }]);
  await undo({ job: undone.undo as string });
  await deliver();
  expect([logged(user), statesOf(user)]).toEqual([[TOLD_TEA], { [TOLD_TEA]: 'new' }]);
});

test('undone before it was delivered, nothing of it reaches the user scope', async () => {
  const { user } = await userScope();
  const { extract, undo, deliver, store } = await project(user);
  await extract(aSession([TEA]).path);
  await undo();
  await deliver();
  expect([logged(user), statesOf(user), outboxRows(store.ledger)]).toEqual([[], {}, []]);
});

test('what the user scope had distilled goes from its topics with the next dream after the project took it back', async () => {
  const { user, asUser, inProject } = await delivered();
  await asUser.dream();
  expect(await user.read('user-profile.md')).toContain(TOLD_TEA);
  await inProject.undo();
  await inProject.deliver();
  await asUser.dream();
  expect(await user.read('user-profile.md')).toBe(null);
});

test('a person’s edit in the user scope outlives the project’s undo', async () => {
  const { user, inProject } = await delivered();
  const path = join(user.dir, LOG);
  writeFileSync(path, readFileSync(path, 'utf8').replace('over coffee.\n', 'over coffee, in the morning.\n'));
  await inProject.undo();
  await inProject.deliver();
  expect(logged(user)).toEqual(['The user prefers tea over coffee, in the morning.']);
});

test('reprocessed, what is found again stays as it is, and what is not is taken back', async () => {
  const { user, inProject, session } = await delivered();
  const { store, reprocess, deliver } = inProject;
  await reprocess({ session: session.id });
  await deliver();
  expect([logged(user), outboxRows(store.ledger)]).toEqual([[TOLD_TEA], []]);
  writeFileSync(session.path, readFileSync(session.path, 'utf8').replace(TEA, 'Where do I find the tea?'));
  await reprocess({ session: session.id });
  expect(statesOf(store)).toEqual({ [TOLD_TEA]: 'withdrawn', [PNPM]: 'new' });
  await deliver();
  expect([logged(user), logged(store)]).toEqual([[], [PNPM]]);
});

test('forgotten in the project, it is forgotten in the user scope with the lines that rest on it', async () => {
  const { user, asUser, inProject, session } = await delivered();
  await asUser.dream();
  expect(await inProject.forget('tea over')).toMatchObject({
    outcome: 'forgotten',
    entries: [{ text: TOLD_TEA, scope: 'user' }],
  });
  await inProject.deliver();
  expect([statesOf(user), await user.read('user-profile.md')]).toEqual([{ [TOLD_TEA]: 'forgotten' }, null]);
  await inProject.reprocess({ session: session.id });
  await inProject.deliver();
  expect([statesOf(inProject.store)[TOLD_TEA], logged(user), logged(inProject.store)]).toEqual([
    'forgotten',
    [],
    [PNPM],
  ]);
});

test('two projects that hold a copy of one session send it once, and one of them alone does not take it back', async () => {
  const { user, inProject, session } = await delivered();
  const other = await project(user);
  await other.extract(session.path);
  await other.deliver();
  expect(logged(user)).toEqual([TOLD_TEA]);
  await inProject.undo();
  await inProject.deliver();
  expect(logged(user)).toEqual([TOLD_TEA]);
  await other.undo();
  await other.deliver();
  expect(logged(user)).toEqual([]);
});

test('a project whose ledger was lost delivers nothing twice', async () => {
  const { user, inProject, session } = await delivered();
  inProject.close();
  rmSync(join(inProject.store.dir, '.nocturne'), { recursive: true });
  const afresh = await project(user, inProject.store.dir);
  await afresh.extract(session.path);
  await afresh.deliver();
  expect([logged(user), logged(afresh.store)]).toEqual([[TOLD_TEA], [PNPM]]);
});

test('a user scope whose ledger was lost knows from its logs what it has', async () => {
  const { user, inProject } = await delivered();
  rmSync(join(user.dir, '.nocturne'), { recursive: true });
  const reopened = await openStore(user.dir, { clock: fixedClock(NOW) });
  onTestFinished(() => reopened.close());
  const { store, extract, deliver } = await project(reopened, inProject.store.dir);
  store.ledger.run("insert into outbox (entry) select id from entry where state = 'sent'");
  await extract(aSession(['I work on compilers.'], { id: '22222222-2222-4333-8444-555555555555' }).path);
  await deliver();
  expect(logged(reopened)).toEqual([TOLD_TEA, 'The user works on compilers.']);
});

test('an undo in the user scope takes a delivery back for good', async () => {
  const { user, asUser, inProject } = await delivered();
  expect(await asUser.undo()).toMatchObject({ outcome: 'undone', kind: 'deliver' });
  inProject.store.ledger.run("insert into outbox (entry) select id from entry where state = 'sent'");
  await inProject.deliver();
  expect([logged(user), statesOf(user)]).toEqual([[], {}]);
});

test('what was sent is explained on both sides: where it is, and where it came from', async () => {
  const { user, inProject, report, session } = await delivered();
  const id = report.entries[0]?.id as string;
  expect(explainEntry(inProject.store, id)).toMatchObject({ state: 'sent', transcript: session.path, sentFrom: [] });
  expect(explainEntry(user, id)).toMatchObject({
    state: 'new',
    by: 'human',
    evidence: [{ quote: TEA }],
    transcript: null,
    sentFrom: [inProject.store.dir],
  });
});

test('a directory that is the user scope itself keeps everything as ever', async () => {
  const dir = tempDir();
  const { user } = { user: await openStore(dir, { clock: fixedClock(NOW) }) };
  onTestFinished(() => user.close());
  const { extract, store } = await project(user, dir);
  await extract(aSession([TEA, PNPM]).path);
  expect([logged(store), outboxRows(store.ledger)]).toEqual([[TOLD_TEA, PNPM], []]);
});
