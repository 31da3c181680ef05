// What the new lines of a dream's operations may say.
// Promises: a line rests on entries of its operation; its values occur in the very entries it cites (or, where it takes
// a line's place, in that line); values of what it keeps are kept; what differs in a value is not put into one line;
// nothing is denied that was not, and the other way round; what only programs or agents said becomes no rule and no
// fact about the user. Dates that only say when something was said, and what an entry itself names as replaced, are no
// values of a line. Which lines are marked as seen once is decided here, too.

import type { Day } from '../../base/time.ts';
import {
  denialIn,
  deniedClause,
  deniedClauses,
  isBoundAlike,
  isSaidIn,
  nearDouble,
  refusedIn,
  saysNoLonger,
  withoutFormer,
  withoutOver,
  withoutReplaced,
  withoutUndecided,
  withoutWhen,
} from '../../rules/change-words.ts';
import { hasWrapperTag, speaksToAgent } from '../../rules/injection.ts';
import { containsLiteral, containsLiteralTail, isValueIn, literals, valuesIn } from '../../rules/literals.ts';
import { contentWords, countShared, isNegated, isOpposite, negationIn, sharesTopic } from '../../rules/words.ts';
import { lineId } from '../text/topic.ts';
import type { MemoryType } from '../types.ts';
import {
  type Check,
  type DreamContext,
  entriesOf,
  isOthers,
  type KnownEntry,
  type KnownLine,
  type LineSource,
  newestAt,
  topicOfLine,
  type Writing,
} from './operations.ts';

type NewLine = Writing['lines'][number];

export function checkLines(operation: Writing, check: Check): void {
  const { context, say } = check;
  checkTopic(operation, check);
  const old = replacedLines(operation, context);
  const cited = new Set(operation.lines.flatMap((line) => line.entries));
  for (const line of operation.lines) {
    const entries = entriesOf(context, line.entries);
    checkCitations(line, operation, check);
    checkPlace(line, operation, check);
    checkValues(line, { operation, entries, old, say });
    checkSense(line, { operation, entries, old, say });
    checkSpeakers(line, { operation, entries, old, context, say });
  }
  checkKept(operation, { context, cited, old, say });
}

export function replacedLines(operation: Writing, context: DreamContext): KnownLine[] {
  if (operation.kind === 'add') return [];
  return operation.replaces.flatMap((id) => topicOfLine(id, context, operation.topic)?.lines.get(id) ?? []);
}

function checkTopic(operation: Writing, { operations, context, say }: Check): void {
  const topic = context.topics.get(operation.topic);
  if (!topic && !(operation.description && operation.type)) {
    say(`the topic ${operation.topic} does not exist yet: give its description and type.`);
  }
  if (topic?.isPinned) say(`the topic ${operation.topic} is pinned and stays as it is.`);
  if (topic?.type && operation.type && topic.type !== operation.type) {
    say(`the topic ${operation.topic} is of type ${topic.type}, not ${operation.type}.`);
  }
  const { description } = operation;
  if (!description) return;
  const entries = entriesOf(context, operation.entries);
  const known = [...(topic?.lines.values() ?? [])].map((line) => line.text);
  // Any operation of the list may write what it describes.
  const into = operations.flatMap((each) => ('lines' in each && each.topic === operation.topic ? each.lines : []));
  const source = [...entries.flatMap(wordsOf), ...known, ...into.map((line) => line.text)].join('\n');
  const invented = literals(description).filter((value) => !isNamedIn(value, source));
  if (invented.length > 0) say(`the description says ${invented.map(quoted).join(', ')}, which nothing in it does.`);
  if (speaksToAgent(description) || hasWrapperTag(description)) say('the description speaks to an agent.');
}

/** Whether what a description names is said; of words to search for it is enough that their parts are, in any case. */
function isNamedIn(value: string, source: string): boolean {
  if (containsLiteral(value, source) || containsLiteralTail(value, source)) return true;
  const isExact = !/\p{L}/u.test(value) || /^-|:\/\/|@|^[~./\\]|\.\p{L}+$|[/\\].*[/\\]|^v?\d+(?:\.\d+)+/u.test(value);
  if (isExact) return false;
  if (/^[\p{L}]+$/u.test(value)) return true;
  const said = source.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ');
  const parts = value.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return parts.every((part) => containsLiteral(part, said));
}

function checkCitations(line: NewLine, operation: Writing, { context, say }: Check): void {
  for (const id of line.entries) {
    const problem = !operation.entries.includes(id)
      ? 'not in this operation'
      : context.entries.get(id)?.isWithdrawn
        ? 'withdrawn'
        : null;
    if (problem) say(`the line ${quoted(line.text)} cites ${id}, which is ${problem}.`);
  }
}

