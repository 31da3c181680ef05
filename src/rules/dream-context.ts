// What a dream's operations speak of: the operations, the entries, lines and topics that they are checked against, and what a
// line rests on: whether a new one goes on saying what an old one said, which of its clauses nothing says, whether it is
// certain. It is where each clause is carried by a statement, or shown by two sessions; a habit is worded anew by each
// session, so that half of the words are enough. Pure: what may be done is decided in operation-rules.ts.

import type { Day } from '../base/time.ts';
import { claimsSpeaker, hasCondition, isDenied } from './languages.ts';
import type { Found } from './lessons.ts';
import { distinctValues, isValueIn, literals, valuesIn } from './literals.ts';
import {
  CARRIED_SHARE,
  carriedShare,
  clausesOf,
  contentWords,
  countSharedWords,
  isOpposite,
  shareIn,
  withoutGivenUp,
} from './words.ts';

export type TopicType = 'user' | 'feedback' | 'project' | 'reference';

export interface NewLine {
  text: string;
  /** Ids of what it rests on. */
  entries: string[];
}

/** Lines that go out of topics, and lines that come into one. */
export interface Put {
  kind: 'put';
  reason: string;
  topic?: string;
  type?: TopicType;
  description?: string;
  /** Ids of lines. */
  out?: string[];
  in?: NewLine[];
  /** What else of the lines that go is no longer true. */
  over?: string[];
  /** Entries that give way without a line, or that take lines out. */
  entries?: string[];
}

export interface Drop {
  kind: 'drop';
  reason: string;
  entries: string[];
  because: (typeof DROP_REASONS)[number];
  /** The line or entry that stands for what is dropped. */
  of?: string;
}

/** Why an entry may be left out. The first two name what stands for it; the last three are taken at the model's word. */
const BY_ANOTHER = ['duplicate', 'gave-way'] as const;
export const DROP_REASONS = [...BY_ANOTHER, 'ephemeral', 'in-repository', 'unsupported'] as const;

export interface Rename {
  kind: 'rename';
  reason: string;
  topic: string;
  to: string;
  description?: string;
}

export type Operation = Put | Drop | Rename;

/** An entry as the model is shown it: redacted. */
export interface KnownEntry {
  id: string;
  type: TopicType;
  strength: 'stated' | 'implied';
  at: string;
  text: string;
  quotes: string[];
  /** Who said each quote, as far as it is known. */
  speakers?: (string | undefined)[];
  by: string;
  /** What it changes of what is known, as it was understood. */
  changes?: string;
  /** The id of the line that it was seen to say again. */
  again?: string;
  /** Which kind of lesson it is, where an agent found it out. */
  found?: Found;
  /** Who said it, where that was not the user. */
  person?: string;
  /** Where it was said; a subagent's is `<session>/<agent>`. */
  session: string;
}

/** What a line rests on. */
export interface LineSource {
  id: string;
  at: string;
  session: string;
  /** Default: not known. */
  text?: string;
  strength?: 'stated' | 'implied';
  found?: Found | null;
  person?: string | null;
  /** Who said it. */
  by?: string;
}

export interface KnownLine {
  /** Without the mark of what was seen once. */
  text: string;
  isPersons: boolean;
  /** A program wrote it, or an agent by a tool; default: false. */
  isPrograms?: boolean;
  /** The day of the one session that showed it; undefined for a plain line. */
  seenOnce?: Day;
  /** None for a line that no dream wrote. */
  sources?: LineSource[];
}

export interface KnownTopic {
  name: string;
  path: string;
  type: TopicType | undefined;
  isPinned: boolean;
  /** Default: not known. */
  description?: string;
  /** Of its file as it stands. */
  bytes: number;
  /** By line id. */
  lines: Map<string, KnownLine>;
}

/** What the operations are checked against. */
export interface DreamContext<Topic extends KnownTopic = KnownTopic> {
  entries: Map<string, KnownEntry>;
  /** By name; all topics, also those that were not shown. */
  topics: Map<string, Topic>;
  /** Of all topics of the memory; default: not known, so that no loss is too great. */
  lines?: number;
}

/** An operation as a report and a person are told of it. */
export type ToldKind = 'add' | 'change' | 'retire' | 'drop' | 'rename';

export function toldKind(operation: Operation): ToldKind {
  if (operation.kind !== 'put') return operation.kind;
  if (linesOut(operation).length === 0) return 'add';
  return linesIn(operation).length === 0 ? 'retire' : 'change';
}

/** The ids of all entries that an operation is about, each once. */
export function entryIds(operation: Operation): string[] {
  const own = operation.kind === 'rename' ? [] : (operation.entries ?? []);
  return [...new Set([...linesIn(operation).flatMap((line) => line.entries), ...own])];
}

