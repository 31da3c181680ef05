// What code lets through of a dream's operations.
// Promises: every entry is in exactly one operation; nothing is replaced that is not there, is no dream's, is pinned, is
// newer, or speaks of something else; no night loses much of the memory. What a line may say is checked in
// operation-lines.ts, what is taken for one thing in operation-same.ts, what of an old line stays in operation-remains.ts.
// What is dropped is said by what is named in its place, as far as values and words tell; what is dropped at the model's
// word alone is little; only implied habits are held. Each fault belongs to one operation and is said in sentences for
// the model to mend; nothing is mended here.

import { denialIn, withoutWhen } from '../../rules/change-words.ts';
import { isValueIn, valuesIn } from '../../rules/literals.ts';
import { DEFAULT_LIMITS } from '../store/staging.ts';
import { isTopicName } from '../text/topic.ts';
import type { MemoryType } from '../types.ts';
import { checkLines, quoted } from './operation-lines.ts';
import { checkRemains } from './operation-remains.ts';
import { checkSame, refusalOfGivingWay, refusalOfRepeating, refusalOfSubject } from './operation-same.ts';
import {
  type Check,
  type DreamContext,
  entriesOf,
  isOthers,
  type KnownEntry,
  newestAt,
  type Operation,
  topicOfLine,
  topicsLosing,
} from './operations.ts';

/** Bytes around the text of a line, and of all that a new topic has before its lines: more than there will be. */
const LINE_BYTES = 4;
const HEADER_BYTES = 512;
/** Fewer lines than this may always go; of more, at most a quarter of the memory at once. */
const FREE_LOSS_LINES = 4;

interface Judgement {
  /** What is wrong with each operation, in the list's order. */
  faults: string[][];
  /** Entries that are in no operation. */
  missing: string[];
}

/** What is wrong with each of the operations; `memoryBytes` is what one topic's file may hold (default 102,400). */
export function judgeOperations(
  operations: Operation[],
  context: DreamContext,
  { memoryBytes }: { memoryBytes: number } = DEFAULT_LIMITS,
): Judgement {
  const faults = operations.map((): string[] => []);
  const sayOf = (at: number) => (problem: string) => faults[at]?.push(problem);
  const missing = checkAccounting(operations, context, sayOf);
  checkSizes(operations, context, { memoryBytes, sayOf });
  checkNewTopics(operations, context, sayOf);
  checkLoss(operations, context, sayOf);
  for (const at of unfitDrops(operations, context)) sayOf(at)(UNCHECKED);
  const replaced = new Set<string>();
  const added: Check['added'] = new Map();
  const gone: Check['gone'] = new Map();
  for (const operation of operations) {
    for (const line of 'replaces' in operation ? operation.replaces : []) {
      const names = topicsLosing(line, operation, context).map(({ name }) => name);
      gone.set(line, new Set([...(gone.get(line) ?? []), ...names]));
    }
  }
  operations.forEach((operation, at) => {
    const say = sayOf(at);
    const check: Check = { operations, context, added, gone, say };
    if ('replaces' in operation) {
      for (const line of operation.replaces) {
        const copies = topicsLosing(line, operation, context).map(({ name }) => `${name}\n${line}`);
        const problem = copies.some((copy) => replaced.has(copy))
          ? 'is replaced by another operation already'
          : refusalOfReplacing(line, operation, context);
        if (problem) say(`line ${line} ${problem}.`);
        for (const copy of copies) replaced.add(copy);
      }
      checkRemains(operation, check);
    }
    if (operation.kind === 'drop') checkDropped(operation, check);
    if ('lines' in operation) checkLines(operation, check);
    if ('lines' in operation) checkSame(operation, check);
    if (operation.kind === 'rename') checkRename(operation, check);
  });
  return { faults, missing };
}

