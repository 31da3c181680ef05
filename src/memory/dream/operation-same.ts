// Whether what an operation takes for one thing is one. Words cannot tell: two texts may say the same without a common
// word, and differ in one word only and speak of two things.
// Promises: opposites are never joined; nor is one thing what names two, each of which has a value or a name that the other
// lacks. All else that looks like two things is asked about, with both texts, and passes where the operation says `same`,
// which the report tells. What an entry itself names as what it changes, nobody is asked about.

import type { Day } from '../../base/time.ts';
import { nearDouble, valuesApart, withoutReplaced, withoutWhen } from '../../rules/change-words.ts';
import { LIGHT } from '../../rules/lexicon.ts';
import { containsLiteral, literals } from '../../rules/literals.ts';
import { contentWords, countShared, countSharedWords, isOpposite, isSameWord, sharesTopic } from '../../rules/words.ts';
import { dayIn, isOpen, keptOf, quoted, replacedLines, sessionOf } from './operation-lines.ts';
import { namesIn } from './operation-remains.ts';
import type { DreamContext, KnownEntry, KnownLine, Writing } from './operations.ts';

/** What is said of something; `isShown`: nobody stated it, a session showed it. */
interface Said {
  text: string;
  isShown: boolean;
}

/** The question whether two texts speak of one thing; `otherwise`: what is to be done where they do not. */
function askSame(one: string, other: string, otherwise: string): string {
  return `do ${JSON.stringify(one)} and ${JSON.stringify(other)} speak of one and the same thing? If they do, send the operation again with "same": true. If not, ${otherwise}.`;
}

/** Values, or else names, of which each text has one that the other lacks: what they speak of is not one thing. */
function namedApart(a: string, b: string): [string, string] | null {
  const [mine, theirs] = [withoutWhen(a), withoutWhen(b)];
  const pairOf = (find: (text: string) => string[]): [string, string] | null => {
    const of = find(mine).find((value) => !containsLiteral(value, theirs));
    const other = find(theirs).find((value) => !containsLiteral(value, mine));
    return of !== undefined && other !== undefined ? [of, other] : null;
  };
  return pairOf(literals) ?? pairOf((text) => namesIn(text, text));
}

/** Words of order, which habits of any kind hold. */
const ORDER = new Set('before after first then once bevor nachdem zuerst avant après antes después'.split(' '));
/** Words of who wants it. */
const WISHES = new Set('want wants prefer prefers like likes ask asks will möchte wünscht bevorzugt'.split(' '));
/** So much of what the shorter of two says stands in the other where they are one habit. */
const ONE_HABIT = 1 / 3;

/** Whether two habits look like two: each has one word that the other lacks and all else is the same, or they share too little. */
function areHabitsApart(a: string, b: string): boolean {
  const words = [a, b].map((text) => contentWords(text).difference(ORDER)) as [Set<string>, Set<string>];
  const [mine, theirs] = words.map((each) => each.difference(WISHES)) as typeof words;
  return areApart(...words) && areApart(mine, theirs);
}

function areApart(mine: Set<string>, theirs: Set<string>): boolean {
  const countAlone = (words: Set<string>, others: Set<string>) =>
    [...words].filter((word) => ![...others].some((other) => isSameWord(word, other))).length;
  const shared = Math.min(countSharedWords(mine, theirs), countSharedWords(theirs, mine));
  const least = Math.min(mine.size, theirs.size);
  const isLittle = shared < Math.min(2, least) || shared < ONE_HABIT * least;
  return isLittle || (countAlone(mine, theirs) === 1 && countAlone(theirs, mine) === 1);
}