export const linesIn = (operation: Operation): NewLine[] => (operation.kind === 'put' && operation.in) || [];
export const linesOut = (operation: Operation): string[] => (operation.kind === 'put' && operation.out) || [];

/** Whether both may be about one entry: what it changes may stand in several topics, each of which is changed by itself. */
export function areOfOneChange(a: Operation, b: Operation): boolean {
  if (a.kind !== 'put' || b.kind !== 'put' || a.topic === b.topic) return false;
  const out = new Set([...linesOut(a), ...linesOut(b)]);
  return out.size > 0 && out.size === linesOut(a).length + linesOut(b).length;
}

/** The entries of these ids, as far as they are known. */
export const knownEntries = ({ entries }: DreamContext, ids: string[]) => ids.flatMap((id) => entries.get(id) ?? []);

/** Whether no dream wrote a line, so that none changes it. */
export const isOthers = ({ isPersons, isPrograms = false }: Pick<KnownLine, 'isPersons' | 'isPrograms'>) =>
  isPersons || isPrograms;

/** Whether a person asked to remember it, by a command or in a log: no session said it. */
export const isAskedFor = ({ by, session }: Pick<KnownEntry, 'by' | 'session'>) =>
  by === 'person' || (by === 'human' && session === '');

/** The topic that holds a line: of several the preferred one, else one that may be changed; undefined for none. */
export function topicOfLine<T extends KnownTopic>(line: string, context: DreamContext<T>, preferred?: string) {
  const own = context.topics.get(preferred ?? '');
  if (own?.lines.has(line)) return own;
  const holding = [...context.topics.values()].filter((topic) => topic.lines.has(line));
  const isFree = ({ isPinned, lines }: T) => !isPinned && !isOthers(lines.get(line) as KnownLine);
  return holding.find(isFree) ?? holding[0];
}

/** The newest time of these; an empty text, which is before all times, for none. */
export const newestAt = (said: { at: string }[]) => said.reduce((newest, { at }) => (at > newest ? at : newest), '');

/** Of whom something tells what they are or want; empty: of the user, or of nobody. */
export const wantedBy = ({ person, text }: { person?: string | null; text?: string }) =>
  person && text?.includes(person) ? person : '';

/** Whether two tell of one person what they want, or neither does. */
export const isOfOne = (a: Parameters<typeof wantedBy>[0], b: typeof a) => wantedBy(a) === wantedBy(b);

/** The session of a person's conversation; a subagent's belongs to it. */
export const sessionOf = ({ session }: { session: string }) => session.split('/')[0] ?? '';

// What a line rests on.

/** Of a clause so many words, or else so great a part of them, are in what shows it. */
const SHOWN_WORDS = 2;
const SHOWN_PART = 1 / 2;

/** What stands in brackets, or behind the last semicolon: of a habit its occasions. */
const OCCASIONS = /\s*\([^()]*\)|;[^;]*?(?=\.?$)/g;

/** A text without these. */
export const mainPart = (text: string) => text.replace(OCCASIONS, '');

/** What of a line must not be lost: of a habit that one session showed all but its occasions. */
export const lastingIn = ({ text, seenOnce, sources = [] }: KnownLine) =>
  seenOnce !== undefined && sources.every(({ found }) => !found) ? mainPart(text) : text;

/** A line that goes on as another without the occasions that only one session showed; what was stated, denies or limits stays. */
export function withoutOccasions(text: string, of: { cited: KnownEntry[]; carried: KnownLine[] }): string {
  if (of.carried.length === 0 || of.cited.some(({ found }) => found)) return text;
  const isUnsure = (part: string) => certaintyOf(part, of).unsure.length > 0;
  const stated = of.cited.flatMap((entry) => (entry.strength === 'stated' ? [entry.text] : []));
  const isStated = (part: string) => literals(part).some((value) => stated.some((said) => isValueIn(value, said)));
  const stays = (part: string) => isStated(part) || isDenied(part) || hasCondition(part) || !isUnsure(part);
  const rest = text.replace(OCCASIONS, (part) => (stays(part) ? part : ''));
  return rest !== text && certaintyOf(rest, of).isCertain && !isUnsure(rest) ? rest : text;
}

/** Whether a text says all that a line says, word by word. */
export function keepsAllOf(old: KnownLine, text: string, share = 1): boolean {
  const isThere = valuesIn(lastingIn(old)).every((value) => isValueIn(value, text));
  return isThere && shareIn(old.text, text) >= share && !isOpposite(old.text, text);
}

