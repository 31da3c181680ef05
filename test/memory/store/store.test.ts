import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { thisProcess } from '../../../src/base/process.ts';
import { fixedClock } from '../../../src/base/time.ts';
import { coverRange } from '../../../src/memory/ledger/coverage.ts';
import { takeLease } from '../../../src/memory/ledger/job-rows.ts';
import { openStore } from '../../../src/memory/open.ts';
import type { Store } from '../../../src/memory/store/store.ts';
import { tempDir } from '../../support/temp.ts';

const clock = fixedClock('2026-11-20T10:00:00Z');

async function open(dir = tempDir()): Promise<Store> {
  return openStore(dir, { clock });
}

function set(store: Store, path: string, text: string | null) {
  return store.commit({ actor: 'job:test' }, () => ({ files: [{ path, change: () => text }] }));
}

function versions(store: Store, path: string) {
  return store.ledger.all('select op, actor, content from version where path = ? order by rowid', path).map((row) => ({
    op: row.op,
    actor: row.actor,
    text: row.content === null ? null : (row.content as Buffer).toString(),
  }));
}

test('a commit writes its files, private to the user, and keeps every version of them', async () => {
  const store = await open();
  await set(store, 'logs/2026/11/2026-11-20.md', 'one\n');
  await set(store, 'logs/2026/11/2026-11-20.md', 'two\n');
  await set(store, 'logs/2026/11/2026-11-20.md', null);
  const path = join(store.dir, 'logs/2026/11/2026-11-20.md');
  expect(existsSync(path)).toBe(false);
  expect(versions(store, 'logs/2026/11/2026-11-20.md').map(({ op, text }) => [op, text])).toEqual([
    ['created', 'one\n'],
    ['modified', 'two\n'],
    ['deleted', null],
  ]);
  await set(store, 'a.md', 'a\n');
  expect(statSync(join(store.dir, 'a.md')).mode & 0o777).toBe(0o600);
});

test('a plan that throws changes neither files nor rows', async () => {
  const store = await open();
  const failing = store.commit({ actor: 'job:test' }, () => ({
    files: [{ path: 'a.md', change: () => 'a\n' }],
    rows(transaction) {
      coverRange(
        transaction,
        { id: 't', messageIds: ['m'] },
        {
          session: 's',
          from: '',
          throughMessage: 'm',
          disposition: 'nothing',
          day: '2026-11-20',
          job: 'j',
        },
      );
      throw new Error('stop');
    },
  }));
  await expect(failing).rejects.toThrow('stop');
  expect(await store.read('a.md')).toBeNull();
  expect(store.ledger.all('select * from coverage')).toEqual([]);
});

test('a commit builds on an edit made outside and keeps it as a version of its own', async () => {
  const store = await open();
  await set(store, 'a.md', 'ours\n');
  writeFileSync(join(store.dir, 'a.md'), 'a person’s\n');
  await store.commit({ actor: 'job:test' }, () => ({
    files: [{ path: 'a.md', change: (current) => `${current}more\n` }],
  }));
  expect(await store.read('a.md')).toBe('a person’s\nmore\n');
  expect(versions(store, 'a.md').map(({ actor }) => actor)).toEqual(['job:test', 'external', 'job:test']);
});

test('what a crash left between ledger and files is finished at the next opening', async () => {
  const store = await open();
  await set(store, 'a.md', 'one\n');
  await set(store, 'a.md', 'two\n');
  store.ledger.run('update "commit" set applied = 0 where id = (select max(id) from "commit")');
  writeFileSync(join(store.dir, 'a.md'), 'one\n');
  store.close();
  const again = await open(store.dir);
  expect(await again.read('a.md')).toBe('two\n');
});

test('a file that a crash left aside comes back to its name', async () => {
  const store = await open();
  await set(store, 'a.md', 'one\n');
  await set(store, 'a.md', 'two\n');
  const aside = join(store.dir, '.nocturne/aside');
  const [name] = readdirSync(aside);
  rmSync(join(store.dir, 'a.md'));
  store.ledger.run('update "commit" set applied = 0 where id = (select max(id) from "commit")');
  store.close();
  expect(readFileSync(join(aside, name as string), 'utf8')).toBe('one\n');
  expect(await (await open(store.dir)).read('a.md')).toBe('two\n');
});

test('an edit through a handle that was open during the swap is merged in later', async () => {
  const store = await open();
  await set(store, 'a.md', 'one\ntwo\nthree\n');
  await set(store, 'a.md', 'one\ntwo\nthree\nfour\n');
  const aside = join(store.dir, '.nocturne/aside');
  writeFileSync(join(aside, readdirSync(aside)[0] as string), 'ONE\ntwo\nthree\n');
  store.bringFilesUpToDate();
  expect(await store.read('a.md')).toBe('ONE\ntwo\nthree\nfour\n');
});

test('a writer whose lease was taken over changes nothing', async () => {
  const store = await open();
  const owner = `${thisProcess()}/one`;
  const lease = takeLease(store.ledger, { key: 'dream', owner, now: clock.now(), ttlMs: -1 });
  expect(lease).not.toBeNull();
  takeLease(store.ledger, { key: 'dream', owner: `${thisProcess()}/two`, now: clock.now(), ttlMs: 60_000 });
  const late = store.commit({ actor: 'job:late', lease: lease ?? undefined }, () => ({
    files: [{ path: 'a.md', change: () => 'late\n' }],
  }));
  await expect(late).rejects.toMatchObject({ code: 'fenced' });
  expect(await store.read('a.md')).toBeNull();
});

test('a live lease is refused to others, a dead process loses it at once', async () => {
  const store = await open();
  const now = clock.now();
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)']);
  await once(child, 'spawn');
  const host = thisProcess().split(':')[0];
  const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
  const start = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  const owner = `${host}:${child.pid}:${start}/x`;
  expect(takeLease(store.ledger, { key: 'k', owner, now, ttlMs: 60_000 })?.fence).toBe(1);
  const mine = { key: 'k', owner: `${thisProcess()}/y`, now, ttlMs: 60_000 };
  expect(takeLease(store.ledger, mine)).toBeNull();
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(takeLease(store.ledger, mine)?.fence).toBe(2);
});
