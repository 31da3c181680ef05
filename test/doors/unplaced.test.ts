// What no dream could place for three nights, as the command line tells of it.

import { expect, test } from 'vitest';
import { testApp, testModel } from '../support/app.ts';
import { calls, says } from '../support/messages-server.ts';
import { entriesShown } from '../support/obedient.ts';
import { record } from '../support/recorded.ts';
import { runHere, runJsonHere } from '../support/run-here.ts';

test('status tells of an entry once no dream could place it for three nights, and no longer when one has', async () => {
  let isRight = false;
  const server = await testModel((request) => {
    const [entry] = entriesShown(request);
    if (request.messages.length > 1 || !entry) return says('Done.');
    const text = isRight ? 'The harvest runs on crates.' : 'The harvest runs on port 9000.';
    const topic = { topic: 'harvest', type: 'project', description: 'The harvest' };
    const lines = [{ text, entries: [entry.id] }];
    return calls('propose_operations', {
      operations: [{ kind: 'add', entries: [entry.id], reason: 'New.', ...topic, lines }],
    });
  });
  const { environment, store } = await testApp({ server });
  const said = { type: 'project', text: 'The harvest runs on crates.' } as const;
  await record(store, '2026-11-20T12:00:00Z', [said]);
  const at = (day: string, hour: number) => ({ ...environment, NOCTURNE_NOW: `${day}T0${hour}:00:00Z` });
  const told = async (day: string) => {
    const { code, values } = await runJsonHere<{ attention: string[] }>(['status'], at(day, 8));
    return { code, about: values[0]?.attention.filter((each) => each.includes('found no place')) };
  };
  for (const day of ['2026-11-21', '2026-11-22']) await runHere(['dream'], at(day, 3));
  expect((await told('2026-11-22')).about).toEqual([]);
  await runHere(['dream'], at('2026-11-23', 3));
  const why = 'found no place in its topics for 3 nights, since 2026-11-21: operations[0] (add): nothing that';
  expect(await told('2026-11-23')).toEqual({ code: 3, about: [expect.stringContaining(why)] });
  const shown = await runHere(['status', '--verbose'], at('2026-11-23', 8));
  expect(shown).toMatchObject({ code: 3, stdout: expect.stringContaining(why) });
  expect(shown.stdout).toContain('"9000"');
  isRight = true;
  // After three nights it rests for three weeks.
  expect(await runHere(['dream'], at('2026-12-13', 3))).toMatchObject({ code: 0 });
  expect((await told('2026-12-13')).about).toEqual([]);
});
