// What code checks of one proposed entry: that its quotes stand where it says, that it says what they say, and that
// no other words become the person's. Every refusal names the words, the message and the mend.
// It cannot know what a sentence means; it tells by form and by which words stand where.

import { asSeen } from '../base/text/wording.ts';
import { asRead, claimsSpeaker, hasWrapperTag, ownValues, ownWords, speaksToAgent } from '../rules/injection.ts';
import { containsLiteral, containsLiteralTail, literals } from '../rules/literals.ts';
import { contentWords, isSameWord } from '../rules/words.ts';
import {
  adoptedWords,
  answerIn,
  countWords,
  findQuote,
  foldSpace,
  isAddress,
  onlyDenies,
  textProblem,
  turnsDown,
  withLongForms,
  withoutQuoted,
} from './entry-words.ts';

/** A message of the excerpt that can be quoted. */
export interface EvidenceSource {
  id: string;
  /** What the excerpt shows of it. */
  shownAs?: string;
  turn: string;
  speaker: string;
  at?: string;
  /** Its whole redacted text. */
  text: string;
  /** What of the text it says in words, where it also calls tools; default: all of it. */
  words?: string;
  /** What of a human's text was chosen among what was offered, with the question: a decision in a model's words. */
  chosen?: string;
  /** What an agent asked, where it is shown with the human's answer, under one id. */
  asked?: string;
  /** False: context, which can support an entry but not carry it. */
  offered: boolean;
}

/** One entry as the model proposes it. */
export interface ProposedEntry {
  type: 'user' | 'feedback' | 'project' | 'reference';
  /** Said outright, or shown by what was done. */
  strength: 'stated' | 'implied';
  text: string;
  evidence: { message: string; quote: string }[];
  /** What it changes of what was known. */
  changes?: string;
}

/** An entry that passed every check: its text and what it changes are one line each, redacted. */
export interface FoundEntry extends ProposedEntry {
  /** Full message ids; quotes in the message's own words, white space folded. */
  evidence: { message: string; quote: string /** Who said it, as in the entry's own `by`. */; by?: string }[];
  /** Speaker of the first evidence, or `quoted` where a human only quotes or pastes it; its turn and time. */
  by: string;
  turn: string;
  at?: string;
}

export interface CheckOptions {
  /** By the full id, or by what the excerpt shows of it. */
  find(id: string): EvidenceSource | undefined;
  /** All messages that are shown, in source order. */
  messages(): Iterable<EvidenceSource>;
  /** What says nothing of who said a thing: the names of the project, the directory it is in. */
  names?: string[];
  redact: (text: string) => Promise<{ text: string }>;
}

/** What the formats write where a person approved a plan. */
const APPROVED = 'approved the plan';

type Problem = { problem: string };
type Quoted = { source: EvidenceSource; quote: string };

export async function checkEntry(entry: ProposedEntry, options: CheckOptions): Promise<FoundEntry | Problem> {
  const problem = textProblem(entry.text);
  if (problem) return { problem: `text: ${problem}` };
  const quoted: Quoted[] = [];
  for (const [at, { message, quote }] of entry.evidence.entries()) {
    const found = findEvidence(message, quote, options);
    if ('problem' in found) return { problem: `evidence[${at}].${found.problem}` };
    quoted.push(found);
  }
  const [first] = quoted as [Quoted];
  const { turn, at, offered, speaker } = first.source;
  const id = nameOf(first.source);
  if (!offered) {
    return {
      problem: `evidence[0].message: ${id} is context, on which nothing can rest. Put a message first that is offered.`,
    };
  }
  if (isOfPerson(entry) && speaker !== 'human') {
    return {
      problem: `evidence[0].message: a ${entry.type} entry rests on a human message, ${id} is by ${speaker}. Put the human's first, or leave it out.`,
    };
  }
  const text = asSeen((await options.redact(foldSpace(entry.text))).text);
  const by = whoSays(first);
  const foreign = foreignProblem({ ...entry, text }, { by, quoted, options });
  if (foreign) return { problem: foreign };
  const evidence = quoted.map((each) => ({ message: each.source.id, quote: asSeen(each.quote), by: whoSays(each) }));
  const changes = await changesOf(entry, options);
  const { type, strength } = entry;
  return { type, strength, text, evidence, by, turn, ...(at ? { at } : {}), ...(changes && { changes }) };
}

