// What code lets through of a dream's operations: faults by operation, in sentences for the model to mend. Promises: every entry is in one
// operation, or in one for each topic in which it changes lines; nothing goes that is a person's, a program's, pinned, or rests on
// something newer; the values of what comes stand in what it rests on, those of what goes in what comes or in `over`; what nobody said is
// no line, and what only a tool or an agent said is no rule; little is dropped at the model's word, and no night loses much of the memory.
// What only meaning tells it does not judge: words in another order, two things in one.

import { hasWrapperTag } from './as-read.ts';
import { descriptionFaults } from './description-rules.ts';
import {
  apartIn,
  areOfOneChange,
  carrierOf,
  certaintyOf,
  type DreamContext,
  type Drop,
  entryIds,
  isAskedFor,
  isOfCarried,
  isOfOne,
  isOthers,
  isSameHabit,
  type KnownEntry,
  type KnownLine,
  keepsAllOf,
  knownEntries,
  lastingIn,
  linesIn,
  linesOut,
  mainPart,
  type NewLine,
  newestAt,
  type Operation,
  type Put,
  type Rename,
  renamedIn,
  renamesOf,
  saidBy,
  sessionOf,
  topicOfLine,
  topicsLosing,
  wantedBy,
  wholeOf,
  withAgain,
} from './dream-context.ts';
import { orderIn, widened } from './languages.ts';
import { lastingValues, missingIn, valuesIn } from './literals.ts';
import { isOpposite, shareIn, sharesTopic } from './words.ts';

/** Bytes around the text of a line, and of all that a new topic has before its lines: more than there will be. */
const LINE_BYTES = 4;
const HEADER_BYTES = 512;
/** Fewer lines than this may always go; of more, at most a quarter of the memory at once. */
const FREE_LOSS_LINES = 4;
/** So many entries of a night may be dropped at the model's word; of more, at most half. */
const FREE_DROPS = 4;
/** So much of a text stands in another that says the same, or names what that changes. */
const SAID_THERE = 1 / 2;

export interface Limits {
  /** What the file of one topic may hold. */
  memoryBytes: number;
  isTopicName(name: string): boolean;
}

/** What each rule is given: also by line and topic the operation that takes it out, by topic the bytes that come and go, and what those before it lost. */
interface Night {
  operations: Operation[];
  context: DreamContext;
  limits: Limits;
  gone: Map<string, Operation>;
  grown: Map<string, number>;
  lost: number;
  dropped: number;
}
type Faults = Generator<string, void>;

/** What is wrong with each operation, in the list's order. */
export function operationFaults(operations: Operation[], context: DreamContext, limits: Limits): string[][] {
  const night: Night = { operations, context, limits, gone: new Map(), grown: new Map(), lost: 0, dropped: 0 };
  for (const put of operations.filter((each) => each.kind === 'put')) {
    for (const id of linesOut(put)) {
      for (const { name, lines } of topicsLosing(id, put, context)) {
        if (!night.gone.has(keyOf(id, name))) night.gone.set(keyOf(id, name), put);
        grow(name, -Buffer.byteLength(lines.get(id)?.text ?? ''), night);
      }
    }
  }
  return operations.map((each, at) => {
    const beside = ownerFaults(each, at, night);
    if (each.kind === 'put') return [...beside, ...togetherFaults(each, night), ...putFaults(each, night)];
    return [...beside, ...(each.kind === 'drop' ? dropFaults(each, night) : renameFaults(each, night))];
  });
}

const keyOf = (line: string, topic: string) => `${line}\n${topic}`;

function grow(topic: string, bytes: number, { grown }: Night): number {
  const more = (grown.get(topic) ?? 0) + bytes;
  grown.set(topic, more);
  return more;
}

// Together.

function* ownerFaults(operation: Operation, at: number, { operations, context }: Night): Faults {
  for (const id of entryIds(operation)) {
    if (!context.entries.has(id)) yield `there is no such entry: ${id}.`;
    const first = operations.find((each) => entryIds(each).includes(id) && !areOfOneChange(each, operation));
    const other = first?.kind === 'put' ? `the put into ${first.topic}` : 'a drop';
    if (first && operations.indexOf(first) < at)
      yield `${id} is in more than one operation: ${other} has it, too. Make one of them.`;
  }
}

