// The operations of a dream: their shape, as a model sends them, and what a list of checked ones makes of topics. Pure: topics and texts
// in, texts out. What code lets through is decided in rules/operation-rules.ts; performing is the dream's commit.

import { z } from 'zod';
import { hasUnseen } from '../../base/text/wording.ts';
import type { Day } from '../../base/time.ts';
import { withoutTagLines } from '../../rules/as-read.ts';
import {
  carrierOf,
  certaintyOf,
  DROP_REASONS,
  type DreamContext,
  entryIds,
  type KnownEntry,
  type KnownLine,
  type KnownTopic,
  keepsAllOf,
  knownEntries,
  linesIn,
  linesOut,
  type NewLine,
  type Operation,
  type Put,
  renamesOf,
  sessionOf,
  topicsLosing,
  wholeOf,
  withAgain,
} from '../../rules/dream-context.ts';
import { operationFaults } from '../../rules/operation-rules.ts';
import { isMemoryPath } from '../memory-paths.ts';
import { MEMORY_TYPES, type MemoryType } from '../memory-types.ts';
import { bodyStart, readFrontmatter, setKeys } from './frontmatter.ts';
import { cutDescription } from './index-file.ts';
import { editLines, isTopicName, isTopicPath, lineId, markSeenOnce, newTopic, parseTopic } from './topic.ts';

