// Finds words in what is remembered: topic files, what was put away, daily logs and lines of one's own in the index.
// The one full-text search: people, agents and MCP clients ask it, for words and what begins with them, "phrases" and
// pieces with signs as they stand; scripts without spaces are taken apart by the system's dictionary. It goes through the texts as they stand, line by line, so it
// is right a second after an edit, without a ledger, and in every language; ten thousand topics take about as long as to
// find out whether an index of them is up to date. A fact is one hit: the line of a topic, and the entries it rests on.
// It changes nothing.

import { distanceBetween } from '../../base/text/wording.ts';
import { segmentWords } from '../../rules/words.ts';
import { allSupports } from '../ledger/entries.ts';
import type { Ledger } from '../ledger/ledger.ts';
import {
  type FileKind,
  inOneCase,
  type KeptTexts,
  type SearchedLine,
  type SearchedText,
  searchedTexts,
  standingIn,
  withSingleSpaces,
} from './search-texts.ts';

export interface Hit {
  /** `archive`: a topic that was put away. */
  kind: FileKind;
  path: string;
  /** From 1. */
  line: number;
  /** The line, cut around the first word found. */
  text: string;
  /** How many of the query's words and phrases it has. */
  words: number;
}

interface SearchRequest {
  /** Words, which begin one of a hit, and "phrases", which a hit must have. Empty: nothing is found. */
  query: string;
  limit: number;
  /** So many of the best are left out; default 0. */
  offset?: number;
  /** Only in files whose paths begin so. */
  under?: string;
}

interface SearchResult<Found = Hit> {
  /**
   * Best first: by the words they have, the rarer the better, whole ones before parts, those that stand together before
   * those apart; topics before logs; newer ones.
   */
  hits: Found[];
  /** How many there are in all. */
  total: number;
  /** The query as it was perhaps meant, where a word of it is nowhere. */
  meant?: string;
}

/** A memory directory; `ledger` is null where nocturne has not worked, and saves reading files. */
interface SearchedPlace {
  dir: string;
  ledger: Ledger | null;
}

interface SearchedFile {
  place: SearchedPlace;
  modifiedMs: number;
  text: SearchedText;
}

interface Candidate {
  file: SearchedFile;
  /** From 1: the line that is named, and the one that has the words. */
  line: number;
  shown: number;
  words: number;
  score: number;
  /** The id of an entry. */
  entry?: string;
}

type WeighedTerm = Term & { weight: number; files: number };

const SNIPPET_CHARACTERS = 160;
/** What a word that a line names only as given up counts of what another does. */
const GIVEN_UP = 0.01;
const RANK = { topic: 0, entry: 1, index: 2, archive: 3, file: 4 };
/** A typo is nearer to what was meant than this, by the letters of the word. */
const isNear = (letters: number, distance: number) => distance <= (letters < 5 ? 1 : letters < 9 ? 2 : 3);

/** Searches one memory directory. */
export function searchMemory(place: SearchedPlace, request: SearchRequest): SearchResult {
  const { hits, ...rest } = searchMemories([place], request);
  return { hits: hits.map(({ dir: _, ...hit }) => hit), ...rest };
}

/** Searches several as if they were one; each hit says in which it is. `kept`: by whom searches again. */
export function searchMemories(
  places: SearchedPlace[],
  { query, limit, offset = 0, under = '' }: SearchRequest,
  kept: KeptTexts | null = null,
): SearchResult<Hit & { dir: string }> {
  const terms = readQuery(query);
  if (terms.length === 0) return { hits: [], total: 0 };
  const { files, weighed, isLacking } = filesWithTerms(places, { terms, under, kept });
  const found = places.flatMap((place) => {
    const ofPlace = files.filter((file) => file.place === place);
    return onePerFact(
      ofPlace.flatMap((file) => candidatesIn(file, weighed)),
      place.ledger,
    );
  });
  const hits = found.sort(byWorth).slice(offset, offset + limit);
  const meant = isLacking ? meantBy(query, { places, terms, weighed, kept }) : undefined;
  return {
    hits: hits.map((candidate) => ({ dir: candidate.file.place.dir, ...hitOf(candidate, terms) })),
    total: found.length,
    ...(meant !== undefined && { meant }),
  };
}

/** An entry is the line of a topic that rests on it; entries on which one line rests are one. */
function onePerFact(found: Candidate[], ledger: Ledger | null): Candidate[] {
  if (!ledger || !found.some(({ entry }) => entry)) return found;
  const restsOn = new Map(allSupports(ledger).map(({ entry, path, line }) => [entry, { path, line }]));
  const facts = new Map<string, Candidate>();
  const keyOf = ({ entry, file, line }: Candidate): string => {
    const on = entry && restsOn.get(entry);
    if (on) return `${on.path} ${on.line}`;
    return `${file.text.path} ${file.text.statementAt(line) ?? `:${line}`}`;
  };
  for (const candidate of found) {
    const key = keyOf(candidate);
    const other = facts.get(key);
    const score = Math.max(candidate.score, other?.score ?? 0);
    // What a topic says of a fact is told, also of one that was put away; else the entry that is nearest to the words.
    const isTold =
      other &&
      (candidate.entry
        ? !other.entry || other.score === score
        : !other.entry && RANK[other.file.text.kind] <= RANK[candidate.file.text.kind]);
    const told = isTold ? other : candidate;
    if (!other || told !== other || score !== other.score)
      facts.set(key, told.score === score ? told : { ...told, score });
  }
  return [...facts.values()];
}

