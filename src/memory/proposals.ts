// Proposals: what a dream in review mode would change, waiting for a person's word. Each is made for what it was checked against: the
// entries that it is about, as they were said, and the lines that it takes out or rests on. Where one of these is no longer so, the
// proposal is stale: nobody can accept it, and the next dream makes it anew. A rejected one stays as the memory of that decision. Who
// makes and performs them is the jobs' business.

import type { Sql } from '../db/sql.ts';
import { linesOut, type Operation } from '../rules/dream-context.ts';
import { type EntryRow, entryRow } from './entries.ts';
import { headAt, isPinned, shaOf } from './file-rows.ts';
import { restsOf } from './rests.ts';
import { parseTopic } from './text/topic.ts';
import type { Change } from './undo-rows.ts';

/** A file that a proposal touches, or rests on, as it was. */
export interface FileBase {
  path: string;
  /** Null: there was no file. */
  file: string | null;
  /** Ids of the lines that are taken out, or that stand for what is dropped. */
  lines: string[];
}

interface EntryBase {
  id: string;
  /** Hash of what it said. */
  said: string;
  /** It was gone, although lines rest on it. */
  isGone: boolean;
}

export interface Proposal {
  /** `prop_` and twelve hex digits. */
  id: string;
  /** The dream that made it, and when. */
  job: string;
  at: string;
  madeBy: 'model' | 'code';
  /** One, with the drops that are right only with it. */
  operations: Operation[];
  files: FileBase[];
  entries: EntryBase[];
  state: 'open' | 'accepted' | 'rejected';
  decidedAt: string | null;
  /** What the person gave as the reason of a rejection. */
  because: string | null;
}

type Kept = Pick<Proposal, 'id' | 'job' | 'at' | 'state' | 'decidedAt' | 'because'> & { plan: string; bases: string };

async function proposalsWhere(sql: Sql, memory: string, and: string, ...values: string[]): Promise<Proposal[]> {
  const rows = await sql.all<Kept>(
    `select id, job, at, state, decided_at as "decidedAt", because, plan, bases from proposal where memory = ? ${and}`,
    ...[memory, ...values],
  );
  return rows.map(({ plan, bases, ...row }) => ({ ...row, ...JSON.parse(plan), ...JSON.parse(bases) }));
}

/** Those that wait, oldest first. */
export function openProposals(sql: Sql, memory: string): Promise<Proposal[]> {
  return proposalsWhere(sql, memory, "and state = 'open' order by at, id");
}

export async function proposalRow(sql: Sql, memory: string, id: string): Promise<Proposal | undefined> {
  return (await proposalsWhere(sql, memory, 'and id = ?', id))[0];
}

/** What waits, or was decided, about an entry. */
export async function proposalsAbout(sql: Sql, memory: string, entry: string): Promise<Proposal[]> {
  const found = await proposalsWhere(sql, memory, 'and bases like ? order by at, id', `%"${entry}"%`);
  return found.filter(({ entries }) => entries.some(({ id }) => id === entry));
}

export async function putProposal(change: Change, memory: string, proposal: Proposal): Promise<void> {
  const { id, job, at, state, decidedAt, because, madeBy, operations, files, entries } = proposal;
  await change.put('proposal', {
    ...{ id, memory, job, at, state, because, decided_at: decidedAt },
    plan: JSON.stringify({ madeBy, operations }),
    bases: JSON.stringify({ files, entries }),
  });
}

export function entryBase(entry: Pick<EntryRow, 'id' | 'type' | 'text' | 'evidence'>, isGone: boolean): EntryBase {
  const { id, type, text, evidence } = entry;
  return { id, said: shaOf(JSON.stringify([type, text, evidence])).slice(0, 16), isGone };
}

/** Whether an entry still waits, and says what it said. */
export function isAsItWas(base: EntryBase, row: EntryRow | undefined): boolean {
  return (
    row !== undefined && row.state === (base.isGone ? 'gone' : 'new') && entryBase(row, base.isGone).said === base.said
  );
}

/** What is no longer as it was when the proposal was made, as a sentence; null: all is. */
export async function whatChanged(sql: Sql, memory: string, of: Proposal): Promise<string | null> {
  const { entries, files, operations } = of;
  if (operations.length === 0) return 'An earlier nocturne made it, in a way that this one cannot carry out.';
  for (const base of entries)
    if (!isAsItWas(base, await entryRow(sql, memory, base.id))) return `${base.id} was changed since.`;
  const replaced = new Set(operations.flatMap(linesOut));
  for (const { path, file, lines } of files) {
    const text = (await headAt(sql, memory, path))?.content?.toString() ?? '';
    const standing = new Set(lines.length === 0 ? [] : parseTopic(path, text).lines.map(({ id }) => id));
    if (lines.some((line) => !standing.has(line))) return `${path} was changed since.`;
    if (isPinned(path, text)) return `${path} is pinned.`;
    // As where a person rejected that it be taken out.
    const rests = new Set(file === null ? [] : (await restsOf(sql, memory, file)).map(({ line }) => line));
    if (lines.some((line) => replaced.has(line) && !rests.has(line)))
      return `A line of ${path} that it would take out was changed by a person.`;
  }
  return null;
}