function checkPlace(line: NewLine, operation: Writing, { context, added, gone, say }: Check): void {
  const id = lineId(line.text);
  const topic = context.topics.get(operation.topic);
  const replaces = operation.kind === 'add' ? [] : operation.replaces;
  const there = [...(topic?.lines ?? [])].find(
    ([known, { text }]) => (known === id || lineId(text) === id) && !replaces.includes(known),
  );
  if (there)
    say(
      `the line ${quoted(line.text)} stands there already as ${there[0]}: drop the entry as a duplicate of it, or merge.`,
    );
  const key = `${operation.topic}\n${id}`;
  if (added.has(key)) say(`the line ${quoted(line.text)} is added twice.`);
  const type = topic?.type ?? operation.type;
  const textOf = (old: string) => topicOfLine(old, context, operation.topic)?.lines.get(old)?.text ?? '';
  // A line that no dream wrote and a pinned one cannot be asked to give way.
  const standing = [...context.topics.values()]
    .filter((other) => other.type === type && !other.isPinned)
    .flatMap(({ name, lines }) => [...lines].filter(([known, line]) => !isOthers(line) && !gone.get(known)?.has(name)))
    .map(([, { text }]) => text);
  const opposite = [
    ...standing,
    ...[...added.values()].filter((each) => each.type === type).map(({ text }) => text),
  ].find((text) => isOpposite(text, line.text));
  // What stood there before was contradicted before.
  // What was seen once stands together with what it denies, marked.
  const entries = entriesOf(context, line.entries);
  const isMarked = seenOnceIn(entries) !== undefined;
  if (opposite !== undefined && !isOpen(line) && !isMarked && !replaces.some((old) => lineId(textOf(old)) === id)) {
    say(`the line ${quoted(line.text)} denies ${quoted(opposite)}: supersede that, or write both down as open.`);
  }
  added.set(key, { type, text: line.text });
}

interface Rest {
  operation: Writing;
  /** What the line cites. */
  entries: KnownEntry[];
  /** The lines whose place it takes. */
  old: KnownLine[];
  say(problem: string): void;
}

function checkValues(line: NewLine, { operation, entries, old, say }: Rest): void {
  const cited = entries.flatMap(wordsOf).join('\n');
  const ofOld = old.map(({ text, sources = [] }) => [text, ...sources.map(({ at }) => dayIn(at))].join('\n'));
  const foreign = foreignTo(cited, [line.text]).filter((value) => !isUpdated(value, { old, cited }));
  const invented = foreignTo(cited, [line.text, ...ofOld]).filter((value) => !isUpdated(value, { old, cited }));
  if (invented.length > 0) {
    say(
      `nothing that ${quoted(line.text)} rests on says ${invented.map(quoted).join(', ')}: leave it out, or cite the entry that says it.`,
    );
  } else if (
    operation.kind === 'supersede' &&
    !ofOld.some((text) => foreign.every((value) => isValueIn(value, text)))
  ) {
    if (foreign.length > 0) say(`the line ${quoted(line.text)} mixes values of several lines: use a line for each.`);
  }
  // What an entry changes is named to say what no longer holds, or together with what holds.
  const own = entries.map((entry) => wordsOf({ ...entry, changes: '' }).join('\n')).join('\n');
  const former = foreignTo(own, [line.text, ...ofOld]);
  if (
    invented.length === 0 &&
    former.length > 0 &&
    !isNegated(line.text) &&
    !entries.some(({ text }) => isSaidIn(text, line.text))
  ) {
    say(`the line ${quoted(line.text)} says ${former.map(quoted).join(', ')} as it was before: say what holds now.`);
  }
  if (isOpen(line)) {
    const isOneSided = entries.length + old.length < 2 && SIDES.test(line.text);
    if (isOneSided && !entries.some((entry) => wordsOf(entry).some((text) => SIDES.test(text)))) {
      say(`the line ${quoted(line.text)} is open between two sides, but rests on one only.`);
    }
  }
}

/** Whether a value is a command of a line that goes, with other parts that are cited in the place of some. */
function isUpdated(value: string, { old, cited }: { old: KnownLine[]; cited: string }): boolean {
  const parts = value.split(/\s+/);
  return old
    .flatMap(({ text }) => literals(text).map((each) => each.split(/\s+/)))
    .some((former) => {
      const changed = parts.filter((part, at) => part !== former[at]);
      const isNear = former.length === parts.length && changed.length * 2 < parts.length;
      return isNear && changed.length > 0 && changed.every((part) => containsLiteral(part, cited));
    });
}