/** The query with the nearest word that is there for each that is nowhere; a phrase that is nowhere as its words. */
function meantBy(
  query: string,
  {
    places,
    terms,
    weighed,
    kept,
  }: { places: SearchedPlace[]; terms: Term[]; weighed: WeighedTerm[]; kept: KeptTexts | null },
): string | undefined {
  const words = new Set<string>();
  for (const place of places) {
    for (const { text } of searchedTexts(place, { kept })) for (const word of text.words()) words.add(word);
  }
  let meant = inOneCase(query);
  for (const [at, { text, kind }] of terms.entries()) {
    if (weighed[at]?.files !== 0) continue;
    if (kind === 'phrase') {
      if (text.includes(' '))
        meant = meant.replace(/["“„]([^"“”„]+)["“”]/u, (whole, inner) =>
          withSingleSpaces(inner).trim() === text ? inner : whole,
        );
      continue;
    }
    const near = [...words].flatMap((word) => {
      if (Math.abs(word.length - text.length) > 3) return [];
      const distance = distanceBetween(text, word);
      return isNear(text.length, distance) ? [{ word, distance }] : [];
    });
    const [best] = near.sort((a, b) => a.distance - b.distance || (a.word < b.word ? -1 : 1));
    if (best) meant = meant.replace(text, best.word);
  }
  return meant === inOneCase(query) ? undefined : meant;
}

/** The files that may hold a hit, and what each term is worth: the fewer files have it, the more. */
function filesWithTerms(
  places: SearchedPlace[],
  { terms, under, kept }: { terms: Term[]; under: string; kept: KeptTexts | null },
) {
  const isSpaced = hasPhrases(terms);
  const files: SearchedFile[] = [];
  const found = terms.map(() => 0);
  let count = 0;
  for (const place of places) {
    for (const { modifiedMs, text } of searchedTexts(place, { under, kept })) {
      // Overflow files repeat the topics' descriptions.
      if (text.path.startsWith('index/')) continue;
      count += 1;
      const compared = isSpaced ? withSingleSpaces(text.folded) : text.folded;
      const cased = isSpaced ? withSingleSpaces(text.composed) : text.composed;
      const isIn = terms.map((term) => compared.includes(term.text) && qualityIn(compared, term, cased) > 0);
      isIn.forEach((is, at) => {
        if (is) found[at] = (found[at] as number) + 1;
      });
      if (!isIn.some((is) => is) || terms.some(({ kind }, at) => kind === 'phrase' && !isIn[at])) continue;
      files.push({ place, modifiedMs, text });
    }
  }
  const weighed = terms.map((term, at) => {
    const files = found[at] as number;
    return { ...term, files, weight: weightOf(files, count) };
  });
  return { files, weighed, isLacking: found.includes(0) };
}

/** As in BM25: a word that every file has is worth next to nothing. */
function weightOf(filesWithIt: number, files: number): number {
  return Math.log(1 + (files - filesWithIt + 0.5) / (filesWithIt + 0.5));
}

function candidatesIn(file: SearchedFile, terms: WeighedTerm[]): Candidate[] {
  const { kind, path } = file.text;
  // A topic's name says what its lines are about.
  const context = kind === 'topic' || kind === 'archive' ? namesOf(path) : '';
  const found: Candidate[] = [];
  for (const [at, line] of file.text.lines(hasPhrases(terms)).entries()) {
    const before = found.at(-1);
    if (line.entry && before?.line === line.named) before.entry = line.entry;
    const match = line.isAside ? null : matchLine(line, { terms, context });
    if (!match) continue;
    const candidate = { file, line: line.named, shown: at + 1, ...match };
    // An entry and its quotes are one hit.
    if (kind !== 'entry' || before?.line !== line.named) found.push(candidate);
    else if (candidate.score > before.score) found[found.length - 1] = candidate;
  }
  return found;
}

/** The name of a topic, also with its words apart. */
function namesOf(path: string): string {
  const name = inOneCase(path.replace(/\.md$/i, ''));
  return `${name} ${name.replace(/[-_]/g, ' ')}`;
}

const hasPhrases = (terms: Term[]) => terms.some(({ kind }) => kind === 'phrase');

