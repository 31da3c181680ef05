// Proposals: what a dream in review mode would change, waiting in the ledger for a person's word.
// Each is pinned to what it was made against: the entries it is about, as they were said, and every file it touches, to
// the byte. Where one of these is no longer so, the proposal is stale: nobody can accept it, and the next dream makes it
// anew. A rejected one stays as the memory of that decision. Who makes, renews and performs them is the jobs' business.

import { linesOut, type Operation, toldKind } from '../../rules/dream-context.ts';
import { type EntryRow, supportsOf } from '../ledger/entries.ts';
import { jsonOf, type Ledger, type Row, type Transaction } from '../ledger/ledger.ts';
import { shaOf } from '../ledger/version-rows.ts';
import type { Store } from '../store/store.ts';
import { type Archiving, asToday } from '../text/operations.ts';

export interface Proposal {
  /** `prop_` and eight hex digits of a hash over what is proposed: the same change has the same id. */
  id: string;
  /** The dream that made it, and when. */
  job: string;
  at: string;
  madeBy: 'model' | 'code';
  /** One, with the drops that are right only with it; none where something is put away. */
  operations: Operation[];
  archiving: Archiving | null;
  topics: TopicPin[];
  entries: EntryPin[];
  state: 'waiting' | 'rejected';
  /** What the person gave as the reason of a rejection. */
  because: string | null;
}

/** A file that a proposal touches, or rests on, as it was. */
export interface TopicPin {
  path: string;
  /** SHA-256; null: there was no file. */
  sha: string | null;
  /** Its description, as far as whether it is still the same. */
  description: string | null;
  /** Ids of the lines that are taken out, or that stand for what is dropped. */
  lines: string[];
}

export interface EntryPin {
  id: string;
  /** Hash of what it said. */
  said: string;
  isWithdrawn: boolean;
}

export function proposalId(change: Pick<Proposal, 'operations' | 'archiving'>): string {
  const operations = change.operations.map(({ reason: _, ...operation }) => operation);
  const { reason: _, ...archiving } = change.archiving ?? { reason: '' };
  return `prop_${shaOf(JSON.stringify([operations, archiving])).slice(0, 8)}`;
}

/** Those that wait, oldest first. */
export function waitingProposals(ledger: Ledger): Proposal[] {
  return proposals(ledger, "state = 'waiting' order by at, id");
}

export function countWaiting(ledger: Ledger): number {
  return ledger.get("select count(*) as n from proposal where state = 'waiting'")?.n as number;
}

export function proposalRow(ledger: Ledger, id: string): Proposal | undefined {
  return proposals(ledger, 'id = ?', id)[0];
}

/** What waits, or was rejected, of an entry. */
function proposalsAbout(ledger: Ledger, entry: string): Proposal[] {
  return proposals(ledger, "instr(entries, ?) > 0 or instr(coalesce(forgotten, ''), ?) > 0", entry, entry);
}

/** What waits, or was rejected, of an entry, as a person is told: a sentence each. */
export function sayProposals(ledger: Ledger, entry: string): string[] {
  return proposalsAbout(ledger, entry).map(({ id, operations, archiving, state, because }) => {
    const [first] = operations;
    const kind = archiving?.kind ?? (first && toldKind(first));
    if (state === 'waiting') return `A proposal (${kind}, ${id}) waits for your word: nocturne review.`;
    return `A person rejected ${id} (${kind})${because ? `: ${because}` : '.'}`;
  });
}

/** Lines (`path`, a space, the id) that are already proposed to be put away, or that a person wants kept. */
export function linesDecided(ledger: Ledger): Set<string> {
  const archiving = proposals(ledger, 'forgotten is not null').flatMap((proposal) => proposal.archiving ?? []);
  return new Set(archiving.flatMap(({ topic, lines }) => lines.map((line) => `${topic} ${line}`)));
}

