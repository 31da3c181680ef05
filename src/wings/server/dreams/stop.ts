// A dream that is over, as the ledger it writes to is told: its items leave the inbox, and what is worked for one of them
// commits no more, because each commit looks for the item that it is made for.

import { finishInboxItem, inboxItem, inboxItems, type JobKind } from '../../../memory/ledger/inbox.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';

/** Takes what is left of a dream out of an inbox. */
export function stopWork(ledger: Ledger, dream: string): void {
  ledger.transaction(() => {
    for (const item of inboxItems(ledger)) {
      if (item.key === dream || item.key.startsWith(`${dream}/`)) finishInboxItem(ledger, item.id);
    }
  });
}

/** Tells, each time it is asked, whether the item that waits under a key now is there still. */
export function itemStays(ledger: Ledger, kind: JobKind, key: string): (at: Ledger) => boolean {
  const id = inboxItem(ledger, kind, key)?.id;
  return (at) => id !== undefined && inboxItem(at, kind, key)?.id === id;
}
