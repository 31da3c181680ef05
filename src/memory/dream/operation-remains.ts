// What a line that goes says besides what changes. A line may say several things, and an entry often changes one of them.
// Promises: a clause of a line that goes, of which the entries say nothing, is said by a line that stands afterwards:
// its values and names letter for letter, its other words for the most part. What the entries speak of may go as they
// say, old values, numbers, denials and dates included. It never says that two texts mean the same.

import { asItIs, denialIn, withoutFormer, withoutReplaced, withoutWhen } from '../../base/text/change-words.ts';
import { ENGLISH_MONTH, WEEKDAY } from '../../base/text/lexicon.ts';
import {
  containsLiteral,
  containsLiteralTail,
  contentWords,
  countSharedWords,
  isSameWord,
  literals,
} from '../../base/text/wording.ts';
import { quoted } from './operation-lines.ts';
import { type DreamContext, type KnownEntry, type KnownLine, type Operation, topicOfLine } from './operations.ts';

type Replacing = Extract<Operation, { replaces: string[] }>;

interface Check {
  operations: Operation[];
  context: DreamContext;
  /** The lines that any operation takes out, with the topics that lose them. */
  gone: Map<string, Set<string>>;
  say(problem: string): void;
}

export interface Clause {
  text: string;
  /** A reason or a bracket: it may be worded anew or go, but for its values and names. */
  isAside: boolean;
  /** It begins with a word that points back, so that what ends the clause before it ends it, too. */
  isDependent: boolean;
}

export function checkRemains(operation: Replacing, { operations, context, gone, say }: Check): void {
  const entries = operation.entries.flatMap((id) => context.entries.get(id) ?? []);
  for (const id of operation.replaces) {
    const known = topicOfLine(id, context, 'topic' in operation ? operation.topic : undefined)?.lines.get(id);
    if (!known || /^open:/i.test(known.text)) continue;
    // Whether another session shows the same habit, in whatever words, only a model can tell.
    if (operation.kind === 'merge' && known.seenOnce !== undefined) continue;
    const clauses = unspoken(known.text, { operation, entries, night: [...context.entries.values()] });
    if (clauses.length === 0) continue;
    const draft = linesAfter(operations, { context, gone });
    const own = 'lines' in operation ? operation.lines.map(({ text }) => text) : [];
    for (const { clause, words } of clauses) {
      const lost = lostOf({ clause, words }, { known, entries, night: [...context.entries.values()], own, draft });
      if (lost.length > 0) say(sayLost({ id, known, clause, lost, operation }));
    }
  }
}

function sayLost(at: { id: string; known: KnownLine; clause: Clause; lost: string[]; operation: Replacing }): string {
  const { id, known, clause, lost, operation } = at;
  const ids = operation.entries.join(', ');
  const line = JSON.stringify({ text: asLine(clause.text), entries: operation.entries.slice(0, 1) });
  const how =
    operation.kind === 'supersede'
      ? `keep it in the line that comes, or add to "lines" one of its own, such as ${line}`
      : operation.kind === 'merge'
        ? 'keep it in the line'
        : `use supersede in place of retire, with "lines": [${line}]`;
  return `line ${id} (${quoted(known.text)}) says ${quoted(clause.text)}, too, which ${ids} does not change, and no line would say ${lost.map(quoted).join(', ')} any more: ${how}.`;
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
  // What somebody takes back they may name by what was known; what they only change, they say themselves.
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
  return clauses.flatMap((clause) => {
    // What is said of a thing that is given up goes with it.
    const isOfReplaced = countSharedWords(allWords(clause.text), replaced) > 0;
    const words = without(plainWords(clause.text), plainWords(main.text));
    const isSpokenOf =
      clause === main ||
      isOfReplaced ||
      (words.size > 0 && texts.some((each) => shareIn(words, each) >= (each === said ? MOST : 1)));
    return isSpokenOf ? [] : [{ clause, words }];
  });
}

/** The clause that the entries speak of most. */
function mainOf(clauses: Clause[], said: string): Clause {
  const rank = ({ text }: Clause) => {
    const words = plainWords(text);
    const shared = countSharedWords(words, allWords(said));
    const values = literals(text).filter((value) => isSaid(value, said)).length;
    return shared + values + (words.size === 0 ? 0 : shared / words.size / 2);
  };
  return clauses.reduce((best, clause) => (rank(clause) > rank(best) ? clause : best));
}

