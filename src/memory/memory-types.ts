// The nouns of the memory directory.

import type { Day } from '../base/time.ts';
import type { Found, Proof } from '../rules/lessons.ts';

export const MEMORY_TYPES = ['user', 'feedback', 'project', 'reference'] as const;
export type MemoryType = (typeof MEMORY_TYPES)[number];

export function isMemoryType(value: unknown): value is MemoryType {
  return MEMORY_TYPES.some((type) => type === value);
}

const DONE: Record<string, string> = {
  add: 'added',
  merge: 'merged',
  supersede: 'replaced',
  change: 'changed',
  confirm: 'confirmed',
  retire: 'removed',
  archive: 'archived',
  rename: 'renamed',
  drop: 'left out',
  propose: 'proposed',
};

/** What was done, of the name of a dream's operation. */
export function sayOp(op: string): string {
  return Object.hasOwn(DONE, op) ? (DONE[op] as string) : op;
}

interface Counted {
  kind: string;
  came?: readonly string[];
  gone?: readonly string[];
  entries?: readonly string[];
}

/** How many lines came, changed or went by each kind of operation: the one way in which what a night did is counted. */
function countOperations(operations: readonly Counted[]): [kind: string, count: number][] {
  const linesOf = ({ kind, came, gone, entries }: Counted) =>
    kind === 'drop' ? entries : kind === 'retire' ? gone : came;
  const count = (of: Counted[]) => of.reduce((sum, each) => sum + (linesOf(each)?.length || 1), 0);
  return [...Map.groupBy(operations, ({ kind }) => kind)].map(([kind, of]) => [kind, count(of)]);
}

/** `3 added, 1 changed`. */
export function sayOperations(operations: readonly Counted[]): string {
  return countOperations(operations)
    .map(([kind, count]) => `${count} ${sayOp(kind)}`)
    .join(', ');
}

/** What supports an entry: words that stand in the redacted text of a message. White space is folded to one space. */
export interface Evidence {
  message: string;
  quote: string;
  /** Who said it, as `by` of an entry; default: not known. */
  by?: string;
  /** Of a lesson: what the quoted call or result shows. Its row alone keeps it. */
  proves?: Proof;
}

/** One remembered thing. */
export interface Entry {
  /** `e_` and twelve hex digits of a hash over the first evidence's message and quote, and the text. */
  id: string;
  type: MemoryType;
  /** `stated`: said outright. `implied`: a habit shown by what was done. */
  strength: 'stated' | 'implied';
  /** One line, with absolute dates. */
  text: string;
  /** What of the things known before it changes, where that was told. */
  changes?: string;
  /** The id of the line of memory that it was seen to say again. Its row alone keeps it: after a loss it is a hint less. */
  again?: string;
  /** Which kind of lesson it is, where the agent found it out by trying. Its row alone keeps it. */
  found?: Found;
  /** Who said it, where that was not the user. Its row alone keeps it. */
  person?: string;
  /** The first carries the entry, the others make it understandable. */
  evidence: Evidence[];
  /** Who said the first evidence: `human`, `assistant`, `tool`, `subagent`, `harness`. */
  by: string;
  session: string;
  turn: string;
  /** When it was said; ISO-8601 UTC. */
  at: string;
  /** The day whose log holds it. */
  day: Day;
  /** Fingerprint of the prompt that found it. */
  prompt: string;
}
