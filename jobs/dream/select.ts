// What one request of a dream is about: which entries, and which of the topics, within a token budget.

import { redact } from '../../src/base/text/redact.ts';
import { linesWithId, type TopicCard, TopicSearch, topicCards } from '../../src/memory/dream/topic-table.ts';
import { type EntryRow, supportsByEntry } from '../../src/memory/ledger/entries.ts';
import type { Ledger } from '../../src/memory/ledger/ledger.ts';
import { topicUses } from '../../src/memory/recall/recall-uses.ts';
import { partsOf, SAYS_IT } from '../../src/memory/recall/unsorted.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { type DreamContext, type KnownEntry, newestAt } from '../../src/rules/dream-context.ts';
import { contentWords, sharedPart } from '../../src/rules/words.ts';
import { type DraftTopic, nearOthers, readTopics } from './draft.ts';

const CHARACTERS_PER_TOKEN = 3;

/** What one request is about. */
export interface Slice {
  fresh: EntryRow[];
  withdrawn: EntryRow[];
  /** What steers it. */
  instructions?: string;
}

/** Splits a night by what fits into one request; withdrawn entries alone make a slice too. */
export function slicesOf(night: Slice, tokensOfEach: number): Slice[] {
  const { fresh, withdrawn } = night;
  const out: EntryRow[][] = [];
  let size = 0;
  for (const entry of fresh) {
    const tokens =
      (entry.text.length + entry.evidence.reduce((sum, item) => sum + item.quote.length, 0) + 150) /
      CHARACTERS_PER_TOKEN;
    const last = out.at(-1);
    const hasRoom = last !== undefined && size + tokens <= tokensOfEach;
    if (hasRoom) last.push(entry);
    else out.push([entry]);
    size = hasRoom ? size + tokens : tokens;
  }
  if (out.length === 0 && withdrawn.length > 0) out.push([]);
  return out.map((entries, at) => ({ ...night, fresh: entries, withdrawn: at === 0 ? withdrawn : [] }));
}

/** What a model finds too long is split down to this. */
const SMALLEST_SLICE_TOKENS = 500;

/** The slices of a night that are still to be asked about. */
export class Slices {
  #waiting: Slice[];
  #tokens: number;

  constructor(night: Slice, tokens: number) {
    this.#tokens = tokens;
    this.#waiting = slicesOf(night, tokens);
  }

  /** Tokens of entries, and of topics, that one request is shown. */
  get tokens(): number {
    return this.#tokens;
  }

  next(): Slice | undefined {
    return this.#waiting.shift();
  }

