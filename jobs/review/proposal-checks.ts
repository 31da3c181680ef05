// What a proposal is made against: its pins as the dream sets them, the context it is checked in when its turn comes, and
// whether one that went stale still is the same change. It reads and decides; it changes nothing.

import { checkOperations } from '../../src/memory/dream/operation-checks.ts';
import { type DreamContext, type Operation, topicOfLine, topicsLosing } from '../../src/memory/dream/operations.ts';
import { isPinned, type Proposal, type TopicPin } from '../../src/memory/dream/proposals.ts';
import { type EntryRow, entryRow } from '../../src/memory/ledger/entries.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { lineId } from '../../src/memory/text/topic.ts';
import { type DraftTopic, editsOf, readTopics } from '../dream/draft.ts';
import { contextOf } from '../dream/select.ts';

type Context = DreamContext<DraftTopic>;
export type RowOf = (id: string) => EntryRow | undefined;

/** The files that operations touch or rest on, as the context has them. */
export function pinTopics(operations: Operation[], context: Context): TopicPin[] {
  const pins = new Map<string, TopicPin>();
  const pin = (path: string, topic: DraftTopic | undefined, lines: Iterable<string>) => {
    const known = pins.get(path);
    const description = topic ? lineId(topic.description) : null;
    const all = [...new Set([...(known?.lines ?? []), ...lines])].sort();
    pins.set(path, { path, sha: topic?.sha ?? null, description, lines: all });
  };
  for (const { path, from, name, remove } of editsOf(operations, context)) {
    pin(from ?? path, context.topics.get(name), remove);
    if (from) pin(path, undefined, []);
  }
  for (const operation of operations) {
    const line = operation.kind === 'drop' ? operation.of : undefined;
    const topic = line === undefined ? undefined : topicOfLine(line, context);
    if (line !== undefined && topic) pin(topic.from ?? topic.path, topic, [line]);
  }
  return [...pins.values()];
}

/** The entries and files of a proposal as they stand. What rests on withdrawn entries is as old as what else it rests on. */
export async function contextOfProposal(
  store: Store,
  proposal: Proposal,
  { rowOf }: { rowOf: RowOf },
): Promise<{ context: Context; fresh: EntryRow[]; withdrawn: EntryRow[] }> {
  const rowsOf = (isWithdrawn: boolean) =>
    proposal.entries.flatMap((pin) => (pin.isWithdrawn === isWithdrawn ? (rowOf(pin.id) ?? []) : []));
  const [fresh, withdrawn] = [rowsOf(false), rowsOf(true)];
  const paths = proposal.topics.map(({ path }) => path);
  const context = await contextOf(fresh, withdrawn, await readTopics(store, paths));
  dropWithdrawnSources(store, context);
  return { context, fresh, withdrawn };
}

/** In a dream all withdrawn entries are of the context; of a proposal only its own are. */
function dropWithdrawnSources({ ledger }: Store, { topics, entries }: Context): void {
  const sql = "select 1 from entry where id = ? and state = 'withdrawn'";
  const isWithdrawn = (id: string) => ledger.get(sql, id) !== undefined;
  for (const topic of topics.values()) {
    for (const line of topic.lines.values()) {
      line.sources = line.sources?.filter(({ id }) => entries.has(id) || !isWithdrawn(id));
    }
  }
}

/** What is wrong with a proposal by itself, in the context as it stands; empty where it may be carried out. */
export function checkProposal({ madeBy, operations, entries }: Proposal, context: Context, store: Store): string[] {
  if (madeBy === 'model' || !operations.every(({ kind }) => kind === 'retire')) {
    return checkOperations(operations, context, store.limits);
  }
  // Code retires what rests on withdrawn entries alone.
  const own = new Set(entries.map(({ id }) => id));
  const isGone = (id: string) => own.has(id) || entryRow(store.ledger, id)?.state === 'withdrawn';
  return operations.flatMap((operation) =>
    ('replaces' in operation ? operation.replaces : []).flatMap((id) => {
      const losing = topicsLosing(id, operation, context);
      if (losing.length === 0) return `Line ${id} is in no topic.`;
      return losing.flatMap(({ name, isPinned, lines }) => {
        if (isPinned) return `Line ${id} is in ${name}, which is pinned.`;
        const { entries: rests = [] } = lines.get(id) ?? {};
        return rests.length > 0 && rests.every(isGone) ? [] : `Line ${id} rests on something else by now.`;
      });
    }),
  );
}

/**
 * A proposal whose files changed since, pinned to them as they are; null where it would not be the same change any more:
 * the same lines out of the same files, the same lines in, allowed by every check. A description that somebody wrote
 * meanwhile is never replaced by it.
 */
export async function renewProposal(store: Store, proposal: Proposal, at: { rowOf: RowOf }): Promise<Proposal | null> {
  if (proposal.archiving || proposal.entries.some((pin) => !isPinned(pin, at.rowOf(pin.id)))) return null;
  const { context } = await contextOfProposal(store, proposal, at);
  const operations = proposal.operations.map((operation) => withoutLateDescription(operation, proposal, context));
  const topics = pinTopics(operations, context);
  const renewed = { ...proposal, operations, topics };
  const isSame = JSON.stringify(linesOf(topics)) === JSON.stringify(linesOf(proposal.topics));
  return isSame && checkProposal(renewed, context, store).length === 0 ? renewed : null;
}

function withoutLateDescription(operation: Operation, { topics }: Proposal, context: Context): Operation {
  if (!('lines' in operation) || operation.description === undefined) return operation;
  const topic = context.topics.get(operation.topic);
  const pin = topics.find(({ path }) => path === (topic?.from ?? topic?.path));
  if (!topic || (pin && pin.description === lineId(topic.description))) return operation;
  const { description: _, ...rest } = operation;
  return rest;
}

function linesOf(pins: TopicPin[]): [string, string[]][] {
  return pins.map(({ path, lines }): [string, string[]] => [path, lines]).sort(([a], [b]) => (a < b ? -1 : 1));
}
