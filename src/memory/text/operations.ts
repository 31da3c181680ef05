// The operations of a dream as a model sends them: their shape. What code lets through is
// decided in rules/operation-rules.ts; performing is the dream's commit.

import { z } from 'zod';
import { hasUnseen } from '../../base/text/wording.ts';
import {
  DROP_REASONS,
  type DreamContext,
  entryIds,
  linesIn,
  linesOut,
  type NewLine,
  type Operation,
  type Put,
} from '../../rules/dream-context.ts';
import { operationFaults } from '../../rules/operation-rules.ts';
import { isMemoryPath } from '../memory-paths.ts';
import { MEMORY_TYPES } from '../memory-types.ts';
import { isTopicName, isTopicPath, lineId, newTopic, parseTopic } from './topic.ts';

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
/** Of a longer one, as it is proposed, the beginning is taken (check.ts). */
export const DESCRIPTION_CHARACTERS = 120;
const description = oneLine(DESCRIPTION_CHARACTERS).refine((text) => !/[[\]]/.test(text), 'must not hold brackets');
const topic = z.string().refine(canBeTopic, 'must be the name of a topic file, without .md');

export const operationSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('put'),
    topic: topic.optional(),
    type: z.enum(MEMORY_TYPES).optional(),
    description: description.optional(),
    out: ids.optional(),
    in: z
      .array(z.strictObject({ text: lineText, entries: someIds }))
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

/** A list as it is taken: the shape of each operation is judged by itself. */
export const proposalListSchema = listOf(z.unknown());
/** A whole list, as the tool `propose_operations` offers it to a model. */
export const proposalSchema = listOf(operationSchema);

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
 * one; with each the drops that name an entry of it as what stands for theirs.
 */
export function bundle(operations: Operation[]): Operation[][] {
  const single = operations.flatMap((operation): Operation[] => {
    if (operation.kind === 'drop') return operation.entries.map((entry) => ({ ...operation, entries: [entry] }));
    return operation.kind === 'put' && linesOut(operation).length === 0 ? splitLines(operation) : [operation];
  });
  const owner = new Map(single.flatMap((operation) => entryIds(operation).map((entry) => [entry, operation] as const)));
  const headOf = (operation: Operation, seen = new Set<Operation>()): Operation => {
    const next = operation.kind === 'drop' && operation.of !== undefined ? owner.get(operation.of) : undefined;
    return next === undefined || seen.has(next) ? operation : headOf(next, seen.add(operation));
  };
  const bundles = new Map<Operation, Operation[]>();
  for (const operation of single) {
    const head = headOf(operation);
    const others = bundles.get(head) ?? [head];
    bundles.set(head, head === operation ? others : [...others, operation]);
  }
  return [...bundles.values()];
}

/** An operation for each line, or for lines that rest on an entry together. */
function splitLines(operation: Put): Operation[] {
  if (operation.entries?.length) return [operation];
  const groups: { entries: Set<string>; lines: NewLine[] }[] = [];
  for (const line of linesIn(operation)) {
    const shared = groups.filter(({ entries }) => line.entries.some((entry) => entries.has(entry)));
    const all = [...shared.flatMap(({ entries }) => [...entries]), ...line.entries];
    const joined = { entries: new Set(all), lines: [...shared.flatMap(({ lines }) => lines), line] };
    for (const group of shared) groups.splice(groups.indexOf(group), 1);
    groups.push(joined);
  }
  return groups.map(({ lines }) => ({ ...operation, in: lines }));
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
