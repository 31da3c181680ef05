// The file here has the published one's shape and none of its words.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readLocomo } from './locomo.ts';
import { recognise } from './recognise.ts';

const path = join(import.meta.dirname, '../fixtures/eval/locomo-shaped.json');
const text = readFileSync(path, 'utf8');

describe("LoCoMo's file", () => {
  const [sample, ...more] = readLocomo(text, path).samples;

  test('gives a sample for each conversation, with its sessions in their order and every line a prompt', () => {
    expect(more).toEqual([]);
    expect(sample?.name).toBe('conv-1');
    expect(sample?.sessions.map(({ startsAt, turns }) => [startsAt, turns.map(({ says }) => says)])).toEqual([
      [
        '2024-05-08T13:56:00.000Z',
        [
          'Tilda: Yesterday I bought the canoe at last! [a picture of a green canoe]',
          'Bo: Lovely. I stay on land with my goats.',
        ],
      ],
      [
        '2024-06-01T00:05:00.000Z',
        ['Bo: Two donkeys moved in.', 'Tilda: That makes 3 boats for me, by the way. Always wear a vest.'],
      ],
    ]);
  });

  test('gives a fact for each part of an answer that is read from lines that are there', () => {
    const [first, second] = sample?.sessions ?? [];
    expect(sample?.facts.map(({ id, text, said }) => [id, text, said])).toEqual([
      ['question-1', 'When did Tilda buy the canoe? 7 May 2024', [{ session: first?.id, turn: 1 }]],
      [
        'question-2/1',
        'Which animals does Bo keep? goats',
        [
          { session: first?.id, turn: 2 },
          { session: second?.id, turn: 1 },
        ],
      ],
      [
        'question-2/2',
        'Which animals does Bo keep? two donkeys',
        [
          { session: first?.id, turn: 2 },
          { session: second?.id, turn: 1 },
        ],
      ],
      ['question-3', 'How many boats does Tilda own? 3', [{ session: second?.id, turn: 2 }]],
    ]);
  });
});

const [told] = readLocomo(
  JSON.stringify([
    {
      sample_id: 'conv-2',
      conversation: {
        speaker_a: 'Tilda',
        speaker_b: 'Bo',
        session_1_date_time: '1:56 pm on 12 July, 2024',
        session_1: [{ speaker: 'Tilda', dia_id: 'D1:5', text: 'Last Friday I sold it.' }],
      },
      qa: [
        {
          question: 'When did Tilda sell?',
          answer: 'The Friday before 12 July 2024',
          evidence: ['D1:05'],
          category: 2,
        },
        { question: 'When did Tilda sail?', answer: 'The week before 12 July 2024', evidence: ['D:1:5'], category: 2 },
        { question: 'When does Tilda swim?', answer: 'August 2024', evidence: ['D1:5'], category: 2 },
      ],
    },
  ]),
  path,
).samples;

test('days that are told by other days, months, and mistyped evidence are understood', () => {
  const found = (line: string) => [...recognise(told?.facts ?? [], [line]).keys()];
  expect(told?.facts.map(({ said }) => said.length)).toEqual([1, 1, 1]);
  expect(found('Tilda sold it on 2024-07-05.')).toEqual(['question-1', 'question-2']);
  expect(found('Tilda sailed on 2024-07-08.')).toEqual(['question-2']);
  expect(found('Tilda sold it on the Friday before 12 July 2024.')).toEqual(['question-1', 'question-2']);
  expect(found('Tilda sold it on 2024-07-12.')).toEqual([]);
  expect(found('Tilda swims on 2024-08-17.')).toEqual(['question-3']);
  expect(found('In August 2024 Tilda swims.')).toEqual(['question-3']);
});

test('a file of another shape is refused with what is wrong in it', () => {
  expect(() => readLocomo('{', 'x.json')).toThrow('x.json is not JSON');
  expect(() => readLocomo('[{"sample_id": "a"}]', 'x.json')).toThrow(
    /has not the shape of LoCoMo's file: .*\n.*conversation/,
  );
  const undated = text.replace('1:56 pm on 8 May, 2024', 'one day');
  expect(() => readLocomo(undated, 'x.json')).toThrow('conv-1, session 1 begins at "one day"');
});
