// What an evaluation is likely to take of a model, said before it begins: from the words of the set and of the prompts.

import { costMicroUsd, type Price } from '../../src/base/config/prices.ts';
import { renderPrompt } from '../../src/base/prompt.ts';
import { dayOf } from '../../src/base/time.ts';
import { countO200k } from '../../src/transcript/excerpt/tokens.ts';
import type { EvalSet } from './set.ts';

/** Tools, index and what is known, beside the prompt and the excerpt; topics and entries, in a dream. */
const BESIDE = { extract: 2_000, dream: 5_000 };
/** Thought and said in a job. Nearly every one is one request: 43 for 43 excerpts, and 1.00 a night, were measured. */
const OUTPUT = { extract: 1_500, dream: 4_000 };

export type Estimate = Awaited<ReturnType<typeof estimateRun>>;

/** `perfect`: the extraction asks no model. */
export async function estimateRun({ samples }: EvalSet, { perfect, price }: { perfect: boolean; price?: Price }) {
  const [extract, dream] = await Promise.all(
    ['extract', 'dream'].map(async (name) => countO200k((await renderPrompt(name, {})).text)),
  );
  const sessions = perfect ? [] : samples.flatMap((sample) => sample.sessions);
  const nights = samples.reduce(
    (count, sample) => count + new Set(sample.sessions.map(({ startsAt }) => dayOf(startsAt, 'UTC'))).size,
    0,
  );
  const said = sessions.reduce((sum, { turns }) => sum + countO200k(JSON.stringify(turns)), 0);
  const inputTokens =
    said + sessions.length * ((extract ?? 0) + BESIDE.extract) + nights * ((dream ?? 0) + BESIDE.dream);
  const outputTokens = sessions.length * OUTPUT.extract + nights * OUTPUT.dream;
  // What a job before it may have left in the cache is not counted on.
  const plain = { inputTokens, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens };
  return {
    requests: sessions.length + nights,
    inputTokens,
    outputTokens,
    /** Null for a model without a price. */
    microUsd: price ? costMicroUsd(plain, price) : null,
  };
}

export function sayEstimate(model: string, { requests, inputTokens, outputTokens, microUsd }: Estimate): string {
  const thousands = (tokens: number) => `${Math.max(1, Math.round(tokens / 1_000)).toLocaleString('en')}k`;
  const money =
    microUsd === null ? `${model} has no price here` : `about $${(microUsd / 1e6).toFixed(2)} at list price`;
  return (
    `Model ${model}: about ${requests} requests, ${thousands(inputTokens)} tokens in, ` +
    `${thousands(outputTokens)} out: ${money}.`
  );
}
