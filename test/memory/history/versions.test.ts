import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { dropOldVersions, listVersions, readVersion, restoreVersion } from '../../../src/memory/history/versions.ts';
import { openStore } from '../../../src/memory/open.ts';
import { tempDir } from '../../support/temp.ts';

const DAY_MS = 86_400_000;

/** A store whose clock goes one day on with every commit. */
async function days() {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const store = await openStore(tempDir(), { clock: { now: () => new Date(now) } });
  const set = async (path: string, text: string | null, actor = 'job:job_1') => {
    now += DAY_MS;
    await store.commit({ actor }, () => ({ files: [{ path, change: () => text }] }));
  };
  const ids = (path?: string) =>
    listVersions(store.ledger, { path, limit: 1_000 }).versions.map((version) => version.id);
  return { store, set, ids, now: () => new Date(now) };
}

test('versions are listed newest first, in pages that neither repeat nor miss one while new ones come', async () => {
  const { store, set, ids } = await days();
  for (let i = 0; i < 7; i += 1) await set(`${i % 2}.md`, `${i}\n`);
  const all = ids();
  const seen: string[] = [];
  let page: string | undefined;
  do {
    const found = listVersions(store.ledger, { limit: 3, page });
    seen.push(...found.versions.map((version) => version.id));
    page = found.nextPage ?? undefined;
    await set('new.md', `${seen.length}\n`);
  } while (page);
  expect(seen).toEqual(all);
});

test('versions are filtered by file, operation, actor and time', async () => {
  const { store, set } = await days();
  await set('a.md', 'one\n');
  await set('a.md', 'two\n', 'person');
  await set('b.md', 'b\n', 'job:job_2');
  await set('b.md', null);
  const found = (filter: Parameters<typeof listVersions>[1]) =>
    listVersions(store.ledger, filter).versions.map(({ path, operation }) => `${path} ${operation}`);
  expect(found({ path: 'a.md' })).toEqual(['a.md modified', 'a.md created']);
  expect(found({ operation: 'deleted' })).toEqual(['b.md deleted']);
  expect(found({ actor: 'job:job_2' })).toEqual(['b.md created']);
  expect(found({ actor: 'job' })).toEqual(['b.md deleted', 'b.md created', 'a.md created']);
  expect(found({ since: '2026-01-04T00:00:00.000Z' })).toEqual(['b.md deleted', 'b.md created']);
  expect(found({ until: '2026-01-02T00:00:00.000Z' })).toEqual(['a.md created']);
  expect(() => found({ limit: 0 })).toThrow('limit');
  expect(() => found({ page: 'memver_x' })).toThrow('memver_x');
});

test('a deleted file is restored from any version it had, as a person’s change', async () => {
  const { store, set } = await days();
  await set('a.md', 'one\n');
  await set('a.md', 'two\n');
  rmSync(join(store.dir, 'a.md'));
  const first = listVersions(store.ledger, { path: 'a.md' }).versions.at(-1);
  const head = await restoreVersion(store, first?.id ?? '');
  expect(await store.read('a.md')).toBe('one\n');
  expect(head).toMatchObject({ operation: 'created', actor: 'person' });
  const history = listVersions(store.ledger, { path: 'a.md' }).versions;
  expect(history.map(({ operation, actor }) => `${operation} ${actor}`)).toEqual([
    'created person',
    'deleted external',
    'modified job:job_1',
    'created job:job_1',
  ]);
  await expect(restoreVersion(store, history[1]?.id ?? '')).rejects.toMatchObject({ code: 'bad-input' });
});

test('what stands in the file unseen is a version before a restore replaces it', async () => {
  const { store, set } = await days();
  await set('a.md', 'one\n');
  writeFileSync(join(store.dir, 'a.md'), 'by hand\n');
  const [first] = listVersions(store.ledger, { path: 'a.md' }).versions;
  await restoreVersion(store, first?.id ?? '');
  const texts = listVersions(store.ledger).versions.map(({ id }) => readVersion(store.ledger, id).text);
  expect(texts).toEqual(['one\n', 'by hand\n', 'one\n']);
});

test('retention drops what is old, and keeps heads, the newest of each file and what young versions came from', async () => {
  const { store, set, ids, now } = await days();
  await set('old.md', 'only\n');
  for (let i = 0; i < 6; i += 1) await set('a.md', `${i}\n`);
  const before = ids('a.md');
  // Of a.md the newest is 0 days old; two are younger than 1.5 days, and what the older of them came from stays too.
  expect(dropOldVersions(store.ledger, { now: now(), days: 1.5, kept: 1 })).toBe(3);
  expect(ids('a.md')).toEqual(before.slice(0, 3));
  expect(ids('old.md')).toHaveLength(1);
  expect(dropOldVersions(store.ledger, { now: new Date(now().getTime() + 999 * DAY_MS), days: 1, kept: 2 })).toBe(1);
  expect(ids('a.md')).toEqual(before.slice(0, 2));
  await set('a.md', 'more\n');
  expect(await store.read('a.md')).toBe('more\n');
});

test('of a log and a report nothing but what they hold now outlasts retention; a day later no byte more is kept of them', async () => {
  const { store, set, ids, now } = await days();
  const [log, report] = ['logs/2026/11/2026-11-20.md', '.nocturne/dreams/2026-11-20.json'];
  for (let i = 1; i <= 4; i += 1) await set(log, '- line\n'.repeat(i));
  for (let i = 1; i <= 4; i += 1) await set(report, '[]\n'.repeat(i));
  for (let i = 1; i <= 4; i += 1) await set('a.md', `${i}\n`);
  const later = new Date(now().getTime() + 999 * DAY_MS);
  expect(dropOldVersions(store.ledger, { now: later, days: 1, kept: 3 })).toBe(7);
  expect([ids(log), ids(report), ids('a.md')].map(({ length }) => length)).toEqual([1, 1, 3]);
  expect(await store.read(log)).toBe('- line\n'.repeat(4));
  expect(dropOldVersions(store.ledger, { now: later, days: 1, kept: 3 })).toBe(0);
});

test('retention leaves alone what an unapplied commit still needs', async () => {
  const { store, set, ids, now } = await days();
  await set('a.md', 'one\n');
  await set('a.md', 'two\n');
  store.ledger.run('update "commit" set applied = 0 where id = (select max(id) from "commit")');
  expect(dropOldVersions(store.ledger, { now: new Date(now().getTime() + 999 * DAY_MS), days: 1, kept: 1 })).toBe(0);
  expect(ids()).toHaveLength(2);
});
