// A store whose directory cannot be written, or lies in several file systems.

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../src/base/time.ts';
import { lookIntoLedger } from '../../src/memory/ledger/ledger.ts';
import { openStore } from '../../src/memory/open.ts';
import { tempDir } from '../support/temp.ts';
import { makeFileSystem, makeUnwritable } from '../support/unwritable.ts';

test('a ledger that a running worker writes is read as it is where nothing can be written', async ({ skip }) => {
  const dir = tempDir();
  const clock = fixedClock('2026-11-21T02:00:00Z');
  const store = await openStore(dir, { clock });
  await store.write({ actor: 'person' }, { path: 'a.md', text: '- a\n' });
  const copy = tempDir();
  for (const name of ['ledger.db', 'ledger.db-wal', 'ledger.db-shm']) {
    copyFileSync(join(dir, '.nocturne', name), join(copy, name));
  }
  store.close();
  const theirs = join(tempDir(), 'memory');
  const made = await openStore(theirs, { clock });
  made.close();
  for (const name of ['ledger.db', 'ledger.db-wal', 'ledger.db-shm']) {
    copyFileSync(join(copy, name), join(theirs, '.nocturne', name));
  }
  if (!makeUnwritable(theirs)) skip();
  const ledger = lookIntoLedger(theirs);
  expect(ledger?.get("select path from memory where path = 'a.md'")).toEqual({ path: 'a.md' });
  expect(() => ledger?.run('delete from memory')).toThrow(/readonly/);
  ledger?.close();
});

test('what would go to another file system is refused whole, and everything else goes on', async ({ skip }) => {
  const store = await openStore(tempDir(), { clock: fixedClock('2026-11-21T02:00:00Z') });
  onTestFinished(() => store.close());
  const by = { actor: 'person' };
  await store.write(by, { path: 'logs/2026/11/2026-11-20.md', text: '- a\n' });
  if (!makeFileSystem(join(store.dir, 'logs'))) skip();
  const both = ['a.md', 'logs/2026/11/2026-11-21.md'].map((path) => ({ path, change: () => '- a\n' }));
  await expect(store.commit(by, () => ({ files: both, rows() {} }))).rejects.toThrow('another file system');
  expect(await store.read('a.md')).toBeNull();
  await store.write(by, { path: 'b.md', text: '- b\n' });
  expect(await store.read('b.md')).toBe('- b\n');
});
