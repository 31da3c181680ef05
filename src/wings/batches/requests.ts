// A night's requests as one Message Batch: half the price, and an answer within a day. What comes back, hours later, is
// carried out in a memory that has gone on.
//
// 1. Ask after what was sent. Where a process died while it sent, look whether the batch arrived: none is paid for twice.
// 2. Settle what the answers cost, once. What the API did not answer is asked at once, on the next night.
// 3. Carry out what code lets through against the memory as it is. What it does not is asked at once, with the reasons.
// 4. Send what else the night is about, where it is to be sent.
//
// Promises: the ledger knows of a batch, and the inbox asks after it, before anything is reserved or sent; where it is
// certain that it did not arrive, nothing of it is left. What is sent fits the job's ceiling and the day's.

import { Check } from '../../../jobs/dream/check.ts';
import { readTopics } from '../../../jobs/dream/draft.ts';
import { PROPOSAL_TOOL, type ProposeDeps, requestFor } from '../../../jobs/dream/propose.ts';
import type { Requests, RequestsMode, SentRequests } from '../../../jobs/dream/seams.ts';
import { contextOf, type Slice, select, slicesOf } from '../../../jobs/dream/select.ts';
import type { Bound } from '../../base/config/prices.ts';
import { batchPrice } from '../../base/config/prices.ts';
import { isAppError, onAppError } from '../../base/errors.ts';
import type { EntryRow } from '../../memory/ledger/entries.ts';
import { newId } from '../../memory/ledger/ledger.ts';
import type { BatchedRequest, BatchedResult, Batches } from './api.ts';
import {
  askAfter,
  BATCH_KEY,
  type Batch,
  type BatchRequest,
  dropBatch,
  endRequest,
  entriesSent,
  FIRST_LOOK_MS,
  intendBatch,
  lookAgainAt,
  noteEnded,
  noteSent,
  openBatches,
  requestsOf,
  saidOf,
  waitsOf,
} from './rows.ts';

export interface BatchOptions {
  /** Default: what was answered is used, and nothing is sent. */
  mode?: RequestsMode;
  /** How batches of a model are sent and asked after. */
  open(model: string): Promise<Batches>;
}

type Deps = ProposeDeps & BatchOptions;
type By = Parameters<SentRequests['ask']>[1];

/** The requests of a dream as Message Batches. */
export function batchedRequests(options: BatchOptions): Requests {
  const { mode } = options;
  return {
    key: BATCH_KEY,
    askAgainAt: lookAgainAt,
    open: (ledger) => ({ entries: entriesSent(ledger, 'open'), waits: waitsOf(ledger) }),
    ...(mode === 'send' && { priceOf: batchPrice }),
    async begin(proposing) {
      const deps = { ...proposing, ...options };
      // 1. and 2.
      const answers = await answersSince(deps);
      const answered = new Set(answers.flatMap(({ request }) => request.entries.map(({ id }) => id)));
      const waiting = entriesSent(deps.store.ledger, 'open').difference(answered);
      const isIdle = mode === 'collect' && answers.length === 0;
      return {
        ends: isIdle ? (waiting.size > 0 ? 'waiting' : 'nothing-new') : null,
        hasAnswers: answers.length > 0,
        isFree: (entry) => (mode === 'collect' ? answered.has(entry) : !waiting.has(entry)),
        async ask(night, by) {
          // 3.
          const { again, left } = await carryOut(answers, { ...night, ...by }, deps);
          // 4.
          const rest = mode === 'send' ? await sendBatch(left, by, deps) : left;
          return { rest: [...again, rest], isWaiting: mode === 'send' && waitsOf(deps.store.ledger) !== null };
        },
      };
    },
    async end(store, now) {
      const lookAt = lookAgainAt(store.ledger, now);
      if (lookAt) await askAfter(store, lookAt);
    },
  };
}

interface Answer {
  request: BatchRequest;
  instructions: string | undefined;
  result: BatchedResult;
  model: string;
}

/** What is over is remembered so long. */
const KEPT_MS = 30 * 24 * 3_600_000;
/** Tokens of a request around its words, such as what tools cost. */
const FRAME_TOKENS = 1_000;
/** The API answers within a day or never. */
const LOST_AFTER_MS = 26 * 3_600_000;

/** Asks after all that was sent. Where that fails, a dream that does something else too goes on without. */
async function answersSince(deps: Deps): Promise<Answer[]> {
  const { mode } = deps;
  const list: Answer[] = [];
  let failure: unknown;
  for (const batch of openBatches(deps.store.ledger)) {
    const isLost = deps.clock.now().getTime() - Date.parse(batch.sentAt) > LOST_AFTER_MS;
    try {
      const answers = await answersOf(batch, deps);
      if (answers) list.push(...answers);
      else if (isLost) await giveUp(batch, deps);
      else if (mode === 'cancel') await takeBack(batch, deps);
    } catch (error) {
      if (!isAppError(error)) throw error;
      if (isLost) await giveUp(batch, deps);
      else failure ??= error;
    }
  }
  if (failure && (mode === 'cancel' || (mode === 'collect' && list.length === 0))) throw failure;
  return list;
}

