// The operations of a dream: what a model may propose, and what they speak of. What code lets through is decided in
// operation-checks.ts; performing is the dream's commit.

import { z } from 'zod';
import { hasUnseen } from '../../base/text/wording.ts';
import type { Day } from '../../base/time.ts';
import { isMemoryPath } from '../store/confine.ts';
import { isTopicName, isTopicPath, lineId, newTopic, parseTopic } from '../text/topic.ts';
import { MEMORY_TYPES, type MemoryType } from '../types.ts';

/** Why an entry may be left out. The first two name what stands for it; the last three are taken at the model's word. */
const DROP_REASONS = ['duplicate', 'gave-way', 'withdrawn', 'ephemeral', 'in-repository', 'unsupported'] as const;

const ids = z.array(z.string().min(1).max(100)).min(1).max(2_000);
const oneLine = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most, `must have at most ${most} characters`)
    .refine((text) => !/[\r\n]/.test(text) && !hasUnseen(text), 'must be one line, without characters that nobody sees')
    .refine((text) => !/<!--|-->/.test(text.replace(/`[^`]*`/g, '')), 'must not hold a comment');
const reason = oneLine(500);
const lineText = oneLine(1_000).refine(isLine, 'must be words that can stand in a list: no rule, no bare marker');
/** Of a longer one, as it is proposed, the beginning is taken (check.ts). */
export const DESCRIPTION_CHARACTERS = 120;
const description = oneLine(DESCRIPTION_CHARACTERS).refine((text) => !/[[\]]/.test(text), 'must not hold brackets');
const lines = z
  .array(z.strictObject({ text: lineText, entries: ids }))
  .min(1)
  .max(500, 'must be at most 500 lines');
const target = {
  topic: z.string().refine(canBeTopic, 'must be the name of a topic file, without .md'),
  description: description.optional(),
  type: z.enum(MEMORY_TYPES).optional(),
  lines,
};

const over = z
  .array(oneLine(1_000))
  .max(100)
  .optional()
  .describe('What else of the lines that go is no longer true, in their words.');

const same = z.boolean().optional().describe('What it takes for one thing is one and the same.');

export const operationSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('add'), entries: ids, reason, ...target, same }),
  z.strictObject({ kind: z.literal('merge'), entries: ids, reason, ...target, replaces: ids, over, same }),
  z.strictObject({ kind: z.literal('supersede'), entries: ids, reason, ...target, replaces: ids, over, same }),
  z.strictObject({ kind: z.literal('retire'), entries: ids, reason, replaces: ids, over, same }),
  z.strictObject({
    kind: z.literal('rename'),
    entries: z.array(z.string()).max(0).default([]),
    reason,
    topic: z.string().refine(canBeTopic, 'must be the name of a topic file, without .md'),
    to: z.string().refine(isTopicName, 'must be a short kebab-case name'),
    description: description.optional(),
  }),
  z.strictObject({
    kind: z.literal('drop'),
    entries: ids,
    reason,
    because: z.enum(DROP_REASONS),
    of: z.string().min(1).max(100).optional().describe('The line or entry that stands for what is dropped.'),
    same,
  }),
]);

const listOf = <Item extends z.ZodType>(item: Item) => z.strictObject({ operations: z.array(item).min(1).max(2_000) });

/** A list as it is taken: the shape of each operation is judged by itself. */
export const proposalListSchema = listOf(z.unknown());
/** A whole list, as the tool `propose_operations` offers it to a model. */
export const proposalSchema = listOf(operationSchema);

export type Operation = z.infer<typeof operationSchema>;

/** What a dream puts away without a model: lines of one topic, into the archive or out. */
export interface Archiving {
  kind: 'archive' | 'retire';
  /** Path of the topic. */
  topic: string;
  /** Ids. */
  lines: string[];
  entries: string[];
  reason: string;
}

/** Operations that write lines. */
export type Writing = Extract<Operation, { kind: 'add' | 'merge' | 'supersede' }>;

/** An entry as the model is shown it: redacted. */
export interface KnownEntry {
  id: string;
  type: MemoryType;
  strength: 'stated' | 'implied';
  at: string;
  text: string;
  quotes: string[];
  /** Who said each quote, as far as it is known. */
  speakers?: (string | undefined)[];
  by: string;
  /** What it changes of what is known, as it was understood. */
  changes?: string;
  /** The id of the line that it was seen to say again. */
  again?: string;
  /** Where it was said; a subagent's is `<session>/<agent>`. */
  session: string;
  isWithdrawn: boolean;
}

/** What a line rests on. */
export interface LineSource {
  id: string;
  at: string;
  session: string;
  /** Default: not known. */
  text?: string;
  strength?: 'stated' | 'implied';
}

export interface KnownLine {
  /** Without the mark of what was seen once. */
  text: string;
  isPersons: boolean;
  /** A program wrote it, or an agent by a tool; default: false. */
  isPrograms?: boolean;
  /** The day of the one session that showed it; undefined for a plain line. */
  seenOnce?: Day;
  /** None for a line that no dream wrote. */
  sources?: LineSource[];
}

/** Whether no dream wrote a line, so that none changes it. */
export function isOthers({ isPersons, isPrograms = false }: Pick<KnownLine, 'isPersons' | 'isPrograms'>): boolean {
  return isPersons || isPrograms;
}

export interface KnownTopic {
  name: string;
  path: string;
  type: MemoryType | undefined;
  isPinned: boolean;
  /** Of its file as it stands. */
  bytes: number;
  /** By line id. */
  lines: Map<string, KnownLine>;
}

/** What the operations are checked against. */
export interface DreamContext<Topic extends KnownTopic = KnownTopic> {
  entries: Map<string, KnownEntry>;
  /** By name; all topics, also those that were not shown. */
  topics: Map<string, Topic>;
  /** Of all topics of the memory; default: not known, so that no loss is too great. */
  lines?: number;
}

/** What each check of an operation is given. */
export interface Check {
  /** The whole list. */
  operations: Operation[];
  context: DreamContext;
  /** Lines of all operations so far, by topic and id, with the type of the topic. */
  added: Map<string, { type: MemoryType | undefined; text: string }>;
  /** The lines that any operation takes out, with the topics that lose them. */
  gone: Map<string, Set<string>>;
  say(problem: string): void;
}

/** The entries of these ids, as far as they are known. */
export function entriesOf({ entries }: DreamContext, ids: string[]): KnownEntry[] {
  return ids.flatMap((id) => entries.get(id) ?? []);
}

/** The topic that holds a line: of several the preferred one, else one that may be changed; undefined for none. */
export function topicOfLine<Topic extends KnownTopic>(
  line: string,
  context: DreamContext<Topic>,
  preferred?: string,
): Topic | undefined {
  const own = preferred === undefined ? undefined : context.topics.get(preferred);
  if (own?.lines.has(line)) return own;
  const holding = [...context.topics.values()].filter((topic) => topic.lines.has(line));
  return holding.find((topic) => !topic.isPinned && !isOthers(topic.lines.get(line) as KnownLine)) ?? holding[0];
}

/**
 * The topics that lose a line to an operation. What is no longer true is true nowhere: it goes from every topic where
 * nocturne may change it. A merge changes one copy, since the others still hold; what is withdrawn takes the copies
 * along that rest on nothing else.
 */
export function topicsLosing<Topic extends KnownTopic>(
  line: string,
  operation: Operation,
  context: DreamContext<Topic>,
): Topic[] {
  const own = topicOfLine(line, context, 'topic' in operation ? operation.topic : undefined);
  if (!own || operation.kind === 'merge') return own ? [own] : [];
  const isWithdrawn = (id: string) => context.entries.get(id)?.isWithdrawn === true;
  const isByWithdrawal = operation.kind === 'retire' && operation.entries.every(isWithdrawn);
  const losing = [...context.topics.values()].filter((topic) => {
    const known = topic.lines.get(line);
    if (topic.isPinned || !known || isOthers(known)) return false;
    const { sources = [] } = known;
    return isByWithdrawal ? sources.length > 0 && sources.every(({ id }) => isWithdrawn(id)) : true;
  });
  return losing.length > 0 ? losing : [own];
}

/** The newest time of these; an empty text, which is before all times, for none. */
export function newestAt(said: { at: string }[]): string {
  return said.reduce((newest, { at }) => (at > newest ? at : newest), '');
}

/** Whether a file of this name can be a topic; what a person or an agent calls one need not be a name we would give. */
function canBeTopic(name: string): boolean {
  return isTopicPath(`${name}.md`) && isMemoryPath(`${name}.md`);
}

/** Whether a topic file that is given this line has exactly this line. */
function isLine(text: string): boolean {
  const found = parseTopic('x.md', newTopic({ name: 'x', description: 'x', type: 'project', lines: [text] })).lines;
  return found.length === 1 && found[0]?.id === lineId(text);
}
