// Sends what a night would ask a model as one Message Batch: half the price, and an answer within a day. What comes back
// is answers.ts's.
// Promises: the ledger knows of a batch, and the inbox asks after it, before anything is reserved or sent; where it is
// certain that it did not arrive, nothing of it is left. What is sent fits the job's ceiling and the day's.

import type { BatchedRequest } from '../../src/agent/batches.ts';
import type { Bound } from '../../src/base/config/prices.ts';
import { isAppError } from '../../src/base/errors.ts';
import {
  dropBatch,
  dropOldBatches,
  entriesSent,
  FIRST_LOOK_MS,
  intendBatch,
  noteSent,
} from '../../src/memory/ledger/batches.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import { checkFence, type Lease } from '../../src/memory/ledger/leases.ts';
import { newId } from '../../src/memory/ledger/ledger.ts';
import type { BatchDeps } from './answers.ts';
import { type Part, PROPOSAL_TOOL, requestFor } from './propose.ts';
import { batches, contextOf } from './select.ts';

/** What is over is remembered so long. */
const KEPT_MS = 30 * 24 * 3_600_000;
/** Tokens of a request around its words, such as what tools cost. */
const FRAME_TOKENS = 1_000;

/** Sends what these entries need as one batch; answers what is for the loop: entries that came back without an answer. */
export async function sendBatch(
  { fresh, withdrawn, instructions, job, lease }: Part & { job: string; lease: Lease },
  deps: BatchDeps,
): Promise<Part> {
  const { store, clock, agent, spend, signal } = deps;
  const vain = entriesSent(store.ledger, 'vain');
  const isVain = ({ id }: EntryRow) => vain.has(id);
  const loop = { fresh: fresh.filter(isVain), withdrawn: withdrawn.filter(isVain) };
  const asked = await requestsFor(
    {
      fresh: fresh.filter((entry) => !isVain(entry)),
      withdrawn: withdrawn.filter((entry) => !isVain(entry)),
      instructions,
    },
    deps,
  );
  // What does not fit waits for another night; where nothing does, the reservation says so.
  const sent = asked.slice(0, Math.max(1, spend.countFitting(asked.map(({ bound }) => bound))));
  if (sent.length === 0 || !deps.openBatches) return loop;
  const id = newId('batch');
  const now = clock.now();
  const api = await deps.openBatches(agent.model);
  const lookAt = new Date(now.getTime() + FIRST_LOOK_MS);
  dropOldBatches(store.ledger, new Date(now.getTime() - KEPT_MS));
  intendBatch(store.ledger, { id, model: agent.model, job, now, lookAt, requests: sent });
  const bounds = sent.map(({ bound }) => bound);
  let remote: string | null;
  try {
    spend.reserveBatch(id, bounds);
    // Whoever took the work over meanwhile takes this batch for never sent.
    checkFence(store.ledger, lease);
    remote = await api.send(sent.map(({ request }) => request));
  } catch (error) {
    // What was broken off may have arrived.
    if (!isAppError(error) || signal?.aborted) throw error;
    spend.settleBatch({ id, model: agent.model }, {});
    dropBatch(store.ledger, id);
    // An endpoint of the same protocol that has no batches.
    if (isAppError(error, 'no-model')) return { fresh, withdrawn };
    throw error;
  }
  if (remote === null || noteSent(store.ledger, id, remote)) return loop;
  try {
    // What is answered before it is taken back is paid for, and nobody will ask how much that was.
    spend.reserveBatch(id, bounds);
  } finally {
    await api.cancel(remote);
  }
  return loop;
}

type Asked = Part & { id: string; request: BatchedRequest; topics: string[]; bound: Bound };

async function requestsFor({ fresh, withdrawn, instructions }: Part, deps: BatchDeps): Promise<Asked[]> {
  const asked: Asked[] = [];
  const limit = { tokens: deps.batchTokens, hasWithdrawn: withdrawn.length > 0 };
  for (const [at, entries] of batches(fresh, limit).entries()) {
    const part = { fresh: entries, withdrawn: at === 0 ? withdrawn : [] };
    const context = await contextOf(part.fresh, part.withdrawn);
    const words = await requestFor({ ...part, instructions, context }, deps);
    const request = { id: newId('req'), ...words, tool: PROPOSAL_TOOL };
    const { maxOutputTokens } = deps.agent;
    const tokens = Buffer.byteLength(JSON.stringify(request)) + FRAME_TOKENS + maxOutputTokens;
    const topics = [...context.topics.values()].map(({ from, path }) => from ?? path);
    asked.push({ ...part, id: request.id, request, topics, bound: deps.spend.boundInBatch(tokens, maxOutputTokens) });
  }
  return asked;
}
