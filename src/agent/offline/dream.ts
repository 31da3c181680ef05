// Proposes a dream's operations by rules: entries and topic lines are the same, changed or strangers by their words.
// Every entry it is given ends in exactly one operation; a line a person wrote is never replaced.

import { isOpposite } from '../../base/text/wording.ts';
import { countShared, isChanged, isSame, wordsOf } from './compare.ts';
import {
  type DreamInput,
  entriesOf,
  type GivenEntry,
  type ShownLine,
  type ShownTopic,
  topicsOf,
} from './dream-input.ts';

export interface Operation {
  kind: 'add' | 'merge' | 'supersede' | 'retire' | 'drop';
  entries: string[];
  reason: string;
  topic?: string;
  description?: string;
  type?: string;
  lines?: { text: string; entries: string[] }[];
  replaces?: string[];
  /** Of a drop: why, and what stands for it. */
  because?: 'duplicate' | 'gave-way' | 'withdrawn' | 'unsupported';
  of?: string;
}

/** What one or more entries of the night say together. */
interface Fact {
  type: string;
  text: string;
  /** The entries that say it. */
  entries: string[];
  /** Those that said otherwise, earlier in the same night. */
  outdated: string[];
  /** One session showed it, and nobody said it: it changes nothing that is there. */
  isShownOnce?: boolean;
}

const DEFAULT_TOPICS: Record<string, { topic: string; description: string }> = {
  user: {
    topic: 'user-profile',
    description: 'Who the user is and what they prefer; read before choosing tools or style',
  },
  feedback: {
    topic: 'working-agreements',
    description: 'Rules for the work, as the user set them; read before changing or running anything',
  },
  project: {
    topic: 'project-facts',
    description: 'Goals, decisions and deadlines of the project; read before planning',
  },
  reference: {
    topic: 'references',
    description: 'Where things are found outside the repository: trackers, dashboards, documents',
  },
};
/** Shared words from which on a topic is taken to be about an entry. */
const RELATED_WORDS = 2;
/** A problem quotes a long line only in part. */
const NAMED_CHARS = 60;

/** The operations for one dream; none where there is nothing to work in. */
export function proposeOperations(input: DreamInput): Operation[] {
  const topics = topicsOf(input.topics);
  const withdrawn = entriesOf(input.withdrawn);
  const ids = new Set(withdrawn.map((entry) => entry.id));
  const entries = entriesOf(input.entries).filter((entry) => !ids.has(entry.id));
  const taken = new Set<ShownLine>();
  const operations: Operation[] = [];
  const added = new Map<string, Operation>();

  const facts = factsOf(entries.filter((entry) => entry.strength !== 'implied'));
  const contrary = joinHabits(
    facts,
    entries.filter((entry) => entry.strength === 'implied'),
  );
  // Lines that are said again first, so that no other fact takes one of them away.
  const repeated = new Map(facts.map((fact) => [fact, repeatLine(fact, topics, taken)]));
  for (const fact of facts) {
    const operation =
      repeated.get(fact) ??
      (fact.isShownOnce ? null : changeLine(fact, topics, taken)) ??
      addTo(added, fact, { topics, others: input.others });
    if (!operations.includes(operation)) operations.push(operation);
  }
  if (contrary.length > 0) {
    const reason = 'Only shown, and somebody said otherwise the same night.';
    operations.push({ kind: 'drop', entries: contrary.map(({ id }) => id), because: 'unsupported', reason });
  }
  for (const { outdated, entries: newer } of facts) {
    if (outdated.length === 0) continue;
    const reason = 'Gave way to a newer statement.';
    operations.push({ kind: 'drop', entries: outdated, because: 'gave-way', of: newer[0], reason });
  }
  // Lines that rested on withdrawn entries alone are gone before a model is asked; what is left rests on others too.
  if (ids.size > 0)
    operations.push({
      kind: 'drop',
      entries: [...ids],
      because: 'withdrawn',
      reason: 'Withdrawn; nothing rests on it alone.',
    });
  return operations;
}

/** The entries to which the problems point: the line or the operation that one names, else the entries it names. */
export function faultyEntries(operations: Operation[], problems: string): Set<string> {
  return new Set(
    problems.split('\n').flatMap((problem) => {
      const operation = operations[Number(/^operations\[(\d+)\]/.exec(problem)?.[1] ?? -1)];
      const line = operation?.lines?.find(({ text }) => problem.includes(text.slice(0, NAMED_CHARS)));
      return line?.entries ?? operation?.entries ?? problem.match(/\be_[0-9a-f]+\b/g) ?? [];
    }),
  );
}

/** The operations without the named entries and what rests on them alone; these entries are dropped, for `reason`. */
export function withoutEntries(operations: Operation[], names: Set<string>, reason: string): Operation[] {
  const isKept = (id: string) => !names.has(id);
  const kept: Operation[] = [];
  const dropped: string[] = [];
  for (const operation of operations) {
    // What gave way to one of these is not said by anything any more.
    const isOrphan = operation.of !== undefined && names.has(operation.of);
    const entries = isOrphan ? [] : operation.entries.filter(isKept);
    const lines = operation.lines
      ?.map((line) => ({ ...line, entries: line.entries.filter(isKept) }))
      .filter((line) => line.entries.length > 0);
    const isWhole = entries.length > 0 && lines?.length !== 0;
    if (isWhole) kept.push({ ...operation, entries, lines });
    dropped.push(...(isWhole ? operation.entries.filter((id) => names.has(id)) : operation.entries));
  }
  return dropped.length === 0 ? kept : [...kept, { kind: 'drop', entries: dropped, because: 'unsupported', reason }];
}

