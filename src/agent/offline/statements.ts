// Reads an excerpt by rules: which messages are offered, which of their sentences a person wrote, and which of these state
// something: its type, worded to be read later, its dates absolute. Only offered human messages carry an entry; quotes are
// the sentences as they are shown, white space folded. Nothing is kept of what is asked, quoted, thought aloud, reported, or
// to be done now, nor where a day cannot be told: a wrong date is worse than none. It normalises lightly and never invents.
// And how two statements relate, by their words alone: the same, one newer than the other, or strangers. What merely looks
// alike stays distinct: a different number, name or "not" is a different statement.

import { addDays } from 'date-fns/addDays';
import { differenceInDays } from 'date-fns/differenceInDays';
import { format } from 'date-fns/format';
import { isValid } from 'date-fns/isValid';
import { parseISO } from 'date-fns/parseISO';
import { ownWords } from '../../base/text/injection.ts';
import { contentWords, countShared, isOpposite } from '../../base/text/wording.ts';
import type { Day } from '../../base/time.ts';
import { countWords, findQuote, findRelativeDate } from '../entry-words.ts';
import * as words from './lexicon.ts';

interface FoundEntry extends words.Statement {
  strength: 'stated';
  evidence: [{ message: string; quote: string }];
}

type ShownMessage = ReturnType<typeof messagesOf>[number];

