// What code proves of a proposed entry: its quotes stand in messages that were offered, whoever it says spoke did speak,
// the quotes carry the text, and its values stand in what it rests on. A refusal says of each fault what would mend it.
// It never knows what a sentence means: the same words in another order pass, and so does a habit that was only shown.

import { asSeen } from '../base/text/wording.ts';
import { hasWrapperTag } from './as-read.ts';
import {
  type Candidate,
  type CheckOptions,
  choiceOf,
  type EvidenceSource,
  type FoundEntry,
  MOST_CHARS_AT_ENDS,
  nameOf,
  type ProposedEntry,
  type Quoted,
} from './candidate.ts';
import { uncarriedFault, unsaidValueFaults, unsaidValues, widenedFault } from './carried.ts';
import { CLAUSE, claimsSpeaker, findRelativeDate, isQuestion, orderIn, speaksToAgent } from './languages.ts';
import { provenLesson } from './lesson-rules.ts';
import type { Proof } from './lessons.ts';
import { countWords, findCut, findQuote, foldSpace } from './quotes.ts';
import { ownWords } from './spoken-text.ts';
import { ONLY_HERE } from './way-rules.ts';

type Problem = { problem: string };

/** The entry as it is kept, what code can mend of it mended; or what would make it pass. */
export async function checkEntry(proposed: ProposedEntry, options: CheckOptions): Promise<FoundEntry | Problem> {
  const faults: string[] = [];
  const problem = textProblem(proposed.text);
  if (problem) faults.push(`text: ${problem}`);
  const [standing, wrong] = quotedIn(proposed, options);
  // Without a quote that does not stand the rest may carry it; what else is wrong is told as if the words stood there.
  const said = standing.length > 0 ? standing : wrong.flatMap(({ as }) => as ?? []);
  const redacted = async (text: string) => asSeen((await options.redact(foldSpace(text))).text);
  const text = await redacted(proposed.text);
  const unquoted = wrong.map((each) => each.problem);
  if (said.length === 0 || text === '') return told([...faults, ...unquoted]);
  const entry = { ...proposed, text };
  const quoted = inItsOrder(entry, said as Candidate['quoted']);
  const shown = [...options.messages()];
  const read: Candidate = { entry, text, quoted, shown, options, isStrict: true };
  const rest = withoutShown(read);
  const isStrict = isOfPerson(entry) || claimsSpeaker(rest) !== null || speaksToAgent(text);
  const candidate = withQuotesOfValues({ ...read, isStrict });
  const speaker = speakerFault(candidate, rest);
  if (speaker) faults.push(speaker);
  // Who said it decides what has to carry it.
  if (!speaker || !isStrict)
    faults.push(
      ...unsaidValueFaults(candidate),
      ...[uncarriedFault(candidate), widenedFault(candidate)].filter((fault) => fault !== null),
    );
  const lesson = entry.found ? provenLesson(candidate, entry.found) : [];
  if ('faults' in lesson) faults.push(...lesson.faults);
  if (faults.includes(ONLY_HERE))
    return checkEntry({ ...proposed, text: `On this machine: ${proposed.text}` }, options);
  if (faults.length > 0 || standing.length === 0 || 'faults' in lesson) return told([...unquoted, ...faults]);
  const quotes = candidate.quoted.map((each) => ({ message: each.source.id, quote: asSeen(each.quote), by: each.by }));
  const evidence = await withProofs(quotes, lesson, async (quote) => withoutHome(await redacted(quote)));
  const changed = await redacted(entry.changes ?? '');
  // Left out where it could speak to whoever reads it, and memory does not say it.
  const isOrder = speaksToAgent(changed) && !options.isRemembered?.(changed);
  const changes = textProblem(changed) || hasWrapperTag(changed) || isOrder ? '' : changed;
  const { type, found } = entry;
  // What an agent found out is certain once another session finds it, too.
  const strength = found ? 'implied' : entry.strength;
  const [{ by, source }] = quoted;
  const { turn, at } = source;
  const more = { ...(at && { at }), ...(changes && { changes }), ...(found && { found }) };
  return { type, strength, text: found ? withoutHome(text) : text, evidence, by, turn, ...more };
}

/** Of what is wrong with an entry so much is told at once. */
const MOST_FAULTS = 5;
const told = (faults: string[]): Problem => ({ problem: [...new Set(faults)].slice(0, MOST_FAULTS).join(' Also: ') });