/** Null where there is no answer yet. */
async function answersOf(batch: Batch, deps: Deps): Promise<Answer[] | null> {
  const { store, clock, spend, mode } = deps;
  const requests = requestsOf(store.ledger, batch.id);
  const ids = requests.map(({ id }) => id);
  const api = await deps.open(batch.model);
  let { remote } = batch;
  if (remote === null) {
    const sentAt = new Date(batch.sentAt);
    if (clock.now().getTime() - sentAt.getTime() < FIRST_LOOK_MS) return null;
    const found = await api.find(ids, sentAt);
    if (found === 'perhaps') return null;
    if (found === 'none') {
      await spend.settleBatch(batch, {});
      await store.enterRows((ledger) => dropBatch(ledger, batch.id));
      // What never arrived is sent by a dream of its own.
      const again = { kind: 'dream', key: 'dream', payload: { viaBatch: true } } as const;
      if (mode === 'collect') await store.work.putIfNone({ ...again, notBefore: clock.now().toISOString() });
      return [];
    }
    const { id } = found;
    remote = id;
    await store.enterRows((ledger) => noteSent(ledger, batch.id, id));
  }
  const state = await api.look(remote);
  if (state === 'waiting') return null;
  if (state === 'gone') {
    await giveUp(batch, deps);
    return [];
  }
  const results = new Map((await api.results(remote, ids)).map((result) => [result.id, result]));
  const unknown = requests.filter(({ id }) => !results.get(id)?.usage).map(({ bound }) => bound);
  await spend.settleBatch(batch, { used: [...results.values()].flatMap(({ usage }) => usage ?? []), unknown });
  const instructions = batch.instructions ?? undefined;
  return store.enterRows((ledger) => {
    noteEnded(ledger, batch.id, clock.now());
    return requests.flatMap((request) => {
      const result = results.get(request.id);
      if (!result || request.disposition !== null) return [];
      if (result.disposition === 'proposed' || result.disposition === 'unusable')
        return [{ request, instructions, result, model: batch.model }];
      endRequest(ledger, request.id, 'vain');
      return [];
    });
  });
}

/** Nobody will answer: its entries go on without a batch, and what it may have cost stays counted. */
async function giveUp(batch: Batch, { store, spend, clock }: Deps): Promise<void> {
  const requests = requestsOf(store.ledger, batch.id);
  await spend.settleBatch(batch, { unknown: requests.map(({ bound }) => bound) });
  await store.enterRows((ledger) => {
    for (const { id } of requests) endRequest(ledger, id, 'vain');
    noteEnded(ledger, batch.id, clock.now());
  });
}

/** Frees its entries; what was answered already is paid for all the same, and settled when it is told. */
async function takeBack(batch: Batch, { store, open }: Deps): Promise<void> {
  if (batch.remote !== null) await (await open(batch.model)).cancel(batch.remote);
  await store.enterRows((ledger) => {
    for (const { id } of requestsOf(ledger, batch.id)) endRequest(ledger, id, 'taken-back');
  });
}

/** Commits what holds of the answers; `again`: what the model is asked once more, and `left`: what they were not about. */
async function carryOut(answers: Answer[], night: Slice & By, deps: Deps): Promise<{ again: Slice[]; left: Slice }> {
  const { store, spend } = deps;
  const { fresh, withdrawn, instructions: ownInstructions, commit } = night;
  const left = {
    fresh: new Map(fresh.map((entry) => [entry.id, entry])),
    withdrawn: new Map(withdrawn.map((entry) => [entry.id, entry])),
  };
  const again: Slice[] = [];
  for (const { request, instructions, result, model } of answers) {
    const rows = request.entries.map((entry) => (entry.isWithdrawn ? left.withdrawn : left.fresh).get(entry.id));
    const isSame = request.entries.every(({ said }, at) => rows[at] && saidOf(rows[at]) === said);
    const there = new Set(rows.filter((row) => row !== undefined));
    const slice = partOf(night, (entry) => there.has(entry));
    for (const { id } of there) if (!left.fresh.delete(id)) left.withdrawn.delete(id);
    const done = new Set<string>();
    const refused = await refusalOf(isSame ? result : null, async (input) => {
      const context = await contextOf(slice.fresh, slice.withdrawn);
      await readTopics(store, request.topics, context.topics);
      const check = new Check({ slice, context }, { ...deps, ...night });
      const verdict = await check.take(input);
      const checked = check.checked();
      if (checked.operations.length === 0) return verdict.problems;
      const cost = summaryOf(result, (usage) => spend.batchCost(usage, model));
      // What is left is asked about once more tonight.
      await commit({ ...checked, left: [], spend: cost });
      for (const { entries } of checked.operations) for (const entry of entries) done.add(entry);
      return verdict.left.length > 0 ? verdict.problems : [];
    });
    // A crash before this leaves entries that are no longer as they were sent, and so nothing to do.
    const became = refused.length === 0 ? 'kept' : 'vain';
    await store.enterRows((ledger) => endRequest(ledger, request.id, became));
    const rest = partOf(slice, ({ id }) => !done.has(id));
    const isAny = rest.fresh.length + rest.withdrawn.length > 0;
    if (refused.length > 0 && isAny) again.push({ ...rest, refused, instructions });
  }
  const unanswered = { fresh: [...left.fresh.values()], withdrawn: [...left.withdrawn.values()] };
  return { again, left: { ...unanswered, instructions: ownInstructions } };
}

