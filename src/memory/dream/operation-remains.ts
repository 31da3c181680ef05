// What a line that goes says besides what changes. A line may say several things, and an entry often changes one of them.
// Promises: a clause of a line that goes, of which the entries say nothing, is said by a line that stands afterwards:
// its values and names letter for letter, its other words for the most part. What the entries speak of may go as they
// say, old values, numbers, denials and dates included; so may what they name as changed, and the reasons that they deny.
// Whether the rest is still true, words cannot tell: the model is asked, and says in `over` what is not. What it names there
// may go, unless an entry says it. No question asks for a value that the entries replace. It never says that two texts
// mean the same.

import {
  asItIs,
  denialIn,
  deniedClause,
  valuesApart,
  withoutFormer,
  withoutReplaced,
  withoutWhen,
} from '../../rules/change-words.ts';
import { COMMON_VERBS, ENGLISH_MONTH, LIGHT, WEEKDAY } from '../../rules/lexicon.ts';
import { containsLiteral, containsLiteralTail, literals } from '../../rules/literals.ts';
import { contentWords, countSharedWords, isSameWord, sharesTopic } from '../../rules/words.ts';
import { quoted } from './operation-lines.ts';
import { type Check, entriesOf, type KnownEntry, type KnownLine, type Operation, topicOfLine } from './operations.ts';

type Replacing = Extract<Operation, { replaces: string[] }>;

interface Clause {
  text: string;
  /** A reason or a bracket: it may be worded anew or go, but for its values and names. */
  isAside: boolean;
  /** It stands behind a colon, or says why: it is said of what stands before it. */
  isReason: boolean;
  /** It begins with a word that points back, so that what ends the clause before it ends it, too. */
  isDependent: boolean;
}

export function checkRemains(operation: Replacing, { operations, context, gone, say }: Check): void {
  const entries = entriesOf(context, operation.entries);
  const knownLine = (id: string) =>
    topicOfLine(id, context, 'topic' in operation ? operation.topic : undefined)?.lines.get(id);
  const former = formerValues(
    operation.replaces.flatMap((id) => knownLine(id)?.text ?? []),
    entries,
  );
  for (const id of operation.replaces) {
    const known = knownLine(id);
    if (!known || /^open:/i.test(known.text)) continue;
    // Whether another session shows the same habit, in whatever words, only a model can tell.
    if (operation.kind === 'merge' && known.seenOnce !== undefined) continue;
    const clauses = unspoken(known.text, { operation, entries, night: [...context.entries.values()] });
    if (clauses.length === 0) continue;
    const draft = linesAfter(operations, { context, gone });
    const own = 'lines' in operation ? operation.lines.map(({ text }) => text) : [];
    for (const { clause, words } of clauses) {
      const night = [...context.entries.values()];
      const lost = lostOf({ clause, words }, { known, entries, night, own, draft, former });
      const isOver = lost.length > 0 && isNamedOver(clause, { lost, over: operation.over });
      const other = isOver ? saidByAnother(clause, { operation, night, draft }) : undefined;
      if (other)
        say(
          `line ${id} says ${quoted(clause.text)}, which "over" names, and ${other.id} says so, too: keep it in a line.`,
        );
      else if (lost.length > 0 && !isOver) say(askLost({ id, known, clause, lost, operation, former }));
    }
  }
}

/** The values in the place of which the entries say others, of what the lines say that they speak of. */
function formerValues(lines: string[], entries: KnownEntry[]): string {
  const said = entries.map(({ text }) => asItIs(text)).join('\n');
  const known = [...lines, ...entries.flatMap(({ changes }) => changes ?? [])].flatMap((text) => {
    const clauses = clausesOf(text);
    return clauses.length > 0 ? [mainOf(clauses, said).text] : [];
  });
  const former = known.filter((text) => valuesApart({ text }, { text: said }) !== null);
  return former.flatMap((text) => literals(withoutWhen(text)).filter((value) => !isSaid(value, said))).join('\n');
}

interface Loss {
  id: string;
  known: KnownLine;
  clause: Clause;
  lost: string[];
  operation: Replacing;
  former: string;
}

