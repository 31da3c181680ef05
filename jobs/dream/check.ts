// A list of operations as a model builds it over its calls. What code lets through stands; what it does not is asked for
// again, and nothing else.
// Promises: an operation keeps its number as long as it is about the same entries; what is sent anew about an entry takes
// the place of what was sent before; what `standing` answers can be committed as it is.

import { z } from 'zod';
import { isAppError } from '../../src/base/errors.ts';
import { withTags } from '../../src/base/text/injection.ts';
import { redact } from '../../src/base/text/redact.ts';
import { judgeOperations, sayUnplaced } from '../../src/memory/dream/operation-checks.ts';
import {
  DESCRIPTION_CHARACTERS,
  type Operation,
  operationSchema,
  proposalListSchema,
} from '../../src/memory/dream/operations.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { sizeOf } from './commit-topics.ts';
import { readHolding, readNamed } from './draft.ts';
import { settleMeaning } from './meaning.ts';
import type { Context } from './select.ts';

/** Why operations cannot be committed as they are, which only the commit finds; null: nothing. */
export type Rehearse = (operations: Operation[]) => Promise<string | null>;

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
  readonly #context: Context;
  readonly #store: Store;
  readonly #rehearse: Rehearse;
  readonly #slots = new Map<number, Slot>();
  #next = 0;
  #settled = new Map<number, Operation>();

  constructor({ context, store, rehearse }: { context: Context; store: Store; rehearse: Rehearse }) {
    this.#context = context;
    this.#store = store;
    this.#rehearse = rehearse;
  }

  /** Takes what a call sends, and judges the whole list. */
  async take(input: unknown): Promise<Verdict> {
    const list = proposalListSchema.safeParse(await cleaned(input));
    if (!list.success)
      return { problems: [z.prettifyError(list.error)], notes: [], standing: [], left: this.#left([]) };
    this.#put(list.data.operations.map(slotOf));
    return this.#judge();
  }

  /** What stands of it now, as it is committed. */
  standing(): Operation[] {
    return [...this.#settled.values()];
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
    const meant = await settleMeaning(
      shaped.map(({ operation }) => operation),
      { context: this.#context, store: this.#store },
    );
    let kept = shaped.map(({ number }, at) => ({ number, operation: meant[at] as Operation }));
    const tell = ({ number, operation }: (typeof kept)[number], problem: string) =>
      problems.push(`operations[${number}] (${operation.kind}): ${problem}`);
    // What rests on an operation that falls, falls with it.
    for (let isWhole = false; !isWhole; ) {
      const { faults } = judgeOperations(
        kept.map(({ operation }) => operation),
        this.#context,
        this.#store.limits,
      );
      isWhole = faults.every((each) => each.length === 0);
      kept.forEach((each, at) => {
        for (const problem of faults[at] ?? []) tell(each, problem);
      });
      kept = kept.filter((_, at) => faults[at]?.length === 0);
    }
    const refusal = kept.length > 0 ? await this.#rehearse(kept.map(({ operation }) => operation)) : null;
    if (refusal !== null) kept = await this.#rehearsed(kept, tell);
    this.#settled = new Map(kept.map(({ number, operation }) => [number, operation]));
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

  /** The operations that can be committed together, each tried beside those before it. */
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
    this.#context.lines ??= sizeOf(this.#store.ledger).lines;
    try {
      await readNamed(this.#store, [...names, ...others], topics);
    } catch (error) {
      // What stands there is no file of the memory: a link that leads out of it.
      if (isAppError(error, 'bad-input')) return error.message;
      throw error;
    }
    await readHolding(this.#store, replaced, topics);
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
