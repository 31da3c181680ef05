import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { allEntries, supportsByEntry } from '../../../src/memory/ledger/entries.ts';
import { testModel } from '../../support/app.ts';
import { jobsInProcess } from '../../support/jobs-in-process.ts';
import { toolResults } from '../../support/messages-server.ts';
import { entriesShown, messagesBy, type Orders, obey } from '../../support/obedient.ts';
import { sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

const HABIT = 'The user has every change run through the review skill before it is pushed.';
const SESSIONS = ['11111111-2222-4333-8444-555555555555', '22222222-2222-4333-8444-555555555555'];

const hold: Orders['propose'] = (request) =>
  entriesShown(request).map(({ id }) => ({ kind: 'hold', entries: [id], reason: 'Seen once.' }));

/** One line for all that it is shown. */
const together: Orders['propose'] = (request) => {
  const entries = entriesShown(request).map(({ id }) => id);
  const topic = { topic: 'review', description: 'Before pushing: review', type: 'feedback' };
  return [{ kind: 'add', entries, reason: 'Shown twice.', ...topic, lines: [{ text: HABIT, entries }] }];
};

/** A directory of its own in which days and nights pass, each with a model that obeys. */
function world() {
  const dir = tempDir();
  const open = async (now: string, orders: Orders) => {
    const model = await testModel(obey(orders));
    const jobs = await jobsInProcess(dir, now, { all: { model: 'test-model', access: model.access } });
    onTestFinished(() => jobs.close());
    return { jobs, model };
  };
  return {
    dir,
    async day(
      date: string,
      sessions: string[],
      said = 'Fix the login, and run it through the review skill before you push.',
    ) {
      const { jobs } = await open(`${date}T20:00:00Z`, {
        record: (request) =>
          messagesBy(request, 'human').map((message) => ({
            type: 'feedback',
            strength: said.includes('review') ? 'implied' : 'stated',
            text: said.includes('review') ? HABIT : said,
            evidence: [{ message, quote: said }],
          })),
      });
      for (const id of sessions) {
        const session = sessionFile(tempDir(), { id, startsAt: `${date}T09:00:00Z` });
        session.add(said);
        expect((await jobs.extract(session.path)).outcome).toBe('recorded');
      }
    },
    async night(date: string, propose: Orders['propose']) {
      const { jobs, model } = await open(`${date}T03:00:00Z`, { propose });
      const report = await jobs.dream();
      const states = allEntries(jobs.store.ledger).map(({ text, state }) => [
        text === HABIT ? 'habit' : 'other',
        state,
      ]);
      return { report, model, states, ledger: jobs.store.ledger };
    },
  };
}

test('a habit waits until another session shows it, and becomes one line that rests on both', async () => {
  const { day, night, dir } = world();
  await day('2026-11-01', SESSIONS.slice(0, 1));
  expect((await night('2026-11-02', hold)).states).toEqual([['habit', 'held']]);
  // Nothing happened, or nothing that could be a witness: it costs nothing.
  expect((await night('2026-11-03', hold)).report).toMatchObject({ outcome: 'nothing-new', spend: { calls: 0 } });
  await day('2026-11-04', ['33333333-2222-4333-8444-555555555555'], 'Never deploy on a Friday.');
  const other = await night('2026-11-05', (request) =>
    entriesShown(request).map(({ id }) => ({ kind: 'drop', entries: [id], reason: 'x', because: 'ephemeral' })),
  );
  expect(entriesShown(other.model.requests[0] as never).map(({ text }) => text)).toEqual(['Never deploy on a Friday.']);

  await day('2026-11-06', SESSIONS.slice(1));
  const { report, states, ledger } = await night('2026-11-07', together);
  expect(report.outcome).toBe('dreamed');
  expect(states.filter(([what]) => what === 'habit')).toEqual([
    ['habit', 'distilled'],
    ['habit', 'distilled'],
  ]);
  expect(readFileSync(join(dir, 'review.md'), 'utf8')).toContain(`- ${HABIT}\n`);
  const habits = allEntries(ledger).filter(({ text }) => text === HABIT);
  for (const { id } of habits) expect(supportsByEntry(ledger, id)).toMatchObject([{ path: 'review.md' }]);
  expect(new Set(habits.map(({ session }) => session)).size).toBe(2);
});

test('what one session alone shows is no line yet', async () => {
  const { day, night } = world();
  await day('2026-11-01', SESSIONS.slice(0, 1));
  const { report, model, states } = await night('2026-11-02', together);
  expect(report.outcome).toBe('failed');
  expect(JSON.stringify(toolResults(model.requests[1]))).toContain('only one session shows');
  expect(states).toEqual([['habit', 'new']]);
});

test('a habit that nobody shows again within 30 days is dropped with that reason, without a model', async () => {
  const { day, night, dir } = world();
  await day('2026-10-01', SESSIONS.slice(0, 1));
  await night('2026-10-02', hold);
  expect((await night('2026-10-31', hold)).states).toEqual([['habit', 'held']]);
  const { report, states } = await night('2026-11-01', hold);
  expect(report).toMatchObject({ outcome: 'dreamed', spend: { calls: 0 } });
  expect(report.operations).toMatchObject([{ kind: 'drop', reason: 'No other session showed it within 30 days.' }]);
  expect(states).toEqual([['habit', 'distilled']]);
  expect(readFileSync(join(dir, '.nocturne/dreams/2026-11-01.md'), 'utf8')).toContain('No other session showed it');
});