const ids = z.array(z.string().min(1).max(100)).max(2_000);
const someIds = ids.min(1);
const oneLine = (most: number) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most, `must have at most ${most} characters`)
    .refine(
      (text) => !/[\r\n]/.test(text) && !hasUnseen(text),
      'must be one line, without characters that cannot be seen',
    )
    .refine((text) => !/<!--|-->/.test(text.replace(/`[^`]*`/g, '')), 'must not hold a comment');
const reason = oneLine(500);
const lineText = oneLine(1_000).refine(isLine, 'must be words that can stand in a list: no rule, no bare marker');
/** Of a longer one the beginning is taken. */
const description = oneLine(10_000)
  .transform((text) => cutDescription(text, 120))
  .refine((text) => !/[[\]]/.test(text), 'must not hold brackets');
const topic = z.string().refine(canBeTopic, 'must be the name of a topic file, without .md');

/** @internal */
export const operationSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('put'),
    topic: topic.optional(),
    type: z.enum(MEMORY_TYPES).optional(),
    description: description.optional(),
    out: ids.optional(),
    in: z
      .array(z.strictObject({ text: lineText, entries: ids }))
      .max(500, 'must be at most 500 lines')
      .optional(),
    over: z.array(oneLine(1_000)).max(100).optional(),
    entries: ids.optional(),
    reason,
  }),
  z.strictObject({
    kind: z.literal('drop'),
    entries: someIds,
    because: z.enum(DROP_REASONS),
    of: z.string().min(1).max(100).optional(),
    reason,
  }),
  z.strictObject({
    kind: z.literal('rename'),
    topic,
    to: z.string().refine(isTopicName, 'must be a short kebab-case name'),
    description: description.optional(),
    reason,
  }),
]);

const listOf = <Item extends z.ZodType>(item: Item) => z.strictObject({ operations: z.array(item).min(1).max(2_000) });

/**
 * A list as it is taken: the shape of each operation is judged by itself.
 * @internal
 */
export const proposalListSchema = listOf(z.unknown());
/**
 * A whole list, as the tool `propose_operations` offers it to a model.
 * @internal
 */
export const proposalSchema = listOf(operationSchema);

/** What a dream puts away without a model: lines of one topic. */
export interface Archiving {
  /** Path of the topic. */
  topic: string;
  /** Ids. */
  lines: string[];
  entries: string[];
  reason: string;
}

const DEFAULT_LIMITS = { memoryBytes: 102_400 };

/** What is wrong with each of the operations; `memoryBytes` is what one topic's file may hold (default 102,400). */
export function faultsOf(
  operations: Operation[],
  context: DreamContext,
  { memoryBytes }: { memoryBytes: number } = DEFAULT_LIMITS,
): string[][] {
  return operationFaults(operations, context, { memoryBytes, isTopicName });
}

/** All that is wrong with the operations, a sentence each; empty when they may be carried out. */
export function checkOperations(
  operations: Operation[],
  context: DreamContext,
  limits: { memoryBytes: number } = DEFAULT_LIMITS,
): string[] {
  const placed = new Set(operations.flatMap(entryIds));
  const missing = [...context.entries.keys()].filter((id) => !placed.has(id));
  const said = faultsOf(operations, context, limits).flatMap((problems, at) =>
    problems.map((problem) => `operations[${at}] (${operations[at]?.kind}): ${problem}`),
  );
  return [...(missing.length > 0 ? [sayUnplaced(missing)] : []), ...said];
}

export const sayUnplaced = (entries: string[]) => `These entries are in no operation: ${entries.join(', ')}.`;

/**
 * Splits operations into what can be decided by itself: lines that share no entry, and entries that are dropped, one by
 * one; with each the drops that name an entry of it as what stands for theirs, behind it.
 */
export function bundle(operations: Operation[]): Operation[][] {
  const single = operations.flatMap((operation): Operation[] => {
    if (operation.kind === 'drop') return operation.entries.map((entry) => ({ ...operation, entries: [entry] }));
    if (operation.kind === 'rename' || linesOut(operation).length + (operation.entries?.length ?? 0) > 0)
      return [operation];
    return grouped(linesIn(operation), (line) => line.entries).map((lines) => ({ ...operation, in: lines }));
  });
  const about = new Set(single.flatMap(entryIds));
  const standsFor = (operation: Operation) =>
    operation.kind === 'drop' && operation.of !== undefined && about.has(operation.of) ? [operation.of] : [];
  return grouped(single, (operation) => [...entryIds(operation), ...standsFor(operation)]).map((those) =>
    those.toSorted((a, b) => standsFor(a).length - standsFor(b).length),
  );
}

/** Those that share a key, also by way of others, together, where the first of them stood. */
function grouped<Item>(items: readonly Item[], keysOf: (item: Item) => string[]): Item[][] {
  let groups: { keys: string[]; items: Item[] }[] = [];
  for (const item of items) {
    const keys = keysOf(item);
    const shared = groups.filter((group) => group.keys.some((key) => keys.includes(key)));
    const joined = {
      keys: [...shared.flatMap((group) => group.keys), ...keys],
      items: [...shared.flatMap((group) => group.items), item],
    };
    const [first] = shared;
    groups = first
      ? groups.flatMap((group) => (group === first ? joined : shared.includes(group) ? [] : group))
      : [...groups, joined];
  }
  return groups.map((group) => group.items);
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

export type DraftLine = KnownLine & { /** Ids of what it rests on. */ entries: string[] };

/** A topic as a model is shown it: its text is redacted. */
export interface Draft extends KnownTopic {
  description: string;
  lines: Map<string, DraftLine>;
  /** Where the file is while nothing touches the topic: in the archive. What changes it brings it back to `path`. */
  from?: string;
  /** The model named it without having seen it, so it knows no better description. */
  isUnseen?: boolean;
}

export interface TopicEdit {
  path: string;
  /** The file in the archive that comes back. */
  from?: string;
  name: string;
  /** For a topic that is not there yet, or whose description changes. */
  description?: string;
  type?: MemoryType;
  remove: Set<string>;
  add: { text: string; entries: string[] /** It is marked so: one session showed it. */; seenOnce?: Day }[];
  /** The path that the topic, whose file moves with its history, had before. */
  renamedFrom?: string;
}

/** What a list of checked operations does to each topic, by path. */
export function editsOf(operations: Operation[], context: DreamContext<Draft>): TopicEdit[] {
  const edits = new Map<string, TopicEdit>();
  const editOf = ({ path, name, from }: { path: string; name: string; from?: string }) => {
    const edit = edits.get(path) ?? { path, name, ...(from && { from }), remove: new Set<string>(), add: [] };
    edits.set(path, edit);
    return edit;
  };
  for (const operation of operations) {
    if (operation.kind !== 'put') continue;
    const gone = new Map<string, DraftLine>();
    for (const line of linesOut(operation)) {
      for (const topic of topicsLosing(line, operation, context)) {
        editOf(topic).remove.add(line);
        const known = topic.lines.get(line);
        if (known) gone.set(line, known);
      }
    }
    const { topic: name, description, type } = operation;
    if (name === undefined || linesIn(operation).length === 0) continue;
    const known = context.topics.get(name);
    const edit = editOf(known ?? { path: `${name}.md`, name });
    if (description && !known?.isUnseen) edit.description = description;
    if (!known) edit.type = type;
    edit.add.push(...linesIn(operation).map((line) => lineOf(line, { put: operation, gone, context })));
  }
  for (const operation of operations) {
    const topic = operation.kind === 'rename' ? context.topics.get(operation.topic) : undefined;
    if (operation.kind !== 'rename' || !topic) continue;
    const edit = editOf(topic);
    edit.renamedFrom = topic.path;
    edit.path = `${operation.to}.md`;
    edit.name = operation.to;
    if (operation.description && !topic.isUnseen) edit.description = operation.description;
  }
  return [...edits.values()];
}

/** A new line with what it rests on: also on what the lines rest on that it goes on saying. */
function lineOf(
  line: NewLine,
  { put, gone, context }: { put: Put; gone: Map<string, DraftLine>; context: DreamContext<Draft> },
): TopicEdit['add'][number] {
  const whole = entryIds(put).length > 0 ? wholeOf(line, gone.values(), renamesOf(put, context)) : undefined;
  // A person's own words, which no entry supports.
  if (line.entries.length === 0 && !whole) return line;
  // A habit of which this is a part shows it, too.
  const isPart = ({ seenOnce, text }: DraftLine) =>
    seenOnce !== undefined && keepsAllOf({ ...line, isPersons: false }, text);
  const isCarried = (known: DraftLine) => carrierOf(known, put, context) === line || isPart(known);
  const carried = whole ? [whole] : [...gone.values()].filter(isCarried);
  const inherited = carried.flatMap(({ sources = [] }) => sources);
  const cited = knownEntries(context, line.entries).map((entry) => withAgain(entry, gone));
  const { seenOnce, isFound } = certaintyOf(line.text, { cited, carried });
  const entries = [...new Set([...line.entries, ...inherited.map(({ id }) => id)])];
  const text = seenOnce ? markSeenOnce(line.text, seenOnce, isFound) : line.text;
  return { text, entries, ...(seenOnce && { seenOnce }) };
}

/** Null where the topic says nothing any more, and holds nothing else either. */
export function applyEdit(current: string | null, edit: TopicEdit): string | null {
  const add = edit.add.map((line) => line.text);
  if (current === null) {
    const { name, description = name, type = 'project' } = edit;
    // A topic that went meanwhile is begun anew for what comes, and not for what goes.
    return add.length === 0 ? null : newTopic({ name, description, type, lines: add });
  }
  const text = editLines(current, { remove: edit.remove, add });
  if (add.length === 0 && edit.remove.size > 0 && isBlank(text)) return null;
  return edit.description ? setKeys(text, { description: edit.description }) : text;
}

/** Whether a topic file has headings at most. */
const isBlank = (text: string) => /^(?:\s*(?:#{1,6}(?:[ \t][^\n]*)?)?(?:\n|$))*$/.test(text.slice(bodyStart(text)));

export function renamed(text: string | null, name: string): string | null {
  return text && (readFrontmatter(text).data.name === undefined ? text : setKeys(text, { name }));
}

/** Topics with the ids of the lines that are shown of each, as the model is shown them. */
export function renderTopics(shown: Map<Draft, Set<string>>): string {
  return [...shown]
    .map(([topic, ids]) => {
      const lines = [...topic.lines]
        .filter(([id]) => ids.has(id))
        .map(([id, line]) => {
          const once = line.seenOnce ? ` seen once ${line.seenOnce}` : '';
          const writer = line.isPrograms ? ' program' : line.isPersons ? ' person' : '';
          return `[${id}${once}${writer}] ${line.text}`;
        });
      const more = topic.lines.size - lines.length;
      if (more > 0) lines.push(`(${more} more ${more === 1 ? 'line' : 'lines'} not shown)`);
      return [`### ${topic.path} (${topic.type ?? 'untyped'}) — ${topic.description}`, ...lines].join('\n');
    })
    .join('\n\n');
}

/** A session is shown as a short name, since only whether it is another one matters. */
export function entryLines(
  entries: KnownEntry[],
  { sessions, changed }: { sessions: string[]; changed: Map<string, string[]> },
): string {
  const lines = entries.map(({ speakers = [], quotes, ...entry }) => {
    const session = nameOfSession(sessions.indexOf(sessionOf(entry)));
    const old = changed.get(entry.id);
    const said = quotes.map((quote, at) => (speakers[at] ? { by: speakers[at], quote } : quote));
    return withoutTagLines(JSON.stringify({ ...entry, ...(old && { lines: old }), quotes: said, session }));
  });
  return lines.join('\n') || 'none';
}

/** A session as entries name it, of which only matters whether it is another one. */
export const nameOfSession = (at: number) => `s${at + 1}`;
