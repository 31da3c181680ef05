// The estimate of tokens, against the encoder that it estimates, on texts of several kinds; on real sessions:
// real-excerpts.test.ts.

import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { countO200k, estimateTokens, isWithinTokens } from '../../../src/transcript/excerpt/tokens.ts';

const exactly = (text: string) => countTokens(text, { disallowedSpecial: new Set() });

const japanese = '本番環境へのデプロイは必ず私の承認を得てから行ってください。';
const bytes = Buffer.from(Array.from({ length: 9000 }, (_, at) => (at * at * 7919) % 251));
const json = JSON.stringify({ at: '2026-11-22T08:00:00Z', name: 'src/a-b.ts', list: [1, 20, 300], isOpen: true });

test('nothing costs nothing', () => {
  expect(estimateTokens('')).toBe(0);
});

test.each([
  ['prose', 'The quick brown fox jumps over the lazy dog. '.repeat(40), 1.05],
  ['German', 'Die Tests müssen vor jedem Release laufen, außer der Nutzer möchte das überspringen. '.repeat(5), 1.1],
  ['French', "Les tests doivent être exécutés avant chaque déploiement, même quand c'est urgent. ".repeat(5), 1.1],
  ['Japanese', japanese.repeat(20), 1.1],
  ['Chinese', '每次发布之前都必须在测试环境运行所有的测试用例。'.repeat(5), 1.4],
  ['Russian', 'Перед каждым релизом нужно запускать тесты на промежуточном сервере. '.repeat(5), 1.4],
  ['JSON', json.repeat(10), 1.1],
  ['hexadecimal digits', bytes.toString('hex'), 1.1],
  ['base64', bytes.toString('base64'), 1.1],
  ['one character without end', 'a'.repeat(3_000), 1.1],
  ['emoji cut anywhere', '👩‍👩‍👧'.repeat(200), 1.1],
])('%s is underestimated by at most 6 %, and not overestimated by much', (_, text, most) => {
  const wanted = Math.max(text.length / 3, exactly(text) * 1.53);
  expect(estimateTokens(text)).toBeGreaterThanOrEqual(wanted * 0.94);
  expect(estimateTokens(text)).toBeLessThanOrEqual(wanted * most + 1);
});

test('what has room in a budget is estimated within it, and what is estimated well within it has room', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200, unit: 'grapheme' }), fc.integer({ min: 0, max: 120 }), (text, budget) => {
      const tokens = estimateTokens(text);
      if (isWithinTokens(text, budget)) expect(tokens).toBeLessThanOrEqual(budget);
      else expect(tokens * 1.03 + 2).toBeGreaterThan(budget);
    }),
  );
});

test('a text costs what its lines cost together, whatever is in them', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 60 }), { maxLength: 12 }), (lines) => {
      const sum = lines.reduce((tokens, line) => tokens + countO200k(`${line}\n`), 0);
      expect(countO200k(lines.map((line) => `${line}\n`).join(''))).toBeLessThanOrEqual(sum + 0.001);
    }),
  );
});

test('ten megabytes without a space are judged at once', () => {
  expect(isWithinTokens('x'.repeat(10_000_000), 12_000)).toBe(false);
});