/** Lines are taken out once, a topic fits into its file and is begun in one way, and little of the memory goes. */
function* togetherFaults(put: Put, night: Night): Faults {
  const { operations, context, limits } = night;
  const { topic: name, type, description } = put;
  const [lines, out] = [linesIn(put), linesOut(put)];
  const losing = out.flatMap((id) => topicsLosing(id, put, context).map(({ name: topic }) => ({ id, topic })));
  const other = losing.find(({ id, topic }) => night.gone.get(keyOf(id, topic)) !== put);
  if (other) yield `line ${other.id} is taken out by another operation already.`;
  const loss = Math.max(0, losing.length - lines.length);
  const [lost, before = Number.POSITIVE_INFINITY] = [night.lost + loss, context.lines];
  if (loss === 0 || lost < FREE_LOSS_LINES || lost * 4 <= before) night.lost = lost;
  else yield `with it ${lost} of ${before} lines would go, more than a quarter: leave what still holds.`;
  if (lines.length === 0) return;
  if (name === undefined) return yield 'name the topic that the lines go into.';
  const more = lines.reduce((_, { text }) => grow(name, Buffer.byteLength(text) + LINE_BYTES, night), 0);
  const [bytes, most] = [(context.topics.get(name)?.bytes ?? HEADER_BYTES) + more, limits.memoryBytes];
  if (more > 0 && bytes > most)
    yield `the topic ${name} would have ${bytes} bytes, a topic may have ${most}: use another.`;
  if (context.topics.has(name)) return;
  if (!type || !description) yield `the topic ${name} does not exist yet: give its description and type.`;
  const there = isTaken(name, context);
  if (there) yield `there is a file ${there}.md already, so that ${name}.md cannot be: use that name or another.`;
  else if (!limits.isTopicName(name)) yield `there is no topic ${name}: give a new one a short kebab-case name.`;
  const begun = operations.find((each) => each.kind === 'put' && each.topic === name && each.type) as Put | undefined;
  if (begun && begun.type !== type) yield `the new topic ${name} is given several types: ${begun.type}, ${type}.`;
}

function isTaken(name: string, { topics }: DreamContext): string | undefined {
  return [...topics.keys()].find((known) => known.toLowerCase() === name.toLowerCase());
}

/** Of a night of which much is dropped for reasons that code cannot check, the operations that do it. */
function* tooManyDrops(drop: Drop, night: Night): Faults {
  const { context } = night;
  const own = knownEntries(context, drop.entries).filter((entry) => isAtItsWord(drop, entry, context));
  const dropped = night.dropped + own.length;
  if (dropped <= FREE_DROPS || dropped * 2 <= context.entries.size) night.dropped = dropped;
  else yield 'with it too many entries are dropped at your word: keep what may be of use.';
}

/** What an implied entry's quotes do not show, and what stands elsewhere in its words, goes without a limit. */
function isAtItsWord({ because, of = '' }: Drop, entry: KnownEntry, context: DreamContext): boolean {
  if (because === 'unsupported' && entry.strength === 'implied') return false;
  const other = context.entries.get(of)?.text ?? topicOfLine(of, context)?.lines.get(of)?.text;
  if (because === 'duplicate' && other !== undefined) return shareIn(entry.text, other) < SAID_THERE;
  return !(because === 'gave-way' && other !== undefined && sharesTopic(entry.text, other));
}

// Lines that go, and come.

function* putFaults(put: Put, night: Night): Faults {
  const { context } = night;
  const [lines, out] = [linesIn(put), linesOut(put)];
  if (lines.length + out.length === 0) yield 'it takes no line out, and puts none in.';
  if (lines.length > 0) yield* topicFaults(put, night);
  for (const id of out) {
    const problem = refusalOfTaking(id, put, context);
    if (problem) yield `line ${id} ${problem}.`;
    else yield* remainsFaults(id, put, night);
  }
  for (const line of lines) {
    yield* lineFaults(line, put, night);
    if (comingInto(put.topic, night).find(({ text }) => text === line.text) !== line)
      yield `the line ${quoted(line.text)} is added twice.`;
  }
  yield* lostFaults(put, night);
}

const comingInto = (topic: string | undefined, { operations }: Night) =>
  operations.filter((each) => each.kind === 'put' && each.topic === topic).flatMap(linesIn);

function* topicFaults({ topic: name = '', type, description }: Put, night: Night): Faults {
  const topic = night.context.topics.get(name);
  if (topic?.isPinned) yield `the topic ${name} is pinned and stays as it is.`;
  if (topic?.type && type && topic.type !== type) yield `the topic ${name} is of type ${topic.type}, not ${type}.`;
  yield* descriptionFaults({ name, topic, description }, night.operations);
}

