// Reads an excerpt as the extractor does, by rules: which messages are offered, which of their sentences state something.
// Only offered human messages carry an entry. Quotes are the sentences as they are shown, white space folded.

import { ownWords } from '../../base/text/injection.ts';
import type { Day } from '../../base/time.ts';
import { findQuote } from '../quotes.ts';
import { isChanged, isSame } from './compare.ts';
import { asksToRemember } from './english.ts';
import { readSentence } from './rules.ts';
import type { Statement } from './statement.ts';
import { beginsQuoting, isIronic, isRepeated, pointsBack, takesBack } from './unmeant.ts';

export interface FoundEntry extends Statement {
  strength: 'stated';
  evidence: { message: string; quote: string }[];
}

interface ShownMessage {
  id: string;
  speaker: string;
  day: Day | undefined;
  isOffered: boolean;
  lines: string[];
}

const HEADER =
  /^\[(\S+) (human|assistant|tool|subagent|harness)(?: (\d{4}-\d{2}-\d{2})(?: \d{2}:\d{2})?)?( context)?\]$/;
/** Past this length a line was probably wrapped by an editor and its sentence goes on in the next one. */
const WRAPPED_CHARS = 60;
/** A quotation, a table row, a tag, a fence, indented code, an empty line. */
const NOT_PROSE = /^(?:\s*(?:[>|<]|```|~~~)|\t| {4,}|\s*$)/;
const SHORTEST_CHARS = 8;
const CUT = /^… \d+ characters (?:of a paste )?left out …$/;
const REDACTED = /\[redacted:[^\]]*\]/;

/** The explicit statements of an excerpt, in its order, the newest of contradicting ones; none that `known` holds. */
export function findEntries(excerpt: string, known: string): FoundEntry[] {
  const found: FoundEntry[] = [];
  let before: ShownMessage | undefined;
  for (const message of messagesOf(excerpt)) {
    if (message.isOffered && message.speaker === 'human' && !isShortAnswer(message, before)) {
      const sentences = sentencesOf(message.lines);
      const lastSaid = found.at(-1)?.evidence[0]?.message;
      for (const sentence of sentences) {
        const isTakenBack = (entry: FoundEntry) =>
          takesBack(sentence, { text: entry.text, isLast: entry.evidence[0]?.message === lastSaid });
        found.splice(0, found.length, ...found.filter((entry) => !isTakenBack(entry)));
      }
      for (const entry of entriesOf(message, sentences)) {
        const again = found.findIndex((other) => isSame(other.text, entry.text) || isChanged(other.text, entry.text));
        if (again >= 0) found.splice(again, 1);
        found.push(entry);
      }
    }
    if (message.speaker !== 'tool') before = message;
  }
  const lines = known.split('\n').map((line) => line.replace(/^\s*(?:[-*]\s+)?(?:\[[^\]]*\]\s+)?/, ''));
  return found.filter((entry) => !known.includes(entry.text) && !lines.some((line) => isSame(line, entry.text)));
}

function messagesOf(excerpt: string): ShownMessage[] {
  const messages: ShownMessage[] = [];
  for (const line of excerpt.split('\n')) {
    const header = HEADER.exec(line);
    if (header !== null) {
      const [, id = '', speaker = '', day, context] = header;
      messages.push({
        id,
        speaker,
        day,
        isOffered: context === undefined,
        lines: [],
      });
    } else if (line.startsWith('|')) {
      messages.at(-1)?.lines.push(line.replace(/^\| ?/, ''));
    }
  }
  return messages;
}

/** "No, use Postgres" after a question says little without it, and these rules cannot read the two together. */
function isShortAnswer(message: ShownMessage, before: ShownMessage | undefined): boolean {
  const isAfterQuestion = before?.speaker === 'assistant' && /\?\s*$/.test(before.lines.join('\n'));
  return isAfterQuestion && message.lines.join(' ').trim().split(/\s+/).length <= 6;
}

function entriesOf(message: ShownMessage, sentences: string[]): FoundEntry[] {
  const entries: FoundEntry[] = [];
  if (sentences[0] === undefined || isIronic(sentences[0])) return entries;
  // "Remember the password is …; the box is kilo": what asks may have gone with the secret.
  const asking = wholeSentences(message.lines).filter((whole) => REDACTED.test(whole) && asksToRemember(whole));
  const left = new Set(asking.flatMap(harmlessParts));
  for (const [at, sentence] of sentences.entries()) {
    if (isRepeated(sentence)) continue;
    const [before = '', after = ''] = [sentences[at - 1], sentences[at + 1]];
    const isAsked = pointsBack(after) || (at === 1 && pointsBack(before)) || left.has(sentence);
    const statement = readSentence(sentence, message.day, isAsked);
    if (statement === null) continue;
    entries.push({
      ...statement,
      strength: 'stated',
      evidence: [{ message: message.id, quote: sentence }],
    });
  }
  return entries;
}

/** The sentences that are wholly a person's own words; of one with a secret what is left. */
function sentencesOf(lines: string[]): string[] {
  return wholeSentences(lines).flatMap(harmlessParts);
}

function wholeSentences(lines: string[]): string[] {
  const own = ownWords(lines.join('\n'));
  return paragraphsOf(lines)
    .flatMap((text) =>
      text
        .replace(/\s+/g, ' ')
        .split(
          /(?<=[.!?])(?<!\b(?:e\.g|i\.e|etc|vs|cf|approx|Mr|Mrs|Dr|z\.\s?B|bzw|ca|Nr)\.)(?<! \d{1,2}\.(?= \p{Lu}\p{Ll}{2,} *)) |(?<=[。！？])/u,
        ),
    )
    .filter((sentence) => sentence.length >= SHORTEST_CHARS && findQuote(own, sentence) !== null);
}

/** Paragraphs without code, tables and what is next to a cut, up to where somebody else is quoted to the end. */
function paragraphsOf(lines: string[]): string[] {
  const paragraphs: string[] = [];
  let isAfterCut = false;
  /** The line before, where its paragraph may go on. */
  let last = '';
  for (const line of lines) {
    if (CUT.test(line)) {
      // The sentences next to a cut are halves.
      paragraphs.pop();
      isAfterCut = true;
      last = '';
    } else if (NOT_PROSE.test(line)) {
      last = '';
    } else if (beginsQuoting(line)) {
      break;
    } else {
      const text = line.replace(/^\s*(?:[-*+•]|\d+[.)])\s+/, '').trim();
      const goesOn = last.length >= WRAPPED_CHARS && text === line.trim() && !/[.!?:;。！？]$/.test(last);
      if (goesOn) paragraphs.push(`${paragraphs.pop()} ${text}`);
      else if (!isAfterCut) paragraphs.push(text);
      isAfterCut = false;
      last = line;
    }
  }
  return paragraphs;
}

/** The sentence itself, or where a secret was taken out of it, its clauses without one. */
function harmlessParts(sentence: string): string[] {
  if (!REDACTED.test(sentence)) return [sentence];
  return sentence
    .split(/[;,]\s+|\s[–—-]\s|\s(?:and|but|with|using)\s/)
    .map((clause) => clause.trim())
    .filter((clause) => !REDACTED.test(clause));
}
