// A file made what it was in a version, and what its lines rest on then.

import { expect, test } from 'vitest';
import { explainLines } from '../../src/memory/dream/provenance.ts';
import { listVersions, restoreVersion } from '../../src/memory/history/versions.ts';
import { type Reviewed, reviewedMemory } from '../support/reviewed.ts';

/** A memory whose dream replaced a line; answers the version before that. */
async function replaced(memory: Reviewed): Promise<{ first: string; version: string }> {
  const first = await memory.say('Alpha', 1001);
  await memory.dream();
  const [version] = listVersions(memory.store.ledger, { path: 'alpha.md' }).versions;
  await memory.say('Alpha', 2001);
  await memory.dream();
  expect(memory.file('alpha.md')).not.toContain('1001');
  return { first, version: version?.id ?? '' };
}

test('a line that a later dream replaced comes back with what it rested on', async () => {
  const memory = await reviewedMemory({ review: false });
  const { first, version } = await replaced(memory);
  await restoreVersion(memory.store, version);
  expect(memory.file('alpha.md')).toContain('- Alpha listens on port 1001.');
  expect(await explainLines(memory.store, { path: 'alpha.md' })).toMatchObject([
    { isPersons: false, entries: [{ id: first }] },
  ]);
});

test('a line comes back as a person’s where what it rested on was forgotten meanwhile', async () => {
  const memory = await reviewedMemory({ review: false });
  const { first, version } = await replaced(memory);
  await memory.forget(first);
  await restoreVersion(memory.store, version);
  expect(await explainLines(memory.store, { path: 'alpha.md' })).toMatchObject([{ isPersons: true }]);
});

test('a line that a person took out and puts back by a restore rests on what it did', async () => {
  const memory = await reviewedMemory({ review: false });
  const first = await memory.say('Alpha', 1001);
  await memory.dream();
  const [version] = listVersions(memory.store.ledger, { path: 'alpha.md' }).versions;
  memory.edit('alpha.md', (text) => text.replace('- Alpha listens on port 1001.\n', ''));
  await memory.store.missing();
  await restoreVersion(memory.store, version?.id ?? '');
  expect(await explainLines(memory.store, { path: 'alpha.md' })).toMatchObject([{ entries: [{ id: first }] }]);
});
