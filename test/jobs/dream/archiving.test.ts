import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeSession } from '../../../src/memory/ledger/coverage.ts';
import { supportsOf } from '../../../src/memory/ledger/entries.ts';
import { rememberUses } from '../../../src/memory/recall/recall-uses.ts';
import type { FileChange } from '../../../src/memory/store/store.ts';
import { newTopic } from '../../../src/memory/text/topic.ts';
import { jobsInProcess } from '../../support/jobs-in-process.ts';
import { record, type Said } from '../../support/recorded.ts';
import { dirWith, tempDir } from '../../support/temp.ts';
import { tidyDreamer } from '../../support/tidy-dreamer.ts';

/** A memory whose clock a test sets, and a dream over what is said by then. */
async function memory({ review = false } = {}) {
  const dir = tempDir();
  let now = new Date('2026-01-10T02:00:00Z');
  const dreamer = tidyDreamer((subject) => subject.toLowerCase().replace(/[^a-z0-9]+/g, '-'));
  const jobs = await jobsInProcess(dir, { now: () => now }, { runAgent: dreamer.runAgent, review });
  return {
    dir,
    jobs,
    dreamer,
    ledger: jobs.store.ledger,
    file: (path: string) => readFileSync(join(dir, path), 'utf8'),
    isThere: (path: string) => existsSync(join(dir, path)),
    async dreamAt(day: string, ...said: Said[]) {
      now = new Date(`${day}T02:00:00Z`);
      await record(jobs.store, `${day}T01:00:00Z`, said);
      return jobs.dream();
    },
    /** A session ran in this directory; answers its id. */
    async ranIn(cwd: string, files: FileChange[] = []) {
      const session = { id: 'session-2026-01-10', cwd, path: '', format: '', sizeBytes: 0, modifiedAt: '' };
      await jobs.store.commit({ actor: 'person' }, () => ({ files, rows: (rows) => writeSession(rows, session) }));
      return session.id;
    },
    useAt: (day: string, path: string) =>
      rememberUses(jobs.store.ledger, { used: [path], now: new Date(`${day}T12:00:00Z`) }),
  };
}

const DUE: Said = { type: 'project', text: 'Release is due by 2026-02-01.' };
const NEWS = (n: number): Said => ({ type: 'user', text: `Answer ${n} is short.` });

