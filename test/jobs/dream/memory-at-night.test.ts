// What a night is shown of memory: all of a small one; lines that contradict one another together, so that it can mend them.

import { expect, test } from 'vitest';
import { nights, put } from '../../support/answered-nights.ts';
import { shown } from '../../support/obedient.ts';

test('a line that a newer one contradicts is shown with it, in a topic of which most is not shown', async () => {
  const { night } = await nights();
  const old = "The lathe can turn faster than others do, but it is Hana's: the speed is for her to say.";
  const now = "The lathe is Oleg's, no longer Hana's: what it turns at is for him to say.";
  const rest = Array.from(
    { length: 40 },
    (_, n) => `Crate number ${n} of the lathe is full of ${'wood and '.repeat(20)}nails.`,
  );
  const said = [...rest, old];
  await night(said, (ids) => ids.map((id, at) => put(id, said[at] as string)));
  await night([now], ([a]) => [put(a, now)]);
  const { requests } = await night(['Oleg has a new belt.'], ([a]) => [put(a, 'Oleg has a new belt.')]);
  const topics = requests[0] ? shown(requests[0], 'topics') : '';
  expect(topics).toContain(now);
  expect(topics).toContain(old);
  expect(topics).toContain('more lines not shown');
});

test('a small memory is shown whole, whatever the entries are of', async () => {
  const { night } = await nights();
  const said = Array.from({ length: 24 }, (_, n) => `Crate number ${n} stands on shelf ${n + 100} of the cellar.`);
  await night(said, (ids) =>
    ids.map((id, at) => put(id, said[at] as string, { topic: `shelf-${at % 6}`, description: `Shelf ${at % 6}` })),
  );
  const { requests } = await night(['Oleg has a new belt.'], ([a]) => [put(a, 'Oleg has a new belt.')]);
  const topics = requests[0] ? shown(requests[0], 'topics') : '';
  for (const line of said) expect(topics).toContain(line);
});
