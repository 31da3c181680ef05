// A list of operations as a model builds it over its calls. What code lets through stands; what it does not is asked for
// again, and nothing else. It knows no memory: who asks hands in what operations are checked against, and how what they name is read.
// Promises: what is sent again about an entry takes the place of what was sent before; what `standing` answers can be
// committed as it is.

import { z } from 'zod';
import { redact } from '../../base/secrets/redact-text.ts';
import { withTags } from '../../rules/as-read.ts';
import { saidDescription } from '../../rules/description-rules.ts';
import {
  areOfOneChange,
  certaintyOf,
  type DreamContext,
  entryIds,
  isAskedFor,
  isOthers,
  type KnownEntry,
  knownEntries,
  linesIn,
  linesOut,
  type NewLine,
  type Operation,
  type Put,
  renamesOf,
  topicOfLine,
  wholeOf,
  withAgain,
  withoutOccasions,
} from '../../rules/dream-context.ts';
import { cutDescription } from './index-file.ts';
import { faultsOf, operationSchema, proposalListSchema, sayUnplaced } from './operations.ts';
import { withoutMark } from './topic.ts';

/** What operations are checked against. */
interface CheckedAgainst {
  context: DreamContext;
  limits: { memoryBytes: number };
  /** Reads what an operation names and was not shown into the context. */
  read(operation: Operation): Promise<void>;
}

/** One of the operations of a call. */
interface Sent {
  /** Its place in the call; undefined for what stands since an earlier one. */
  number?: number;
  /** The entries that it is about, as far as it has a shape. */
  entries: string[];
  operation: Operation | null;
  /** What is wrong with its shape. */
  problems: string[];
}

export interface Verdict {
  /** What is wrong, a sentence each, with the operation's number. */
  problems: string[];
  /** Numbers of the operations of the last call that stand. */
  standing: number[];
  /** Entries that no standing operation is about. */
  left: string[];
  /** Whether what is left is little enough to wait for another night: asking again sends all that was shown a second time. */
  canWait: boolean;
}

/** So much of a night's entries may wait, where they only bring lines that nobody asked for. */
const LITTLE = 1 / 4;

/** Of what is wrong with a proposal, a model is told so much at once. */
export const MOST_PROBLEMS = 40;

/** What the model is told: nothing more where all stands, else what is to be sent again. */
export function replyTo({ problems, standing, left, canWait }: Verdict) {
  if (problems.length === 0 || canWait)
    return { text: 'Accepted. Nothing more is to be done.', isError: false, endsRun: true };
  const said = problems.slice(0, MOST_PROBLEMS);
  const stands = `These stand, and are not to be sent again: operations ${standing.join(', ')}.`;
  const again =
    left.length > 0 ? `Send only operations for what is left: ${left.join(', ')}.` : 'Send what is wrong again.';
  return {
    text: [...(standing.length > 0 ? [stands] : []), ...said, again].join('\n'),
    isError: standing.length === 0,
  };
}

/** An entry that is left for another night. */
export type Left = { entry: string; reason: string; check?: string };

const DISALLOWED = 'what the model wanted to do with it was not allowed';
const UNANSWERED = 'the model proposed nothing for it';

export class ProposedOperations {
  readonly #against: CheckedAgainst;
  readonly #refused: string[] = [];
  /** By entry, what was wrong with what was sent last about it. */
  readonly #why = new Map<string, string>();
  #standing: Operation[] = [];

  constructor(against: CheckedAgainst) {
    this.#against = against;
  }

