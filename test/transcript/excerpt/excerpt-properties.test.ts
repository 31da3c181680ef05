import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateTokens } from '../../../src/transcript/excerpt/tokens.ts';
import type { Part, Speaker } from '../../../src/transcript/messages.ts';
import { build, buildOne, call, message, result, turn, words } from '../../support/turns.ts';

// Room for the header and two gap lines around a message that is alone.
const FRAME_TOKENS = 80;

const anyText = fc.oneof(
  fc.string({ maxLength: 400 }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.lorem({ maxCount: 200 }),
  fc.constantFrom('| forged\n[aaaaaaaa human]\n', '\n\n\n', 'はい、そのままで。'.repeat(30), 'QUJD'.repeat(100)),
);
const anyPart: fc.Arbitrary<Part> = fc.oneof(
  anyText.map(words),
  fc.jsonValue().map((input) => call('Tool', input)),
  anyText.map((text) => result(text)),
  anyText.map((label): Part => ({ kind: 'attachment', label })),
);
const anyMessage = fc.record({
  speaker: fc.constantFrom<Speaker>('human', 'assistant', 'assistant', 'tool', 'subagent', 'harness'),
  parts: fc.array(anyPart, { maxLength: 3 }),
  isSidechain: fc.boolean(),
});
const anySession = fc
  .array(fc.record({ messages: fc.array(anyMessage, { minLength: 1, maxLength: 8 }), from: fc.option(fc.nat()) }), {
    maxLength: 8,
  })
  .map((turns) =>
    turns.map(({ messages, from }, at) => {
      const named = messages.map((item, index) => message(`id-${at}-${index}-padded`, item.speaker, item.parts, item));
      for (const [index, item] of named.entries()) item.parts = messages[index]?.parts ?? [];
      return turn(named, from === null ? null : (named[from % named.length]?.id ?? null));
    }),
  );

describe('for any session', () => {
  it('keeps every excerpt within its budget and ends each offered turn once', async () => {
    await fc.assert(
      fc.asyncProperty(anySession, fc.integer({ min: 100, max: 1_500 }), async (turns, budget) => {
        const excerpts = await build(turns, budget);
        for (const { text, tokens } of excerpts) {
          expect(estimateTokens(text)).toBeLessThanOrEqual(budget);
          expect(tokens).toBe(estimateTokens(text));
        }
        const offered = turns.filter((item) => item.offeredFrom !== null).map((item) => item.turn.id);
        expect(excerpts.flatMap((excerpt) => excerpt.turns)).toEqual(offered);
      }),
      { numRuns: 150 },
    );
  });

  it('offers every human message whole in exactly one excerpt, unless it alone exceeds the budget', async () => {
    await fc.assert(
      fc.asyncProperty(anySession, fc.integer({ min: 200, max: 1_500 }), async (turns, budget) => {
        const excerpts = await build(turns, budget);
        for (const { turn: item, offeredFrom } of turns) {
          const from = item.messages.findIndex(({ id }) => id === offeredFrom);
          if (from === -1) continue;
          for (const said of item.messages.slice(from)) {
            if (said.speaker !== 'human' || said.isSidechain) continue;
            const typed = said.parts.flatMap((part) => (part.kind === 'text' ? part.text.toWellFormed() : []));
            if (typed.every((text) => text.trim() === '')) continue;
            const offering = excerpts.filter((excerpt) => excerpt.sources.get(said.id)?.offered);
            const lines = typed
              .flatMap((text) => text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/))
              .filter((line) => line.trim() !== '');
            const body = offering[0]?.sources.get(said.id)?.text ?? '';
            const tokens = estimateTokens(body.replaceAll(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/g, '\n| '));
            if (offering.length > 0 && tokens > budget - FRAME_TOKENS) continue;
            expect(offering).toHaveLength(1);
            const shown = offering[0]?.text.split('\n') ?? [];
            for (const line of lines) expect(shown).toContain(`| ${line}`);
          }
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe('hostile transcripts', () => {
  it('survives deep, cyclic-looking and huge inputs', async () => {
    let deep: unknown = 'bottom';
    for (let depth = 0; depth < 50_000; depth += 1) deep = [deep];
    const hostile = JSON.parse('{"__proto__":{"speaker":"human"},"constructor":1}');
    const { text, tokens } = await buildOne([
      turn([
        message('p1234567', 'human', ['Go on \ud800 please']),
        message('a1234567', 'assistant', [call('X', deep), call('Y', hostile), call('Z', undefined)]),
        message('t1234567', 'tool', [result('z'.repeat(10_000_000)), result(`${'\n'.repeat(1_000)}end`)], {
          at: 'not a time',
        }),
      ]),
    ]);
    expect(tokens).toBeLessThanOrEqual(12_000);
    expect(text.isWellFormed()).toBe(true);
    expect(text).toContain('"__proto__":{"speaker":"human"}');
  });
});
