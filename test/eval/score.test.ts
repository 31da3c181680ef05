import { describe, expect, test } from 'vitest';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import type { Observed } from './nights.ts';
import { recognise } from './recognise.ts';
import { ratio, score, sum } from './score.ts';
import { again, never, project, sampleOf, turn } from './set.ts';

const SAMPLE = sampleOf('s', [
  {
    startsAt: '2026-09-01T08:00:00Z',
    turns: [
      turn('Staging is on 4810, production on 4180.', [
        project('staging', 'Staging is on port 4810.', 'staging & 4810', { group: 'ports' }),
        project('prod', 'Production is on port 4180.', 'production & 4180', { group: 'ports' }),
      ]),
      turn('Bugs are in Jira.', [project('jira', 'Bugs are in Jira.', 'jira & !linear')]),
      turn('What if we used Kafka?', [never('kafka', 'hypothetical', { text: 'Kafka is used.', match: 'kafka' })]),
    ],
  },
  {
    startsAt: '2026-09-02T08:00:00Z',
    turns: [turn('Bugs are in Linear.', [project('linear', 'Bugs are in Linear.', 'linear', { replaces: 'jira' })])],
  },
]);

interface Given {
  /** Texts of entries, oldest first. */
  entries?: (string | Partial<EntryRow>)[];
  /** Texts of lines; each rests on the entries of these numbers. */
  lines?: [text: string, ...entries: number[]][];
}

function given({ entries = [], lines = [] }: Given, sample = SAMPLE) {
  const rows = entries.map((entry, at) => {
    const more = typeof entry === 'string' ? { text: entry } : entry;
    return {
      id: `e_${at}`,
      state: 'distilled',
      evidence: [{ message: 'p1', quote: more.text ?? '' }],
      ...more,
    } as EntryRow;
  });
  const observed: Observed = {
    entries: rows,
    lines: lines.map(([text, ...of]) => ({
      path: 'notes.md',
      text,
      entries: of.map((at) => `e_${at}`),
      topicEntries: [],
    })),
    messages: sample.sessions.flatMap(({ turns }) => turns.map(({ says }) => says)),
    prompts: new Map(sample.facts.map(({ id }) => [id, new Set(['p1'])])),
    transcripts: { bytes: 1_000, tokens: 200 },
    logs: { bytes: 500, tokens: 100 },
    memory: { bytes: 250, tokens: 50 },
    spent: { extract: spent(300), dream: spent(100) },
    failures: [],
  };
  return score(sample, observed, {
    entries: recognise(
      sample.facts,
      rows.map(({ text }) => text),
    ),
    lines: recognise(
      sample.facts,
      lines.map(([text]) => text),
    ),
    messages: recognise(sample.facts, observed.messages),
  });
}

const spent = (inputTokens: number) => ({
  calls: 2,
  inputTokens,
  cachedInputTokens: 50,
  cacheWriteTokens: 0,
  outputTokens: 10,
});

describe('extraction', () => {
  test('recall counts facts that an entry says, precision entries that say a fact', () => {
    const { figures, details } = given({ entries: ['Staging: 4810.', 'Staging is on port 4810', 'The sky is blue.'] });
    expect(figures.extraction.recall).toEqual({ count: 1, of: 4 });
    expect(figures.extraction.precision).toEqual({ count: 2, of: 3 });
    expect(details.unrecognised).toEqual(['The sky is blue.']);
  });

  test('evidence counts only what rests on a message that says the fact', () => {
    const elsewhere = { text: 'Staging: 4810.', evidence: [{ message: 'other', quote: 'x' }] };
    expect(given({ entries: [elsewhere] }).figures.extraction.evidence).toEqual({ count: 0, of: 4 });
    expect(given({ entries: ['Staging: 4810.'] }).figures.extraction.evidence).toEqual({ count: 1, of: 4 });
  });

  test('an entry that says what must not be kept is wrong, whatever else it says', () => {
    const { figures } = given({ entries: ['Staging is on 4810 and sends to Kafka.'] });
    expect(figures.extraction.precision).toEqual({ count: 0, of: 1 });
    expect(figures.append.traps).toEqual({ count: 1, of: 1 });
  });
});

describe('retention', () => {
  test('is what is left of what was recorded, not of what was said', () => {
    const { figures, details } = given({
      entries: ['Staging is on 4810.', 'Production is on 4180.'],
      lines: [['Staging: 4810.', 0]],
    });
    expect(figures.retention).toEqual({ count: 1, of: 2 });
    expect(details.lost).toEqual(['s/prod: Production is on port 4180.']);
  });

  test('asks nothing of a value that a later entry replaced, and everything of one that none replaced', () => {
    expect(given({ entries: ['Bugs are in Jira.', 'Bugs are in Linear.'] }).figures.retention.of).toBe(1);
    expect(given({ entries: ['Bugs are in Jira.'] }).figures.retention).toEqual({ count: 0, of: 1 });
  });

  test('lets a habit wait that was seen once', () => {
    const { figures } = given({ entries: [{ text: 'Staging is on 4810.', state: 'held' }] });
    expect(figures.retention.of).toBe(0);
    expect(figures.waiting).toBe(1);
  });
});

