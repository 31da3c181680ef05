// Finds words in what is remembered: topics, what was put away, entries of the logs and lines of one's own in the index. The one
// full-text search: people, agents and clients ask it. SQL finds the lines that hold the words, most of them first, the newest first;
// code ranks the best of those, alike on both engines. A fact is one hit: the line of a topic, and the entries that it rests on.
// Costs as much as there is in the memories that are asked, however many others there are. It changes nothing.

import { LINES_OF_MEMORY, lineBucket } from '../db/open-database.ts';
import { allOf, type Db, type Value } from '../db/sql.ts';
import {
  type FileKind,
  inOneCase,
  kindOf,
  matchLine,
  qualityIn,
  readQuery,
  rowTexts,
  type SearchedLine,
  searchedLines,
  type Term,
  withSingleSpaces,
} from './search-words.ts';
import { compare } from './text/blocks.ts';
import { lineNumbers } from './text/topic.ts';

export interface Hit {
  /** In which memory. */
  memory: string;
  kind: FileKind;
  path: string;
  /** From 1. */
  line: number;
  /** The line, cut around the first word found. */
  text: string;
  /** How many of the query's words and phrases it has. */
  words: number;
}

export interface SearchRequest {
  /** Words, which begin one of a hit, and "phrases", which a hit must have. Empty: nothing is found. */
  query: string;
  limit: number;
  /** So many of the best are left out; default 0. */
  offset?: number;
}

export interface SearchResult {
  /**
   * Best first: by the words they have, the rarer the better, whole ones before parts, those that stand together before
   * those apart; topics before logs; newer ones.
   */
  hits: Hit[];
  /** How many there are in all; `isAtLeast`: so many were looked at, and there are more. */
  total: number;
  isAtLeast: boolean;
}

type WeighedTerm = Term & { weight: number };

type FoundFile = { id: string; memory: string; path: string; kind: FileKind; at: string; text: string };

type Candidate = { file: FoundFile; line: SearchedLine; words: number; score: number };

/** So many lines are ranked of all memories that hold any together, or of each three times as many as are wanted. */
const MOST_RANKED = 200;
/** Lines that have all words, of which so many, or three times as many as are wanted, make those that have some needless. */
const ENOUGH = 60;
/** Of the lines that have a word, so many of the newest are compared with those that have another. */
const MOST_WITH_WORD = 20_000;
/** Lines of several memories that one question to the index may answer. */
const MOST_AT_ONCE = 100_000;
/** Lines that have the letters of a word, but perhaps not as one, are gone through so far. */
const MOST_READ = 2_000;
const SNIPPET_CHARACTERS = 160;
const RANK = { topic: 0, entry: 1, index: 2, archive: 3, file: 4 };

/** Searches memories as if they were one. */
export async function searchMemories(
  db: Db,
  memories: readonly string[],
  { query, limit, offset = 0 }: SearchRequest,
): Promise<SearchResult> {
  const terms = readQuery(query);
  if (terms.length === 0) return { hits: [], total: 0, isAtLeast: false };
  const wanted = 3 * (offset + limit);
  const most = Math.max(MOST_RANKED, wanted);
  const { holding, lines } = await linesHolding(db, memories, { terms, wanted, most });
  const weighed = weigh(terms, holding, lines);
  const best = holding.map((of) => bestOf(of, weighed));
  // What one of many memories holds alone is looked at as far as if it were the only one.
  const ranked = Math.max(offset + limit, Math.ceil(most / best.filter(({ ids }) => ids.length > 0).length));
  const found: Candidate[] = [];
  let isAtLeast = false;
  for (const [at, { ids, isMore }] of best.entries()) {
    const memory = memories[at] as string;
    const read = await readLines(db, memory, { ids, terms, most: ranked });
    isAtLeast ||= isMore || read.isMore;
    const candidates = read.files.flatMap((file) =>
      candidatesIn(file, { terms: weighed, texts: read.texts.get(file.id) }),
    );
    found.push(...(await onePerFact(db, memory, candidates)));
  }
  const hits = found.sort(byWorth).slice(offset, offset + limit);
  return {
    hits: hits.map((candidate) => hitOf(candidate, terms)),
    total: found.length,
    isAtLeast,
  };
}

