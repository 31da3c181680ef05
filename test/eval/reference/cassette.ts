// What a reader answered in the place of a model, kept to be played again: for each request, in order, the session, what
// it was for, a hash of what was asked, and the answer. What an answer quotes is kept as a place in the transcript.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { placeSchema } from './facts.ts';
import { showWords } from './hidden-words.ts';
import { wordsAt } from './places.ts';

const evidenceSchema = z.strictObject({
  /** The whole id of the message where it is known, else as the answer named it. */
  message: z.string(),
  /** The words that it quotes; null where they stand nowhere in the transcript. */
  place: placeSchema.nullable(),
});
const entrySchema = z.strictObject({
  type: z.string(),
  strength: z.string(),
  text: z.string(),
  evidence: z.array(evidenceSchema),
  /** Whether it was recorded in the play. */
  taken: z.boolean(),
});
const lineSchema = z.strictObject({
  session: z.string(),
  kind: z.enum(['extract', 'dream']),
  /** Which request in the play, and of what it was asked. */
  request: z.string(),
  asked: z.string(),
  says: z.string().optional(),
  entries: z.array(entrySchema).optional(),
  /** As they were proposed, in the words of today's three; `hold` is none of them. `texts`: what the entries that they name say. */
  operations: z.array(z.looseObject({ kind: z.string(), entries: z.array(z.string()).optional() })).optional(),
  texts: z.record(z.string(), z.string()).optional(),
  /** Calls of other tools. */
  calls: z.array(z.strictObject({ name: z.string(), input: z.unknown() })).optional(),
});
export type CassetteLine = z.infer<typeof lineSchema>;
export type CassetteEntry = z.infer<typeof entrySchema>;

const FOLDER = join(import.meta.dirname, 'cassettes');

export function cassetteNames(): string[] {
  const names = existsSync(FOLDER) ? readdirSync(FOLDER) : [];
  return names.flatMap((name) => (name.endsWith('.jsonl') ? [name.replace('.jsonl', '')] : [])).sort();
}

/** As it is kept; `wholeCassette` puts the transcripts' own words back. */
export function readCassette(name: string): CassetteLine[] {
  const text = readFileSync(join(FOLDER, `${name}.jsonl`), 'utf8').trimEnd();
  return text.split('\n').map((line) => lineSchema.parse(JSON.parse(line)));
}

export function wholeCassette(lines: CassetteLine[]): CassetteLine[] {
  return lines.map((line) => mapStrings(line, (text) => showWords(text, line.session)));
}

/** Every string of a value, keys apart, as `change` makes it. */
export function mapStrings<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, change)])) as T;
}

/** The words that an entry quotes, from the transcript, where they are known. */
export function quotesOf({ evidence }: CassetteEntry): { message: string; quote: string }[] {
  return evidence.flatMap(({ message, place }) => (place ? [{ message, quote: wordsAt(place) }] : []));
}
