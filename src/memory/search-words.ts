// What a search looks through, what it looks for, and how well a line has it. Pure.
// It looks through lines that say something, in one case, on single spaces. What is aside says nothing: the source of an entry,
// frontmatter but for the description, a link of the index, and index files, which repeat topics. It looks for words and what
// begins with them, "phrases", pieces with signs as they stand; scripts without spaces are taken apart by the system's dictionary.

import { segmentWords, withoutGivenUp } from '../rules/words.ts';
import { logDay } from './text/daily-log.ts';
import { bodyStart } from './text/frontmatter.ts';
import { isArchivePath, isTopicPath } from './text/topic.ts';

// Through which lines.

/** `archive`: a topic that was put away. */
export type FileKind = 'topic' | 'entry' | 'index' | 'archive' | 'file';

export interface SearchedLine {
  /** As it stands, without its end. */
  raw: string;
  /** From 1: where it stands, and the line that a hit here names, in a log the one on which its entry begins. */
  number: number;
  named: number;
  /** The id of the entry that it belongs to. */
  entry?: string;
}

export function kindOf(path: string): FileKind {
  if (isTopicPath(path)) return 'topic';
  if (logDay(path)) return 'entry';
  return path === 'MEMORY.md' ? 'index' : isArchivePath(path) ? 'archive' : 'file';
}

export function searchedLines(path: string, text: string): SearchedLine[] {
  const kind = kindOf(path);
  const isTopic = kind === 'topic' || kind === 'archive';
  const headLines = isTopic ? text.slice(0, bodyStart(text)).split('\n').length - 1 : 0;
  const found: SearchedLine[] = [];
  let named = 0;
  for (const [at, raw] of text.split(/\r?\n/).entries()) {
    const comment = /^\s*<!-- ?(e_\w+)?/.exec(raw);
    if (comment) {
      const entry = kind === 'entry' ? comment[1] : undefined;
      for (let n = found.length - 1; entry && found[n]?.named === named; n -= 1)
        (found[n] as SearchedLine).entry = entry;
      continue;
    }
    if (kind !== 'entry' || !/^\s*>/.test(raw)) named = at + 1;
    const isHead = at < headLines && !/^\s*description:/.test(raw);
    if (isHead || raw.trim() === '' || (kind === 'index' && /\[[^[\]]+\.md\]\s*$/.test(raw))) continue;
    found.push({ raw, number: at + 1, named });
  }
  return found;
}

