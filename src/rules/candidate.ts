// What an entry is judged by: the messages it can rest on, the entry as it is proposed and as it is kept, and which words of
// a message are whose. Only shapes and look-ups: what is let through is decided in entry-rules.ts.

import type { Found, Proof, TriedCall } from './lessons.ts';
import { findQuote } from './quotes.ts';
import { ownWords } from './spoken-text.ts';

/** A message of the excerpt that can be quoted. */
export interface EvidenceSource {
  id: string;
  /** What the excerpt shows of it. */
  shownAs?: string;
  turn: string;
  /** Counts the messages of the session, those that are not shown, too; default: nothing that is not shown is looked at. */
  position?: number;
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
  /** Which kind of lesson it is, where the agent found it out by trying. */
  found?: Found;
  /** The number of the line of memory that it says again. */
  again?: string;
}

/** An entry that passed every check: its text and what it changes are one line each, redacted. */
export interface FoundEntry extends Omit<ProposedEntry, 'again'> {
  /** Full message ids; quotes in the message's own words, white space folded. */
  evidence: {
    message: string;
    quote: string;
    /** Who said it, as in the entry's own `by`. */
    by?: string;
    /** Of a lesson: what the call shows. */
    proves?: Proof;
  }[];
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
  /** What is shown of them, with marks where a text is cut; default: nothing is cut. */
  excerpt?: string;
  /** The answered calls of the main agent, in order, shown or not; default: none. */
  tried?(): readonly TriedCall[];
  /** The lines that memory told the session; default: none. */
  told?: readonly string[];
  /** Whether it stands in what is shown of memory; default: nothing does. */
  isRemembered?(text: string): boolean;
  /** What says nothing of who said a thing: the names of the project, the directory it is in. */
  names?: string[];
  redact: (text: string) => Promise<{ text: string }>;
}

/** `by`: the speaker, or `quoted` where a human says what someone else wrote. */
export type Quoted = { source: EvidenceSource; quote: string; by: string };

/** An entry that is being judged. */
export interface Candidate {
  entry: ProposedEntry;
  /** Redacted. */
  text: string;
  quoted: [Quoted, ...Quoted[]];
  shown: EvidenceSource[];
  options: CheckOptions;
  /** Only a person's words, or what they answer, carry it: it is of a person, gives orders, or says what someone wants. */
  isStrict: boolean;
}

/** What the model knows a message by. */
export const nameOf = ({ shownAs, id }: EvidenceSource) => shownAs ?? id;

/** No more of the beginning or the end of a text is ever shown. */
export const MOST_CHARS_AT_ENDS = 50_000;

/** The question and the option that a quote is of, where the human typed none of it. */
export function choiceOf({ source: { chosen }, quote }: Quoted): string | null {
  if (chosen === undefined || findQuote(chosen, quote) === null) return null;
  const blocks = chosen.split(/(?<=^chose: .*)\n/m);
  return blocks.find((block) => findQuote(block, quote) !== null) ?? chosen;
}

/** A human's message without what they chose in it, which an agent wrote. */
export function typedOf({ text, chosen }: EvidenceSource): string {
  const lines = new Set(chosen?.split('\n'));
  const typed = text.split('\n').filter((line) => !lines.has(line));
  return typed.join('\n');
}

const typedWords = new WeakMap<EvidenceSource, string>();

/** What a human typed in a message, without what is someone else's: looked for once, since each entry asks of all messages. */
export function ownWordsOf(source: EvidenceSource): string {
  const own = typedWords.get(source) ?? ownWords(typedOf(source));
  typedWords.set(source, own);
  return own;
}