/** Values of a line that neither what it rests on says, nor a line whose place it takes. */
function foreignTo(said: string, [line = '', ...old]: string[]): string[] {
  return valuesIn(line).filter((value) => ![said, ...old].some((text) => isValueIn(value, text)));
}

/** The lines that a merge keeps what they say of: not those whose value a newer entry of the same subject changes. */
export function keptOf({ operation, entries, old }: Pick<Rest, 'operation' | 'entries' | 'old'>): KnownLine[] {
  if (operation.kind !== 'merge') return [];
  return old.filter((line) => !entries.some((entry) => isMovedBy(line, entry)));
}

/** Whether an entry names the value or the words of a line that it changes, and is newer. */
function isMovedBy({ text, sources = [] }: KnownLine, entry: KnownEntry): boolean {
  if (sources.some(({ at }) => at > entry.at) || nearDouble(entry.text, text) !== null) return false;
  const said = [entry.text, entry.changes ?? ''].join('\n');
  const standing = withoutReplaced(entry.text);
  return literals(withoutWhen(text)).some((value) => !containsLiteral(value, standing) && containsLiteral(value, said));
}

/** What is denied stays denied, and nothing else is. */
function checkSense(line: NewLine, { operation, entries, old, say }: Rest): void {
  const kept = keptOf({ operation, entries, old }).map(({ text }) => text);
  const denied = denialIn(isOpen(line) ? withoutUndecided(line.text) : line.text);
  const isLost = (text: string, lines: NewLine[]) =>
    denialIn(lines.some(isOpen) ? withoutUndecided(text) : text) !== null &&
    !lines.some((each) => denialIn(each.text) !== null || deniesSame(each.text, text)) &&
    !isOverBy(text, { operation, old });
  // Of an entry that several lines cite, one has to deny it.
  const citing = (id: string) => operation.lines.filter((each) => each.entries.includes(id));
  const lost =
    entries.find(({ id, text }) => isLost(text, citing(id)))?.text ?? kept.find((text) => isLost(text, [line]));
  if (lost !== undefined) {
    say(
      `the line ${quoted(line.text)} leaves out what ${quoted(lost)} denies by ${quoted(denialIn(lost) ?? '')} in ${quoted(deniedClause(lost) ?? lost)}: keep that word.`,
    );
  }
  const source = [
    ...entries.map(({ text }) => text),
    ...old.map(({ text }) => text),
    ...entries.flatMap(({ quotes }) => quotes),
  ];
  // That what it changes no longer holds, an entry says by changing it.
  const isOfChanged = entries.some(({ changes }) => changes && sharesTopic(deniedClause(line.text) ?? '', changes));
  const isNew = denied !== null && !isOfChanged && !source.some((text) => isNegated(text) || refusedIn(text) !== null);
  if (isNew && operation.kind !== 'supersede') {
    say(
      `nothing that ${quoted(line.text)} rests on denies anything, and it says ${quoted(denied)}: word it as it was said.`,
    );
  }
  const turned = entries.find(({ text }) => isOpposite(text, line.text));
  if (turned) say(`the line ${quoted(line.text)} says the opposite of ${turned.id}: ${quoted(turned.text)}.`);
}

/** Whether an entry denies only what is over, and lines that go said, and those that come no longer say. */
function isOverBy(text: string, { operation, old }: Pick<Rest, 'operation' | 'old'>): boolean {
  if (operation.kind !== 'supersede') return false;
  const [before, now] = [old, operation.lines].map((lines) => lines.map((each) => each.text).join('\n')) as [
    string,
    string,
  ];
  return deniedClauses(text).every(
    (clause) =>
      saysNoLonger(clause) &&
      [...contentWords(clause)].some((word) => countShared(word, before) > 0 && countShared(word, now) === 0),
  );
}

/** Whether a line denies, of what another text denies, the same: what it prefers to another counts, too. */
function deniesSame(line: string, other: string): boolean {
  const refused = refusedIn(line);
  const clauses = deniedClauses(other);
  if (clauses.every((theirs) => isBoundAlike(line, theirs))) return true;
  return clauses.some((theirs) => {
    // "Do not skip" is no "skip".
    const isRefused =
      refused !== null &&
      refusedIn(other) === null &&
      (countShared(refused, theirs) > 1 || literals(refused).some((value) => containsLiteral(value, theirs)));
    return (
      isRefused ||
      deniedClauses(line).some((mine) => countShared(mine.slice(mine.indexOf(negationIn(mine) ?? '')), theirs) > 1)
    );
  });
}