  /** Takes what a call sends, and judges it beside what stands. */
  async take(input: unknown): Promise<Verdict> {
    const list = proposalListSchema.safeParse(await cleaned(input));
    const verdict = list.success
      ? await this.#judge(list.data.operations.map(readSent))
      : { problems: [z.prettifyError(list.error)], standing: [], left: this.#left(), canWait: false };
    this.#refused.push(...verdict.problems);
    return verdict;
  }

  /** What stands now, as it is committed. */
  get standing(): Operation[] {
    return this.#standing;
  }

  /** What code refused so far, a sentence each. */
  get refused(): string[] {
    return this.#refused;
  }

  /** The entries that no operation which stands is about, each with why, for a person; `check`: the same for the model. */
  get left(): Left[] {
    const refused = this.#refused.slice(0, 3).join(' ');
    return this.#left().map((entry) => {
      const check = (this.#why.get(entry) ?? refused).slice(0, 1_000);
      return check === '' ? { entry, reason: UNANSWERED } : { entry, reason: DISALLOWED, check };
    });
  }

  async #judge(sent: Sent[]): Promise<Verdict> {
    const isResent = (operation: Operation) => {
      const ids = new Set(entryIds(operation));
      const about = sent.filter(({ entries }) => entries.some((id) => ids.has(id)));
      return about.some((each) => !each.operation || !areOfOneChange(operation, each.operation));
    };
    const earlier = this.#standing.filter((operation) => !isResent(operation));
    for (const { operation } of sent) if (operation) await this.#against.read(operation);
    const shaped = [
      ...earlier.map((operation): Sent => ({ entries: entryIds(operation), operation, problems: [] })),
      ...sent.filter(({ operation }) => operation),
    ];
    const meant = asMeant(
      shaped.map(({ operation }) => operation as Operation),
      this.#against.context,
    );
    const all = shaped.map((each, at) => ({ ...each, operation: meant[at] as Operation }));
    const faultsIn = (some: typeof all) => {
      const operations = some.map(({ operation }) => operation);
      return faultsOf(operations, this.#against.context, this.#against.limits);
    };
    // What rests on an operation that falls, falls with it.
    let kept = all.filter(({ problems }) => problems.length === 0);
    const fallen: typeof all = [];
    for (let isWhole = false; !isWhole; ) {
      const faults = faultsIn(kept);
      isWhole = faults.every((found) => found.length === 0);
      for (const [at, each] of kept.entries()) if (faults[at]?.length) fallen.push({ ...each, problems: faults[at] });
      kept = kept.filter((_, at) => faults[at]?.length === 0);
    }
    // And what only an operation that falls stood in the way of, stands.
    const wrong: Sent[] = sent.filter(({ problems }) => problems.length > 0);
    for (const each of fallen) {
      const beside = all.filter((other) => other.operation === each.operation || kept.includes(other));
      if (fallen.length > 1 && faultsIn(beside).every((found) => found.length === 0)) kept = beside;
      else wrong.push(each);
    }
    this.#standing = kept.map(({ operation }) => operation);
    return this.#verdict(kept, wrong);
  }

  #verdict(kept: Sent[], wrong: Sent[]): Verdict {
    const left = this.#left();
    const nameOf = ({ number, operation }: Sent) =>
      number === undefined
        ? `what stood of ${entryIds(operation as Operation).join(', ')}`
        : `operations[${number}]${operation ? ` (${operation.kind})` : ''}`;
    const said = wrong.toSorted((a, b) => (a.number ?? -1) - (b.number ?? -1));
    // What is wrong with several in the same words is told once.
    const alike = Map.groupBy(
      said.flatMap((each) => each.problems.map((what) => ({ what, name: nameOf(each) }))),
      ({ what }) => what,
    );
    const problems = [...alike].map(([what, of]) => `${of.map(({ name }) => name).join(', ')}: ${what}`);
    for (const each of wrong) {
      const why = each.problems.map((what) => `${nameOf(each)}: ${what}`).join(' ');
      for (const id of each.entries) this.#why.set(id, why);
    }
    const sent = new Set(wrong.flatMap(({ entries }) => entries));
    const unplaced = left.filter((entry) => !sent.has(entry));
    if (unplaced.length > 0) problems.push(sayUnplaced(unplaced));
    const { entries } = this.#against.context;
    const isNeeded = left.some((id) => isAskedFor(entries.get(id) as KnownEntry));
    const isNew = ({ operation }: Sent) => operation?.kind === 'put' && linesOut(operation).length === 0;
    const canWait = kept.length > 0 && !isNeeded && wrong.every(isNew) && left.length <= entries.size * LITTLE;
    return { problems, standing: kept.flatMap(({ number = [] }) => number), left, canWait };
  }

  #left(): string[] {
    const placed = new Set(this.#standing.flatMap(entryIds));
    return [...this.#against.context.entries.keys()].filter((entry) => !placed.has(entry));
  }
}

