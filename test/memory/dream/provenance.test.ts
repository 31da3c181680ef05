import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { removeLines } from '../../../jobs/forget.ts';
import { explainLines, restingOn, toldOf } from '../../../src/memory/dream/provenance.ts';
import { allEntries } from '../../../src/memory/ledger/entries.ts';
import { testApp } from '../../support/app.ts';
import { jobsInProcess } from '../../support/jobs-in-process.ts';
import { runHere } from '../../support/run-here.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

const TOPIC = 'working-agreements.md';

async function dreamt(...said: string[]) {
  const dir = tempDir();
  const jobs = await jobsInProcess(dir);
  const session = aSession(said);
  await jobs.extract(session.path);
  await jobs.dream();
  const edit = (change: (text: string) => string) =>
    writeFileSync(join(dir, TOPIC), change(readFileSync(join(dir, TOPIC), 'utf8')));
  return { dir, jobs, session, edit };
}

test('a line is explained down to the words, who said them, when, and in which transcript', async () => {
  const { jobs, session } = await dreamt('Always use pnpm instead of npm.', 'Never commit to main directly.');
  const [line, other] = await explainLines(jobs.store, { path: TOPIC });
  expect(line).toMatchObject({
    number: 7,
    text: 'Always use pnpm instead of npm.',
    isPersons: false,
    entries: [
      {
        by: 'human',
        session: session.id,
        turn: session.turn(1),
        at: '2026-11-20T09:00:10.000Z',
        log: 'logs/2026/11/2026-11-20.md',
        transcript: session.path,
        evidence: [{ message: session.turn(1), quote: 'Always use pnpm instead of npm.' }],
      },
    ],
  });
  expect(await explainLines(jobs.store, { path: TOPIC, line: '8' })).toEqual([other]);
  expect(await explainLines(jobs.store, { path: TOPIC, line: other?.id })).toEqual([other]);
  await expect(explainLines(jobs.store, { path: TOPIC, line: '99' })).rejects.toThrow('has no memory at 99');
  await expect(explainLines(jobs.store, { path: 'nothing.md' })).rejects.toThrow('no topic');
  jobs.close();
});

test('what a line rests on follows it when it is said again, reformatted by hand, or moved to another topic', async () => {
  const { dir, jobs, edit } = await dreamt('Always use pnpm instead of npm.');
  const session = aSession(['Always use pnpm instead of npm!'], { id: '22222222-2222-4333-8444-555555555555' });
  await jobs.extract(session.path);
  await jobs.dream();
  const restsOn = async (path: string) => (await explainLines(jobs.store, { path })).map((line) => line.entries.length);
  expect(await restsOn(TOPIC)).toEqual([2]);
  edit((text) => text.replace('- Always use pnpm instead of npm', '* always use **pnpm**, instead of npm'));
  jobs.store.bringFilesUpToDate();
  await jobs.dream();
  expect(await restsOn(TOPIC)).toEqual([2]);
  const line = /^\* .*$/m.exec(readFileSync(join(dir, TOPIC), 'utf8'))?.[0] ?? '';
  edit((text) => text.replace(line, '* Something else.'));
  writeFileSync(join(dir, 'other.md'), `---\nname: other\ndescription: Other\ntype: feedback\n---\n${line}\n`);
  await jobs.dream();
  expect(await restsOn('other.md')).toEqual([2]);
  jobs.close();
});

test('a line that a person makes say something else is the person’s', async () => {
  const { jobs, edit } = await dreamt('Always use pnpm instead of npm.');
  edit((text) => text.replace('pnpm instead of npm', 'yarn instead of npm'));
  await jobs.dream();
  expect(await explainLines(jobs.store, { path: TOPIC })).toMatchObject([{ isPersons: true, entries: [] }]);
  jobs.close();
});

