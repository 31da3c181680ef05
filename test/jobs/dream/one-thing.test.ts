// Two texts of which words do not tell whether they speak of one thing: the model is asked once, a person reads what it answered;
// and lines that contradict one another are shown together, so that a night can mend them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { toldOf } from '../../../src/memory/dream/provenance.ts';
import { lineId } from '../../../src/memory/text/topic.ts';
import { add, nights, told } from '../../support/answered-nights.ts';
import { shown } from '../../support/obedient.ts';
import type { Said } from '../../support/recorded.ts';

const HABIT = 'Looks at the patch before it is merged.';
const AGAIN = 'Has it explained what became different before it goes in.';

test('a habit that another session shows in other words is asked about once, and is plain by an answer that a person reads', async () => {
  const { night, file, dir, store } = await nights();
  const shownOnce = (text: string, session: string): Said => ({ type: 'project', text, session, strength: 'implied' });
  await night([shownOnce(HABIT, 'one')], ([a]) => [add(a, HABIT)]);
  expect(file('facts.md')).toContain(`: ${HABIT}\n`);
  const line = /^- (Seen once.*)$/m.exec(file('facts.md'))?.[1] ?? '';
  const { report, ids, requests } = await night([shownOnce(AGAIN, 'two')], ([b], call) => [
    {
      ...{ kind: 'merge', entries: [b], topic: 'facts', reason: 'Shown again.', replaces: [lineId(line)] },
      ...{ lines: [{ text: HABIT, entries: [b] }], ...(call > 1 && { same: true }) },
    },
  ]);
  expect(report).toMatchObject({ outcome: 'dreamed', left: [] });
  expect(requests).toHaveLength(2);
  expect(told(requests[1])).toContain('speak of one and the same thing? If they do');
  expect(file('facts.md')).toContain(`\n- ${HABIT}\n`);
  const path = join(dir, '.nocturne/dreams/2026-11-22');
  expect(readFileSync(`${path}.md`, 'utf8')).toContain(
    '  - taken for one and the same thing, at the word of the model\n',
  );
  expect(toldOf(store.dir, ids[0] ?? '')).toMatchObject([{ op: 'merge', same: true }]);
});

test('a line that a newer one contradicts is shown with it, in a topic of which most is not shown', async () => {
  const { night } = await nights();
  const old = "The lathe can turn faster than others do, but it is Hana's: the speed is for her to say.";
  const now = "The lathe is Oleg's, no longer Hana's: what it turns at is for him to say.";
  const rest = Array.from(
    { length: 40 },
    (_, n) => `Crate number ${n} of the lathe is full of ${'wood and '.repeat(20)}nails.`,
  );
  const said = [...rest, old];
  await night(said, (ids) => ids.map((id, at) => add(id, said[at] as string)));
  await night([now], ([a]) => [add(a, now)]);
  const { requests } = await night(['Oleg has a new belt.'], ([a]) => [add(a, 'Oleg has a new belt.')]);
  const topics = requests[0] ? shown(requests[0], 'topics') : '';
  expect(topics).toContain(now);
  expect(topics).toContain(old);
  expect(topics).toContain('more lines not shown');
});