/**
 * The new line that goes on saying what a line says which goes out, and which no entry that it cites changes: every word
 * of it, since one may be who or what; of a habit the share that carries it. Undefined where the line is replaced.
 */
export function carrierOf(line: KnownLine, put: Put, context: DreamContext): NewLine | undefined {
  const share = line.seenOnce === undefined ? 1 : CARRIED_SHARE;
  return linesIn(put).find(
    ({ text, entries }) =>
      keepsAllOf(line, text, share) &&
      !knownEntries(context, entries).some(({ changes = '' }) => keepsAllOf(line, changes)),
  );
}

/**
 * The line that goes of which this one, that cites no entry, is what still holds: its words in their order, some left out, a path
 * as the put renames it. It rests on what that rested on.
 */
export function wholeOf<Line extends KnownLine>(
  line: NewLine,
  out: Iterable<Line>,
  renames: [string, string][] = [],
): Line | undefined {
  if (line.entries.length > 0) return undefined;
  const isWhole = (text: string) => saysInOrder(text, line.text) && !isOpposite(text, line.text);
  return [...out].find(({ text, isPersons }) => !isPersons && [text, ...renamedIn(text, renames)].some(isWhole));
}

/** Whether a text says the words of a line in their order. */
function saysInOrder(text: string, line: string): boolean {
  const wordsOf = (some: string) => some.replaceAll('`', '').split(/[.,;:]*\s+|[.,;:]+$/);
  const words = wordsOf(line).filter((word) => word !== '');
  let said = 0;
  for (const word of wordsOf(text)) if (word === words[said]) said += 1;
  return said === words.length;
}

const PATH = /[^/]\/[^/]/;

