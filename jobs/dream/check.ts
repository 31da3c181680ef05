// A list of operations as a model builds it over its calls. What code lets through stands; what it does not is asked for
// again, and nothing else.
// What operations mean is resolved before they are judged: lines carry no mark of what was seen once, which code sets
// (draft.ts); what one says of a new topic holds for all that write into it; `hold`, no longer offered, is a line seen
// once; a duplicate from another session that makes a line certain is merged into it; a new name means the topic.
// Promises: an operation keeps its number as long as it is about the same entries; what is sent anew about an entry takes
// the place of what was sent before; what `checked` answers can be committed as it is.

import { z } from 'zod';
import { isAppError } from '../../src/base/errors.ts';
import { withTags } from '../../src/base/text/injection.ts';
import { redact } from '../../src/base/text/redact.ts';
import { countShared } from '../../src/base/text/wording.ts';
import { judgeOperations, sayUnplaced } from '../../src/memory/dream/operation-checks.ts';
import { seenOnceIn } from '../../src/memory/dream/operation-lines.ts';
import {
  DESCRIPTION_CHARACTERS,
  entriesOf,
  isOthers,
  type KnownEntry,
  type Operation,
  operationSchema,
  proposalListSchema,
  topicOfLine,
  type Writing,
} from '../../src/memory/dream/operations.ts';
import { TopicSearch, topicCards } from '../../src/memory/dream/topic-table.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { withoutMark } from '../../src/memory/text/topic.ts';
import type { MemoryType } from '../../src/memory/types.ts';
import { type Checked, type CommitAt, commitOperations, sizeOf } from './commit.ts';
import { type DraftTopic, readHolding, readNamed, readTopicAt } from './draft.ts';
import type { Context, Selected, Slice } from './select.ts';

interface Slot {
  /** The entries that it is about, as far as it has a shape. */
  entries: string[];
  operation: Operation | null;
  /** What is wrong with its shape, or what stands in its way when it is committed. */
  problems: string[];
  /** What was mended of it, of which nothing is to be sent again. */
  note?: string;
}

export interface Verdict {
  /** What is wrong, a sentence each, with the operation's number. */
  problems: string[];
  /** What was mended, a sentence each: nothing is to be sent again for it. */
  notes: string[];
  /** Numbers of the operations that stand. */
  standing: number[];
  /** Entries that no standing operation is about. */
  left: string[];
}

export class Check {
  readonly #slice: Slice;
  readonly #context: Context;
  readonly #at: CommitAt;
  readonly #refused: string[];
  readonly #slots = new Map<number, Slot>();
  #next = 0;
  #last: Verdict | undefined;
  #standing = new Map<number, Operation>();

  constructor({ slice, context }: Pick<Selected, 'slice' | 'context'>, at: CommitAt) {
    this.#slice = slice;
    this.#context = context;
    this.#at = at;
    this.#refused = [...(slice.refused ?? [])];
  }

