// Commits a batch of a dream: the topics, the index built from them, what became of each entry, and the report, in one
// commit. The operations are applied to the files as they stand at that moment, so that an edit made while the model
// was thinking survives.

import { AppError } from '../../src/errors.ts';
import type { IndexSize } from '../../src/memory/dream/index-change.ts';
import { type DreamWorld, type Operation, topicOfLine } from '../../src/memory/dream/operations.ts';
import { writeHeld } from '../../src/memory/dream/second-witness.ts';
import { refreshTopics } from '../../src/memory/dream/topic-table.ts';
import {
  addSupport,
  dropSupport,
  type EntryState,
  entryRow,
  moveSupports,
  supportsOf,
  writeEntry,
} from '../../src/memory/ledger/entries.ts';
import type { Ledger } from '../../src/memory/ledger/ledger.ts';
import type { FileChange, Transaction } from '../../src/memory/store/store.ts';
import type { ReportedRow } from '../../src/memory/text/dream-report.ts';
import { setKeys } from '../../src/memory/text/frontmatter.ts';
import { editLines, lineId, newTopic } from '../../src/memory/text/topic.ts';
import type { MemoryType } from '../../src/memory/types.ts';
import { commitTopics, sizeOf, type ToldBatch } from './commit-topics.ts';
import type { Place } from './fresh-index.ts';
import { editsOf, type OverlayTopic, type TopicEdit } from './overlay.ts';

export interface DreamBatch extends ToldBatch {
  operations: Operation[];
  world: DreamWorld<OverlayTopic>;
}

/** Fewer lines than this may always go; of more, at most a quarter of the memory in one batch. */
const FREE_LOSS_LINES = 4;

export async function commitDream(batch: DreamBatch, place: Place): Promise<IndexSize> {
  const { store } = place;
  const edits = editsOf(batch.operations, batch.world);
  refreshTopics(store.ledger);
  refuseGreatLoss(batch, edits, store.ledger);
  return commitTopics(batch, place, (ledger) => ({
    topics: edits.flatMap(changesOf),
    told: reportRows(batch, edits, ledger),
    rows(transaction) {
      for (const { from, path } of edits) if (from) moveSupports(transaction, { from, to: path });
      writeSupports(transaction, edits);
      writeStates(transaction, batch, place.clock.now());
    },
  }));
}

/** What an edit does to files: of an archived topic that comes back, its file there goes. */
export function changesOf(edit: TopicEdit): FileChange[] {
  const { path, from } = edit;
  if (from === undefined) return [{ path, change: (current) => applyEdit(current, edit) }];
  let archived: string | null = null;
  const take = (current: string | null) => {
    archived = current;
    return null;
  };
  return [
    { path: from, change: take },
    { path, change: (current) => applyEdit(current ?? archived, edit) },
  ];
}

function applyEdit(current: string | null, edit: TopicEdit): string {
  const add = edit.add.map((line) => line.text);
  if (current === null) {
    return newTopic({
      name: edit.name,
      description: edit.description ?? edit.name,
      type: edit.type as MemoryType,
      lines: add,
    });
  }
  const text = editLines(current, { remove: edit.remove, add });
  return edit.description ? setKeys(text, { description: edit.description }) : text;
}

/** Throws `refused` where operations would lose much of the memory. Call `refreshTopics` first. */
export function refuseGreatLoss(
  { world, operations }: Pick<DreamBatch, 'world' | 'operations'>,
  edits: TopicEdit[],
  ledger: Ledger,
): void {
  const before = sizeOf(ledger).lines;
  const withdrawn = new Set([...world.entries.values()].filter((entry) => entry.isWithdrawn).map((entry) => entry.id));
  const byPerson = operations.filter(
    (operation) => operation.kind === 'retire' && operation.entries.every((entry) => withdrawn.has(entry)),
  );
  const countRemoved = (all: TopicEdit[]) => all.reduce((sum, edit) => sum + edit.remove.size, 0);
  const removed = countRemoved(edits) - countRemoved(editsOf(byPerson, world));
  const added = edits.reduce((sum, edit) => sum + edit.add.length, 0);
  const retired = new Set(
    operations.flatMap((operation) =>
      operation.kind === 'retire' && !byPerson.includes(operation) ? operation.replaces : [],
    ),
  );
  for (const { path, name, remove, add } of edits) {
    const lines = [...(world.topics.get(name)?.lines.keys() ?? [])];
    const isEmptied = add.length === 0 && lines.length > 0 && lines.every((line) => remove.has(line));
    if (!isEmptied || !lines.some((line) => retired.has(line))) continue;
    throw new AppError('refused', `The dream would empty ${path} without putting its lines anywhere else.`, {
      remedy: 'Nothing was changed. Remove the file by hand if it is no longer needed.',
    });
  }
  const lost = removed - added;
  if (lost < FREE_LOSS_LINES || lost * 4 <= before) return;
  throw new AppError('refused', `The dream would drop ${lost} of ${before} lines, more than a quarter.`, {
    remedy: 'Nothing was changed. Run nocturne dream again, or with --instructions that say what to keep.',
  });
}