/** Why a line stays; null: it may go. */
function refusalOfTaking(id: string, put: Put, context: DreamContext): string | null {
  const topic = topicOfLine(id, context, put.topic);
  const known = topic?.lines.get(id);
  if (!topic || !known) return 'is in no topic';
  const text = quoted(known.text);
  if (topic.isPinned) return `is in ${topic.name}, which is pinned`;
  if (isOthers(known)) return `(${text}) was written by a ${writerOf(known)} and stays: name the difference in another`;
  const entries = knownEntries(context, entryIds(put));
  const sources = topicsLosing(id, put, context).flatMap(({ lines }) => lines.get(id)?.sources ?? []);
  const isRule = topic.type === 'user' || topic.type === 'feedback';
  const other = entries.find((each) => (isRule ? each.person : !sources.every((source) => isOfOne(source, each))));
  if (other) return `(${text}) is of another person than ${other.id}: put that in apart`;
  // What is newer stays; an older statement only adds to it.
  if (linesIn(put).some((line) => keepsAllOf(known, line.text))) return null;
  const cited = new Set(linesIn(put).flatMap((line) => line.entries));
  const standing = entries.filter(({ id: entry }) => cited.size === 0 || cited.has(entry));
  if (newestAt(standing) < newestAt(sources))
    return `(${text}) rests on a statement which is newer: drop these as gave-way, of ${id}`;
  if (carrierOf(known, put, context)) return null;
  // A newer finding takes the place of an older one.
  const isFound = sources.length > 0 && [...sources, ...standing].every(({ found }) => found);
  const isOnlyShown = !isFound && standing.every(({ strength }) => strength === 'implied');
  if (isOnlyShown && new Set(standing.map(sessionOf)).size < 2 && known.seenOnce === undefined)
    return `(${text}) stands for more than what one session only showed: let it stay and put in another`;
  if (isOnlyShown && !standing.some((entry) => isSameHabit(known.text, entry)))
    return `(${text}) is another habit than what is shown: it stays`;
  const isAbout = (entry: KnownEntry) => sharesTopic(known.text, [...saidBy(entry), entry.changes].join('\n'));
  return standing.some(isAbout) ? null : `(${text}) is about something else than these entries: it stays`;
}

/** The values of a line that goes stand in a line that comes, are named by what changes it, or are over. */
function* remainsFaults(id: string, put: Put, { operations, context }: Night): Faults {
  const known = topicOfLine(id, context, put.topic)?.lines.get(id) as KnownLine;
  const entries = knownEntries(context, entryIds(put));
  const coming = operations.flatMap(linesIn).map(({ text }) => text);
  const told = [...coming, ...(put.over ?? []), ...entries.flatMap((entry) => [...saidBy(entry), entry.changes ?? ''])];
  const lost = missingIn(lastingValues(lastingIn(known), newestAt(known.sources ?? [])), told);
  const asked = 'keep it in a line, or where it is no longer true, name it in "over"';
  if (lost.length > 0) yield `line ${id} says ${list(lost)}, and no line would any more: ${asked}.`;
}