test('a date that was to be met is archived 60 days after, with what it rests on, and comes back when it is touched', async () => {
  const { dreamAt, file, isThere, ledger, dreamer } = await memory();
  await dreamAt('2026-01-10', DUE);
  await dreamAt('2026-03-30', NEWS(1));
  expect(isThere('release.md')).toBe(true);
  const report = await dreamAt('2026-04-03', NEWS(2));
  expect(report.operations).toContainEqual(
    expect.objectContaining({ kind: 'archive', reason: 'Its date, 2026-02-01, is more than 60 days past.' }),
  );
  expect(isThere('release.md')).toBe(false);
  expect(file('archive/release.md')).toContain('- Release is due by 2026-02-01.');
  expect(supportsOf(ledger, 'archive/release.md')).toHaveLength(1);
  expect(file('MEMORY.md')).not.toContain('release.md');

  await dreamAt('2026-04-10', { type: 'project', text: 'Release is due by 2026-06-01.' });
  expect(dreamer.inputs.at(-1)).toMatch(/### release\.md .*\n\[[0-9a-f]{8}\] Release is due by 2026-02-01\./);
  expect(isThere('archive/release.md')).toBe(false);
  expect(file('release.md')).toContain('- Release is due by 2026-06-01.');
  expect(file('release.md')).not.toContain('2026-02-01');
  expect(supportsOf(ledger, 'release.md')).toHaveLength(1);
});

test('what goes on, was decided or is pinned has no date that can pass', async () => {
  const { dreamAt, isThere, dir } = await memory();
  const text = newTopic({ name: 'mine', description: 'Mine', type: 'project', lines: ['It is due by 2026-01-01.'] });
  writeFileSync(join(dir, 'mine.md'), text);
  await dreamAt(
    '2026-01-10',
    { type: 'project', text: 'Pnpm is the package manager since 2026-01-05.' },
    { type: 'project', text: 'Ana is who decided for Postgres on 2026-01-05.' },
    { type: 'feedback', text: 'Rule is to answer by 2026-01-05.' },
  );
  await dreamAt('2026-12-01', NEWS(1));
  for (const path of ['pnpm.md', 'ana.md', 'rule.md', 'mine.md']) expect([path, isThere(path)]).toEqual([path, true]);
});

test('a reference that nobody used for 180 days is archived, one that was used is not, nor user and feedback yet', async () => {
  const { dreamAt, isThere, useAt, file } = await memory();
  await dreamAt(
    '2026-01-10',
    { type: 'reference', text: 'Board is at https://b.example.' },
    { type: 'reference', text: 'Wiki is at https://w.example.' },
    { type: 'feedback', text: 'Style is plain.' },
    { type: 'user', text: 'Name is Ana.' },
  );
  // Where no use was ever recorded, that there was none says nothing.
  await dreamAt('2026-09-01', NEWS(1));
  expect(isThere('board.md')).toBe(true);
  useAt('2026-08-20', 'wiki.md');
  await dreamAt('2026-09-02', NEWS(2));
  expect(['board.md', 'wiki.md', 'style.md', 'name.md'].map(isThere)).toEqual([false, true, true, true]);
  expect(file('archive/board.md')).toContain('https://b.example');
  expect(file('.nocturne/dreams/2026-09-02.md')).toContain(
    'A reference topic that nobody used or changed for 180 days.',
  );
});

test('what CLAUDE.md of the project says is dropped with that reason; what only sounds like it is kept', async () => {
  const { dreamAt, ranIn, isThere, file } = await memory();
  const project = dirWith({ '.git/HEAD': 'ref: refs/heads/main\n' });
  const session = await ranIn(project);
  expect(
    await dreamAt('2026-01-10', { type: 'feedback', text: 'Commits is what we sign off.', session }),
  ).toMatchObject({
    outcome: 'dreamed',
  });
  expect(isThere('commits.md')).toBe(true);
  writeFileSync(
    join(project, 'CLAUDE.md'),
    '# Rules\n\n- **Commits** is what we `sign off`. Never say that npm is used here.\n- Lint is to be run first!\n',
  );
  const report = await dreamAt(
    '2026-01-11',
    { type: 'feedback', text: 'Lint is to be run first.', session },
    { type: 'feedback', text: 'Npm is used here.', session },
  );
  expect(report.operations.map(({ kind, reason }) => `${kind}: ${reason}`)).toEqual([
    'drop: CLAUDE.md says it.',
    'add: New.',
    'retire: CLAUDE.md says it now.',
  ]);
  expect(isThere('commits.md')).toBe(false);
  expect(file('npm.md')).toContain('- Npm is used here.');
});

test('what CLAUDE.md says and what a memory that is no topic says is dropped at once, each with what says it', async () => {
  const { dreamAt, ranIn, file } = await memory();
  const session = await ranIn(dirWith({ 'CLAUDE.md': '- Lint is to be run first.\n' }), [
    { path: 'notes/board.md', change: () => '- The board is what we look at.\n' },
  ]);
  const report = await dreamAt(
    '2026-01-10',
    { type: 'feedback', text: 'The board is what we look at.', session },
    { type: 'feedback', text: 'Lint is to be run first.', session },
  );
  expect(report.operations.map(({ kind, reason }) => `${kind}: ${reason}`).sort()).toEqual([
    'drop: CLAUDE.md says it.',
    'drop: notes/board.md says it.',
  ]);
  expect(file('.nocturne/dreams/2026-01-10.md').match(/^## /gm)).toHaveLength(1);
});

test('a project whose CLAUDE.md leads to a device says nothing, and the dream ends', async () => {
  const { dreamAt, ranIn } = await memory();
  const project = tempDir();
  symlinkSync('/dev/zero', join(project, 'CLAUDE.md'));
  const session = await ranIn(project);
  const said = { type: 'feedback', text: 'Commits is what we sign off.', session } as const;
  expect(await dreamAt('2026-01-10', said)).toMatchObject({ outcome: 'dreamed' });
});

test('in review mode what would be put away waits once, is put away when a person says so, and stays when not', async () => {
  const { dreamAt, jobs, isThere, file, ledger } = await memory({ review: true });
  await dreamAt('2026-01-10', DUE, { type: 'project', text: 'Audit is due by 2026-02-02.' });
  await jobs.review({ word: { kind: 'accept' } });
  expect(await dreamAt('2026-04-10')).toMatchObject({ outcome: 'nothing-new' });
  await dreamAt('2026-04-11', NEWS(1));
  await dreamAt('2026-04-12', NEWS(2));
  const away = (await jobs.proposals()).filter(({ kind }) => kind === 'archive');
  expect(away.map(({ topic }) => topic)).toEqual(['audit.md', 'release.md']);
  expect(away[1]?.diff).toContain('+++ archive/release.md');
  expect(away[1]?.entries).toMatchObject([{ text: DUE.text }]);
  const [audit, release] = away.map(({ id }) => id);
  await jobs.review({ ids: [release ?? ''], word: { kind: 'accept' } });
  await jobs.review({ ids: [audit ?? ''], word: { kind: 'reject', because: 'It goes on.' } });
  expect([isThere('release.md'), isThere('audit.md')]).toEqual([false, true]);
  expect(file('archive/release.md')).toContain(DUE.text);
  expect(supportsOf(ledger, 'archive/release.md')).toHaveLength(1);
  await dreamAt('2026-05-12', NEWS(3));
  expect((await jobs.proposals()).filter(({ kind }) => kind === 'archive')).toEqual([]);
});
