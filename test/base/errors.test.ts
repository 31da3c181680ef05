import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  AppError,
  backoffMs,
  describeError,
  ERRORS,
  type ErrorCode,
  failureOf,
  isGivenUp,
  jsonProblem,
  ruleOf,
} from '../../src/base/errors.ts';

const codes = Object.keys(ERRORS) as ErrorCode[];

test('a wait is never nothing and never beyond its bound, which grows with the failures in a row and then no more', () => {
  fc.assert(
    fc.property(fc.constantFrom(...codes), fc.integer({ min: 1, max: 40 }), fc.string(), (code, failures, seed) => {
      const { firstMs, longestMs } = ERRORS[code];
      const wait = backoffMs({ code }, { failures, seed });
      expect(wait).toBeGreaterThan(0);
      expect(wait).toBeLessThanOrEqual(Math.min(longestMs, firstMs * 4 ** (failures - 1)));
      expect(backoffMs({ code }, { failures, seed })).toBe(wait);
    }),
  );
});

test('waits of different seeds are spread over the whole bound', () => {
  const waits = Array.from({ length: 1_000 }, (_, n) => backoffMs({ code: 'network' }, { failures: 2, seed: `${n}` }));
  const quarters = [0, 0, 0, 0];
  for (const wait of waits)
    quarters[Math.floor((wait - 1) / 60_000)] = (quarters[Math.floor((wait - 1) / 60_000)] ?? 0) + 1;
  expect(Math.min(...quarters)).toBeGreaterThan(200);
  expect(quarters).toHaveLength(4);
});

test('a pause that a server asked for is kept, and what is drawn comes after it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 86_400_000 }), fc.string(), (retryAfterMs, seed) => {
      const wait = backoffMs({ code: 'overloaded', retryAfterMs }, { failures: 9, seed });
      expect(wait).toBeGreaterThan(retryAfterMs);
      expect(wait).toBeLessThanOrEqual(retryAfterMs + ERRORS.overloaded.firstMs);
    }),
  );
});

test('what passes by itself is never given up; all else is, after its tries', () => {
  for (const code of ['network', 'overloaded', 'auth', 'quota', 'ceiling', 'conflict'] as const)
    expect(isGivenUp(code, 1_000)).toBe(false);
  const tries = { timeout: 8, 'server-error': 8, refusal: 3, 'bad-reply': 3, 'child-crash': 3, oversize: 1 } as const;
  for (const [code, most] of Object.entries(tries) as [ErrorCode, number][])
    expect([isGivenUp(code, most - 1), isGivenUp(code, most)]).toEqual([false, true]);
});

test('a person is asked for a key, a budget, a model, settings and a disk, and for nothing else', () => {
  const needed = codes.filter((code) => ERRORS[code].needsPerson);
  expect(needed.sort()).toEqual(['auth', 'no-model', 'quota', 'settings', 'storage']);
});

test('whatever was thrown becomes a failure; a code that a newer nocturne wrote has a rule too', () => {
  expect(failureOf(new AppError('overloaded', 'Later.', { remedy: 'Wait.', retryAfterMs: 5 }))).toEqual({
    code: 'overloaded',
    message: 'Later. Wait.',
    retryAfterMs: 5,
  });
  expect(failureOf('oh')).toEqual({ code: 'unexpected', message: 'oh' });
  expect(ruleOf('toString')).toBe(ERRORS.unexpected);
  expect(ruleOf(null)).toBe(ERRORS.unexpected);
});

test.each([
  '{"key": secret-abc}',
  'secret-abc',
  '"secret-abc',
  '{"a": "secret',
  '["x" secret-abc"]',
  '{"a": secret-abc',
])('why %s is no JSON is told without what stands there', (text) => {
  let problem = '';
  try {
    JSON.parse(text);
  } catch (error) {
    problem = jsonProblem(error);
  }
  expect(problem).toMatch(/^(?:Unexpected|Expected|Unterminated|it is)/);
  expect(problem).not.toMatch(/secre|abc/);
});

test('what a driver throws is told in words, whatever it is', () => {
  expect(describeError({ code: '57P03', message: 'the database system is starting up' })).toBe(
    'the database system is starting up',
  );
  expect(describeError({ severity: 'ERROR', code: '42P01' })).toBe('{"severity":"ERROR","code":"42P01"}');
  expect(describeError(new AggregateError([new Error('one'), { message: 'two' }]))).toBe('one, two');
});
