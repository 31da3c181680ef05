// What waits for a person's word, as they are shown it: the change as a diff of the files, why it is proposed, and the words
// that it rests on. And what a proposal is made against: its pins as the dream sets them, the context it is checked in when its turn comes, and
// whether one that went stale still is the same change. What a review wrote itself of a proposal's files does not make it
// stale: it is pinned to the text after, where nobody else changed the file in between (`OwnWrites`).

import {
  type EntryPin,
  isPinned,
  type Proposal,
  putProposal,
  type TopicPin,
  waitingProposals,
  whatChanged,
} from '../../src/memory/dream/proposals.ts';
import { unifiedDiff } from '../../src/memory/history/line-diff.ts';
import { entryOfItem, logItemsOf } from '../../src/memory/history/log-items.ts';
import { type EntryRow, entryRow } from '../../src/memory/ledger/entries.ts';
import type { Lease } from '../../src/memory/ledger/job-rows.ts';
import type { Transaction } from '../../src/memory/ledger/ledger.ts';
import type { FileChange, Store } from '../../src/memory/store/store.ts';
import { logDay, logPath } from '../../src/memory/text/daily-log.ts';
import { checkOperations } from '../../src/memory/text/operations.ts';
import { lineId } from '../../src/memory/text/topic.ts';
import { editsOf } from '../../src/memory/text/topic-edits.ts';
import {
  type DreamContext,
  linesIn,
  linesOut,
  type Operation,
  type Put,
  toldKind,
  topicOfLine,
  topicsLosing,
} from '../../src/rules/dream-context.ts';
import { changesOf as changesOfArchiving } from '../dream/by-code.ts';
import { changesOf as changesOfEdit } from '../dream/commit.ts';
import { type DraftTopic, readTopics } from '../dream/draft.ts';
import { contextOf } from '../dream/select.ts';

