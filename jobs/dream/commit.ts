// Commits a batch of a dream: the topics, the index built from them, what became of each entry, and the report, in one
// commit. The operations are applied to the files as they stand at that moment, so that an edit made while the model
// was thinking survives.

import { settleHabits, writeHeld } from '../../src/memory/dream/habits.ts';
import type { IndexSize } from '../../src/memory/dream/index-change.ts';
import { type DreamContext, type Operation, topicOfLine } from '../../src/memory/dream/operations.ts';
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
import { bodyStart, readFrontmatter, setKeys } from '../../src/memory/text/frontmatter.ts';
import { withoutMark } from '../../src/memory/text/seen-once.ts';
import { editLines, lineId, newTopic } from '../../src/memory/text/topic.ts';
import type { MemoryType } from '../../src/memory/types.ts';
import { commitTopics, type ToldBatch } from './commit-topics.ts';
import { type DraftTopic, editsOf, type TopicEdit } from './draft.ts';
import type { Place } from './fresh-index.ts';
import { relinked } from './relink.ts';

export interface DreamBatch extends ToldBatch {
  operations: Operation[];
  context: DreamContext<DraftTopic>;
}

/** Commits the batch; `isRehearsal`: throws what the commit would, and changes nothing. */
export async function commitDream(batch: DreamBatch, place: Place, { isRehearsal = false } = {}): Promise<IndexSize> {
  const { store } = place;
  const edits = editsOf(batch.operations, batch.context);
  refreshTopics(store.ledger);
  const links = await relinked(edits, store);
  return commitTopics({ ...batch, isRehearsal }, place, (ledger) => ({
    topics: [...edits.flatMap(changesOf), ...links.files],
    told: reportRows(batch, edits, ledger),
    rows(transaction) {
      for (const { from, path } of edits) if (from) moveSupports(transaction, { from, to: path });
      const gone = writeSupports(transaction, edits);
      links.rows(transaction);
      const marked = edits.flatMap(({ add }) => add.flatMap((line) => (line.seenOnce ? line.entries : [])));
      writeStates(transaction, batch, { now: place.clock.now(), seenOnce: new Set(marked) });
      settleHabits(transaction, { edits, gone, now: place.clock.now() });
    },
  }));
}

/** What an edit does to files: of an archived topic that comes back, its file there goes. */
export function changesOf(edit: TopicEdit): FileChange[] {
  const { path, from, renamedFrom } = edit;
  if (renamedFrom !== undefined) {
    return [{ path, from: renamedFrom, change: (current) => renamed(applyEdit(current, edit), edit.name) }];
  }
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

/** Null where the topic says nothing any more, and holds nothing else either. */
function applyEdit(current: string | null, edit: TopicEdit): string | null {
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
  if (add.length === 0 && edit.remove.size > 0 && isBlank(text)) return null;
  return edit.description ? setKeys(text, { description: edit.description }) : text;
}

/** Whether a topic file has headings at most. */
function isBlank(text: string): boolean {
  return /^(?:\s*(?:#{1,6}(?:[ \t][^\n]*)?)?(?:\n|$))*$/.test(text.slice(bodyStart(text)));
}

function renamed(text: string | null, name: string): string | null {
  return text && (readFrontmatter(text).data.name === undefined ? text : setKeys(text, { name }));
}

/** Answers the entries that lines rested on which were taken out. */
function writeSupports(transaction: Transaction, edits: TopicEdit[]): string[] {
  const gone: string[] = [];
  for (const edit of edits) {
    for (const support of supportsOf(transaction.ledger, edit.path)) {
      if (!edit.remove.has(support.line)) continue;
      dropSupport(transaction, support);
      gone.push(support.entry);
    }
    for (const line of edit.add) {
      for (const entry of line.entries) addSupport(transaction, { path: edit.path, line: lineId(line.text), entry });
    }
  }
  return gone;
}

/** What became of the entries; of withdrawn ones no line rests any more. */
export function writeStates(
  transaction: Transaction,
  { operations, fresh, withdrawn }: Pick<DreamBatch, 'operations' | 'fresh' | 'withdrawn'>,
  { now, seenOnce = new Set() }: { now: Date /** Entries of lines that are marked so. */; seenOnce?: Set<string> },
): void {
  const stateOf = new Map<string, EntryState>();
  for (const operation of operations) {
    for (const id of operation.entries) stateOf.set(id, seenOnce.has(id) ? 'held' : 'distilled');
  }
  for (const entry of fresh) {
    const state = stateOf.get(entry.id) ?? entry.state;
    writeEntry(transaction, { ...entry, state });
    if (state !== 'held') writeHeld(transaction, { entry: entry.id, isHeld: false, now });
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
  { operations, context, job, fresh, withdrawn }: DreamBatch,
  edits: TopicEdit[],
  ledger: Ledger,
) {
  const texts = new Map([...fresh, ...withdrawn].map((entry) => [entry.id, entry.text]));
  const textOf = (entry: string) => texts.get(entry) ?? entryRow(ledger, entry)?.text ?? '';
  return operations.flatMap((operation, number): ReportedRow[] => {
    const { kind: op, reason } = operation;
    const known = 'topic' in operation ? context.topics.get(operation.topic) : undefined;
    if (operation.kind === 'rename') {
      const topic = `${operation.to}.md`;
      const text = `${operation.topic} is ${operation.to} now.`;
      return [{ job, entry: '', op, topic, lines: [], reason, operation: number, text }];
    }
    const path = 'topic' in operation ? (known?.path ?? `${operation.topic}.md`) : null;
    const moved = edits.find(({ renamedFrom }) => renamedFrom !== undefined && renamedFrom === path);
    const topic = moved?.path ?? path;
    const own = 'lines' in operation ? new Set(operation.lines.map((line) => line.text)) : new Set<string>();
    const added = (edits.find((each) => each.path === topic)?.add ?? []).filter((line) =>
      own.has(withoutMark(line.text)),
    );
    const entries = new Set([...operation.entries, ...added.flatMap((line) => line.entries)]);
    const gone = 'replaces' in operation ? operation.replaces : [];
    const untold = new Set(added);
    return [...entries].map((entry, at) => {
      const lines = added.filter((line) => line.entries.includes(entry)).map((line) => lineId(line.text));
      const said = lineId(textOf(entry));
      const text = context.entries.get(entry)?.text ?? '';
      const row = { job, entry, op, topic, lines, said, reason, operation: number, text };
      // Each line is told once: one that went with the operation's first entry, one that came with its own.
      const came = [...untold].filter((line) => line.entries.includes(entry));
      for (const line of came) untold.delete(line);
      return {
        ...row,
        ...(at === 0 &&
          gone.length > 0 && {
            gone,
            goneTexts: gone.map((line) => topicOfLine(line, context)?.lines.get(line)?.text ?? line),
          }),
        ...(came.length > 0 && { cameTexts: came.map((line) => line.text) }),
      };
    });
  });
}
