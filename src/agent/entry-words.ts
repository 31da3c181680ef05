// Which words stand where: what a quote names in a text, what of an agent's words a person made their own by answering,
// and which date in a text no calendar knows. Told by form, in English and the languages whose sessions were met. It
// knows nothing of excerpts, and what it answers is always the text's own words.

import { asSeen } from '../base/text/wording.ts';
import { ownWords, speaksToAgent } from '../rules/injection.ts';
import { ENGLISH_MONTH, RELATIVE_DATES, RELATIVE_DATES_UNSPACED, SHORT_FORMS, WEEKDAY } from '../rules/lexicon.ts';
import { contentWords, isNegated, segmentWords } from '../rules/words.ts';

// What a quote names. What copying changes without changing what was said is let pass: white space, typographic quotes and
// dashes, composed or decomposed characters, the `| ` of an excerpt's lines. A part of a word is never accepted.

/** `text` with each run of white space as one space, and none at its ends. */
export function foldSpace(text: string): string {
  // Single spaces are passed over: most of a text is in order already.
  return text.replace(/\s{2,}|[^\S ]/g, ' ').trim();
}

/** The words of `text` that `quote` names, white space folded; null where they do not stand there. */
export function findQuote(text: string, quote: string): string | null {
  const source = foldSpace(text);
  const unprefixed = quote.replace(/^[^\S\n]*\| ?/gm, '');
  return findWords(source, foldSpace(quote)) ?? findWords(source, foldSpace(unprefixed));
}

/** How many words a text has, in any script. */
export function countWords(text: string): number {
  return segmentWords(text).length;
}

const SHORT_FORM = new RegExp(String.raw`(?<![\w.-])(${Object.keys(SHORT_FORMS).join('|')})s?(?![\w-]|\.\w)`, 'gi');

/** The text, and behind it what its short words stand for: "the PR" says "pull request", too. */
export function withLongForms(text: string): string {
  const long = new Set([...text.matchAll(SHORT_FORM)].map(([, word = '']) => SHORT_FORMS[word.toLowerCase()]));
  return [text, ...long].join('\n');
}

/** The text without what it puts between quotation marks as one of the quotes does; a command to an agent stays. */
export function withoutQuoted(text: string, quotes: string[]): string {
  const isQuotedBy = (said: string) => (quote: string) =>
    !ownWords(quote).includes(said) && findQuote(quote, said) !== null;
  const left = text.replace(/["“„]([^"“”„]{3,})["”“]/g, (whole, said: string) =>
    quotes.some(isQuotedBy(said)) && !speaksToAgent(said) ? ' ' : whole,
  );
  return contentWords(left).size > 1 ? left : text;
}

const FRACTION = /(?<![\w/\\.@-])\d+(?:\/\d+)+(?![\w/\\@-])/g;

/** Whether a value is one that leads somewhere or does something, and is never a way of writing a number or a date. */
export function isAddress(whole: string): boolean {
  const value = whole.replace(FRACTION, '0');
  return /[@/\\]|^--?[a-z]|[\w-]{2,}\.[a-z]{2,}$/i.test(value);
}

function findWords(source: string, quote: string): string | null {
  const wanted = plain(quote);
  if (wanted === '') return null;
  const text = plain(source);
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) {
    if (isBoundary(text, at) && isBoundary(text, at + wanted.length)) return wordsAt(source, at, wanted.length);
  }
  return null;
}

const LOOKALIKES: [RegExp, string][] = [
  [/[‘’‚‛′ʼ]/g, "'"],
  [/[“”„‟″«»]/g, '"'],
  [/[‐‑‒–—―−]/g, '-'],
  [/…/g, '...'],
  // What is shown of a tag of ours begins with this one.
  [/‹/g, '<'],
  [/[\u00ad\u200b\u2060\ufeff]/g, ''],
];

// Decomposed, because that can be done character by character: `wordsAt` relies on it to find its way back.
function plain(text: string): string {
  let out = text.normalize('NFD');
  for (const [pattern, replacement] of LOOKALIKES) out = out.replace(pattern, replacement);
  return out;
}

/** The part of `source` whose plain form begins at `start` of the source's plain form and has `length`. */
function wordsAt(source: string, start: number, length: number): string {
  let from = -1;
  let plainAt = 0;
  let at = 0;
  for (const character of source) {
    if (plainAt >= start + length) break;
    if (from === -1 && plainAt >= start) from = at;
    plainAt += character < '\u0080' ? 1 : plain(character).length;
    at += character.length;
  }
  return source.slice(from, at).trim();
}