describe('changes', () => {
  const known = ['Bugs are in Jira.', 'Bugs are in Linear.'];

  test('are right where the newest value stands alone or names the old one beside it', () => {
    expect(given({ entries: known, lines: [['Bugs: Linear.', 1]] }).figures.memory.updates).toEqual({
      count: 1,
      of: 1,
    });
    const both = given({ entries: known, lines: [['Bugs: Linear instead of Jira.', 1]] });
    expect(both.figures.memory.updates.count).toBe(1);
  });

  test('are wrong where the old value stands alone, or the new one is missing', () => {
    const kept = given({
      entries: known,
      lines: [
        ['Bugs: Jira.', 0],
        ['Bugs: Linear.', 1],
      ],
    });
    expect(kept.figures.memory.updates).toEqual({ count: 0, of: 1 });
    expect(kept.details.stale).toEqual(['s/jira: Bugs are in Jira.']);
    expect(given({ entries: known }).figures.memory.updates.count).toBe(0);
  });

  test('are no question where one side was never recorded', () => {
    expect(given({ entries: ['Bugs are in Linear.'] }).figures.memory.updates).toEqual({ count: 0, of: 0 });
  });

  test('a value that came back is the newest only to who was told so', () => {
    const sample = sampleOf('back', [
      { startsAt: '2026-09-01T08:00:00Z', turns: [turn('tea', [project('tea', 'Tea.', 'tea & !gin')])] },
      { startsAt: '2026-09-02T08:00:00Z', turns: [turn('gin', [project('gin', 'Gin.', 'gin', { replaces: 'tea' })])] },
      { startsAt: '2026-09-03T08:00:00Z', turns: [turn('tea', [again('tea', 'gin')])] },
    ]);
    const untold = given({ entries: ['Tea.', 'Gin.'], lines: [['Gin.', 1]] }, sample);
    expect(untold.figures.retention).toEqual({ count: 1, of: 1 });
    expect(untold.figures.memory.updates).toEqual({ count: 1, of: 1 });
    const told = given({ entries: ['Tea.', 'Gin.', 'Tea.'], lines: [['Gin.', 1]] }, sample);
    expect(told.details.lost).toEqual(['back/tea: Tea.']);
    expect(told.figures.memory.updates).toEqual({ count: 0, of: 1 });
  });
});

describe('lines', () => {
  test('look-alikes count where two of them were recorded', () => {
    const entries = ['Staging is on 4810.', 'Production is on 4180.'];
    const { figures } = given({ entries, lines: [['Staging: 4810.', 0]] });
    expect(figures.memory.beside).toEqual({ count: 1, of: 2 });
    expect(given({ entries: entries.slice(1) }).figures.memory.beside.of).toBe(0);
  });

  test('that say the same facts are duplicates, and so are strangers with the same words', () => {
    const { figures, details } = given({
      lines: [
        ['Staging: 4810.'],
        ['The port of staging is 4810.'],
        ['The sky is blue.'],
        ['the sky, is: blue'],
        ['Grey.'],
      ],
    });
    expect(figures.memory.duplicates).toEqual({ count: 2, of: 5 });
    expect(details.duplicates).toEqual(['The port of staging is 4810.', 'the sky, is: blue']);
  });

  test('without an entry, or with a string that their entries do not hold, are unsupported', () => {
    const { details } = given({
      entries: ['Staging is on 4810.'],
      lines: [['Staging: 4810.', 0], ['Staging: 4811.', 0], ['Staging is somewhere.'], ['Staging is elsewhere.', 7]],
    });
    expect(details.unsupported).toEqual([
      'notes.md: Staging: 4811.',
      'notes.md: Staging is somewhere.',
      'notes.md: Staging is elsewhere.',
    ]);
  });
});

test('the memory costs both jobs, plain append the extraction, the transcript nothing but its length', () => {
  const { memory, append, transcript } = given({}).figures;
  expect([memory, append, transcript].map(({ tokens, calls }) => [tokens, calls])).toEqual([
    [520, 4],
    [360, 2],
    [0, 0],
  ]);
  expect([memory, append, transcript].map(({ size }) => size.bytes)).toEqual([250, 500, 1_000]);
});

test('samples add up count by count', () => {
  const one = given({ entries: ['Staging is on 4810.'], lines: [['Staging: 4810.', 0]] }).figures;
  const total = sum([one, one]);
  expect(total.retention).toEqual({ count: 2, of: 2 });
  expect(total.memory.size.bytes).toBe(500);
  expect(total.facts).toBe(8);
});

test('a share of nothing is whole', () => {
  expect(ratio({ count: 0, of: 0 })).toBe(1);
  expect(ratio({ count: 1, of: 4 })).toBe(0.25);
});
