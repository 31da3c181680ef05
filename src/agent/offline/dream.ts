// Proposes a dream's operations by rules: an entry joins a line that says the same, replaces one that it changes, or is
// added. Every entry it is given ends in exactly one operation; a line that no dream wrote is never replaced.
// It reads the input as prompts/dream-input.md lays it out, passes over what it cannot read, and never throws.

import { isObject, parseJson } from '../../base/text/json.ts';
import { contentWords, countSharedWords, isOpposite } from '../../base/text/wording.ts';
import { isChanged, isSame } from './statements.ts';

export interface Operation {
  kind: 'add' | 'merge' | 'supersede' | 'drop';
  entries: string[];
  reason: string;
  topic?: string;
  description?: string;
  type?: string;
  lines?: Line[];
  replaces?: string[];
  /** Of a drop: why, and what holds in the entries' place. */
  because?: 'duplicate' | 'gave-way' | 'withdrawn' | 'unsupported';
  of?: string;
}

/** What one or more entries of the night say together. */
interface Fact {
  type: string;
  text: string;
  entries: string[];
  /** Entries that said otherwise, earlier in the same night. */
  outdated: string[];
  sessions: Set<string>;
  isStated: boolean;
}

/** The parts of a dream's input that are read. */
export const DREAM_PARTS = ['entries', 'withdrawn', 'topics', 'others'] as const;
export type DreamInput = Record<(typeof DREAM_PARTS)[number], string>;
interface Line {
  text: string;
  entries: string[];
}
type GivenEntry = Record<'id' | 'text' | 'type' | 'strength' | 'at' | 'session', string>;
type ShownTopic = ReturnType<typeof topicsOf>[number];
type ShownLine = ShownTopic['lines'][number];

const DEFAULT_TOPICS: Record<string, [topic: string, description: string]> = {
  user: ['user-profile', 'Who the user is and what they prefer; read before choosing tools or style'],
  feedback: ['working-agreements', 'Rules for the work, set by the user; read before changing or running anything'],
  project: ['project-facts', 'Goals, decisions and deadlines of the project; read before planning'],
  reference: ['references', 'Where things are found outside the repository: trackers, dashboards, documents'],
};
/** Shared words from which on a topic is taken to be about an entry. */
const RELATED_WORDS = 2;
/** A problem quotes a long line only in part. */
const NAMED_CHARS = 60;

const HEADING = /^### (.+)\.md \((\w+)\)(?: — (.*))?$/m;
const LINE = /^\[([0-9a-f]{8})(?: seen once \S+)?( person| program)?(?: withdrawn [^\]]+)?\] (.*)$/gm;
const OFFER = /^operations\[\d+\].* (?:such as|one of its own:) (\{.*?\})\.(?: If it is no longer true, .*)?$/gm;

function readEntry(value: unknown): GivenEntry | undefined {
  const { id, text, type, strength, at, session } = isObject(value) ? value : {};
  const given = (field: unknown) => (typeof field === 'string' ? field : '');
  if (typeof id !== 'string' || typeof text !== 'string') return undefined;
  return { id, text, type: given(type), strength: given(strength), at: given(at), session: given(session) };
}

function readLine(value: unknown): Line | undefined {
  const { text, entries } = isObject(value) ? value : {};
  const isList = Array.isArray(entries) && entries.every((id) => typeof id === 'string');
  return typeof text === 'string' && isList ? { text, entries } : undefined;
}

/** The entries of JSON lines; of an id that comes twice the last. */
export function entriesOf(jsonLines: string): GivenEntry[] {
  const entries = jsonLines.split('\n').flatMap((line) => readEntry(parseJson(line)) ?? []);
  return [...new Map(entries.map((entry) => [entry.id, entry])).values()];
}

/** The topics shown, with their lines and the words they are about. */
export function topicsOf(shown: string) {
  return shown.split(/^(?=### )/m).flatMap((section) => {
    const [heading, topic = '', type = '', description = ''] = HEADING.exec(section) ?? [];
    const lines = [...section.matchAll(LINE)].map(([, id = '', writer, text = '']) => ({
      id,
      text,
      topic,
      type,
      /** Nobody changes it but who wrote it. */
      writer: writer?.trim(),
    }));
    const words = contentWords([topic.replaceAll('-', ' '), description, ...lines.map(({ text }) => text)].join(' '));
    return heading === undefined ? [] : [{ name: topic, type, lines, words }];
  });
}

