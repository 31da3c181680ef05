import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { asSeen } from '../../src/base/text/wording.ts';
import { allEntries } from '../../src/memory/ledger/entries.ts';
import { parseLog } from '../../src/memory/text/daily-log.ts';
import { jobsInProcess } from '../support/jobs-in-process.ts';
import { reviewedMemory } from '../support/reviewed.ts';

const DAY = '2026-11-21';
const LOG = `logs/2026/11/${DAY}.md`;

test('what a person says is in today’s log at once, with the words as evidence, and the next dream distils it once', async () => {
  const { store, dream, remember } = await jobsInProcess();
  const report = await remember({ text: 'Always use pnpm instead of npm.', type: 'feedback' });
  expect(report).toMatchObject({ outcome: 'remembered', path: LOG, redacted: 0, relativeDate: null });
  const [item] = parseLog(readFileSync(join(store.dir, LOG), 'utf8'), DAY);
  expect(item).toMatchObject({
    id: report.entry.id,
    kind: 'own',
    edited: false,
    by: 'human',
    strength: 'stated',
    evidence: [{ quote: 'Always use pnpm instead of npm.' }],
  });
  expect(allEntries(store.ledger)).toMatchObject([{ id: report.entry.id, state: 'new' }]);
  expect(await dream()).toMatchObject({ operations: [{ kind: 'add', entries: [report.entry.id] }] });
  expect(await dream()).toMatchObject({ outcome: 'nothing-new', operations: [] });
  expect(await store.read('working-agreements.md')).toContain('- Always use pnpm instead of npm.');
});

test('the same words twice are remembered once; after they were forgotten, again', async () => {
  const { store, dream, remember, undo } = await jobsInProcess();
  const say = () => remember({ text: 'I prefer short answers.', type: 'user' });
  const first = await say();
  expect(await say()).toMatchObject({ outcome: 'known', entry: first.entry, job: null });
  await dream();
  expect(await say()).toMatchObject({ outcome: 'known', entry: first.entry });
  expect(await undo()).toMatchObject({ kind: 'dream' });
  expect(await undo()).toMatchObject({ kind: 'remember', outcome: 'undone' });
  expect(await store.list()).toEqual([]);
  expect(await say()).toMatchObject({ outcome: 'remembered' });
});

test('who changes their mind and changes it back is remembered by the last word, however often', async () => {
  const { say, remember, dream, file, states } = await reviewedMemory({
    review: false,
    topicOf: (subject) => subject.replace(/\W+$/, ''),
  });
  const first = await say('Alpha', 1000);
  await say('Alpha', 1001);
  const again = await say('Alpha', 1000);
  expect(again).not.toBe(first);
  expect(await say('Alpha', 1000)).toBe(again);
  await dream();
  expect(file('alpha.md')).toContain('port 1000.');
  await remember({ text: 'I prefer short answers.', type: 'user' });
  expect(await say('Alpha', 1000)).toBe(again);
  const [other, back] = [await say('Alpha', 1001), await say('Alpha', 1000)];
  expect(states()).toMatchObject({ [other]: 'new', [back]: 'new' });
  await dream();
  expect(file('alpha.md')).toContain('- Alpha listens on port 1000.');
});

test('secrets stay out of log and ledger, and a relative date is pointed at', async () => {
  const { store, remember } = await jobsInProcess();
  const key = `ghp_${'a1B2c3D4e5'.repeat(4)}`.slice(0, 40);
  const report = await remember({ text: `Deploy tomorrow with ${key}`, type: 'project' });
  expect(report).toMatchObject({ redacted: 1, relativeDate: 'tomorrow' });
  expect(readFileSync(join(store.dir, LOG), 'utf8')).not.toContain(key);
  expect(JSON.stringify(allEntries(store.ledger))).not.toContain(key);
});

test('no words, and more than fit into a line, are refused with what to do instead', async () => {
  const { store, remember } = await jobsInProcess();
  for (const [text, remedy] of [
    [' \n\t', /in quotes/],
    ['x'.repeat(1_001), /in parts/],
  ] as const) {
    const refused = remember({ text, type: 'project' });
    await expect(refused).rejects.toMatchObject({ code: 'bad-input', remedy: expect.stringMatching(remedy) });
  }
  expect(await store.list()).toEqual([]);
});

test('characters that nobody sees are not kept', async () => {
  const { store, remember } = await jobsInProcess();
  const { entry } = await remember({ text: 'Use p\u200bnpm\u{e0041}\u{e0042} here.', type: 'project' });
  expect(entry.text).toBe('Use pnpm here.');
  expect(readFileSync(join(store.dir, LOG), 'utf8')).not.toMatch(/[\u200b\u{e0041}\u{e0042}]/u);
});

test('any text becomes one line of the log that reads back as it was kept', async () => {
  const { store, remember } = await jobsInProcess();
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), async (text) => {
      if (asSeen(text.replace(/[\s\p{Cc}]+/gu, ' ')) === '') return;
      const { entry } = await remember({ text, type: 'project' });
      const items = parseLog(readFileSync(join(store.dir, LOG), 'utf8'), DAY);
      expect(items.find((item) => item.id === entry.id)).toMatchObject({ text: entry.text, edited: false });
    }),
    { numRuns: 40 },
  );
});

test('what a person asked to be remembered gets a topic of its own where the one of its type is pinned', async () => {
  const { store, dream, remember } = await jobsInProcess();
  const mine = '---\nname: project-facts\ndescription: Facts\ntype: project\npinned: true\n---\n\n- Mine.\n';
  writeFileSync(join(store.dir, 'project-facts.md'), mine);
  await remember({ text: 'The harbour master has the keys.', type: 'project' });
  expect(await dream()).toMatchObject({ outcome: 'dreamed', left: [] });
  expect(await store.read('project-facts.md')).toBe(mine);
  expect(await store.read('more-project-facts.md')).toContain('- The harbour master has the keys.\n');
});