type Context = DreamContext<DraftTopic>;
/** Entries as the logs say them now, and these logs. */
export interface Logged {
  rowOf(id: string): EntryRow | undefined;
  /** By path; null: no file. */
  logs: Map<string, string | null>;
}

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
  if (madeBy === 'model' || !operations.every((each) => toldKind(each) === 'retire')) {
    return checkOperations(operations, context, store.limits);
  }
  // Code retires what rests on withdrawn entries alone.
  const own = new Set(entries.map(({ id }) => id));
  const isGone = (id: string) => own.has(id) || entryRow(store.ledger, id)?.state === 'withdrawn';
  return operations.flatMap((operation) =>
    linesOut(operation).flatMap((id) => {
      const losing = topicsLosing(id, operation as Put, context);
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
 * the same lines out of the same files, the same lines in, allowed by every check. A description that someone wrote
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
  if (operation.kind !== 'put' || operation.description === undefined) return operation;
  const topic = context.topics.get(operation.topic ?? '');
  const pin = topics.find(({ path }) => path === (topic?.from ?? topic?.path));
  if (!topic || (pin && pin.description === lineId(topic.description))) return operation;
  const { description: _, ...rest } = operation;
  return rest;
}

function linesOf(pins: TopicPin[]): [string, string[]][] {
  return pins.map(({ path, lines }): [string, string[]] => [path, lines]).sort(([a], [b]) => (a < b ? -1 : 1));
}

export class OwnWrites {
  readonly #store: Store;
  /** In order, by path: SHA-256 of a file before and after each commit. */
  readonly #steps = new Map<string, { before: string | null; after: string | null }[]>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Answers what a commit is about to write; to be added once it did. */
  read({ ledger, commit }: Transaction): () => void {
    const rows = ledger.all(
      `select version.path, version.sha, before.sha as before from version
       left join version before on before.id = version.previous where version."commit" = ?`,
      commit,
    ) as { path: string; sha: string | null; before: string | null }[];
    return () => {
      for (const { path, before, sha: after } of rows) {
        this.#steps.set(path, [...(this.#steps.get(path) ?? []), { before, after }]);
      }
    };
  }

  /** The proposal pinned to what this review made of its files; as it is where it did not, or may not be. */
  async renewed(proposal: Proposal, { rowOf }: Pick<Logged, 'rowOf'>): Promise<Proposal> {
    const shaBefore = (path: string) => proposal.topics.find((pin) => pin.path === path)?.sha ?? null;
    if (proposal.topics.every(({ path, sha }) => this.#made(path, sha) === sha)) return proposal;
    const now = await renewProposal(this.#store, proposal, { rowOf });
    const isOurs = now?.topics.every(({ path, sha }) => sha === this.#made(path, shaBefore(path)));
    return now && isOurs ? now : proposal;
  }

  /** Pins all that go on waiting, in one commit. */
  async renewWaiting(lease: Lease): Promise<void> {
    const renewed: Proposal[] = [];
    const waiting = this.#steps.size > 0 ? waitingProposals(this.#store.ledger) : [];
    const pins = waiting.flatMap(({ entries }) => entries);
    const logged = await readLogged(this.#store, pins);
    for (const proposal of waiting) {
      const now = await this.renewed(proposal, logged);
      if (now !== proposal) renewed.push(now);
    }
    if (renewed.length === 0) return;
    await this.#store.commit({ actor: 'person', lease }, () => ({
      files: [],
      rows(transaction) {
        for (const proposal of renewed) putProposal(transaction, proposal);
      },
    }));
  }

  /** What the commits of this review made of a file that had this hash. */
  #made(path: string, sha: string | null): string | null {
    const steps = this.#steps.get(path) ?? [];
    return steps.reduce((now, { before, after }) => (before === now ? after : now), sha);
  }
}

/** Reads the logs that should hold these entries, and all logs where one is not there. */
export async function readLogged(store: Store, entries: EntryPin[]): Promise<Logged> {
  const { ledger } = store;
  const pins = entries.filter(({ id }) => entryRow(ledger, id));
  const own = new Set(pins.map(({ id }) => logPath(entryRow(ledger, id)?.day ?? '')));
  const logs = new Map<string, string | null>();
  const read = async (paths: Iterable<string>) => {
    for (const path of paths) if (!logs.has(path)) logs.set(path, await store.read(path));
    return logItemsOf(new Map([...logs].map(([path, text]) => [path, text ?? ''])));
  };
  let items = await read(own);
  const isMissing = pins.some(({ id, isWithdrawn }) => !isWithdrawn && !items.has(id));
  if (isMissing) items = await read((await store.list({ prefix: 'logs/' })).filter((path) => logDay(path)));
  const rowOf = (id: string) => {
    const row = entryRow(ledger, id);
    const item = items.get(id);
    if (!row || row.state === 'forgotten' || !pins.some((pin) => pin.id === id)) return row;
    return item ? entryOfItem(item, row, ledger) : { ...row, state: 'withdrawn' as const };
  };
  return { rowOf, logs };
}

export interface ShownProposal {
  id: string;
  kind: string;
  /** Path of the topic; null where none is touched. */
  topic: string | null;
  reason: string;
  /** The dream that proposed it, and when. */
  job: string;
  at: string;
  /** `stale`: nobody can accept it; the next dream makes it again. */
  state: 'waiting' | 'stale';
  /** What changed since. */
  why: string | null;
  /** The lines it would write. */
  lines: string[];
  entries: { id: string; type: string; text: string; by: string; at: string; session: string; quotes: string[] }[];
  /** Of the files as they are; empty where none changes, or where it is stale. */
  diff: string;
}

/** The ids of all that wait, topic by topic, without a look at what they rest on. */
export function waitingIds({ ledger }: Store): string[] {
  const waiting = waitingProposals(ledger).map((each) => ({ id: each.id, topic: topicOf(each) ?? '' }));
  return waiting.sort((a, b) => a.topic.localeCompare(b.topic)).map(({ id }) => id);
}

/** All that wait, or those of `ids`, topic by topic. */
export async function listProposals(store: Store, ids?: string[]): Promise<ShownProposal[]> {
  const asked = waitingProposals(store.ledger).filter(({ id }) => ids?.includes(id) ?? true);
  const shown = await Array.fromAsync(asked, (proposal) => showProposal(store, proposal));
  return shown.sort((a, b) => (a.topic ?? '').localeCompare(b.topic ?? ''));
}

/** Path of the topic that it is about; null where none is touched. */
function topicOf({ archiving, operations: [first], topics }: Proposal): string | null {
  return (
    archiving?.topic ?? (first && 'topic' in first && first.topic ? `${first.topic}.md` : (topics[0]?.path ?? null))
  );
}

async function showProposal(store: Store, proposal: Proposal): Promise<ShownProposal> {
  const { id, job, at, operations, archiving } = proposal;
  const logged = await readLogged(store, proposal.entries);
  const why = await whatChanged(store, proposal, logged.rowOf);
  const [first] = operations;
  const written = operations.flatMap(linesIn);
  const about = archiving ? archiving.entries : proposal.entries.map((pin) => pin.id);
  return {
    id,
    kind: archiving?.kind ?? (first ? toldKind(first) : ''),
    topic: topicOf(proposal),
    reason: archiving?.reason ?? first?.reason ?? '',
    job,
    at,
    state: why ? 'stale' : 'waiting',
    why,
    lines: written.map(({ text }) => text),
    entries: about.flatMap((entry) => {
      const row = logged.rowOf(entry) ?? entryRow(store.ledger, entry);
      if (!row) return [];
      const { type, text, by, at: saidAt, session, evidence } = row;
      return [{ id: entry, type, text, by, at: saidAt, session, quotes: evidence.map(({ quote }) => quote) }];
    }),
    diff: why ? '' : await diffOf(store, proposal, logged),
  };
}

/** What a proposal would change in the files as they are. */
async function diffOf(store: Store, proposal: Proposal, logged: Logged): Promise<string> {
  const { context } = await contextOfProposal(store, proposal, logged);
  const { archiving, operations } = proposal;
  const changes: FileChange[] = archiving
    ? changesOfArchiving(archiving.topic, [archiving], new Map())
    : editsOf(operations, context).flatMap(changesOfEdit);
  const diffs = await Array.fromAsync(changes, async ({ path, change }) => {
    const before = await store.read(path);
    const side = (text: string | null) => ({ name: text === null ? '/dev/null' : path, text: text ?? '' });
    return unifiedDiff(side(before), side(change(before)));
  });
  return diffs.join('');
}
