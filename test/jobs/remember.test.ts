// What a person says is kept at once and without a model; what an agent says in its shell is an agent's word.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asSeen } from '../../src/base/text/wording.ts';
import { parseLog } from '../../src/memory/text/daily-log.ts';
import { inJobs, type Jobs } from '../support/job-world.ts';
import { ENGINE_TAKEN, skipped } from '../support/memory-world.ts';

const DAY = '2026-11-21';
const LOG = `logs/2026/11/${DAY}.md`;
const PNPM = 'Always use pnpm instead of npm.';

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = (title: string, work: (jobs: Jobs) => Promise<void>) =>
    test.skipIf(skipped(engine) !== '')(title, () => inJobs(engine, work));

  it('what a person says is in today’s log at once, with the words as evidence, and the next dream sorts it once', async (here) => {
    const report = await here.remember({ text: PNPM, type: 'feedback' });
    expect(report).toMatchObject({ outcome: 'remembered', path: LOG, redacted: 0, relativeDate: null });
    expect(parseLog(here.file(LOG), DAY)).toMatchObject([
      {
        ...{ id: report.entry.id, kind: 'own', edited: false, by: 'human', strength: 'stated' },
        evidence: [{ quote: PNPM }],
      },
    ]);
    expect(await here.entries()).toMatchObject([{ id: report.entry.id, state: 'new', session: null, job: report.job }]);
    const job = await here.db.get('select kind, status, started_by as "by" from job where id = ?', report.job);
    expect(job).toEqual({ kind: 'remember', status: 'completed', by: 'person' });
    await here.dream();
    expect(here.file('working-agreements.md')).toContain(`- ${PNPM}`);
    expect(await here.states()).toEqual({ [PNPM]: 'placed' });
  });

  it('the same words twice are remembered once, sorted or not; after they were taken back, again', async (here) => {
    const say = () => here.remember({ text: 'I prefer short answers.', type: 'user' });
    const first = await say();
    expect(await say()).toMatchObject({ outcome: 'known', entry: first.entry, job: null });
    await here.dream();
    expect(await say()).toMatchObject({ outcome: 'known', entry: first.entry });
    expect(await here.undo()).toMatchObject({ kind: 'dream' });
    expect(await here.undo()).toMatchObject({ kind: 'remember', outcome: 'undone' });
    expect(existsSync(join(here.dir, LOG))).toBe(false);
    expect(await say()).toMatchObject({ outcome: 'remembered' });
  });

  it('who changes their mind and changes it back is remembered by the last word', async (here) => {
    const say = async (port: number, minute: number) => {
      here.setNow(`2026-11-21T02:0${minute}:00.000Z`);
      const { entry } = await here.remember({ text: `Alpha listens on port ${port}.`, type: 'project' });
      return entry.id;
    };
    const first = await say(1000, 1);
    await say(1001, 2);
    const again = await say(1000, 3);
    expect(again).not.toBe(first);
    expect(await say(1000, 4)).toBe(again);
  });

  it('what an agent says in its shell is not yet the person’s, and rests on no words', async (here) => {
    await here.remember({ text: PNPM, type: 'feedback', byAgent: true });
    expect(await here.entries()).toMatchObject([{ by: 'assistant', evidence: [] }]);
    here.setNow('2026-11-21T02:01:00.000Z');
    expect(await here.remember({ text: PNPM, type: 'feedback', byAgent: true })).toMatchObject({ outcome: 'known' });
    expect(await here.remember({ text: PNPM, type: 'feedback' })).toMatchObject({ outcome: 'remembered' });
    const by = await here.db.all('select distinct actor_kind as kind from version order by 1');
    expect(by).toEqual([{ kind: 'job' }, { kind: 'user' }]);
  });

  it('secrets stay out of log and rows, unseen characters too, and a relative date is pointed at', async (here) => {
    const key = `ghp_${'a1B2c3D4e5'.repeat(4)}`.slice(0, 40);
    const report = await here.remember({ text: `Deploy tomorrow with ${key}`, type: 'project' });
    expect(report).toMatchObject({ redacted: 1, relativeDate: 'tomorrow' });
    const { entry } = await here.remember({ text: 'Use p\u200bnpm\u{e0041}\u{e0042} here.', type: 'project' });
    expect(entry.text).toBe('Use pnpm here.');
    expect(here.file(LOG)).not.toMatch(new RegExp(`${key}|[\\u200b\\u{e0041}]`, 'u'));
    expect(JSON.stringify(await here.entries())).not.toContain(key);
  });

  it('no words, and more than fit into a line, are refused with what to do instead', async (here) => {
    for (const [text, remedy] of [
      [' \n\t', /in quotes/],
      ['x'.repeat(1_001), /in parts/],
    ] as const) {
      const refused = here.remember({ text, type: 'project' });
      await expect(refused).rejects.toMatchObject({ code: 'bad-input', remedy: expect.stringMatching(remedy) });
    }
    expect(await here.entries()).toEqual([]);
  });

  it('any text becomes one line of the log that reads back as it was kept', async (here) => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), async (text) => {
        if (asSeen(text.replace(/[\s\p{Cc}]+/gu, ' ')) === '') return;
        const { entry } = await here.remember({ text, type: 'project' });
        const items = parseLog(readFileSync(join(here.dir, LOG), 'utf8'), DAY);
        expect(items.find((item) => item.id === entry.id)).toMatchObject({ text: entry.text, edited: false });
      }),
      { numRuns: 20 },
    );
  });
});