const HEADER = /^\[(\S+) (human|assistant|tool|subagent|harness)(?: (\d{4}-\d{2}-\d{2})(?: [\d:]+)?)?( context)?\]$/;
/** A quotation, a table row, a tag, a fence, indented code, an empty line. */
const NOT_PROSE = /^(?:\s*(?:[>|<]|```|~~~)|\t| {4,}|\s*$)/;
const LIST_ITEM = /^\s*(?:[-*+•]|\d+[.)])\s+/;
const CUT = /^… \d+ characters (?:of a paste )?left out …$/;
const REDACTED = /\[redacted:[^\]]*\]/;
const SENTENCE_END = /(?<=[.!?])(?<!\b(?:e\.g|i\.e|etc|vs|cf|approx|Mr|Mrs|Dr)\.) /;
const CLAUSE_END = /[;,]\s+|\s[–—-]\s|\s(?:and|but|with|using)\s/;
/** Past this length a line was probably wrapped by an editor and its sentence goes on in the next one. */
const WRAPPED_CHARS = 60;
const SHORTEST_CHARS = 8;
const SHORT_ANSWER_WORDS = 6;
/** Up to so many words, what takes something back names nothing, and what points back says nothing else. */
const BARE_WORDS = 5;
const POINTS_BACK_WORDS = 10;

/** The explicit statements of an excerpt, in its order, the newest of contradicting ones; none that `known` holds. */
export function findEntries(excerpt: string, known: string): FoundEntry[] {
  let found: FoundEntry[] = [];
  let before: ShownMessage | undefined;
  for (const message of messagesOf(excerpt)) {
    if (message.isOffered && message.speaker === 'human' && !isShortAnswer(message, before)) {
      const sentences = wholeSentences(message.lines);
      const last = found.at(-1)?.evidence[0].message;
      const isTakenBack = (entry: FoundEntry) =>
        sentences.some((sentence) => takesBack(sentence, entry.text, entry.evidence[0].message === last));
      found = found.filter((entry) => !isTakenBack(entry));
      for (const entry of entriesOf(message, sentences)) {
        found = [...found.filter(({ text }) => !isSame(text, entry.text) && !isChanged(text, entry.text)), entry];
      }
    }
    if (message.speaker !== 'tool') before = message;
  }
  const lines = known.split('\n').map((line) => line.replace(/^\s*(?:[-*]\s+)?(?:\[[^\]]*\]\s+)?/, ''));
  return found.filter(({ text }) => !known.includes(text) && !lines.some((line) => isSame(line, text)));
}

function messagesOf(excerpt: string) {
  return excerpt.split(/\n(?=\[\S+ (?:human|assistant|tool|subagent|harness)\b)/).flatMap((section) => {
    const [first = '', ...rows] = section.split('\n');
    const [header, id = '', speaker = '', day, context] = HEADER.exec(first) ?? [];
    const lines = rows.filter((row) => row.startsWith('|')).map((row) => row.replace(/^\| ?/, ''));
    return header === undefined ? [] : [{ id, speaker, day, isOffered: context === undefined, lines }];
  });
}

/** "No, use Postgres" after a question says little without it, and these rules cannot read the two together. */
function isShortAnswer(message: ShownMessage, before: ShownMessage | undefined): boolean {
  const isAfterQuestion = before?.speaker === 'assistant' && /\?\s*$/.test(before.lines.join('\n'));
  return isAfterQuestion && countWords(message.lines.join(' ')) <= SHORT_ANSWER_WORDS;
}

/** Whether a sentence takes back a statement: one that it names, or where it names none the last one. */
function takesBack(sentence: string, text: string, isLast: boolean): boolean {
  if (!words.TAKES_BACK.test(sentence)) return false;
  return countShared(sentence, text) > 0 || (isLast && countWords(sentence) <= BARE_WORDS);
}

function pointsBack(sentence = ''): boolean {
  return words.POINTS_BACK.test(sentence) && countWords(sentence) <= POINTS_BACK_WORDS;
}

function entriesOf({ id, day }: ShownMessage, whole: string[]): FoundEntry[] {
  // "Remember the password is …; the box is kilo": what asks may have gone with the secret.
  const spoken = whole.flatMap((sentence) =>
    withoutSecrets(sentence).map((text) => ({ text, isAsked: text !== sentence && words.REMEMBER.test(sentence) })),
  );
  if (words.IRONY.test(spoken[0]?.text ?? '')) return [];
  return spoken.flatMap(({ text, isAsked }, at) => {
    const isPointedAt = pointsBack(spoken[at + 1]?.text) || (at === 1 && pointsBack(spoken[0]?.text));
    const statement = words.REPEATED.test(text) ? null : classify(text, day, isAsked || isPointedAt);
    return statement ? [{ ...statement, strength: 'stated', evidence: [{ message: id, quote: text }] }] : [];
  });
}

/** The sentence, or where a secret was taken out of it, its clauses without one. */
function withoutSecrets(sentence: string): string[] {
  const clauses = REDACTED.test(sentence) ? sentence.split(CLAUSE_END).map((clause) => clause.trim()) : [sentence];
  return clauses.filter((clause) => !REDACTED.test(clause));
}

/** The sentences that are wholly a person's own words. */
function wholeSentences(lines: string[]): string[] {
  const own = ownWords(lines.join('\n'));
  return paragraphsOf(lines)
    .flatMap((paragraph) => paragraph.replace(/\s+/g, ' ').split(SENTENCE_END))
    .filter((sentence) => sentence.length >= SHORTEST_CHARS && findQuote(own, sentence) !== null);
}

/** Paragraphs without code, tables and what is next to a cut, up to where someone else is quoted to the end. */
function paragraphsOf(lines: string[]): string[] {
  const paragraphs: string[] = [];
  let isAfterCut = false;
  /** The line before, where its paragraph may go on. */
  let last = '';
  for (const line of lines) {
    const isCut = CUT.test(line);
    if (!isCut && !NOT_PROSE.test(line)) {
      if (words.QUOTES_TO_THE_END.test(line)) break;
      const text = line.replace(LIST_ITEM, '').trim();
      const goesOn = last.length >= WRAPPED_CHARS && text === line.trim() && !/[.!?:;]$/.test(last);
      if (goesOn) paragraphs.push(`${paragraphs.pop()} ${text}`);
      else if (!isAfterCut) paragraphs.push(text);
      isAfterCut = false;
      last = line;
    } else {
      // The sentences next to a cut are halves.
      if (isCut) paragraphs.pop();
      isAfterCut ||= isCut;
      last = '';
    }
  }
  return paragraphs;
}

const LONGEST_CHARS = 400;
/** Up to this many words, a sentence that ends in "it" says little by itself. */
const SHORT_WORDS = 6;
/** So many words of a sentence are a statement without what stands behind a comma. */
const WHOLE_WORDS = 4;

/** `said`: the day of the message, from which dates are counted; `isAsked`: the sentence beside it asks to remember it. */
export function classify(sentence: string, said?: Day, isAsked = false): words.Statement | null {
  if (sentence.length > LONGEST_CHARS || words.ASKED_OR_QUOTED.test(sentence)) return null;
  const opened = sentence.replace(words.LEAD_IN, '');
  if (words.HYPOTHETICALS.some((pattern) => pattern.test(opened))) return null;
  const bare = opened.replace(words.STANDING, '');
  const core = bare.replace(words.REMEMBER, '');
  const isRemembered = isAsked || words.REMEMBER.test(bare);
  if (isRemembered && words.NOT_A_FACT.test(core)) return null;
  if (saysLittle(core.split(/\s+/), isRemembered ? 3 : 2)) return null;

  const hasCondition = words.CONDITION.test(core);
  const isStrictOnly = hasCondition || (words.AT_WORK.test(core) && !isRemembered);
  const isTask = words.STARTS_WITH_TASK.test(core);
  for (const [name, forms] of Object.entries(words.FORMS)) {
    const isOpen = name === 'rule' || (!isStrictOnly && !(name === 'reference' && isTask));
    const type = name === 'rule' ? 'feedback' : (name as words.Statement['type']);
    if (isOpen && forms.some((form) => form.test(core))) return state(type, core, said);
  }
  if (hasCondition) return null;
  const isStanding = bare !== opened || words.CORRECTION.test(sentence);
  if (words.FROM_NOW_ON.test(opened) || (isStanding && words.CHOICE.test(core))) return state('feedback', core, said);
  const dated = isStrictOnly || isTask || words.HAPPENED.test(core) ? null : resolveDates(core, said);
  if (dated !== null && words.DATE.test(dated) && (words.EVENT.test(core) || words.HAPPENS.test(dated))) {
    return { type: 'project', text: finish(dated) };
  }
  if (!isRemembered) return null;
  if (/^to\s/i.test(core)) return state('feedback', core.slice(3), said);
  if (/^(?:I|I['’]m|I['’]ve|my)\b/i.test(core)) return state('user', core, said);
  return state(/https?:\/\//.test(core) ? 'reference' : 'project', core, said);
}

function saysLittle(spoken: string[], fewest: number): boolean {
  if (spoken.length < fewest || words.VAGUE.test(spoken.slice(0, 4).join(' '))) return true;
  return spoken.length <= SHORT_WORDS && words.VAGUE.test(spoken.at(-1) ?? '');
}

/** The statement, or null where a day in it cannot be told. */
function state(type: words.Statement['type'], sentence: string, said: Day | undefined): words.Statement | null {
  const text = type === 'user' ? toThirdPerson(sentence) : sentence.replace(words.GOES_WITH, 'Decided: ');
  // "Never deploy on Friday" is a rule; a weekday becomes a date only where something happens on it.
  const isTimeless = type === 'user' || type === 'feedback';
  const date = (part: string) =>
    isTimeless ? (findRelativeDate(part) === null ? part : null) : resolveDates(part, said);
  const [core = ''] = text.split(/[,;]\s|\s[–—-]\s|\sbecause\s/);
  // "…, we got burned last quarter": the rule stands without it.
  const dated = date(text) ?? (core.split(' ').length >= WHOLE_WORDS ? date(core) : null);
  return dated === null ? null : { type, text: finish(dated) };
}

/** A sentence with its capital and full stop. */
function finish(text: string): string {
  const trimmed = text.replace(/[\s,;:]*(?:,?\s*please)?[\s.!,;:]*$/i, '');
  const opened = words.OPENING.test(trimmed) ? trimmed.charAt(0).toUpperCase() + trimmed.slice(1) : trimmed;
  return /https?:\/\/\S+$/.test(opened) ? opened : `${opened}.`;
}

const IRREGULAR: Record<string, string> = { am: 'is', are: 'is', have: 'has', do: 'does', can: 'can', will: 'will' };
const PRONOUNS = { 'I am': 'they are', I: 'they', my: 'their', me: 'them', your: "the agent's", you: 'the agent' };

/** What a person says of themselves, as it is said of them: "I prefer my tabs", "The user prefers their tabs". */
function toThirdPerson(sentence: string): string {
  const opened = sentence
    .replace(/\bI['’](m|ve)\b/gi, (_, verb: string) => (verb === 'm' ? 'I am' : 'I have'))
    .replace(/^my\b/i, "The user's")
    .replace(words.I_DO, (_, adverb: string, verb: string) => `The user ${adverb}${thirdPerson(verb)}`)
    .replace(words.YOU_DO, (_, when: string, verb: string) => `${when} it ${thirdPerson(verb)}`);
  // Not where they are part of a path, a name or code.
  const word = (said: string) => new RegExp(`(?<![\\w/.@\`-])${said}(?![\\w/@\`-]|\\.\\w)`, 'gi');
  return Object.entries(PRONOUNS).reduce((text, [said, told]) => text.replace(word(said), told), opened);
}

function thirdPerson(verb: string): string {
  const irregular = /^don['’]t$/i.test(verb) ? "doesn't" : IRREGULAR[verb.toLowerCase()];
  if (irregular !== undefined) return irregular;
  if (/(?:s|sh|ch|x|z|o)$/.test(verb)) return `${verb}es`;
  return /[^aeiou]y$/.test(verb) ? `${verb.slice(0, -1)}ies` : `${verb}s`;
}

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAY = `(?:${WEEKDAYS.join('|')})`;
const MONTH = `(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`;
const ORDINAL = '(?:st|nd|rd|th)?';
const DATE = new RegExp(
  `\\b(?:${WEEKDAY},?\\s+)?(?:the\\s+)?(?:(?<month>${MONTH})\\.?\\s+(?<day>\\d{1,2})${ORDINAL}|` +
    `(?<dayFirst>\\d{1,2})${ORDINAL}\\s+(?:of\\s+)?(?<monthLast>${MONTH}))\\b(?:,?\\s+(?<year>\\d{4}))?|` +
    '\\b(?:(?:the\\s+)?(?<near>day after tomorrow|today|tonight|tomorrow|yesterday)|in\\s+(?<days>\\d{1,3})\\s+days?|' +
    `(?<!\\b(?:every|each|every other)\\s)(?:(?<which>this|next|last|coming)\\s+)?(?<weekday>${WEEKDAY}))\\b`,
  'gi',
);
const DAYS_AHEAD: Record<string, number> = { yesterday: -1, tomorrow: 1, 'day after tomorrow': 2 };
const RECENT_DAYS = 60;
const NEXT_YEAR_DAYS = 240;

type Groups = Record<string, string | undefined>;

/** The text with its dates absolute, or null where one cannot be told. `said` is absent where its day is not known. */
export function resolveDates(text: string, said: Day | undefined): string | null {
  const origin = said === undefined ? null : parseISO(said);
  let isLost = false;
  const resolved = text.replace(DATE, (...match) => {
    const groups = match.at(-1) as Groups;
    const date = groups.day || groups.dayFirst ? calendarDate(groups, origin) : origin && namedDate(groups, origin);
    if (date !== null && isValid(date)) return format(date, 'yyyy-MM-dd');
    isLost = true;
    return String(match[0]);
  });
  return isLost || words.NO_ONE_DAY.test(resolved) || findRelativeDate(resolved) !== null ? null : resolved;
}

function calendarDate({ month, monthLast = '', day, dayFirst = '', year }: Groups, origin: Date | null): Date | null {
  const number = String(MONTHS.indexOf((month ?? monthLast).slice(0, 3).toLowerCase()) + 1);
  const inYear = (of: number) => parseISO(`${of}-${number.padStart(2, '0')}-${(day ?? dayFirst).padStart(2, '0')}`);
  if (year !== undefined || origin === null) return year === undefined ? null : inYear(Number(year));
  const date = inYear(origin.getFullYear());
  const daysAgo = differenceInDays(origin, date);
  // Without a year, a day long gone is next year's: in December one speaks of the coming January. Between, who knows.
  if (daysAgo > NEXT_YEAR_DAYS) return inYear(origin.getFullYear() + 1);
  return daysAgo > RECENT_DAYS ? null : date;
}

function namedDate({ near, days, which = '', weekday = '' }: Groups, origin: Date): Date | null {
  if (days) return addDays(origin, Number(days));
  if (near) return addDays(origin, DAYS_AHEAD[near.toLowerCase()] ?? 0);
  // Weeks begin on Monday.
  const ahead = WEEKDAYS.indexOf(weekday.toLowerCase()) - ((origin.getDay() + 6) % 7);
  if (/next/i.test(which)) return addDays(origin, ahead + 7);
  if (/last/i.test(which)) return addDays(origin, ahead < 0 ? ahead : ahead - 7);
  // "Friday", said on a Friday, is today or in a week.
  return ahead === 0 ? null : addDays(origin, ahead < 0 ? ahead + 7 : ahead);
}

/** What is longer says more than one thing, or takes these patterns too long. */
const STATEMENT_CHARS = 400;
/** What the same event on another date may be said with. */
const MOVED =
  /\b(?:\d{4}-\d{2}-\d{2}|moved|shifted|changed|postponed|pushed|delayed|brought|forward|back|due|new|date|planned|scheduled)\b/gi;
/** "Use pnpm instead of npm", "prefers tabs for code": what is taken, what is left, for what. */
const CHOICE =
  /\b(?:uses?|prefers?)\s+(?<taken>.+?)(?:\s+(?:instead of|rather than|over)\s+(?<left>.+?)|,\s*not\s+(?<leftOut>.+?))?(?:\s+(?:for|when|as|in)\s+(?<purpose>.+?))?(?:[,;:]\s.*|,?\s+(?:since|because)\s.*)?$/i;
const TURNED_CHOICE = /^instead of (?<left>.+?),\s*use (?<taken>.+)$/i;
/** "Bugs are tracked in …", "The user's editor is …". */
const PLACED =
  /^(?<about>.+?\s(?:(?:is|are|gets?) (?:kept|\w+ed)|lives?)\s(?:in|at|on|under|via)|The user's .+? is)\s/i;

/** A thing, by each of its names, that has one value at a time. */
type Claim = { about: string[]; value: string };

/** Whether both say the same with the same words in the same order, numbers included, whatever the punctuation. */
export function isSame(a: string, b: string): boolean {
  return a === b || (inOrder(a) === inOrder(b) && inOrder(a) !== '');
}

/** Whether both speak of the same thing and give it different values, so that only the newer can hold. */
export function isChanged(a: string, b: string): boolean {
  if (Math.max(a.length, b.length) > STATEMENT_CHARS || isSame(a, b)) return false;
  if (isOpposite(a, b)) return true;
  const others = claimsOf(b);
  return claimsOf(a).some(({ about, value }) =>
    others.some((other) => other.value !== value && other.about.some((thing) => about.includes(thing))),
  );
}

function claimsOf(text: string): Claim[] {
  const plain = text.replace(/[.!]+$/, '');
  const placed = PLACED.exec(plain.replace(/ now /i, ' '))?.groups;
  const { taken = '', left, leftOut, purpose } = (TURNED_CHOICE.exec(plain) ?? CHOICE.exec(plain))?.groups ?? {};
  const event = () => [...contentWords(plain.replace(MOVED, ' '))].sort().join(' ');
  const claims = [
    { about: [placed?.about ?? ''], value: plain },
    // A choice is about what is taken and what is left, and what it is for.
    { about: [taken, left ?? leftOut ?? '', purpose ?? ''], value: taken },
    { about: [words.DATE.test(plain) ? `on ${event()}` : ''], value: plain },
  ];
  return claims.map(({ about, value }) => ({ about: about.map(inOrder).filter(Boolean), value: inOrder(value) }));
}

/** The words of a text in their order. Only the capital of its beginning says nothing: "Tabs" may be a name. */
function inOrder(text: string): string {
  const [first = '', ...rest] = text.match(/[\p{L}\p{N}](?:[\p{L}\p{N}'’+#@/_.:-]*[\p{L}\p{N}+#])?/gu) ?? [];
  const words = [first.toLowerCase(), ...rest].map((word) => word.replace('’', "'"));
  return words.filter((word) => !/^(?:an?|the|is|are)$/.test(word)).join(' ');
}
