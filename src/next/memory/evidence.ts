// What a line of a topic rests on: entries, or the program that wrote it; a line that rests on nothing is a person's. What a line
// rests on follows it where an edit rewords it recognisably, or moves it to another topic; nothing is dropped by an edit, so a line
// that comes back rests on what it did.

import { isTopicFile, parseTopic, type TopicLine } from '../../memory/text/topic.ts';
import { containsLiteral, literals } from '../../rules/literals.ts';
import { isNegated, similarity } from '../../rules/words.ts';
import type { Sql } from '../db/sql.ts';
import type { Change } from './undo-rows.ts';

export interface Rest {
  file: string;
  line: string;
  /** The id of an entry, or `api:…`, `session:…` of a program. */
  source: string;
}

/** What the lines of a file rest on. */
export function restsOf(sql: Sql, memory: string, file: string): Promise<Rest[]> {
  return sql.all<Rest>('select file, line, source from rests where memory = ? and file = ?', memory, file);
}

/** Follows the lines of a topic from what it was to what an edit made of it. */
export async function followLines(
  change: Change,
  { memory, file, path, before, after }: { memory: string; file: string; path: string; before: string; after: string },
): Promise<void> {
  if (!isTopicFile(path)) return;
  const was = parseTopic(path, before).lines;
  const is = parseTopic(path, after).lines;
  const known = new Set(was.map(({ id }) => id));
  const standing = new Set(is.map(({ id }) => id));
  const added = is.filter(({ id }) => !known.has(id));
  if (added.length === 0) return;
  const rests = Map.groupBy(await restsOf(change.sql, memory, file), ({ line }) => line);
  const gone = was.filter(({ id }) => rests.has(id) && !standing.has(id));
  for (const line of added) {
    if (rests.has(line.id)) continue;
    const former = gone.find((other) => isSameLine(other, line));
    const elsewhere = 'select distinct source from rests where memory = ? and line = ?';
    const sources = former
      ? rests.get(former.id)
      : await change.sql.all<{ source: string }>(elsewhere, memory, line.id);
    for (const { source } of sources ?? []) await change.put('rests', { memory, file, line: line.id, source });
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
