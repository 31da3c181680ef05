import { describe, expect, it } from 'vitest';
import { build, buildOne, long, message, result, turn } from '../../support/turns.ts';

describe('several excerpts', () => {
  it('splits between turns only when human and final text alone do not fit', async () => {
    const turns = Array.from({ length: 6 }, (_, at) =>
      turn([
        message(`p-${at}-padded`, 'human', [long(`ask${at}x`, 60)]),
        message(`t-${at}-padded`, 'tool', [result(long(`out${at}x`, 500))]),
        message(`f-${at}-padded`, 'assistant', [`Answer number ${at}.`]),
      ]),
    );
    expect(await build(turns, 4_000)).toHaveLength(1);
    const excerpts = await build(turns, 900);
    expect(excerpts.length).toBeGreaterThan(1);
    expect(excerpts.flatMap((excerpt) => excerpt.turns)).toEqual(turns.map((item) => item.turn.id));
    expect(excerpts[1]?.text).toContain('\n[f-0-padd assistant context]\n| Answer number 0.\n[p-1-padd human]');
  });

  it('says which part of a session each is, and of what the others show nothing', async () => {
    const turns = [1, 2, 3].map((at) =>
      turn([message(`p${at}-padded`, 'human', [long('ask', 60)]), message(`f${at}-padded`, 'assistant', ['Done.'])]),
    );
    const texts = (await build(turns, 500)).map(({ text }) => text.split('\n'));
    expect(texts.map(([first]) => first)).toEqual(['(part 1 of 3)', '(part 2 of 3)', '(part 3 of 3)']);
    for (const lines of texts) expect(lines.at(-1)).toBe('| Done.');
    expect((await buildOne(turns, 4_000)).text).not.toMatch(/^\(/m);
  });

  it('cuts a single message over the budget in its middle and still shows the answer to it', async () => {
    const { text, tokens, turns } = await buildOne(
      [
        turn([
          message('p1234567', 'human', [`START ${long('paste', 9_000)} STOP`]),
          message('f1234567', 'assistant', ['Got it all.']),
        ]),
      ],
      1_000,
    );
    expect(tokens).toBeLessThanOrEqual(1_000);
    expect(text).toMatch(/\| START [\s\S]*characters left out[\s\S]* STOP\n\[f1234567 assistant\]\n\| Got it all\.$/);
    expect(turns).toEqual(['p1234567']);
  });

  it('keeps human messages whole where a turn has several, and ends the turn with the last part', async () => {
    const parts = [1, 2, 3].map((at) =>
      message(`p${at}-padded`, 'human', [long(`part${at}x`, 100)], { beginsTurn: at === 1 }),
    );
    const excerpts = await build([turn(parts)], 700);
    expect(excerpts.map((excerpt) => excerpt.turns)).toEqual([[], [], ['p1-padded']]);
    for (const [at, excerpt] of excerpts.entries()) expect(excerpt.text).toContain(long(`part${at + 1}x`, 100));
  });

  it('keeps the question that a person was asked with the answer, where a turn is split', async () => {
    const asked = message('q1-padded', 'human', [result('Squash or rebase?'), long('Squash', 100)], {
      beginsTurn: false,
    });
    const before = message('p1-padded', 'human', [long('before', 100)]);
    const after = message('p2-padded', 'human', [long('after', 100)], { beginsTurn: false });
    const excerpts = await build([turn([before, asked, after])], 700);
    expect(excerpts).toHaveLength(3);
    const offering = excerpts.filter((excerpt) => excerpt.sources.get('q1-padded')?.offered);
    expect(offering).toHaveLength(1);
    expect(offering[0]?.text).toContain('| Squash or rebase?\n[q1-padde human]\n| Squash0 ');
  });

  it('shows the same of a chunk whose older tool results are too many to be held', async () => {
    const turnsWith = (older: string) =>
      Array.from({ length: 90 }, (_, at) =>
        turn([
          message(`p-${at}-padded`, 'human', [`Question ${at}.`]),
          message(`t-${at}-padded`, 'tool', [result(at < 10 ? older : long(`out${at}x`, 9_000))]),
          message(`f-${at}-padded`, 'assistant', [`Answer ${at}.`]),
        ]),
      );
    const short = await buildOne(turnsWith('short'), 6_000);
    const large = await buildOne(turnsWith(long('huge', 20_000)), 6_000);
    expect(large).toEqual(short);
    expect(large.text).toContain('out89x0 ');
    expect(large.turns).toHaveLength(90);
  });
});
