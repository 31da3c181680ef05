// Reads an excerpt by rules: which messages are offered, which of their sentences a person wrote, which of these state
// something. Only offered human messages carry an entry. Quotes are the sentences as they are shown, white space folded.

import { ownWords } from '../../base/text/injection.ts';
import { countShared } from '../../base/text/wording.ts';
import { countWords, findQuote } from '../quotes.ts';
import { classify } from './classify.ts';
import { IRONY, POINTS_BACK, QUOTES_TO_THE_END, REMEMBER, REPEATED, type Statement, TAKES_BACK } from './lexicon.ts';
import { isChanged, isSame } from './similarity.ts';

export interface FoundEntry extends Statement {
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
  if (!TAKES_BACK.test(sentence)) return false;
  return countShared(sentence, text) > 0 || (isLast && countWords(sentence) <= BARE_WORDS);
}

function pointsBack(sentence = ''): boolean {
  return POINTS_BACK.test(sentence) && countWords(sentence) <= POINTS_BACK_WORDS;
}

function entriesOf({ id, day }: ShownMessage, whole: string[]): FoundEntry[] {
  // "Remember the password is …; the box is kilo": what asks may have gone with the secret.
  const spoken = whole.flatMap((sentence) =>
    withoutSecrets(sentence).map((text) => ({ text, isAsked: text !== sentence && REMEMBER.test(sentence) })),
  );
  if (IRONY.test(spoken[0]?.text ?? '')) return [];
  return spoken.flatMap(({ text, isAsked }, at) => {
    const isPointedAt = pointsBack(spoken[at + 1]?.text) || (at === 1 && pointsBack(spoken[0]?.text));
    const statement = REPEATED.test(text) ? null : classify(text, day, isAsked || isPointedAt);
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

/** Paragraphs without code, tables and what is next to a cut, up to where somebody else is quoted to the end. */
function paragraphsOf(lines: string[]): string[] {
  const paragraphs: string[] = [];
  let isAfterCut = false;
  /** The line before, where its paragraph may go on. */
  let last = '';
  for (const line of lines) {
    const isCut = CUT.test(line);
    if (!isCut && !NOT_PROSE.test(line)) {
      if (QUOTES_TO_THE_END.test(line)) break;
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
