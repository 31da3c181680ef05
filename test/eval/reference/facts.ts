// The reference facts and traps of real sessions, as data. A fact's sentence is its reader's; the words it rests on stay
// in the transcript, which is not part of the project, and are named by their place and hash.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** Whether a fact must, should or may be kept. */
export const tierSchema = z.enum(['must', 'should', 'may']);

export const placeSchema = z.strictObject({
  file: z.string(),
  line: z.int().positive(),
  offset: z.int().nonnegative(),
  length: z.int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{16}$/),
});

const factSchema = z.strictObject({
  id: z.string(),
  session: z.string(),
  tier: tierSchema,
  type: z.enum(['user', 'feedback', 'project', 'reference']),
  text: z.string(),
  /** The main agent wrote it into a memory itself: not counted in recall. */
  agentWrote: z.literal(true).optional(),
  quotes: z.array(placeSchema).nonempty(),
});
export type ReferenceFact = z.infer<typeof factSchema>;

const trapSchema = z.strictObject({
  session: z.string(),
  text: z.string(),
  file: z.string(),
  /** Where the reader saw it; absent where the reader named a line that is not there. */
  line: z.int().positive().optional(),
  why: z.string(),
});
export type ReferenceTrap = z.infer<typeof trapSchema>;

/** Which eight sessions: those for work on prompts and checks, or those that nobody who works on them reads. */
export type Part = 'work' | 'sealed';

export function referenceFacts(part: Part): ReferenceFact[] {
  return readLines(`facts-${part}.jsonl`).map((line) => factSchema.parse(line));
}

export function referenceTraps(part: Part): ReferenceTrap[] {
  return readLines(`traps-${part}.jsonl`).map((line) => trapSchema.parse(line));
}

function readLines(name: string): unknown[] {
  const text = readFileSync(join(import.meta.dirname, name), 'utf8');
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}