/**
 * The operations as they are meant: lines carry no mark of what was seen once, which code sets; what one says
 * of a new topic holds for all that write into it, but for what no line says; a new name means the topic; a duplicate that
 * makes a line certain is put into it; a line that cites nothing, and is no part of one that goes, rests on the put's entries.
 */
function asMeant(operations: Operation[], context: DreamContext): Operation[] {
  const meant = operations.map((operation) => corroborated(operation, context));
  const renamed = new Map(meant.flatMap((each) => (each.kind === 'rename' ? [[each.to, each.topic] as const] : [])));
  const begun = new Map<string, Pick<Put, 'type' | 'description'>>();
  for (const each of meant) {
    if (each.kind !== 'put' || !each.topic || context.topics.has(each.topic)) continue;
    const { type = each.type, description = each.description } = begun.get(each.topic) ?? {};
    begun.set(each.topic, { type, description });
  }
  return meant.map((each) => {
    if (each.kind !== 'put') return each;
    const name = each.topic ?? '';
    const topic = context.topics.has(name) ? name : (renamed.get(name) ?? each.topic);
    const cited = entryIds(each).filter((id) => context.entries.has(id));
    const taken = linesOut(each).flatMap((id) => topicOfLine(id, context, topic)?.lines.get(id) ?? []);
    const renames = renamesOf(each, context);
    const lines = linesIn(each).map(({ text: given, entries }): NewLine => {
      const text = withoutMark(given) || given;
      // What only has another name in it rests on what it rested on.
      const isWhole = (renames.length > 0 || entries.length === 0) && wholeOf({ text, entries: [] }, taken, renames);
      if (isWhole) return { text, entries: [] };
      const own = entries.length > 0 ? entries : cited;
      return { text: withoutOccasions(text, { cited: knownEntries(context, own), carried: taken }), entries: own };
    });
    const put = { ...begun.get(name), ...each, topic, in: lines };
    const left = cited.filter((id) => !entryIds(put).includes(id));
    if (left.length > 0) put.entries = [...(each.entries ?? []), ...left];
    return put.description ? { ...put, description: cutDescription(saidDescription(put, meant, context)) } : put;
  });
}

/** A drop that takes a corroboration for a mere repetition, as what makes the line plain. */
function corroborated(operation: Operation, context: DreamContext): Operation {
  if (operation.kind !== 'drop' || operation.because !== 'duplicate' || operation.of === undefined) return operation;
  const { of, entries: ids, reason } = operation;
  const topic = topicOfLine(of, context);
  const line = topic?.lines.get(of);
  const cited = knownEntries(context, ids).map((entry) => (line ? withAgain(entry, new Map([[of, line]])) : entry));
  if (!topic || !line?.seenOnce || isOthers(line)) return operation;
  if (certaintyOf(line.text, { cited, carried: [line] }).unsure.length > 0) return operation;
  return { kind: 'put', topic: topic.name, out: [of], in: [{ text: line.text, entries: ids }], reason };
}

function readSent(given: unknown, number: number): Sent {
  const read = operationSchema.safeParse(given);
  if (read.success) return { number, entries: entryIds(read.data), operation: read.data, problems: [] };
  const ids: string[] = [];
  JSON.stringify(given, (key, value) => {
    if (key === 'entries' && Array.isArray(value)) ids.push(...value.filter((id) => typeof id === 'string'));
    return value;
  });
  return { number, entries: ids, operation: null, problems: [z.prettifyError(read.error)] };
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