function writeSupports(transaction: Transaction, edits: TopicEdit[]): void {
  for (const edit of edits) {
    for (const support of supportsOf(transaction.ledger, edit.path)) {
      if (edit.remove.has(support.line)) dropSupport(transaction, support);
    }
    for (const line of edit.add) {
      for (const entry of line.entries) addSupport(transaction, { path: edit.path, line: lineId(line.text), entry });
    }
  }
}

/** What became of the entries; of withdrawn ones no line rests any more. */
export function writeStates(
  transaction: Transaction,
  { operations, fresh, withdrawn }: Pick<DreamBatch, 'operations' | 'fresh' | 'withdrawn'>,
  now: Date,
): void {
  const stateOf = new Map<string, EntryState>();
  for (const operation of operations) {
    for (const id of operation.entries) stateOf.set(id, operation.kind === 'hold' ? 'held' : 'distilled');
  }
  for (const entry of fresh) {
    const state = stateOf.get(entry.id) ?? entry.state;
    writeEntry(transaction, { ...entry, state });
    writeHeld(transaction, { entry: entry.id, isHeld: state === 'held', now });
  }
  for (const entry of withdrawn) {
    writeEntry(transaction, { ...entry, state: 'withdrawn' });
    for (const support of transaction.ledger.all('select path, line, entry from support where entry = ?', entry.id)) {
      dropSupport(transaction, { path: support.path as string, line: support.line as string, entry: entry.id });
    }
  }
}

/** What became of each entry, and of those whose lines a merge took over: it says them on their behalf. */
export function reportRows(
  { operations, world, job, fresh, withdrawn }: DreamBatch,
  edits: TopicEdit[],
  ledger: Ledger,
) {
  const texts = new Map([...fresh, ...withdrawn].map((entry) => [entry.id, entry.text]));
  const textOf = (entry: string) => texts.get(entry) ?? entryRow(ledger, entry)?.text ?? '';
  return operations.flatMap((operation): ReportedRow[] => {
    const topic = 'topic' in operation ? (world.topics.get(operation.topic)?.path ?? `${operation.topic}.md`) : null;
    const own = 'lines' in operation ? new Set(operation.lines.map((line) => line.text)) : new Set();
    const added = (edits.find((edit) => edit.path === topic)?.add ?? []).filter((line) => own.has(line.text));
    const entries = new Set([...operation.entries, ...added.flatMap((line) => line.entries)]);
    const gone = 'replaces' in operation ? operation.replaces : [];
    const untold = new Set(added);
    return [...entries].map((entry, at) => {
      const lines = added.filter((line) => line.entries.includes(entry)).map((line) => lineId(line.text));
      const said = lineId(textOf(entry));
      const text = world.entries.get(entry)?.text ?? '';
      const row = { job, entry, op: operation.kind, topic, lines, said, reason: operation.reason, text };
      // Each line is told once: one that went with the operation's first entry, one that came with its own.
      const came = [...untold].filter((line) => line.entries.includes(entry));
      for (const line of came) untold.delete(line);
      return {
        ...row,
        ...(at === 0 &&
          gone.length > 0 && {
            gone,
            goneTexts: gone.map((line) => topicOfLine(line, world)?.lines.get(line)?.text ?? line),
          }),
        ...(came.length > 0 && { cameTexts: came.map((line) => line.text) }),
      };
    });
  });
}