/** All that is wrong with the operations, a sentence each; empty when they may be carried out. */
export function checkOperations(
  operations: Operation[],
  context: DreamContext,
  limits: { memoryBytes: number } = DEFAULT_LIMITS,
): string[] {
  const { faults, missing } = judgeOperations(operations, context, limits);
  const said = faults.flatMap((problems, at) =>
    problems.map((problem) => `operations[${at}] (${operations[at]?.kind}): ${problem}`),
  );
  return [...(missing.length > 0 ? [sayUnplaced(missing)] : []), ...said];
}

export function sayUnplaced(entries: string[]): string {
  return `These entries are in no operation: ${entries.join(', ')}.`;
}

type SayOf = (at: number) => (problem: string) => void;

function checkAccounting(operations: Operation[], { entries }: DreamContext, sayOf: SayOf): string[] {
  const owner = new Map<string, number>();
  operations.forEach((operation, at) => {
    const ids = [...new Set<string>(operation.entries)];
    const unknown = ids.filter((id) => !entries.has(id));
    if (unknown.length > 0) sayOf(at)(`there are no such entries: ${unknown.join(', ')}.`);
    for (const id of ids) {
      const other = owner.get(id);
      if (other === undefined) owner.set(id, at);
      else sayOf(at)(`${id} is in more than one operation: it is in operations[${other}], too.`);
    }
  });
  return [...entries.keys()].filter((id) => !owner.has(id));
}

/** A topic that would outgrow its file is told of here: the commit would refuse it every night anew. */
function checkSizes(
  operations: Operation[],
  context: DreamContext,
  { memoryBytes, sayOf }: { memoryBytes: number; sayOf: SayOf },
): void {
  const grown = new Map<string, number>();
  const grow = (topic: string, bytes: number) => grown.set(topic, (grown.get(topic) ?? 0) + bytes);
  for (const operation of operations) {
    for (const line of 'replaces' in operation ? operation.replaces : []) {
      for (const { name, lines } of topicsLosing(line, operation, context)) {
        grow(name, -Buffer.byteLength(lines.get(line)?.text ?? ''));
      }
    }
  }
  operations.forEach((operation, at) => {
    if (!('lines' in operation)) return;
    const { topic } = operation;
    for (const { text } of operation.lines) grow(topic, Buffer.byteLength(text) + LINE_BYTES);
    const more = grown.get(topic) ?? 0;
    const bytes = (context.topics.get(topic)?.bytes ?? HEADER_BYTES) + more;
    if (more <= 0 || bytes <= memoryBytes) return;
    sayOf(at)(
      `the topic ${topic} would have ${bytes} bytes, and a topic may have ${memoryBytes}: put lines into another topic.`,
    );
  });
}

/** Operations that begin a topic agree on its type, name it as we do, and no file has that name but for the case. */
function checkNewTopics(operations: Operation[], { topics }: DreamContext, sayOf: SayOf): void {
  const types = new Map<string, MemoryType>();
  operations.forEach((operation, at) => {
    if (!('lines' in operation) || topics.has(operation.topic) || !operation.type) return;
    const { topic: name, type } = operation;
    const there = [...topics.keys()].find((known) => known.toLowerCase() === name.toLowerCase());
    if (there)
      sayOf(at)(`there is a file ${there}.md already, so that ${name}.md cannot be: use that name or another.`);
    else if (!isTopicName(name))
      sayOf(at)(`there is no topic ${name}, and a new one has a short kebab-case name, such as release-process.`);
    const given = types.get(name) ?? type;
    types.set(name, given);
    if (given !== type) sayOf(at)(`the new topic ${name} is given several types: ${given}, ${type}.`);
  });
}

