import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allEntries, supportsByEntry, supportsOf } from '../../../src/memory/ledger/entries.ts';
import { lineId, parseTopic } from '../../../src/memory/text/topic.ts';
import { testModel } from '../../support/app.ts';
import { jobsInProcess } from '../../support/jobs-in-process.ts';
import { entriesShown, messagesBy, type Orders, obey, shown } from '../../support/obedient.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

const HABIT = 'The user has every change run through the review skill before it is pushed.';
const SESSIONS = ['11111111-2222-4333-8444-555555555555', '22222222-2222-4333-8444-555555555555'];

/** One line for all that it is shown, in the place of the one that shows the habit already. */
const together: Orders['propose'] = (request) => {
  const entries = entriesShown(request).map(({ id }) => id);
  const old = /^\[(\w{8})[^\]]*\] .*review skill/m.exec(shown(request, 'topics'))?.[1];
  const topic = {
    topic: shown(request, 'topics').includes('### habits.md') ? 'habits' : 'review',
    description: 'Before pushing: review',
    type: 'feedback',
  };
  const put = { kind: 'put', ...topic, in: [{ text: HABIT, entries }], reason: 'Shown.' };
  return [old ? { ...put, out: [old] } : put];
};

/** A directory of its own in which days and nights pass, each with a model that obeys. */
function world({ review = false } = {}) {
  const dir = tempDir();
  const open = async (now: string, orders: Orders) => {
    const model = await testModel(obey(orders));
    const jobs = await jobsInProcess(dir, now, { all: { model: 'test-model', access: model.access }, review });
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
        const session = aSession([said], { id, startsAt: `${date}T09:00:00Z` });
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
      return { report, model, states, jobs, ledger: jobs.store.ledger };
    },
  };
}

const MARKED = `Seen once, 2026-11-01: ${HABIT}`;

test('a line that one session shows is marked, and plain when another session shows it too', async () => {
  const { day, night, dir } = world();
  await day('2026-11-01', SESSIONS.slice(0, 1));
  const first = await night('2026-11-02', together);
  expect(first.report).toMatchObject({ outcome: 'dreamed', spend: { calls: 1 } });
  expect(first.states).toEqual([['habit', 'held']]);
  const read = () => readFileSync(join(dir, 'review.md'), 'utf8');
  expect(read()).toContain(`- ${MARKED}\n`);
  // Nothing happened: it costs nothing.
  expect((await night('2026-11-03', together)).report).toMatchObject({ outcome: 'nothing-new', spend: { calls: 0 } });

  await day('2026-11-06', SESSIONS.slice(1));
  const { report, states, ledger, model } = await night('2026-11-07', together);
  expect(report.outcome).toBe('dreamed');
  expect(shown(model.requests[0] as never, 'topics')).toContain(` seen once 2026-11-01] ${HABIT}`);
  expect(states).toEqual([
    ['habit', 'distilled'],
    ['habit', 'distilled'],
  ]);
  expect(read()).toContain(`- ${HABIT}\n`);
  expect(read()).not.toContain('Seen once');
  const habits = allEntries(ledger).filter(({ text }) => text === HABIT);
  for (const { id } of habits) expect(supportsByEntry(ledger, id)).toMatchObject([{ path: 'review.md' }]);
  expect(new Set(habits.map(({ session }) => session)).size).toBe(2);
});

test('dropped as a duplicate of its line, the second session makes it plain all the same', async () => {
  const { day, night, dir } = world();
  await day('2026-11-01', SESSIONS.slice(0, 1));
  await night('2026-11-02', together);
  await day('2026-11-06', SESSIONS.slice(1));
  await night('2026-11-07', (request) =>
    entriesShown(request).map(({ id }) => ({
      ...{ kind: 'drop', entries: [id], because: 'duplicate', of: lineId(MARKED), reason: 'Said.' },
    })),
  );
  expect(readFileSync(join(dir, 'review.md'), 'utf8')).toContain(`- ${HABIT}\n`);
});