// Which lines: by SQL.

/** Ids of lines, the newest first: `all` of them have all terms, else `each` says which have which. */
type Holding = { all: number[] | null; each: number[][] };

/** By memory, in their order; `lines`: how many there are in all. */
async function linesHolding(
  db: Db,
  memories: readonly string[],
  { terms, wanted, most }: { terms: Term[]; wanted: number; most: number },
): Promise<{ holding: Holding[]; lines: number }> {
  const find = (texts: string[], ofEach: number) => idsOfEach(db, memories, { texts, most: ofEach });
  if (terms.length > 1) {
    const texts = terms.map(({ text }) => text);
    const whole = await find(texts, most);
    const count = whole.reduce((sum, all) => sum + all.length, 0);
    if (count >= Math.max(ENOUGH, wanted)) return { holding: whole.map((all) => ({ all, each: [] })), lines: 0 };
  }
  // Of a single one no other is compared with it.
  const ofEach = terms.length > 1 ? MOST_WITH_WORD : MOST_READ + 1;
  const found: number[][][] = [];
  for (const { text } of terms) found.push(await find([text], ofEach));
  const count = 'select count(*) as n from line where memory in (#)';
  const [counted] = terms.length > 1 ? await allOf<{ n: number }>(db, count, memories) : [];
  return {
    holding: memories.map((_, at) => ({ all: null, each: found.map((of) => of[at] ?? []) })),
    lines: counted?.n ?? 0,
  };
}

/** Of SQLite's index: the newest lines of a memory that hold all of these texts, each of at least three characters. */
const INDEXED = `select rowid % ${LINES_OF_MEMORY} as id from line_fts where line_fts match ?
  and rowid > cast(? as integer) and rowid < cast(? as integer) order by rowid desc limit ?`;
type Wanted = { texts: readonly string[]; most: number };

/** `idsHolding` of several memories, in their order. */
async function idsOfEach(db: Db, memories: readonly string[], wanted: Wanted): Promise<number[][]> {
  const { texts, most } = wanted;
  if (memories.length > 1 && texts.every((text) => isIndexed(db, text))) {
    // Asked memory by memory, the index goes through all of them each time until it meets the first line.
    const select = 'select rowid from line_fts where line_fts match ? order by rowid desc limit ?';
    const query = `select json_group_array(rowid) as ids from (${select})`;
    const row = await db.get<{ ids: string }>(query, matching(texts), MOST_AT_ONCE + 1);
    const ids: number[] = JSON.parse(row?.ids ?? '[]');
    const byBucket = Map.groupBy(ids, (id) => Math.floor(id / LINES_OF_MEMORY));
    const ofMemory = (memory: string) => (byBucket.get(lineBucket(memory)) ?? []).slice(0, most);
    if (ids.length <= MOST_AT_ONCE) return memories.map((memory) => ofMemory(memory).map((id) => id % LINES_OF_MEMORY));
  }
  const found: number[][] = [];
  for (const memory of memories) found.push(await idsHolding(db, memory, wanted));
  return found;
}

function isIndexed({ engine }: Db, text: string): boolean {
  return engine === 'sqlite' && [...text].length > 2;
}

function matching(texts: readonly string[]): string {
  return texts.map((text) => `"${text.replaceAll('"', '""')}"`).join(' AND ');
}

