// What a dream's operations mean, before they are judged: lines carry no mark of what was seen once, which code sets
// (draft.ts); what one says of a new topic holds for all that write into it; a duplicate from another session that makes a
// line certain is merged into it; a new name means the topic.

import { seenOnceIn } from '../../src/memory/dream/operation-lines.ts';
import { entriesOf, isOthers, type Operation, topicOfLine, type Writing } from '../../src/memory/dream/operations.ts';
import { withoutMark } from '../../src/memory/text/topic.ts';
import type { Context } from './select.ts';

/** The operations as they are meant, in the same order, one for each. */
export function resolveMeaning(operations: Operation[], context: Context): Operation[] {
  const meant = operations.map((operation) => corroborated(operation, context));
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