function lostOf(
  { clause, words }: { clause: Clause; words: Set<string> },
  at: { known: KnownLine; entries: KnownEntry[]; night: KnownEntry[]; own: string[]; draft: string[] },
): string[] {
  const { known, entries, night, own, draft } = at;
  const days = (known.sources ?? []).map((source) => source.at.slice(0, 10));
  const asNow = withoutFormer(withoutWhen(withoutReplaced(clause.text.replace(ORIGIN, ' ')), days), clause.text);
  const names = [...literals(asNow), ...(asNow.match(HANDLE) ?? []), ...namesIn(asNow, known.text)];
  // Values of any entry of the night stand in its own line, which the checks see to.
  const heard = [...night.map(({ text }) => text), ...entries.flatMap(({ quotes }) => quotes), ...own].join('\n');
  const near = draft.filter((line) => words.size === 0 || countSharedWords(words, allWords(line)) > 0);
  const lost = names.filter((value) => ![heard, ...near].some((text) => isSaid(value, text)));
  if (lost.length > 0 || clause.isAside) return [...new Set(lost)];
  const kept = [entries.map(({ text }) => text).join('\n'), own.join('\n')].join('\n');
  const left = [...words].filter((word) => ![...allWords(kept)].some((other) => isSameWord(word, other)));
  const isKept = draft.some((line) => shareIn(plainWords(clause.text), line) > MOST);
  const isBound = names.length > 0 || BOUND.test(clause.text) || denialIn(clause.text) !== null;
  const isLost =
    left.length > words.size * MOST && (left.length > (isBound ? 1 : 2) || (isBound && left.length === words.size));
  return isLost && !isKept ? left : [];
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

const LIGHT = new Set(
  (
    'can could may might must should would shall does did done been being has had not than then also only just still now very more most ' +
    'too any all some each both own they them she him her his its this that these those which who what when where while into onto over under ' +
    'about after before because since said says asked wants agreed decided noted already always please itself themselves one two ' +
    'auch nur noch sehr wird wurde werden kann soll muss weil dass sich nicht kein keine aber wenn als wie bei nach vor über unter ' +
    'pas plus que qui pour par dans sur mais avec peut doit está están para con por como más pero'
  ).split(' '),
);

/** A name of one or two letters: QA, CI, B. */
const SHORT_NAME = /(?<![\p{L}\p{N}])(?:(?!I\s)[B-Z]|A(?=\s(?:is|was|has|runs)\s)|\p{Lu}{2})(?![\p{L}\p{N}])/gu;

function allWords(text: string): Set<string> {
  return new Set([...contentWords(text), ...(text.match(SHORT_NAME) ?? []).map((word) => word.toLowerCase())]);
}

/** The words that carry meaning and are no values. */
function plainWords(text: string): Set<string> {
  const plain = literals(text).reduce((left, value) => left.replaceAll(value, ' '), text);
  return new Set([...allWords(plain)].filter((word) => !LIGHT.has(word)));
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

/** A channel, or somebody by their handle: #build, @kim. */
const HANDLE = /(?<![\p{L}\p{N}_/.&])[#@]\p{L}[\p{L}\p{N}_-]*(?![\p{L}\p{N}_/])/gu;

/** What is written with a capital inside a sentence; German writes every noun so. */
function namesIn(clause: string, line: string): string[] {
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
export function clausesOf(line: string): Clause[] {
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
      .map((text) => ({ text, isAside: isReason(text) })),
    ...asides.map((text) => ({ text, isAside: true })),
  ];
  const shown = clauses.map(({ text, isAside }) => {
    const whole = text.replace(/\uE000(\d+)\uE001/g, (_, at) => spans[Number(at)] ?? '').trim();
    return { text: whole, isAside, isDependent: POINTS_BACK.test(whole) };
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
  return text.split(/\s+/).length < 3 && plainWords(text).size + literals(text).length < 2;
}

function isReason(text: string): boolean {
  return new RegExp(`^${REASON}\\s`, 'iu').test(text);
}

function partsOf(sentence: string): string[] {
  const [, head, tail] = /^(.{2,}?):\s+(.+)$/s.exec(sentence) ?? [];
  if (head === undefined || tail === undefined) return sentence.split(PARTS);
  if (PLANNED.test(head) || tail.split(/,\s+/).length >= LIST) return [sentence];
  return [...head.split(PARTS), ...tail.split(PARTS)];
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
