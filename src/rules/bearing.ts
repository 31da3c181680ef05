// Whether what an entry quotes carries its text: a share of its words stands in a person's quoted words, or in the clause
// of an agent's that they answer and that is quoted with them, and no denial, question or condition around them is left
// out. A habit has no share; it is only told from someone else's sentence. It never knows what a sentence means.

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
} from './evidence.ts';
import { CLAUSE, hasCondition, isDenied, isQuestion, LIGHT } from './languages.ts';
import { literals } from './literals.ts';
import { countWords, findQuote, foldSpace, sentenceAround } from './quotes.ts';
import { stands } from './said-values.ts';
import { ownWords } from './spoken-text.ts';
import { CARRIED_SHARE, carriedShare, commonWords, isNegated, unitsOf } from './words.ts';

/** What the formats write where a person approved a plan. */
const APPROVED = 'approved the plan';
/** What a person's answer is to: at most so many words are nothing but an answer. */
const MOST_WORDS_OF_ANSWER = 4;

function wordsOf({ words, text }: EvidenceSource): string {
  return words ?? text;
}

/** What of an agent's quoted words a person answers who is quoted, too; empty where they answer something else. */
export function answered({ source, quote }: Quoted, { quoted, shown, text }: Candidate): string {
  const found = quoted.flatMap((answer) => {
    if (answer.by !== 'human' || (isDenied(answer.quote) && !saysNo(text)) || isQuestion(answer.quote)) return [];
    if (answer.source.id === source.id || answer.source.chosen?.includes(APPROVED)) return [quote];
    const at = shown.findIndex(({ id }) => id === answer.source.id);
    const before = shown.slice(0, Math.max(at, 0));
    const last = before.findLast((each) => each.speaker === 'assistant' && wordsOf(each).trim() !== '');
    if (last?.id !== source.id) return [];
    const taken = closingOf(wordsOf(source), ownWords(answer.source.text));
    return [
      findQuote(taken, quote),
      findQuote(quote, taken),
      ...taken.split('\n').map((part) => findQuote(quote, part)),
    ];
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
  const isShort = countWords(answer) <= MOST_WORDS_OF_ANSWER;
  const paragraphs = said.trim().split(/\n\s*\n/);
  const asking = paragraphs.findLastIndex((each) => /[?？؟]/.test(each));
  const sentences = (paragraphs[asking] ?? paragraphs.at(-1) ?? '')
    .split(SENTENCES)
    .filter((each) => each.trim() !== '');
  const question = sentences.findLastIndex((each) => /[?？؟]\s*["'”’)\]*_`]*\s*$/.test(each));
  if (COUNTS.test(answer))
    return said
      .split('\n')
      .filter((line) => LIST_ITEM.test(line))
      .concat(sentences.slice(question))
      .join('\n');
  if (question < 0) return isShort && countWords(answer) < MOST_WORDS_OF_ANSWER ? sentences.slice(-2).join('\n') : '';
  return sentences.slice(Math.max(0, question - (isShort ? 1 : 0)), question + 1).join('\n');
}

/** So much of a message around a quote is read with it. */
const MOST_CHARS = 300;

/** What of a quote carries the text, with what stands around it; `leftOut`: what its sentence says and the text does not. */
function bearing(each: Quoted, candidate: Candidate): { says: string; leftOut?: string } {
  const { source, quote, by } = each;
  const { text, isStrict } = candidate;
  if (by !== 'human' && isStrict) return { says: source.speaker === 'assistant' ? answered(each, candidate) : '' };
  if (by !== 'human') return { says: around(source.text, quote) };
  const choice = choiceOf(each);
  if (choice !== null) return isDenied(choice) && !saysNo(text) ? { says: '', leftOut: 'a denial' } : { says: choice };
  const own = ownWords(source.text);
  const leftOut = leftOutOf(own, quote, candidate) ?? undefined;
  // What a person quotes is what they say only where the text quotes it, too.
  return { says: QUOTATION.test(text) ? around(own, quote) : around(own, ownWords(quote)), leftOut };
}

function saysNo(text: string): boolean {
  return isDenied(text) || isNegated(text);
}

const QUOTATION = /["“„«「『]/;

/** A quote with what stands around it in the message, as long as that is short. */
function around(text: string, quote: string): string {
  const source = foldSpace(text);
  const at = source.indexOf(quote);
  const room = MOST_CHARS - quote.length;
  return at < 0 || room <= 0 ? quote : source.slice(Math.max(0, at - room / 2), at + quote.length + room / 2);
}

const A_QUESTION = 'that it is a question';

/** What the sentence of a quote says that the text leaves out: a denial, a condition, a question; null for nothing. */
function leftOutOf(own: string, quote: string, { text, isStrict }: Candidate): string | null {
  const place = sentenceAround(own, quote);
  if (place === null) return null;
  const { before, after } = place;
  const whole = `${before}${place.quote}${after}`;
  if (isStrict && isQuestion(whole.split(SENTENCES).at(-1) ?? whole) && !text.includes('?')) return A_QUESTION;
  const near = `${before.split(CLAUSE).at(-1)} … ${after.split(CLAUSE)[0]}`;
  const clauses = place.quote.split(CLAUSE);
  const carrying = clauses.toSorted((a, b) => carriedShare(text, [b]) - carriedShare(text, [a]))[0] ?? '';
  if ((isDenied(near) || isDenied(carrying)) && !saysNo(text)) return 'a denial';
  const isTakenUp = (clause: string) => hasCondition(text) || carriedShare(clause, [text]) > 0;
  const condition = [...before.split(CLAUSE), ...after.split(CLAUSE)].find((clause) => hasCondition(clause));
  return condition !== undefined && !isTakenUp(condition) ? `the condition ${JSON.stringify(condition.trim())}` : null;
}

const common = new WeakMap<CheckOptions, Set<string>>();

/** The words that say nothing here: what half of a person's messages hold, and the names of the project. */
function commonOf({ options, shown }: Candidate): Set<string> {
  const ofHuman = () => shown.filter(({ speaker }) => speaker === 'human').map((each) => ownWordsOf(each));
  const known = common.get(options) ?? commonWords(ofHuman());
  common.set(options, known);
  return known.union(LIGHT).union(
    new Set(
      (options.names ?? [])
        .join(' ')
        .toLowerCase()
        .match(/\p{L}{4,}/gu),
    ),
  );
}

/** Why the quotes do not carry the text, and what would; null where they do. */
export function uncarriedFault(candidate: Candidate): string | null {
  const { entry, text, quoted, isStrict } = candidate;
  const [{ by }] = quoted;
  const options = { common: commonOf(candidate) };
  const bearings = quoted.map((each) => bearing(each, candidate));
  const values = literals(text);
  const words = values.reduce((left, value) => left.replaceAll(value, ' '), text);
  const apart = { ...options, values: { all: values, isIn: stands } };
  const shareOf = (quotes: string[]) =>
    Math.max(carriedShare(text, quotes, options), carriedShare(words, quotes, apart));
  // Of a long quote the passage counts that says it.
  const passages = bearings.flatMap(({ says, leftOut }) => {
    const parts = passagesOf(says).map((part) => ({ says: part, leftOut, share: shareOf([part]) }));
    return parts.sort((a, b) => b.share - a.share).slice(0, 1);
  });
  const shares = passages.sort((a, b) => b.share - a.share);
  const outright = shares.filter(({ leftOut }) => leftOut === undefined);
  // A question beside a statement on the same may be what it is about.
  const said = shares.filter(
    ({ leftOut, share }) =>
      !leftOut || (leftOut === A_QUESTION && outright.some((each) => each.share > 0) && share > 0),
  );
  if (shareOf(said.map(({ says }) => says)) >= CARRIED_SHARE) return null;
  if (entry.strength === 'implied' && by === 'human') return isStrict ? borrowedFault(candidate) : null;
  const { leftOut } = bearings.find((each) => each.leftOut) ?? {};
  if (leftOut) return `text: leaves out ${leftOut} in the sentence that is quoted. Say it, or leave the entry out.`;
  const whose = isStrict ? "the human's words, or with the question that they answer," : 'the words';
  return `text: fewer than ${CARRIED_SHARE * 100} of 100 of its words stand in what is quoted. Quote ${whose} that say it, and use those words.`;
}

/** So much of a text stands in one passage of someone else's, and in none of a human's. */
const BORROWED_SHARE = 0.6;

/** Why a habit that is said to be shown is someone else's sentence: no human typed it, and a passage of others says it. */
function borrowedFault({ text, shown }: Candidate): string | null {
  const stems = unitsOf(text).map((word) => word.slice(0, STEM_CHARS));
  const carries = (share: number) => (passage: string) => {
    const lower = passage.toLowerCase();
    return (
      stems.filter((stem) => lower.includes(stem)).length * 2 >= stems.length && carriedShare(text, [passage]) >= share
    );
  };
  const isHuman = ({ speaker }: EvidenceSource) => speaker === 'human';
  if (shown.filter(isHuman).some((each) => passagesOf(ownWordsOf(each)).some(carries(CARRIED_SHARE)))) return null;
  const other = shown.find((each) =>
    passagesOf(asRead(each.text.slice(0, MOST_CHARS_AT_ENDS)).join('\n')).some(carries(BORROWED_SHARE)),
  );
  if (!other) return null;
  const who = isHuman(other) ? 'someone who is quoted' : other.speaker;
  return `text: says what ${who} says in ${nameOf(other)}, not what the human does. Quote the human's message that says it or answers it, and use its words.`;
}

const STEM_CHARS = 4;

/** A text in passages that overlap: what one speaker says stands together, single words stand anywhere. */
function passagesOf(text: string): string[] {
  const count = Math.ceil(text.length / (MOST_CHARS / 2));
  return Array.from({ length: count }, (_, at) => text.slice((at * MOST_CHARS) / 2, (at / 2 + 1) * MOST_CHARS));
}