/** The lines that hold all of these texts, newest first. */
export async function idsHolding(db: Db, memory: string, { texts, most }: Wanted): Promise<number[]> {
  const others = texts.filter((text) => !isIndexed(db, text));
  const match = matching(texts.filter((text) => isIndexed(db, text)));
  const low = lineBucket(memory) * LINES_OF_MEMORY;
  const isWhole = others.length === 0;
  const indexed = [match, low, low + LINES_OF_MEMORY, isWhole ? most : -1];
  const where: [string, ...Value[]][] = [
    ['line.memory = ?', memory],
    ...others.map((text): [string, Value] => ["line.text like ? escape '\\'", `%${text.replace(/[\\%_]/g, '\\$&')}%`]),
  ];
  if (match !== '') where.push([`line.id in (${INDEXED})`, ...indexed]);
  const conditions = where.map(([condition]) => condition).join(' and ');
  const select = isWhole ? INDEXED : `select line.id from line where ${conditions} order by line.id desc limit ?`;
  const values = isWhole ? indexed : [...where.flatMap(([, ...given]) => given), most];
  // One value instead of as many rows.
  const list = db.engine === 'sqlite' ? 'json_group_array(id)' : 'cast(array_agg(id) as text)';
  const row = await db.get<{ ids: string | null }>(`select ${list} as ids from (${select}) found`, ...values);
  return JSON.parse(`[${row?.ids?.slice(1, -1) ?? ''}]`);
}

/** What each term is worth: the fewer lines have it, the more, as in BM25. */
function weigh(terms: readonly Term[], holding: readonly Holding[], lines: number): WeighedTerm[] {
  return terms.map((term, at) => {
    const having = holding.reduce((sum, { each }) => sum + (each[at]?.length ?? 0), 0);
    return { ...term, weight: lines === 0 ? 1 : Math.log(1 + (Math.max(0, lines - having) + 0.5) / (having + 0.5)) };
  });
}

/** The lines that are worth most by the terms that they have, the newest first; a phrase they must have. */
function bestOf({ all, each }: Holding, terms: readonly WeighedTerm[]): { ids: number[]; isMore: boolean } {
  if (all) return { ids: all, isMore: true };
  const isMore = each.some((ids) => ids.length === MOST_WITH_WORD);
  if (each.length === 1) return { ids: each[0] ?? [], isMore };
  const masks = new Map<number, number>();
  for (const [at, ids] of each.entries()) for (const id of ids) masks.set(id, (masks.get(id) ?? 0) | (1 << at));
  const byMask = new Map<number, number[]>();
  for (const [id, mask] of masks) {
    const alike = byMask.get(mask);
    if (alike) alike.push(id);
    else byMask.set(mask, [id]);
  }
  const has = (mask: number, at: number) => (mask & (1 << at)) !== 0;
  const worth = (mask: number) => terms.reduce((sum, { weight }, at) => sum + (has(mask, at) ? weight : 0), 0);
  const ranked = [...byMask]
    .filter(([mask]) => terms.every(({ kind }, at) => kind !== 'phrase' || has(mask, at)))
    .sort(([a], [b]) => worth(b) - worth(a));
  const ids: number[] = [];
  for (const [, alike] of ranked) if (ids.length <= MOST_READ) ids.push(...alike.sort((a, b) => b - a));
  return { ids, isMore };
}

// What they are: by their files.

type LineRow = { id: number; file: string; text: string };

interface FoundLines {
  files: FoundFile[];
  /** By the file's id, what its rows of the table `line` hold. */
  texts: Map<string, Set<string>>;
  isMore: boolean;
}

/** The first of these lines that have a term as a word, else those that perhaps have, with the files in which they stand. */
async function readLines(
  db: Db,
  memory: string,
  { ids, terms, most }: { ids: readonly number[]; terms: readonly Term[]; most: number },
): Promise<FoundLines> {
  const [sure, perhaps]: [LineRow[], LineRow[]] = [[], []];
  let read = 0;
  for (; read < Math.min(ids.length, MOST_READ) && sure.length < most; read += most) {
    const some = ids.slice(read, read + most);
    // SQLite would go through all lines of the memory, were it named in the statement.
    const select = 'select id, memory, file, text from line where id in (#)';
    const rows = await allOf<LineRow & { memory: string }>(db, select, some);
    const byId = new Map(rows.flatMap((row) => (row.memory === memory ? [[row.id, row] as const] : [])));
    for (const row of some.flatMap((id) => byId.get(id) ?? []))
      (terms.some((term) => qualityIn(row.text, term) > 0) ? sure : perhaps).push(row);
  }
  const lines = [...sure, ...perhaps].slice(0, most);
  const texts = Map.groupBy(lines, ({ file }) => file);
  const files = await allOf<Pick<FoundFile, 'id' | 'path' | 'at'> & { content: Buffer }>(
    db,
    `select file.id, file.path, version.at, version.content from file join version on version.id = file.head
      where file.memory = ? and file.path is not null and file.id in (#)`,
    [...texts.keys()],
    memory,
  );
  return {
    files: files.map(({ content, ...file }) => {
      return { ...file, memory, kind: kindOf(file.path), text: content.toString() };
    }),
    texts: new Map([...texts].map(([file, of]) => [file, new Set(of.map(({ text }) => text))])),
    isMore: read < ids.length || sure.length + perhaps.length > most,
  };
}

