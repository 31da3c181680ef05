// Whether something said since the last dream changes what a topic's line says, so that recall puts it before that line.
// Where the entry itself says what it changes, that decides: of all lines, those that say it best. Else the words do: one
// thing has another value, is over, is denied or allowed now, or goes by another name. What differs in more than that speaks
// of something else, or adds; what is put off, or was shown only once, changes nothing. It never says that two texts mean
// the same.

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
/** What is said in addition to something, not in its place. */
const ADDS = any('also|too|as well|in addition|additionally|auch|ebenfalls|zudem|aussi|también|anche|inoltre');
/** What someone wants or says is not how it is. */
const REPORTED = any(
  'asked|asks|request(?:ed|s)|suggest(?:ed|s)|propos(?:ed|es)|wished|wondered|claimed|bat|wünscht|wünschte|schlug|fragte|demandait|propuso|pidió',
);
const PENDING =
  'put off|postponed|deferred|tabled|not now|nicht jetzt|pas maintenant|ahora no|undecided|not decided|not settled|aufgeschoben|zurückgestellt|vertagt|unentschieden|nicht entschieden|reporté|pas décidé|aplazado|pospuesto|rinviato';
/** What is not decided is not how it is; what is put off to a day has that day. */
const UNSETTLED = new RegExp(
  String.raw`^(?:${PENDING}|open|offen|ouvert|abierto|aperto)\s*:|(?<![\p{L}\p{N}])(?:${PENDING})(?![\p{L}\p{N}]|\s+(?:to|till|until|auf|bis|au|jusqu|hasta|al)(?![\p{L}]))`,
  'iu',
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
  /** It is said behind what names the thing, so that a single word of it names none. */
  isRest?: boolean;
}

/** What was said; `changes`: what of the things known before; `isHabit`: it was only shown, once. */
interface Said {
  text: string;
  changes?: string;
  isHabit?: boolean;
}

export interface SaidSince {
  said: Said;
  words: Set<string>;
  parts: Statement[];
  /** What it says that it changes, thing by thing. */
  named: Thing[];
  /** What it says became of tickets. */
  tickets: Ended[];
}

export function readSaid(said: Said): SaidSince {
  const { text, changes = '' } = said;
  const parts = [text, ...clausesOf(text)].map((part, at) => ({ ...statementOf(part), isRest: at > 1 }));
  return { said, parts, words: contentWords(`${text} ${changes}`), named: namedIn(changes), tickets: endedIn(text) };
}

/** So much of the shorter of the two stands in the other; as where a dream looks for the line. */
const SAYS_IT = 0.6;
/** And so much of what the line says that says it best: "staging" or "production" is then no small difference. */
const AS_WELL = 0.9;
/** A part of so few words names no thing by itself. */
const MOST_OF_NONE = 2;

/** Of so few words two are those for the thing, and the third is what is said of it: "the pipeline is Priya's". */
const FEW = 3;

/** A text with the words for the thing of which it speaks. */
interface Thing {
  text: string;
  words: Set<string>;
}

/** By any line, those of what was said since that change what it says; `lines`: all among which they may find theirs. */
export function newerAmong<Each extends SaidSince>(lines: string[], all: Each[]): (line: string) => Each[] {
  const named = all.flatMap((each) => each.named);
  const things = new Map((named.length > 0 ? lines : []).map((line) => [line, thingOf(line)]));
  const best = new Map(
    named.map((each) => [each, Math.max(0, ...[...things.values()].map((line) => shareOf(each, line)))]),
  );
  return (line) => {
    const words = contentWords(line);
    // Most of it has nothing to do with the line, which is quickly told.
    const near = all.filter((each) => words.intersection(each.words).size > 0);
    if (near.length === 0) return [];
    const thing = things.get(line) ?? thingOf(line);
    const statements = [statementOf(line), statementOf(clausesOf(line)[0] ?? line)] as const;
    return near.filter((each) => {
      if (!each.said.changes) return isChangedBy(each, line, statements);
      return each.named.some((one) => shareOf(one, thing) >= Math.max(SAYS_IT, AS_WELL * (best.get(one) ?? 0)));
    });
  };
}

