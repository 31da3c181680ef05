// Whether what an entry quotes carries its text: a share of its words stands in a person's quoted words, or in the clause
// of an agent's that they answer and that is quoted with them, and no denial, question or condition around them is left
// out. A habit has no share; it is only told from someone else's sentence. And each value was said: numbers, versions,
// paths, names in code, addresses and flags. It never knows what a sentence means.

import { distanceBetween } from '../base/text/wording.ts';
import { asRead } from './as-read.ts';
import {
  type Candidate,
  type CheckOptions,
  choiceOf,
  type EvidenceSource,
  MOST_CHARS_AT_ENDS,
  nameOf,
  ownWordsOf,
  type Quoted,
  typedOf,
} from './candidate.ts';
import { withoutRemoving } from './commands.ts';
import { CLAUSE, ENDS_ASKING, hasCondition, isDenied, isQuestion, LIGHT, widened } from './languages.ts';
import { containsLiteral, containsLiteralTail, isValueIn, literals } from './literals.ts';
import { countWords, findQuote, foldSpace, sentenceAround } from './quotes.ts';
import { ownWords, promptsIn } from './spoken-text.ts';
import { CARRIED_SHARE, carriedShare, commonWords, isNegated, SUMMED_SHARE, unitsOf } from './words.ts';

/** What the formats write where a person approved a plan. */
const APPROVED = 'approved the plan';
/** What a person's answer is to: at most so many words are nothing but an answer. */
const MOST_WORDS_OF_ANSWER = 4;

const wordsOf = ({ words, text }: EvidenceSource) => words ?? text;
const isHuman = ({ speaker }: EvidenceSource) => speaker === 'human';

/** The quoted words with which a person answers a message at once, neither asking back nor denying what the text does not. */
export function answersTo(source: EvidenceSource, { quoted, shown, text }: Candidate): Quoted[] {
  return quoted.filter((answer) => {
    if (answer.by !== 'human' || (isDenied(answer.quote) && !isNegated(text)) || isQuestion(answer.quote)) return false;
    if (answer.source.id === source.id || answer.source.chosen?.includes(APPROVED)) return true;
    const at = shown.findIndex(({ id }) => id === answer.source.id);
    const before = shown.slice(0, Math.max(0, at));
    return before.findLast((each) => each.speaker === 'assistant' && wordsOf(each).trim() !== '')?.id === source.id;
  });
}

/** What of an agent's quoted words a person answers who is quoted, too; empty where they answer something else. */
export function answered({ source, quote }: Quoted, candidate: Candidate): string {
  const found = answersTo(source, candidate).flatMap((answer) => {
    if (answer.source.id === source.id || answer.source.chosen?.includes(APPROVED)) return [quote];
    const taken = closingOf(wordsOf(source), ownWords(answer.source.text));
    return [findQuote(taken, quote), ...[taken, ...taken.split('\n')].map((part) => findQuote(quote, part))];
  });
  return found.filter((part) => part !== null).join('\n');
}

