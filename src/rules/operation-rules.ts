// What code lets through of a dream's operations: faults by operation, in sentences for the model to mend.
// Promises: every entry is in exactly one operation; nothing goes that is a person's, a program's, pinned, or rests on
// something newer; the values of what comes stand in what it rests on, those of what goes in what comes or in `over`; what
// nobody said is no line, and what only a tool or an agent said is no rule; little is dropped at the model's word, and no
// night loses much of the memory. What only meaning tells it does not judge: words in another order, two things in one.

import { hasWrapperTag } from './as-read.ts';
import {
  type DreamContext,
  type Drop,
  entryIds,
  isOthers,
  type KnownEntry,
  type KnownLine,
  type KnownTopic,
  knownEntries,
  linesIn,
  linesOut,
  type NewLine,
  newestAt,
  type Operation,
  type Put,
  type Rename,
  sessionOf,
  topicOfLine,
} from './dream-context.ts';
import { speaksToAgent } from './languages.ts';
import {
  carrierOf,
  certaintyOf,
  isSameHabit,
  keepsAllOf,
  lastingValues,
  shareIn,
  topicsLosing,
  withAgain,
} from './line-support.ts';
import { containsLiteralTail, distinctValues, isValueIn, literals, valuesIn } from './literals.ts';
import { checkTogether, type Limits } from './night-rules.ts';
import { isOpposite, sharesTopic, withoutGivenUp } from './words.ts';

/** So much of a line its entries say, where it also names what they change. */
const SAID_THERE = 1 / 2;

/** What each rule is given. */
interface Night {
  operations: Operation[];
  context: DreamContext;
  /** By line id, the names of the topics that lose it to any operation. */
  gone: Map<string, Set<string>>;
  /** The texts of all lines that come. */
  coming: string[];
}
type Say = (problem: string) => void;

/** What is wrong with each operation, in the list's order. */
export function operationFaults(operations: Operation[], context: DreamContext, limits: Limits): string[][] {
  const faults = operations.map((): string[] => []);
  const sayOf = (at: number) => (problem: string) => faults[at]?.push(problem);
  const gone: Night['gone'] = new Map();
  operations.forEach((operation, at) => {
    for (const line of linesOut(operation)) {
      const names = gone.get(line) ?? new Set<string>();
      for (const { name } of topicsLosing(line, operation as Put, context)) {
        if (names.has(name)) sayOf(at)(`line ${line} is taken out by another operation already.`);
        gone.set(line, names.add(name));
      }
    }
  });
  checkTogether(operations, { context, limits, sayOf });
  const coming = operations.flatMap(linesIn).map(({ text }) => text);
  const night = { operations, context, gone, coming };
  const added = new Set<string>();
  operations.forEach((operation, at) => {
    if (operation.kind === 'put') checkPut(operation, night, sayOf(at), added);
    if (operation.kind === 'drop') checkDrop(operation, night, sayOf(at));
    if (operation.kind === 'rename') checkRename(operation, night, sayOf(at));
  });
  return faults;
}

function checkPut(put: Put, night: Night, say: Say, added: Set<string>): void {
  const { context } = night;
  const topic = context.topics.get(put.topic ?? '');
  const lines = linesIn(put);
  if (lines.length + linesOut(put).length === 0) say('it takes no line out, and puts none in.');
  if (lines.length > 0) checkTopic(put, topic, night, say);
  for (const id of linesOut(put)) {
    const problem = refusalOfTaking(id, put, context);
    if (problem) say(`line ${id} ${problem}.`);
    else checkRemains(id, put, night, say);
  }
  for (const line of lines) {
    checkLine(line, { put, topic, night, say });
    const key = `${put.topic}\n${line.text}`;
    if (added.has(key)) say(`the line ${quoted(line.text)} is added twice.`);
    added.add(key);
  }
  checkKept(put, context, say);
}

function checkTopic(put: Put, topic: KnownTopic | undefined, { operations }: Night, say: Say): void {
  if (topic?.isPinned) say(`the topic ${topic.name} is pinned and stays as it is.`);
  if (topic?.type && put.type && topic.type !== put.type) {
    say(`the topic ${topic.name} is of type ${topic.type}, not ${put.type}.`);
  }
  const { description } = put;
  if (!description) return;
  const into = operations.filter((each) => each.kind === 'put' && each.topic === put.topic).flatMap(linesIn);
  const said = [...(topic?.lines.values() ?? []), ...into].map(({ text }) => text).join('\n');
  const invented = literals(description).filter((value) => !isNamedIn(value, said));
  if (invented.length > 0) say(`the description says ${list(invented)}, which none of its lines does.`);
  if (speaksToAgent(description) || hasWrapperTag(description)) say('the description speaks to an agent.');
}