export function putProposal(transaction: Transaction, proposal: Proposal): void {
  const { madeBy, operations, archiving, topics, entries, ...rest } = proposal;
  transaction.put('proposal', {
    ...rest,
    made_by: madeBy,
    operations: JSON.stringify(operations),
    forgotten: archiving && JSON.stringify(archiving),
    topics: JSON.stringify(topics),
    entries: JSON.stringify(entries),
  });
}

/** Pins a proposal anew, before the commit that decides on it: an undo brings it back as it was decided on. */
export function repinProposal({ ledger }: Transaction, { id, operations, topics }: Proposal): void {
  const sql = 'update proposal set operations = ?, topics = ? where id = ?';
  ledger.run(sql, JSON.stringify(operations), JSON.stringify(topics), id);
}

export function dropProposal(transaction: Transaction, id: string): void {
  transaction.drop('proposal', { id });
}

/** Takes away all that was proposed, or rejected, of these entries; what else it was about is new to the next dream. */
export function dropProposalsAbout(transaction: Transaction, entries: string[]): void {
  for (const entry of entries) {
    for (const { id, archiving } of proposalsAbout(transaction.ledger, entry)) {
      if (!archiving) dropProposal(transaction, id);
    }
  }
}

/** Takes all that was proposed of an entry out of the ledger for good, and out of what undo keeps; answers how many rows. */
export function wipeProposals(ledger: Ledger, entry: string): number {
  const images = ledger.run("delete from undo where tbl = 'proposal' and instr(coalesce(before, ''), ?) > 0", entry);
  return images + ledger.run('delete from proposal where instr(entries, ?) > 0', entry);
}

export function pinEntry(entry: EntryRow, isWithdrawn: boolean): EntryPin {
  return { id: entry.id, said: saidBy(entry), isWithdrawn };
}

/** What is no longer as it was when the proposal was made, as a sentence; null: all is. */
export async function whatChanged(
  store: Store,
  proposal: Proposal,
  rowOf: (id: string) => EntryRow | undefined,
): Promise<string | null> {
  const entry = proposal.entries.find((pin) => !isPinned(pin, rowOf(pin.id)));
  if (entry) return `${entry.id} is no longer what it was made from.`;
  const replaced = new Set(proposal.operations.flatMap(linesOut));
  for (const { path, sha, lines } of proposal.topics) {
    const text = await store.read(path);
    if ((text === null ? null : shaOf(text)) !== sha) return `${path} was changed since.`;
    // As where a person rejected that it be taken out.
    const supported = new Set(supportsOf(store.ledger, path).map(({ line }) => line));
    if (lines.some((line) => replaced.has(line) && !supported.has(line))) {
      return `A line of ${path} that it would take out is a person's now.`;
    }
  }
  return null;
}

/** Whether an entry still waits, and says what it said. */
export function isPinned(pin: EntryPin, row: EntryRow | undefined): boolean {
  const states = pin.isWithdrawn ? ['withdrawn'] : ['new', 'held'];
  return row !== undefined && states.includes(row.state) && saidBy(row) === pin.said;
}

function saidBy({ type, text, evidence }: EntryRow): string {
  return shaOf(JSON.stringify([type, text, evidence])).slice(0, 16);
}

type Kept = Omit<Proposal, 'operations' | 'archiving' | 'topics' | 'entries'> & Row;

/** Those of which `where` holds. */
function proposals(ledger: Ledger, where: string, ...values: string[]): Proposal[] {
  const sql = `select id, job, at, made_by as madeBy, state, because, operations, forgotten, topics, entries from proposal
    where ${where}`;
  return ledger.all<Kept>(sql, ...values).map(({ operations, forgotten, topics, entries, ...row }) => ({
    ...row,
    operations: jsonOf<Operation[]>(operations).map(asToday),
    archiving: forgotten === null ? null : jsonOf(forgotten),
    topics: jsonOf(topics),
    entries: jsonOf(entries),
  }));
}