/** Why an answer is not carried out, as the model is told it; empty where `carryOut` did. Null: its entries changed. */
async function refusalOf(
  result: BatchedResult | null,
  carryOut: (input: unknown) => Promise<string[]>,
): Promise<string[]> {
  if (result === null) return ['The entries it was about are no longer the same.'];
  if (result.disposition !== 'proposed') return [result.reason];
  // The dream would lose too much, or touch what is pinned.
  return carryOut(result.input).catch(onAppError(({ message }) => [message], 'refused'));
}

function summaryOf({ usage }: BatchedResult, costOf: (usage: NonNullable<BatchedResult['usage']>) => number | null) {
  if (!usage) return { calls: 1, inputTokens: 0, outputTokens: 0, microUsd: null, isBatch: true };
  const { calls, inputTokens, cachedInputTokens, outputTokens } = usage;
  return { calls, inputTokens: inputTokens + cachedInputTokens, outputTokens, microUsd: costOf(usage), isBatch: true };
}

/** Sends what these entries need as one batch; answers what is asked at once: entries that came back without an answer. */
async function sendBatch(night: Slice, { job, lease }: By, deps: Deps): Promise<Slice> {
  const { instructions } = night;
  const { store, clock, agent, spend, signal } = deps;
  const vain = entriesSent(store.ledger, 'vain');
  const atOnce = { ...partOf(night, ({ id }) => vain.has(id)), instructions };
  const asked = await requestsFor({ ...partOf(night, ({ id }) => !vain.has(id)), instructions }, deps);
  // What does not fit waits for another night; where nothing does, the reservation says so.
  const fitting = await spend.countFitting(asked.map(({ bound }) => bound));
  const sent = asked.slice(0, Math.max(1, fitting));
  if (sent.length === 0) return atOnce;
  const id = newId('batch');
  const now = clock.now();
  const api = await deps.open(agent.model);
  const lookAt = new Date(now.getTime() + FIRST_LOOK_MS);
  const forgetBefore = new Date(now.getTime() - KEPT_MS);
  await intendBatch(store, { id, model: agent.model, job, now, lookAt, forgetBefore, requests: sent });
  const bounds = sent.map(({ bound }) => bound);
  let remote: string | null;
  try {
    await spend.reserveBatch(id, bounds);
    // Whoever took the work over meanwhile takes this batch for never sent.
    await store.work.requireLease(lease);
    remote = await api.send(sent.map(({ request }) => request));
  } catch (error) {
    // What was broken off may have arrived.
    if (!isAppError(error) || signal?.aborted) throw error;
    await spend.settleBatch({ id, model: agent.model }, {});
    await store.enterRows((ledger) => dropBatch(ledger, id));
    // An endpoint of the same protocol that has no batches.
    if (isAppError(error, 'no-model')) return night;
    throw error;
  }
  const sentAs = remote;
  if (sentAs === null || (await store.enterRows((ledger) => noteSent(ledger, id, sentAs)))) return atOnce;
  try {
    // What is answered before it is taken back is paid for, and nobody will ask how much that was.
    await spend.reserveBatch(id, bounds);
  } finally {
    await api.cancel(sentAs);
  }
  return atOnce;
}

function partOf({ fresh, withdrawn }: Slice, isIn: (entry: EntryRow) => boolean) {
  return { fresh: fresh.filter(isIn), withdrawn: withdrawn.filter(isIn) };
}

type Asked = Slice & { id: string; request: BatchedRequest; topics: string[]; bound: Bound };

async function requestsFor(night: Slice, deps: Deps): Promise<Asked[]> {
  const asked: Asked[] = [];
  const { store, requestTokens: mostTokens } = deps;
  const { maxOutputTokens } = deps.agent;
  for (const slice of slicesOf(night, mostTokens)) {
    const selected = await select(slice, { store, mostTokens });
    const request = { id: newId('req'), ...(await requestFor(selected, deps)), tool: PROPOSAL_TOOL };
    const tokens = Buffer.byteLength(JSON.stringify(request)) + FRAME_TOKENS + maxOutputTokens;
    const topics = [...selected.context.topics.values()].map(({ from, path }) => from ?? path);
    asked.push({ ...slice, id: request.id, request, topics, bound: deps.spend.boundInBatch(tokens, maxOutputTokens) });
  }
  return asked;
}