function* lineFaults(line: NewLine, put: Put, night: Night): Faults {
  const { context } = night;
  const text = quoted(line.text);
  const topic = context.topics.get(put.topic ?? '');
  const type = topic ? topic.type : put.type;
  const isRule = type !== 'project' && type !== 'reference';
  // A rule takes nothing over from what is none.
  const out = new Map<string, KnownLine>();
  for (const id of linesOut(put)) {
    const from = topicOfLine(id, context, put.topic);
    const known = from?.lines.get(id);
    if (known && (!isRule || from?.type === type)) out.set(id, known);
  }
  const taken = [...out.values()];
  const renames = renamesOf(put, context);
  const whole = wholeOf(line, taken, renames);
  if (line.entries.length === 0 && !whole)
    return yield `the line ${text} cites no entry: only what is left of a line in "out" may, its words in their order, without what changed.`;
  const cited = knownEntries(context, line.entries).map((entry) => withAgain(entry, out));
  if (cited.length < line.entries.length) return;
  const programs = cited.filter(({ by }) => by !== 'human' && by !== 'person');
  for (const { id, by, person } of isRule ? cited : [])
    if (person || (by !== 'human' && by !== 'person'))
      yield `${id} was not said by the user: it is of type project or reference.`;
  const [first] = cited;
  const person = first && wantedBy(first);
  if (first && !cited.every((each) => isOfOne(first, each)))
    yield `the line ${text} puts words of several people together: ${APART}.`;
  else if (person && !line.text.includes(person)) yield `the line ${text} does not say that ${person} wants it.`;
  const order = programs.length > 0 ? orderIn(line.text) : null;
  if (order !== null)
    yield `the line ${text} speaks to an agent (${JSON.stringify(order)}): say what is so, or drop the entry.`;
  if (hasWrapperTag(line.text)) yield `the line ${text} holds a tag of this conversation.`;
  const own = cited.flatMap((entry) => [...saidBy(entry), entry.at.slice(0, 10)]);
  const changed = shareIn(line.text, own.join('\n')) >= SAID_THERE ? cited.flatMap(({ changes = '' }) => changes) : [];
  const days = taken.flatMap(({ sources = [] }) => sources.map(({ at }) => at.slice(0, 10)));
  const before = taken.flatMap((old) => [old.text, ...renamedIn(old.text, renames)]);
  const invented = missingIn(valuesIn(line.text), [...own, ...changed, ...before, ...days]);
  if (invented.length > 0)
    yield `nothing that ${text} rests on says ${list(invented)}: cite what says it, or leave it out.`;
  const sessions = new Set([...cited, ...taken.flatMap(({ sources = [] }) => sources)].map(sessionOf));
  const wide = sessions.size > 1 ? null : widened(line.text, [...own, ...taken.map((old) => old.text)]);
  if (wide !== null)
    yield `the line ${text} says ${JSON.stringify(wide)}, and nothing that it rests on does: keep the scope of what was asked.`;
  const carried = whole ? [whole] : taken.filter((old) => carrierOf(old, put, context) === line);
  const { unsaid, isStated } = certaintyOf(line.text, { cited, carried: [...carried, ...taken] });
  // A habit that only gives way makes nothing certain, nor does what goes beside a line of which this is what is left.
  const stated = whole ? [] : taken.filter(({ seenOnce }) => seenOnce === undefined);
  const { unsure, isCertain } = certaintyOf(line.text, { cited, carried: [...carried, ...stated] });
  if (unsaid.length > 0) yield `nothing that ${text} rests on says ${list(unsaid)}: word it as it was said.`;
  const once = isCertain ? unsure.filter((clause) => !unsaid.includes(clause)) : [];
  if (once.length > 0) yield `of ${text}, which was said, one session only showed ${list(once)}: ${APART}.`;
  // When it was said parts nothing.
  const said = [...days, ...cited.map(({ at }) => at.slice(0, 10))];
  const dateless = said.reduce((left, day) => left.replaceAll(day, ''), line.text);
  // What was seen to say a line again is of what that is of.
  const others = cited.filter(({ again = '' }) => !out.has(again));
  const apart = /^open:/i.test(line.text) ? null : apartIn(dateless, [...others, ...carried]);
  if (apart) yield `the line ${text} puts ${list(apart)} together: keep them apart.`;
  for (const entry of isStated ? [] : cited) {
    const isShown = [...carried, ...cited].every((habit) => habit === entry || isSameHabit(habit.text, entry));
    if (!isShown) yield `the line ${text} takes ${entry.id} for one with what else it rests on: ${APART}.`;
  }
  const turned = cited.find((entry) => isOpposite(entry.text, line.text));
  if (turned) yield `the line ${text} says the opposite of ${turned.id}: ${quoted(turned.text)}.`;
  for (const other of context.topics.values()) {
    for (const [id, known] of other.lines) {
      if (night.gone.has(keyOf(id, other.name))) continue;
      if (other === topic && known.text === line.text) yield `the line ${text} stands there already as ${id}.`;
      const isFree = !other.isPinned && !isOthers(known) && known.seenOnce === undefined && isStated;
      const isDenied = isFree && other.type === type && isOpposite(known.text, line.text);
      if (isDenied) yield `the line ${text} denies ${id}: take that out, or write both down as open.`;
    }
  }
}

const APART = 'put that into a line of its own';

