// What becomes of a line's support when a person edits a topic: it follows a line that is recognisably the same (other
// case, punctuation, order, form) and one that was moved to another topic. A line that says anything else is the person's.

import { containsLiteral, isNegated, literals, similarity } from '../../base/text/wording.ts';
import { addSupport, dropSupport, supportsOf } from '../ledger/entries.ts';
import type { Transaction } from '../ledger/ledger.ts';
import { isTopicPath, parseTopic, type TopicLine } from '../text/topic.ts';

/** Follows the lines of a topic from what it was to what somebody made of it, as part of a commit. */
export function followLines(
  transaction: Transaction,
  { path, before, after }: { path: string; before: string; after: string },
): void {
  if (!isTopicPath(path)) return;
  const was = parseTopic(path, before).lines;
  const is = parseTopic(path, after).lines;
  const known = new Set(was.map(({ id }) => id));
  const standing = new Set(is.map(({ id }) => id));
  const added = is.filter(({ id }) => !known.has(id));
  if (added.length === 0) return;
  const supports = Map.groupBy(supportsOf(transaction.ledger, path), ({ line }) => line);
  for (const line of was) {
    const rests = supports.get(line.id);
    if (!rests || standing.has(line.id)) continue;
    const now = added.find((other) => !supports.has(other.id) && isSameLine(line, other));
    if (!now) continue;
    for (const support of rests) {
      dropSupport(transaction, support);
      addSupport(transaction, { ...support, line: now.id });
    }
    supports.set(now.id, rests);
  }
  for (const { id } of added) {
    if (supports.has(id)) continue;
    const elsewhere = transaction.ledger.all('select distinct entry from support where line = ?', id);
    for (const { entry } of elsewhere) addSupport(transaction, { path, line: id, entry: entry as string });
  }
}

function isSameLine({ text: a }: TopicLine, { text: b }: TopicLine): boolean {
  return (
    similarity(a, b) === 1 &&
    isNegated(a) === isNegated(b) &&
    literals(a).every((value) => containsLiteral(value, b)) &&
    literals(b).every((value) => containsLiteral(value, a))
  );
}
