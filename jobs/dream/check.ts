// A list of operations as a model builds it over its calls. What code lets through stands; what it does not is asked for
// again, and nothing else: of an `add` the lines that are refused.
// Promises: an operation keeps its number as long as it is about the same entries; what is sent anew about an entry takes
// the place of what was sent before; what `checked` answers can be committed as it is.

import { z } from 'zod';
import { isAppError } from '../../src/base/errors.ts';
import { redact } from '../../src/base/text/redact.ts';
import { judgeOperations, sayUnplaced } from '../../src/memory/dream/operation-checks.ts';
import {
  DESCRIPTION_CHARACTERS,
  type Operation,
  operationSchema,
  proposalListSchema,
} from '../../src/memory/dream/operations.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import { withTags } from '../../src/rules/injection.ts';
import { type Checked, type CommitAt, commitOperations, sizeOf } from './commit.ts';
import { readHolding, readNamed } from './draft.ts';
import { resolveMeaning } from './meaning.ts';
import type { Context, Selected, Slice } from './select.ts';

interface Slot {
  /** The entries that it is about, as far as it has a shape. */
  entries: string[];
  operation: Operation | null;
  /** What is wrong with its shape, or what stands in its way when it is committed. */
  problems: string[];
  /** What was mended of it, of which nothing is to be sent again. */
  note?: string;
  /** The number under which it was sent, with lines that do not stand. */
  partOf?: number;
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
  readonly #refused: string[] = [];
  readonly #slots = new Map<number, Slot>();
  #next = 0;
  #last: Verdict | undefined;
  #standing = new Map<number, Operation>();

  constructor({ slice, context }: Pick<Selected, 'slice' | 'context'>, at: CommitAt) {
    this.#slice = slice;
    this.#context = context;
    this.#at = at;
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
    const meant = resolveMeaning(
      shaped.map(({ operation }) => operation),
      this.#context,
    );
    let kept = shaped.map(({ number }, at) => ({ number, operation: meant[at] as Operation }));
    const tell = ({ number, operation }: (typeof kept)[number], problem: string) =>
      problems.push(`operations[${this.#sentAs(number)}] (${operation.kind}): ${problem}`);
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
      else {
        const parted = this.#part(each, (part) => faultsOf([...kept, part]));
        kept = [...kept, ...parted.standing].sort((a, b) => a.number - b.number);
        for (const problem of parted.faults?.length ? parted.faults : faults) tell(each, problem);
      }
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
      return note ? [`operations[${this.#sentAs(number)}]: ${note}`] : [];
    });
    const standing = kept.flatMap(({ number }) => (this.#sentAs(number) === number ? number : []));
    return { problems, notes, standing, left };
  }

  /** The number by which the model knows an operation, or the one that it is a part of. */
  #sentAs(number: number): number {
    return this.#slots.get(number)?.partOf ?? number;
  }

  /**
   * Of an `add` that falls, the lines that stand without the others, as an operation of their own; the others keep the
   * number. `faults`: what is wrong with those alone, where some stand.
   */
  #part(
    each: { number: number; operation: Operation },
    faultsBeside: (part: typeof each) => string[][],
  ): { standing: (typeof each)[]; faults?: string[] } {
    const slot = this.#slots.get(each.number);
    if (each.operation.kind !== 'add' || slot?.operation?.kind !== 'add') return { standing: [] };
    const [meant, sent] = [each.operation, slot.operation];
    const parts = separable(meant);
    const isFit = (part: number[]) =>
      faultsBeside({ ...each, operation: withLines(meant, part) }).every((found) => found.length === 0);
    const fit = parts.length > 1 ? parts.filter(isFit).flat() : [];
    const unfit = meant.lines.flatMap((_, at) => (fit.includes(at) ? [] : at));
    if (fit.length === 0 || unfit.length === 0) return { standing: [] };
    const standing = { number: this.#next, operation: withLines(meant, fit) };
    if (faultsBeside(standing).some((found) => found.length > 0)) return { standing: [] };
    const said = standing.operation.lines.map(({ text }) => JSON.stringify(text)).join(', ');
    const note = `of its lines these stand, and are not to be sent again: ${said}.`;
    const { entries } = standing.operation;
    this.#slots.set(this.#next++, {
      entries,
      operation: withLines(sent, fit),
      problems: [],
      note,
      partOf: this.#sentAs(each.number),
    });
    const rest = { ...each, operation: withLines(meant, unfit) };
    Object.assign(slot, { entries: rest.operation.entries, operation: withLines(sent, unfit) });
    return { standing: [standing], faults: faultsBeside(rest).at(-1) };
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

type Add = Extract<Operation, { kind: 'add' }>;

/** The lines of an `add`, by place, those together that share entries; all together where an entry is cited by none. */
function separable({ entries, lines }: Add): number[][] {
  const isCited = (id: string) => lines.some((line) => line.entries.includes(id));
  if (!entries.every(isCited)) return [[...lines.keys()]];
  let parts: { at: number[]; ids: Set<string> }[] = [];
  for (const [at, line] of lines.entries()) {
    const [joined, apart] = [true, false].map((is) =>
      parts.filter(({ ids }) => line.entries.some((id) => ids.has(id)) === is),
    ) as [typeof parts, typeof parts];
    const ids = new Set([...joined.flatMap((part) => [...part.ids]), ...line.entries]);
    parts = [...apart, { at: [...joined.flatMap((part) => part.at), at], ids }];
  }
  return parts.map((part) => part.at);
}

/** The operation with some of its lines, by place, and the entries that they cite. */
function withLines(add: Add, at: number[]): Add {
  const lines = add.lines.filter((_, place) => at.includes(place));
  return { ...add, lines, entries: [...new Set(lines.flatMap((line) => line.entries))] };
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