/** Whether the value of a description is said. Of words to search for it is enough that their parts are, in any case. */
function isNamedIn(value: string, said: string): boolean {
  if (isValueIn(value, said) || containsLiteralTail(value, said)) return true;
  const isExact = !/\p{L}/u.test(value) || /^-|:\/\/|@|^[~./\\]|\.\p{L}+$|[/\\].*[/\\]|^v?\d+(?:\.\d+)+/u.test(value);
  const parts = value.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const words = new Set(said.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
  return !isExact && parts.every((part) => words.has(part) || (parts.length === 1 && /^\p{L}+$/u.test(part)));
}

/** Why a line stays; null: it may go. */
function refusalOfTaking(id: string, put: Put, context: DreamContext): string | null {
  const topic = topicOfLine(id, context, put.topic);
  const known = topic?.lines.get(id);
  if (!topic || !known) return 'is in no topic';
  const text = quoted(known.text);
  if (topic.isPinned) return `is in ${topic.name}, which is pinned`;
  if (isOthers(known)) {
    const writer = known.isPersons ? 'person' : 'program';
    return `(${text}) was written by a ${writer} and stays: put in a line that names the difference`;
  }
  const entries = knownEntries(context, entryIds(put));
  const sources = topicsLosing(id, put, context).flatMap(({ lines }) => lines.get(id)?.sources ?? []);
  if (linesIn(put).length === 0 && entries.some((each) => each.isWithdrawn && sources.some((s) => s.id === each.id))) {
    return null;
  }
  // What is newer stays; an older statement only adds to it.
  if (linesIn(put).some((line) => keepsAllOf(known, line.text))) return null;
  const cited = new Set(linesIn(put).flatMap((line) => line.entries));
  const standing = entries.filter((each) => !each.isWithdrawn && (cited.size === 0 || cited.has(each.id)));
  const newest = newestAt(sources.filter((source) => !context.entries.get(source.id)?.isWithdrawn));
  if (newestAt(standing) < newest) {
    return `(${text}) rests on what was said at ${newest}, which is newer than these entries: drop them as gave-way, of ${id}`;
  }
  if (carrierOf(known, put, context)) return null;
  const isOnlyShown = standing.every(({ strength }) => strength === 'implied');
  if (isOnlyShown && new Set(standing.map(sessionOf)).size < 2 && known.seenOnce === undefined) {
    return `(${text}) stands for more than what one session only showed: let it stay and put in another`;
  }
  if (isOnlyShown && !standing.some((entry) => isSameHabit(known.text, entry))) {
    return `(${text}) is another habit than what is shown: it stays`;
  }
  const isAbout = ({ text: own, quotes, changes = '' }: KnownEntry) =>
    sharesTopic(known.text, [own, ...quotes, changes].join('\n'));
  return standing.some(isAbout) ? null : `(${text}) is about something else than these entries: it stays`;
}

/** The values of a line that goes stand in a line that comes, are named by what changes it, or are over. */
function checkRemains(id: string, put: Put, { context, coming }: Night, say: Say): void {
  const known = topicOfLine(id, context, put.topic)?.lines.get(id) as KnownLine;
  const entries = knownEntries(context, entryIds(put));
  if (entries.length > 0 && entries.every((entry) => entry.isWithdrawn)) return;
  const told = [
    ...coming,
    ...(put.over ?? []),
    ...entries.flatMap(saidBy),
    ...entries.map(({ changes = '' }) => changes),
  ];
  const values = lastingValues(known.text, newestAt(known.sources ?? []));
  const lost = values.filter((value) => !told.some((text) => isValueIn(value, text)));
  if (lost.length === 0) return;
  say(
    `line ${id} (${quoted(known.text)}) says ${list(lost)}, and no line would any more: keep it in a line, or where it is no longer true, name it in "over".`,
  );
}

interface At {
  put: Put;
  topic: KnownTopic | undefined;
  night: Night;
  say: Say;
}

function checkLine(line: NewLine, { put, topic, night, say }: At): void {
  const { context, gone } = night;
  const text = quoted(line.text);
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
  const cited = knownEntries(context, line.entries).map((entry) => withAgain(entry, out));
  for (const { id } of cited.filter((entry) => entry.isWithdrawn))
    say(`the line ${text} cites ${id}, which is withdrawn.`);
  const others = cited.filter(({ by }) => by !== 'human' && by !== 'person');
  if (others.length > 0 && isRule) {
    const ids = others.map(({ id }) => id).join(', ');
    say(`${ids} was not said by the user, so it goes into a topic of type project or reference, or is dropped.`);
  }
  if (others.length > 0 && speaksToAgent(line.text)) {
    say(`the line ${text} speaks to an agent, and the user did not say it: drop the entry.`);
  }
  if (hasWrapperTag(line.text)) say(`the line ${text} holds a tag of this conversation.`);
  const own = cited.flatMap((entry) => [...saidBy(entry), entry.at.slice(0, 10)]);
  const changed = cited.flatMap(({ changes = '' }) => changes);
  const named = shareIn(line.text, own.join('\n')) >= SAID_THERE ? changed : [];
  const days = taken.flatMap(({ sources = [] }) => sources.map(({ at }) => at.slice(0, 10)));
  const said = [...own, ...named, ...taken.map((old) => old.text), ...days].join('\n');
  const invented = valuesIn(line.text).filter((value) => !isValueIn(value, said));
  if (invented.length > 0) {
    say(`nothing that ${text} rests on says ${list(invented)}: leave it out, or cite the entry that says it.`);
  }
  const carried = taken.filter((old) => carrierOf(old, put, context) === line);
  const { unsaid, unsure, isStated, isCertain } = certaintyOf(line.text, { cited, carried: [...carried, ...taken] });
  if (unsaid.length > 0) say(`nothing that ${text} rests on says ${list(unsaid)}: word it as it was said.`);
  else if (isCertain && unsure.length > 0) {
    say(`of ${text} one session only showed ${list(unsure)}: put that into a line of its own.`);
  }
  const apart = isOpen(line) ? null : apartIn(line.text, [...cited, ...carried]);
  if (apart) say(`the line ${text} puts ${list(apart)} together: keep them apart, each in a line of its own.`);
  const shows = (entry: KnownEntry) =>
    [...carried, ...cited].every((habit) => habit === entry || isSameHabit(habit.text, entry));
  for (const { id } of isStated ? [] : cited.filter((entry) => !shows(entry))) {
    say(`the line ${text} takes ${id} for one with what else it rests on: put that into a line of its own.`);
  }
  const turned = cited.find((entry) => isOpposite(entry.text, line.text));
  if (turned) say(`the line ${text} says the opposite of ${turned.id}: ${quoted(turned.text)}.`);
  for (const other of context.topics.values()) {
    for (const [id, known] of other.lines) {
      if (gone.get(id)?.has(other.name)) continue;
      if (other === topic && known.text === line.text) {
        say(`the line ${text} stands there already as ${id}: drop the entry as a duplicate of it.`);
      }
      const isFree = !other.isPinned && !isOthers(known) && known.seenOnce === undefined && isStated;
      if (isFree && other.type === type && isOpposite(known.text, line.text)) {
        say(`the line ${text} denies ${id} (${quoted(known.text)}): take that out, or write both down as open.`);
      }
    }
  }
}

/** Two values of one kind of a line, of which what it rests on has one each: such texts look alike, and speak of two things. */
function apartIn(line: string, said: { text: string }[]): [string, string] | null {
  const texts = said.map(({ text }) => {
    const others = literals(text).filter((value) => !isValueIn(value, line));
    return others.reduce((left, value) => left.replaceAll(value, ' '), withoutGivenUp(text));
  });
  for (const [at, one] of texts.entries()) {
    for (const other of texts.slice(at + 1)) {
      const apart = distinctValues(one, other);
      if (apart) return apart;
    }
  }
  return null;
}

function isOpen({ text }: { text: string }): boolean {
  return /^open:/i.test(text);
}

/** The values of what was said tonight stand in the lines that cite it, or in what is changed. */
function checkKept(put: Put, context: DreamContext, say: Say): void {
  const lines = linesIn(put);
  const cited = new Set(lines.flatMap((line) => line.entries));
  const old = linesOut(put).flatMap((id) => topicOfLine(id, context, put.topic)?.lines.get(id)?.text ?? []);
  for (const entry of knownEntries(context, entryIds(put))) {
    const { id, at, text, changes = '', isWithdrawn } = entry;
    if (isWithdrawn) continue;
    if (lines.length > 0 && !cited.has(id)) {
      const newer = knownEntries(context, [...cited]).filter((each) => each.at >= at);
      if (!newer.some((each) => sharesTopic(text, saidBy(each).join('\n')))) {
        say(`no line cites ${id}, and it gives way to nothing that is newer and of the same thing.`);
      }
      continue;
    }
    const written = lines.filter((line) => line.entries.includes(id)).map((line) => line.text);
    if (
      written.length > 0 &&
      entry.strength === 'stated' &&
      !sharesTopic(saidBy(entry).join('\n'), written.join('\n'))
    ) {
      say(`no line that cites ${id} says anything of it.`);
    }
    const told = [...written, ...old, ...(put.over ?? []), changes];
    const lost = lastingValues(text, at).filter((value) => !told.some((each) => isValueIn(value, each)));
    if (lost.length > 0) say(`its lines lose ${list(lost)} of ${id}: keep it letter for letter.`);
  }
}

function checkDrop(drop: Drop, { operations, context, gone }: Night, say: Say): void {
  const { because, of } = drop;
  const isOf = because === 'duplicate' || because === 'gave-way';
  if (!isOf && of !== undefined) say('"of" belongs to a duplicate, or to what gave way.');
  for (const entry of knownEntries(context, drop.entries)) {
    const { id } = entry;
    if (entry.isWithdrawn !== (because === 'withdrawn')) {
      say(entry.isWithdrawn ? `${id} is withdrawn: say so as the reason.` : `${id} is not withdrawn.`);
    } else if (!isOf) {
      if (isAskedFor(entry) && !entry.isWithdrawn)
        say(`${id} is what a person asked to remember: put it into a topic.`);
    } else {
      const problem = of === undefined ? 'say of what' : refusalOf(entry, drop);
      if (problem) say(`${id} as ${because}: ${problem}.`);
    }
  }

  function refusalOf(entry: KnownEntry, { of: id = '' }: Drop): string | null {
    const other = context.entries.get(id);
    if (other) {
      const said = operations.flatMap(linesIn).filter((line) => line.entries.includes(id));
      const isKept = operations.some(
        (each) =>
          entryIds(each).includes(id) &&
          (each.kind === 'put' || (each.kind === 'drop' && each.because === 'duplicate')),
      );
      const isUsed = because === 'gave-way' ? isKept : said.length > 0;
      if (id === entry.id || other.isWithdrawn || !isUsed) return `${id} is in no line`;
      if (because === 'duplicate') return refusalOfDuplicate(entry, said.map(({ text }) => text).join('\n'));
      return other.at < entry.at ? 'what it would give way to is older' : null;
    }
    const line = topicOfLine(id, context)?.lines.get(id);
    if (!line) return `${id} is neither a line nor an entry of tonight`;
    if (gone.has(id)) return `line ${id} is taken out: name what comes in its place`;
    if (because === 'duplicate') return refusalOfDuplicate(entry, line.text);
    if (isOthers(line)) {
      return `a ${line.isPersons ? 'person' : 'program'}’s line has no time: if it says the same, it is a duplicate`;
    }
    return newestAt(line.sources ?? []) < entry.at ? 'what it would give way to is older' : null;
  }
}

/** Whether a person asked to remember it, by a command or in a log: no session said it. */
function isAskedFor({ by, session }: KnownEntry): boolean {
  return by === 'person' || (by === 'human' && session === '');
}

function refusalOfDuplicate({ text, at }: KnownEntry, there: string): string | null {
  const lost = lastingValues(text, at).filter((value) => !isValueIn(value, there));
  if (lost.length > 0) return `${list(lost)} is not said there: ${quoted(there)}. Put it into the line`;
  return isOpposite(text, there) ? `it denies what is said there: ${quoted(there)}` : null;
}

function checkRename({ topic: name, to }: Rename, { operations, context }: Night, say: Say): void {
  const topic = context.topics.get(name);
  if (!topic) {
    say(`there is no topic ${name} to be renamed.`);
    return;
  }
  if (topic.isPinned) say(`the topic ${name} is pinned and keeps its name.`);
  if (topic.path.includes('/')) say(`the topic ${name} is not at the top of the memory and keeps its name.`);
  const others = [...topic.lines.values()].find(isOthers);
  if (others) say(`a ${others.isPersons ? 'person' : 'program'} wrote in ${name}, so it keeps its name.`);
  const isTaken = [...context.topics.keys()].some((known) => known.toLowerCase() === to.toLowerCase());
  if (isTaken) say(`there is a topic ${to} already: put lines into it instead.`);
  const same = operations.filter((each) => each.kind === 'rename' && (each.topic === name || each.to === to));
  if (same.length > 1) say(`${name} is renamed twice, or ${to} is the new name of two topics.`);
}

function saidBy({ text, quotes }: KnownEntry): string[] {
  return [text, ...quotes];
}

function list(texts: string[]): string {
  return texts.map(quoted).join(', ');
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
}