/** Whether what each line of an operation puts together is one thing. */
export function checkSame(
  operation: Writing,
  { context, say }: { context: DreamContext; say(problem: string): void },
): void {
  const old = replacedLines(operation, context);
  for (const line of operation.lines) {
    const entries = line.entries.flatMap((id) => context.entries.get(id) ?? []);
    const joined = isOpen(line) ? [] : [...entries.map(asSaid), ...keptOf({ operation, entries, old }).map(asSaid)];
    const days = entries.map(({ at }) => dayIn(at));
    const problems = [refusalOfJoined(line.text, joined, { days, same: operation.same })];
    if (operation.kind === 'merge') {
      for (const known of old)
        problems.push(refusalOfMerging(known, { entries, line: line.text, same: operation.same }));
    }
    // One question is enough for both.
    const [first, ...more] = problems.filter((problem) => problem !== null);
    if (first) say(first);
    for (const problem of more) if (!ASKS.test(problem)) say(problem);
  }
  if (operation.kind === 'merge' && operation.lines.length > 1) {
    say('a merge puts lines into one line: use one operation for each.');
  }
}

const ASKS = /speak of one and the same thing\? If they do/;

function asSaid({
  text,
  strength,
  sources = [],
}: Pick<KnownEntry, 'text'> & Partial<Pick<KnownEntry, 'strength'> & KnownLine>): Said {
  const isShown = strength
    ? strength === 'implied'
    : sources.length > 0 && sources.every((each) => each.strength === 'implied');
  return { text: withoutReplaced(text), isShown };
}

/** Why texts are not put into one line; null: they may be. */
function refusalOfJoined(
  line: string,
  said: Said[],
  { days, same }: { days: Day[]; same: boolean | undefined },
): string | null {
  const together = `the line ${quoted(line)} puts`;
  for (const [at, { text: one, isShown }] of said.entries()) {
    for (const { text: other, isShown: isOtherShown } of said.slice(at + 1)) {
      const looksApart = isShown && isOtherShown ? areHabitsApart(one, other) : nearDouble(one, other) !== null;
      const values = valuesApart({ text: one, days }, { text: other, days }) ?? (looksApart && namedApart(one, other));
      if (values) {
        return `${together} ${values.map(quoted).join(' and ')} together, which ${quoted(one)} and ${quoted(other)} say: keep them apart, each in a line of its own. If the newer changes the older, supersede it.`;
      }
      if (looksApart && !same)
        return `${together} two texts together: ${askSame(one, other, 'keep them apart, each in a line of its own')}`;
    }
  }
  return null;
}

/** Of a line and the part of `changes` that is like it, so much of the shorter stands in the other. */
const NAMES_IT = 0.6;

/** Whether an entry names a line as what it changes. */
function isNamedBy({ changes = '' }: KnownEntry, line: string): boolean {
  const words = contentWords(line);
  return [changes, ...changes.split(/;\s|(?<=[.!?])\s+(?=\p{Lu})/u)].some((part) => {
    const named = contentWords(part);
    const least = Math.min(named.size, words.size);
    if (least < 2 || countSharedWords(named, words) < NAMES_IT * least) return false;
    return (
      nearDouble(part, line) === null &&
      !areHabitsApart(part, line) &&
      valuesApart({ text: part }, { text: line }) === null
    );
  });
}

/** Why entries do not take the place of a line, or take it back; null: they speak of what it speaks of. */
export function refusalOfSubject(
  { text, seenOnce }: KnownLine,
  standing: KnownEntry[],
  same: boolean | undefined,
): string | null {
  const [first] = standing;
  if (!first) return `(${quoted(text)}) is about something else than these entries: it stays, and they are added`;
  const isOnlyShown = standing.every(({ strength }) => strength === 'implied');
  const hasOneSession = new Set(standing.map(sessionOf)).size < 2;
  if (isOnlyShown && hasOneSession && seenOnce === undefined) {
    return `(${quoted(text)}) stands for more than ${first.id}, which one session only showed: let it stay and add a line`;
  }
  if (standing.some((entry) => isNamedBy(entry, text))) return null;
  const saidBy = ({ text: own, quotes, changes = '' }: KnownEntry) => [own, ...quotes, changes].join('\n');
  const about = standing.filter((entry) => sharesTopic(text, [entry.text, ...entry.quotes].join('\n')));
  const stays = 'let it stay and add a line, or write both into one that begins with "Open:"';
  if (about.length === 0) {
    const isOfValues = literals(withoutWhen(text)).length > 0;
    if (isOfValues) return `(${quoted(text)}) is about something else than these entries: it stays, and they are added`;
    return same ? null : `is asked about: ${askSame(text, first.text, stays)}`.replace(/\.$/, '');
  }
  const apart = about.filter((entry) => nearDouble([entry.text, entry.changes ?? ''].join(' ').trim(), text) !== null);
  if (apart.length < about.length) return null;
  const named = apart.map((entry) => namedApart(saidBy(entry), text));
  const [pair] = named;
  if (pair && named.every((each) => each !== null)) {
    const [of, other] = pair.map(quoted);
    return `(${quoted(text)}) speaks of ${other}, and ${first.id} of ${of}: what looks alike is not the same. Let it stay and add a line, or write both into one that begins with "Open:"`;
  }
  return same ? null : `is asked about: ${askSame(text, apart[0]?.text ?? '', stays)}`.replace(/\.$/, '');
}