/** Who may say what: a rule for the work and a fact about the user come from a person. */
function checkSpeakers(line: NewLine, { operation, entries, context, say }: Rest & { context: DreamContext }): void {
  const topic = context.topics.get(operation.topic);
  const type: MemoryType | undefined = topic ? topic.type : operation.type;
  const others = entries.filter(({ by }) => by !== 'human' && by !== 'person');
  if (others.length > 0 && type !== 'project' && type !== 'reference') {
    const ids = others.map(({ id }) => id).join(', ');
    say(`${ids} was not said by the user, so it goes into a topic of type project or reference, or is dropped.`);
  }
  if (others.length > 0 && speaksToAgent(line.text)) {
    say(`the line ${quoted(line.text)} speaks to an agent, and the user did not say it: drop the entry.`);
  }
  if (hasWrapperTag(line.text)) say(`the line ${quoted(line.text)} holds a tag of this conversation.`);
}

/**
 * The day of the one session that showed what a line says, where nobody stated it; undefined for a plain line. `old`:
 * the sources of the lines whose place it takes and that go on holding.
 */
export function seenOnceIn(entries: KnownEntry[], old: LineSource[] = []): Day | undefined {
  const [first] = entries;
  if (!first || entries.some(({ strength }) => strength !== 'implied')) return undefined;
  if (old.some(({ strength }) => strength === 'stated')) return undefined;
  const sessions = new Set([...entries, ...old].map(sessionOf));
  if (sessions.size > 1) return undefined;
  return [...entries, ...old].map(({ at }) => dayIn(at)).sort()[0];
}

/** The session of a person's conversation; a subagent's belongs to it. */
export function sessionOf({ session }: { session: string }): string {
  return session.split('/')[0] ?? '';
}

function checkKept(
  operation: Writing,
  { context, cited, old, say }: { context: DreamContext; cited: Set<string>; old: KnownLine[]; say: Check['say'] },
): void {
  const newestCited = newestAt(entriesOf(context, [...cited]));
  for (const id of operation.entries) {
    const entry = context.entries.get(id);
    if (!entry || entry.isWithdrawn) continue;
    if (!cited.has(id)) {
      // In a supersede an older entry of the same night may give way to a newer one.
      if (operation.kind !== 'supersede') say(`no line cites ${id}.`);
      else if (entry.at > newestCited) say(`${id} is newer than what the lines rest on, and gives way to nothing.`);
      continue;
    }
    const citing = operation.lines.filter((line) => line.entries.includes(id)).map((line) => line.text);
    const { text, changes = '' } = entry;
    // A value of what goes may go with it, where the entry does not say that it still holds.
    const goes = operation.kind === 'supersede' ? [...old.map((line) => line.text), changes].join('\n') : '';
    const holds = withoutOver(text);
    const replaced = literals(text).filter((each) => containsLiteral(each, goes) && !containsLiteral(each, holds));
    tellLost(withoutFormer(text, changes), {
      written: [...citing, ...replaced].join('\n'),
      days: [dayIn(entry.at)],
      of: id,
      say,
    });
  }
  const written = operation.lines.map((line) => line.text).join('\n');
  const entries = entriesOf(context, operation.entries);
  for (const { text, sources = [] } of keptOf({ operation, entries, old })) {
    tellLost(text, { written, days: sources.map(({ at }) => dayIn(at)), of: `the line ${quoted(text)}`, say });
  }
}

function tellLost(
  text: string,
  { written, days, of, say }: { written: string; days: Day[]; of: string; say: Check['say'] },
): void {
  const values = valuesIn(withoutWhen(withoutReplaced(text), days));
  const lost = values.filter((value) => !isValueIn(value, written));
  if (lost.length > 0) say(`its lines lose ${lost.map(quoted).join(', ')} of ${of}: keep it letter for letter.`);
}

/** Words between the sides of what is open. */
const SIDES = /(?<![\p{L}])(?:or|either|vs|versus|oder|entweder|ou|soit|o)(?![\p{L}])/iu;

export function isOpen({ text }: { text: string }): boolean {
  return /^open:/i.test(text);
}

/** All that an entry says, the day and what it changes included. */
function wordsOf({ text, quotes, at, changes = '' }: KnownEntry): string[] {
  return [text, ...quotes, changes, dayIn(at)];
}

export function dayIn(at: string): string {
  return at.slice(0, 10);
}

export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 79)}…` : text);
}
