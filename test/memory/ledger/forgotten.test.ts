import { expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { isForgotten, type Statement, writeEntry } from '../../../src/memory/ledger/entries.ts';
import { enterPersonsJob } from '../../../src/memory/ledger/job-rows.ts';
import { openStore } from '../../../src/memory/open.ts';
import { tempDir } from '../../support/temp.ts';

const SAID: Statement = {
  session: 's1',
  message: 'm1',
  quote: 'Always use pnpm instead of npm, and format with Biome.',
  text: 'Always use pnpm instead of npm.',
  at: '2026-11-20T09:00:00.000Z',
};

/** A ledger in which `SAID` was forgotten on the 21st. */
async function forgotten() {
  const clock = fixedClock('2026-11-21T02:00:00Z');
  const store = await openStore(tempDir(), { clock });
  onTestFinished(() => store.close());
  await store.commit({ actor: 'person' }, () => ({
    files: [],
    rows(transaction) {
      const job = enterPersonsJob(transaction, { kind: 'forget', outcome: 'forgotten', now: clock.now() });
      const { message, quote, ...said } = SAID;
      const source = { turn: 't1', by: 'human', day: '2026-11-20', prompt: '', job } as const;
      const evidence = [{ message, quote }];
      const entry = {
        id: 'e_0123456789ab',
        type: 'feedback',
        strength: 'stated',
        evidence,
        ...source,
        ...said,
      } as const;
      writeEntry(transaction, { ...entry, evidence, state: 'forgotten' });
    },
  }));
  return store.ledger;
}

test.each<[string, Partial<Statement>, boolean]>([
  ['the same again', {}, true],
  [
    'other words about the same words of the message',
    { text: 'Kim likes pnpm.', quote: 'use pnpm instead of npm' },
    true,
  ],
  ['the same in a copy of the session', { session: 's2' }, true],
  ['the same, as another message of the session says it', { message: 'm2', quote: 'OK, pnpm it is.' }, true],
  [
    'something else within the very words that were quoted',
    { text: 'Format with Biome.', quote: 'format with Biome' },
    true,
  ],
  [
    'something else, in words it was not forgotten with',
    { text: 'The tests need Redis.', quote: 'tests need Redis' },
    false,
  ],
  ['the same said anew in another session', { session: 's2', message: 'm2' }, false],
  ['the same said again after it was forgotten', { message: 'm2', at: '2026-11-22T09:00:00.000Z' }, false],
])('%s', async (_, change, expected) => {
  expect(isForgotten(await forgotten(), { ...SAID, ...change })).toBe(expected);
});
