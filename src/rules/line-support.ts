// What a line of a dream rests on: whether a new line goes on saying what an old one said, which of its clauses nothing
// says, and whether it is certain. A line is certain where each of its clauses is carried by a statement, or shown by two
// sessions; a habit is worded anew by each session, so that half of the words are enough. Pure.

import type { Day } from '../base/time.ts';
import {
  type DreamContext,
  isOthers,
  isWithdrawal,
  type KnownEntry,
  type KnownLine,
  type KnownTopic,
  knownEntries,
  type LineSource,
  linesIn,
  type NewLine,
  type Put,
  sessionOf,
  topicOfLine,
} from './dream-context.ts';
import { isValueIn, valuesIn } from './literals.ts';
import { CARRIED_SHARE, carriedShare, contentWords, countSharedWords, isOpposite, shareIn } from './words.ts';

/** Of a clause so many words, or else so great a part of them, are in what shows it. */
const SHOWN_WORDS = 2;
const SHOWN_PART = 1 / 2;
/** What is shorter says nothing by itself. */
const CLAUSE_WORDS = 3;

/** Whether a text says all that a line says, word by word. */
export function keepsAllOf(old: KnownLine, text: string, share = 1): boolean {
  const isThere = valuesIn(old.text).every((value) => isValueIn(value, text));
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
 * The topics that lose a line to an operation. What is no longer true is true nowhere: it goes from every topic where
 * nocturne may change it. Of a line that a new one carries one copy is changed, since the others still hold; what is
 * withdrawn takes the copies along that rest on nothing else.
 */
export function topicsLosing<Topic extends KnownTopic>(line: string, put: Put, context: DreamContext<Topic>): Topic[] {
  const own = topicOfLine(line, context, put.topic);
  const known = own?.lines.get(line);
  if (!own || !known) return [];
  if (carrierOf(known, put, context)) return [own];
  const isByWithdrawal = isWithdrawal(put, context);
  const isGone = ({ id }: LineSource) => context.entries.get(id)?.isWithdrawn === true;
  const losing = [...context.topics.values()].filter((topic) => {
    const copy = topic.lines.get(line);
    if (topic.isPinned || !copy || isOthers(copy)) return false;
    return !isByWithdrawal || (copy.sources?.length !== 0 && copy.sources?.every(isGone));
  });
  return losing.length > 0 ? losing : [own];
}

/**
 * Of a line that rests on entries, and on lines that it takes the place of and goes on saying: the clauses that nothing says,
 * those that no statement carries nor two sessions show, whether a statement is among it, whether the line is certain by
 * one, and the first day of what was only seen once.
 */
export function certaintyOf(text: string, { cited, carried }: { cited: KnownEntry[]; carried: KnownLine[] }) {
  const isPlain = ({ seenOnce }: KnownLine) => seenOnce === undefined;
  const [entries, habits] = [
    cited.filter(({ strength }) => strength === 'stated'),
    carried.filter((each) => !isPlain(each)),
  ];
  const stated = [...entries.map(wordsOf), ...carried.filter(isPlain).map((line) => [line.text])];
  const shown = [
    ...cited.filter(({ strength }) => strength === 'implied').map((entry) => ({ ...entry, words: wordsOf(entry) })),
    ...habits.flatMap((line) => (line.sources ?? []).map((source) => ({ ...source, words: [line.text] }))),
  ];
  const isSaid = (clause: string) => (words: string[]) =>
    !/\p{L}{2}/u.test(clause) || carriedShare(clause, words) >= CARRIED_SHARE;
  const countSessions = (clause: string) =>
    new Set(shown.filter(({ words }) => isShownBy(clause, words.join('\n'))).map(sessionOf)).size;
  const unstated = clausesOf(text).filter((clause) => !stated.some(isSaid(clause)));
  const unsure = unstated.filter((clause) => countSessions(clause) < 2);
  const unsaid = unsure.filter((clause) => countSessions(clause) === 0);
  const isHabit = ({ seenOnce, sources = [] }: KnownLine) =>
    seenOnce !== undefined || (sources.length > 0 && sources.every(({ strength }) => strength === 'implied'));
  const isStated = entries.length > 0 || !carried.every(isHabit);
  const isCertain = stated.length > 0;
  const first: Day | undefined = shown.map(({ at }) => at.slice(0, 10)).sort()[0];
  return { unsaid, unsure, isStated, isCertain, ...(!isCertain && unsure.length > 0 && first && { seenOnce: first }) };
}

/** The entry with the words of the line that it was seen to show again, where that goes out: a habit has other words each time. */
export function withAgain(entry: KnownEntry, out: Map<string, KnownLine>): KnownEntry {
  const line = entry.strength === 'implied' ? out.get(entry.again ?? '') : undefined;
  return line ? { ...entry, quotes: [...entry.quotes, line.text] } : entry;
}

const wordsOf = ({ text, quotes }: KnownEntry) => [text, ...quotes];

/** Whether an entry may show a habit: not where each has one word that the other lacks, and all else is the same. */
export function isSameHabit(habit: string, entry: KnownEntry): boolean {
  const [words, others] = [contentWords(habit), contentWords(entry.text)];
  const aloneIn = (some: Set<string>, other: Set<string>) => some.size - countSharedWords(some, other);
  const isOther = aloneIn(words, others) === 1 && aloneIn(others, words) === 1;
  return !isOther && isShownBy(habit, wordsOf(entry).join('\n'));
}

function isShownBy(text: string, words: string): boolean {
  const own = contentWords(text);
  const shared = countSharedWords(own, contentWords(words));
  return shared >= Math.min(SHOWN_WORDS, own.size) && shared >= SHOWN_PART * own.size;
}

/** What a line says, sentence by sentence and behind each comma, colon or bracket; what is short belongs to what is before it. */
function clausesOf(line: string): string[] {
  const clauses: string[] = [];
  for (const part of line.split(/(?<=[.;:!?,])\s+|\s+[–—]\s+|\s*[()]\s*/)) {
    const isShort = isFragment(part);
    if (isShort && clauses.length > 0) clauses.push(`${clauses.pop()} ${part}`);
    else if (part !== '') clauses.push(part);
  }
  const [first = '', second, ...rest] = clauses;
  return second !== undefined && isFragment(first) ? [`${first} ${second}`, ...rest] : clauses;
}

function isFragment(part: string): boolean {
  return [...contentWords(part)].filter((word) => /\p{L}/u.test(word)).length < CLAUSE_WORDS;
}
