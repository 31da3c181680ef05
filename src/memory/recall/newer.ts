// Whether something said since the last dream changes what a topic's line says, so that recall puts it before that line.
// Where the entry itself says what it changes, that decides. Else the words do: one thing has another value, is over, is
// denied or allowed now, or goes by another name. What differs in more than that speaks of something else, or adds.
// It never says that two texts mean the same.

import { asItIs, denialIn, valuesApart, withoutWhen } from '../../base/text/change-words.ts';
import { containsLiteral, contentWords, distinctValues, isSameWord, literals } from '../../base/text/wording.ts';

const any = (words: string) => new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${words})(?![\p{L}\p{N}])`, 'giu');

/** It is otherwise than it was. */
const TURN =
  'now|from now on|any ?more|no longer|again|meanwhile|as of today|instead|jetzt|nun|ab jetzt|ab sofort|wieder|nicht mehr|inzwischen|stattdessen|maintenant|désormais|de nouveau|ahora|ya no|de nuevo|adesso|ormai|di nuovo';
/** Verbs of becoming otherwise. */
const MOVES =
  'moves?|moved|switch(?:es|ed)?|changes?|changed|lower(?:s|ed)?|raise[sd]?|renamed?|replaced?|goes|went|became|becomes|umgezogen|gewechselt|geändert|umbenannt|ersetzt';
/** It is over, or has come about, or is off, or open again. */
const ENDED = any(
  'off|over|done|finished|complete|completed|cancell?ed|dropped|abandoned|revoked|withdrawn|merged|live|out|shipped|released|closed|forget|undecided|open|erledigt|fertig|abgesagt|vorbei|abgeschlossen|offen|gestrichen|terminé|terminée|annulé|annulée|fini|finie|hecho|terminado|cancelado|annullato|finito',
);
/** What is said beside something, not in its place. */
const ADDS = any('also|too|as well|in addition|additionally|auch|ebenfalls|zudem|aussi|también|anche|inoltre');
/** What somebody wants or says is not how it is. */
const REPORTED = any(
  'asked|asks|request(?:ed|s)|suggest(?:ed|s)|propos(?:ed|es)|wished|wondered|claimed|bat|wünscht|wünschte|schlug|fragte|demandait|propuso|pidió',
);
/** Who holds what one person holds at a time. */
const HOLDS = any('owns?|leads?|maintains?|decides?|manages?|heads?|leitet|verantwortet|dirige|lidera');
const TURNED = any(`${TURN}|${MOVES}`);
const IS_TURN = new RegExp(`^(?:${TURN})$`, 'iu');
/** What stands before a value that says which thing it is. */
const INTRODUCES = /^(?:the|a|an|version|release|number|issue|pr|der|die|das|le|la|les|el|los|il|lo)$/iu;
const NAMED = /^(?:called|named|heißt|genannt|appelé|llamado|chiamato)$/iu;

/** Words that carry nothing of which thing it is. */
const LIGHT = new RegExp(
  `^(?:${TURN}|${MOVES}|not|no|never|always|none|nothing|any|all|every|each|only|just|still|already|more|enough|must|should|shall|may|can|could|would|will|does|do|did|need|needs|been|being|one|get|gets|use|uses|used|fine|allowed|whether|version|number|called|named|nicht|kein|keine|keinen|nie|immer|mehr|muss|soll|darf|kann|wird|werden|nur|noch|schon|jamais|toujours|nunca|siempre|mai)$`,
  'iu',
);
const WEEKDAYS = any(
  'mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|weekdays|montags?|dienstags?|mittwochs?|donnerstags?|freitags?|samstags?|sonntags?|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes',
);
const COUNTS = any(
  'one|two|three|four|five|six|seven|eight|nine|ten|zwei|drei|vier|fünf|sechs|deux|trois|quatre|dos|tres|cuatro',
);
/** How far something is. */
const PROGRESS = /(?:\d[\d,.]*|all)\s+(?:of\s+(?:the\s+)?)?\d[\d,.]*|\d+\s?%/giu;
/** What follows says why, or more; the thing is named before it. */
const REST = /[;:(,](?=\s|$)|\.(?=\s)|\s(?=(?:because|since|so that|which|weil|damit|parce que|porque|perché)\s)/iu;

/** A text as far as it tells of which thing it speaks, and what it says of it. */
interface Statement {
  text: string;
  /** The words for the thing, without values. */
  words: Set<string>;
  values: string[];
}

/** What was said, with what of the things known before it changes. */
export interface SaidSince {
  said: { text: string; changes?: string };
  words: Set<string>;
  parts: Statement[];
}

export function readSaid(said: { text: string; changes?: string }): SaidSince {
  const { text, changes = '' } = said;
  const parts = [text, ...clausesOf(text)].map(statementOf);
  return { said, parts, words: contentWords(`${text} ${changes}`) };
}

/** Those of what was said since that change what a line says. */
export function newerThan<Each extends SaidSince>(line: string, all: Each[]): Each[] {
  const words = contentWords(line);
  // Most of it has nothing to do with the line, which is quickly told.
  const near = all.filter((each) => words.intersection(each.words).size > 0);
  if (near.length === 0) return [];
  const whole = statementOf(line);
  const lines = [whole, statementOf(clausesOf(line)[0] ?? line)];
  return near.filter(({ said, parts }) => {
    if (said.changes) return isMeant(said.changes, line);
    if (test(REPORTED, said.text) && !test(REPORTED, line)) return false;
    const isChanged = parts.some((part) => lines.some((each) => isOtherNow(part, each)));
    return isChanged || namesAsOver(said.text, line) || isOver(said.text, whole);
  });
}

/**
 * Whether what an entry says that it changes is this line: half of the shorter one stands in the other, and no
 * value is another.
 */
function isMeant(changes: string, line: string): boolean {
  const [meant, there] = [contentWords(changes), contentWords(line)];
  if (2 * sharedOf(meant, there).length < Math.min(meant.size, there.size)) return false;
  return valuesApart({ text: changes }, { text: line }) === null;
}

/** One thing, of which the one says another value, name or holder, or denies what the other does not. */
function isOtherNow(said: Statement, line: Statement): boolean {
  const { shared, ofSaid, ofLine } = compare(said, line);
  const isDenied = (denialIn(said.text) === null) !== (denialIn(line.text) === null);
  const isOne = ofSaid.length === 0 || ofLine.length === 0;
  const rest = ofSaid.length + ofLine.length;
  if (isDenied) return shared > 1 && isOne && rest <= shared;
  if (test(ADDS, said.text)) return false;
  const isTurned = test(TURNED, said.text);
  if (hasOtherValue(said.text, line.text) && !beginsApart(said, line)) {
    if (shared > 0 && isOne && rest <= shared + 1) return true;
    if (isTurned && shared > 0 && subjectOf(said).every((word) => hasWord(subjectOf(line), word))) return true;
  }
  return hasOtherName(said.text, line.text) || isHeldByOther(said.text, line.text, isTurned);
}

/** Whether both have a value of a kind that the other has not. */
function hasOtherValue(said: string, line: string): boolean {
  const [mine, theirs] = [withoutWhen(said), withoutWhen(line)];
  if (distinctValues(mine, theirs) !== null) return true;
  return [WEEKDAYS, COUNTS, PROGRESS].some((kind) => {
    const [ofSaid, ofLine] = [found(kind, mine), found(kind, theirs)];
    return ofSaid.some((value) => !ofLine.includes(value)) && ofLine.some((value) => !ofSaid.includes(value));
  });
}

/** Whether both begin with a value, each with another one: then that is which thing it is. */
function beginsApart(said: Statement, line: Statement): boolean {
  const [mine, theirs] = [said, line].map(({ text, values }) => {
    const first = tokensOf(text).find((token) => !INTRODUCES.test(token));
    return first !== undefined && values.includes(first) ? first : null;
  });
  return mine !== null && theirs !== null && mine !== theirs;
}

/** Whether one thing is called otherwise in both. */
function hasOtherName(said: string, line: string): boolean {
  const [mine, theirs] = [said, line].map((text) => {
    const tokens = tokensOf(text);
    const at = tokens.findIndex((token) => NAMED.test(token));
    return at < 0 ? null : { thing: statementOf(tokens.slice(0, at).join(' ')), name: tokens[at + 1] };
  });
  if (!mine || !theirs || isEqual(mine.name, theirs.name)) return false;
  const { shared, ofSaid, ofLine } = compare(mine.thing, theirs.thing);
  return shared > 0 && (ofSaid.length === 0 || ofLine.length === 0);
}

/** Texts that are the same but for one word: at their beginning, who holds it; further on, where it changes. */
function isHeldByOther(said: string, line: string, isTurned: boolean): boolean {
  const [mine = [], theirs = []] = [said, line].map((text) => tokensOf(text).filter((token) => !IS_TURN.test(token)));
  let from = 0;
  while (from < mine.length && isEqual(mine[from], theirs[from])) from += 1;
  let to = 0;
  while (to < Math.min(mine.length, theirs.length) - from && isEqual(mine.at(-1 - to), theirs.at(-1 - to))) to += 1;
  if (mine.length - to - from !== 1 || theirs.length - to - from !== 1) return false;
  return from === 0 ? to > 1 && test(HOLDS, said) : isTurned && from > 1;
}

/** Whether an entry names, as what is no longer so, what a line says of something that it names too. */
function namesAsOver(said: string, line: string): boolean {
  const standing = asItIs(said);
  if (standing === said) return false;
  const [now, before] = [contentWords(standing), contentWords(said)];
  const over = [...before].filter((word) => !hasWord([...now], word));
  const values = literals(said).filter((value) => !containsLiteral(value, standing));
  const there = contentWords(line);
  const isNamed =
    over.some((word) => hasWord([...there], word)) || values.some((value) => containsLiteral(value, line));
  return isNamed && sharedOf(now, there).filter((word) => !LIGHT.test(word)).length > 0;
}

/** Whether a text says that what a line tells of is over, off, out or open, and speaks of nothing else. */
function isOver(said: string, line: Statement): boolean {
  return clausesOf(said).some((clause) => {
    if (!test(ENDED, clause) || test(ENDED, line.text)) return false;
    const { words, values } = statementOf(clause.replace(ENDED, ' '));
    const named = values.filter((value) => containsLiteral(value, line.text)).length;
    const shared = sharedOf(words, line.words).length;
    return shared === words.size && named === values.length && named + shared > 0 && (named > 0 || shared > 1);
  });
}

function statementOf(text: string): Statement {
  const plain = withoutWhen(text);
  const values = literals(plain);
  const left = values
    .reduce((rest, value) => rest.replaceAll(value, ' '), plain)
    .replace(PROGRESS, ' ')
    .replace(WEEKDAYS, ' ')
    .replace(COUNTS, ' ');
  return { text: plain, values, words: new Set([...contentWords(left)].filter((word) => !LIGHT.test(word))) };
}

function compare(said: Statement, line: Statement): { shared: number; ofSaid: string[]; ofLine: string[] } {
  const ofSaid = [...said.words].filter((word) => !hasWord([...line.words], word));
  const ofLine = [...line.words].filter((word) => !hasWord([...said.words], word));
  const values = said.values.filter((value) => containsLiteral(value, line.text)).length;
  return { shared: said.words.size - ofSaid.length + values, ofSaid, ofLine };
}

/** The words of a statement before its first value or little word in the middle of it. */
function subjectOf({ text, words, values }: Statement): string[] {
  const subject: string[] = [];
  for (const token of tokensOf(text)) {
    const word = token.toLowerCase();
    if (hasWord([...words], word)) subject.push(word);
    else if (subject.length > 0 || values.includes(token)) break;
  }
  return subject;
}

function clausesOf(text: string): string[] {
  return text.split(REST).filter((clause) => clause.trim() !== '');
}

function sharedOf(a: Set<string>, b: Set<string>): string[] {
  return [...a].filter((word) => hasWord([...b], word));
}

function hasWord(words: string[], word: string): boolean {
  return words.some((other) => isSameWord(word, other));
}

function tokensOf(text: string): string[] {
  return text.split(/\s+/).flatMap((token) => token.replace(/^[("'“„`]+|[)"'”“`.,;:!?]+$/gu, '') || []);
}

function isEqual(a = '', b = ''): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

function test(pattern: RegExp, text: string): boolean {
  return text.search(pattern) >= 0;
}

function found(pattern: RegExp, text: string): string[] {
  return [...text.matchAll(pattern)].map(([match]) => match.toLowerCase());
}