test('what rests on an entry alone is told from what rests on others too, and can be removed', async () => {
  const { dir, jobs } = await dreamt('Always use pnpm instead of npm.', 'Never commit to main directly.');
  const session = aSession(['Never commit to main directly.'], { id: '22222222-2222-4333-8444-555555555555' });
  await jobs.extract(session.path);
  await jobs.dream();
  appendFileSync(join(dir, TOPIC), '- By hand.\n');
  const first = allEntries(jobs.store.ledger).filter((entry) => entry.session.startsWith('1111'));
  const resting = await restingOn(
    jobs.store,
    first.map(({ id }) => id),
  );
  expect(resting.alone.map(({ text }) => text)).toEqual(['Always use pnpm instead of npm.']);
  expect(resting.shared.map(({ text }) => text)).toEqual(['Never commit to main directly.']);
  await removeLines(jobs.store, resting.alone);
  const text = readFileSync(join(dir, TOPIC), 'utf8');
  expect(text).not.toContain('pnpm');
  for (const kept of ['Never commit to main directly.', 'By hand.']) expect(text).toContain(`- ${kept}\n`);
  jobs.close();
});

test('nocturne why shows the chain of a line, and what rests on an entry', async () => {
  const testing = await testApp();
  const session = aSession(['Always use pnpm instead of npm, says Zebulon.']);
  await testing.app.extract({ transcript: session.path, ended: true });
  await testing.app.dream(testing.store, {});
  const ask = (...args: string[]) => runHere(args, testing.environment);
  const shown = await ask('why', `${TOPIC}:7`);
  expect(shown).toMatchObject({ code: 0 });
  for (const part of ['Zebulon', '“Always use pnpm', 'said by you', session.id, session.path]) {
    expect(shown.stdout).toContain(part);
  }
  const [line] = JSON.parse((await ask('why', TOPIC, '--json')).stdout);
  expect(line.entries).toHaveLength(1);
  expect((await ask('why', line.entries[0].id)).stdout).toContain('on it alone');
  expect(await ask('why', 'none.md')).toMatchObject({ code: 1, stderr: expect.stringContaining('Nothing in') });
});

test('redact names the lines that rest on what it took out alone, and removes them where it is asked to', async () => {
  const testing = await testApp();
  await testing.app.extract({ transcript: aSession().path, ended: true });
  await testing.app.dream(testing.store, {});
  const topic = join(testing.dir, TOPIC);
  writeFileSync(topic, readFileSync(topic, 'utf8').replace('- Always use', '- always use'));
  await testing.app.dream(testing.store, {});
  await testing.app.close();
  const asked = await runHere(['redact', '--match', 'Always use pnpm', '--dry-run'], testing.environment);
  expect(asked.stdout).toContain('kept what rests on redacted entries alone (lines: 1; --with-lines removes it)');
  await runHere(['redact', '--match', 'Always use pnpm', '--with-lines'], testing.environment);
  // Nothing was left of it.
  expect(existsSync(topic)).toBe(false);
  expect(readFileSync(join(testing.dir, 'MEMORY.md'), 'utf8')).not.toContain(TOPIC);
});

test('an entry that a person takes out of its log is told as such, then retired by the dream with what rests on it', async () => {
  const { dir, jobs } = await dreamt('Always use pnpm instead of npm.', 'Never commit to main directly.');
  const [line] = await explainLines(jobs.store, { path: TOPIC });
  const entry = line?.entries[0];
  expect(entry).toMatchObject({ isInLog: true, state: 'distilled' });
  const log = join(dir, entry?.log as string);
  const withoutIt = (text: string) =>
    text
      .split(/^(?=- )/m)
      .filter((item) => !item.includes(entry?.id as string))
      .join('');
  writeFileSync(log, withoutIt(readFileSync(log, 'utf8')));
  expect((await explainLines(jobs.store, { path: TOPIC }))[0]?.entries[0]).toMatchObject({ isInLog: false });
  await jobs.dream();
  expect((await explainLines(jobs.store, { path: TOPIC })).map(({ text }) => text)).toEqual([
    'Never commit to main directly.',
  ]);
  expect(toldOf(dir, entry?.id as string)).toEqual([
    { day: '2026-11-21', op: 'retire', topic: null, reason: 'What it rested on is no longer in the logs.' },
    expect.objectContaining({ op: 'add', topic: TOPIC }),
  ]);
  jobs.close();
});