  /** Puts back a slice that was too long, and makes all that follow half as long, with fewer topics; throws where they are small. */
  halve(slice: Slice, tooLong: Error): void {
    if (this.#tokens < 2 * SMALLEST_SLICE_TOKENS) throw tooLong;
    this.#tokens = Math.floor(this.#tokens / 2);
    this.#waiting = [slice, ...this.#waiting].flatMap((each) => slicesOf(each, this.#tokens));
  }
}

export type Context = DreamContext<DraftTopic>;

/** The entries and topics that operations speak of and are checked against. What a person wrote is redacted here. */
export async function contextOf(
  fresh: EntryRow[],
  withdrawn: EntryRow[],
  topics: Map<string, DraftTopic> = new Map(),
): Promise<Context> {
  const entries = new Map<string, KnownEntry>();
  for (const entry of [...fresh, ...withdrawn]) {
    const { id, type, strength, at, by, session } = entry;
    const text = (await redact(entry.text)).text;
    const quotes = await Promise.all(entry.evidence.map(async (item) => (await redact(item.quote)).text));
    const speakers = entry.evidence.map((item, place) => item.by ?? (place === 0 ? by : undefined));
    const changes = entry.changes && (await redact(entry.changes)).text;
    entries.set(id, {
      ...{ id, type, strength, at, text, quotes, speakers, by, session },
      ...(changes && { changes }),
      ...(entry.again && { again: entry.again }),
      isWithdrawn: withdrawn.includes(entry),
    });
  }
  return { entries, topics };
}

/** A slice with what its request shows of the memory. */
export interface Selected {
  slice: Slice;
  context: Context;
  /** Topics, with the ids of the lines that are shown of each. */
  shown: Map<DraftTopic, Set<string>>;
  /** Topics that are near, or in use, by their line in the index alone. */
  others: TopicCard[];
  /** How many topics there are beside. */
  unnamed: number;
  /** Names of pinned ones, which nothing is written into. */
  pinned: string[];
  /** By entry, the ids of the lines that say what it changes, as far as words tell. */
  changed: Map<string, string[]>;
}

/** Of lines that share words with an entry, so many. */
const LINES_PER_ENTRY = 6;
/** And of these, whatever room there is. */
const SURELY_PER_ENTRY = 2;
/** Of lines that share words with what an entry changes, so many are looked at for each part of it, and so many named. */
const LINES_PER_CHANGE = 8;
const NAMED_PER_CHANGE = 3;
/** Of lines that rest on entries of the same session, so many per session. */
const LINES_PER_SESSION = 12;
/** Of a topic, so many lines that are not shown are compared with those that are, and so many of the near ones shown. */
const MOST_COMPARED = 60;
const MOST_NEAR = 4;
const IS_NEAR = 0.5;
/** What a line's topic being of another type than the entry leaves of its score. */
const OTHER_TYPE = 0.6;
const SAME_SESSION = 0.1;
/** Of pinned topics so many are named. */
const MOST_PINNED = 20;
/** A memory of so few tokens is shown whole. */
const SMALL_MEMORY_TOKENS = 2_000;
/** Tokens of topics for one entry, and for any. */
const TOKENS_PER_ENTRY = 120;
const LEAST_TOKENS = 800;
/** The part of the tokens that goes to topics by their index line alone. */
const OTHERS_PART = 0.15;
/** In addition to the text of a line, or of a topic's heading: its id, marks, line end. */
const FRAME_CHARACTERS = 16;

/**
 * Chooses what the entries of a slice may touch, and reads it into `context.topics`: lines that withdrawn entries support and
 * those that an entry changes or says again, wherever they stand; those nearest to an entry, and what of other days is near to one
 * of these; then those that share most words with an entry or come from its session; then, as far as there is room, their
 * neighbours.
 * What it costs follows the entries: `mostTokens` is only the most.
 */
export async function select(
  slice: Slice,
  { store, mostTokens, context: given }: { store: Store; mostTokens: number; context?: Context },
): Promise<Selected> {
  const { fresh, withdrawn } = slice;
  const context = given ?? (await contextOf(fresh, withdrawn));
  const { ledger } = store;
  const search = new TopicSearch(ledger);
  const cards = new Map(topicCards(ledger).map((card) => [card.path, card]));
  const ofEntries = LEAST_TOKENS + TOKENS_PER_ENTRY * (fresh.length + withdrawn.length);
  const tokens = Math.min(mostTokens, Math.max(ofEntries, SMALL_MEMORY_TOKENS / (1 - OTHERS_PART)));
  const room = new Room(tokens * (1 - OTHERS_PART));
  const scores = scoreLines(search, { ledger, entries: fresh, cards });
  for (const { path, line } of withdrawn.flatMap((entry) => supportsByEntry(ledger, entry.id))) {
    addScore(scores, { path, line }, MUST);
  }
  const changed = new Map<string, string[]>();
  const byPath = new Map<string, DraftTopic>();
  const open = async (path: string) => {
    if (!byPath.has(path)) {
      const [topic] = (await readTopics(store, [path])).values();
      if (topic) byPath.set(path, topic);
      if (topic) context.topics.set(topic.name, topic);
    }
    return byPath.get(path)?.isPinned ? undefined : byPath.get(path);
  };
  for (const entry of context.entries.values()) {
    const again = entry.again ? linesWithId(ledger, entry.again) : [];
    for (const found of again) addScore(scores, found, MUST);
    if (again.length === 0) delete entry.again;
  }
  for (const { id, changes } of context.entries.values()) {
    if (!changes || !fresh.some((entry) => entry.id === id)) continue;
    const lines = await linesSaying(changes, { search, open, cards });
    for (const found of lines) addScore(scores, found, MUST);
    if (lines.length > 0) changed.set(id, [...new Set(lines.map(({ line }) => line))]);
  }
  const paths = byScore(scores).filter((path) => cards.has(path));
  const wanted = paths.flatMap((path) => [...(scores.get(path) ?? [])].map(([line, score]) => ({ path, line, score })));
  for (const { path, line, score } of wanted.sort((a, b) => b.score - a.score)) {
    const isMust = score === MUST;
    const topic = isMust || !room.isFull ? await open(path) : undefined;
    if (topic) room.show(topic, line, { isMust });
  }
  for (const [topic, shown] of room.shown) {
    for (const line of nearOfOtherDays(topic, shown)) room.show(topic, line, { isMust: true });
  }
  for (const [topic, lines] of await nearOthers(fresh, store)) {
    context.topics.set(topic.name, topic);
    for (const line of lines) room.show(topic, line, { isMust: true });
  }
  const near = paths.filter((path) => !room.shown.has(byPath.get(path) as DraftTopic));
  // As far as there is room, what else there is: first of the topics shown, then those in use.
  for (const topic of [...room.shown.keys()]) for (const line of topic.lines.keys()) room.show(topic, line);
  const inUse = byUse(ledger, [...cards.values()]).filter(({ path }) => !paths.includes(path));
  for (const { path } of inUse) {
    if (room.isFull) break;
    const topic = await open(path);
    if (!topic) continue;
    if (topic.lines.size === 0) room.show(topic, '');
    for (const line of topic.lines.keys()) room.show(topic, line);
  }
  const shownPaths = new Set(
    [...room.shown.keys()].map(({ from, path }) => from ?? path).filter((path) => cards.has(path)),
  );
  const left = [...near.flatMap((path) => cards.get(path) ?? []), ...inUse].filter(
    ({ path, isPinned }) => !shownPaths.has(path) && !isPinned,
  );
  const others = fitting([...new Set(left)], tokens * OTHERS_PART);
  const [pinned, free] = [true, false].map((is) => [...cards.values()].filter((card) => card.isPinned === is)) as [
    TopicCard[],
    TopicCard[],
  ];
  return {
    ...{ slice, context, shown: room.shown, others, changed },
    unnamed: free.length - shownPaths.size - others.length,
    pinned: pinned.slice(0, MOST_PINNED).map(({ name }) => name),
  };
}

/** By path, lines with how near entries are to them. */
type Scores = Map<string, Map<string, number>>;
/** What must be shown. */
const MUST = Number.POSITIVE_INFINITY;

function addScore(scores: Scores, { path, line }: { path: string; line: string }, score: number): void {
  const lines = scores.get(path) ?? new Map<string, number>();
  scores.set(path, lines.set(line, (lines.get(line) ?? 0) + score));
}

function scoreLines(
  search: TopicSearch,
  { ledger, entries, cards }: { ledger: Ledger; entries: EntryRow[]; cards: Map<string, TopicCard> },
): Scores {
  const scores: Scores = new Map();
  for (const entry of entries) {
    for (const [rank, found] of search.find(entry.text, LINES_PER_ENTRY).entries()) {
      const isSure = rank < SURELY_PER_ENTRY && found.line !== '';
      const nearness = (cards.get(found.path)?.type === entry.type ? 1 : OTHER_TYPE) / (1 + rank);
      addScore(scores, found, isSure ? MUST : nearness);
    }
  }
  for (const session of new Set(entries.map((entry) => entry.session).filter(Boolean))) {
    const rows = ledger.lists(
      `select distinct support.path, support.line from entry join support on support.entry = entry.id
       where entry.session = ? order by entry.at desc limit ?`,
      session,
      LINES_PER_SESSION,
    ) as [string, string][];
    for (const [path, line] of rows) addScore(scores, { path, line }, SAME_SESSION);
  }
  return scores;
}

/** The lines that say what an entry changes, the likest first: of all that it names, part by part. */
async function linesSaying(
  changes: string,
  {
    search,
    open,
    cards,
  }: {
    search: TopicSearch;
    open(path: string): Promise<DraftTopic | undefined>;
    cards: Map<string, TopicCard>;
  },
): Promise<{ path: string; line: string }[]> {
  const named = new Map<string, { path: string; line: string }>();
  for (const part of new Set([changes, ...partsOf(changes)])) {
    const words = contentWords(part);
    const near: { path: string; line: string; share: number }[] = [];
    for (const { path, line } of search.find(part, LINES_PER_CHANGE)) {
      const text = line !== '' && cards.has(path) ? (await open(path))?.lines.get(line)?.text : undefined;
      if (text === undefined) continue;
      const share = sharedPart(words, contentWords(text));
      if (share >= SAYS_IT) near.push({ path, line, share });
    }
    near.sort((a, b) => b.share - a.share);
    for (const { path, line } of near.slice(0, NAMED_PER_CHANGE)) named.set(`${path}\n${line}`, { path, line });
  }
  return [...named.values()];
}

/** The lines of a topic that are near to one of another day which is shown, and are not: the one may be what the other was. */
function nearOfOtherDays(topic: DraftTopic, shown: Set<string>): string[] {
  const known = [...topic.lines].flatMap(([id, { text, sources = [] }]) =>
    sources.length > 0 ? [{ id, words: contentWords(text), day: newestAt(sources).slice(0, 10) }] : [],
  );
  const seen = known.filter(({ id }) => shown.has(id));
  const hidden = known.filter(({ id }) => !shown.has(id)).slice(0, MOST_COMPARED);
  return hidden
    .filter(({ day, words }) => seen.some((each) => each.day !== day && sharedPart(words, each.words) >= IS_NEAR))
    .slice(0, MOST_NEAR)
    .map(({ id }) => id);
}

function byScore(scores: Scores): string[] {
  const sums = [...scores].map(([path, lines]) => ({ path, sum: [...lines.values()].reduce((a, b) => a + b, 0) }));
  return sums.sort((a, b) => b.sum - a.sum || (a.path < b.path ? -1 : 1)).map(({ path }) => path);
}

/** Living topics, those that were used last first, then those changed last. */
function byUse(ledger: Ledger, cards: TopicCard[]): TopicCard[] {
  const uses = topicUses(ledger);
  const keyOf = (card: TopicCard) => `${uses.get(card.path)?.usedAt ?? ''.padEnd(24, '0')} ${card.changedAt}`;
  const keys = new Map(cards.filter((card) => !card.isArchived).map((card) => [card, keyOf(card)]));
  return [...keys].sort(([, a], [, b]) => (a < b ? 1 : a > b ? -1 : 0)).map(([card]) => card);
}

function fitting(cards: TopicCard[], tokens: number): TopicCard[] {
  const out: TopicCard[] = [];
  let size = 0;
  for (const card of cards) {
    size += (card.path.length + card.description.length + FRAME_CHARACTERS) / CHARACTERS_PER_TOKEN;
    if (size > tokens) break;
    out.push(card);
  }
  return out;
}

/** What is shown, as long as there is room for it. */
class Room {
  readonly shown = new Map<DraftTopic, Set<string>>();
  #tokensLeft: number;
  /** Whether so little is left that looking for more is not worth it. */
  get isFull(): boolean {
    return this.#tokensLeft < 40;
  }

  constructor(tokens: number) {
    this.#tokensLeft = tokens;
  }

  /** Shows a line, or with '' the topic's heading alone; what must be shown is, without regard to room. */
  show(topic: DraftTopic, line: string, { isMust = false } = {}): void {
    const lines = this.shown.get(topic);
    const text = topic.lines.get(line)?.text;
    if (lines?.has(line) || (line !== '' && text === undefined) || (line === '' && lines)) return;
    const heading = lines ? 0 : topic.path.length + topic.description.length + FRAME_CHARACTERS;
    const characters = heading + (text === undefined ? 0 : text.length + FRAME_CHARACTERS);
    const tokens = characters / CHARACTERS_PER_TOKEN;
    if (!isMust && tokens > this.#tokensLeft) return;
    this.#tokensLeft -= tokens;
    const shown = lines ?? new Set<string>();
    if (text !== undefined) shown.add(line);
    this.shown.set(topic, shown);
  }
}