  /** Takes what a call sends, and judges the whole list. */
  async take(input: unknown): Promise<Verdict> {
    const list = proposalListSchema.safeParse(await cleaned(input));
    if (list.success) this.#put(list.data.operations.map(slotOf));
    this.#last = list.success
      ? await this.#judge()
      : { problems: [z.prettifyError(list.error)], notes: [], standing: [], left: this.#left([]) };
    this.#refused.push(...this.#last.problems);
    return this.#last;
  }

  /** What stands of it now, as it is committed; all else is left. */
  checked(): Checked & { left: NonNullable<Checked['left']> } {
    const operations = [...this.#standing.values()];
    const { problems = [], left = this.#left([]) } = this.#last ?? {};
    const reason = problems.slice(0, 3).join(' ') || 'The model proposed nothing for it.';
    return {
      ...this.#about(operations),
      refused: this.#refused,
      left: left.map((entry) => {
        const own = problems.filter((problem) => problem.includes(entry));
        return { entry, reason: (own.join(' ') || reason).slice(0, 1_000) };
      }),
    };
  }

  /** Operations with the rows that they are about. */
  #about(operations: Operation[]): Checked {
    const placed = new Set(operations.flatMap(({ entries }) => entries));
    const isPlaced = ({ id }: EntryRow) => placed.has(id);
    const { fresh, withdrawn } = this.#slice;
    const rows = { fresh: fresh.filter(isPlaced), withdrawn: withdrawn.filter(isPlaced) };
    return { operations, context: this.#context, ...rows };
  }

  /** Why operations could not be committed as things are; null: they could. */
  async #rehearse(operations: Operation[]): Promise<string | null> {
    try {
      await commitOperations(this.#about(operations), { ...this.#at, isRehearsal: true });
      return null;
    } catch (error) {
      if (!isAppError(error) || !['refused', 'bad-input', 'conflict'].includes(error.code)) throw error;
      return error.message;
    }
  }

  #put(sent: Slot[]): void {
    const isShared = (a: Slot, b: Slot) => a.entries.some((entry) => b.entries.includes(entry));
    const freed = [...this.#slots].filter(([, slot]) => sent.some((each) => isShared(each, slot)));
    for (const [number] of freed) this.#slots.delete(number);
    for (const slot of sent) {
      const own = freed.findIndex(([, before]) => isShared(slot, before));
      const [taken] = own < 0 ? [] : freed.splice(own, 1);
      this.#slots.set(taken?.[0] ?? this.#next++, slot);
    }
  }

  async #judge(): Promise<Verdict> {
    const numbers = [...this.#slots.keys()].sort((a, b) => a - b);
    const shaped = numbers.flatMap((number) => {
      const operation = this.#slots.get(number)?.operation;
      return operation ? [{ number, operation }] : [];
    });
    const problems = numbers.flatMap((number) =>
      (this.#slots.get(number)?.problems ?? []).map((problem) => `operations[${number}]: ${problem}`),
    );
    const unreadable = await this.#read(shaped.map(({ operation }) => operation));
    if (unreadable) problems.push(unreadable);
    const meant = await resolveMeaning(
      shaped.map(({ operation }) => operation),
      { context: this.#context, store: this.#at.store },
    );
    let kept = shaped.map(({ number }, at) => ({ number, operation: meant[at] as Operation }));
    const tell = ({ number, operation }: (typeof kept)[number], problem: string) =>
      problems.push(`operations[${number}] (${operation.kind}): ${problem}`);
    const faultsOf = (list: typeof kept) =>
      judgeOperations(
        list.map(({ operation }) => operation),
        this.#context,
        this.#at.store.limits,
      ).faults;
    // What rests on an operation that falls, falls with it.
    const fallen: { each: (typeof kept)[number]; faults: string[] }[] = [];
    for (let isWhole = false; !isWhole; ) {
      const faults = faultsOf(kept);
      isWhole = faults.every((found) => found.length === 0);
      fallen.push(...kept.flatMap((each, at) => (faults[at]?.length ? [{ each, faults: faults[at] }] : [])));
      kept = kept.filter((_, at) => faults[at]?.length === 0);
    }
    // And what only an operation that falls stood in the way of, stands.
    for (const { each, faults } of fallen) {
      const beside = [...kept, each].sort((a, b) => a.number - b.number);
      if (fallen.length > 1 && faultsOf(beside).every((found) => found.length === 0)) kept = beside;
      else for (const problem of faults) tell(each, problem);
    }
    const refusal = kept.length > 0 ? await this.#rehearse(kept.map(({ operation }) => operation)) : null;
    if (refusal !== null) kept = await this.#rehearsed(kept, tell);
    this.#standing = new Map(kept.map(({ number, operation }) => [number, operation]));
    const left = this.#left(kept.map(({ operation }) => operation));
    const sent = new Set([...this.#slots.values()].flatMap(({ entries }) => entries));
    const unplaced = left.filter((entry) => !sent.has(entry));
    if (unplaced.length > 0) problems.push(sayUnplaced(unplaced));
    const notes = kept.flatMap(({ number }) => {
      const note = this.#slots.get(number)?.note;
      return note ? [`operations[${number}]: ${note}`] : [];
    });
    return { problems, notes, standing: kept.map(({ number }) => number), left };
  }

  /** The operations that can be committed together, each tried together with those before it. */
  async #rehearsed<Each extends { operation: Operation }>(
    all: Each[],
    tell: (each: Each, problem: string) => void,
  ): Promise<Each[]> {
    const kept: Each[] = [];
    for (const each of all) {
      const refusal = await this.#rehearse([...kept, each].map(({ operation }) => operation));
      if (refusal === null) kept.push(each);
      else tell(each, refusal);
    }
    return kept;
  }

  /** Reads what the operations name and was not shown; answers what stands there and is no memory. */
  async #read(operations: Operation[]): Promise<string | null> {
    const { topics } = this.#context;
    const names = operations.flatMap((each) => ('topic' in each ? each.topic : []));
    const others = operations.flatMap((each) => (each.kind === 'rename' ? each.to : []));
    const replaced = operations.flatMap((each) => ('replaces' in each ? each.replaces : []));
    this.#context.lines ??= sizeOf(this.#at.store.ledger).lines;
    try {
      await readNamed(this.#at.store, [...names, ...others], topics);
    } catch (error) {
      // What stands there is no file of the memory: a link that leads out of it.
      if (isAppError(error, 'bad-input')) return error.message;
      throw error;
    }
    await readHolding(this.#at.store, replaced, topics);
    return null;
  }

  #left(operations: Operation[]): string[] {
    const placed = new Set(operations.flatMap(({ entries }) => entries));
    return [...this.#context.entries.keys()].filter((entry) => !placed.has(entry));
  }
}

function slotOf(given: unknown): Slot {
  const { raw, note } = withShortDescription(given);
  const read = operationSchema.safeParse(raw);
  if (read.success) return { entries: read.data.entries, operation: read.data, problems: [], ...(note && { note }) };
  const entries = typeof raw === 'object' && raw !== null && 'entries' in raw ? raw.entries : [];
  const ids = Array.isArray(entries) ? entries.filter((id): id is string => typeof id === 'string') : [];
  return { entries: ids, operation: null, problems: [z.prettifyError(read.error)] };
}

/** A description that is too long holds nothing back: it ends where a clause does, or a word. */
function withShortDescription(raw: unknown): { raw: unknown; note?: string } {
  if (typeof raw !== 'object' || raw === null || !('description' in raw)) return { raw };
  const { description } = raw;
  if (typeof description !== 'string' || description.trim().length <= DESCRIPTION_CHARACTERS) return { raw };
  const short = beginningOf(description.trim());
  const note = `its description had ${description.trim().length} characters and was shortened to ${JSON.stringify(short)}.`;
  return { raw: { ...raw, description: short }, note };
}

/** From here on a clause's end is a better one than a word's. */
const LEAST_CHARACTERS = DESCRIPTION_CHARACTERS / 2;

function beginningOf(text: string): string {
  const ends = (pattern: RegExp) =>
    [...text.matchAll(pattern)].map(({ index }) => index).filter((at) => at <= DESCRIPTION_CHARACTERS);
  const clause = ends(/[,;.:](?=\s)|\s[–—(]/gu).findLast((at) => at >= LEAST_CHARACTERS);
  const at = clause ?? ends(/\s/gu).at(-1) ?? DESCRIPTION_CHARACTERS;
  const isInCode = (text.slice(0, at).split('`').length - 1) % 2 === 1;
  const end = isInCode ? text.lastIndexOf('`', at - 1) : at;
  return text.slice(0, end || at).replace(/[\s,;:–—(-]+$|\p{Cs}$/gu, '');
}

/** The same JSON value with every text in it redacted, and with the tags of what it copies as they were said. */
async function cleaned(value: unknown): Promise<unknown> {
  if (typeof value === 'string') return (await redact(withTags(value))).text;
  if (Array.isArray(value)) return Promise.all(value.map(cleaned));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    await Promise.all(Object.entries(value).map(async ([key, item]) => [key, await cleaned(item)] as const)),
  );
}

/** The operations as they are meant, in the same order, one for each. */
export async function resolveMeaning(
  operations: Operation[],
  { context, store }: { context: Context; store: Store },
): Promise<Operation[]> {
  const meant: Operation[] = [];
  for (const operation of operations) {
    const held = operation.kind === 'hold' ? await seenOnce(operation, { context, store }) : operation;
    meant.push(corroborated(held, context));
  }
  const renamed = new Map(meant.flatMap((each) => (each.kind === 'rename' ? [[each.to, each.topic] as const] : [])));
  const begun = new Map<string, Pick<Writing, 'type' | 'description'>>();
  for (const each of meant) {
    if (!('lines' in each) || context.topics.has(each.topic)) continue;
    const { type = each.type, description = each.description } = begun.get(each.topic) ?? {};
    begun.set(each.topic, { type, description });
  }
  return meant.map((each) => {
    if (!('lines' in each)) return each;
    const lines = each.lines.map((line) => ({ ...line, text: withoutMark(line.text) || line.text }));
    const topic = context.topics.has(each.topic) ? each.topic : (renamed.get(each.topic) ?? each.topic);
    const { type, description } = begun.get(each.topic) ?? {};
    return {
      ...each,
      lines,
      topic,
      ...(type && !each.type && { type }),
      ...(description && !each.description && { description }),
    };
  });
}

/** Where habits go that nobody named a topic for. */
const HABITS: Record<MemoryType, { topic: string; description: string }> = {
  user: { topic: 'user-habits', description: 'What the user was seen to do or to like, before relying on it' },
  feedback: { topic: 'habits', description: 'Ways of working that were seen and not said: before choosing one' },
  project: { topic: 'project-habits', description: 'What was seen in the project and not said, before relying on it' },
  reference: { topic: 'reference-habits', description: 'Where things were seen to be found and nobody said so' },
};
const NEAR_LINES = 6;
const NEAR_WORDS = 2;

async function seenOnce(
  operation: Extract<Operation, { kind: 'hold' }>,
  place: { context: Context; store: Store },
): Promise<Operation> {
  const entries = entriesOf(place.context, operation.entries);
  const [first] = entries;
  // What was stated, or is withdrawn, is held by nobody: the checks say so.
  const isHabit = entries.length === operation.entries.length && entries.every(isImplied);
  if (!first || !isHabit) return operation;
  return lineSeenOnce(entries, { ...place, reason: operation.reason });
}

function isImplied({ strength, isWithdrawn }: KnownEntry): boolean {
  return strength === 'implied' && !isWithdrawn;
}

/** The operation that writes habits down, near what is like them; `entries` are of one kind. */
export async function lineSeenOnce(
  entries: KnownEntry[],
  { context, store, reason }: { context: Context; store: Store } & { reason: string },
): Promise<Operation> {
  const [first] = entries as [KnownEntry];
  const isSaid = first.by === 'human' || first.by === 'person';
  const type = isSaid || first.type === 'reference' ? first.type : 'project';
  const topic = await topicFor(first, { type, context, store });
  const ids = entries.map(({ id }) => id);
  const [same] = [...(topic.known?.lines ?? [])].filter(([, { text }]) => text === first.text);
  if (same && entries.length === 1) {
    const [line, known] = same;
    if (isOthers(known)) return { kind: 'drop', entries: ids, because: 'duplicate', of: line, reason };
    const lines = [{ text: first.text, entries: ids }];
    return { kind: 'merge', entries: ids, topic: topic.name, replaces: [line], lines, reason };
  }
  const begun = topic.known ? {} : { type, description: HABITS[type].description };
  const lines = entries.map(({ id, text }) => ({ text, entries: [id] }));
  return { kind: 'add', entries: ids, topic: topic.name, ...begun, lines, reason };
}

async function topicFor(
  entry: KnownEntry,
  { type, context, store }: { context: Context; store: Store } & { type: MemoryType },
): Promise<{ name: string; known?: DraftTopic }> {
  const found = new TopicSearch(store.ledger).find(entry.text, NEAR_LINES);
  const cards = new Map(topicCards(store.ledger).map((card) => [card.path, card]));
  const isFit = (topic: DraftTopic) =>
    topic.type === type && !topic.isPinned && topic.bytes * 2 < store.limits.memoryBytes;
  for (const { path, line } of found) {
    const card = cards.get(path);
    if (!card || card.isArchived || card.isPinned || card.type !== type) continue;
    const topic = await readTopicAt(store, path, context.topics);
    if (!topic || !isFit(topic)) continue;
    const { text = topic.description } = topic.lines.get(line) ?? {};
    if (countShared(entry.text, text) >= NEAR_WORDS) return { name: topic.name, known: topic };
  }
  for (let number = 1; ; number++) {
    const name = HABITS[type].topic + (number === 1 ? '' : `-${number}`);
    await readNamed(store, [name], context.topics);
    const known = context.topics.get(name);
    if (!known || isFit(known)) return { name, ...(known && { known }) };
  }
}

/** A drop that takes a corroboration for a mere repetition, as the merge that makes the line plain. */
function corroborated(operation: Operation, context: Context): Operation {
  if (operation.kind !== 'drop' || operation.because !== 'duplicate' || operation.of === undefined) return operation;
  const { of, entries: ids, reason, same } = operation;
  const topic = topicOfLine(of, context);
  const line = topic?.lines.get(of);
  const entries = entriesOf(context, ids);
  if (!topic || !line?.seenOnce || isOthers(line) || entries.some(({ isWithdrawn }) => isWithdrawn)) return operation;
  if (seenOnceIn(entries, line.sources)) return operation;
  const lines = [{ text: line.text, entries: ids }];
  return { kind: 'merge', entries: ids, topic: topic.name, replaces: [of], lines, reason, ...(same && { same }) };
}
