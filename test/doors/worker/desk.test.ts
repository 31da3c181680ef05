// The desk over the memory directories of this machine: what is due in them, when the next is, and what a wake-up is for.

import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { canonicalPath } from '../../../src/base/files/directories.ts';
import { testApp } from '../../support/app.ts';
import { tempDir } from '../../support/temp.ts';

const NOW = '2026-11-21T02:00:00.000Z';
const LATER = '2026-11-21T02:05:00.000Z';

test('what is due is named by the ids of its stores, a dream only where no extraction is due or under way', async () => {
  const { app, store } = await testApp({ now: NOW });
  const other = await app.store(tempDir());
  await app.home.addStore(other.id);
  const dream = { kind: 'dream', key: 'dream', payload: {}, notBefore: NOW } as const;
  const extract = { kind: 'extract', key: 's', payload: {}, notBefore: NOW } as const;
  for (const { work } of [store, other]) await work.put(dream);
  await store.work.put(extract);
  await other.work.put({ ...extract, notBefore: LATER });
  const due = async () => (await app.desk.due(fail)).map((item) => `${item.store} ${item.kind}`).sort();
  expect(await due()).toEqual([`${store.id} extract`, `${other.id} dream`].sort());
  expect(await app.desk.nextDue(NOW)).toMatchObject({ store: other.id, kind: 'extract', key: 's', notBefore: LATER });
  expect(await app.desk.nextDue(LATER)).toBeUndefined();
  await app.withLease(other, 'session:s', async () => expect(await due()).toEqual([`${store.id} extract`]));
});

test('a directory that is gone has nothing due, and no wake-up makes it again', async () => {
  const { app, store } = await testApp({ now: NOW });
  const gone = canonicalPath(tempDir());
  const wakeUp = { store: (await app.store(gone)).id, kind: 'extract', key: 's' } as const;
  await app.home.addStore(gone);
  await (await app.store(gone)).work.put({ ...wakeUp, payload: {}, notBefore: NOW });
  expect(await app.desk.due(fail)).toMatchObject([wakeUp]);
  expect(await app.desk.take(wakeUp)).toMatchObject({ ...wakeUp, store: await app.store(gone) });
  rmSync(gone, { recursive: true });
  expect(await app.desk.due(fail)).toEqual([]);
  expect(await app.desk.take(wakeUp)).toBeNull();
  expect(existsSync(gone)).toBe(false);
  expect(await app.desk.take({ ...wakeUp, store: store.id })).toMatchObject({ key: 's' });
});

test('a store that cannot be looked into is named and keeps nobody from the others', async () => {
  const { app, store } = await testApp({ now: NOW });
  const broken = canonicalPath(tempDir());
  mkdirSync(join(broken, '.nocturne'));
  writeFileSync(join(broken, '.nocturne', 'ledger.db'), 'no database, however often it is opened'.repeat(100));
  await app.home.addStore(broken);
  await store.work.put({ kind: 'extract', key: 's', payload: {}, notBefore: NOW });
  const said: string[] = [];
  expect(await app.desk.due((message) => said.push(message))).toMatchObject([{ store: store.id }]);
  expect(said).toEqual([expect.stringContaining(broken)]);
});

function fail(message: string): never {
  throw new Error(message);
}
