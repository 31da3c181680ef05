// A dry run of a dream: what would be sent to the model, and about what it would cost. It asks no model, writes no file
// and moves no entry.

import { batchPrice, costMicroUsd, type Price } from '../../src/base/config/prices.ts';
import { entriesSent, type Waits, waitsOf } from '../../src/memory/ledger/batches.ts';
import { lookAtHistory } from '../../src/memory/ledger/history-looks.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import { loadEntries } from './load.ts';
import { type ProposeDeps, requestFor } from './propose-operations.ts';
import { batches, contextOf } from './select.ts';

export interface DreamEstimate {
  model: string;
  /** New, changed and held entries, and those that are no longer in the logs. */
  entries: number;
  withdrawn: number;
  requests: { system: string; input: string; inputTokens: number; outputTokens: number }[];
  /** Estimated on the high side, without what code refuses and the model mends. */
  inputTokens: number;
  outputTokens: number;
  /** Millionths of a dollar; null for a model without a price. */
  microUsd: number | null;
  /** The same where the night sends it as a Message Batch. */
  batchMicroUsd?: number | null;
  /** What waits in a batch already; it is not among the entries. */
  waits?: Waits;
}

/** Tokens of an operation around the words of its line. */
const OPERATION_TOKENS = 120;

/** Later batches are shown the memory as it is now, before the earlier ones changed it. */
export async function estimateDream(
  request: { instructions?: string },
  deps: Pick<ProposeDeps, 'store' | 'clock' | 'zone' | 'batchTokens'> & {
    model: string;
    price?: Price;
    isBatch?: boolean;
  },
): Promise<DreamEstimate> {
  const { store, model, price } = deps;
  const open = entriesSent(store.ledger, 'open');
  const all = await loadEntries(store, await lookAtHistory(store));
  const fresh = all.fresh.filter(({ id }) => !open.has(id));
  const gone = all.withdrawn.filter(({ id }) => !open.has(id));
  const requests: DreamEstimate['requests'] = [];
  const limit = { tokens: deps.batchTokens, hasWithdrawn: gone.length > 0 };
  for (const [at, part] of batches(fresh, limit).entries()) {
    const withdrawn = at === 0 ? gone : [];
    const context = await contextOf(part, withdrawn);
    const asked = await requestFor({ ...request, fresh: part, withdrawn, context }, deps);
    const said = part.reduce((sum, entry) => sum + estimateTokens(entry.text) + OPERATION_TOKENS, 0);
    const inputTokens = estimateTokens(asked.system) + estimateTokens(asked.input);
    requests.push({ ...asked, inputTokens, outputTokens: said + withdrawn.length * OPERATION_TOKENS });
  }
  const sum = (what: 'inputTokens' | 'outputTokens') => requests.reduce((total, each) => total + each[what], 0);
  const [inputTokens, outputTokens] = [sum('inputTokens'), sum('outputTokens')];
  // One request for each part: the prompt is written to the cache, and read from it only where something is refused.
  const used = { inputTokens, cacheWriteTokens: inputTokens, cachedInputTokens: 0, outputTokens };
  return {
    model,
    entries: fresh.length,
    withdrawn: gone.length,
    requests,
    inputTokens,
    outputTokens,
    microUsd: price ? costMicroUsd(used, price) : null,
    ...(deps.isBatch && { batchMicroUsd: price ? costMicroUsd(used, batchPrice(price)) : null }),
    waits: waitsOf(store.ledger) ?? undefined,
  };
}