test('a habit changes no line that somebody stated', async () => {
  const { day, night, dir } = world();
  const RULE = 'Always run the review skill before you push.';
  await day('2026-11-01', ['33333333-2222-4333-8444-555555555555'], RULE.replace('review', 'linter'));
  await night('2026-11-02', (request) =>
    entriesShown(request).map(({ id, text }) => ({
      ...{ kind: 'put', topic: 'review', description: 'Review', type: 'feedback', reason: 'New.' },
      in: [{ text, entries: [id] }],
    })),
  );
  const before = readFileSync(join(dir, 'review.md'), 'utf8');
  const [line] = parseTopic('review.md', before).lines;
  await day('2026-11-03', SESSIONS.slice(0, 1));
  const { model } = await night('2026-11-04', (request) => {
    const entries = entriesShown(request).map(({ id }) => id);
    return [
      {
        kind: 'put',
        topic: 'review',
        out: [line?.id],
        over: [line?.text],
        in: [{ text: HABIT, entries }],
        reason: 'x',
      },
    ];
  });
  expect(JSON.stringify(model.requests[1]?.messages)).toContain('what one session only showed');
  expect(readFileSync(join(dir, 'review.md'), 'utf8')).toBe(before);
});

test('a habit that nobody shows again within 30 days goes to the archive with that reason, without a model', async () => {
  const { day, night, dir } = world();
  await day('2026-10-01', SESSIONS.slice(0, 1));
  await night('2026-10-02', together);
  expect((await night('2026-10-31', together)).states).toEqual([['habit', 'held']]);
  const { report, states } = await night('2026-11-01', together);
  expect(report).toMatchObject({ outcome: 'dreamed', spend: { calls: 0 } });
  expect(report.operations).toMatchObject([{ kind: 'archive', reason: 'No other session showed it within 30 days.' }]);
  expect(states).toEqual([['habit', 'distilled']]);
  expect(readFileSync(join(dir, 'archive/review.md'), 'utf8')).toContain(HABIT);
  expect(readFileSync(join(dir, '.nocturne/dreams/2026-11-01.md'), 'utf8')).toContain('No other session showed it');
  expect((await night('2026-11-02', together)).report.outcome).toBe('nothing-new');
});

test('a line that a person edits is theirs: the mark goes, and it waits for nobody', async () => {
  const { day, night, dir } = world();
  await day('2026-11-01', SESSIONS.slice(0, 1));
  await night('2026-11-02', together);
  const path = join(dir, 'review.md');
  writeFileSync(path, readFileSync(path, 'utf8').replace('before it is pushed', 'before anything is pushed'));
  const { states, ledger } = await night('2026-11-03', together);
  const [line] = parseTopic('review.md', readFileSync(path, 'utf8')).lines;
  expect(line?.text).toBe('The user has every change run through the review skill before anything is pushed.');
  expect(states).toEqual([['habit', 'distilled']]);
  expect(supportsOf(ledger, 'review.md').filter((support) => support.line === line?.id)).toEqual([]);
  await night('2026-12-20', together);
  expect(readFileSync(path, 'utf8')).toContain('before anything is pushed');
});

test('in review it is a proposal like any other', async () => {
  const { day, night, dir } = world({ review: true });
  await day('2026-11-01', SESSIONS.slice(0, 1));
  const { jobs, report } = await night('2026-11-02', together);
  expect(report.outcome).toBe('proposed');
  expect(await jobs.proposals()).toMatchObject([
    { kind: 'add', topic: 'review.md', diff: expect.stringContaining(`+- ${MARKED}`) },
  ]);
  expect((await jobs.review({ word: { kind: 'accept' } })).decided).toMatchObject([{ outcome: 'accepted' }]);
  expect(readFileSync(join(dir, 'review.md'), 'utf8')).toContain(`- ${MARKED}\n`);
  expect(allEntries(jobs.store.ledger)).toMatchObject([{ state: 'held' }]);
});

test('taken back, a dream that made it plain leaves it marked, and one that wrote it leaves the entry new', async () => {
  const { day, night, dir } = world();
  await day('2026-11-01', SESSIONS.slice(0, 1));
  await night('2026-11-02', together);
  await day('2026-11-06', SESSIONS.slice(1));
  const { jobs } = await night('2026-11-07', together);
  await jobs.undo();
  expect(readFileSync(join(dir, 'review.md'), 'utf8')).toContain(MARKED);
  expect(allEntries(jobs.store.ledger).map(({ state }) => state)).toEqual(['held', 'new']);
});
