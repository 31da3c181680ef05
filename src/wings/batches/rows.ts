// What was sent to be answered later: which batch, which request of it is about which entries, and what became of each.
// Promises: a batch stands here before it is sent, with the inbox item that asks after it, so that no crash loses one;
// an entry in a request that is open is in no other. It holds ids and hashes, none of the words. What changes rows on a
// ledger is called within `Store.enterRows`.

import type { Waits } from '../../../jobs/dream/seams.ts';
import type { Bound } from '../../base/config/prices.ts';
import type { EntryRow } from '../../memory/ledger/entries.ts';
import { jsonOf, type Ledger } from '../../memory/ledger/ledger.ts';
import type { Store } from '../../memory/store/store.ts';
import { lineId } from '../../memory/text/topic.ts';

/** Nobody asks earlier: what was sent by a process that died may be on its way for so long. */
export const FIRST_LOOK_MS = 5 * 60_000;
const LONGEST_LOOK_MS = 60 * 60_000;
/** The inbox key of the dream that asks after batches. */
export const BATCH_KEY = 'batch';
const ASKING = { kind: 'dream', key: BATCH_KEY, payload: {} } as const;

export interface Batch {
  id: string;
  /** The API's name of it; null: nobody knows whether it arrived. */
  remote: string | null;
  model: string;
  /** What steered it. */
  instructions: string | null;
  sentAt: string;
  /** When its results were read. */
  endedAt: string | null;
}

export interface BatchRequest {
  id: string;
  entries: { id: string; said: string; isWithdrawn: boolean }[];
  /** Paths of the topics that it was shown. */
  topics: string[];
  /** What it costs at most. */
  bound: Bound;
  /** Null: open. */
  disposition: RequestEnd | null;
}

/** `vain`: its entries go on without a batch. `taken-back`: a person did not want to wait. */
type RequestEnd = 'kept' | 'vain' | 'taken-back';

/** A word that changes when an entry does. */
export function saidOf({ state, text }: Pick<EntryRow, 'state' | 'text'>): string {
  return `${state} ${lineId(text)}`;
}

/**
 * Enters a batch that is about to be sent, and asks for it to be looked after from `lookAt` on: by a new item, first, so that
 * whoever ends the item that waits by now, because nothing is open, takes nothing away. Done under the dream's lease.
 */
export async function intendBatch(
  store: Pick<Store, 'work' | 'enterRows'>,
  batch: Pick<Batch, 'id' | 'model'> & {
    job: string;
    now: Date;
    lookAt: Date;
    /** What was over before is forgotten. */
    forgetBefore: Date;
    requests: (Pick<BatchRequest, 'id' | 'topics' | 'bound'> & { fresh: EntryRow[]; withdrawn: EntryRow[] })[];
  },
): Promise<void> {
  await store.work.put({ ...ASKING, notBefore: batch.lookAt.toISOString() });
  await store.enterRows((ledger) => {
    const { id: name, model, job, now, requests } = batch;
    dropOldBatches(ledger, batch.forgetBefore);
    ledger.insert('batch', { id: name, model, job, sent_at: now.toISOString() });
    for (const { id, topics, bound, fresh, withdrawn } of requests) {
      const { tokens, microUsd } = bound;
      ledger.insert('batch_request', { id, batch: name, topics: JSON.stringify(topics), tokens, micro_usd: microUsd });
      for (const entry of [...fresh, ...withdrawn]) {
        const isWithdrawn = Number(withdrawn.includes(entry));
        ledger.insert('batch_entry', { request: id, entry: entry.id, said: saidOf(entry), withdrawn: isWithdrawn });
      }
    }
  });
}

/** Puts the question after batches into the inbox, unless it is there. */
export async function askAfter({ work }: Pick<Store, 'work'>, at: Date): Promise<void> {
  await work.putIfNone({ ...ASKING, notBefore: at.toISOString() });
}