const SENTENCES = /(?<=[.!?][)"'*_”’]*)\s+|(?<=[。！？])|\n/u;
const LIST_ITEM = /^\s*(?:[-*+•]|\(?(?:\d{1,2}|[a-z])[.)])\s+\S/i;
const COUNTS = /^\s*\(?(?:\d{1,2}|[a-d])(?:[.):,]|\s*$|\s+\S{1,3}\s)/i;

/**
 * Of what an agent said last the part that an answer is to: its last question; for an answer of few words with the sentence
 * before it, or a statement that it ends with; for a number the list above, too.
 */
function closingOf(said: string, answer: string): string {
  const words = countWords(answer);
  const paragraphs = said.trim().split(/\n\s*\n/);
  const closing = paragraphs.findLast((each) => /[?？؟]/.test(each)) ?? paragraphs.at(-1) ?? '';
  const sentences = closing.split(SENTENCES).filter((each) => each.trim() !== '');
  const question = sentences.findLastIndex((each) => ENDS_ASKING.test(each));
  const listed = COUNTS.test(answer) ? said.split('\n').filter((line) => LIST_ITEM.test(line)) : null;
  if (listed) return [...listed, ...sentences.slice(question)].join('\n');
  if (question < 0) return words < MOST_WORDS_OF_ANSWER ? sentences.slice(-2).join('\n') : '';
  const from = words <= MOST_WORDS_OF_ANSWER ? Math.max(0, question - 1) : question;
  return sentences.slice(from, question + 1).join('\n');
}

/** So much of a message around a quote is read with it, and so much stands together. */
export const PASSAGE_CHARS = 300;
const QUOTATION = /["“„«「『]/;
const A_QUESTION = 'that it is a question';

/** What of a quote carries the text, with what stands around it; `leftOut`: what its sentence says and the text does not. */
function bearing(each: Quoted, candidate: Candidate): { says: string; leftOut?: string } {
  const { source, quote, by } = each;
  const { text, isStrict } = candidate;
  if (by !== 'human' && isStrict) return { says: source.speaker === 'assistant' ? answered(each, candidate) : '' };
  if (by !== 'human') return { says: around(source.text, quote) };
  const choice = choiceOf(each);
  if (choice !== null)
    return isDenied(choice) && !isNegated(text) ? { says: '', leftOut: 'a denial' } : { says: choice };
  const own = ownWords(source.text);
  // What a person quotes is what they say only where the text quotes it, too.
  const theirs = QUOTATION.test(text) ? quote : ownWords(quote);
  return { says: around(own, theirs), leftOut: leftOutOf(own, quote, candidate) };
}

/** A quote with what stands around it in the message, as long as that is short. */
function around(text: string, quote: string): string {
  const source = foldSpace(text);
  const [at, room] = [source.indexOf(quote), PASSAGE_CHARS - quote.length];
  return at < 0 || room <= 0 ? quote : source.slice(Math.max(0, at - room / 2), at + quote.length + room / 2);
}

/** What the sentence of a quote says that the text leaves out: a denial, a condition, a question; undefined for nothing. */
function leftOutOf(own: string, quote: string, { text, isStrict }: Candidate): string | undefined {
  const place = sentenceAround(own, quote);
  if (place === null) return;
  const { before, said, after } = place;
  const last = `${before}${said}${after}`.split(SENTENCES).at(-1) ?? '';
  if (isStrict && isQuestion(last) && !text.includes('?')) return A_QUESTION;
  const near = `${before.split(CLAUSE).at(-1)} … ${after.split(CLAUSE)[0]}`;
  const clauses = said.split(CLAUSE).toSorted((a, b) => carriedShare(text, [b]) - carriedShare(text, [a]));
  if ((isDenied(near) || isDenied(clauses[0] ?? '')) && !isNegated(text)) return 'a denial';
  const condition = [...before.split(CLAUSE), ...after.split(CLAUSE)].find(hasCondition);
  const isTakenUp = condition === undefined || hasCondition(text) || carriedShare(condition, [text]) > 0;
  return isTakenUp ? undefined : `the condition ${JSON.stringify(condition.trim())}`;
}

const common = new WeakMap<CheckOptions, Set<string>>();

/** The words that say nothing here: what half of a person's messages hold, and the names of the project. */
function commonOf({ options, shown }: Candidate): Set<string> {
  const known = common.get(options) ?? commonWords(shown.filter(isHuman).map(ownWordsOf));
  common.set(options, known);
  const names = (options.names ?? []).join(' ').toLowerCase();
  return known.union(LIGHT).union(new Set(names.match(/\p{L}{4,}/gu)));
}

/** Why the quotes do not carry the text, and what would; null where they do. */
export function uncarriedFault(candidate: Candidate): string | null {
  const { entry, text, quoted, isStrict } = candidate;
  const options = { common: commonOf(candidate) };
  const values = { all: literals(text), isIn: stands };
  const words = values.all.reduce((left, value) => left.replaceAll(value, ' '), text);
  const shareOf = (quotes: string[]) =>
    Math.max(carriedShare(text, quotes, options), carriedShare(words, quotes, { ...options, values }));
  // Of a long quote the passage counts that says it.
  const passages = quoted.flatMap((each) => {
    const { says, leftOut } = bearing(each, candidate);
    const parts = windowsOf(says).map((part) => ({ says: part, leftOut, share: shareOf([part]) }));
    return parts.sort((a, b) => b.share - a.share).slice(0, 1);
  });
  // A question beside a statement on the same may be what it is about.
  const isBeside = passages.some(({ leftOut, share }) => leftOut === undefined && share > 0);
  const said = passages.filter(({ leftOut, share }) => !leftOut || (leftOut === A_QUESTION && isBeside && share > 0));
  said.sort((a, b) => b.share - a.share);
  // What sums up calls has fewer of their words, where all that it names was quoted.
  const isNamed =
    values.all.length > 0 && values.all.every((value) => quoted.some(({ quote }) => stands(value, quote)));
  const least = entry.found && !isStrict && isNamed ? SUMMED_SHARE : CARRIED_SHARE;
  if (shareOf(said.map(({ says }) => says)) >= least) return null;
  if (entry.strength === 'implied' && quoted[0].by === 'human') return isStrict ? borrowedFault(candidate) : null;
  const leftOut = quoted.map((each) => bearing(each, candidate).leftOut).find((each) => each !== undefined);
  if (leftOut) return `text: leaves out ${leftOut} in the sentence that is quoted. Say it, or leave the entry out.`;
  const whose = isStrict ? "the human's words, or with the question that they answer," : 'the words';
  const enough = entry.found
    ? `; ${SUMMED_SHARE * 100} are enough where each path, command and name of it stands there`
    : '';
  return `text: fewer than ${CARRIED_SHARE * 100} of 100 of its words stand in what is quoted${enough}. Quote ${whose} that say it, and use those words.`;
}

/** Why a text makes a rule of what was asked once; null where a quoted sentence is one, or a person is quoted of two turns. */
export function widenedFault({ entry, text, quoted }: Candidate): string | null {
  const turns = new Set(quoted.flatMap(({ by, source }) => (by === 'human' ? source.turn : [])));
  if (entry.found || turns.size > 1) return null;
  const said = quoted.map(({ source, quote }) =>
    Object.values(sentenceAround(source.text, quote) ?? { quote }).join(''),
  );
  const word = widened(text, said);
  return word === null
    ? null
    : `text: says ${JSON.stringify(word)}, and no quote does. Say what was asked of what ("For X: …"), quote a second turn that asks it again, or leave it out.`;
}

/** So much of a text stands in one passage of someone else's, and in none of a human's. */
const BORROWED_SHARE = 0.6;
const STEM_CHARS = 4;

/** Why a habit that is said to be shown is someone else's sentence: no human typed it, and a passage of others says it. */
function borrowedFault({ text, shown }: Candidate): string | null {
  const stems = unitsOf(text).map((word) => word.slice(0, STEM_CHARS));
  const isCarried = (said: string, share: number) =>
    windowsOf(said).some((passage) => {
      const lower = passage.toLowerCase();
      const isNear = stems.filter((stem) => lower.includes(stem)).length * 2 >= stems.length;
      return isNear && carriedShare(text, [passage]) >= share;
    });
  if (shown.filter(isHuman).some((each) => isCarried(ownWordsOf(each), CARRIED_SHARE))) return null;
  const seen = ({ text: whole }: EvidenceSource) => asRead(whole.slice(0, MOST_CHARS_AT_ENDS)).join('\n');
  const other = shown.find((each) => isCarried(seen(each), BORROWED_SHARE));
  if (!other) return null;
  const who = isHuman(other) ? 'someone who is quoted' : other.speaker;
  return `text: says what ${who} says in ${nameOf(other)}, not what the human does. Quote the human's message that says it or answers it, and use its words.`;
}

/** A text in passages that overlap: what one speaker says stands together, single words stand anywhere. */
function windowsOf(text: string): string[] {
  const count = Math.ceil(text.length / (PASSAGE_CHARS / 2));
  return Array.from({ length: count }, (_, at) => text.slice((at * PASSAGE_CHARS) / 2, (at / 2 + 1) * PASSAGE_CHARS));
}

// Values.

/** A date was resolved, a small number may be written in words, and a name may begin with a digit: nothing tells these. */
const UNPROVABLE = /^(?:19|20)\d{2}(?:-\d{2}){0,2}(?!\d)|^(?:\d|1[0-2])$|^\d\p{Lu}?\p{Ll}+$/u;
/** What stands around a path or an address and is none of it: a line behind a file, `@` of a mention, a tool's server, a scheme, `.git`. */
const AROUND =
  /\bmcp__[\w-]+?__(?=\w)|(?<=\.[a-z]{1,5}):\d+(?:[:-]\d+)?(?!\w)|(?<!\S)@(?=[\w.-]+\/)|\bhttps?:\/\/(?:www\.)?|\.git(?![\w/])/gi;

/** Whether a value leads somewhere or does something, and is no way of writing a number, a date, or one of two words. */
function isAddress(value: string): boolean {
  if (/^\p{L}[\p{L}-]*\/\p{L}[\p{L}-]*$/u.test(value)) return false;
  return /[@/\\]|^--?[a-z]|[\w-]{2,}\.[a-z]{2,}$/i.test(
    value.replace(/(?<![\w/\\.@-])\d+(?:\/\d+)+(?![\w/\\@-])/g, '0'),
  );
}

/** Whether a value stands in a text: also as the tail of a longer path, without a link's beginning, its parts as words. */
export function stands(value: string, text: string): boolean {
  const bare = value.replace(/^[a-z]+:\/\/(?:www\.)?/i, '').replace(/#\d+$/, '');
  const cut = value.split(/…|\.{3}|<\w+>/).filter((part) => part !== '');
  const hour = /^0?(\d{1,2}):00$/.exec(value)?.[1];
  const isIn = (source: string) =>
    isValueIn(hour ?? value, source) ||
    isValueIn(value, source) ||
    containsLiteralTail(bare, source) ||
    (cut[0] !== value && cut.every((part) => source.includes(part)));
  if (isIn(text) || isIn(text.replace(AROUND, ''))) return true;
  const parts = /^\p{L}[\p{L}-]+(?:\/[\p{L}-]+)+$/u.test(value) ? value.toLowerCase().split('/') : [];
  const lower = text.toLowerCase();
  return parts.length > 0 && parts.every((part) => containsLiteral(part, lower));
}

/** The values that nothing says on which the entry rests, nor the person typed. */
export function unsaidValues(candidate: Candidate): string[] {
  const { entry, text, quoted, shown, options, isStrict } = candidate;
  const typed = shown.flatMap((each) =>
    each.speaker === 'human' ? [ownWordsOf(each), ...promptsIn(typedOf(each))] : [],
  );
  const rests = quoted.map((each) => {
    if (!isStrict) return `${each.quote}\n${each.source.text}`;
    if (each.by === 'human') return choiceOf(each) ?? each.quote;
    return each.source.speaker === 'assistant' ? answered(each, candidate) : '';
  });
  // What an agent found out rests on the calls of what it quotes, too.
  const isQuoted = (id: string) => quoted.some(({ source }) => source.id === id);
  const calls = (entry.found ? (options.tried?.() ?? []) : []).filter(
    ({ call, result }) => isQuoted(result.message.id) || isQuoted(call.message.id),
  );
  const pool = [
    ...typed,
    ...rests,
    ...calls.flatMap(({ act }) => [act.does, withoutRemoving(act.does)]),
    ...(options.names ?? []),
  ];
  const isProved = (value: string) =>
    UNPROVABLE.test(value) ||
    pool.some((each) => stands(value, each)) ||
    (!isAddress(value) && shown.some(({ text: each }) => stands(value.replace(/^#(?=\d)/, ''), each))) ||
    isDictated(value, candidate);
  return literals(text).filter((value) => !isProved(value));
}

/** Why values are none that what the entry rests on says, or what the person typed. */
export function unsaidValueFaults(candidate: Candidate): string[] {
  const { quoted } = candidate;
  const [{ by }] = quoted;
  const whyOf = (value: string) => {
    const agent = quoted.find(({ source, quote }) => source.speaker === 'assistant' && containsLiteral(value, quote));
    if (agent && by === 'human')
      return `is only what the agent says in ${nameOf(agent.source)}, and the human's answer does not take it up. Leave the value out.`;
    const theirs = quoted.find(({ source }) => source.speaker === 'human' && stands(value, source.text));
    return theirs
      ? `is only quoted or pasted by the human in ${nameOf(theirs.source)}. Quote it there together with their own words, or leave the value out.`
      : 'stands in none of the messages it rests on. Add the one that says it to the evidence, or leave the value out.';
  };
  return [...Map.groupBy(unsaidValues(candidate), whyOf)].map(([why, values]) => `text: ${each(values)} ${why}`);
}

/** Values as a refusal names them. */
export function each(values: readonly string[]): string {
  const named = values.slice(0, MOST_NAMED).map((value) => JSON.stringify(value));
  return named.length > 1 ? `each of ${named.join(', ')}` : named.join('');
}
const MOST_NAMED = 8;

/** What an agent called, as it is shown. */
const callsOf = ({ speaker, text, words }: EvidenceSource) =>
  speaker === 'assistant' && words !== undefined ? text.slice(text.startsWith(words) ? words.length : 0) : '';

/** Of a value's letters so many may be others where a person only spelled it: `recall prompt dot ts`. */
const MISSPELLED_SHARE = 1 / 4;

/** Whether a person spelled the name of what the agent then worked with; never an address or a flag. */
function isDictated(value: string, { quoted, shown }: Candidate): boolean {
  if (/^-|:\/\/|@/.test(value) || !shown.some((each) => stands(value, callsOf(each)))) return false;
  const fold = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
  const wanted = fold(value.split(/[/\\]/).at(-1) ?? value);
  return quoted.some(({ quote, by }) => {
    const words = by === 'human' ? quote.split(/\s+/) : [];
    return words.some((_, from) =>
      [1, 2, 3, 4, 5].some((count) => {
        const spelled = fold(words.slice(from, from + count).join(''));
        return distanceBetween(wanted, spelled) <= wanted.length * MISSPELLED_SHARE;
      }),
    );
  });
}

/** So much of a text stands in one passage of what a tool said: that says it, and whoever looks finds it. */
const READ_SHARE = 0.8;

/** Whether a text of a tool says what a text says, or holds a quote. */
export function isReadIn(text: string, quote: string, whole: string): boolean {
  const result = whole.slice(0, MOST_READ);
  if (findQuote(result, quote) !== null) return true;
  // Most of what was read has not even the words.
  const [lower, words] = [result.toLowerCase(), unitsOf(text)];
  if (words.filter((word) => lower.includes(word.slice(0, STEM_CHARS))).length < words.length * READ_SHARE)
    return false;
  return asRead(result).some((seen) => windowsOf(seen).some((passage) => carriedShare(text, [passage]) >= READ_SHARE));
}
const MOST_READ = 20_000;
