// Deliver: the user scope learns what a project's outbox holds for it.
//
// 1. Under the user scope's lock, read what the project says of each entry in its outbox now: nothing that is read
//    there can be older than what another delivery has brought.
// 2. In one commit append what is new to the logs and take out what was taken back, each once: an entry that the user
//    scope knows in whatever state is not delivered again, and one that a person changed there stays.
// 3. What a person had forgotten in the project is forgotten here, too, with what rests on it.
// 4. Only then the outbox lets go of it. A crash before that delivers again, which changes nothing.

import type { Clock } from '../src/base/time.ts';
import {
  type EntryRow,
  entryRow,
  finishOutboxRows,
  isForgotten,
  noteSender,
  type OutboxRow,
  outboxRows,
  sendersOf,
  writeEntry,
} from '../src/memory/ledger/entries.ts';
import { enterPersonsJob } from '../src/memory/ledger/job-rows.ts';
import type { Ledger } from '../src/memory/ledger/ledger.ts';
import type { CommitPlan, Store, WithLease } from '../src/memory/store/store.ts';
import { changeLogs } from '../src/memory/text/daily-log.ts';
import { forget } from './forget.ts';

/** The store with the outbox. */
export type Sending = Pick<Store, 'id' | 'ledger' | 'enterRows'>;

interface DeliverDeps {
  /** The user scope. */
  store: Store;
  clock: Clock;
  zone: string;
  withLease: WithLease;
}

/** Throws what the user scope's store throws; the outbox then holds what it held. */
export async function deliver(from: Sending, deps: DeliverDeps): Promise<void> {
  if (outboxRows(from.ledger).length === 0 || from.id === deps.store.id) return;
  let rows: OutboxRow[] = [];
  let forgotten: OutboxRow[] = [];
  await deps.store.commit({ actor: 'job:deliver' }, (ledger) => {
    // 1.
    rows = outboxRows(from.ledger);
    const said = rows.map((row) => ({ row, entry: entryRow(from.ledger, row.entry) }));
    forgotten = said.flatMap(({ row, entry }) => (entry?.state === 'forgotten' ? [row] : []));
    const sent = said.flatMap(({ entry }) => (entry?.state === 'sent' ? [entry] : []));
    const decided = new Set([...sent.map(({ id }) => id), ...forgotten.map(({ entry }) => entry)]);
    const unsent = rows.map(({ entry }) => entry).filter((entry) => !decided.has(entry));
    // 2.
    return planDelivery({ ledger, source: from.id, sent, unsent }, deps);
  });
  // 3.
  const busy = new Set<OutboxRow>();
  for (const row of forgotten) {
    const { outcome } = await forget({ target: row.entry, confirm: async () => true }, deps);
    if (outcome === 'busy') busy.add(row);
  }
  // 4.
  const done = rows.filter((row) => !busy.has(row));
  await from.enterRows((ledger) => finishOutboxRows(ledger, done));
}

interface Said {
  /** The user scope's. */
  ledger: Ledger;
  source: string;
  sent: EntryRow[];
  /** What was sent once, perhaps, and is not any more. */
  unsent: string[];
}

function planDelivery({ ledger, source, sent, unsent }: Said, { clock, zone }: DeliverDeps): CommitPlan {
  const news = sent.filter((entry) => isNews(ledger, entry));
  const back = unsent.flatMap((id) =>
    isForOneAlone(ledger, { entry: id, source }) ? (entryRow(ledger, id) ?? []) : [],
  );
  const withdrawn: EntryRow[] = [];
  const files = changeLogs({ remove: back, add: news, zone }, (removed) => withdrawn.push(...removed));
  return {
    files,
    rows(transaction) {
      const now = clock.now();
      const isChange = news.length + withdrawn.length > 0;
      const delivery = { kind: 'deliver', outcome: 'delivered', now, startedBy: 'program' } as const;
      const job = isChange ? enterPersonsJob(transaction, delivery) : '';
      for (const entry of news) writeEntry(transaction, { ...entry, job, state: 'new' });
      for (const entry of withdrawn) writeEntry(transaction, { ...entry, state: 'withdrawn' });
      for (const { id: entry } of sent) noteSender(ledger, { entry, source, stands: true });
      for (const entry of unsent) {
        const isSender = sendersOf(ledger, entry).some((sender) => sender.source === source);
        if (isSender) noteSender(ledger, { entry, source, stands: false });
      }
    },
  };
}

/** Whether the user scope does not have the entry, or had it until all who sent it took it back. */
function isNews(ledger: Ledger, entry: EntryRow): boolean {
  const known = entryRow(ledger, entry.id);
  const senders = sendersOf(ledger, entry.id);
  if (senders.some(({ stands }) => stands)) return false;
  if (known) return known.state === 'withdrawn' && senders.length > 0;
  const { message, quote } = entry.evidence[0] ?? { message: '', quote: '' };
  return !isForgotten(ledger, { ...entry, message, quote });
}

/** Whether no other directory sent the same. */
function isForOneAlone(ledger: Ledger, { entry, source }: { entry: string; source: string }): boolean {
  const standing = sendersOf(ledger, entry).filter(({ stands }) => stands);
  return standing.length === 1 && standing[0]?.source === source;
}
