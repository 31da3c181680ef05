// A dry run of a dream: what would be sent to the model, and about what it would cost. It asks no model, writes no file
// and moves no entry.

import { costMicroUsd, type Price } from '../../src/base/config/prices.ts';
import { statHistory } from '../../src/memory/history/log-items.ts';

import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import { readEntries } from './load.ts';
import { type ProposeDeps, requestFor } from './propose.ts';
import { select, slicesOf } from './select.ts';

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
}

/** Tokens of an operation around the words of its line. */
const OPERATION_TOKENS = 120;

/** Later requests are shown the memory as it is now, before the earlier ones changed it. */
export async function estimateDream(
  request: { instructions?: string },
  deps: Pick<ProposeDeps, 'store' | 'clock' | 'zone' | 'requestTokens'> & {
    model: string;
    price?: Price;
  },
): Promise<DreamEstimate> {
  const { store, model, price, requestTokens: mostTokens } = deps;
  const { fresh, withdrawn } = await readEntries(store, await statHistory(store));
  const requests: DreamEstimate['requests'] = [];
  for (const slice of slicesOf({ ...request, fresh, withdrawn }, mostTokens)) {
    const asked = await requestFor(await select(slice, { store, mostTokens }), deps);
    const said = slice.fresh.reduce((sum, entry) => sum + estimateTokens(entry.text) + OPERATION_TOKENS, 0);
    const inputTokens = estimateTokens(asked.system) + estimateTokens(asked.input);
    requests.push({ ...asked, inputTokens, outputTokens: said + slice.withdrawn.length * OPERATION_TOKENS });
  }
  const sum = (what: 'inputTokens' | 'outputTokens') => requests.reduce((total, each) => total + each[what], 0);
  const [inputTokens, outputTokens] = [sum('inputTokens'), sum('outputTokens')];
  // One request for each slice: the prompt is written to the cache, and read from it only where something is refused.
  const used = { inputTokens, cacheWriteTokens: inputTokens, cachedInputTokens: 0, outputTokens };
  return {
    model,
    entries: fresh.length,
    withdrawn: withdrawn.length,
    requests,
    inputTokens,
    outputTokens,
    microUsd: price ? costMicroUsd(used, price) : null,
  };
}