/** A text without whose home its paths lead through. */
const withoutHome = (text: string) =>
  text.replace(/(?<![\w.~-])(?:\/home\/|\/Users\/|[A-Z]:\\Users\\)[^/\\\s"'`]+/g, '~');

/** The quotes with what the calls of a lesson show, each once. */
async function withProofs(
  said: FoundEntry['evidence'],
  proven: readonly { message: string; quote: string; proves: Proof }[],
  redacted: (text: string) => Promise<string>,
): Promise<FoundEntry['evidence']> {
  const evidence = [...said];
  for (const { message, quote, proves } of proven) {
    const own = evidence.find((each) => each.message === message && each.quote === asSeen(quote) && !each.proves);
    if (own) own.proves = proves;
    else
      evidence.push({ message, quote: await redacted(quote), by: proves === 'error' ? 'tool' : 'assistant', proves });
  }
  return evidence;
}

// What code mends itself, rather than ask for it again.

/** The quotes of an entry, first one that is offered, and of what is about a person one of theirs. */
function inItsOrder({ type, found }: ProposedEntry, quoted: Candidate['quoted']): Candidate['quoted'] {
  const canCarry = ({ by, source }: Quoted) => source.offered && (by === 'human' || !isOfPerson({ type }));
  const first = (found ? undefined : quoted.find(canCarry)) ?? quoted[0];
  return [first, ...quoted.filter((each) => each !== first)];
}

/** More quotes than these do not make an entry truer. */
const MOST_QUOTES = 10;
const MOST_OF_LINE = 200;

/**
 * With the lines that say the values which none of the quotes does, each from the nearest message of an agent or its tools that
 * holds it; a person's words carry only what they say.
 */
function withQuotesOfValues(candidate: Candidate): Candidate {
  const { quoted, shown, options, isStrict } = candidate;
  if (isStrict || quoted[0].by === 'human' || quoted[0].by === 'quoted') return candidate;
  const own = shown.findIndex(({ id }) => id === quoted[0].source.id);
  const nearest = shown.map((source, at) => ({ source, apart: Math.abs(at - own) })).sort((a, b) => a.apart - b.apart);
  const more = unsaidValues(candidate).flatMap((value): Quoted[] => {
    for (const { source } of nearest) {
      if (!source.text.includes(value)) continue;
      const line = source.text.split('\n').find((each) => each.includes(value)) ?? '';
      const found = findEvidence(source.id, aroundIn(line, value), options);
      if ('source' in found) return [found];
    }
    return [];
  });
  return { ...candidate, quoted: [quoted[0], ...quoted.slice(1), ...more.slice(0, MOST_QUOTES - quoted.length)] };
}

/** Of a line that is long the words around what is looked for in it. */
function aroundIn(line: string, value: string): string {
  if (line.length <= MOST_OF_LINE) return line;
  const from = Math.max(0, line.indexOf(value) - MOST_OF_LINE / 2);
  const part = line.slice(from, from + value.length + MOST_OF_LINE);
  const begun = from > 0 ? part.replace(/^\S*\s+/, '') : part;
  return begun.includes(value) ? begun.replace(/\s+\S*$/, '') : value;
}

const isOfPerson = ({ type }: Pick<ProposedEntry, 'type'>) => type === 'user' || type === 'feedback';

// Line ends, control characters, direction overrides and halves of characters have no place in a line of a log.
const UNFIT = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** Why a text is no line of a log that is understood on another day; null where it is one. */
function textProblem(text: string): string | null {
  const trimmed = text.trim();
  if (asSeen(trimmed) === '') return 'is empty.';
  if (UNFIT.test(trimmed.replaceAll('\t', ' '))) return 'must be one line, without control characters.';
  const relative = findRelativeDate(trimmed);
  return relative === null ? null : `"${relative}" means nothing on another day. Write the date as YYYY-MM-DD.`;
}

// Quotes.

/** The quotes that stand in their messages, and what is wrong with the others; `as`: what would stand there. */
function quotedIn(
  { evidence, found }: ProposedEntry,
  options: CheckOptions,
): [Quoted[], (Problem & { as?: Quoted })[]] {
  const standing: Quoted[] = [];
  const wrong: (Problem & { as?: Quoted })[] = [];
  for (const [at, { message, quote }] of evidence.entries()) {
    const words = findEvidence(message, quote, options);
    const source = options.find(message);
    const isHumans = ('by' in words ? words.by : source?.speaker) === 'human';
    const order = found && !isHumans ? (orderIn(quote) ?? claimsSpeaker(quote)) : null;
    const problem =
      'problem' in words
        ? words.problem
        : `quote: ${JSON.stringify(order)} tells an agent what to do, or what a person wants, and no human said it. Quote other words, or leave it out.`;
    if ('source' in words && order === null) standing.push(words);
    else
      wrong.push({
        problem: `evidence[${at}].${problem}`,
        as: 'source' in words ? words : source && { source, quote: foldSpace(quote), by: source.speaker },
      });
  }
  return [standing, wrong];
}

/** The message that is named, with the words in it that are quoted. */
function findEvidence(
  message: string,
  quote: string,
  { find, messages, excerpt = '' }: CheckOptions,
): Quoted | Problem {
  const source = find(message);
  if (!source) return { problem: `message: no message ${message} here. Use an id as shown in [brackets].` };
  const words = findQuote(source.text, quote) ?? findCut(source.text, quote, excerpt);
  const asked = words === null && source.asked !== undefined ? findQuote(source.asked, quote) : null;
  if (asked !== null) {
    const { asked: text = '', words: _, chosen: __, ...answer } = source;
    return { source: { ...answer, speaker: 'assistant', text }, quote: asked, by: 'assistant' };
  }
  if (words === null) {
    const isShort = ({ text }: EvidenceSource) => text.length <= 2 * MOST_CHARS_AT_ENDS;
    const other = [...messages()].find((each) => isShort(each) && findQuote(each.text, quote) !== null);
    const mend = other ? `, but in ${nameOf(other)}. Name that message` : '. Copy them exactly, without gaps';
    return { problem: `quote: these words do not stand in ${message}${mend}.` };
  }
  if (countWords(words) < 2 && !isAnswer(words, foldSpace(source.text)))
    return { problem: `quote: too short. Quote at least two words of ${message}, or the whole message.` };
  const isForeign = source.speaker === 'human' && !isTyped(words, source);
  return { source, quote: words, by: isForeign ? 'quoted' : source.speaker };
}

/** Whether a word is all of a message, or what it begins with: "right. then …" */
function isAnswer(word: string, text: string): boolean {
  const rest = text.slice(word.replace(/[.,;:!?]+$/, '').length);
  return text.startsWith(word) && (word === text || (countWords(word) > 0 && /^[.,;:!?]+(?:\s|$)/.test(rest)));
}

/** Whether a human typed a quote; what they put into quotation marks may be twice as much of it, unless they ask about it. */
function isTyped(quote: string, { text }: EvidenceSource): boolean {
  const own = ownWords(text);
  if (findQuote(own, quote) !== null) return true;
  const around = ownWords(quote);
  if ([around, ...around.split(CLAUSE)].some(isQuestion)) return false;
  const parts = around.split('\n').filter((part) => countWords(part) > 0);
  return countWords(parts.join(' ')) * 3 >= countWords(quote) && parts.every((part) => findQuote(own, part) !== null);
}

// Speakers.

/** The text of a finding without the clauses that say what a person said, where quoted words of theirs carry each. */
function withoutShown(candidate: Candidate): string {
  const { entry, text, quoted } = candidate;
  const [first, ...others] = quoted.filter(({ by, source }) => by === 'human' && source.offered);
  if (!entry.found || !first || quoted[0].by === 'human') return text;
  return text.split(CLAUSE).reduce((left, clause) => {
    const claim = claimsSpeaker(clause);
    if (claim === null) return left;
    const said: ProposedEntry = { ...entry, strength: 'stated', found: undefined };
    const own: Candidate = { ...candidate, entry: said, text: clause.replace(claim, ''), quoted: [first, ...others] };
    return unsaidValueFaults(own).length > 0 || uncarriedFault(own) !== null ? left : left.replace(clause, '');
  }, text);
}

/** `rest`: what of the text no person's quoted words carry. */
function speakerFault(candidate: Candidate, rest: string): string | null {
  const { entry, text, quoted } = candidate;
  const [{ source, by }] = quoted;
  const name = nameOf(source);
  if (!source.offered)
    return `evidence[0].message: ${name} is context, on which nothing can rest. Put a message first that is offered.`;
  if (isOfPerson(entry) && source.speaker !== 'human')
    return `evidence[0].message: a ${entry.type} entry rests on a human message, ${name} is by ${source.speaker}. Put the human's first, or leave it out.`;
  if (isOfPerson(entry) && by !== 'human')
    return `evidence[0].quote: the human only quotes or pastes these words in ${name}. What someone else said is no rule of the human; quote the human's own words, or leave it out.`;
  if (hasWrapperTag(text)) return 'text: holds a tag of this conversation. Leave the tag out.';
  if (by === 'human') {
    const isChoice = quoted.every((each) => each.source.speaker !== 'human' || choiceOf(each) !== null);
    return entry.type === 'user' && isChoice
      ? `type: ${name} is a choice among what was offered. It says what was decided here, not who the user is: make it project or feedback.`
      : null;
  }
  const [where, order] = inEither(orderIn, candidate);
  if (order !== null)
    return `${where}: ${JSON.stringify(order)} tells an agent what to do, and no human said it (${name} is ${by}). Say what is so, or leave it out.`;
  const [place, claim] = inEither(claimsSpeaker, { ...candidate, text: rest });
  return claim === null
    ? null
    : `${place}: ${JSON.stringify(claim)} says what a person says or wants, and no human said it (${name} is ${by}). Quote the human, or leave it out.`;
}

/** What a text says, or else the quote that carries it, and where; of a finding its own rules read each quote. */
function inEither(find: (text: string) => string | null, { entry, text, quoted: [{ quote }] }: Candidate) {
  const found = find(text);
  return found !== null || entry.found ? (['text', found] as const) : (['evidence[0].quote', find(quote)] as const);
}