/** Why an entry is not said by what it is dropped for, in other words too; null: it is. */
export function refusalOfRepeating(entry: string, text: string, same: boolean | undefined): string | null {
  const isSaid =
    countShared(entry, text) * 2 >= contentWords(entry).size ||
    countShared(text, entry) * 3 >= contentWords(text).size * 2;
  return isSaid || same ? null : `its words are not there: ${askSame(entry, text, 'add it').replace(/\.$/, '')}`;
}

/** Why an entry does not give way to something; null: they speak of the same. */
export function refusalOfGivingWay(entry: string, newer: string, same: boolean | undefined): string | null {
  if (sharesTopic(entry, newer)) return null;
  if (literals(withoutWhen(entry)).length > 0) return 'what it would give way to is about something else';
  return same ? null : askSame(entry, newer, 'add it').replace(/\.$/, '');
}

function refusalOfMerging(
  known: KnownLine,
  { entries, line, same }: { entries: KnownEntry[]; line: string; same: boolean | undefined },
): string | null {
  const { text, seenOnce, sources = [] } = known;
  const said = entries.map((entry) => entry.text);
  const turned = said.find((each) => isOpposite(each, text));
  if (turned) return `${quoted(turned)} says the opposite of ${quoted(text)}: supersede the line.`;
  const ask = (other: string) => (same ? null : askSame(text, other, 'let the line stay, and add one'));
  const isShownAgain = entries.some((entry) => !sources.some((source) => sessionOf(source) === sessionOf(entry)));
  if (seenOnce !== undefined && isShownAgain) return sharesTopic(text, line) ? null : ask(line);
  const shared = countShared(text, said.join('\n'));
  const size = contentWords(text).size;
  if (shared * 2 >= size || (shared > 1 && shared * 3 > size)) return null;
  // A rule that is shown again is seldom shown in its words.
  const isNear = isNearBy(known, entries);
  if (isNear && shareSaid(text, line) >= STAYS && said.every((each) => shareSaid(each, line) >= SAID)) return null;
  const apart = said.map((each) => namedApart(text, each)).find((pair) => pair !== null);
  if (apart) {
    return `${quoted(text)} says something else than ${said.map(quoted).join(', ')}, by ${apart.map(quoted).join(' and ')}: let it stay, and add a line.`;
  }
  return ask(said.join(' '));
}

/** So many words that carry meaning are in a line and in what shows it again. */
const NEAR = 2;
/** So much of the line, and of what shows it again, is in the line that comes. */
const STAYS = 3 / 4;
const SAID = 1 / 2;

function shareSaid(text: string, line: string): number {
  return countShared(text, line) / Math.max(1, contentWords(text).size);
}

/** Whether entries that only show something speak of what a line says, by their quotes and what it rests on, too. */
function isNearBy({ text, sources = [] }: KnownLine, entries: KnownEntry[]): boolean {
  if (entries.some(({ strength }) => strength !== 'implied')) return false;
  const ofLine = contentWords([text, ...sources.flatMap((source) => source.text ?? [])].join('\n'));
  const shown = contentWords(entries.flatMap((entry) => [entry.text, ...entry.quotes]).join('\n'));
  const words = [...ofLine].filter((word) => !LIGHT.has(word) && !/^\p{N}+$/u.test(word));
  return countSharedWords(new Set(words), shown) >= NEAR;
}
