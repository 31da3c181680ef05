// What the ledger tells of jobs, also after many years of them.

import { expect, test } from 'vitest';
import { workRowsOf } from '../../../src/memory/ledger/inbox.ts';
import { commitsOf, endInterrupted, lastChangingJob } from '../../../src/memory/ledger/job-rows.ts';
import { openLedger } from '../../../src/memory/ledger/ledger.ts';
import { tempDir } from '../../support/temp.ts';

const AT = '2026-11-21T02:00:00.000Z';

test('of twenty thousand jobs, a person’s among them, the last that changed something is found while one waits', () => {
  const ledger = openLedger(tempDir());
  const idOf = (n: number) => `job_${String(n).padStart(12, '0')}`;
  ledger.transaction(() => {
    for (let n = 1; n <= 20_000; n += 1) {
      ledger.run('insert into "commit" (id, actor, at, applied) values (?, ?, ?, 1)', n, `job:${idOf(n)}`, AT);
      const sql = `insert into job (id, kind, status, outcome, created_at, ended_at) values (?, 'extract', 'ended', 'recorded', ?, ?)`;
      ledger.run(sql, idOf(n), AT, AT);
    }
  });
  expect(lastChangingJob(ledger)?.id).toBe(idOf(20_000));
  expect(commitsOf(ledger, idOf(7))).toEqual([7]);
  const person = (id: string, kind: string, commit: number, undoes: string | null = null) => {
    ledger.run('insert into "commit" (id, actor, at, applied) values (?, ?, ?, 1)', commit, 'person', AT);
    const sql = `insert into job (id, kind, status, outcome, created_at, ended_at, "commit", undoes) values (?, ?, 'ended', ?, ?, ?, ?, ?)`;
    ledger.run(sql, id, kind, kind === 'undo' ? 'undone' : 'remembered', AT, AT, commit, undoes);
  };
  person('job_person', 'remember', 20_001);
  expect(lastChangingJob(ledger)?.id).toBe('job_person');
  person('job_undo', 'undo', 20_002, 'job_person');
  expect(lastChangingJob(ledger)?.id).toBe(idOf(20_000));
  endInterrupted(ledger, new Date(AT));
  ledger.close();
});

test('a lease for an item of the inbox ends with the item: gone or replaced, nothing is committed under it', async () => {
  const ledger = openLedger(tempDir());
  const work = workRowsOf(ledger);
  const item = { kind: 'dream', key: 'd', payload: {}, notBefore: AT } as const;
  const lease = await work.takeLease({ key: 'dream', owner: 'here:1:1/run', now: new Date(AT), ttlMs: 1_000 });
  if (!lease) throw new Error('nobody else holds it');
  await work.put(item);
  const held = { ...lease, item: (await work.item('dream', 'd'))?.id };
  await expect(work.requireLease(held)).resolves.toBeUndefined();
  await work.put(item);
  await expect(work.requireLease(held)).rejects.toMatchObject({ code: 'fenced' });
  await expect(work.requireLease(lease)).resolves.toBeUndefined();
  await work.releaseLease(lease);
  await expect(work.requireLease(lease)).rejects.toMatchObject({ code: 'fenced' });
  ledger.close();
});