/** False where nobody knows of the batch any more: another process took it for never sent. */
export function noteSent(ledger: Ledger, batch: string, remote: string): boolean {
  return ledger.run('update batch set remote = ? where id = ?', remote, batch) === 1;
}

/** Its results were read and paid for. */
export function noteEnded(ledger: Ledger, batch: string, now: Date): void {
  ledger.run('update batch set ended_at = coalesce(ended_at, ?) where id = ?', now.toISOString(), batch);
}

/** Forgets a batch that was never sent. */
export function dropBatch(ledger: Ledger, batch: string): void {
  ledger.run('delete from batch_entry where request in (select id from batch_request where batch = ?)', batch);
  ledger.run('delete from batch_request where batch = ?', batch);
  ledger.run('delete from batch where id = ?', batch);
}

/** Forgets what was over before an instant. */
function dropOldBatches(ledger: Ledger, before: Date): void {
  const sql = `select id from batch where ended_at < ?
    and not exists (select 1 from batch_request where batch = batch.id and became is null)`;
  for (const { id } of ledger.all(sql, before.toISOString())) dropBatch(ledger, id as string);
}

/** Says what became of an open request. */
export function endRequest(ledger: Ledger, request: string, disposition: RequestEnd): void {
  ledger.run('update batch_request set became = ? where id = ? and became is null', disposition, request);
}

/** The batches that are not over, the oldest first: without results, or with one that is not worked in yet. */
export function openBatches(ledger: Ledger): Batch[] {
  return ledger.all<Batch>(
    `select batch.id, remote, model, job.instructions, sent_at as sentAt, batch.ended_at as endedAt
     from batch left join job on job.id = batch.job where batch.ended_at is null
     or exists (select 1 from batch_request where batch = batch.id and became is null) order by sent_at, batch.id`,
  );
}

export function requestsOf(ledger: Ledger, batch: string): BatchRequest[] {
  return ledger.all('select * from batch_request where batch = ? order by id', batch).map((row) => ({
    id: row.id as string,
    topics: jsonOf(row.topics),
    bound: { tokens: row.tokens as number, microUsd: row.micro_usd as number },
    disposition: row.became as RequestEnd | null,
    entries: ledger
      .all('select entry, said, withdrawn from batch_entry where request = ?', row.id as string)
      .map(({ entry, said, withdrawn }) => ({
        id: entry as string,
        said: said as string,
        isWithdrawn: withdrawn === 1,
      })),
  }));
}

/** The entries of all requests that are open, or that came to nothing. */
export function entriesSent(ledger: Ledger, disposition: 'open' | 'vain'): Set<string> {
  const wanted = disposition === 'open' ? 'batch_request.became is null' : "batch_request.became = 'vain'";
  const sql = `select entry from batch_entry join batch_request on batch_request.id = batch_entry.request where ${wanted}`;
  return new Set(ledger.all(sql).map(({ entry }) => entry as string));
}

/** When to ask after what is open again: later and later, and at least every hour; null where nothing is. */
export function lookAgainAt(ledger: Ledger, now: Date): Date | null {
  const newest = openBatches(ledger).at(-1);
  if (!newest) return null;
  const ageMs = now.getTime() - Date.parse(newest.sentAt);
  return new Date(now.getTime() + Math.min(LONGEST_LOOK_MS, Math.max(FIRST_LOOK_MS, ageMs / 2)));
}

/** What waits to be answered; null: nothing does. */
export function waitsOf(ledger: Ledger): Waits | null {
  const open = openBatches(ledger)
    .map((batch) => ({
      ...batch,
      open: requestsOf(ledger, batch.id).filter(({ disposition }) => disposition === null),
    }))
    .filter((batch) => batch.open.length > 0);
  const [oldest] = open;
  if (!oldest) return null;
  return {
    requests: open.reduce((sum, batch) => sum + batch.open.length, 0),
    entries: entriesSent(ledger, 'open').size,
    since: oldest.sentAt,
    batches: open.flatMap(({ remote }) => remote ?? []),
  };
}
