// What comes back of a dream that was sent as a Message Batch, hours later, into a memory that has gone on.
//
// 1. Ask after what was sent. Where a process died while it sent, look whether the batch arrived: none is paid for twice.
// 2. Settle what the answers cost, once. What the API did not answer goes to the ordinary loop, on the next night.
// 3. Carry out what code lets through against the memory as it stands. What it does not goes to the ordinary loop at
//    once, with the reasons.

import type { BatchedResult, Batches } from '../../src/agent/batches.ts';
import { isAppError } from '../../src/base/errors.ts';
import {
  type Batch,
  type BatchRequest,
  dropBatch,
  endRequest,
  entriesSent,
  FIRST_LOOK_MS,
  noteEnded,
  noteSent,
  openBatches,
  requestsOf,
  saidOf,
} from '../../src/memory/ledger/batches.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import { inboxItem, putInInbox } from '../../src/memory/ledger/inbox.ts';
import { Check, type Rehearse } from './check.ts';
import { readTopics } from './draft.ts';
import type { Part, Proposal, ProposeDeps, ProposedPart } from './propose.ts';
import { type Context, contextOf } from './select.ts';

/** `send`: what is new goes out as a batch. `collect`: only what was answered is worked. `cancel`: nothing waits any more. */
export type BatchMode = 'send' | 'collect' | 'cancel';

export interface BatchDeps extends ProposeDeps {
  /** How batches of a model are sent and asked after; none: they are left alone. */
  openBatches?(model: string): Promise<Batches>;
}

export interface Answers {
  list: { request: BatchRequest; instructions: string | undefined; result: BatchedResult; model: string }[];
  /** Entries that no other request may be about now. */
  waiting: Set<string>;
}

/** The API answers within a day or never. */
const LOST_AFTER_MS = 26 * 3_600_000;

/** Asks after all that was sent. Where that fails, a dream that does something else too goes on without. */
export async function askForAnswers(mode: BatchMode | undefined, deps: BatchDeps): Promise<Answers> {
  const { ledger } = deps.store;
  const list: Answers['list'] = [];
  let failure: unknown;
  for (const batch of deps.openBatches ? openBatches(ledger) : []) {
    const isLost = deps.clock.now().getTime() - Date.parse(batch.sentAt) > LOST_AFTER_MS;
    try {
      const answers = await answersOf(batch, mode, deps);
      if (answers) list.push(...answers);
      else if (isLost) giveUp(batch, deps);
      else if (mode === 'cancel') await takeBack(batch, deps);
    } catch (error) {
      if (!isAppError(error)) throw error;
      if (isLost) giveUp(batch, deps);
      else failure ??= error;
    }
  }
  if (failure && (mode === 'cancel' || (mode === 'collect' && list.length === 0))) throw failure;
  const answered = new Set(list.flatMap(({ request }) => request.entries.map(({ id }) => id)));
  return { list, waiting: entriesSent(ledger, 'open').difference(answered) };
}

/** Null where there is no answer yet. */
async function answersOf(batch: Batch, mode: BatchMode | undefined, deps: BatchDeps): Promise<Answers['list'] | null> {
  const { store, clock, spend } = deps;
  const requests = requestsOf(store.ledger, batch.id);
  const ids = requests.map(({ id }) => id);
  const api = await (deps.openBatches as NonNullable<BatchDeps['openBatches']>)(batch.model);
  let { remote } = batch;
  if (remote === null) {
    const sentAt = new Date(batch.sentAt);
    if (clock.now().getTime() - sentAt.getTime() < FIRST_LOOK_MS) return null;
    const found = await api.find(ids, sentAt);
    if (found === 'perhaps') return null;
    if (found === 'none') {
      spend.settleBatch(batch, {});
      dropBatch(store.ledger, batch.id);
      if (mode === 'collect') sendAnew(deps);
      return [];
    }
    remote = found.id;
    noteSent(store.ledger, batch.id, remote);
  }
  const state = await api.look(remote);
  if (state === 'waiting') return null;
  if (state === 'gone') {
    giveUp(batch, deps);
    return [];
  }
  const results = new Map((await api.results(remote, ids)).map((result) => [result.id, result]));
  const unknown = requests.filter(({ id }) => !results.get(id)?.usage).map(({ bound }) => bound);
  spend.settleBatch(batch, { used: [...results.values()].flatMap(({ usage }) => usage ?? []), unknown });
  noteEnded(store.ledger, batch.id, clock.now());
  const instructions = batch.instructions ?? undefined;
  return requests.flatMap((request) => {
    const result = results.get(request.id);
    if (!result || request.became !== null) return [];
    if (result.became === 'proposed' || result.became === 'unusable')
      return [{ request, instructions, result, model: batch.model }];
    endRequest(store.ledger, request.id, 'vain');
    return [];
  });
}

/** Nobody will answer: its entries go on without a batch, and what it may have cost stays counted. */
function giveUp(batch: Batch, { store, spend, clock }: BatchDeps): void {
  const requests = requestsOf(store.ledger, batch.id);
  spend.settleBatch(batch, { unknown: requests.map(({ bound }) => bound) });
  for (const { id } of requests) endRequest(store.ledger, id, 'vain');
  noteEnded(store.ledger, batch.id, clock.now());
}