function namedIn(changes: string): Thing[] {
  const parts = changes.split(/;\s|(?<=[.!?])\s+(?=\p{Lu})/u).map(thingOf);
  const alone = parts.filter(({ words }) => words.size > MOST_OF_NONE);
  return alone.length > 1 ? alone : [thingOf(changes)].filter(({ words }) => words.size > 0);
}

/** How much of what is named a line says, or of the line what is named; 0 where that is too little, or a value is another. */
function shareOf(named: Thing, line: Thing): number {
  const least = Math.min(named.words.size, line.words.size);
  if (least === 0 || named.words.intersection(line.words).size === 0) return 0;
  // One word of the one may be like two of the other: "entire" is in "entire" and "entiredb".
  const shared = Math.min(sharedOf(named.words, line.words).length, sharedOf(line.words, named.words).length);
  return shared >= (least <= FEW ? least : SAYS_IT * least) && valuesApart(named, line) === null ? shared / least : 0;
}

function thingOf(text: string): Thing {
  return { text, words: new Set([...contentWords(withoutWhen(text))].filter((word) => !LIGHT.test(word))) };
}

/** Whether what was said changes a line, by the words of both. */
function isChangedBy(
  { said, parts, tickets }: SaidSince,
  line: string,
  statements: readonly [whole: Statement, first: Statement],
): boolean {
  if (said.isHabit) return false;
  if (test(REPORTED, said.text) && !test(REPORTED, line)) return false;
  if (isOver(said.text, statements[0]) || tickets.some((each) => isTicketOver(each, line))) return true;
  if (test(UNSETTLED, said.text)) return false;
  return parts.some((part) => statements.some((each) => isOtherNow(part, each))) || namesAsOver(said.text, line);
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
    if (shared > (said.isRest ? 1 : 0) && isOne && rest <= shared + 1) return true;
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

/** What is set apart from it is not over: "large-blob-test, not large-ref-test". */
const APART = /,\s*(?:and\s+|und\s+)?(?:not|nicht|no|non|pas|niet)\s(?!longer|mehr)[^,;:.()]*/giu;

/** Whether an entry names, as what is no longer so, what a line says of something that it names too. */
function namesAsOver(text: string, line: string): boolean {
  const said = text.replace(APART, ' ');
  const standing = asItIs(said);
  if (standing === said) return false;
  const [now, before] = [contentWords(standing), contentWords(said)];
  const over = [...before].filter((word) => !LIGHT.test(word) && !hasWord([...now], word));
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

/** What becomes of a pull request or an issue. */
const TICKET_ENDED = any(
  'merged|closed|reverted|reopened|abandoned|declined|rejected|fixed|resolved|done|shipped|released|live|superseded|gemergt|gemerged|geschlossen|erledigt|behoben',
);
const NUMBER = /(?<![\p{L}\p{N}_/])(?:#|(?:PR|MR|issue|pull request|merge request)\s+#?)(\d+)(?![\p{L}\p{N}_-])/giu;
const KEY = /(?<![\p{L}\p{N}_/-])(\p{Lu}[\p{Lu}\p{N}]+-\d+)(?![\p{L}\p{N}_-])/gu;

/** What a clause says became of one ticket. */
interface Ended {
  ticket: string;
  how: string[];
}

function endedIn(text: string): Ended[] {
  return clausesOf(text).flatMap((clause) => {
    const [how, [ticket, ...others]] = [found(TICKET_ENDED, clause), ticketsIn(clause)];
    return ticket !== undefined && others.length === 0 && how.length > 0 ? [{ ticket, how }] : [];
  });
}

/** Whether a line names a ticket without saying what became of it. */
function isTicketOver({ ticket, how }: Ended, line: string): boolean {
  return ticketsIn(line).includes(ticket) && !found(TICKET_ENDED, line).some((word) => how.includes(word));
}

/** The tickets that a text names, each by its number, or by its key. */
function ticketsIn(text: string): string[] {
  return [...new Set([NUMBER, KEY].flatMap((form) => [...text.matchAll(form)].map(([, ticket = '']) => ticket)))];
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