/** `texts`: of the lines that are looked at. */
function candidatesIn(file: FoundFile, { terms, texts }: { terms: WeighedTerm[]; texts?: Set<string> }): Candidate[] {
  // A topic's name says what its lines are about.
  const name = inOneCase(file.path.replace(/\.md$/i, ''));
  const context = isTopic(file) ? `${name} ${name.replace(/[-_]/g, ' ')}` : '';
  const found: Candidate[] = [];
  for (const line of searchedLines(file.path, file.text)) {
    const match = rowTexts(line).some((text) => texts?.has(text)) ? matchLine(line.raw, { terms, context }) : null;
    if (!match) continue;
    const before = found.at(-1);
    const candidate = { file, line, ...match };
    // An entry and its quotes are one hit.
    if (file.kind !== 'entry' || before?.line.named !== line.named) found.push(candidate);
    else if (candidate.score > before.score) found[found.length - 1] = candidate;
  }
  return found;
}

function isTopic({ kind }: FoundFile): boolean {
  return kind === 'topic' || kind === 'archive';
}

/** An entry is the line of a topic that rests on it; entries on which one line rests are one. */
async function onePerFact(db: Db, memory: string, found: readonly Candidate[]): Promise<Candidate[]> {
  const select = 'select file, line, source from rests where memory = ? and source in (#)';
  const entries = found.flatMap(({ line }) => line.entry ?? []);
  const rests = await allOf<{ file: string; line: string; source: string }>(db, select, entries, memory);
  const restsOn = new Map(rests.map(({ source, file, line }) => [source, `${file} ${line}`]));
  const facts = new Map<string, Candidate>();
  for (const [file, candidates] of Map.groupBy(found, (candidate) => candidate.file)) {
    const statements = isTopic(file) ? lineNumbers(file.text) : [];
    for (const candidate of candidates) {
      const { number, named, entry } = candidate.line;
      const statement = statements.find(({ first, last }) => number >= first && number <= last)?.id;
      const key = (entry && restsOn.get(entry)) ?? `${file.id} ${statement ?? `:${named}`}`;
      facts.set(key, tellingOf(candidate, facts.get(key)));
    }
  }
  return [...facts.values()];
}

/** Of two hits of one fact the one that is told, with the better score of both. */
function tellingOf(candidate: Candidate, other: Candidate | undefined): Candidate {
  if (!other) return candidate;
  const score = Math.max(candidate.score, other.score);
  // What a topic says of a fact is told, also of one that was put away; else the entry that is nearest to the words.
  const isTold = candidate.line.entry
    ? !other.line.entry || other.score === score
    : !other.line.entry && RANK[other.file.kind] <= RANK[candidate.file.kind];
  return { ...(isTold ? other : candidate), score };
}

function byWorth(a: Candidate, b: Candidate): number {
  return (
    b.score - a.score ||
    b.words - a.words ||
    RANK[a.file.kind] - RANK[b.file.kind] ||
    compare(b.file.at, a.file.at) ||
    compare(a.file.path, b.file.path) ||
    a.line.named - b.line.named
  );
}

// What is told.

function hitOf({ file, line, words }: Candidate, terms: readonly Term[]): Hit {
  const cased = withSingleSpaces(line.raw.normalize('NFC'));
  const first = terms.find((term) => qualityIn(inOneCase(cased), term, cased) > 0);
  const said = line.raw.trim().replace(/^(description:|[-*+>]) ?/, '');
  const { memory, kind, path } = file;
  return { memory, kind, path, line: line.named, text: cutAround(said, first?.text ?? ''), words };
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
