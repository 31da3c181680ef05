// What a night puts away by code: dates that are past, what nobody used, what the project's own files say; and how it comes back.

import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { DreamReport } from '../../../jobs/dream.ts';
import { DAY_MS } from '../../../src/base/time.ts';
import { insert } from '../../../src/db/sql.ts';
import { headAt } from '../../../src/memory/file-rows.ts';
import { restsOf } from '../../../src/memory/rests.ts';
import { newTopic } from '../../../src/memory/text/topic.ts';
import { ENGINE_TAKEN, skipped } from '../../support/memory-world.ts';
import { inNights, type Nights, record, type Said } from '../../support/night-world.ts';
import { dirWith, tempDir } from '../../support/temp.ts';
import { tidyDreamer } from '../../support/tidy-dreamer.ts';

interface Archived extends Nights {
  /** What each request showed. */
  inputs: string[];
  dreamAt(day: string, ...said: Said[]): Promise<DreamReport>;
  /** How many entries the lines of a topic rest on. */
  rests(path: string): Promise<number>;
}

const DUE: Said = { type: 'project', text: 'Release is due by 2026-02-01.' };
const NEWS = (n: number): Said => ({ type: 'user', text: `Answer ${n} is short.` });

const told = ({ operations }: DreamReport) => operations.map(({ kind, reason }) => `${kind}: ${reason}`);

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = (name: string, work: (memory: Archived) => Promise<void>) =>
    test.skipIf(skipped(engine) !== '')(name, () => {
      const { runAgent, inputs } = tidyDreamer((subject) => subject.toLowerCase().replace(/[^a-z0-9]+/g, '-'));
      return inNights(
        engine,
        (nights) =>
          work({
            ...{ ...nights, inputs },
            async dreamAt(day, ...said) {
              nights.wait((Date.parse(`${day}T02:00:00Z`) - nights.now().getTime()) / DAY_MS);
              await record(nights, nights.row.id, `${day}T01:00:00Z`, said);
              return nights.dream();
            },
            async rests(path) {
              const head = await headAt(nights.db, nights.row.id, path);
              return (await restsOf(nights.db, nights.row.id, head?.id ?? '')).length;
            },
          }),
        { runAgent, startsAt: '2026-01-10T02:00:00Z' },
      );
    });

  it('a date that was to be met is put away 60 days after, with what it rests on, and comes back when it is touched', async (here) => {
    const { dreamAt, file, has, rests, inputs } = here;
    await dreamAt('2026-01-10', DUE);
    await dreamAt('2026-03-30', NEWS(1));
    expect(has('release.md')).toBe(true);
    const report = await dreamAt('2026-04-03', NEWS(2));
    expect(told(report)).toContain('archive: Its date, 2026-02-01, is more than 60 days past.');
    expect(has('release.md')).toBe(false);
    expect(await file('archive/release.md')).toContain('- Release is due by 2026-02-01.');
    expect(await rests('archive/release.md')).toBe(1);
    expect(await file('MEMORY.md')).not.toContain('release.md');

    await dreamAt('2026-04-10', { type: 'project', text: 'Release is due by 2026-06-01.' });
    expect(inputs.at(-1)).toMatch(/### release\.md .*\n\[[0-9a-f]{8}\] Release is due by 2026-02-01\./);
    expect(has('archive/release.md')).toBe(false);
    expect(await file('release.md')).toContain('- Release is due by 2026-06-01.');
    expect(await file('release.md')).not.toContain('2026-02-01');
    expect(await rests('release.md')).toBe(1);
  });

  it('what goes on, was decided or is a person’s has no date that can pass', async ({ dreamAt, has, dir }) => {
    const lines = ['It is due by 2026-01-01.'];
    writeFileSync(join(dir, 'mine.md'), newTopic({ name: 'mine', description: 'Mine', type: 'project', lines }));
    await dreamAt(
      '2026-01-10',
      { type: 'project', text: 'Pnpm is the package manager since 2026-01-05.' },
      { type: 'project', text: 'Ana is who decided for Postgres on 2026-01-05.' },
      { type: 'feedback', text: 'Rule is to answer by 2026-01-05.' },
    );
    await dreamAt('2026-12-01', NEWS(1));
    expect(['pnpm.md', 'ana.md', 'rule.md', 'mine.md'].filter((path) => !has(path))).toEqual([]);
  });

  it('a reference that nobody used for 180 days is put away, one that was used is not, nor user and feedback yet', async (here) => {
    const { dreamAt, has, file, db, row } = here;
    await dreamAt(
      '2026-01-10',
      { type: 'reference', text: 'Board is at https://b.example.' },
      { type: 'reference', text: 'Wiki is at https://w.example.' },
      { type: 'feedback', text: 'Style is plain.' },
      { type: 'user', text: 'Name is Ana.' },
    );
    // Where no use was ever recorded, that there was none says nothing.
    await dreamAt('2026-09-01', NEWS(1));
    expect(has('board.md')).toBe(true);
    const wiki = (await headAt(db, row.id, 'wiki.md'))?.id ?? '';
    await insert(db, 'topic_use', [
      { memory: row.id, file: wiki, shown: 0, used: 1, used_at: '2026-08-20T12:00:00.000Z' },
    ]);
    const report = await dreamAt('2026-09-02', NEWS(2));
    expect(['board.md', 'wiki.md', 'style.md', 'name.md'].map(has)).toEqual([false, true, true, true]);
    expect(await file('archive/board.md')).toContain('https://b.example');
    expect(told(report)).toContain('archive: A reference topic that nobody used or changed for 180 days.');
  });

  it('what CLAUDE.md of the project says is put away with that reason; what only sounds like it is kept', async (here) => {
    const { dreamAt, has, file } = here;
    const cwd = dirWith({ '.git/HEAD': 'ref: refs/heads/main\n' });
    await dreamAt('2026-01-10', { type: 'feedback', text: 'Commits is what we sign off.', cwd });
    expect(has('commits.md')).toBe(true);
    writeFileSync(
      join(cwd, 'CLAUDE.md'),
      '# Rules\n\n- **Commits** is what we `sign off`. Never say that npm is used here.\n- Lint is to be run first!\n',
    );
    const report = await dreamAt(
      '2026-01-11',
      { type: 'feedback', text: 'Lint is to be run first.', cwd },
      { type: 'feedback', text: 'Npm is used here.', cwd },
    );
    expect(told(report)).toEqual([
      'add: New.',
      'add: New.',
      'archive: CLAUDE.md says it now.',
      'archive: CLAUDE.md says it now.',
    ]);
    expect(['commits.md', 'lint.md'].map(has)).toEqual([false, false]);
    expect(await file('npm.md')).toContain('- Npm is used here.');
  });

  it('a project whose CLAUDE.md leads to a device says nothing, and the dream ends', async ({ dreamAt }) => {
    const cwd = tempDir();
    symlinkSync('/dev/zero', join(cwd, 'CLAUDE.md'));
    const said = { type: 'feedback', text: 'Commits is what we sign off.', cwd } as const;
    expect(await dreamAt('2026-01-10', said)).toMatchObject({ outcome: 'dreamed' });
  });

  it('in review mode nothing is put away', async ({ dreamAt, dream, wait, has }) => {
    await dreamAt('2026-01-10', DUE);
    wait(90);
    expect(await dream({}, { needsApproval: true })).toMatchObject({ outcome: 'nothing-new', proposals: [] });
    expect(has('release.md')).toBe(true);
  });
});
