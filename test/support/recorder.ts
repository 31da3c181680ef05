// A `record_entries` tool over a few messages, and an entry that passes; tests change what they are about.

import { type RecordOptions, recordEntriesTool } from '../../src/agent/tools.ts';
import type { EvidenceSource } from '../../src/rules/candidate.ts';

export const SOURCES: EvidenceSource[] = [
  {
    id: 'human-0001',
    turn: 'turn-1',
    speaker: 'human',
    at: '2026-03-05T10:00:00.000Z',
    text: 'Please  never use tabs —\nI don’t like “mixed” indentation in cafés.',
    offered: true,
  },
  {
    id: 'assist-001',
    turn: 'turn-1',
    speaker: 'assistant',
    text: 'Shall I deploy to staging or keep it local?',
    offered: true,
  },
  { id: 'human-0002', turn: 'turn-2', speaker: 'human', text: 'no, local', offered: true },
  { id: 'human-0003', turn: 'turn-2', speaker: 'human', text: 'Yes', offered: true },
  { id: 'context-01', turn: 'turn-0', speaker: 'human', text: 'We ship every Friday afternoon.', offered: false },
];

export function recorder(options: Partial<RecordOptions> = {}) {
  return recordEntriesTool({
    find: (id) => SOURCES.find((source) => source.id === id),
    messages: () => SOURCES,
    isKnown: () => false,
    redact: async (text) => ({ text }),
    ...options,
  });
}

export function entry(more: Record<string, unknown> = {}) {
  return {
    type: 'feedback',
    strength: 'stated',
    text: 'Use spaces, never tabs.',
    evidence: [{ message: 'human-0001', quote: 'never use tabs' }],
    ...more,
  };
}

export async function recordOne(more: Record<string, unknown> = {}, options: Partial<RecordOptions> = {}) {
  const tool = recorder(options);
  const reply = await tool.call({ entries: [entry(more)] });
  return { reply, found: tool.recorded() };
}

export const quoting = (message: string, quote: string) => ({ evidence: [{ message, quote }] });
