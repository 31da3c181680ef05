import { describe, expect, test } from 'vitest';
import { lines } from '../support/transcripts.ts';
import type { Observed } from './nights.ts';
import { recognise } from './recognise.ts';
import { score } from './score.ts';
import { readSample } from './set-file.ts';

const SAMPLE = readSample(
  lines(
    { sample: 's', about: 'ports and trackers' },
    { session: '2026-09-01T08:00:00Z' },
    { says: 'Staging is on 4810, production on 4180.' },
    fact('staging', 'Staging is on port 4810.', { match: 'staging & 4810', group: 'ports' }),
    fact('prod', 'Production is on port 4180.', { match: 'production & 4180', group: 'ports', tier: 'should' }),
    { says: 'Bugs are in Jira.' },
    fact('jira', 'Bugs are in Jira.', { match: 'jira & !linear' }),
    { says: 'What if we used Kafka?' },
    { trap: 'kafka', why: 'hypothetical', text: 'Kafka is used.', match: 'kafka' },
    { session: '2026-09-02T08:00:00Z' },
    { says: 'Bugs are in Linear.' },
    fact('linear', 'Bugs are in Linear.', { match: 'linear', replaces: 'jira' }),
  ),
);

function fact(id: string, text: string, more: object): object {
  return { fact: id, type: 'project', text, ...more };
}

type Entry = Observed['entries'][number];

interface Given {
  /** Texts of entries, oldest first. */
  entries?: (string | Partial<Entry>)[];
  /** Texts of lines; each rests on the entries of these numbers. */
  lines?: [text: string, ...entries: number[]][];
}

function given({ entries = [], lines = [] }: Given, sample = SAMPLE) {
  const rows = entries.map((entry, at) => {
    const more = typeof entry === 'string' ? { text: entry } : entry;
    return { id: `e_${at}`, state: 'placed', evidence: [{ message: 'p1', quote: more.text ?? '' }], ...more } as Entry;
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
});

describe('an entry is invented', () => {
  test('where it says nothing of the set and rests on no message that says a fact', () => {
    const stranger = { text: 'The scales are blue.', evidence: [{ message: 'p9', quote: 'blue' }] };
    const reworded = {
      text: 'The test system has port forty-eight ten.',
      evidence: [{ message: 'p1', quote: '4810' }],
    };
    const trap = { text: 'Kafka is used.', evidence: [{ message: 'p9', quote: 'Kafka' }] };
    const entries = [stranger, reworded, trap].map((entry) => entry as Partial<Entry>);
    const { figures, details } = given({ entries });
    expect(figures.extraction.invented).toEqual({ count: 1, of: 3 });
    expect(details.invented).toEqual(['The scales are blue.']);
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

  test('a value that came back is the newest only to who was told so', () => {
    const sample = readSample(
      lines(
        { sample: 'back', about: 'drinks' },
        { session: '2026-09-01T08:00:00Z' },
        { says: 'tea' },
        fact('tea', 'Tea.', { match: 'tea & !gin' }),
        { session: '2026-09-02T08:00:00Z' },
        { says: 'gin' },
        fact('gin', 'Gin.', { match: 'gin', replaces: 'tea' }),
        { session: '2026-09-03T08:00:00Z' },
        { says: 'tea' },
        { again: 'tea', replaces: 'gin' },
      ),
    );
    const untold = given({ entries: ['Tea.', 'Gin.'], lines: [['Gin.', 1]] }, sample);
    expect(untold.figures.retention).toEqual({ count: 1, of: 1 });
    expect(untold.figures.memory.updates).toEqual({ count: 1, of: 1 });
    const told = given({ entries: ['Tea.', 'Gin.', 'Tea.'], lines: [['Gin.', 1]] }, sample);
    expect(told.details.lost).toEqual(['back/tea: Tea.']);
    expect(told.figures.memory.updates).toEqual({ count: 0, of: 1 });
  });
});

describe('lines', () => {
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