/** Text as it is compared. */
export function inOneCase(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/** A row of the table `line` holds no more; of a longer line the next goes on with the end of the one before. */
const MOST_CHARACTERS = 2_000;
const OVERLAP_CHARACTERS = 200;
const NOT_PLAIN = /[^ -~]| {2}/;

/** A line as rows of the table `line` hold it. */
export function rowTexts({ raw }: Pick<SearchedLine, 'raw'>): string[] {
  const said = raw.trim();
  // Of all lines of a file that is looked at most are plain.
  const text = NOT_PLAIN.test(said) ? inOneCase(said).replace(/\s+/gu, ' ') : said.toLowerCase();
  const rows = [text.slice(0, MOST_CHARACTERS)];
  for (let from = MOST_CHARACTERS; from < text.length; from += MOST_CHARACTERS - OVERLAP_CHARACTERS)
    rows.push(text.slice(from - OVERLAP_CHARACTERS, from - OVERLAP_CHARACTERS + MOST_CHARACTERS));
  return rows;
}

// For what.

export interface Term {
  /** In lower case and NFC; a phrase with single spaces. */
  text: string;
  /** A `word` begins one; a `piece` of an unspaced script or with signs stands anywhere; a `phrase` must be in the line. */
  kind: 'word' | 'piece' | 'phrase';
}

const TERM = /["“„]([^"“”„]+)["“”]|([\p{L}\p{N}\p{M}_./@-]+)/gu;
/** What is a word only between spaces or other signs; in Arabic and Hebrew "the" and "in" are written before it. */
const IS_WORD = /^(?:(?![\p{sc=Arabic}\p{sc=Hebrew}])[\p{L}\p{N}\p{M}])+$/u;
const WITHOUT_SPACES = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
/** What a word that a line names only as given up counts of what another does. */
const GIVEN_UP = 0.01;

/** The terms of a query, each once; one without a letter or digit is looked for as it stands, such as an emoji. */
export function readQuery(query: string): Term[] {
  const terms = [...inOneCase(query).matchAll(TERM)].flatMap(([, phrase, run = '']): Term[] => {
    if (phrase !== undefined) return [{ text: withSingleSpaces(phrase).trim(), kind: 'phrase' }];
    const isSpaced = !WITHOUT_SPACES.test(run);
    return wordsIn(run).map((text) => ({ text, kind: isSpaced && IS_WORD.test(text) ? 'word' : 'piece' }));
  });
  const meant = terms.filter(({ text }) => /[\p{L}\p{N}_]/u.test(text));
  const asItStands = withSingleSpaces(inOneCase(query)).trim();
  if (meant.length === 0 && asItStands !== '') return [{ text: asItStands, kind: 'phrase' }];
  return [...new Map(meant.map((term) => [`${term.kind} ${term.text}`, term])).values()];
}

function wordsIn(run: string): string[] {
  // The end of a sentence is no part of its last word.
  if (!WITHOUT_SPACES.test(run)) return [run.replace(/(?<![./-])[./-]+$/, '')];
  const words = segmentWords(run);
  // Single kana are endings and particles, which every line holds.
  const telling = words.filter((word) => !/^\p{sc=Hiragana}$/u.test(word));
  return telling.length > 0 ? telling : words;
}

/**
 * How well a line has terms, each of which weighs something: null where it has none, or lacks a phrase. `context`: what the name of
 * its topic says counts on top. Words that stand as they do in the query, one behind the other, count more.
 */
export function matchLine(
  raw: string,
  { terms, context }: { terms: readonly (Term & { weight: number })[]; context: string },
): { words: number; score: number } | null {
  const cased = withSingleSpaces(raw.normalize('NFC'));
  const line = cased.toLowerCase();
  let standing: string | undefined;
  let [words, score] = [0, 0];
  let isIn = false;
  for (const term of terms) {
    const quality = qualityIn(line, term, cased);
    if (quality === 0 && term.kind === 'phrase') return null;
    // What a line names only as given up is found, and worth next to nothing.
    if (quality > 0) standing ??= withoutGivenUp(line);
    const kept = quality === 0 || standing === line ? quality : qualityIn(standing ?? '', term);
    const isInContext = qualityIn(context, term) > 0;
    if (kept > 0 || isInContext) words += 1;
    isIn ||= quality > 0;
    score += term.weight * ((kept || quality * GIVEN_UP) + (isInContext ? 1 : 0));
  }
  if (!isIn) return null;
  return { words, score: words > 1 ? score + togetherIn(standing ?? line, terms) : score };
}

/** What it adds that words stand as they do in the query, one behind the other. */
function togetherIn(line: string, terms: readonly (Term & { weight: number })[]): number {
  return terms.slice(1).reduce((sum, term, at) => {
    const before = terms[at] as (typeof terms)[number];
    const pair = qualityIn(line, { text: `${before.text} ${term.text}`, kind: 'phrase' });
    return sum + pair * Math.min(before.weight, term.weight);
  }, 0);
}

/** 3: the term stands in the line as a word; 2: it begins one; 1: it is part of one; 0: it is not there. */
export function qualityIn(line: string, term: Term, cased = ''): number {
  let best = 0;
  for (const { quality } of placesIn(line, term, cased)) {
    best = Math.max(best, quality);
    if (best === 3) break;
  }
  return best;
}

/** `cased`: the line before it was in one case, which tells where the words of `maxRetryCount` begin. */
function* placesIn(line: string, { text, kind }: Term, cased: string): Generator<{ at: number; quality: number }> {
  const humps = cased.length === line.length ? cased : '';
  for (let at = line.indexOf(text); at >= 0; at = line.indexOf(text, at + 1)) {
    const begins = !isOfWord(line[at - 1]);
    if (begins) yield { at, quality: isOfWord(line[at + text.length]) ? 2 : 3 };
    else if (kind !== 'word' || isInnerStart(line, at) || isHump(humps, at)) yield { at, quality: 1 };
  }
}

/** Whether a word of a name begins here, as in `max_retry` and `node24`. */
function isInnerStart(line: string, at: number): boolean {
  return /^(?:_.|\p{N}\p{L}|\p{L}\p{N})/u.test(line.slice(at - 1, at + 1));
}

function isHump(line: string, at: number): boolean {
  return /^(?:\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll})/u.test(line.slice(at - 1, at + 2));
}

function isOfWord(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}\p{M}_]/u.test(character);
}

/** Whether words stand in a text as they are given, where a search would find the first of them. */
export function holdsWords(text: string, words: string): boolean {
  const onOneLine = (said: string) => withSingleSpaces(said.normalize('NFC').replaceAll('\n', ' ')).trim();
  const wanted = onOneLine(words).toLowerCase().replace(/\.$/, '');
  if (wanted === '') return false;
  const kind = readQuery(words)[0]?.kind === 'word' ? 'word' : 'piece';
  const line = onOneLine(text);
  return qualityIn(line.toLowerCase(), { text: wanted, kind }, line) > 0;
}

/** Where the terms of a query stand in a text that was found, in their order, none over another. */
export function standingAt(text: string, query: string): { from: number; to: number }[] {
  const line = inOneCase(text);
  if (line.length !== text.length) return [];
  const found = readQuery(query)
    .flatMap((term) => [...placesIn(line, term, text)].map(({ at }) => ({ from: at, to: at + term.text.length })))
    .sort((a, b) => a.from - b.from || b.to - a.to);
  return found.filter(({ from }, at) => found.slice(0, at).every(({ to }) => to <= from));
}

/** Text as phrases are looked for in it; its lines stay lines. */
export function withSingleSpaces(text: string): string {
  return text.replace(/[^\S\n]+/gu, ' ');
}