/** Joins habits that were only implied to the facts, each to one that states it; answers those that a fact denies. */
function joinHabits(facts: Fact[], implied: GivenEntry[]): GivenEntry[] {
  const contrary: GivenEntry[] = [];
  for (const [text, habits] of Map.groupBy(implied, (entry) => entry.text)) {
    const entries = habits.map((entry) => entry.id);
    const stated = facts.find((fact) => isSame(fact.text, text));
    const isShownOnce = new Set(habits.map((entry) => entry.session)).size < 2;
    if (stated) stated.entries.push(...entries);
    else if (facts.some((fact) => isChanged(fact.text, text))) contrary.push(...habits);
    else facts.push({ type: habits[0]?.type ?? '', text, entries, outdated: [], isShownOnce });
  }
  return contrary;
}

/** The facts of the night, oldest first: what is said again is one fact, and the newest statement of it stands. */
function factsOf(entries: GivenEntry[]): Fact[] {
  const facts: Fact[] = [];
  const byTime = entries.toSorted((a, b) => (a.at === b.at ? compareText(a.id, b.id) : compareText(a.at, b.at)));
  for (const { id, type, text } of byTime) {
    // One line can stand only once, whatever type it was said to be.
    const same = facts.find((fact) => isSame(fact.text, text));
    if (same !== undefined) {
      same.entries.push(id);
      continue;
    }
    const changed = facts.find((fact) => fact.type === type && isChanged(fact.text, text));
    const outdated = facts.filter((fact) => fact === changed || isOpposite(fact.text, text));
    for (const fact of outdated) facts.splice(facts.indexOf(fact), 1);
    facts.push({ type, text, entries: [id], outdated: outdated.flatMap((old) => [...old.outdated, ...old.entries]) });
  }
  return facts;
}

/** What becomes of a fact that a line says already; null where none does. */
function repeatLine(fact: Fact, topics: ShownTopic[], taken: Set<ShownLine>): Operation | null {
  const [found] = findLines(topics, (line) => isSame(line.text, fact.text));
  if (found === undefined) return null;
  const { topic, line } = found;
  taken.add(line);
  if (line.isPersons) {
    const reason = `Duplicate of [${line.id}] in ${topic.name}, which a person wrote.`;
    return { kind: 'drop', entries: fact.entries, because: 'duplicate', of: line.id, reason };
  }
  const lines = [{ text: line.text, entries: fact.entries }];
  return { kind: 'merge', entries: fact.entries, reason: 'Said again.', topic: topic.name, lines, replaces: [line.id] };
}

/** What becomes of a fact that changes a line; null where it changes none. */
function changeLine(fact: Fact, topics: ShownTopic[], taken: Set<ShownLine>): Operation | null {
  const ofType = topics.filter((topic) => topic.type === fact.type);
  const isFree = (line: ShownLine) => !line.isPersons && !taken.has(line);
  const opposites = findLines(ofType, (line) => isFree(line) && isOpposite(line.text, fact.text));
  const [found] =
    opposites.length > 0 ? opposites : findLines(ofType, (line) => isFree(line) && isChanged(line.text, fact.text));
  if (found === undefined) return null;
  // Every line that the fact denies gives way, in whatever topic it stands.
  const replaced = [...new Set([found, ...opposites].map(({ line }) => line))];
  for (const line of replaced) taken.add(line);
  const lines = [{ text: fact.text, entries: fact.entries }];
  const reason = 'A newer statement changes it.';
  const replaces = [...new Set(replaced.map(({ id }) => id))];
  return { kind: 'supersede', entries: fact.entries, reason, topic: found.topic.name, lines, replaces };
}

function findLines(topics: ShownTopic[], isWanted: (line: ShownLine) => boolean) {
  return topics.flatMap((topic) => topic.lines.map((line) => ({ topic, line }))).filter(({ line }) => isWanted(line));
}

/** The `add` for the fact's topic, begun or gone on with. */
function addTo(added: Map<string, Operation>, fact: Fact, known: { topics: ShownTopic[]; others: string }): Operation {
  const line = { text: fact.text, entries: fact.entries };
  const { topic, description } = topicFor(fact, known.topics);
  const begun = added.get(topic);
  if (begun !== undefined) {
    begun.entries.push(...fact.entries);
    begun.lines?.push(line);
    return begun;
  }
  const exists =
    known.topics.some((shown) => shown.name === topic) ||
    known.others.split('\n').some((other) => other.startsWith(`${topic} (`));
  const operation: Operation = {
    kind: 'add',
    entries: [...fact.entries],
    reason: 'Not in memory yet.',
    topic,
    lines: [line],
  };
  if (!exists) Object.assign(operation, { description, type: fact.type });
  added.set(topic, operation);
  return operation;
}

function topicFor(fact: Fact, topics: ShownTopic[]): { topic: string; description: string } {
  const words = wordsOf(fact.text);
  const [best] = topics
    .filter((topic) => topic.type === fact.type)
    .map(({ name, description, lines }) => {
      const about = wordsOf([name.replaceAll('-', ' '), description, ...lines.map((line) => line.text)].join(' '));
      return { topic: name, description, shared: countShared(words, about) };
    })
    .toSorted((a, b) => b.shared - a.shared || compareText(a.topic, b.topic));
  if (best !== undefined && best.shared >= RELATED_WORDS) return best;
  return (
    DEFAULT_TOPICS[fact.type] ?? {
      topic: 'notes',
      description: 'What has no other place',
    }
  );
}

/** By code unit, so that the order is the same everywhere. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
