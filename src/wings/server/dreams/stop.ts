// A dream that is over, as the ledger it writes to is told: its items leave the inbox, and what is worked for one of them
// commits no more, because each commit looks for the item that it is made for.

import type { WorkRows } from '../../../memory/ledger/work-rows.ts';

/** Takes what is left of a dream out of an inbox. */
export async function stopWork(work: WorkRows, dream: string): Promise<void> {
  for (const { id, key } of await work.items()) {
    if (key === dream || key.startsWith(`${dream}/`)) await work.finish(id);
  }
}
