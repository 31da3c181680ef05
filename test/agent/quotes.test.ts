import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findCut, findQuote } from '../../src/rules/quotes.ts';

const sentence = fc
  .array(
    fc.oneof(
      fc.lorem({ maxCount: 1 }),
      fc.constantFrom('café', 'don’t', '“so”', '日本語', '한국어', '🚀', 'e\u0301t\u0301', '—', '1.5'),
    ),
    { minLength: 4, maxLength: 30 },
  )
  .chain((words) =>
    fc.tuple(
      fc.constant(words),
      fc.array(fc.constantFrom(' ', '\n', '  ', '\t', '\u00a0'), { minLength: words.length, maxLength: words.length }),
    ),
  );

describe('for any message', () => {
  it('accepts words taken from it in any normal form, and keeps them as they stand there', () => {
    fc.assert(
      fc.property(sentence, fc.nat(), fc.constantFrom('NFC', 'NFD'), ([words, spaces], at, form) => {
        const text = words.map((word, index) => word + spaces[index]).join('');
        const start = at % (words.length - 3);
        const own = [...words.slice(start, start + 3), 'ok'].slice(0, 3).join(' ');
        fc.pre(/\p{L}.* .*\p{L}/u.test(own));
        const found = findQuote(text, own.normalize(form));
        expect(found?.normalize('NFC')).toBe(own.normalize('NFC'));
        expect(text.replace(/\s+/g, ' ')).toContain(found);
      }),
    );
  });

  it('refuses words of which one was altered', () => {
    fc.assert(
      fc.property(sentence, fc.nat(), ([words, spaces], at) => {
        const text = words.map((word, index) => word + spaces[index]).join('');
        const altered = words.with(at % words.length, 'zebra');
        expect(findQuote(text, altered.join(' '))).toBeNull();
      }),
    );
  });

  it('finds a line of what a tool answered as JSON, and no part of a word', () => {
    const answered = '{"body":"## Review\\nThe bot found 1 issue.\\n\\tSee below."}';
    expect(findQuote(answered, 'The bot found 1 issue.')).toBe('The bot found 1 issue.');
    expect(findQuote(answered, 'See below.')).toBe('See below.');
    expect(findQuote(answered, 'he bot found')).toBeNull();
    expect(findQuote('C:\\repo\\not deploy', 'ot deploy')).toBeNull();
  });
});

it('finds the whole words of a quote that ends or begins where the excerpt cuts a word, and nowhere else', () => {
  const text = 'Published redesign.html at https://example.com/artifact/7e76d82e-c9b9 unless shared from the page';
  const shown =
    '| Published redesign.html at https://example.com/artif\n| … 20 characters left out …\n| ess shared from the page';
  const cut = (quote: string) => findCut(text, quote, shown);
  expect(cut('redesign.html at https://example.com/artif')).toBe('redesign.html at');
  expect(cut('ess shared from the page')).toBe('shared from the page');
  expect(cut('Published redesign.html at https://exam')).toBeNull();
  expect(cut('redesign.html at https://example.org/artif')).toBeNull();
});