/** What an entry says that it changes, as one line; empty where that could speak to whoever reads it. */
async function changesOf({ changes = '' }: ProposedEntry, { redact }: CheckOptions): Promise<string> {
  const text = asSeen((await redact(foldSpace(changes))).text);
  return textProblem(text) || hasWrapperTag(text) || speaksToAgent(text) ? '' : text;
}

function isOfPerson({ type }: Pick<ProposedEntry, 'type'>): boolean {
  return type === 'user' || type === 'feedback';
}

/** The message that is named, with the words in it that are quoted. */
function findEvidence(message: string, quote: string, { find, messages }: CheckOptions): Quoted | Problem {
  const source = find(message);
  if (!source) return { problem: `message: no message ${message} here. Use an id as shown in [brackets].` };
  const words = findQuote(source.text, quote);
  if (words === null && source.asked !== undefined) {
    const { asked: text, id, shownAs, turn, at, offered } = source;
    const inQuestion = findQuote(text, quote);
    if (inQuestion !== null)
      return { source: { id, shownAs, turn, at, offered, speaker: 'assistant', text }, quote: inQuestion };
  }
  if (words === null) {
    const says = ({ text }: EvidenceSource) => text.length <= 2 * MOST_CHARS_AT_ENDS && findQuote(text, quote) !== null;
    const other = [...messages()].find(says);
    const mend = other ? `, but in ${nameOf(other)}. Name that message` : '. Copy them exactly, without gaps';
    return { problem: `quote: these words do not stand in ${message}${mend}.` };
  }
  if (countWords(words) < 2 && !isAnswer(words, foldSpace(source.text))) {
    return { problem: `quote: too short. Quote at least two words of ${message}, or the whole message.` };
  }
  return { source, quote: words };
}

/** Whether a word is all of a message, or what it begins with: "right. then …" */
function isAnswer(word: string, text: string): boolean {
  const rest = text.slice(word.replace(/[.,;:!?]+$/, '').length);
  return text.startsWith(word) && (word === text || (countWords(word) > 0 && /^[.,;:!?]+(?:\s|$)/.test(rest)));
}

/**
 * Why words of others would become an entry: what a person only quoted or pasted is not the person's, what an
 * agent said is theirs only where they answered it, what a program or agent said is no instruction.
 */
