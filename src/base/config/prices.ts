// What models cost, in US dollars per million tokens. A model that is not here, and that `prices` in config.json does
// not name, is counted in tokens only.
// Promise: a cost is whole micro-dollars, rounded up, so that sums in a database are exact and never too low.

/** US dollars per million tokens. */
export interface Price {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

/** Tokens of one or more model calls, as the API counts them. */
export interface Usage {
  calls: number;
  inputTokens: number;
  /** Read from the prompt cache, not among `inputTokens`; those written to it count as input. */
  cachedInputTokens: number;
  /** Of `inputTokens`, those written to the prompt cache. */
  cacheWriteTokens: number;
  outputTokens: number;
}

/** What one request used. */
export interface Settled extends Usage {
  /** The model that answered, where it was not known before. */
  answeredBy?: string;
}

/** How an agent's program pays that stands as the model: by the person's plan, or by a key; `model`: whose price bounds it. */
export interface Paid {
  by: 'plan' | 'key';
  model?: string;
}

/**
 * List prices of the Claude models, with cache writes that last five minutes, as published in November 2026 at
 * https://platform.claude.com/docs/en/about-claude/pricing. Haiku 5.5 is the price of prompts up to 100,000 tokens,
 * which is far beyond what one request holds unless `excerptTokens` was raised to that; longer ones cost five times it.
 */
export const LIST_PRICES: Record<string, Price> = {
  'claude-fable-5-1': { input: 10, cacheRead: 0.25, cacheWrite: 12.5, output: 50 },
  'claude-mythos-5-1': { input: 10, cacheRead: 0.25, cacheWrite: 12.5, output: 50 },
  'claude-mythos-5': { input: 10, cacheRead: 1, cacheWrite: 12.5, output: 50 },
  'claude-fable-5': { input: 10, cacheRead: 1, cacheWrite: 12.5, output: 50 },
  'claude-opus-5-5': { input: 4, cacheRead: 0.2, cacheWrite: 5, output: 20 },
  'claude-opus-5': { input: 5, cacheRead: 0.5, cacheWrite: 6.25, output: 25 },
  'claude-opus-4-8': { input: 5, cacheRead: 0.5, cacheWrite: 6.25, output: 25 },
  'claude-opus-4-7': { input: 5, cacheRead: 0.5, cacheWrite: 6.25, output: 25 },
  'claude-opus-4-6': { input: 5, cacheRead: 0.5, cacheWrite: 6.25, output: 25 },
  'claude-opus-4-5': { input: 5, cacheRead: 0.5, cacheWrite: 6.25, output: 25 },
  'claude-sonnet-5-5': { input: 2, cacheRead: 0.1, cacheWrite: 2.5, output: 10 },
  'claude-sonnet-5': { input: 2, cacheRead: 0.2, cacheWrite: 2.5, output: 10 },
  'claude-sonnet-4-6': { input: 3, cacheRead: 0.3, cacheWrite: 3.75, output: 15 },
  'claude-sonnet-4-5': { input: 3, cacheRead: 0.3, cacheWrite: 3.75, output: 15 },
  'claude-haiku-5-5': { input: 0.1, cacheRead: 0.01, cacheWrite: 0.125, output: 0.5 },
  'claude-haiku-4-5': { input: 1, cacheRead: 0.1, cacheWrite: 1.25, output: 5 },
};

/** The price of a model id; a date behind the id (`-20251001`) is no other model. Undefined where it is not known. */
export function priceOf(model: string, prices: Record<string, Price> = {}): Price | undefined {
  const dateless = model.replace(/-\d{8}$/, '');
  return prices[model] ?? prices[dateless] ?? LIST_PRICES[dateless];
}

/** What the tokens cost, in millionths of a dollar. */
export function costMicroUsd(tokens: Omit<Usage, 'calls'>, price: Price): number {
  const plainInput = tokens.inputTokens - tokens.cacheWriteTokens;
  return wholeMicroUsd(
    plainInput * price.input +
      tokens.cacheWriteTokens * price.cacheWrite +
      tokens.cachedInputTokens * price.cacheRead +
      tokens.outputTokens * price.output,
  );
}

/** What a request may cost at most, in millionths of a dollar: all input written to the cache, all output used. */
export function boundMicroUsd(bound: { inputTokens: number; outputTokens: number }, price: Price): number {
  const dearest = Math.max(price.input, price.cacheRead, price.cacheWrite);
  return wholeMicroUsd(bound.inputTokens * dearest + bound.outputTokens * price.output);
}

/** Bytes of a request that shows as much of a session as one shows: as many tokens are set aside for it. */
const WHOLE_REQUEST = 45_000;

interface Limited {
  model: string;
  prices?: Record<string, Price>;
  maxOutputTokens: number;
  dayMoneyUsd?: number;
}

/** The least limit of a day, in dollars, that has room for any session; empty for a model without a price. */
export function leastDayUsd({ model, prices, maxOutputTokens: outputTokens }: Limited): string {
  const price = priceOf(model, prices);
  const most = price ? boundMicroUsd({ inputTokens: WHOLE_REQUEST, outputTokens }, price) : 0;
  return most > 0 ? (Math.ceil(most / 1e4) / 100).toFixed(2) : '';
}

/** What is said of a limit that keeps longer sessions waiting for ever; undefined where it does not, and of 0: that says what it means. */
export function sayTooLow(of: Limited): string | undefined {
  const least = leastDayUsd(of);
  if (!of.dayMoneyUsd || of.dayMoneyUsd >= Number(least)) return undefined;
  return `dayMoneyUsd has to be at least ${least}: a request of ${of.model} may cost that much, and longer sessions would never be read.`;
}

/** Rounded up to a whole number, but for what binary fractions add. */
function wholeMicroUsd(micro: number): number {
  return Math.ceil(micro - 1e-6);
}
