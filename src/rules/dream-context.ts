// What a dream's operations speak of: the operations, and the entries, lines and topics that they are checked against.
// Pure: data in, data out. What may be done is decided in operation-rules.ts, what a line rests on in line-support.ts.

import type { Day } from '../base/time.ts';

export type TopicType = 'user' | 'feedback' | 'project' | 'reference';

export interface NewLine {
  text: string;
  /** Ids of what it rests on. */
  entries: string[];
}

/** Lines that go out of topics, and lines that come into one. */
export interface Put {
  kind: 'put';
  reason: string;
  topic?: string;
  type?: TopicType;
  description?: string;
  /** Ids of lines. */
  out?: string[];
  in?: NewLine[];
  /** What else of the lines that go is no longer true. */
  over?: string[];
  /** Entries that give way without a line, or that take lines out. */
  entries?: string[];
}

export interface Drop {
  kind: 'drop';
  reason: string;
  entries: string[];
  because: (typeof DROP_REASONS)[number];
  /** The line or entry that stands for what is dropped. */
  of?: string;
}

/** Why an entry may be left out. The first two name what stands for it; the last three are taken at the model's word. */
const BY_ANOTHER = ['duplicate', 'gave-way'] as const;
export const DROP_REASONS = [...BY_ANOTHER, 'withdrawn', 'ephemeral', 'in-repository', 'unsupported'] as const;

export interface Rename {
  kind: 'rename';
  reason: string;
  topic: string;
  to: string;
  description?: string;
}

export type Operation = Put | Drop | Rename;

/** An entry as the model is shown it: redacted. */
export interface KnownEntry {
  id: string;
  type: TopicType;
  strength: 'stated' | 'implied';
  at: string;
  text: string;
  quotes: string[];
  /** Who said each quote, as far as it is known. */
  speakers?: (string | undefined)[];
  by: string;
  /** What it changes of what is known, as it was understood. */
  changes?: string;
  /** The id of the line that it was seen to say again. */
  again?: string;
  /** Where it was said; a subagent's is `<session>/<agent>`. */
  session: string;
  isWithdrawn: boolean;
}

/** What a line rests on. */
export interface LineSource {
  id: string;
  at: string;
  session: string;
  /** Default: not known. */
  text?: string;
  strength?: 'stated' | 'implied';
}

export interface KnownLine {
  /** Without the mark of what was seen once. */
  text: string;
  isPersons: boolean;
  /** A program wrote it, or an agent by a tool; default: false. */
  isPrograms?: boolean;
  /** The day of the one session that showed it; undefined for a plain line. */
  seenOnce?: Day;
  /** None for a line that no dream wrote. */
  sources?: LineSource[];
}

export interface KnownTopic {
  name: string;
  path: string;
  type: TopicType | undefined;
  isPinned: boolean;
  /** Of its file as it stands. */
  bytes: number;
  /** By line id. */
  lines: Map<string, KnownLine>;
}

/** What the operations are checked against. */
export interface DreamContext<Topic extends KnownTopic = KnownTopic> {
  entries: Map<string, KnownEntry>;
  /** By name; all topics, also those that were not shown. */
  topics: Map<string, Topic>;
  /** Of all topics of the memory; default: not known, so that no loss is too great. */
  lines?: number;
}

/** An operation as a report and a person are told of it. */
export type ToldKind = 'add' | 'change' | 'retire' | 'drop' | 'rename';

export function toldKind(operation: Operation): ToldKind {
  if (operation.kind !== 'put') return operation.kind;
  if (linesOut(operation).length === 0) return 'add';
  return linesIn(operation).length === 0 ? 'retire' : 'change';
}

/** The ids of all entries that an operation is about, each once. */
export function entryIds(operation: Operation): string[] {
  const own = operation.kind === 'rename' ? [] : (operation.entries ?? []);
  return [...new Set([...linesIn(operation).flatMap((line) => line.entries), ...own])];
}

export const linesIn = (operation: Operation): NewLine[] => (operation.kind === 'put' && operation.in) || [];
export const linesOut = (operation: Operation): string[] => (operation.kind === 'put' && operation.out) || [];

/** The entries of these ids, as far as they are known. */
export const knownEntries = ({ entries }: DreamContext, ids: string[]) => ids.flatMap((id) => entries.get(id) ?? []);

/** Whether no dream wrote a line, so that none changes it. */
export const isOthers = ({ isPersons, isPrograms = false }: Pick<KnownLine, 'isPersons' | 'isPrograms'>) =>
  isPersons || isPrograms;

/** Whether a person takes something out of the logs by it: nothing comes, and all its entries are withdrawn. */
export function isWithdrawal(operation: Operation, { entries }: DreamContext): boolean {
  const isGone = (id: string) => entries.get(id)?.isWithdrawn === true;
  return operation.kind === 'put' && linesIn(operation).length === 0 && entryIds(operation).every(isGone);
}

/** The topic that holds a line: of several the preferred one, else one that may be changed; undefined for none. */
export function topicOfLine<T extends KnownTopic>(line: string, context: DreamContext<T>, preferred?: string) {
  const own = context.topics.get(preferred ?? '');
  if (own?.lines.has(line)) return own;
  const holding = [...context.topics.values()].filter((topic) => topic.lines.has(line));
  const isFree = ({ isPinned, lines }: T) => !isPinned && !isOthers(lines.get(line) as KnownLine);
  return holding.find(isFree) ?? holding[0];
}

/** The newest time of these; an empty text, which is before all times, for none. */
export function newestAt(said: { at: string }[]): string {
  return said.reduce((newest, { at }) => (at > newest ? at : newest), '');
}

/** The session of a person's conversation; a subagent's belongs to it. */
export const sessionOf = ({ session }: { session: string }) => session.split('/')[0] ?? '';