/** Frees its entries; what was answered already is paid for all the same, and settled when it is told. */
async function takeBack(batch: Batch, { store, openBatches }: BatchDeps): Promise<void> {
  if (batch.remote !== null) await (await openBatches?.(batch.model))?.cancel(batch.remote);
  for (const { id } of requestsOf(store.ledger, batch.id)) endRequest(store.ledger, id, 'taken-back');
}

/** What never arrived is sent by a dream of its own. */
function sendAnew({ store: { ledger }, clock }: BatchDeps): void {
  if (inboxItem(ledger, 'dream', 'dream')) return;
  const notBefore = clock.now().toISOString();
  putInInbox(ledger, { kind: 'dream', key: 'dream', payload: { viaBatch: true }, notBefore });
}

/** What a dream may work on tonight: nothing that waits, and where it only collects, nothing that was not answered. */
export function withoutWaiting<Loaded extends { fresh: EntryRow[]; withdrawn: EntryRow[] }>(
  loaded: Loaded,
  { list, waiting }: Answers,
  mode: BatchMode | undefined,
): Loaded {
  const answered = new Set(list.flatMap(({ request }) => request.entries.map(({ id }) => id)));
  const isMeant = ({ id }: EntryRow) => (mode === 'collect' ? answered.has(id) : !waiting.has(id));
  return { ...loaded, fresh: loaded.fresh.filter(isMeant), withdrawn: loaded.withdrawn.filter(isMeant) };
}

/** Keeps what holds of the answers; `again`: what the model is asked once more, and `left`: what they were not about. */
export async function takeAnswers(
  { list }: Answers,
  {
    fresh,
    withdrawn,
    keep,
    rehearse,
  }: Part & {
    keep(proposal: Proposal, part: ProposedPart): Promise<void>;
    rehearse(operations: Parameters<Rehearse>[0], part: Part & { context: Context }): Promise<string | null>;
  },
  deps: BatchDeps,
): Promise<{ again: Part[]; left: Part }> {
  const { store, spend } = deps;
  const left = {
    fresh: new Map(fresh.map((entry) => [entry.id, entry])),
    withdrawn: new Map(withdrawn.map((entry) => [entry.id, entry])),
  };
  const again: Part[] = [];
  for (const { request, instructions, result, model } of list) {
    const rows = request.entries.map((entry) => (entry.isWithdrawn ? left.withdrawn : left.fresh).get(entry.id));
    const isSame = request.entries.every(({ said }, at) => rows[at] && saidOf(rows[at]) === said);
    const there = new Set(rows.filter((row) => row !== undefined));
    const part = {
      fresh: fresh.filter((entry) => there.has(entry)),
      withdrawn: withdrawn.filter((entry) => there.has(entry)),
    };
    for (const { id } of there) if (!left.fresh.delete(id)) left.withdrawn.delete(id);
    const done = new Set<string>();
    const refused = await refusalOf(isSame ? result : null, async (input) => {
      const context = await contextOf(part.fresh, part.withdrawn);
      await readTopics(store, request.topics, context.topics);
      const check = new Check({ context, store, rehearse: (operations) => rehearse(operations, { ...part, context }) });
      const verdict = await check.take(input);
      const operations = check.standing();
      if (operations.length === 0) return verdict.problems;
      const cost = summaryOf(result, (usage) => spend.batchCost(usage, model));
      // What is left is asked about once more tonight.
      await keep({ operations, refused: verdict.problems, left: [] }, { ...part, context, spend: cost });
      for (const { entries } of operations) for (const entry of entries) done.add(entry);
      return verdict.left.length > 0 ? verdict.problems : [];
    });
    // A crash before this leaves entries that are no longer as they were sent, and so nothing to do.
    endRequest(store.ledger, request.id, refused.length === 0 ? 'kept' : 'vain');
    const isLeft = ({ id }: EntryRow) => !done.has(id);
    const rest = { fresh: part.fresh.filter(isLeft), withdrawn: part.withdrawn.filter(isLeft) };
    const isAny = rest.fresh.length + rest.withdrawn.length > 0;
    if (refused.length > 0 && isAny) again.push({ ...rest, refused, instructions });
  }
  return { again, left: { fresh: [...left.fresh.values()], withdrawn: [...left.withdrawn.values()] } };
}

/** Why an answer is not carried out, as the model is told it; empty where `carryOut` did. Null: its entries changed. */
async function refusalOf(
  result: BatchedResult | null,
  carryOut: (input: unknown) => Promise<string[]>,
): Promise<string[]> {
  if (result === null) return ['The entries it was about are no longer the same.'];
  if (result.became !== 'proposed') return [result.reason];
  try {
    return await carryOut(result.input);
  } catch (error) {
    // The dream would lose too much, or touch what is pinned.
    if (!isAppError(error, 'refused')) throw error;
    return [error.message];
  }
}

function summaryOf({ usage }: BatchedResult, costOf: (usage: NonNullable<BatchedResult['usage']>) => number | null) {
  if (!usage) return { calls: 1, inputTokens: 0, outputTokens: 0, microUsd: null, isBatch: true };
  const { calls, inputTokens, cachedInputTokens, outputTokens } = usage;
  return { calls, inputTokens: inputTokens + cachedInputTokens, outputTokens, microUsd: costOf(usage), isBatch: true };
}