/** The values of what was said tonight stand in the lines that cite it, or in what is changed. */
function* lostFaults(put: Put, { operations, context }: Night): Faults {
  const lines = linesIn(put);
  const cited = new Set(lines.flatMap((line) => line.entries));
  const old = linesOut(put).flatMap((id) => topicOfLine(id, context, put.topic)?.lines.get(id)?.text ?? []);
  for (const entry of knownEntries(context, entryIds(put))) {
    const { id, at, text, changes = '' } = entry;
    // Where lines only keep what is left of those that go, it takes out the rest.
    if (cited.size > 0 && !cited.has(id)) {
      const newer = knownEntries(context, [...cited]).filter((each) => each.at >= at);
      const isAbout = (each: KnownEntry) => sharesTopic(text, saidBy(each).join('\n'));
      if (!newer.some(isAbout)) yield `no line cites ${id}, and it gives way to nothing newer of the same thing.`;
      continue;
    }
    const written = lines.filter((line) => line.entries.includes(id)).map((line) => line.text);
    const isOfIt = written.length === 0 || sharesTopic(saidBy(entry).join('\n'), written.join('\n'));
    if (entry.strength === 'stated' && !isOfIt) yield `no line that cites ${id} says anything of it.`;
    const elsewhere = operations.flatMap(linesIn).flatMap((line) => (line.entries.includes(id) ? line.text : []));
    // Of a habit that is shown again the occasion may go.
    const lasting = isOfCarried(entry, put, context) ? mainPart(text) : text;
    const lost = missingIn(lastingValues(lasting, at), [...elsewhere, ...old, ...(put.over ?? []), changes]);
    if (lost.length > 0) yield `its lines lose ${list(lost)} of ${id}: keep it letter for letter.`;
  }
}

// Entries that are dropped, and names.

function* dropFaults(drop: Drop, night: Night): Faults {
  const { because, of } = drop;
  const isOf = because === 'duplicate' || because === 'gave-way';
  if (!isOf && of !== undefined) yield '"of" belongs to a duplicate, or to what gave way.';
  for (const entry of knownEntries(night.context, drop.entries)) {
    const { id } = entry;
    const problem = isOf && (of === undefined ? 'say of what' : refusalOfDropping(entry, drop, night));
    if (problem) yield `${id} as ${because}: ${problem}.`;
    if (!isOf && isAskedFor(entry)) yield `${id} is what a person asked to remember: put it into a topic.`;
  }
  yield* tooManyDrops(drop, night);
}

function refusalOfDropping(entry: KnownEntry, drop: Drop, { operations, context, gone }: Night): string | null {
  const { because, of: id = '' } = drop;
  const other = context.entries.get(id);
  const line = topicOfLine(id, context)?.lines.get(id);
  const citing = operations.flatMap(linesIn).filter(({ entries }) => entries.includes(id));
  const there = other ? citing.map(({ text }) => text).join('\n') : (line?.text ?? '');
  if (other) {
    const isKept = operations.some((each) => keeps(each) && entryIds(each).includes(id));
    if (id === entry.id || (because === 'duplicate' ? there === '' : !isKept)) return `${id} is in no line`;
  } else if (!line) return `${id} is neither a line nor an entry of tonight`;
  else if (context.topics.keys().some((name) => gone.has(keyOf(id, name))))
    return `line ${id} is taken out: name what comes in its place`;
  const stands = other ? [other] : (line?.sources ?? []);
  if (!stands.every((each) => isOfOne(each, entry))) return `${id} is of another person`;
  if (because === 'duplicate') return refusalOfDuplicate(entry, there);
  if (line && isOthers(line)) return `a ${writerOf(line)}’s line has no time: if it says the same, it is a duplicate`;
  const at = other ? other.at : newestAt(line?.sources ?? []);
  return at < entry.at ? 'what it would give way to is older' : null;
}

const keeps = (each: Operation) => each.kind === 'put' || (each.kind === 'drop' && each.because === 'duplicate');

function refusalOfDuplicate({ text, at }: KnownEntry, there: string): string | null {
  const lost = missingIn(lastingValues(text, at), [there]);
  if (lost.length > 0) return `${list(lost)} is not said there: ${quoted(there)}. Put it into the line`;
  return isOpposite(text, there) ? `it denies what is said there: ${quoted(there)}` : null;
}

function* renameFaults({ topic: name, to }: Rename, { operations, context }: Night): Faults {
  const topic = context.topics.get(name);
  if (!topic) return yield `there is no topic ${name} to be renamed.`;
  if (topic.isPinned) yield `the topic ${name} is pinned and keeps its name.`;
  if (topic.path.includes('/')) yield `the topic ${name} is not at the top of the memory and keeps its name.`;
  const others = [...topic.lines.values()].find(isOthers);
  if (others) yield `a ${writerOf(others)} wrote in ${name}, so it keeps its name.`;
  if (isTaken(to, context)) yield `there is a topic ${to} already: put lines into it instead.`;
  const same = operations.filter((each) => each.kind === 'rename' && (each.topic === name || each.to === to));
  if (same.length > 1) yield `${name} is renamed twice, or ${to} is the new name of two topics.`;
}

const writerOf = ({ isPersons }: KnownLine) => (isPersons ? 'person' : 'program');
const list = (texts: string[]) => texts.map(quoted).join(', ');
const quoted = (text: string) => JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
