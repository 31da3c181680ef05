// What a reader answered in the place of a model, kept to be played again: for each request, in order, the session, what
// it was for, a hash of what was asked, and the answer. What an answer quotes is kept as a place in the transcript.
//
// A play is a directory with bridge/inbox/NNNN.json (requests), bridge/outbox/NNNN.json (their answers) and, for each
// session, <session>/extract.json, which `nocturne learn --json` wrote.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { foldSpace } from '../../../src/rules/quotes.ts';
import { placeSchema } from './facts.ts';
import { hideWords, showWords } from './hidden-words.ts';
import { countLines, fileOfSession, placeOf, shortHash, stringsOfLine, wordsAt } from './places.ts';

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
  const text = readFileSync(cassettePath(name), 'utf8').trimEnd();
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

export function cassettePath(name: string): string {
  return join(FOLDER, `${name}.jsonl`);
}

/** The words that an entry quotes, from the transcript, where they are known. */
export function quotesOf({ evidence }: CassetteEntry): { message: string; quote: string }[] {
  return evidence.flatMap(({ message, place }) => (place ? [{ message, quote: wordsAt(place) }] : []));
}

const blockSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  name: z.string().optional(),
  input: z.unknown().optional(),
});
const answerSchema = z.looseObject({ content: z.array(blockSchema) });
const requestSchema = z.looseObject({
  tools: z.array(z.looseObject({ name: z.string() })),
  messages: z.array(z.looseObject({ content: z.union([z.string(), z.array(blockSchema)]) })),
});
const recordedSchema = z.looseObject({
  entries: z.array(
    z.looseObject({
      id: z.string(),
      text: z.string(),
      evidence: z.array(z.looseObject({ message: z.string(), quote: z.string() })),
    }),
  ),
});
const givenSchema = z.looseObject({
  entries: z.array(
    z.looseObject({
      ...{ type: z.string(), strength: z.string().default('stated'), text: z.string() },
      evidence: z.array(z.looseObject({ message: z.string(), quote: z.string() })),
    }),
  ),
});
type Recorded = z.infer<typeof recordedSchema>['entries'];

/** The lines of a cassette of the play in `dir`. Throws where a request cannot be told to be about a session. */
export function cassetteOf(dir: string): CassetteLine[] {
  const recorded = new Map<string, Recorded>();
  for (const name of readdirSync(dir)) {
    const path = join(dir, name, 'extract.json');
    if (existsSync(path)) recorded.set(name, recordedSchema.parse(readJson(path)).entries);
  }
  const answers = readdirSync(join(dir, 'bridge', 'outbox')).filter((name) => name.endsWith('.json'));
  return answers.sort().map((name): CassetteLine => {
    const request = requestSchema.parse(readJson(join(dir, 'bridge', 'inbox', name)));
    const { content } = answerSchema.parse(readJson(join(dir, 'bridge', 'outbox', name)));
    const first = request.messages[0]?.content ?? '';
    const shown = typeof first === 'string' ? first : first.map(({ text = '' }) => text).join('\n');
    const kind = request.tools.some((tool) => tool.name === 'record_entries') ? 'extract' : 'dream';
    const session = sessionAskedAbout(shown, recorded);
    if (!session) throw new Error(`Request ${name} is about none of the sessions of the play.`);
    const asked = shortHash(JSON.stringify(request.messages));
    const line = { session, kind, request: name.replace('.json', ''), asked } satisfies Partial<CassetteLine>;
    const kept = { ...line, ...answerAsKept(content, { session, recorded: recorded.get(session) ?? [] }) };
    return mapStrings(kept, (text) => hideWords(text, session));
  });
}

function answerAsKept(
  content: z.infer<typeof blockSchema>[],
  { session, recorded }: { session: string; recorded: Recorded },
): Partial<CassetteLine> {
  const kept: Partial<CassetteLine> = {};
  for (const { type, text, name = '', input } of content) {
    if (type === 'text' && text) kept.says = [kept.says, text].filter(Boolean).join('\n');
    if (type !== 'tool_use') continue;
    const given = name === 'record_entries' ? givenSchema.safeParse(input) : undefined;
    if (given?.success) {
      const entries = given.data.entries.map((entry) => entryAsKept(entry, { session, recorded }));
      kept.entries = [...(kept.entries ?? []), ...entries];
    } else if (name === 'propose_operations') {
      const { operations = [] } = input as Pick<CassetteLine, 'operations'>;
      kept.operations = [...(kept.operations ?? []), ...operations];
      const named = new Set(kept.operations.flatMap(({ entries = [] }) => entries));
      kept.texts = Object.fromEntries(recorded.flatMap(({ id, text }) => (named.has(id) ? [[id, text]] : [])));
    } else kept.calls = [...(kept.calls ?? []), { name, input }];
  }
  return kept;
}

function entryAsKept(
  { type, strength, text, evidence }: z.infer<typeof givenSchema>['entries'][number],
  { session, recorded }: { session: string; recorded: Recorded },
): CassetteEntry {
  const as = recorded.find((entry) => foldSpace(entry.text) === foldSpace(text));
  const kept = evidence.map(({ message, quote }) => {
    const found = as?.evidence.find((each) => foldSpace(each.quote) === foldSpace(quote));
    const words = found?.quote ?? quote;
    return { message: found?.message ?? message, place: findPlace(words, session, found?.message ?? message) };
  });
  return { type, strength, text, evidence: kept, taken: as !== undefined };
}

/** Where the words stand, in the record of that message where there are several. */
function findPlace(words: string, session: string, message: string): CassetteEntry['evidence'][number]['place'] {
  const file = fileOfSession(session);
  const [id = message] = message.split('/');
  const places = Array.from({ length: countLines(file) }, (_, at) => placeOf(words, { file, line: at + 1 }));
  const found = places.filter((place) => place !== null);
  return found.find((place) => stringsOfLine(file, place.line).includes(id)) ?? found[0] ?? null;
}

/** The session whose words the request shows, or whose entries. */
function sessionAskedAbout(shown: string, recorded: Map<string, Recorded>): string | undefined {
  const ids = [...shown.matchAll(/"id":"(e_[0-9a-f]+)"/g)].map(([, id]) => id);
  const byEntry = [...recorded].find(([, entries]) => entries.some(({ id }) => ids.includes(id)));
  if (byEntry) return byEntry[0];
  const lines = shown.split('\n').flatMap((line) => (line.startsWith('| ') ? [line.slice(2)] : []));
  const telling = lines.filter((line) => line.length >= 40).slice(0, 40);
  const hits = [...recorded.keys()].map((session) => {
    const file = fileOfSession(session);
    const all = Array.from({ length: countLines(file) }, (_, at) => stringsOfLine(file, at + 1)).join('\n');
    return { session, count: telling.filter((line) => all.includes(line)).length };
  });
  const [best] = hits.sort((a, b) => b.count - a.count);
  return best && best.count > 0 ? best.session : undefined;
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}
