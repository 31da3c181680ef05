// The rows of work in a ledger, as several processes have it open.

import { onTestFinished } from 'vitest';
import { workRowsOf } from '../../../src/memory/ledger/inbox.ts';
import { openLedger } from '../../../src/memory/ledger/ledger.ts';
import { tempDir } from '../../support/temp.ts';
import { testWorkRows } from '../../support/work-rows.ts';

testWorkRows({
  async begin(count = 1) {
    const dir = tempDir();
    const open = () => {
      const ledger = openLedger(dir);
      onTestFinished(() => ledger.close());
      return workRowsOf(ledger);
    };
    return [open(), ...Array.from({ length: count - 1 }, open)];
  },
  cases: 60,
});
