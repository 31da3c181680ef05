// Scores of judgements: pooled over plays, by tier, without what the main agent wrote down itself.

import { describe, expect, test } from 'vitest';
import { type ReferenceFact, referenceFacts } from './facts.ts';
import { comparedWith, describeScore, type Judgement, judgements, scoreJudgements } from './judgement.ts';

const fact = (id: string, tier: ReferenceFact['tier'], more: Partial<ReferenceFact> = {}): ReferenceFact => ({
  ...{ id, tier, session: 's', type: 'feedback', text: id, quotes: [] as never, ...more },
});
const FACTS = [fact('a', 'must'), fact('b', 'must', { agentWrote: true }), fact('c', 'should'), fact('d', 'may')];

const judged = (play: string, entries: Judgement['entries'], topics: Judgement['topics'] = []): Judgement => ({
  ...{ play, entries, topics },
});
const entry = (text: string, covers: string[], verdict: Judgement['entries'][number]['verdict'] = 'true') => ({
  ...{ session: 's', text, covers, verdict },
});

describe('the score of judgements', () => {
  test('counts each fact once for each play, by tier, and none that the main agent wrote down', () => {
    const first = judged('one', [entry('A.', ['a']), entry('A and C.', ['a', 'c']), entry('B.', ['b'])]);
    const second = judged('two', [entry('D.', ['d']), entry('X.', [], 'invented'), entry('Y.', [], 'trap')]);
    const score = scoreJudgements([first, second], FACTS);
    expect(score.recall).toEqual({ must: { count: 1, of: 2 }, should: { count: 1, of: 2 }, may: { count: 1, of: 2 } });
    expect(score.mustAndShould).toEqual({ count: 2, of: 4 });
    expect(score).toMatchObject({ precision: { count: 4, of: 6 }, invented: 1, traps: 1 });
    expect(score.missed).toEqual({ one: [], two: ['a', 'c'] });
    expect(describeScore(score)).toMatch(/^one, two\nentries: must +0\.50 {2}1 of 2\n/);
  });

  test('counts what stands in topics apart', () => {
    const topics = [{ session: 's', text: 'C.', covers: ['c'] }];
    const score = scoreJudgements([judged('one', [entry('A.', ['a'])], topics)], FACTS);
    expect(score.topics.must).toEqual({ count: 0, of: 1 });
    expect(score.mustAndShouldInTopics).toEqual({ count: 1, of: 2 });
  });

  test('knows only facts that are there', () => {
    expect(() => scoreJudgements([judged('one', [entry('Z.', ['z'])])], FACTS)).toThrow('There are no facts z.');
  });
});

test('compared with today, a judgement tells what is lost, and which traps are taken still', () => {
  const then = judged(
    'one',
    [entry('A.', ['a']), entry('A again.', ['a']), entry('C.', ['c']), entry('Y.', [], 'trap')],
    [{ session: 's', text: 'Seen once, 2026-11-20: C.', covers: ['c'] }],
  );
  const today = { entries: ['A again.', 'Y.'], lines: ['C.'] };
  expect(comparedWith(then, today)).toEqual({ entries: ['c'], topics: [], traps: ['Y.'] });
});

test('the judgements of the project can be scored', () => {
  const all = judgements();
  expect(scoreJudgements(all, referenceFacts('sealed')).plays).toEqual(all.map(({ play }) => play));
});
