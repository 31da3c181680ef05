// What a dream changes without a model: lines that rested on withdrawn entries alone go, habits that an older dream held
// back get a line, and entries that the project's own files say are dropped. It proposes; the dream commits.

import type { Operation } from '../../src/memory/dream/operations.ts';
import { type EntryRow, supportsByEntry } from '../../src/memory/ledger/entries.ts';
import type { Store } from '../../src/memory/store/store.ts';
import type { Guidance } from '../agent-request.ts';
import { lineSeenOnce, settleMeaning } from './check.ts';
import type { Checked } from './commit.ts';
import { type DraftTopic, readTopics } from './draft.ts';
import { contextOf } from './select.ts';

/** What code alone changes, if anything, and the entries of which a model says what becomes. */
export interface ByCode {
  checked: Checked | null;
  rest: EntryRow[];
}

/** Retires what rested on withdrawn entries alone. With `needsApproval` an entry waits once: with what goes for certain. */
export async function retireWithdrawn(
  withdrawn: EntryRow[],
  { store, needsApproval }: { store: Store; needsApproval: boolean },
): Promise<ByCode> {
  const supports = withdrawn.flatMap((entry) => supportsByEntry(store.ledger, entry.id));
  const topics = await readTopics(store, new Set(supports.map(({ path }) => path)));
  const operations = retirementOf(withdrawn, topics.values());
  const gone = new Set(withdrawn.map((entry) => entry.id));
  const lines = [...topics.values()].flatMap((topic) => [...topic.lines]);
  const waiting = new Set(needsApproval ? operations.flatMap(({ entries }) => entries) : []);
  const rest = withdrawn.filter(({ id }) => isShared(id, lines, gone) && !waiting.has(id));
  const settled = withdrawn.filter((entry) => !rest.includes(entry));
  if (settled.length + operations.length === 0) return { checked: null, rest };
  const context = await contextOf([], withdrawn, topics);
  return { checked: { operations, context, fresh: [], withdrawn: settled }, rest };
}

/** Writes down the habits that an older dream held back without a line. */
export async function writeHabits(held: EntryRow[], store: Store): Promise<Checked | null> {
  if (held.length === 0) return null;
  const context = await contextOf(held, []);
  const operations: Operation[] = [];
  for (const entry of context.entries.values()) {
    operations.push(await lineSeenOnce([entry], { context, store, reason: 'A habit that one session showed.' }));
  }
  return { operations: await settleMeaning(operations, { context, store }), context, fresh: held, withdrawn: [] };
}

/** Drops the entries that the project's own files say. */
export async function dropSaid(fresh: EntryRow[], guidance: Guidance): Promise<ByCode> {
  const fileOf = (entry: EntryRow) => (entry.by === 'person' ? undefined : guidance.saying(entry.text, entry.session));
  const said = fresh.filter((entry) => fileOf(entry) !== undefined);
  if (said.length === 0) return { checked: null, rest: fresh };
  const operations = said.map((entry): Operation => {
    const reason = `${fileOf(entry)} says it.`;
    return { kind: 'drop', entries: [entry.id], because: 'in-repository', reason };
  });
  const checked = { operations, context: await contextOf(said, []), fresh: said, withdrawn: [] };
  return { checked, rest: fresh.filter((entry) => !said.includes(entry)) };
}

/**
 * The operation that needs no model: lines that rest on withdrawn entries alone go. An entry that supports another line
 * too stays to be accounted for, so the operation names one that does not, or any.
 */
function retirementOf(withdrawn: { id: string }[], topics: Iterable<DraftTopic>): Operation[] {
  const gone = new Set(withdrawn.map((entry) => entry.id));
  const lines = [...topics].filter((topic) => !topic.isPinned).flatMap((topic) => [...topic.lines]);
  const lost = lines.filter(([, { entries }]) => entries.length > 0 && entries.every((entry) => gone.has(entry)));
  const all = [...new Set(lost.flatMap(([, line]) => line.entries))];
  const alone = all.filter((entry) => !isShared(entry, lines, gone));
  const entries = alone.length > 0 ? alone : all;
  const reason = 'What it rested on is no longer in the logs.';
  const replaces = [...new Set(lost.map(([line]) => line))];
  return entries.length > 0 ? [{ kind: 'retire', entries, replaces, reason }] : [];
}

/** Whether a line rests on the entry that rests on others, which still hold, too. */
function isShared(entry: string, lines: [string, { entries: string[] }][], gone: Set<string>): boolean {
  return lines.some(([, line]) => line.entries.includes(entry) && line.entries.some((other) => !gone.has(other)));
}
