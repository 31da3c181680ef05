import { expect, test } from 'vitest';
import { testModel } from '../support/app.ts';
import { calls, says } from '../support/messages-server.ts';
import { lines } from '../support/transcripts.ts';
import { judge } from './judge.ts';
import { readSample } from './set-file.ts';

const FACTS = Array.from({ length: 41 }, (_, at) => ({
  ...{ fact: `f${at}`, type: 'project', text: `Fact number ${at}.`, match: `${at}` },
}));
const { facts } = readSample(
  lines({ sample: 's', about: 'numbers' }, { session: '2026-09-01T08:00:00Z' }, { says: 'x' }, ...FACTS),
);
const LINES = ['Zero.', 'One.'];

test('the judge is asked about facts and lines, in parts, and its word counts for what is there', async () => {
  const model = await testModel((request, call) => {
    if (request.messages.length > 1) return says('Done.');
    const found = call === 1 ? { fact: 'f0', lines: [0, 0, 7] } : { fact: 'f40', lines: [1] };
    return calls('name_lines', { found: [found, { fact: 'f1', lines: [9] }, { fact: 'invented', lines: [0] }] });
  });
  const found = await judge(facts, LINES, { model: 'a-judge', access: model.access, requestMs: 60_000 });
  expect([...found]).toEqual([
    ['f0', [0]],
    ['f40', [1]],
  ]);
  const asked = model.requests
    .filter(({ messages }) => messages.length === 1)
    .map((request) => JSON.stringify(request));
  expect(asked).toHaveLength(2);
  expect(asked[0]).toContain('Fact number 39.');
  expect(asked[0]).not.toContain('Fact number 40.');
  expect(asked[1]).toContain('Fact number 40.');
});

test('a judge that only talks is an error, and nobody is asked about no lines', async () => {
  const model = await testModel(() => says('They look fine to me.'));
  const by = { model: 'a-judge', access: model.access, requestMs: 60_000 };
  await expect(judge(facts, LINES, by)).rejects.toThrow('The judge a-judge did not say');
  const before = model.requests.length;
  expect((await judge(facts, [], by)).size).toBe(0);
  expect(model.requests).toHaveLength(before);
});
