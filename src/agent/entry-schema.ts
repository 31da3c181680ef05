// What the model sends to `record_entries`: the shape it is told, and the reading of what it sent.
// The near misses that models make are read as meant; all else is refused with the path and what was expected.
// Nothing of what was sent is trusted to be small, flat or plain.

import { z } from 'zod';
import { parsedOr } from '../base/text/json.ts';

const MAX_TEXT_CHARACTERS = 1_000;
const MAX_QUOTE_CHARACTERS = 1_000;
const MAX_ENTRIES = 20;
/** The question, the answer, the reason, and where it is. */
const MAX_QUOTES = 5;
const MAX_JSON_CHARACTERS = 200_000;

const evidenceSchema = z.strictObject({
  message: z.string().min(1).max(200).describe('Id of the message, as shown in [brackets].'),
  quote: z.string().min(1).max(MAX_QUOTE_CHARACTERS).describe('Words copied exactly from that message.'),
});

const entrySchema = z.strictObject({
  type: z.enum(['user', 'feedback', 'project', 'reference']),
  strength: z.enum(['stated', 'implied']).describe('stated: said outright. implied: shown by what was done.'),
  text: z.string().min(1).max(MAX_TEXT_CHARACTERS).describe('One line that can be understood alone, absolute dates.'),
  evidence: z
    .array(evidenceSchema)
    .min(1)
    .max(MAX_QUOTES)
    .describe('The first carries the entry and must be offered, not context; the others make it understandable.'),
  changes: z
    .string()
    .max(MAX_TEXT_CHARACTERS)
    .optional()
    .describe('Only where it changes or takes back something that was known: what was known, as it stood.'),
});

const inputSchema = z.strictObject({ entries: z.array(entrySchema).min(1).max(MAX_ENTRIES) });

/** One entry as the model proposes it. */
export type ProposedEntry = z.infer<typeof entrySchema>;

/** The tool's input as JSON schema. */
export function entriesJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(inputSchema, { io: 'input' });
  return schema;
}

const EXPECTED =
  'Expected { "entries": [{ "type": "user|feedback|project|reference", "strength": "stated|implied", "text": "…", ' +
  '"evidence": [{ "message": "…", "quote": "…" }] }] }.';

/** The proposed entries, not yet looked into; or why there are none. Reads also a bare array and JSON in a string. */
export function readEntries(
  input: unknown,
): { entries: unknown[]; isFull: boolean } | { problem: string; isEmpty?: boolean } {
  let found = input;
  if (typeof found === 'object' && found !== null && !Array.isArray(found)) {
    const unknown = Object.keys(found).find((key) => key !== 'entries');
    if (unknown !== undefined) return { problem: `${shorten(unknown)}: not known here. ${EXPECTED}` };
    found = Object.hasOwn(found, 'entries') ? (found as { entries: unknown }).entries : undefined;
    // What is no JSON stays the string it is, and is named as one.
    if (typeof found === 'string' && found.length <= MAX_JSON_CHARACTERS) found = parsedOr(found);
  }
  if (!Array.isArray(found)) return { problem: `entries: must be an array, ${kindOf(found)} was found. ${EXPECTED}` };
  if (found.length === 0)
    return { problem: 'entries: is empty. If nothing is worth keeping, record nothing.', isEmpty: true };
  if (found.length > MAX_ENTRIES) {
    return { problem: `entries: at most ${MAX_ENTRIES} in one call, ${found.length} were found. Send them in parts.` };
  }
  return { entries: found, isFull: found.length === MAX_ENTRIES };
}

/** One entry; or the paths of what is wrong with it. Reads also a single evidence that is not in an array. */
export function readEntry(proposed: unknown): ProposedEntry | { problem: string } {
  const result = entrySchema.safeParse(withEvidenceArray(proposed));
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, 3).map((issue) => `${pathOf(issue.path)}: ${shorten(issue.message)}`);
  return { problem: `${issues.join('; ')}. ${EXPECTED}` };
}

function withEvidenceArray(proposed: unknown): unknown {
  if (typeof proposed !== 'object' || proposed === null || !Object.hasOwn(proposed, 'evidence')) return proposed;
  const { evidence } = proposed as { evidence: unknown };
  const isSingle = typeof evidence === 'object' && evidence !== null && !Array.isArray(evidence);
  return isSingle ? { ...proposed, evidence: [evidence] } : proposed;
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function pathOf(path: PropertyKey[]): string {
  return (
    path
      .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
      .join('')
      .replace(/^\./, '') || 'entry'
  );
}

function shorten(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
