import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundMicroUsd, costMicroUsd, LIST_PRICES, priceOf } from '../../../src/base/config/prices.ts';

test('a model has its list price, with or without a date; a setting goes before it; another model has none', () => {
  expect(priceOf('claude-opus-5-5')).toEqual({ input: 4, cacheRead: 0.2, cacheWrite: 5, output: 20 });
  expect(priceOf('claude-opus-4-5-20251101')).toBe(LIST_PRICES['claude-opus-4-5']);
  const own = { input: 1, cacheRead: 1, cacheWrite: 1, output: 1 };
  expect(priceOf('claude-opus-5-5', { 'claude-opus-5-5': own })).toBe(own);
  expect(priceOf('llama', { llama: own })).toBe(own);
  expect(priceOf('claude-mythos-5-1')).toEqual(priceOf('claude-fable-5-1'));
  expect(priceOf('llama')).toBeUndefined();
  expect(priceOf('offline')).toBeUndefined();
});

test('each kind of token costs its own price', () => {
  const tokens = {
    inputTokens: 1_300_000,
    cacheWriteTokens: 300_000,
    cachedInputTokens: 2_000_000,
    outputTokens: 100_000,
  };
  // 1 M plain at 4, 0.3 M written at 5, 2 M read at 0.2, 0.1 M output at 20.
  expect(costMicroUsd(tokens, LIST_PRICES['claude-opus-5-5'] as never)).toBe(
    4_000_000 + 1_500_000 + 400_000 + 2_000_000,
  );
  expect(
    costMicroUsd(
      { ...tokens, inputTokens: 0, cacheWriteTokens: 0, cachedInputTokens: 1, outputTokens: 0 },
      LIST_PRICES['claude-opus-5-5'] as never,
    ),
  ).toBe(1);
});

test('no request costs more than its bound, however its tokens fall', () => {
  const tokens = fc.nat({ max: 1_000_000 });
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.values(LIST_PRICES)),
      tokens,
      tokens,
      tokens,
      tokens,
      (price, plain, written, read, output) => {
        const bound = boundMicroUsd({ inputTokens: plain + written + read, outputTokens: output }, price);
        const cost = costMicroUsd(
          { inputTokens: plain + written, cacheWriteTokens: written, cachedInputTokens: read, outputTokens: output },
          price,
        );
        expect(cost).toBeLessThanOrEqual(bound);
      },
    ),
  );
});
