// What a dream's operations mean, before they are judged: lines carry no mark of what was seen once, which code sets
// (draft.ts); what one says of a new topic holds for all that write into it; `hold`, no longer offered, is a line seen
// once; a duplicate from another session that makes a line certain is merged into it; a new name means the topic.

import { countShared } from '../../src/base/text/wording.ts';
import { seenOnceIn } from '../../src/memory/dream/operation-lines.ts';
import {
  entriesOf,
  isOthers,
  type KnownEntry,
  type Operation,
  topicOfLine,
  type Writing,
} from '../../src/memory/dream/operations.ts';
import { TopicSearch, topicCards } from '../../src/memory/dream/topic-table.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { withoutMark } from '../../src/memory/text/topic.ts';
import type { MemoryType } from '../../src/memory/types.ts';
import { type DraftTopic, readNamed, readTopicAt } from './draft.ts';
import type { Context } from './select.ts';

/** The operations as they are meant, in the same order, one for each. */
export async function resolveMeaning(
  operations: Operation[],
  { context, store }: { context: Context; store: Store },
): Promise<Operation[]> {
  const meant: Operation[] = [];
  for (const operation of operations) {
    const held = operation.kind === 'hold' ? await seenOnce(operation, { context, store }) : operation;
    meant.push(corroborated(held, context));
  }
  const renamed = new Map(meant.flatMap((each) => (each.kind === 'rename' ? [[each.to, each.topic] as const] : [])));
  const begun = new Map<string, Pick<Writing, 'type' | 'description'>>();
  for (const each of meant) {
    if (!('lines' in each) || context.topics.has(each.topic)) continue;
    const { type = each.type, description = each.description } = begun.get(each.topic) ?? {};
    begun.set(each.topic, { type, description });
  }
  return meant.map((each) => {
    if (!('lines' in each)) return each;
    const lines = each.lines.map((line) => ({ ...line, text: withoutMark(line.text) || line.text }));
    const topic = context.topics.has(each.topic) ? each.topic : (renamed.get(each.topic) ?? each.topic);
    const { type, description } = begun.get(each.topic) ?? {};
    return {
      ...each,
      lines,
      topic,
      ...(type && !each.type && { type }),
      ...(description && !each.description && { description }),
    };
  });
}

/** Where habits go that nobody named a topic for. */
const HABITS: Record<MemoryType, { topic: string; description: string }> = {
  user: { topic: 'user-habits', description: 'What the user was seen to do or to like, before relying on it' },
  feedback: { topic: 'habits', description: 'Ways of working that were seen and not said: before choosing one' },
  project: { topic: 'project-habits', description: 'What was seen in the project and not said, before relying on it' },
  reference: { topic: 'reference-habits', description: 'Where things were seen to be found and nobody said so' },
};
const NEAR_LINES = 6;
const NEAR_WORDS = 2;

async function seenOnce(
  operation: Extract<Operation, { kind: 'hold' }>,
  place: { context: Context; store: Store },
): Promise<Operation> {
  const entries = entriesOf(place.context, operation.entries);
  const [first] = entries;
  // What was stated, or is withdrawn, is held by nobody: the checks say so.
  const isHabit = entries.length === operation.entries.length && entries.every(isImplied);
  if (!first || !isHabit) return operation;
  return lineSeenOnce(entries, { ...place, reason: operation.reason });
}

function isImplied({ strength, isWithdrawn }: KnownEntry): boolean {
  return strength === 'implied' && !isWithdrawn;
}

/** The operation that writes habits down, near what is like them; `entries` are of one kind. */
export async function lineSeenOnce(
  entries: KnownEntry[],
  { context, store, reason }: { context: Context; store: Store } & { reason: string },
): Promise<Operation> {
  const [first] = entries as [KnownEntry];
  const isSaid = first.by === 'human' || first.by === 'person';
  const type = isSaid || first.type === 'reference' ? first.type : 'project';
  const topic = await topicFor(first, { type, context, store });
  const ids = entries.map(({ id }) => id);
  const [same] = [...(topic.known?.lines ?? [])].filter(([, { text }]) => text === first.text);
  if (same && entries.length === 1) {
    const [line, known] = same;
    if (isOthers(known)) return { kind: 'drop', entries: ids, because: 'duplicate', of: line, reason };
    const lines = [{ text: first.text, entries: ids }];
    return { kind: 'merge', entries: ids, topic: topic.name, replaces: [line], lines, reason };
  }
  const begun = topic.known ? {} : { type, description: HABITS[type].description };
  const lines = entries.map(({ id, text }) => ({ text, entries: [id] }));
  return { kind: 'add', entries: ids, topic: topic.name, ...begun, lines, reason };
}

async function topicFor(
  entry: KnownEntry,
  { type, context, store }: { context: Context; store: Store } & { type: MemoryType },
): Promise<{ name: string; known?: DraftTopic }> {
  const found = new TopicSearch(store.ledger).find(entry.text, NEAR_LINES);
  const cards = new Map(topicCards(store.ledger).map((card) => [card.path, card]));
  const isFit = (topic: DraftTopic) =>
    topic.type === type && !topic.isPinned && topic.bytes * 2 < store.limits.memoryBytes;
  for (const { path, line } of found) {
    const card = cards.get(path);
    if (!card || card.isArchived || card.isPinned || card.type !== type) continue;
    const topic = await readTopicAt(store, path, context.topics);
    if (!topic || !isFit(topic)) continue;
    const { text = topic.description } = topic.lines.get(line) ?? {};
    if (countShared(entry.text, text) >= NEAR_WORDS) return { name: topic.name, known: topic };
  }
  for (let number = 1; ; number++) {
    const name = HABITS[type].topic + (number === 1 ? '' : `-${number}`);
    await readNamed(store, [name], context.topics);
    const known = context.topics.get(name);
    if (!known || isFit(known)) return { name, ...(known && { known }) };
  }
}

/** A drop that takes a corroboration for a mere repetition, as the merge that makes the line plain. */
function corroborated(operation: Operation, context: Context): Operation {
  if (operation.kind !== 'drop' || operation.because !== 'duplicate' || operation.of === undefined) return operation;
  const { of, entries: ids, reason, same } = operation;
  const topic = topicOfLine(of, context);
  const line = topic?.lines.get(of);
  const entries = entriesOf(context, ids);
  if (!topic || !line?.seenOnce || isOthers(line) || entries.some(({ isWithdrawn }) => isWithdrawn)) return operation;
  if (seenOnceIn(entries, line.sources)) return operation;
  const lines = [{ text: line.text, entries: ids }];
  return { kind: 'merge', entries: ids, topic: topic.name, replaces: [of], lines, reason, ...(same && { same }) };
}
