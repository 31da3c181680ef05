// A memory directory that cannot be written (a read-only mount, another user's) is looked at all the same.

import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../src/base/time.ts';
import { lookIntoLedger } from '../../src/memory/ledger/ledger.ts';
import { openStore } from '../../src/memory/open.ts';
import { testApp } from '../support/app.ts';
import { treeHash } from '../support/mcp.ts';
import { runHere } from '../support/run-here.ts';
import { tempDir } from '../support/temp.ts';
import { makeFileSystem, makeUnwritable } from '../support/unwritable.ts';

test('what only looks works where nothing can be written, and says what it says elsewhere', async ({ skip }) => {
  const testing = await testApp();
  const { app, store, dir, environment } = testing;
  await app.remember(store, { text: 'Staging is alpha.', type: 'project' });
  await app.dream(store, {});
  const { id } = await app.remember(store, { text: 'Live is beta.', type: 'project' }).then(({ entry }) => entry);
  await app.close();
  const run = (...args: string[]) => runHere(args, environment);
  const looks = [
    ['recall'],
    ['recall', '--session', 's1'],
    ['list'],
    ['search', 'alpha'],
    ['list', '--day'],
    ['why'],
    ['show', 'project-facts.md'],
    ['why', 'project-facts.md'],
    ['why', id],
    ['show', '--history'],
    ['show', 'project-facts.md', '--diff'],
    ['status', '--verbose'],
  ];
  const before = [];
  for (const look of looks) before.push(await run(...look));
  if (!makeUnwritable(dir)) skip();
  const hash = treeHash(dir);
  for (const [at, look] of looks.entries()) {
    const { code, stdout, stderr } = await run(...look);
    expect([look, code, stdout, stderr]).toEqual([look, before[at]?.code, before[at]?.stdout, before[at]?.stderr]);
  }
  expect(await run('remember', 'x')).toMatchObject({ code: 1, stderr: expect.stringContaining('Cannot open') });
  expect(treeHash(dir)).toBe(hash);
});

test('files in which nocturne never worked are shown where nothing can be written', async ({ skip }) => {
  const { app, environment, home } = await testApp();
  await app.close();
  const dir = tempDir();
  writeFileSync(join(dir, 'hosts.md'), '- Staging is alpha.\n');
  if (!makeUnwritable(dir)) skip();
  const here = (...args: string[]) => runHere(args, { ...environment, NOCTURNE_HOME: home, NOCTURNE_MEMORY_DIR: dir });
  expect((await here('show', 'hosts.md')).stdout).toBe('- Staging is alpha.\n');
  expect((await here('search', 'alpha')).stdout).toContain('hosts.md:1');
});

test('what only looks makes nothing where nothing is', async () => {
  const { nocturne } = await testApp();
  const dir = join(tempDir(), 'memory');
  const looks = [
    ['list'],
    ['search', 'x'],
    ['show'],
    ['show', '--history'],
    ['list', '--day'],
    ['why'],
    ['status', '--verbose'],
  ];
  const more = [
    ['why', 'a:1'],
    ['why', 'x'],
    ['show', '--history'],
    ['show', 'a', '--diff'],
    ['recall'],
    ['sessions'],
    ['check'],
    ['show', '--edit', '--json'],
  ];
  for (const look of [...looks, ...more]) {
    const { stderr, stdout } = await nocturne(...look, '--memory', dir);
    expect({ look, isSaid: (stderr + stdout).trim() !== '' }).toEqual({ look, isSaid: true });
    expect({ look, isMade: existsSync(dir) }).toEqual({ look, isMade: false });
  }
});

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
