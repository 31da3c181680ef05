// A night of the next house, through the real job and the SDK, on both engines: what becomes of entries, files and rows.

import { describe, expect, test } from 'vitest';
import { ENGINES, skipped } from '../../next-memory.ts';
import { inNights, put } from '../../next-nights.ts';

const A = 'The harvest runs on crates.';
const B = 'The press runs on barrels.';

describe.each(ENGINES)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('entries become a topic and a line of the index, and each row says where its entry went', () =>
    inNights(engine, async ({ night, file, db, row, states }) => {
      const { report, ids } = await night([A, B, 'It is raining today.'], ([a, b, c]) => [
        put(a, A),
        put(b, B),
        { kind: 'drop', entries: [c], because: 'ephemeral', reason: 'Of the day.' },
      ]);
      expect(report).toMatchObject({ outcome: 'dreamed', left: [], refused: [], index: { topics: 1 } });
      expect(await file('facts.md')).toBe(
        `---\nname: facts\ndescription: Facts\ntype: project\n---\n\n- ${A}\n- ${B}\n`,
      );
      expect(await file('MEMORY.md')).toBe('# Memory\n\n## Project\n- Facts [facts.md]\n');
      expect(await states()).toEqual({ [A]: 'placed', [B]: 'placed', 'It is raining today.': 'dropped' });
      const rests = await db.all<{ source: string }>(
        "select source from rests where memory = ? and source <> 'index'",
        row.id,
      );
      expect(rests.map(({ source }) => source).sort()).toEqual(ids.slice(0, 2).sort());
      const job = await db.get<{ status: string; output: string }>(
        'select status, output from job where id = ?',
        report.job,
      );
      expect(job?.status).toBe('completed');
      expect(JSON.parse(job?.output ?? '').operations).toMatchObject([
        { kind: 'add', topic: 'facts.md', came: [A] },
        { kind: 'add', topic: 'facts.md', came: [B] },
        { kind: 'drop', reason: 'Of the day.' },
      ]);
    }));
});