/** Null where the line itself has none of the terms; what the name of its topic has counts on top. */
function matchLine(
  line: SearchedLine,
  { terms, context }: { terms: WeighedTerm[]; context: string },
): { words: number; score: number } | null {
  let words = 0;
  let score = 0;
  let isIn = false;
  for (const term of terms) {
    const quality = qualityIn(line.text, term, line.cased);
    // What a line names only as given up is found, and worth next to nothing.
    const standing = quality > 0 ? standingIn(line) : '';
    const kept = standing === line.text ? quality : qualityIn(standing, term);
    if (quality === 0 && term.kind === 'phrase') return null;
    const isInContext = qualityIn(context, term) > 0;
    if (kept > 0 || isInContext) words += 1;
    isIn ||= quality > 0;
    score += term.weight * ((kept || quality * GIVEN_UP) + (isInContext ? 1 : 0));
  }
  if (!isIn) return null;
  if (words > 1) score += togetherIn(withSingleSpaces(standingIn(line)), terms);
  return { words, score };
}

/** What it adds that words stand as they do in the query, one behind the other. */
function togetherIn(line: string, terms: WeighedTerm[]): number {
  return terms.slice(1).reduce((sum, term, at) => {
    const before = terms[at] as WeighedTerm;
    const pair = qualityIn(line, { text: `${before.text} ${term.text}`, kind: 'phrase' });
    return sum + pair * Math.min(before.weight, term.weight);
  }, 0);
}

function byWorth(a: Candidate, b: Candidate): number {
  return (
    b.score - a.score ||
    RANK[a.file.text.kind] - RANK[b.file.text.kind] ||
    b.file.modifiedMs - a.file.modifiedMs ||
    (a.file.text.path < b.file.text.path ? -1 : a.file.text.path > b.file.text.path ? 1 : a.line - b.line)
  );
}

function hitOf({ file, line, shown, words }: Candidate, terms: Term[]): Hit {
  const { kind, path, text } = file.text;
  const raw = text.split('\n')[shown - 1] as string;
  const cased = hasPhrases(terms) ? withSingleSpaces(raw.normalize('NFC')) : raw.normalize('NFC');
  const first = terms.find((term) => qualityIn(inOneCase(cased), term, cased) > 0);
  const said = raw.trim().replace(/^(description:|[-*+>]) ?/, '');
  return { kind, path, line, text: cutAround(said, first?.text ?? ''), words };
}

function cutAround(text: string, word: string): string {
  if (text.length <= SNIPPET_CHARACTERS) return text;
  const at = Math.max(inOneCase(text).indexOf(word), 0);
  const from = Math.max(0, Math.min(at - SNIPPET_CHARACTERS / 4, text.length - SNIPPET_CHARACTERS));
  // Half a character at either end is left out.
  const cut = text
    .slice(from, from + SNIPPET_CHARACTERS)
    .replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')
    .trim();
  return `${from > 0 ? '…' : ''}${cut}${from + SNIPPET_CHARACTERS < text.length ? '…' : ''}`;
}

interface Term {
  /** In lower case and NFC; a phrase with single spaces. */
  text: string;
  /** A `word` begins one; a `piece` of an unspaced script or with signs stands anywhere; a `phrase` must be in the line. */
  kind: 'word' | 'piece' | 'phrase';
}

const TERM = /["“„]([^"“”„]+)["“”]|([\p{L}\p{N}\p{M}_./@-]+)/gu;
/** What is a word only between spaces or other signs; in Arabic and Hebrew "the" and "in" are written before it. */
const IS_WORD = /^(?:(?![\p{sc=Arabic}\p{sc=Hebrew}])[\p{L}\p{N}\p{M}])+$/u;
const WITHOUT_SPACES = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

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

/** 3: the term stands in the line as a word; 2: it begins one; 1: it is part of one; 0: it is not there. */
function qualityIn(line: string, term: Term, cased = ''): number {
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
    else if (kind !== 'word') yield { at, quality: 1 };
    else if (isInnerStart(line, at) || isHump(humps, at)) yield { at, quality: 1 };
  }
}

/** Whether a word of a name begins here, as in `max_retry` and `node24`. */
const isInnerStart = (line: string, at: number) => /^(?:_.|\p{N}\p{L}|\p{L}\p{N})/u.test(line.slice(at - 1, at + 1));

const isHump = (line: string, at: number) => /^(?:\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll})/u.test(line.slice(at - 1, at + 2));

/** Whether words stand in a text as they are given, where a search would find the first of them. */
export function holdsWords(text: string, words: string): boolean {
  const onOneLine = (said: string) => said.normalize('NFC').replace(/\s+/g, ' ').trim();
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

function wordsIn(run: string): string[] {
  // The end of a sentence is no part of its last word.
  if (!WITHOUT_SPACES.test(run)) return [run.replace(/(?<![./-])[./-]+$/, '')];
  const words = segmentWords(run);
  // Single kana are endings and particles, which every line holds.
  const telling = words.filter((word) => !/^\p{sc=Hiragana}$/u.test(word));
  return telling.length > 0 ? telling : words;
}

const isOfWord = (character: string | undefined) => character !== undefined && /[\p{L}\p{N}\p{M}_]/u.test(character);