function foreignProblem(
  entry: ProposedEntry,
  { by, quoted, options }: { by: string; quoted: Quoted[]; options: CheckOptions },
): string | null {
  const { text } = entry;
  const [{ source, quote }] = quoted as [Quoted];
  if (isOfPerson(entry) && by !== 'human') {
    return `evidence[0].quote: the human only quotes or pastes these words in ${nameOf(source)}. What someone else said is no rule of the human; quote the human's own words, or leave it out.`;
  }
  if (hasWrapperTag(text)) return 'text: holds a tag of this conversation. Leave the tag out.';
  if (by !== 'human') {
    if ([text, quote].some(speaksToAgent)) {
      return `text: tells an agent what to do, and no human said it (${nameOf(source)} is ${by}). Leave it out.`;
    }
    const claim = claimsSpeaker(text) ?? claimsSpeaker(quote);
    if (claim !== null) {
      return `text: ${JSON.stringify(claim)} says what a person says or wants, and no human said it (${nameOf(source)} is ${by}). Quote the human, or leave it out.`;
    }
  } else if (entry.type === 'user' && quoted.every((each) => each.source.speaker !== 'human' || isChosen(each))) {
    return `type: ${nameOf(source)} is a choice among what was offered. It says what was decided here, not who the user is: make it project or feedback.`;
  }
  if (by === 'human' && onlyDenies(answerIn(source, quote)) && !turnsDown(text)) {
    return `text: in ${nameOf(source)} the human only says no. Say what they turned down, with a "not", or leave it out.`;
  }
  // Whatever its type: an order, and what someone is said to want, is theirs or is not kept.
  const isStrict = isOfPerson(entry) || claimsSpeaker(text) !== null || speaksToAgent(text);
  const shown = withChoicesApart([...options.messages()], quoted);
  const said = quoted.map((each) => supportOf(each, { text, by, isStrict, quoted, shown })).join('\n');
  const human = shown.filter(({ speaker }) => speaker === 'human').map((each) => ownValues(each.text));
  const names = (options.names ?? []).join('\n');
  // What a person pasted is not their word, yet a value that stands there was not made up.
  const whole = isStrict ? [] : quoted.map(({ source: each }) => (each.speaker === 'human' ? each.text : ''));
  const quotes = quoted.flatMap((each) => (whoSays(each) === 'human' ? [each.quote] : []));
  const unsaid = literals(text).find(
    (value) =>
      isAddress(value) &&
      !isNamed(value, [said, names, ...human, ...whole, ...quotes]) &&
      !isWorkedOn(value, shown) &&
      !isFlagOf(value, said, shown) &&
      !isEitherOr(value, shown),
  );
  if (unsaid) {
    const agent = quoted.find(
      ({ source: { speaker }, quote: words }) => speaker === 'assistant' && containsLiteral(unsaid, words),
    );
    if (agent) {
      return `text: ${JSON.stringify(unsaid)} is only what the agent says in ${nameOf(agent.source)}, and the human's answer does not take it up. Leave the value out.`;
    }
    const theirs = quoted.find(({ source }) => source.speaker === 'human' && isNamed(unsaid, [source.text]));
    if (theirs) {
      return `text: ${JSON.stringify(unsaid)} is only quoted or pasted by the human in ${nameOf(theirs.source)}. Quote it there together with their own words, or leave the value out.`;
    }
    return `text: ${JSON.stringify(unsaid)} stands in none of the messages it rests on. Add the one that says it to the evidence, or leave the value out.`;
  }
  if (by !== 'human') return null;
  // What a person only shows is worded by what was done.
  const done = entry.strength === 'implied' ? shown.map((each) => callsOf(each).slice(0, MOST_CHARS_OF_CALL)) : [];
  return borrowedProblem(text, { known: [said, names, ...human, ...done].join('\n'), names, shown, quotes });
}

/** The messages; of one that nothing rests on, what was chosen counts as an agent's words, which it is. */
function withChoicesApart(messages: EvidenceSource[], quoted: Quoted[]): EvidenceSource[] {
  const cited = new Set(quoted.map(({ source }) => source.id));
  return messages.flatMap((each) => {
    if (each.chosen === undefined || cited.has(each.id)) return [each];
    const lines = new Set(each.chosen.split('\n'));
    const typed = each.text.split('\n').filter((line) => !lines.has(line));
    return [
      { ...each, speaker: 'assistant', text: each.chosen },
      { ...each, text: typed.join('\n') },
    ];
  });
}

/** Behind a file's name. */
const LINE_NUMBER = /(?<=\.[a-z]{1,5}):\d+(?:[:-]\d+)?(?!\w)/gi;

/**
 * Whether a value stands in one of the texts, also as the tail of a longer path, before the number of a line, or without
 * what a link begins with.
 */