/** The question whether a clause is still true, with what is to be sent for either answer. */
function askLost({ id, known, clause, lost, operation, former }: Loss): string {
  const line = JSON.stringify({ text: asLine(clause.text), entries: operation.entries.slice(0, 1) });
  // A line that says the old value is false now.
  const isFormer = literals(clause.text).some((value) => isSaid(value, former));
  const how =
    operation.kind === 'merge'
      ? 'keep it in the line'
      : isFormer
        ? `say it of what holds now, in a line that ${operation.kind === 'retire' ? 'a supersede in place of retire adds' : 'comes'}`
        : operation.kind === 'supersede'
          ? `keep it in the line that comes, or add to "lines" one of its own: ${line}`
          : `use supersede in place of retire, with "lines": [${line}]`;
  return `line ${id} (${quoted(known.text)}) says ${quoted(clause.text)}, too, and no line would say ${lost.map(quoted).join(', ')} any more: is that still true? Then ${how}. If it is no longer true, send the operation again with "over": [${JSON.stringify(clause.text)}].`;
}

/** Whether the model says of a clause that it is no longer true: in most of its words, and with each value that goes. */
function isNamedOver({ text }: Clause, { lost, over = [] }: { lost: string[]; over?: string[] }): boolean {
  const values = literals(withoutWhen(text));
  const words = plainWords(text);
  const shareOf = (item: string) =>
    (countSharedWords(words, allWords(item)) + values.filter((value) => isSaid(value, item)).length) /
    (words.size + values.length);
  const items = over.filter((item) => item === text || shareOf(item) >= MOST);
  const gone = lost.filter((each) => values.includes(each) || /^[#@\p{Lu}]/u.test(each));
  return items.length > 0 && gone.every((value) => isSaid(value, items.join('\n')));
}

/** The entry of the night that says a clause which the model calls over, where no line would; those of the operation change it. */
function saidByAnother(
  { text }: Clause,
  { operation, night, draft }: { operation: Replacing; night: KnownEntry[]; draft: string[] },
): KnownEntry | undefined {
  const [values, words] = [literals(withoutWhen(text)), plainWords(text)];
  const isSaidIn = (other: string) =>
    values.every((each) => isSaid(each, other)) && (words.size === 0 || shareIn(words, other) >= MOST);
  if (draft.some(isSaidIn)) return undefined;
  return night.find(
    ({ id, isWithdrawn, text: said }) =>
      !isWithdrawn &&
      !operation.entries.includes(id) &&
      isSaidIn(asItIs(said)) &&
      (denialIn(text) === null) === (denialIn(said) === null),
  );
}

function asLine(clause: string): string {
  return `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.`;
}

/** All lines as they stand when the operations are carried out. */
function linesAfter(operations: Operation[], { context, gone }: Pick<Check, 'context' | 'gone'>): string[] {
  const standing = [...context.topics.values()].flatMap(({ name, lines }) =>
    [...lines].flatMap(([id, { text }]) => (gone.get(id)?.has(name) ? [] : [text])),
  );
  return [...standing, ...operations.flatMap((each) => ('lines' in each ? each.lines.map(({ text }) => text) : []))];
}

/** So much of what a clause says besides the others must be said for it to be spoken of, or kept. */
const MOST = 0.5;

/** The clauses of a line of which the entries say nothing, each with the words that it alone has. */
function unspoken(
  text: string,
  { operation, entries, night }: { operation: Replacing; entries: KnownEntry[]; night: KnownEntry[] },
): { clause: Clause; words: Set<string> }[] {
  // What someone takes back they may name by what was known; what they only change, they say themselves.
  const isEnd = operation.kind === 'retire';
  const wordsOf = ({ text: own, quotes, changes = '' }: KnownEntry) =>
    [own, ...quotes, ...(isEnd ? [changes] : [])].join('\n');
  const said = entries.map(wordsOf).join('\n');
  const isTakenBack = isEnd || entries.some((entry) => denialIn(entry.text) !== null);
  const clauses = joinedUp(clausesOf(text), ({ isDependent }) => isDependent && isTakenBack);
  if (clauses.length < 2) return [];
  const main = mainOf(clauses, said);
  const texts = [said, ...night.filter((entry) => !entries.includes(entry)).map(({ text: own }) => own)];
  const replaced = without(allWords(said), allWords(entries.map(({ text: own }) => asItIs(own)).join('\n')));
  const mayGo = endedBy(entries, clauses);
  return clauses.flatMap((clause) => {
    // What is said of a thing that is given up goes with it.
    const isOfReplaced = countSharedWords(allWords(clause.text), replaced) > 0;
    const words = without(plainWords(clause.text), plainWords(main.text));
    const isSpokenOf =
      clause === main ||
      isOfReplaced ||
      mayGo(clause) ||
      (words.size > 0 && texts.some((each) => shareIn(words, each) >= (each === said ? MOST : 1)));
    return isSpokenOf ? [] : [{ clause, words }];
  });
}

/** A denial that shares so many words with a line is about what the line says. */
const ABOUT = 2;

/** Which clauses the entries end: what they name as changed, and the reasons of the line that they deny. */
function endedBy(entries: KnownEntry[], clauses: Clause[]): (clause: Clause) => boolean {
  const reasons = clauses.filter(({ isReason: is }) => is);
  const isDenied = (told: Clause[]) => {
    const words = heavyWords(told.map(({ text }) => text).join('\n'));
    const denied = entries.map(({ text }) => heavyWords(deniedClause(text) ?? ''));
    return denied.some((each) => countSharedWords(words, each) >= ABOUT);
  };
  const changes = entries.flatMap((entry) => entry.changes ?? []).join('\n');
  // Who copies the whole line says nothing of what in it changes.
  const isChosen = clauses.some((clause) => !isNamedIn(clause, changes)) || isDenied(clauses);
  const said = entries.map(({ text }) => asItIs(text)).join('\n');
  const isReplaced = (clause: Clause) => valuesApart(clause, { text: said }) !== null && sharesTopic(clause.text, said);
  const areReasonsDenied = clauses.some((clause) => !clause.isReason && isReplaced(clause)) && isDenied(reasons);
  return (clause) => (isChosen && isNamedIn(clause, changes)) || (areReasonsDenied && clause.isReason);
}

function isNamedIn({ text }: Clause, changes: string): boolean {
  const [words, values] = [plainWords(text), literals(withoutWhen(text))];
  if (words.size + values.length === 0 || !values.every((value) => isSaid(value, changes))) return false;
  return words.size === 0 || shareIn(words, changes) >= MOST;
}

/** The clause that the entries speak of most. */
function mainOf(clauses: Clause[], said: string): Clause {
  const rank = ({ text }: Clause) => {
    const words = plainWords(text);
    const shared = countSharedWords(words, allWords(said));
    const values = literals(text).filter((value) => isSaid(value, said)).length;
    // Of two that are as near, the one with the value.
    return shared + values * 1.1 + (words.size === 0 ? 0 : shared / words.size / 2);
  };
  return clauses.reduce((best, clause) => (rank(clause) > rank(best) ? clause : best));
}

function lostOf(
  { clause, words }: { clause: Clause; words: Set<string> },
  at: {
    known: KnownLine;
    entries: KnownEntry[];
    night: KnownEntry[];
    own: string[];
    draft: string[];
    former: string;
  },
): string[] {
  const { known, entries, night, own, draft, former } = at;
  const days = (known.sources ?? []).map((source) => source.at.slice(0, 10));
  const asNow = withoutFormer(withoutWhen(withoutReplaced(clause.text.replace(ORIGIN, ' ')), days), clause.text);
  const names = [...literals(asNow), ...(asNow.match(HANDLE) ?? []), ...namesIn(asNow, known.text)];
  // Values of any entry of the night stand in its own line, which the checks see to.
  const heard = [...night.map(({ text }) => text), ...entries.flatMap(({ quotes }) => quotes), ...own].join('\n');
  const near = draft.filter((line) => words.size === 0 || countSharedWords(words, allWords(line)) > 0);
  const lost = names.filter((value) => ![heard, former, ...near].some((text) => isSaid(value, text)));
  if (lost.length > 0 || clause.isAside) return [...new Set(lost)];
  const kept = [entries.map(({ text }) => text).join('\n'), own.join('\n')].join('\n');
  const left = [...without(words, allWords(kept))];
  // What happens to a value is prose, where the value stands.
  const telling = names.length > 0 ? [...without(new Set(left), COMMON_VERBS)] : left;
  const isKept = draft.some((line) => shareIn(plainWords(clause.text), line) > MOST);
  const isBound = names.length > 0 || BOUND.test(clause.text) || denialIn(clause.text) !== null;
  const isLost =
    left.length > words.size * MOST && (left.length > (isBound ? 1 : 2) || (isBound && left.length === words.size));
  return isLost && !isKept ? telling : [];
}

function shareIn(words: Set<string>, text: string): number {
  return words.size === 0 ? 0 : countSharedWords(words, allWords(text)) / words.size;
}

/** Whether a value stands in a text, a number also as it may else be written (5k, 5000, 5,000). */
function isSaid(value: string, text: string): boolean {
  if (containsLiteral(value, text) || containsLiteralTail(value, text)) return true;
  if (/^\p{L}/u.test(value) && text.toLowerCase().includes(value.toLowerCase())) return true;
  const number = asNumber(value);
  return number !== null && literals(text).some((other) => asNumber(other) === number);
}

function asNumber(value: string): number | null {
  const [, digits = '', unit = ''] = /^#?(\d{1,3}(?:[,_]\d{3})+|\d+(?:\.\d+)?)\s?([km])?$/i.exec(value) ?? [];
  if (digits === '') return null;
  const scale = { k: 1_000, m: 1_000_000 }[unit.toLowerCase()] ?? 1;
  return Number(digits.replace(/[,_]/g, '')) * scale;
}

/** A name of one or two letters: QA, CI, B. */
const SHORT_NAME = /(?<![\p{L}\p{N}])(?:(?!I\s)[B-Z]|A(?=\s(?:is|was|has|runs)\s)|\p{Lu}{2})(?![\p{L}\p{N}])/gu;

function allWords(text: string): Set<string> {
  return new Set([...contentWords(text), ...(text.match(SHORT_NAME) ?? []).map((word) => word.toLowerCase())]);
}

/** The words that carry meaning and are no values. */
function plainWords(text: string): Set<string> {
  return heavyWords(literals(text).reduce((left, value) => left.replaceAll(value, ' '), text));
}

function heavyWords(text: string): Set<string> {
  return new Set([...allWords(text)].filter((word) => !LIGHT.has(word)));
}

function without(words: Set<string>, others: Set<string>): Set<string> {
  return new Set([...words].filter((word) => ![...others].some((other) => isSameWord(word, other))));
}

/** Where a value came from is history: "raised from 3000 on June 22", "after four days at 3000". */
const ORIGIN =
  /(?<=(?:ed|up|down|back|moved|went|grew|was|were)\s)from\s+\S+(?:\s+of\s+\S+)?(?:\s+(?:on|in|at)\s[^,;]*)?|(?<![\p{L}])(?:days?|weeks?|months?)\s+(?:at|on|with)\s+\S+/giu;
/** What bounds or denies is as good as a value. */
const BOUND =
  /(?<![\p{L}])(?:than|at least|at most|up to|except|unless|only|als|mindestens|höchstens|außer|nur|sauf|seulement|salvo|sólo|solo)(?![\p{L}])/iu;

const CALENDAR = new RegExp(`^${WEEKDAY}|^${ENGLISH_MONTH}$`, 'i');
const GERMAN = /(?<![\p{L}])(?:der|die|das|und|nicht|ist|für|wird|eine?|im|den|dem)(?![\p{L}])/giu;

/** A channel, or someone by their handle: #build, @kim. */
const HANDLE = /(?<![\p{L}\p{N}_/.&])[#@]\p{L}[\p{L}\p{N}_-]*(?![\p{L}\p{N}_/])/gu;

/** What is written with a capital inside a sentence; German writes every noun so. */
export function namesIn(clause: string, line: string): string[] {
  if ((line.match(GERMAN) ?? []).length > 1) return [];
  const found = clause.matchAll(/(?<![\p{L}\p{N}_.`"'“/-])\p{Lu}[\p{L}\p{N}-]+/gu);
  const starts = new Set([...line.matchAll(/(?:^|[.:!?]\s+)["'“(]?(\p{Lu}[\p{L}\p{N}-]+)/gu)].map(([, word]) => word));
  return [...found].map(([word]) => word).filter((word) => !starts.has(word) && !CALENDAR.test(word));
}

const AND = '(?:and|but|while|whereas|und|aber|während|et|mais|tandis que|y|pero|mientras|e|ma|mentre)';
const REASON = '(?:because|since|so that|weil|denn|damit|parce que|porque|perché|because of)';
const PARTS = new RegExp(`,\\s+(?:${AND}\\s+)?|\\s+${AND}\\s+|\\s+(?=${REASON}\\s)|\\s+[–—]\\s+`, 'giu');
const POINTS_BACK =
  /^(?:it|they|this|that|these|those|which|who|whose|she|he|each|otherwise|there|then|for example|e\.g|sie|es|er|diese[rsn]?|sonst|il|elle|ils|elles|cela|ce|ello|esto|eso)(?![\p{L}])/iu;
const PLANNED =
  /(?<![\p{L}])(?:plan\w*|left|todo|to do|open|remain\w*|missing|next|steps?|items?|things|offen|geplant|reste\w*|falta\w*)(?![\p{L}])/iu;
/** A list has so many items. */
const LIST = 3;

/** What a line says, clause by clause; a list stays whole with what it is of. */
function clausesOf(line: string): Clause[] {
  const spans: string[] = [];
  const masked = line.replace(/`[^`]+`|"[^"]{1,60}"/g, (span) => {
    spans.push(span);
    return `\uE000${spans.length - 1}\uE001`;
  });
  const asides: string[] = [];
  const rest = masked.replace(/\s*\(([^()]+)\)/g, (bracket, inner: string) => {
    if (plainWords(inner).size < 2) return bracket;
    asides.push(...inner.split(/[;,]\s+/));
    return '';
  });
  const clauses = [
    ...rest
      .split(/[.;!?](?=\s|$)/)
      .flatMap(partsOf)
      .map(({ text, isBehind }) => ({ text, isAside: isReason(text), isReason: isBehind || isReason(text) })),
    ...asides.map((text) => ({ text, isAside: true, isReason: false })),
  ];
  const shown = clauses.map((clause) => {
    const text = clause.text.replace(/\uE000(\d+)\uE001/g, (_, at) => spans[Number(at)] ?? '').trim();
    return { ...clause, text, isDependent: POINTS_BACK.test(text) };
  });
  const [first, second, ...others] = joinedUp(
    shown.filter(({ text }) => text !== ''),
    isFragment,
  );
  if (!first || !second || !isFragment(first))
    return [first, second, ...others].filter((clause) => clause !== undefined);
  return [{ ...first, text: `${first.text}, ${second.text}` }, ...others];
}

const LEADING = /^(?:in|at|on|with|by|for|within|to|from|mit|bei|an|für|von|avec|dans|con|en)\s/iu;

/** Too short to say something by itself. */
function isFragment({ text }: Clause): boolean {
  if (LEADING.test(text) && text.split(/\s+/).length < 4) return true;
  return text.split(/\s+/).length < 3 && plainWords(text).size + literals(text).length < 2 && !BOUND.test(text);
}

function isReason(text: string): boolean {
  return new RegExp(`^${REASON}\\s`, 'iu').test(text);
}

/** The clauses of a sentence, each with whether it stands behind a colon. */
function partsOf(sentence: string): { text: string; isBehind: boolean }[] {
  const cut = (text: string, isBehind: boolean) => text.split(PARTS).map((part) => ({ text: part, isBehind }));
  const [, head, tail] = /^(.{2,}?):\s+(.+)$/s.exec(sentence) ?? [];
  if (head === undefined || tail === undefined) return cut(sentence, false);
  if (PLANNED.test(head) || tail.split(/,\s+/).length >= LIST) return [{ text: sentence, isBehind: false }];
  return [...cut(head, false), ...cut(tail, true)];
}

/** Clauses with those of which `isPart` holds put back to the one before. */
function joinedUp(clauses: Clause[], isPart: (clause: Clause) => boolean): Clause[] {
  const joined: Clause[] = [];
  for (const clause of clauses) {
    const last = joined.at(-1);
    if (last && isPart(clause)) joined[joined.length - 1] = { ...last, text: `${last.text}, ${clause.text}` };
    else joined.push(clause);
  }
  return joined;
}
