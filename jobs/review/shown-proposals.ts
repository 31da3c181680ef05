// What waits for a person's word, as they are shown it: the change as a diff of the files, why it is proposed, and the words that it
// rests on. It changes nothing.

import type { Sql } from '../../src/db/sql.ts';
import type { FileChange } from '../../src/memory/commit.ts';
import { editedLogs } from '../../src/memory/edited-logs.ts';
import { headAt } from '../../src/memory/file-rows.ts';
import { unifiedDiff } from '../../src/memory/line-diff.ts';
import type { MemoryRow } from '../../src/memory/memories.ts';
import { openProposals, type Proposal, whatChanged } from '../../src/memory/proposals.ts';
import { linesIn, toldKind } from '../../src/rules/dream-context.ts';
import { changesOf as changesOfArchiving } from '../dream/archiving.ts';
import { contextOfProposal } from '../dream/dream-approval.ts';
import { changesOf } from '../dream/dream-landing.ts';
import { entriesOf } from '../dream/night-entries.ts';
import { type StandingFiles, standingFiles } from '../dream/topic-draft.ts';

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

/** All that wait, or those of `ids`, topic by topic. */
export async function shownProposals(sql: Sql, memory: MemoryRow, ids?: readonly string[]): Promise<ShownProposal[]> {
  const edited = new Map((await editedLogs(sql, memory)).changed.map((row) => [row.id, row]));
  const files = await standingFiles(sql, memory.id);
  const shown: ShownProposal[] = [];
  for (const proposal of await openProposals(sql, memory.id)) {
    if (ids && !ids.includes(proposal.id)) continue;
    const why = await whatChanged(sql, memory.id, proposal, edited);
    shown.push(await showProposal(proposal, { sql, memory: memory.id, files, why }));
  }
  return shown.sort((a, b) => (a.topic ?? '').localeCompare(b.topic ?? ''));
}

interface Place {
  sql: Sql;
  memory: string;
  files: StandingFiles;
  why: string | null;
}

async function showProposal(proposal: Proposal, place: Place): Promise<ShownProposal> {
  const { id, job, at, operations, archiving, files } = proposal;
  const { sql, memory, why } = place;
  const [first] = operations;
  const named = first && 'topic' in first && first.topic ? `${first.topic}.md` : (files[0]?.path ?? null);
  const about = archiving ? archiving.entries : proposal.entries.map((base) => base.id);
  const entries = await entriesOf(sql, memory, about);
  return {
    ...{ id, job, at, why, state: why ? 'stale' : 'waiting' },
    kind: archiving?.kind ?? (first ? toldKind(first) : ''),
    topic: archiving?.topic ?? named,
    reason: archiving?.reason ?? first?.reason ?? '',
    lines: operations.flatMap(linesIn).map(({ text }) => text),
    entries: entries.map(({ id: entry, type, text, by, at: saidAt, session, evidence }) => {
      return { id: entry, type, text, by, at: saidAt, session, quotes: evidence.map(({ quote }) => quote) };
    }),
    diff: why ? '' : await diffOf(proposal, place),
  };
}

/** What a proposal would change in the files as they are. */
async function diffOf(proposal: Proposal, place: Place): Promise<string> {
  const { sql, memory } = place;
  const { context } = await contextOfProposal(proposal, place);
  const { archiving, operations } = proposal;
  const changes = archiving
    ? (await changesOfArchiving(sql, memory, { path: archiving.topic, parts: [archiving] })).changes
    : (await changesOf(sql, memory, operations, context)).files;
  let diff = '';
  for (const { path, from = path, make } of changes as FileChange[]) {
    const before = (await headAt(sql, memory, from))?.content?.toString() ?? null;
    const side = (text: string | null, name: string) => ({
      name: text === null ? '/dev/null' : name,
      text: text ?? '',
    });
    diff += unifiedDiff(side(before, from), side(make(before), path));
  }
  return diff;
}
