// The library of the house that goes, as a program meets it, as it is published.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type * as Library from '../../src/index.ts';
import { tempDir } from '../support/temp.ts';

const root = join(import.meta.dirname, '../..');
/** As it is built: its children start in a fifth of the time that their source takes. */
const { loadConfig, openNocturne, openSession, openStore, recallPrompt }: typeof Library = await import(
  pathToFileURL(join(root, 'dist/lib/index.js')).href
);
const transcript = join(root, 'test/fixtures/example/1-harvest-report.jsonl');

test('a program extracts a session, dreams and recalls with what the library exports', async () => {
  const config = await loadConfig({ model: 'offline' }, { HOME: tempDir(), PATH: process.env.PATH });
  const nocturne = await openNocturne(config);
  onTestFinished(() => nocturne.close());
  const session = await openSession(transcript);
  expect(await nocturne.extract({ transcript, ended: true })).toMatchObject({
    session: session.id,
    outcome: 'recorded',
  });
  const store = await nocturne.storeFor(session);
  const { outcome, topics } = await nocturne.dream(store, {});
  expect({ outcome, topics }).toEqual({ outcome: 'dreamed', topics: ['user-profile.md', 'working-agreements.md'] });
  expect(await recallPrompt({ config, cwd: session.cwd })).toContain('backend engineer');
});

test('a store is opened by its directory alone, and a commit may be files alone', async () => {
  const store = await openStore(tempDir());
  onTestFinished(() => store.close());
  const write = (path: string) => ({ path, change: () => 'text\n' });
  await store.commit({ actor: 'person' }, () => ({ files: [write('a.md'), write('b.md')] }));
  expect(await store.list()).toEqual(['a.md', 'b.md']);
});
