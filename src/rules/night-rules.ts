// What code lets through of the operations of one night together: each entry in one of them, topics that fit into their
// files and are begun in one way, and little that goes, of lines and of entries that are dropped at the model's word.

import {
  type DreamContext,
  type Drop,
  entryIds,
  isWithdrawal,
  type KnownEntry,
  knownEntries,
  linesIn,
  linesOut,
  type Operation,
  type Put,
  type TopicType,
  topicOfLine,
} from './dream-context.ts';
import { shareIn, topicsLosing } from './line-support.ts';
import { sharesTopic } from './words.ts';

/** Bytes around the text of a line, and of all that a new topic has before its lines: more than there will be. */
const LINE_BYTES = 4;
const HEADER_BYTES = 512;
/** Fewer lines than this may always go; of more, at most a quarter of the memory at once. */
const FREE_LOSS_LINES = 4;
/** So many entries of a night may be dropped at the model's word; of more, at most half. */
const FREE_DROPS = 4;
/** Of an entry that is dropped so much stands in what stands for it, or it goes at the model's word. */
const SAID_THERE = 1 / 2;

export interface Limits {
  /** What the file of one topic may hold. */
  memoryBytes: number;
  isTopicName(name: string): boolean;
}

type SayOf = (at: number) => (problem: string) => void;

interface Together {
  context: DreamContext;
  limits: Limits;
  sayOf: SayOf;
}

export function checkTogether(operations: Operation[], { context, limits, sayOf }: Together): void {
  checkOwners(operations, context, sayOf);
  checkSizes(operations, context, { limits, sayOf });
  checkNewTopics(operations, context, { limits, sayOf });
  checkLoss(operations, context, sayOf);
  checkDrops(operations, context, sayOf);
}

function checkOwners(operations: Operation[], { entries }: DreamContext, sayOf: SayOf): void {
  const owner = new Map<string, number>();
  operations.forEach((operation, at) => {
    for (const id of entryIds(operation)) {
      if (!entries.has(id)) sayOf(at)(`there is no such entry: ${id}.`);
      const other = owner.get(id);
      if (other === undefined) owner.set(id, at);
      else sayOf(at)(`${id} is in more than one operation: it is in operations[${other}], too.`);
    }
  });
}

/** A topic that would outgrow its file: the commit would refuse it every night. */
function checkSizes(
  operations: Operation[],
  context: DreamContext,
  { limits: { memoryBytes }, sayOf }: { limits: Limits; sayOf: SayOf },
): void {
  const grown = new Map<string, number>();
  const grow = (topic: string, bytes: number) => grown.set(topic, (grown.get(topic) ?? 0) + bytes);
  for (const operation of operations) {
    for (const line of linesOut(operation)) {
      for (const { name, lines } of topicsLosing(line, operation as Put, context)) {
        grow(name, -Buffer.byteLength(lines.get(line)?.text ?? ''));
      }
    }
  }
  operations.forEach((operation, at) => {
    if (operation.kind !== 'put' || operation.topic === undefined) return;
    const { topic } = operation;
    for (const { text } of linesIn(operation)) grow(topic, Buffer.byteLength(text) + LINE_BYTES);
    const more = grown.get(topic) ?? 0;
    const bytes = (context.topics.get(topic)?.bytes ?? HEADER_BYTES) + more;
    if (more <= 0 || bytes <= memoryBytes) return;
    sayOf(at)(
      `the topic ${topic} would have ${bytes} bytes, and a topic may have ${memoryBytes}: put lines into another topic.`,
    );
  });
}

/** Operations that begin a topic agree on its type, name it as we do, and no file has that name but for the case. */
function checkNewTopics(
  operations: Operation[],
  { topics }: DreamContext,
  { limits: { isTopicName }, sayOf }: { limits: Limits; sayOf: SayOf },
): void {
  const types = new Map<string, TopicType>();
  operations.forEach((operation, at) => {
    if (operation.kind !== 'put' || linesIn(operation).length === 0) return;
    const { topic: name, type, description } = operation;
    if (name === undefined) sayOf(at)('name the topic that the lines go into.');
    if (name === undefined || topics.has(name)) return;
    if (!type || !description) sayOf(at)(`the topic ${name} does not exist yet: give its description and type.`);
    const there = [...topics.keys()].find((known) => known.toLowerCase() === name.toLowerCase());
    if (there)
      sayOf(at)(`there is a file ${there}.md already, so that ${name}.md cannot be: use that name or another.`);
    else if (!isTopicName(name))
      sayOf(at)(`there is no topic ${name}, and a new one has a short kebab-case name, such as release-process.`);
    const given = types.get(name) ?? type;
    if (given) types.set(name, given);
    if (given !== type) sayOf(at)(`the new topic ${name} is given several types: ${given}, ${type}.`);
  });
}

/** Operations past which too much of the memory would be gone; what a person took out of the logs counts for nothing. */
function checkLoss(operations: Operation[], context: DreamContext, sayOf: SayOf): void {
  const { lines: before = Number.POSITIVE_INFINITY } = context;
  let lost = 0;
  operations.forEach((operation, at) => {
    if (operation.kind !== 'put' || isWithdrawal(operation, context)) return;
    const out = linesOut(operation).reduce((sum, line) => sum + topicsLosing(line, operation, context).length, 0);
    const loss = Math.max(0, out - linesIn(operation).length);
    lost += loss;
    if (loss === 0 || lost < FREE_LOSS_LINES || lost * 4 <= before) return;
    sayOf(at)(
      `with it ${lost} of ${before} lines would go, more than a quarter: leave what still holds; the rest can go another night.`,
    );
    lost -= loss;
  });
}

/** Of a night of which much is dropped for reasons that code cannot check, the operations that do it. */
function checkDrops(operations: Operation[], context: DreamContext, sayOf: SayOf): void {
  const standing = [...context.entries.values()].filter((entry) => !entry.isWithdrawn).length;
  let dropped = 0;
  operations.forEach((operation, at) => {
    if (operation.kind !== 'drop') return;
    const own = knownEntries(context, operation.entries).filter((entry) => isAtItsWord(operation, entry, context));
    if (dropped + own.length <= FREE_DROPS || (dropped + own.length) * 2 <= standing) dropped += own.length;
    else sayOf(at)('with it too many entries are dropped for reasons that code cannot check: keep what may be of use.');
  });
}

/** What an implied entry's quotes do not show, and what stands elsewhere in its words, goes without a limit. */
function isAtItsWord({ because, of = '' }: Drop, entry: KnownEntry, context: DreamContext): boolean {
  if (entry.isWithdrawn || (because === 'unsupported' && entry.strength === 'implied')) return false;
  const other = context.entries.get(of)?.text ?? topicOfLine(of, context)?.lines.get(of)?.text;
  if (because === 'duplicate' && other !== undefined) return shareIn(entry.text, other) < SAID_THERE;
  if (because === 'gave-way' && other !== undefined) return !sharesTopic(entry.text, other);
  return true;
}