const WINDOW = 8;
const WORD_ENDS = /[\p{L}\p{N}_]\p{M}*$/u;
const WORD_BEGINS = /^[\p{L}\p{M}\p{N}_]/u;
// Scripts that put no space between words.
const UNSPACED = String.raw`[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]`;
const UNSPACED_ENDS = new RegExp(`${UNSPACED}\\p{M}*$`, 'u');
const UNSPACED_BEGINS = new RegExp(`^${UNSPACED}`, 'u');
// "can" is no part of "can't", nor 5 of 1.5.
const JOINS = [
  { ends: /\p{L}\p{M}*$/u, begins: /^'\p{L}/u },
  { ends: /\p{L}\p{M}*'$/u, begins: /^\p{L}/u },
  { ends: /\p{N}$/u, begins: /^[.,]\p{N}/u },
  { ends: /\p{N}[.,]$/u, begins: /^\p{N}/u },
];

/** Whether a word can begin or end at `at` of a plain text. */
function isBoundary(text: string, at: number): boolean {
  const left = text.slice(Math.max(0, at - WINDOW), at);
  const right = text.slice(at, at + WINDOW);
  if (/^[\p{M}\udc00-\udfff]/u.test(right)) return false;
  if (JOINS.some(({ ends, begins }) => ends.test(left) && begins.test(right))) return false;
  return !(WORD_ENDS.test(left) && WORD_BEGINS.test(right)) || UNSPACED_ENDS.test(left) || UNSPACED_BEGINS.test(right);
}

// What a person took over. A "yes" is to the last question or proposal, with the list or the sentence it points to;
// whatever else the agent wrote before it, such as what a page says, was only shown.

const begins = (words: string) =>
  new RegExp(
    String.raw`^[\s\p{P}\p{S}]*(?:(?:oh|ah|hm+|well|and|so|ok|okay|great|perfect|nice|cool|good|thanks|thank you|super|danke|merci|gracias)[\s\p{P}]+){0,3}(?:${words})(?![\p{L}\p{N}])`,
    'iu',
  );

const ACCEPTS = begins(
  [
    "yes|yep|yeah|yup|ye|sure|correct|exactly|agreed?|i agree|absolutely|definitely|of course|go ahead|go for it|go on|go with|continue|proceed|do (?:it|that|this|so|both|all|the)|please do|sounds? (?:good|great|fine|right)|let['’]?s|approved?|accept(?:ed)?|lgtm|confirmed?|both|all of|works for me|makes sense|as you|keep (?:it|that|this)|take|use",
    'ja|jep|jo|genau|richtig|passt|gern|gerne|mach (?:das|es|mal|so)|einverstanden|stimmt|weiter|nimm',
    "oui|d['’]accord|vas-y|exact|parfait|fais|sí|si|claro|vale|de acuerdo|hazlo|adelante|correcto|perfecto|sì|va bene|esatto|certo|procedi|sim|isso|pode|concordo|prima|akkoord|doe maar|klopt|tak|zgoda|jasne|evet|tamam|olur|okej",
    'да|давай|верно|согласен|согласна|конечно|так',
  ].join('|'),
);
/** Praise, or a yes: where more is said, it is about that. */
const PRAISES = begins(
  'ok|okay|k|right|fine|true|great|perfect|good|nice|cool|super|gut|klar|parfait|bien|perfecto|perfetto|bene|ótimo|goed|dobrze|хорошо|отлично',
);
const MOST_WORDS_OF_PRAISE = 4;
const ACCEPTS_UNSPACED =
  /^[\s\p{P}\p{S}]*(?:👍|✅|はい|うん|お願い|それで|了解|いいです|そうして|是|好|可以|行|对|對|同意|没错|就这样|네|예|좋아|그래|맞아|نعم|حسنا|موافق)/u;
const DENIES = begins(
  "no|nope|nah|don['’]?t|do not|stop|never|not|neither|none|wrong|nein|nicht|nee|non|pas|não|nie|nej|nei|нет|не|hayır",
);
const DENIES_UNSPACED = /^[\s\p{P}\p{S}]*(?:いいえ|いや|不|別|别|아니|لا)/u;
/** Answers by number or letter. */
const COUNTS = /^\s*\(?(?:\d{1,2}|[a-d])(?:[.):,]|\s*$|\s+(?:and|und|et|y|e|\+|&)\s)/i;
const POINTS =
  /\b(?:your|that|this|the (?:first|second|third|last|latter|former|other)) (?:plan|proposal|suggestion|recommendation|approach|option|idea|choice|version|variant|one|solution|way)\b|\bas (?:you|u) (?:say|said|suggest\w*|propose\w*|recommend\w*|describe\w*)|\boption \w{1,2}\b|\bwhat you (?:suggest|propose|recommend|describe)\w*|\bdein\w* (?:vorschlag|plan|idee)|\bta proposition|\btu propuesta/i;
const MOST_WORDS_OF_ANSWER = 12;

const ASKS = /[?？؟]\s*["'”’)\]*_`]*\s*$/;
const PROPOSES =
  /\b(?:I(?:['’]ll| will| would|['’]d| can| could| suggest| propose| recommend|['’]m going to| plan| intend)|let me|let['’]s|we (?:could|can|should|will)|shall|should (?:I|we)|want me to|proposal|recommendation|options?|my plan|next steps?|soll(?:en)? (?:ich|wir)|ich (?:würde|werde|schlage|empfehle|kann)|vorschlag|je (?:vais|propose|peux|recommande)|voulez-vous|veux-tu|propongo|recomiendo|puedo|voy a|quieres que|propongo|posso|vorrei|vuoi che|sugiro|вы хотите|предлагаю|могу)\b|しましょう|しますか|建议|我会|要不要|할까요|제안/iu;
/** A question about what stands before it. */
const POINTS_BACK =
  /\b(?:this|that|these|those|it|so|both|either|which|one|them|proceed|go ahead|options?|prefer|ok|okay|agree|approve|confirm|das|dies\w*|so|beide|welche\w*|cela|ça|lequel|esto|eso|cuál|questo|quale|isso|qual)\b|どちら|これ|それ|这|哪|어느|이것/iu;
const LIST_ITEM = /^\s*(?:[-*+•]|\(?(?:\d{1,2}|[a-z])[.)])\s+\S/i;
const MOST_CHARS = 3_000;

/** Whether a person's words answer what stands before them, which `closing` ends. */
function isAnswer(own: string, closing: string): boolean {
  const said = own.trim();
  if (said === '') return false;
  if ([ACCEPTS, ACCEPTS_UNSPACED, DENIES, DENIES_UNSPACED, COUNTS, POINTS].some((form) => form.test(said))) return true;
  const words = said.split(/\s+/).length;
  if (words <= MOST_WORDS_OF_PRAISE && PRAISES.test(said)) return true;
  return ASKS.test(closing.trim()) && !ASKS.test(said) && words <= MOST_WORDS_OF_ANSWER && said.length <= 120;
}

/** What a human answers in a message: of a choice the option, else all they typed. */
export function answerIn({ text, chosen }: { text: string; chosen?: string }, quote: string): string {
  const options = (from: string) => [...from.matchAll(/^chose: (.*)/gm)].map(([, option = '']) => option);
  if (chosen === undefined) return ownWords(text);
  return (options(quote).length > 0 ? options(quote) : options(chosen)).join(', ') || text;
}

/** "No", "no thanks", "skip it": not "no, pnpm", which says more. */
export function onlyDenies(answer: string): boolean {
  return ONLY_NO.some((form) => form.test(answer));
}

const SAYS_NO_MORE = 'thanks?|thank you|please|need|way|now|yet|it|that|this|so|for|not|at all|danke|merci|gracias';
const SKIPS = begins('skip|cancel|reject|decline|dismiss|leave');
const ONLY_NO = [DENIES, DENIES_UNSPACED, SKIPS].map(
  ({ source }) => new RegExp(`${source}(?:[\\s\\p{P}]+(?:${SAYS_NO_MORE}))*[\\s\\p{P}\\p{S}]*$`, 'iu'),
);
const STAYS =
  /\b(?:keeps?|kept|stays?|stayed|remains?|leaves?|left|unchanged|only|against|refus\w+|reject\w+|declin\w+|skip\w*|turn\w* down|out of|open|later|wait\w*)\b/i;

/** Whether a text says that something is not, or stays as it is. */
export function turnsDown(text: string): boolean {
  return isNegated(text) || STAYS.test(text);
}

/** What of `before`, an agent's last words, the person's `own` words answer to; empty where they answer nothing. */
export function adoptedWords(own: string, before: string): string {
  const closing = closingOf(before.length > 4 * MOST_CHARS ? before.slice(-4 * MOST_CHARS) : before);
  return closing !== '' && isAnswer(own, closing) ? closing : '';
}

interface Sentence {
  text: string;
  /** Counts the paragraphs. */
  block: number;
  isItem: boolean;
}

/** The last question or proposal of a text, what it points back to, and all behind it. */
function closingOf(text: string): string {
  const sentences = text
    .trim()
    .split(/\n\s*\n/)
    .flatMap((paragraph, block) =>
      paragraph.split('\n').flatMap((line): Sentence[] => {
        const isItem = LIST_ITEM.test(line);
        const parts = isItem ? [line] : line.split(/(?<=[.!?][)"'*_”’]*)\s+|(?<=[。！？])/u);
        return parts.filter((part) => part.trim() !== '').map((part) => ({ text: part, block, isItem }));
      }),
    );
  const last = sentences.findLastIndex(({ text }) => ASKS.test(text) || PROPOSES.test(text));
  if (last < 0) return '';
  let from = last;
  const at = (index: number) => sentences[index];
  // A run of questions or proposals, and the list that one of them is an item of, are answered together.
  while (from > 0) {
    const [before, here] = [at(from - 1), at(from)] as [Sentence, Sentence];
    const isRun = before.block === here.block && (ASKS.test(before.text) || PROPOSES.test(before.text));
    if (!isRun && !(before.isItem && here.isItem)) break;
    from -= 1;
  }
  if (at(from)?.isItem) from = introduced(sentences, from);
  else if (POINTS_BACK.test(at(from)?.text ?? '') && from > 0) {
    from -= 1;
    if (at(from)?.isItem) {
      while (at(from - 1)?.isItem) from -= 1;
      from = introduced(sentences, from);
    }
  }
  const closing = sentences.slice(from).map(({ text }) => text);
  return closing.join('\n').slice(-MOST_CHARS);
}

/** Where the line stands that a list begins with. */
function introduced(sentences: Sentence[], first: number): number {
  return /[:：]\s*\**\s*$/.test(sentences[first - 1]?.text ?? '') ? first - 1 : first;
}

// What only means something on the day it was said: "tomorrow", "next Friday", "in two weeks". A rare one is rather missed
// than a good text refused: names, paths, code, quoted words and dated ones are left be.

// A day of the week alone is a date where something is due by it, unless it is due every week.
const DUE_DAY = new RegExp(
  String.raw`\b(?:by|until|till)\s+${WEEKDAY}\b(?!,?\s+(?:\(?\d|(?:the\s+)?\d|${ENGLISH_MONTH}|of\b))`,
  'i',
);
const EVERY_WEEK = /\b(?:every|each|weekly|always|never|usually)\b/i;

// A word that a person says, not a part of a name, a path or a flag: `today.ts`, `--since-yesterday`, `due_today`.
const BEGINS = String.raw`(?<![\p{L}\p{M}\p{N}_@#$%/\\.=<'’ʼ-])`;
const ENDS = String.raw`(?![\p{L}\p{M}\p{N}_@#$%/\\=>(-])(?!\.[\p{L}\p{N}_])`;
// "Friday (2026-03-06)" was made absolute already.
const NOT_DATED = String.raw`(?!,?\s{0,20}(?:\(\s{0,20})?(?:=\s{0,20})?\d{4}-\d{2}-\d{2})`;

const SPACED = Object.values(RELATIVE_DATES)
  .flat()
  .map((words) => `(?:${words})`)
  .join('|');
const RELATIVE_DATE = new RegExp(
  `(?:${BEGINS}(?:${SPACED})${ENDS}|(?:${RELATIVE_DATES_UNSPACED.map((words) => `(?:${words})`).join('|')}))${NOT_DATED}`,
  'giu',
);

const CODE_OR_URL = /```[\s\S]*?```|`[^`]*`|(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,40}:\/\/\S+/gi;
const OPENING_QUOTES = '"“„«‘「『';
const CLOSING_QUOTES = '"”“»’」』';

/** The first relative date in `text`, as it stands there; null where there is none. */
export function findRelativeDate(text: string): string | null {
  const prose = text.normalize('NFC').replace(CODE_OR_URL, ' ');
  for (const match of prose.matchAll(RELATIVE_DATE)) {
    // Not slices of all that stands before and after: with many such words that would take the square of their number.
    const before = prose[match.index - 1];
    const after = prose[match.index + match[0].length];
    // A quoted word is named, not used: the button "Today".
    const isQuoted = before && after && OPENING_QUOTES.includes(before) && CLOSING_QUOTES.includes(after);
    if (!isQuoted) return match[0];
  }
  const due = EVERY_WEEK.test(prose) ? null : DUE_DAY.exec(prose);
  return due?.[0] ?? null;
}

// Line ends, control characters, direction overrides and halves of characters have no place in a line of a log.
const UNFIT = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

/** Why a text is no line of a log that is understood on another day; null where it is one. */
export function textProblem(text: string): string | null {
  const trimmed = text.trim();
  if (asSeen(trimmed) === '') return 'is empty.';
  if (UNFIT.test(trimmed.replaceAll('\t', ' '))) return 'must be one line, without control characters.';
  const relative = findRelativeDate(trimmed);
  return relative === null ? null : `"${relative}" means nothing on another day. Write the date as YYYY-MM-DD.`;
}
