// What waits for a person's word, as they are shown it: the change as a diff of the files, why it is proposed, and the
// words that it rests on, with who said them and when. It changes nothing.

import { changesOf as changesOfArchiving } from '../../../jobs/dream/by-code.ts';
import { resolveMeaning } from '../../../jobs/dream/check.ts';
import { changesOf as changesOfEdit } from '../../../jobs/dream/commit.ts';
import { editsOf } from '../../../jobs/dream/draft.ts';
import { type Proposal, waitingProposals, whatChanged } from '../../memory/dream/proposals.ts';
import { unifiedDiff } from '../../memory/history/line-diff.ts';
import { entryRow } from '../../memory/ledger/entries.ts';
import type { FileChange, Store } from '../../memory/store/store.ts';
import { contextOfProposal, type Logged, readLogged } from './checks.ts';

export interface ShownProposal {
  id: string;
  kind: string;
  /** Path of the topic; null where none is touched. */
  topic: string | null;
  reason: string;
  /** The dream that proposed it, and when. */
  job: string;
  at: string;
  /** `stale`: nobody can accept it; the next dream makes it anew. */
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
  const shown: ShownProposal[] = [];
  for (const proposal of waitingProposals(store.ledger)) {
    if (!ids || ids.includes(proposal.id)) shown.push(await showProposal(store, proposal));
  }
  return shown.sort((a, b) => (a.topic ?? '').localeCompare(b.topic ?? ''));
}

/** Path of the topic that it is about; null where none is touched. */
function topicOf({ archiving, operations: [first], topics }: Proposal): string | null {
  return archiving?.topic ?? (first && 'topic' in first ? `${first.topic}.md` : (topics[0]?.path ?? null));
}

async function showProposal(store: Store, proposal: Proposal): Promise<ShownProposal> {
  const { id, job, at, operations, archiving } = proposal;
  const logged = await readLogged(store, proposal.entries);
  const why = await whatChanged(store, proposal, logged.rowOf);
  const [first] = operations;
  const written = operations.flatMap((operation) => ('lines' in operation ? operation.lines : []));
  const about = archiving ? archiving.entries : proposal.entries.map((pin) => pin.id);
  return {
    id,
    kind: archiving?.kind ?? first?.kind ?? '',
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
  const { archiving } = proposal;
  const operations = await resolveMeaning(proposal.operations, { context, store });
  const changes: FileChange[] = archiving
    ? changesOfArchiving(archiving.topic, [archiving], new Map())
    : editsOf(operations, context).flatMap(changesOfEdit);
  const diffs: string[] = [];
  for (const { path, change } of changes) {
    const before = await store.read(path);
    const after = change(before);
    const side = (text: string | null) => ({ name: text === null ? '/dev/null' : path, text: text ?? '' });
    diffs.push(unifiedDiff(side(before), side(after)));
  }
  return diffs.join('');
}
