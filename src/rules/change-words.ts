// What a text says of change, as far as its words tell, in the languages that people keep notes in: what it names only
// as given up ("instead of npm"), which dates only say when something was said or seen ("as of 2026-07-01"), what it
// denies, and whether two texts of one form speak of two things that are not the same ("the staging database", "the
// production database"). It never says that two texts mean the same.

import { changesOf } from '../base/text/align.ts';
import type { Day } from '../base/time.ts';
import { BEFORE, COPULA, ENDS, GIVEN_UP, MONTH, NO_LONGER, REFUSING, SAID_ON } from './lexicon.ts';
import { containsLiteral, distinctValues, literals } from './literals.ts';
import { contentWords, countSharedWords, negationIn } from './words.ts';

const WORD = String.raw`[^\s,;()（）。、]+`;
const THING = String.raw`(?:(?:the|a|an|der|die|das|den|le|la|les|el|los|il|lo)\s+)?(?:${'`[^`]+`'}|"[^"]+"|“[^”]+”|${WORD}(?:\s+(?!(?:${ENDS})(?![\p{L}]))${WORD}){0,2})`;
const edge = (words: string) => String.raw`(?<![\p{L}\p{N}])(?:${words})(?![\p{L}\p{N}])`;

const REPLACED = [
  new RegExp(String.raw`${edge(GIVEN_UP)}\s+${THING}`, 'giu'),
  new RegExp(String.raw`,\s*(?:and\s+|und\s+)?(?:not|nicht|no|non|pas|niet)\s+${THING}`, 'giu'),
  new RegExp(String.raw`[(,;]\s*(?:${BEFORE}|was)\s+${THING}\)?`, 'giu'),
  // "3000 until November, now 4321", "moved from Jira to Linear".
  new RegExp(
    String.raw`(?:${'`[^`]+`'}|${WORD})\s+(?:until|bis|jusqu'en|hasta|fino a)\s+[^,;.()]+(?=[,;.()]*\s*(?:now|then|since|jetzt|nun|seither|maintenant|ahora|ora)(?![\p{L}]))`,
    'giu',
  ),
  /\([^()]{1,60}\s(?:until|till|bis|jusqu'en|hasta|fino a)\s[^()]{1,40}\)/giu,
  new RegExp(String.raw`${edge('from|von|de|da')}\s+${THING}\s+(?=(?:to|nach|zu|à|a)\s)`, 'giu'),
  new RegExp(
    String.raw`${edge('not|nicht')}\s+(?:${WORD}\s+){0,2}${WORD}\s+(?:any ?more|mehr),?\s+(?=(?:but|sondern)\s)`,
    'giu',
  ),
  new RegExp(
    String.raw`${THING}(?=\s+(?:is|was|gets|wird|wurde)\s+(?:now\s+)?(?:re(?:nam|plac)ed|superseded|umbenannt|ersetzt)\s+(?:to|by|with|as|in|durch)\s)`,
    'giu',
  ),
  new RegExp(
    String.raw`(?<=${edge('(?:re(?:nam|locat)|mov|migrat|switch)ed|umbenannt|umgezogen')}(?:\s+[\p{L}]+){0,2},?\s+)${edge('from|von|aus')}\s+${THING}`,
    'giu',
  ),
  /(?:代替|而不是)\s*[^\s，。、]{1,20}/gu,
  /[^\s、。]{1,20}(?:の代わりに|ではなく)/gu,
];
const NOT_ANY_MORE = new RegExp(String.raw`${edge(NO_LONGER)}\s+${THING}`, 'giu');

/** The text without what it names only as replaced by something else that it says. */
export function withoutReplaced(text: string): string {
  return REPLACED.reduce((left, pattern) => left.replace(pattern, ' '), text);
}

/** The text without all that it says of how it was before: what someone who looks for that is not to be led by. */
export function asItIs(text: string): string {
  // First, since ", no longer" is all that is taken of ", no longer on 3000" else.
  return withoutReplaced(text.replace(NOT_ANY_MORE, ' '));
}

const IT = String.raw`(?<![^\s,;()])(?:${'`[^`]+`'}|${WORD})`;
const AT = String.raw`(?:(?:on|at|in|to|the|port|auf|bei|sur|en|su)\s+)*`;
const IS = 'is|are|was|were|has been|have been|gets?|ist|sind|wurden?|est|sont|a été|es|son|está|ha sido|è';
const ENDED =
  'over|gone|ended|expired|closed|removed|dropped|deleted|deprecated|obsolete|outdated|retired|replaced|renamed|shut down|turned off|vorbei|weg|abgeschaltet|entfernt|ersetzt|fini|terminée?|supprimée?|remplacée?|eliminad[oa]|reemplazad[oa]|terminad[oa]';
const END = 'remov|dropp|delet|replac|retir|clos|renam';
/** The thing itself, not so many of something: "4321 tickets are closed" holds. */
const OVER = [
  new RegExp(
    String.raw`${IT}(?:\s+(?:and|or|und|et|y)\s+${IT})?(?:\s+(?:of|for|in|on|von|für|de|du|del)\s+(?:the\s+)?${WORD}){0,2}\s+(?:${IS})\s+(?:${WORD}\s+){0,2}?${edge(ENDED)}`,
    'giu',
  ),
  new RegExp(String.raw`${IT}\s+(?:gibt es nicht mehr|n'existe plus|ya no existe)`, 'giu'),
  new RegExp(
    String.raw`${IT}\s+${edge('was|war|était|era|fue')}(?=\s+(?:too|the|an?|our|wrong|only|zu|der|die|das|trop|le|la|el)\s)`,
    'giu',
  ),
  new RegExp(
    String.raw`${edge(`was|used to be|war|était|era|fue|${BEFORE}|${NO_LONGER}|(?:up|down|raised|lowered) from`)}\s+${AT}${IT}`,
    'giu',
  ),
  new RegExp(
    String.raw`${edge(`(?:${END})(?:e|es|ed|ped|ing)?`)}\s+${AT}${IT}(?=\s*$|\s+(?:with|by|from|in|on|and)\s)`,
    'giu',
  ),
  new RegExp(String.raw`(?<![^\s,;()])(?:${'`[^`]+`'}|[^\s,;()]*\p{N}[^\s,;()]*?)\s*(?:→|->|=>)`, 'gu'),
];

/** The text without what it says is over, clause by clause: "3000 is gone", "it was on 3000". */
export function withoutOver(text: string): string {
  const clauses = asItIs(text).split(/(?<=[.:;!?,])\s|[()]|\s(?=(?:but|aber|mais|pero)\s)/u);
  return clauses
    .map((clause) => OVER.reduce((left, pattern) => left.replace(pattern, ' '), clause.replace(/[.:;!?,]$/, '')))
    .join(', ');
}

const DATE = String.raw`(?:\d{4}-\d{2}(?:-\d{2})?|(?:\d{1,2}\.?\s+)?(?:${MONTH})(?:\s+\d{1,2}(?:st|nd|rd|th)?)?(?:,?\s+\d{4})?)(?![\p{L}\p{N}-])`;
const WHEN = [
  new RegExp(String.raw`[(,;]?\s*(?:still\s+)?${edge(SAID_ON)}:?\s+(?:the\s+)?${DATE}\)?`, 'giu'),
  new RegExp(
    String.raw`[(,;]?\s*(?:on|in|am|le|el|il)\s+${DATE}\s+(?:already|again|still|too|as well|bereits|wieder|auch|déjà|ya|già)`,
    'giu',
  ),
];

/** The text without dates that only say when it was said or seen: of `days`, those on which it was, any mention. */
export function withoutWhen(text: string, days: Day[] = []): string {
  const left = WHEN.reduce((rest, pattern) => rest.replace(pattern, ' '), text);
  return days.reduce((rest, day) => (day === '' || isDue(rest, day) ? rest : rest.replace(alone(day), ' ')), left);
}

/** The day where it is no part of a name. */
function alone(day: Day): RegExp {
  return new RegExp(String.raw`(?<![\p{L}\p{N}_/.-])${day}(?![\p{L}\p{N}_/-]|\.\p{L})`, 'gu');
}

/** Whether something is to be met by the day, so that the day is what is said. */
function isDue(text: string, day: Day): boolean {
  return new RegExp(
    String.raw`(?:\bby|before|until|till|deadline|due|expires?|freeze|frist|bis|vor|fällig|avant|antes|entro|до)[^.;]{0,40}${day}`,
    'iu',
  ).test(text);
}

/** What denies nothing although it holds a word that does. */
const NO_DENIAL =
  /(?<![\p{L}])(?:without (?:having|needing|being|the need|further|prior)|(?:not|no) (?:only|just|merely|matter|doubt|sooner|(?:more|less|fewer|other|longer|later|earlier) than)|whether or not|nothing but|nicht nur|non seulement|no sólo|non solo)(?![\p{L}])/giu;

/** A question that is told of: what it asks about is not said. */
const ASKED =
  /(?<![\p{L}])(?:asked|asks|wondered|wonders|fragt|fragte|gefragt|demande|demandé|pregunta|preguntó)\s+(?:\p{L}+\s+)?(?:why|whether|if|how|warum|wieso|ob|pourquoi|si|por qué)(?![\p{L}])[^,.;:()]*/giu;

/** What a line that begins with `Open:` says already. */
const UNDECIDED = new RegExp(
  edge(
    "(?:not|never|isn['’]t|wasn['’]t)(?: (?:yet|been))* (?:decided|settled|agreed|answered|resolved|clear|known|sure)|no (?:decision|answer)(?: yet)?|nicht (?:entschieden|geklärt|klar)|pas (?:encore )?(?:décidée?|tranchée?|clair)|(?:no (?:se ha )?|sin )(?:decidi(?:do|r)|claro)",
  ),
  'giu',
);

/** The text without the words by which it says that something is not decided. */
export function withoutUndecided(text: string): string {
  return text.replace(UNDECIDED, ' ');
}

/** What a denial binds: "nothing without asking", "nobody but Kim", "not before 10:00". */
const BOUNDED = new RegExp(edge('without|before|until|unless|but|except|ohne|bevor|vor|außer|sans|sin'), 'iu');
const FIRST = new RegExp(edge('before|bevor|avant de|antes de'), 'iu');
const ONLY = new RegExp(edge('only|nur|erst|seulement|sólo|solo'), 'iu');
/** What else may stand in a line that bounds: what it denies besides, or bounds the other way round. */
const OTHERWISE = new RegExp(edge('without|before|until|unless|ohne|bevor|vor|bis|sans|avant|sin|antes'), 'iu');

/**
 * Whether a line binds, without a "not", what another text denies but for one thing: that comes first ("ask before you
 * change it" for "nothing is changed without asking"), or is the only one ("only after a green build").
 */
export function isBoundAlike(line: string, denied: string): boolean {
  const [word] = BOUNDED.exec(denied) ?? [];
  const at = word === undefined ? -1 : denied.search(BOUNDED);
  if (word === undefined || negationIn(denied.slice(0, at)) === null) return false;
  const [rest, bound] = [denied.slice(0, at), denied.slice(at + word.length)];
  const names = (text: string, what: string) =>
    countSharedWords(stemsOf(what), stemsOf(text)) > 0 || literals(what).some((value) => containsLiteral(value, text));
  // All of it: a red build is not the green one.
  const bounds = (text: string) =>
    names(text, bound) && [...stemsOf(bound)].every((stem) => countSharedWords(new Set([stem]), stemsOf(text)) > 0);
  const isEmpty = (text: string) => stemsOf(text).size === 0 || negationIn(text) === text.trim();
  return line.split(/[;:](?=\s)|\.(?=\s|$)/u).some((clause) => {
    const first = FIRST.exec(clause);
    if (first) {
      const [head, tail] = [clause.slice(0, first.index), clause.slice(first.index)];
      return bounds(head) && !names(tail, bound) && names(tail, rest);
    }
    const only = clause.slice(clause.search(ONLY)).split(/,\s/)[0] as string;
    return ONLY.test(clause) && !OTHERWISE.test(clause) && bounds(only) && (names(line, rest) || isEmpty(rest));
  });
}

const OVER_NOW = new RegExp(
  edge(String.raw`${NO_LONGER}|(?:not|\p{L}+n['’]t)\s[^.;:,]*\sany ?more|(?:nicht|keine?[nmrs]?)\s[^.;:,]*\smehr`),
  'iu',
);

/** Whether a text says of something that it is so no longer. */
export function saysNoLonger(text: string): boolean {
  return OVER_NOW.test(text);
}

/** Words without their endings: asking, asked, running. */
function stemsOf(text: string): Set<string> {
  return new Set(
    [...contentWords(text)].map((word) =>
      word.replace(/(?<=\p{L}{3})(?:ing|ed|s)$/u, '').replace(/(?<=\p{L}{2})([^aeiouls])\1$/u, '$1'),
    ),
  );
}

const CLAUSE_ENDS = /[.;:](?=\s|$)|[()]|,\s/;

/** The word by which a text denies or forbids something, or null; what it only prefers to another is not denied. */
export function denialIn(text: string): string | null {
  return negationIn(deniable(withoutReplaced(text)));
}

/** The clauses in which a text denies something, what it prefers to another too. */
export function deniedClauses(text: string): string[] {
  const clauses = deniable(text).split(CLAUSE_ENDS);
  return clauses.filter((clause) => negationIn(clause) !== null).map((clause) => clause.trim());
}

/** The first of them; null where there is none. */
export function deniedClause(text: string): string | null {
  return deniedClauses(text)[0] ?? null;
}

const REFUSES = new RegExp(edge(`${REFUSING}|${GIVEN_UP}`), 'iu');
const IS_REFUSED = /(?<![\p{L}])(?:is|are|was|were|be|been|gets?|wird|werden|ist|sind)\s+$/iu;

/** What a text says by another word than a "not" that it is not so, or is not to be done; null where it says that of nothing. */
export function refusedIn(text: string): string | null {
  const [word] = REFUSES.exec(text) ?? [];
  if (word === undefined) return null;
  const clause = text.split(CLAUSE_ENDS).find((each) => each.includes(word)) ?? text;
  const [head, tail] = [clause.slice(0, clause.indexOf(word)), clause.slice(clause.indexOf(word))];
  return IS_REFUSED.test(head) ? head : tail;
}

function deniable(text: string): string {
  return text.replace(NO_DENIAL, ' ').replace(ASKED, ' ');
}

const IN_THE_PAST =
  /(?<![\p{L}])(?:was|were|had|used to|formerly|previously|war|waren|wurde|wurden|hatte|früher|était|étaient|avait|era|eran|fue|había)(?![\p{L}])/iu;
/** A date in words like these may be the new one. */
const IS_SET = /plan|schedul|mov|set|chang|postpon|due|deadline|now|verleg|versch|geplant|jetzt/iu;
const ON_DATE = new RegExp(String.raw`${edge('in|on|im|am|en|le|el')}\s+${DATE}`, 'giu');

/** The text without the dates on which something was otherwise: those of past states of what it `changes`. */
export function withoutFormer(text: string, changes: string): string {
  return text.replace(/[^,;()]+/g, (clause) => {
    const isFormer =
      IN_THE_PAST.test(clause) &&
      !IS_SET.test(clause) &&
      countSharedWords(contentWords(clause), contentWords(changes)) > 0;
    return isFormer ? clause.replace(ON_DATE, ' ') : clause;
  });
}

/** Whether a text itself names what another has that it has not: then it is about the same. */
function namesWhatItChanges(text: string, old: string): boolean {
  const standing = withoutReplaced(text);
  const gone = literals(old).filter((value) => !containsLiteral(value, standing));
  if (gone.some((value) => containsLiteral(value, text))) return true;
  const words = [...contentWords(old)].filter((word) => !contentWords(standing).has(word));
  return words.some((word) => contentWords(text).has(word));
}

/** Behind a word that these follow, no noun follows that it parts from another. */
const FUNCTION = new RegExp(
  `^(?:${ENDS}|under|over|into|onto|than|via|per|about|after|before|between|through|without|within|unter|über|sous|sur|bajo|sobre|sotto|su)$`,
  'iu',
);
/** So much of both must be the same words for them to be of one form. */
const ALIKE = 0.5;

/**
 * Two words by which texts of one form speak of different things, though all else but a value is the same: "staging" and
 * "production" of two databases and their ports. Null: nothing shows that they do.
 */
export function nearDouble(text: string, old: string): [string, string] | null {
  const [a, b] = [tokensOf(withoutWhen(text)), tokensOf(withoutWhen(old))];
  if (namesWhatItChanges(text, old)) return null;
  const segments = differing(a, b);
  const changed = segments.filter(({ ofA, ofB }) => ofA.length > 0 && ofB.length > 0);
  const shared = a.length - segments.reduce((sum, { ofA }) => sum + ofA.length, 0);
  if (changed.length < 2 || shared < ALIKE * Math.max(a.length, b.length) - 1) return null;
  const parted = changed.find(({ next, ofA, ofB }) => {
    const [mine, theirs] = [ofA, ofB].map((words) => contentWords(words.join(' ')).size);
    if (next === undefined || !mine || !theirs) return false;
    if (ofA.some((word) => /\p{N}/u.test(word))) return COPULA.test(next);
    return (contentWords(next).size > 0 && !FUNCTION.test(next)) || COPULA.test(next);
  });
  return parted ? [parted.ofA.join(' '), parted.ofB.join(' ')] : null;
}

/** Values of one kind that two texts differ in, dates that only say when it was said apart. */
export function valuesApart(
  a: { text: string; days?: Day[] },
  b: { text: string; days?: Day[] },
): [string, string] | null {
  return distinctValues(withoutWhen(a.text, a.days), withoutWhen(b.text, b.days));
}

/** Whether all values and most words of a text stand in another, which denies what it denies. */
export function isSaidIn(text: string, other: string): boolean {
  const words = contentWords(text);
  return (
    literals(withoutWhen(text)).every((value) => containsLiteral(value, other)) &&
    (denialIn(text) === null) === (denialIn(other) === null) &&
    countSharedWords(words, contentWords(other)) * 2 >= words.size
  );
}

/** The words of a line that stand in what was said, in runs: without runs of a single word that says nothing. */
export function sharedRuns(line: string, said: string): string[] {
  const there = new Set(tokensOf(said));
  const runs: string[][] = [[]];
  for (const word of line.split(/\s+/)) {
    const [token = ''] = tokensOf(word);
    if (token !== '' && there.has(token)) runs.at(-1)?.push(word);
    else if (runs.at(-1)?.length !== 0) runs.push([]);
  }
  return runs.map((run) => run.join(' ')).filter((run) => run.includes(' ') || literals(run).length > 0);
}

interface Segment {
  ofA: string[];
  ofB: string[];
  /** The word behind it that both have. */
  next: string | undefined;
}

function tokensOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .map((word) => word.replace(/^[\p{P}]+|[\p{P}]+$/gu, ''))
    .filter((word) => word !== '');
}

/** Where two rows of words differ. Long texts are of no one form. */
function differing(a: string[], b: string[]): Segment[] {
  if (a.length * b.length > 10_000) return [];
  return changesOf(a, b).map(({ a: [start, length], b: [from, added] }) => {
    const end = start + length;
    return { ofA: a.slice(start, end), ofB: b.slice(from, from + added), next: a[end] };
  });
}
