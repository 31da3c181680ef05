// A list of operations of which code refuses some: the others stand, only what was refused is asked for again, and what is
// left at the end waits for another night.

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { unplacedOf } from '../../../jobs/dream/topic-draft.ts';
import { entriesWhere } from '../../../src/memory/entries.ts';
import { lineId } from '../../../src/memory/text/topic.ts';
import { ENGINE_TAKEN, skipped } from '../../support/memory-world.ts';
import { inNights, put, told } from '../../support/night-world.ts';

const A = 'The harvest runs on crates.';
const B = 'The press runs on barrels.';

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('where one of two is refused, the other stands, the refused keeps its number, and only it is sent again', () =>
    inNights(engine, async ({ night, file }) => {
      const { report, ids, requests } = await night([A, B], ([a, b], call) =>
        call === 1
          ? [put(a, A), put(b, 'The press runs on port 9000.')]
          : [put(b, B, { type: undefined, description: undefined })],
      );
      expect(report).toMatchObject({ outcome: 'dreamed', left: [] });
      expect(requests).toHaveLength(2);
      const said = told(requests[1]);
      expect(said).toContain('These stand, and are not to be sent again: operations 0.');
      expect(said).toContain('operations[1] (put): nothing that');
      expect(said).toContain(`Send only operations for what is left: ${ids[1]}.`);
      expect(await file('facts.md')).toContain(`- ${A}\n- ${B}\n`);
    }));

  it('one new line of four that is refused waits for the next night, rather than be asked for at the price of all', () =>
    inNights(engine, async ({ night, states }) => {
      const others = ['The mill stands on the hill.', 'The cart has two wheels.', 'The well is dry in August.'];
      const wrong = 'The press runs on port 9000.';
      const one = await night([...others, B], (ids) => [...others, wrong].map((text, at) => put(ids[at], text)));
      expect(one.requests).toHaveLength(1);
      expect(one.report).toMatchObject({ left: [{ entry: one.ids[3], check: expect.stringContaining('"9000"') }] });
      expect((await states())[B]).toBe('new');
      const two = await night([], () => [put(one.ids[3], B)]);
      expect(two.report).toMatchObject({ outcome: 'dreamed', left: [] });
    }));

  it('what is left waits with its reason, after three nights rests, and is told with what stood in its way', () =>
    inNights(engine, async ({ night, states, row, db }) => {
      const wrong = 'The harvest runs on port 9000.';
      const one = await night([A, B], ([a, b], call) => (call === 1 ? [put(a, wrong), put(b, B)] : null));
      const [a = ''] = one.ids;
      expect(one.report).toMatchObject({
        outcome: 'dreamed',
        left: [{ entry: a, check: expect.stringContaining('"9000"') }],
      });
      expect(await states()).toEqual({ [A]: 'new', [B]: 'placed' });
      const two = await night([], () => [put(a, wrong)]);
      expect(two.report).toMatchObject({ outcome: 'failed', error: { code: 'bad-reply' }, left: [{ entry: a }] });
      const input = JSON.stringify(two.requests[0]?.messages);
      expect(input).toContain('What another run of you proposed');
      expect(input).toContain('says \\"9000\\"');
      await night([], () => [put(a, wrong)]);
      const unplaced = await unplacedOf(db, row.id, await entriesWhere(db, row.id, "and state = 'new'"));
      expect(unplaced).toMatchObject([{ entry: a, nights: 3 }]);
      expect((await night([], () => [put(a, wrong)])).requests).toEqual([]);
    }));

  it('what else a line says that goes is asked about, and goes in one more request when it is no longer true', () =>
    inNights(engine, async ({ night, file }) => {
      const old = 'The press has a limit of 3000; bisected by Kim, at 4000 the valve of #96 still leaks.';
      const text = 'The press has a limit of 5000 again: it was the cellar.';
      const over = ['a limit of 3000, bisected by Kim', 'at 4000 the valve of #96 still leaks'];
      await night([old], ([a]) => [put(a, old)]);
      const { report, requests } = await night([text], ([a], call) => [
        put(a, text, { out: [lineId(old)], ...(call > 1 && { over }) }),
      ]);
      expect(report).toMatchObject({ outcome: 'dreamed', left: [] });
      expect(told(requests[1])).toContain('keep it in a line, or where it is no longer true, name it in');
      expect(report.operations).toMatchObject([{ kind: 'change', gone: [old], came: [text], over }]);
      expect(await file('facts.md')).toContain(`- ${text}\n`);
      expect(await file('facts.md')).not.toContain('#96');
    }));

  it('a line that replaces another rests on the entries whose words it still says, the other entry gave way', () =>
    inNights(engine, async ({ night, states, db, row }) => {
      const old = 'The press runs on barrels in the cellar.';
      await night([old], ([id]) => [put(id, old)]);
      const line = 'The press runs on barrels in the cellar since the flood, with `crank --slow`.';
      const said = 'Since the flood the press runs with `crank --slow`.';
      await night([said], ([id]) => [put(id, line, { out: [lineId(old)] })]);
      const sources = await db.all('select source from rests where memory = ? and line = ?', row.id, lineId(line));
      expect(sources).toHaveLength(2);
      const newer = 'The press stands still since 2027.';
      await night([newer], ([id]) => [put(id, newer, { out: [lineId(line)], over: ['crank --slow', line] })]);
      expect(await states()).toEqual({ [old]: 'dropped', [said]: 'dropped', [newer]: 'placed' });
    }));

  it('a topic is renamed with its history, what its lines rest on and its line in the index', () =>
    inNights(engine, async ({ night, file, has, db, row }) => {
      await night([A], ([a]) => [put(a, A)]);
      const rename = { kind: 'rename', topic: 'facts', to: 'harvest', description: 'Harvest and press', reason: 'So.' };
      const { report } = await night([B], ([b]) => [rename, put(b, B, { topic: 'harvest' })]);
      expect(report).toMatchObject({ outcome: 'dreamed', refused: [] });
      expect(has('facts.md')).toBe(false);
      expect(await file('harvest.md')).toContain('name: harvest\ndescription: Harvest and press');
      expect(await file('harvest.md')).toContain(`- ${A}\n- ${B}\n`);
      expect(await file('MEMORY.md')).toContain('[harvest.md]');
      expect(await file('MEMORY.md')).not.toContain('facts.md');
      const rests = await db.all<{ path: string; line: string }>(
        `select f.path, r.line from rests r join file f on f.memory = r.memory and f.id = r.file
         where r.memory = ? and r.source <> 'index' order by f.path, r.line`,
        row.id,
      );
      expect(rests).toEqual([lineId(A), lineId(B)].sort().map((line) => ({ path: 'harvest.md', line })));
    }));

  it('a topic that a person wrote in keeps its name', () =>
    inNights(engine, async ({ night, dir, file }) => {
      await night([A], ([a]) => [put(a, A)]);
      const rename = { kind: 'rename', topic: 'facts', to: 'harvest', reason: 'x' };
      appendFileSync(join(dir, 'facts.md'), '- Mine.\n');
      const C = 'The mill stands still.';
      const two = await night([C], ([c], call) => (call === 1 ? [rename, put(c, C)] : null));
      expect(told(two.requests[1])).toContain('a person wrote in facts');
      expect(await file('facts.md')).toContain('- Mine.\n');
    }));

  it('a topic of which a model finds the request too long is asked about in halves', () =>
    inNights(engine, async ({ night, file }) => {
      const facts = Array.from(
        { length: 30 },
        (_, n) => `Vat ${n} holds ${n + 100} litres of the ${'red '.repeat(60)}wine.`,
      );
      let asked = 0;
      const { report } = await night(facts, (ids, call) => {
        asked = call;
        return ids.slice((call - 1) * 15, call * 15).map((id, at) => put(id, facts[(call - 1) * 15 + at] as string));
      });
      expect([report.outcome, asked > 1]).toEqual(['dreamed', true]);
      expect((await file('facts.md')).match(/^- /gm)?.length).toBeGreaterThan(10);
    }));
});