/** Operations past which too much of the memory would be gone; what a person took out of the logs counts for nothing. */
function checkLoss(operations: Operation[], context: DreamContext, sayOf: SayOf): void {
  const { lines: before = Number.POSITIVE_INFINITY } = context;
  let lost = 0;
  operations.forEach((operation, at) => {
    const isByPerson =
      operation.kind === 'retire' && operation.entries.every((id) => context.entries.get(id)?.isWithdrawn === true);
    if (!('replaces' in operation) || isByPerson) return;
    const out = operation.replaces.reduce((sum, line) => sum + topicsLosing(line, operation, context).length, 0);
    const loss = out - ('lines' in operation ? operation.lines.length : 0);
    lost += Math.max(0, loss);
    if (loss <= 0 || lost < FREE_LOSS_LINES || lost * 4 <= before) return;
    sayOf(at)(
      `with it ${lost} of ${before} lines would go, more than a quarter: leave what still holds; the rest can go another night.`,
    );
    lost -= loss;
  });
}

function refusalOfReplacing(
  line: string,
  operation: Extract<Operation, { replaces: string[] }>,
  context: DreamContext,
): string | null {
  const topic = topicOfLine(line, context, 'topic' in operation ? operation.topic : undefined);
  const known = topic?.lines.get(line);
  if (!topic || !known) return 'is in no topic';
  const text = quoted(known.text);
  if (topic.isPinned) return `is in ${topic.name}, which is pinned`;
  if (isOthers(known)) {
    const writer = known.isPersons ? 'person' : 'program';
    return `(${text}) was written by a ${writer} and stays: add a line that names the difference`;
  }
  if (operation.kind === 'merge') return null;
  const entries = entriesOf(context, operation.entries);
  const sources = topicsLosing(line, operation, context).flatMap(({ lines }) => lines.get(line)?.sources ?? []);
  if (entries.some((entry) => entry.isWithdrawn && sources.some(({ id }) => id === entry.id))) {
    if (operation.kind === 'retire') return null;
  }
  const cited = 'lines' in operation ? new Set(operation.lines.flatMap((each) => each.entries)) : null;
  const standing = entries.filter((entry) => !entry.isWithdrawn && (cited === null || cited.has(entry.id)));
  const withdrawn = new Set([...context.entries.values()].filter((entry) => entry.isWithdrawn).map(({ id }) => id));
  const newest = newestAt(sources.filter(({ id }) => !withdrawn.has(id)));
  if (newestAt(standing) < newest) {
    return `(${text}) rests on what was said at ${newest}, which is newer than these entries: drop them as gave-way, of ${line}`;
  }
  return refusalOfSubject(known, standing, operation.same);
}

function checkRename(
  { topic: name, to }: Extract<Operation, { kind: 'rename' }>,
  { operations, context, say }: Check,
): void {
  const topic = context.topics.get(name);
  if (!topic) {
    say(`there is no topic ${name} to be renamed.`);
    return;
  }
  if (topic.isPinned) say(`the topic ${name} is pinned and keeps its name.`);
  if (topic.path.includes('/')) say(`the topic ${name} is not at the top of the memory and keeps its name.`);
  const others = [...topic.lines.values()].find(isOthers);
  if (others) {
    say(`a ${others.isPersons ? 'person' : 'program'} wrote in ${name}, so it keeps its name.`);
  }
  const isTaken = [...context.topics.keys()].some((known) => known.toLowerCase() === to.toLowerCase());
  if (isTaken) say(`there is a topic ${to} already: put lines into it instead.`);
  const same = operations.filter((each) => each.kind === 'rename' && (each.topic === name || each.to === to));
  if (same.length > 1) say(`${name} is renamed twice, or ${to} is the new name of two topics.`);
}

type Drop = Extract<Operation, { kind: 'drop' }>;

/** So many entries of a night may be dropped at the model's word; of more, at most half. */
const FREE_DROPS = 4;
const AT_ITS_WORD = new Set<string>(['ephemeral', 'in-repository', 'unsupported']);

const UNCHECKED = 'with it too many entries are dropped for reasons that nobody can check: keep what may be of use.';

