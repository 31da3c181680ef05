// What one session only showed: marked, plain when another session shows it too, put away when none does, and never over what was said.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { undo } from '../../../jobs/undo.ts';
import { lineId, parseTopic } from '../../../src/memory/text/topic.ts';
import { ENGINE_TAKEN, skipped } from '../../support/memory-world.ts';
import { inNights, type Nights, put, type Said, told } from '../../support/night-world.ts';
import { shown } from '../../support/obedient.ts';

const HABIT = 'The user has every change run through the review skill before it is pushed.';
/** As the first night marks it. */
const MARKED = `Seen once, 2026-11-20: ${HABIT}`;
const shows = (session: string): Said => ({ type: 'feedback', strength: 'implied', text: HABIT, session });
const REVIEW = { topic: 'review', description: 'Before pushing: review', type: 'feedback' };
const isMarked = (line: string) => ({ out: [lineId(line)], ...REVIEW });

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = (name: string, work: (nights: Nights) => Promise<void>) =>
    test.skipIf(skipped(engine) !== '')(name, () => inNights(engine, work));
  /** The first session shows it. */
  const once = ({ night }: Nights) => night([shows('one')], ([id]) => [put(id, HABIT, REVIEW)]);

  it('a line that one session shows is marked, and plain when another session shows it too', async (here) => {
    const { night, file, db, dream } = here;
    expect((await once(here)).report.outcome).toBe('dreamed');
    expect(await file('review.md')).toContain(`- ${MARKED}\n`);
    // Nothing happened: it costs nothing.
    expect((await dream()).outcome).toBe('nothing-new');
    const { report, requests } = await night([shows('two')], ([id]) => [put(id, HABIT, isMarked(MARKED))]);
    expect(report.outcome).toBe('dreamed');
    expect(shown(requests[0] as never, 'topics')).toContain(` seen once 2026-11-20] ${HABIT}`);
    expect(await file('review.md')).toContain(`- ${HABIT}\n`);
    expect(await file('review.md')).not.toContain('Seen once');
    expect(await db.all('select source from rests where line = ?', lineId(HABIT))).toHaveLength(2);
    await undo({ job: report.job } as never, { memories: here.memories, environment: {} } as never);
    expect(await file('review.md')).toContain(MARKED);
  });

  it('the same session that shows it again leaves it marked', async (here) => {
    await once(here);
    await here.night([shows('one')], ([id]) => [put(id, HABIT, isMarked(MARKED))]);
    expect(await here.file('review.md')).toMatch(/- Seen once, 2026-11-2\d: The user has every change/);
  });

  it('shown on another occasion it is plain at once, and says no occasion that only one session had', async (here) => {
    const on = (occasion: string) => `Bump all versions where a branch brings features (${occasion}).`;
    const said = (text: string, session: string): Said => ({ ...shows(session), text });
    const first = on('asked for on `add-mill`');
    await here.night([said(first, 'one')], ([id]) => [put(id, first, REVIEW)]);
    const marked = isMarked(`Seen once, 2026-11-20: ${first}`);
    const { requests } = await here.night([said(on('missed on `old-press`'), 'two')], ([id]) => [
      put(id, on('asked for on `add-mill`, missed on `old-press`'), marked),
    ]);
    expect(requests).toHaveLength(1);
    expect(await here.file('review.md')).toContain('- Bump all versions where a branch brings features.\n');
  });

  it('what is said in brackets stays, and so does what a statement names there', async (here) => {
    const text = 'The mill runs on the old command line (ships in 0.6.2+).';
    const mill = { topic: 'mill', description: 'How the mill runs', type: 'project' };
    const { requests } = await here.night([{ type: 'project', text }], ([id]) => [put(id, text, mill)]);
    expect(requests).toHaveLength(1);
    expect(await here.file('mill.md')).toContain('(ships in 0.6.2+)');
  });

  it('shown on another occasion with a bound it is refused, as what is left would say more', async (here) => {
    const said = (text: string, session: string): Said => ({ ...shows(session), text });
    const first = 'Bump all versions where a branch brings features.';
    await here.night([said(first, 'one')], ([id]) => [put(id, first, REVIEW)]);
    const marked = isMarked(`Seen once, 2026-11-20: ${first}`);
    const bound = 'Bump all versions where a branch brings features (not for the docs folder).';
    const { requests } = await here.night([said(bound, 'two')], ([id]) => [put(id, bound, marked)]);
    expect(told(requests[1])).toContain('one session only showed');
  });

  it('of a line of which another session shows a part, that part is plain, and the other stays marked', async (here) => {
    const [tests, linter] = ['Writes the tests first.', 'Runs the linter skill before a push.'];
    const both = `${tests} ${linter}`;
    const said = (text: string, session: string): Said => ({ ...shows(session), text });
    await here.night([said(both, 'one')], ([id]) => [put(id, both, REVIEW)]);
    const marked = isMarked(`Seen once, 2026-11-20: ${both}`);
    const parts = (id = '') => [
      { text: tests, entries: [id] },
      { text: linter, entries: [] },
    ];
    const tries = [both, parts];
    const { requests } = await here.night([said('Wants the tests written first.', 'two')], ([id]) => {
      const next = tries.shift();
      return [typeof next === 'function' ? { ...put(id, '', marked), in: next(id) } : put(id, both, marked)];
    });
    expect(told(requests[1])).toContain('one session only showed');
    expect(await here.file('review.md')).toContain(`- ${tests}\n- Seen once, 2026-11-20: ${linter}\n`);
    expect(await here.db.all('select source from rests where line = ?', lineId(tests))).toHaveLength(2);
  });

  it('what another session found takes the place of what was found before, though they share most words', async (here) => {
    const found = (text: string, session: string): Said => ({
      type: 'project',
      strength: 'implied',
      found: 'place',
      text,
      session,
    });
    const topic = { topic: 'layout', description: 'Where the skills live', type: 'project' };
    const [before, now] = [
      'The skills of the plugin live in plugins/entire/skills.',
      'The skills of the plugin live in skills at the root.',
    ];
    await here.night([found(before, 'one')], ([id]) => [put(id, before, topic)]);
    const out = [lineId(`Seen once, 2026-11-20: ${before}`), lineId(`Found by the agent, 2026-11-20: ${before}`)];
    const standing = (await here.file('layout.md')) ?? '';
    const marked = out.filter((_, n) => standing.includes(n === 0 ? 'Seen once' : 'Found by'));
    const { requests } = await here.night([found(now, 'two')], ([id]) => [
      put(id, now, { ...topic, out: marked, over: ['plugins/entire/skills'] }),
    ]);
    expect(requests).toHaveLength(1);
    expect(await here.file('layout.md')).toMatch(
      /- \w[\w ]+, 2026-11-2\d: The skills of the plugin live in skills at the root\.\n$/,
    );
  });

  it('dropped as a duplicate of its line, the second session makes it plain all the same', async (here) => {
    await once(here);
    const drop = { kind: 'drop', because: 'duplicate', of: lineId(MARKED), reason: 'Said.' };
    await here.night([shows('two')], ([id]) => [{ ...drop, entries: [id] }]);
    expect(await here.file('review.md')).toContain(`- ${HABIT}\n`);
  });

  it('a habit changes no line that somebody stated', async ({ night, file }) => {
    const rule = 'Always run the linter skill before you push.';
    await night([{ type: 'feedback', text: rule }], ([id]) => [put(id, rule, REVIEW)]);
    const before = await file('review.md');
    const { requests } = await night([shows('two')], ([id]) => [put(id, HABIT, { ...isMarked(rule), over: [rule] })]);
    expect(told(requests[1])).toContain('what one session only showed');
    expect(await file('review.md')).toBe(before);
  });

  it('a habit that nobody shows again within 30 days goes to the archive with that reason, without a model', async (here) => {
    await once(here);
    here.wait(29);
    expect((await here.dream()).outcome).toBe('nothing-new');
    here.wait(2);
    const { report, requests } = await here.night([], () => null);
    expect(report).toMatchObject({ outcome: 'dreamed' });
    expect(report.operations).toMatchObject([
      { kind: 'archive', reason: 'No other session showed it within 30 days.' },
    ]);
    expect(requests).toEqual([]);
    expect(await here.file('archive/review.md')).toContain(HABIT);
    here.wait(1);
    expect((await here.dream()).outcome).toBe('nothing-new');
  });

  it('a line that a person edits is theirs, and waits for nobody', async (here) => {
    const { file, dir, db, night, wait } = here;
    await once(here);
    const text = await file('review.md');
    wait(1);
    writeFileSync(join(dir, 'review.md'), text.replace('before it is pushed', 'before anything is pushed'));
    await night(['The press runs on barrels.'], ([id]) => [put(id, 'The press runs on barrels.')]);
    const [line] = parseTopic('review.md', await file('review.md')).lines;
    expect(line?.text).toContain('The user has every change run through the review skill before anything is pushed.');
    expect(await db.all('select source from rests where line = ?', line?.id ?? '')).toEqual([]);
    wait(40);
    await night(['The mill runs on water.'], ([id]) => [put(id, 'The mill runs on water.')]);
    expect(await file('review.md')).toContain('before anything is pushed');
  });
});