function isNamed(value: string, texts: string[]): boolean {
  const bare = value.replace(/^[a-z]+:\/\/(?:www\.)?/i, '').replace(/#\d+$/, '');
  const stands = (text: string) => containsLiteral(value, text) || containsLiteralTail(bare, text);
  return texts.some((each) => stands(each) || stands(each.replace(LINE_NUMBER, '')));
}

/** Whether a value is a path or a name that the agent itself worked with, and no link, address or flag. */
function isWorkedOn(value: string, shown: EvidenceSource[]): boolean {
  if (/^-|:\/\/|@/.test(value)) return false;
  return shown.some((each) => isNamed(value, [callsOf(each).replace(/[a-z]+:\/\/[^\s"']+/gi, ' ')]));
}

/** Whether a value is a flag that was shown, and what is said names it without its dashes. */
function isFlagOf(value: string, said: string, shown: EvidenceSource[]): boolean {
  const [, name] = /^--?([a-z][\w-]{3,})$/i.exec(value) ?? [];
  return name !== undefined && containsLiteral(name, said) && shown.some(({ text }) => containsLiteral(value, text));
}

/** Whether a value only says "this or that": it stands nowhere as it is, and its words are the conversation's. */
function isEitherOr(value: string, shown: EvidenceSource[]): boolean {
  if (!/^[\p{L}-]+(?:\/[\p{L}-]+)+$/u.test(value) || shown.some(({ text }) => containsLiteralTail(value, text)))
    return false;
  const talk = shown.filter(({ speaker }) => speaker === 'human' || speaker === 'assistant').map(({ text }) => text);
  const words = contentWords(talk.join('\n'));
  return [...contentWords(value)].every((word) => isIn(word, words));
}

/** What the agent called, as it is shown. */
function callsOf({ speaker, text, words }: EvidenceSource): string {
  return speaker === 'assistant' && words !== undefined ? text.slice(text.startsWith(words) ? words.length : 0) : '';
}

/** What of a message an entry can rest on. */
function supportOf(
  { source, quote }: Quoted,
  of: { text: string; by: string; isStrict: boolean; quoted: Quoted[]; shown: EvidenceSource[] },
): string {
  const { text, by, isStrict, quoted, shown } = of;
  if (by !== 'human') return source.text;
  if (source.speaker === 'human') return isOwn(quote, source) ? ownWords(source.text) : '';
  if (source.speaker !== 'assistant') return '';
  if (!isStrict) return source.text;
  const saidBefore = (id: string) => lastSaidBefore(id, shown);
  return (
    quoted
      .filter(({ source: { id, speaker } }) => speaker === 'human' && [id, saidBefore(id)?.id].includes(source.id))
      // A bare "no" takes over nothing but what it turns down.
      .filter(({ source: { text: answer } }) => turnsDown(text) || !onlyDenies(ownWords(answer)))
      .map(({ source: answer }) =>
        // A plan is approved as a whole, and a question that is shown with its answer was answered.
        answer.id === source.id || answer.chosen?.includes(APPROVED)
          ? wordsOf(source)
          : adoptedWords(ownWords(answer.text), wordsOf(source)),
      )
      .join('\n')
  );
}

/** The last message before a human's in which the agent says something; tools and reminders between them do not count. */
function lastSaidBefore(human: string, shown: EvidenceSource[]): EvidenceSource | undefined {
  const at = shown.findIndex(({ id }) => id === human);
  return shown
    .slice(0, Math.max(at, 0))
    .findLast((each) => each.speaker === 'assistant' && wordsOf(each).trim() !== '');
}

/** What the model knows a message by. */
function nameOf({ shownAs, id }: EvidenceSource): string {
  return shownAs ?? id;
}

function wordsOf({ words, text }: EvidenceSource): string {
  return words ?? text;
}

/** Whether the words are of a choice, and the human typed none of them. */
function isChosen({ source, quote }: Quoted): boolean {
  return source.chosen !== undefined && findQuote(source.chosen, quote) !== null;
}

/** Who says a quote: the speaker of the message, or `quoted` where a human only quotes or pastes it. */
function whoSays({ source, quote }: Quoted): string {
  return source.speaker === 'human' && !isOwn(quote, source) ? 'quoted' : source.speaker;
}

/** A question that asks for a change: what it puts between quotation marks is part of the order. */
const REQUESTS =
  /\b(?:can|could) (?:we|you) (?:\w+ ){0,2}?(?:add|adjust|change|drop|move|put|remov(?:e|ing)|rename|replac(?:e|ing)|swap|update)\b/i;

/**
 * Whether a human says a quote in their own words; of what they quote in it twice as much may be, unless they ask about it.
 */
function isOwn(quote: string, { text }: EvidenceSource): boolean {
  const own = ownWords(text);
  if (findQuote(own, quote) !== null) return true;
  const around = ownWords(quote);
  if (/[?？]/.test(around) && !REQUESTS.test(around)) return false;
  const parts = around.split('\n').filter((part) => countWords(part) > 0);
  return countWords(parts.join(' ')) * 3 >= countWords(quote) && parts.every((part) => findQuote(own, part) !== null);
}

/** Of a call, what it is for; not the file it writes. */
const MOST_CHARS_OF_CALL = 300;
/** Half of what a text says stands in what another speaker says, and no human said it. */
const BORROWED_SHARE = 1 / 2;

/**
 * Why a text says what an agent, a program or a paste says: half of its words stand there and in no words of a human.
 * Dates, and the names of what the session is about, do not count.
 */
function borrowedProblem(
  text: string,
  { known, names, shown, quotes }: { known: string; names: string; shown: EvidenceSource[]; quotes: string[] },
): string | null {
  const ofProject = contentWords(names);
  // What it quotes as the human does is no claim of its own.
  const words = [...contentWords(asRead(withoutQuoted(text, quotes)))].filter(
    (word) => !/^[\d-]+$/.test(word) && !isIn(word, ofProject),
  );
  const isOwn = ({ speaker, text: whole }: EvidenceSource) => speaker === 'human' && ownWords(whole) === whole;
  const said = contentWords(asRead(withLongForms(known)));
  const unsaid = words.filter((word) => !isIn(word, said));
  if (unsaid.length < words.length * BORROWED_SHARE || unsaid.length === 0) return null;
  for (const source of shown) {
    if (isOwn(source)) continue;
    const borrowed = passagesOf(source)
      .map((passage) => unsaid.filter((word) => isIn(word, passage)))
      .find((found) => found.length >= words.length * BORROWED_SHARE);
    if (borrowed === undefined) continue;
    const who = source.speaker === 'human' ? 'someone who is quoted' : source.speaker;
    const list = borrowed.slice(0, 6).map((word) => JSON.stringify(word));
    return `text: says what ${who} says in ${nameOf(source)}, not what the human does (${list.join(', ')}). Quote the human's message that says it or answers it, and use its words.`;
  }
  return null;
}

const PASSAGE_CHARS = 400;
/** No more of the beginning or the end of a text is ever shown. */
const MOST_CHARS_AT_ENDS = 50_000;

const passages = new WeakMap<EvidenceSource, Set<string>[]>();

/** The words of a message by passages that overlap: what one speaker says stands together, single words stand anywhere. */
function passagesOf(source: EvidenceSource): Set<string>[] {
  const known = passages.get(source);
  if (known) return known;
  const { text } = source;
  const isLong = text.length > 2 * MOST_CHARS_AT_ENDS;
  const read = asRead(isLong ? `${text.slice(0, MOST_CHARS_AT_ENDS)}\n${text.slice(-MOST_CHARS_AT_ENDS)}` : text);
  const found: Set<string>[] = [];
  for (let from = 0; from < read.length; from += PASSAGE_CHARS / 2) {
    found.push(contentWords(read.slice(from, from + PASSAGE_CHARS)));
  }
  passages.set(source, found);
  return found;
}

function isIn(word: string, words: Set<string>): boolean {
  return words.has(word) || [...words].some((other) => isSameWord(word, other));
}