const GAVE_WAY =
  /^`?\s+(?:(?:is|are|was|were|(?:has|have) been)\s+)?(?:now\s+)?(?:replaced|renamed|moved)(?![\p{L}-])/iu;

/** Of two paths of an entry the old and the new one, where it says that the old one gave way, or of the new one all that it changes. */
export function renamesOf(put: Put, context: DreamContext): [string, string][] {
  return knownEntries(context, entryIds(put)).flatMap(({ text, changes = '' }) => {
    const named = literals(`${text}\n${changes}`).map((value) => value.replace(/\/$/, ''));
    const paths = [...new Set(named)].filter((value) => PATH.test(value) && !/\s/.test(value));
    const both = paths.length === 2 ? ([paths, paths.toReversed()] as [string, string][]) : [];
    const says = (what: string) => keepsAllOf({ text: what, isPersons: false }, text);
    const isGone = (old: string) => GAVE_WAY.test(text.split(old).at(-1) ?? '');
    return both.filter(([old, by]) => (text.includes(old) ? isGone(old) : says(changes.replaceAll(old, by))));
  });
}

/** A text with each path as it is renamed, also where it begins a longer one or stands in a command. */
export const renamedIn = (text: string, renames: [string, string][]) =>
  renames.flatMap(([from, to]) => {
    const other = text.replace(new RegExp(`(?<![\\w./-])${RegExp.escape(from)}(?![\\w-])`, 'g'), () => to);
    return other === text ? [] : [other];
  });

/**
 * The topics that lose a line to an operation. What is no longer true is true nowhere: it goes from every topic where
 * nocturne may change it. Of a line that a new one carries one copy is changed, since the others still hold.
 */
export function topicsLosing<Topic extends KnownTopic>(line: string, put: Put, context: DreamContext<Topic>): Topic[] {
  const own = topicOfLine(line, context, put.topic);
  const known = own?.lines.get(line);
  if (!own || !known) return [];
  if (carrierOf(known, put, context)) return [own];
  const losing = [...context.topics.values()].filter(({ isPinned, lines }) => {
    const copy = lines.get(line);
    return !isPinned && copy && !isOthers(copy);
  });
  return losing.length > 0 ? losing : [own];
}

/**
 * Of a line that rests on entries, and on lines that it takes the place of and goes on saying: the clauses that nothing says,
 * those that no statement carries nor two sessions show, whether a statement is among it, whether some of the line is
 * certain, and the first day of what was only seen once, with whether it is an agent's finding alone.
 */
export function certaintyOf(text: string, { cited, carried }: { cited: KnownEntry[]; carried: KnownLine[] }) {
  const isPlain = ({ seenOnce }: KnownLine) => seenOnce === undefined;
  const [entries, habits] = [
    cited.filter(({ strength }) => strength === 'stated'),
    carried.filter((each) => !isPlain(each)),
  ];
  const stated = [...entries.map(personsFirst), ...carried.filter(isPlain).map((line) => [line.text])];
  const shown = [
    ...cited.filter(({ strength }) => strength === 'implied').map((entry) => ({ ...entry, words: saidBy(entry) })),
    ...habits.flatMap((line) => (line.sources ?? []).map((source) => ({ ...source, words: [line.text] }))),
  ];
  // That a person asked or wants it is shown by its being theirs.
  const isCarried = (clause: string) => (words: string[]) =>
    [clause, clause.replace(claimsSpeaker(clause) ?? '', '')].some(
      (said) => carriedShare(said, words) >= CARRIED_SHARE,
    );
  const isSaid = (clause: string) => (words: string[]) => !/\p{L}{2}/u.test(clause) || isCarried(clause)(words);
  const countSessions = (clause: string) =>
    new Set(shown.filter(({ words }) => isShownBy(clause, words.join('\n'))).map(sessionOf)).size;
  const unstated = clausesOf(text).filter((clause) => !stated.some(isSaid(clause)));
  const unsure = unstated.filter((clause) => countSessions(clause) < 2);
  const unsaid = unsure.filter((clause) => countSessions(clause) === 0);
  const isHabit = ({ seenOnce, sources = [] }: KnownLine) =>
    seenOnce !== undefined || (sources.length > 0 && sources.every(({ strength }) => strength === 'implied'));
  const isStated = entries.length > 0 || !carried.every(isHabit);
  const isFound = shown.every(({ found, by }) => found || PROGRAMS.has(by ?? ''));
  // A finding stays marked until all of it was found again; a habit is two lines then.
  const isCertain = stated.length > 0 || (!isFound && unsure.length < unstated.length);
  const first: Day | undefined = shown.map(({ at }) => at.slice(0, 10)).sort()[0];
  const once = !isCertain && unsure.length > 0 && first && { seenOnce: first, isFound };
  return { unsaid, unsure, isStated, isCertain, ...once };
}

/** What these say was found, and no person showed it. */
const PROGRAMS: ReadonlySet<string> = new Set(['tool', 'assistant', 'subagent']);

/** The entry with the words of the line that it was seen to show again, where that goes out: a habit has other words each time. */
export function withAgain(entry: KnownEntry, out: Map<string, KnownLine>): KnownEntry {
  const line = entry.strength === 'implied' ? out.get(entry.again ?? '') : undefined;
  return line ? { ...entry, quotes: [...entry.quotes, line.text] } : entry;
}

export const saidBy = ({ text, quotes }: KnownEntry) => [text, ...quotes];

/** The same, what a person said before what they answer: of many quotes only the first carry anything. */
function personsFirst({ text, quotes, speakers = [] }: KnownEntry): string[] {
  const { true: own = [], false: others = [] } = Object.groupBy(
    quotes,
    (_, at) => `${speakers[at] === 'human'}` as const,
  );
  return [text, ...own, ...others];
}

/** Two values of one kind of a line, of which what it rests on has one each: such texts look alike, and speak of two things. */
export function apartIn(line: string, said: { text: string }[]): [string, string] | null {
  const texts = said.map(({ text }) => {
    const others = literals(text).filter((value) => !isValueIn(value, line));
    return others.reduce((left, value) => left.replaceAll(value, ' '), withoutGivenUp(text));
  });
  const pairs = texts.flatMap((one, at) => texts.slice(at + 1).map((other) => distinctValues(one, other)));
  return pairs.find((apart) => apart !== null) ?? null;
}

/** Whether an entry may show a habit: not where each has one word that the other lacks, and all else is the same. */
export function isSameHabit(habit: string, entry: KnownEntry): boolean {
  const [words, others] = [contentWords(habit), contentWords(entry.text)];
  const aloneIn = (some: Set<string>, other: Set<string>) => some.size - countSharedWords(some, other);
  const isOther = aloneIn(words, others) === 1 && aloneIn(others, words) === 1;
  return !isOther && isShownBy(habit, saidBy(entry).join('\n'));
}

function isShownBy(text: string, words: string): boolean {
  const own = contentWords(text);
  const shared = countSharedWords(own, contentWords(words));
  return shared >= Math.min(SHOWN_WORDS, own.size) && shared >= SHOWN_PART * own.size;
}

/** Whether an entry shows the habit of a line that goes and stands on in one that comes. */
export const isOfCarried = (entry: KnownEntry, put: Put, context: DreamContext) =>
  entry.strength === 'implied' &&
  !entry.found &&
  linesOut(put).some((id) => {
    const known = topicOfLine(id, context, put.topic)?.lines.get(id);
    return known && isSameHabit(known.text, entry) && carrierOf(known, put, context);
  });