/** The operations for one dream; none where there is nothing to work in. `faulty`: entries that could not be placed. */
export function proposeOperations(input: DreamInput, faulty: string[] = [], offered: Line[] = []): Operation[] {
  const topics = topicsOf(input.topics);
  const withdrawn = entriesOf(input.withdrawn)
    .map(({ id }) => id)
    .filter((id) => !faulty.includes(id));
  const isPlaced = ({ id }: GivenEntry) => !withdrawn.includes(id) && !faulty.includes(id);
  const { facts, denied } = factsOf(entriesOf(input.entries).filter(isPlaced));
  const free = new Set(topics.flatMap(({ lines }) => lines));
  // Lines that are said again first, so that no other fact takes one of them away.
  const joined = facts.map((fact) => joinLine(fact, free));
  const operations = facts.map((fact, at) => joined[at] ?? replaceLines(fact, free, offered));
  const others = facts.filter((_, at) => operations[at] === undefined);
  const added = Map.groupBy(others, (fact) => topicFor(fact, topics));
  const known = topics.map(({ name }) => name).concat(input.others.split('\n').map((row) => row.replace(/ \(.*/, '')));
  return [
    ...operations.filter((operation) => operation !== undefined),
    ...[...added].map(([topic, facts]) => add(topic, facts, known.includes(topic))),
    ...drop(denied, 'unsupported', 'Only shown, and someone said otherwise the same night.'),
    ...facts.flatMap(({ outdated, entries }) => drop(outdated, 'gave-way', 'A newer statement holds.', entries[0])),
    // Lines that rested on withdrawn entries alone are gone before a model is asked; what is left rests on others too.
    ...drop(withdrawn, 'withdrawn', 'Withdrawn; nothing rests on it alone.'),
    ...drop([...new Set(faulty)], 'unsupported', 'The rules of the offline model could not place it.'),
  ];
}

/** The lines that a refusal offers, so that what a line that goes says besides is not lost. */
export function offeredLines(refusal: string): Line[] {
  return [...refusal.matchAll(OFFER)].flatMap(([, line = '']) => readLine(parseJson(line)) ?? []);
}

/** The entries to which the problems of a refusal point: the line or the operation that one names, else those it names. */
export function faultyEntries(operations: Operation[], refusal: string): string[] {
  return refusal.split('\n').flatMap((problem) => {
    const operation = operations[Number(/^operations\[(\d+)\]/.exec(problem)?.[1] ?? -1)];
    const line = operation?.lines?.find(({ text }) => problem.includes(text.slice(0, NAMED_CHARS)));
    return line?.entries ?? operation?.entries ?? problem.match(/\be_[0-9a-f]+\b/g) ?? [];
  });
}

/** The facts of the night, what was stated before what was only shown; `denied`: entries shown and stated otherwise. */
function factsOf(entries: GivenEntry[]): { facts: Fact[]; denied: string[] } {
  const facts: Fact[] = [];
  const denied: string[] = [];
  const isStated = ({ strength }: GivenEntry) => strength !== 'implied';
  const byTime = entries.toSorted((a, b) => a.at.localeCompare(b.at) || a.id.localeCompare(b.id));
  for (const entry of [...byTime.filter(isStated), ...byTime.filter((each) => !isStated(each))]) {
    const { id, type, text, session } = entry;
    // One line can stand only once, whatever type it was said to be.
    const same = facts.find((fact) => isSame(fact.text, text));
    same?.entries.push(id);
    same?.sessions.add(session);
    const old = facts.filter(
      (fact) => isOpposite(fact.text, text) || (fact.type === type && isChanged(fact.text, text)),
    );
    const isDenied = !same && old.length > 0 && !isStated(entry);
    if (isDenied) denied.push(id);
    if (same || isDenied) continue;
    for (const fact of old) facts.splice(facts.indexOf(fact), 1);
    const outdated = old.flatMap((fact) => [...fact.outdated, ...fact.entries]);
    facts.push({ type, text, entries: [id], sessions: new Set([session]), isStated: isStated(entry), outdated });
  }
  return { facts, denied };
}

/** What becomes of a fact that a line says already. */
function joinLine({ text, entries }: Fact, free: Set<ShownLine>): Operation | undefined {
  const line = [...free].find((shown) => isSame(shown.text, text));
  if (line === undefined) return undefined;
  free.delete(line);
  const { id, topic } = line;
  const reason = `Duplicate of [${id}] in ${topic}, which a ${line.writer} wrote.`;
  if (line.writer) return drop(entries, 'duplicate', reason, id)[0];
  const lines = [{ text: line.text, entries }];
  return { kind: 'merge', entries, reason: 'Said again.', topic, lines, replaces: [id] };
}

/** What becomes of a fact that changes a line: every line that it denies gives way, in whatever topic it stands. */
function replaceLines(fact: Fact, free: Set<ShownLine>, offered: Line[]): Operation | undefined {
  const { type, text, entries, sessions, isStated } = fact;
  // What one session showed and nobody said changes nothing that is there.
  const isShownOnce = !isStated && sessions.size < 2;
  const replaceable = isShownOnce ? [] : [...free].filter((line) => !line.writer && line.type === type);
  const denied = replaceable.filter((line) => isOpposite(line.text, text));
  const changed = denied.length > 0 ? denied : replaceable.filter((line) => isChanged(line.text, text)).slice(0, 1);
  for (const line of changed) free.delete(line);
  const replaces = [...new Set(changed.map(({ id }) => id))];
  const lines = [{ text, entries }, ...offered.filter((line) => line.entries.some((id) => entries.includes(id)))];
  const reason = 'A newer statement changes it.';
  return changed[0] && { kind: 'supersede', entries, reason, topic: changed[0].topic, lines, replaces };
}

/** The topic of the fact's type that shares most words with it. */
function topicFor({ type, text }: Fact, topics: ShownTopic[]): string {
  const words = contentWords(text);
  const shares = (topic: ShownTopic) => countSharedWords(words, topic.words);
  const related = topics.filter((topic) => topic.type === type && shares(topic) >= RELATED_WORDS);
  const [best] = related.toSorted((a, b) => shares(b) - shares(a));
  return best?.name ?? DEFAULT_TOPICS[type]?.[0] ?? 'notes';
}

function add(topic: string, facts: Fact[], isKnown: boolean): Operation {
  const lines = facts.map(({ text, entries }) => ({ text, entries }));
  const entries = facts.flatMap((fact) => fact.entries);
  const type = facts[0]?.type ?? '';
  const description = DEFAULT_TOPICS[type]?.[1] ?? 'What has no other place';
  const operation: Operation = { kind: 'add', entries, reason: 'Not in memory yet.', topic, lines };
  return isKnown ? operation : { ...operation, description, type };
}

/** A drop of these entries; none where there are none. */
function drop(entries: string[], because: Operation['because'], reason: string, of?: string): Operation[] {
  return entries.length > 0 ? [{ kind: 'drop', entries, because, reason, of }] : [];
}
