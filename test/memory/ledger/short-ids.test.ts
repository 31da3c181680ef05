import { expect, test } from 'vitest';
import { openLedger } from '../../../src/memory/ledger/ledger.ts';
import { shortActor, shortId, shortKey } from '../../../src/memory/ledger/short-ids.ts';
import { tempDir } from '../../support/temp.ts';

const SESSIONS = ['0d8c1a52-1111-4333-8444-555555555555', '0d8c1a52-1112-4333-8444-555555555555'] as const;
const [FIRST, SECOND] = SESSIONS;

function known() {
  const ledger = openLedger(tempDir());
  const jobs = ['job_0123456789ab', 'job_012345678fff', 'job_ffff00000000', 'job_0123'];
  for (const id of jobs) {
    ledger.insert('job', { id, kind: 'dream', status: 'ended', created_at: '2026-11-21T02:00:00.000Z', session: null });
  }
  // One by its row, the other by a job of it alone: both are known.
  const session = { id: FIRST, path: '/s', format: 'claude-code', size: 1, modified_at: '2026-11-21T02:00:00.000Z' };
  ledger.insert('session', session);
  ledger.run('update job set session = ? where id = ?', SECOND, 'job_ffff00000000');
  return ledger;
}

test('an id is shown by its shortest beginning that means nothing else, of at least eight characters', () => {
  const ledger = known();
  expect(shortId(ledger, 'job', 'job_ffff00000000')).toBe('job_ffff0000');
  expect(shortId(ledger, 'job', 'job_0123456789ab')).toBe('job_0123456789');
  expect(shortId(ledger, 'session', FIRST)).toBe('0d8c1a52-1111');
  expect(shortId(ledger, 'session', 'a0000000-1111-4333-8444-555555555555')).toBe('a0000000');
  expect(shortId(null, 'version', 'memver_0123456789ab')).toBe('memver_01234567');
  expect(shortKey(ledger, { kind: 'extract', key: `${SECOND}@a1b2` })).toBe('extract 0d8c1a52-1112');
  expect(shortActor(ledger, 'job:job_ffff00000000')).toBe('job:job_ffff0000');
  ledger.close();
});
