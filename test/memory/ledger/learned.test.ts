// What sessions taught since an instant, as the ledger tells it.

import { expect, test } from 'vitest';
import { countLearned, learnedSince } from '../../../src/memory/ledger/entries.ts';
import { openLedger } from '../../../src/memory/ledger/ledger.ts';
import { tempDir } from '../../support/temp.ts';

test('all that was learned is counted, only the newest are told, and what was taken back is neither', () => {
  const ledger = openLedger(tempDir());
  const at = (n: number) => `2026-11-${10 + n}T02:00:00.000Z`;
  const job = `insert into job (id, kind, status, created_at, ended_at) values (?, ?, 'ended', ?, ?)`;
  const entry = `insert into entry (id, session, turn, at, day, type, text, evidence, said_by, strength, prompt, job, state)
    values (?, 's', 't', ?, '2026-11-20', 'user', ?, '[]', 'human', 'stated', '', ?, ?)`;
  for (let n = 1; n <= 6; n += 1) {
    ledger.run(job, `job_${n}`, n === 5 ? 'dream' : 'extract', at(n), at(n));
    // Their ids are in no order of time, and two are of one moment.
    for (const id of [`e_${9 - n}b`, `e_${9 - n}a`])
      ledger.run(entry, id, at(n), `said ${id}`, `job_${n}`, n === 6 ? 'withdrawn' : 'new');
  }
  expect(countLearned(ledger, at(1))).toBe(6);
  expect(learnedSince(ledger, at(1), 3)).toEqual([
    { id: 'e_5a', text: 'said e_5a', learnedAt: at(4) },
    { id: 'e_5b', text: 'said e_5b', learnedAt: at(4) },
    { id: 'e_6a', text: 'said e_6a', learnedAt: at(3) },
  ]);
  expect(countLearned(ledger, at(4))).toBe(0);
  ledger.close();
});