/** Of a night of which much is dropped for reasons that nobody can check, the operations that do it. */
function unfitDrops(operations: Operation[], { entries }: DreamContext): number[] {
  const standing = [...entries.values()].filter((entry) => !entry.isWithdrawn).length;
  let dropped = 0;
  return operations.flatMap((operation, at) => {
    if (operation.kind !== 'drop' || !(operation.same || AT_ITS_WORD.has(operation.because))) return [];
    const own = operation.entries.filter((id) => entries.get(id)?.isWithdrawn === false).length;
    if (dropped + own <= FREE_DROPS || (dropped + own) * 2 <= standing) {
      dropped += own;
      return [];
    }
    return [at];
  });
}

function checkDropped(drop: Drop, check: Check): void {
  const { context, say } = check;
  const entries = entriesOf(context, drop.entries);
  const misplaced = entries.filter((entry) => entry.isWithdrawn !== (drop.because === 'withdrawn'));
  if (misplaced.length > 0) {
    const ids = misplaced.map(({ id }) => id).join(', ');
    say(drop.because === 'withdrawn' ? `${ids} is not withdrawn.` : `${ids} is withdrawn: say so as the reason.`);
  }
  if (drop.because === 'duplicate' || drop.because === 'gave-way') {
    for (const entry of entries) {
      const problem = drop.of === undefined ? 'say of what' : refusalOf(entry, { drop, of: drop.of, check });
      if (problem) say(`${entry.id} as ${drop.because}: ${problem}.`);
    }
  } else if (drop.of !== undefined) say(`"of" belongs to a duplicate, or to what gave way.`);
}

function refusalOf(entry: KnownEntry, { drop, of, check }: { drop: Drop; of: string; check: Check }): string | null {
  const { operations, context, gone } = check;
  const other = context.entries.get(of);
  const line = topicOfLine(of, context)?.lines.get(of);
  const givesWay = (newer: { at: string; text: string }) =>
    newer.at < entry.at ? 'what it would give way to is older' : refusalOfGivingWay(entry.text, newer.text, drop.same);
  if (other) {
    const citing = operations.flatMap((operation) => ('lines' in operation ? operation.lines : []));
    const said = citing.filter((each) => each.entries.includes(of)).map(({ text }) => text);
    // What stands for it may itself be said by a line that is there.
    const isKept = operations.some(
      (operation) =>
        operation.entries.includes(of) &&
        (operation.kind === 'retire' || (operation.kind === 'drop' && operation.because === 'duplicate')),
    );
    const isUsed = said.length > 0 || (drop.because === 'gave-way' && isKept);
    if (of === entry.id || other.isWithdrawn || !isUsed) return `${of} is in no line`;
    if (drop.because === 'gave-way') return givesWay({ at: other.at, text: [other.text, ...other.quotes].join('\n') });
    return refusalOfDuplicate(entry, said.join('\n'), drop.same);
  }
  if (!line) return `${of} is neither a line nor an entry of tonight`;
  if (gone.has(of)) return `line ${of} is taken out: name what comes in its place`;
  if (drop.because === 'duplicate') return refusalOfDuplicate(entry, line.text, drop.same);
  if (isOthers(line)) {
    return `a ${line.isPersons ? 'person' : 'program'}’s line has no time: if it says the same, it is a duplicate`;
  }
  return givesWay({ at: newestAt(line.sources ?? []), text: line.text });
}

function refusalOfDuplicate(entry: KnownEntry, text: string, same: boolean | undefined): string | null {
  const lost = valuesIn(withoutWhen(entry.text, [entry.at.slice(0, 10)])).filter((value) => !isValueIn(value, text));
  if (lost.length > 0)
    return `${lost.map(quoted).join(', ')} is not said there: ${quoted(text)}. Merge it into the line`;
  const [mine, theirs] = [denialIn(entry.text), denialIn(text)];
  if ((mine === null) !== (theirs === null)) {
    return `by ${quoted(mine ?? theirs ?? '')} the one denies what the other says: ${quoted(text)}. Supersede the line`;
  }
  return refusalOfRepeating(entry.text, text, same);
}
