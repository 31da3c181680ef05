// What one request of a dream is about: which entries, and which of the topics, within a token budget. Lines are near to a text by the
// words that both have: the rarest count most, and words of a short line more; a file's words are found once while it stands as it does.

import { compare } from '../../src/memory/text/blocks.ts';
import { isTopicFile } from '../../src/memory/text/topic.ts';
import { type KnownEntry, newestAt } from '../../src/rules/dream-context.ts';
import { containsLiteral, literals } from '../../src/rules/literals.ts';
import { contentWords, sharedPart } from '../../src/rules/words.ts';
import {
  type DraftPlace,
  type DraftTopic,
  type NightEntry,
  openTopic,
  type StandingFile,
  topicsAmong,
} from './topic-draft.ts';

const CHARACTERS_PER_TOKEN = 3;

/** Splits what is new by what fits into one request. */
export function slicesOf(fresh: NightEntry[], tokensOfEach: number): NightEntry[][] {
  const slices: NightEntry[][] = [];
  let size = 0;
  for (const entry of fresh) {
    const characters = entry.text.length + entry.evidence.reduce((sum, { quote }) => sum + quote.length, 0) + 150;
    const tokens = characters / CHARACTERS_PER_TOKEN;
    const last = slices.at(-1);
    const hasRoom = last !== undefined && size + tokens <= tokensOfEach;
    if (hasRoom) last.push(entry);
    else slices.push([entry]);
    size = hasRoom ? size + tokens : tokens;
  }
  return slices;
}

/** What a model finds too long is split down to this. */
const SMALLEST_SLICE_TOKENS = 500;

/** The slices that are left, half as long. Errors: the given one where they are small already. */
export function halved(left: NightEntry[][], tokens: number, tooLong: Error) {
  if (tokens < 2 * SMALLEST_SLICE_TOKENS) throw tooLong;
  const half = Math.floor(tokens / 2);
  return { tokens: half, slices: left.flatMap((each) => slicesOf(each, half)) };
}

/** What a request shows of the memory. */
export interface Shown {
  /** Topics, with the ids of the lines that are shown of each. */
  topics: Map<DraftTopic, Set<string>>;
  /** Topics that are near, or in use, by name and description alone. */
  others: StandingFile[];
  /** How many topics there are beside. */
  unnamed: number;
  /** Names of pinned ones, which nothing is written into. */
  pinned: string[];
  /** By entry, the ids of the lines that say what it changes, as far as words tell. */
  changed: Map<string, string[]>;
}

/** Of lines that share words with an entry, so many; and of these, whatever room there is. */
const LINES_PER_ENTRY = 6;
const SURELY_PER_ENTRY = 2;
/** What a line's topic being of another type than the entry leaves of its score. */
const OTHER_TYPE = 0.6;
/** Of lines that share words with what an entry changes, so many are looked at for each part of it, and so many named. */
const LINES_PER_CHANGE = 8;
const NAMED_PER_CHANGE = 3;
/** What so few lines hold is a rare name. Of such lines so many for an entry: which say what it changes, and which name what it names. */
const LINES_OF_RARE = 8;
const LINES_OF_OLD_NAME = 12;
const LINES_OF_NAME = 4;
/** So much of the shorter of two texts stands in the other: then they say the same, or one what the other was. */
const SAYS_IT = 0.6;
/** Of a topic, so many lines that are not shown are compared with those that are, and so many of the near ones shown. */
const MOST_COMPARED = 60;
const MOST_NEAR = 4;
const IS_NEAR = 0.5;
const MOST_PINNED = 20;
/** A memory of so few tokens is shown whole. */
const SMALL_MEMORY_TOKENS = 2_000;
const TOKENS_PER_ENTRY = 120;
const LEAST_TOKENS = 800;
/** Topics by their names alone. */
const MOST_OTHERS = 40;
/** In addition to the text of a line, or of a topic's heading: its id, marks, line end. */
const FRAME_CHARACTERS = 16;

/** A line that may be shown; `rank`: lower is nearer, below 0 it must be. */
type Candidate = Omit<NearLine, 'words'> & { rank: number };

/**
 * Chooses what the entries of a slice may touch, and reads it into the context: lines that an entry changes or says again, wherever
 * they stand; those nearest to an entry, and what of other days is near to one of these;
 * then those that share words with an entry; then, as far as there is room, their neighbours, and what is in use. What it costs
 * follows the entries: `mostTokens` is only the most.
 */
export async function select(fresh: NightEntry[], place: DraftPlace, mostTokens: number): Promise<Shown> {
  const { sql, memory, files } = place;
  const ofEntries = LEAST_TOKENS + TOKENS_PER_ENTRY * fresh.length;
  const room = new Room(Math.min(mostTokens, Math.max(ofEntries, SMALL_MEMORY_TOKENS)));
  const { candidates, changed } = candidatesFor(fresh, place);
  const open = async (file: StandingFile) => {
    const topic = await openTopic(file.path, place);
    // What is no topic is shown, so that nothing is said twice.
    return topic?.isPinned && isTopicFile(file.path) ? undefined : topic;
  };
  for (const { file, line, rank } of candidates) {
    const isMust = rank < 0;
    const topic = isMust || !room.isFull ? await open(file) : undefined;
    if (topic) room.show(topic, line, { isMust });
  }
  for (const [topic, shown] of room.shown)
    for (const line of nearOfOtherDays(topic, shown)) room.show(topic, line, { isMust: true });
  for (const topic of [...room.shown.keys()]) for (const line of topic.lines.keys()) room.show(topic, line);
  const near = new Set(candidates.map(({ file }) => file));
  const used = await sql.all<{ file: string; at: string }>(
    'select file, used_at as at from topic_use where memory = ? and used_at is not null',
    memory,
  );
  const usedAt = new Map(used.map(({ file, at }) => [file, at]));
  const useOf = ({ id, changedAt }: StandingFile) => `${usedAt.get(id) ?? ''.padEnd(24, '0')} ${changedAt}`;
  const inUse = [...files.values()]
    .filter((file) => file.isLiving && !near.has(file))
    .sort((a, b) => compare(useOf(b), useOf(a)));
  for (const file of inUse) {
    if (room.isFull) break;
    const topic = await open(file);
    for (const line of topic ? ['', ...topic.lines.keys()] : [])
      if (topic && (line !== '' || topic.lines.size === 0)) room.show(topic, line);
  }
  const shown = new Set([...room.shown.keys()].map(({ file }) => file));
  const pinned = topicsAmong(files).filter(({ topic }) => topic.pinned);
  const free = new Set(
    topicsAmong(files).filter(({ id, topic, isLiving }) => isLiving && !topic.pinned && !shown.has(id)),
  );
  const others = [...near, ...inUse].filter((file) => free.has(file)).slice(0, MOST_OTHERS);
  return {
    ...{ topics: room.shown, others, changed, unnamed: free.size - others.length },
    pinned: pinned.slice(0, MOST_PINNED).map(({ path }) => path.replace(/\.md$/i, '')),
  };
}

/** Lines that are near to entries, the nearest first; and which lines an entry says that it changes. */
function candidatesFor(
  fresh: NightEntry[],
  { files, context }: DraftPlace,
): { candidates: Candidate[]; changed: Map<string, string[]> } {
  const near = new NearLines([...files.values()]);
  const candidates: Candidate[] = [];
  const must = (those: Omit<NearLine, 'words'>[]) => candidates.push(...those.map((each) => ({ ...each, rank: -1 })));
  const changed = new Map<string, string[]>();
  for (const entry of context.entries.values()) {
    const again = entry.again ? near.withId(entry.again) : [];
    must(again);
    if (again.length === 0) delete entry.again;
    const lines = entry.changes ? linesSaying(entry, near) : [];
    const old = namesIn([entry.changes ?? '', ...lines.map(textOf)].join('\n'), entry.text);
    lines.push(...linesNaming(old, near, LINES_OF_OLD_NAME));
    must(lines);
    const words = [...contentWords(entry.changes ?? '')].filter((word) => !contentWords(entry.text).has(word));
    must(linesNaming([...literals(entry.text), ...words], near, LINES_OF_NAME));
    if (lines.length > 0) changed.set(entry.id, [...new Set(lines.map(({ line }) => line))]);
  }
  for (const { text, type } of fresh) {
    for (const [at, { file, line }] of near.find(text, LINES_PER_ENTRY).entries()) {
      const isSure = at < SURELY_PER_ENTRY && line !== '';
      candidates.push({ file, line, rank: isSure ? -1 : (1 + at) / (file.topic.type === type ? 1 : OTHER_TYPE) });
    }
  }
  return { candidates: candidates.sort((a, b) => a.rank - b.rank), changed };
}

/** The lines that say what an entry changes, the likest first: of all that it names, part by part. */
function linesSaying({ changes = '' }: KnownEntry, near: NearLines): NearLine[] {
  const named = new Set<NearLine>();
  for (const part of new Set([changes, ...partsOf(changes)])) {
    const words = contentWords(part);
    const found = near
      .find(part, LINES_PER_CHANGE)
      .filter(({ line, file }) => line !== '' && !file.topic.pinned && isTopicFile(file.path))
      .map((line) => ({ line, share: sharedPart(words, line.words) }))
      .filter(({ share }) => share >= SAYS_IT)
      .sort((a, b) => b.share - a.share);
    for (const { line } of found.slice(0, NAMED_PER_CHANGE)) named.add(line);
  }
  return [...named];
}

/** The names in a text that another does not say. */
const namesIn = (text: string, other: string) => literals(text).filter((name) => !containsLiteral(name, other));

/** The lines of any topic that hold a rare one of these names: what is called otherwise now is so in each. */
function linesNaming(names: readonly string[], near: NearLines, most: number): NearLine[] {
  const found = [...new Set(names)].filter((name) => /\p{L}/u.test(name)).map((name) => near.holding(name));
  const rare = found.filter(({ length }) => length <= LINES_OF_RARE).sort((a, b) => a.length - b.length);
  return [...new Set(rare.flat())].slice(0, most);
}

const textOf = ({ file, line }: NearLine) => file.topic.lines.find(({ id }) => id === line)?.text ?? '';

/** What an entry says that it changes, thing by thing, where it names several. */
function partsOf(changes: string): string[] {
  const parts = changes.split(/;\s|(?<=[.!?])\s+(?=\p{Lu})/u).filter((part) => contentWords(part).size > 2);
  return parts.length > 1 ? parts : [changes];
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

/** What is shown, as long as there is room for it. */
class Room {
  readonly shown = new Map<DraftTopic, Set<string>>();
  #tokensLeft: number;

  constructor(tokens: number) {
    this.#tokensLeft = tokens;
  }

  /** Whether so little is left that looking for more is not worth it. */
  get isFull(): boolean {
    return this.#tokensLeft < 40;
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

/** `line`: its id, empty for the topic's name and description. */
export type NearLine = { file: StandingFile; line: string; words: Set<string> };

/** Of the words of a text, so many of the rarest are looked for. */
const MOST_WORDS = 12;
/** Words that more lines than these hold tell little, and cost most. */
const MOST_LINES = 2_000;

/** Lines by their words. */
export class NearLines {
  readonly #lines: NearLine[];
  readonly #byWord = new Map<string, NearLine[]>();
  readonly #usualSize: number;

  constructor(topics: readonly StandingFile[]) {
    this.#lines = topics.flatMap(wordedLines);
    for (const line of this.#lines) {
      for (const word of line.words) {
        const those = this.#byWord.get(word);
        if (those) those.push(line);
        else this.#byWord.set(word, [line]);
      }
    }
    this.#usualSize = this.#lines.reduce((sum, { words }) => sum + words.size, 1) / Math.max(1, this.#lines.length);
  }

  /** Those that share the most and the rarest words with a text, best first. */
  find(text: string, most: number): NearLine[] {
    const known = [...contentWords(text)].flatMap((word) => {
      const lines = this.#byWord.get(word);
      return lines ? [{ word, lines }] : [];
    });
    known.sort((a, b) => a.lines.length - b.lines.length || compare(a.word, b.word));
    const scores = new Map<NearLine, number>();
    let looked = 0;
    for (const [at, { lines }] of known.slice(0, MOST_WORDS).entries()) {
      looked += lines.length;
      if (at > 0 && looked > MOST_LINES) break;
      const weight = Math.log(1 + this.#lines.length / lines.length);
      for (const line of lines) {
        const size = line.words.size / this.#usualSize;
        scores.set(line, (scores.get(line) ?? 0) + weight / (1.3 + 0.9 * size));
      }
    }
    return [...scores]
      .sort(([a, x], [b, y]) => y - x || compare(a.file.path, b.file.path) || compare(a.line, b.line))
      .slice(0, most)
      .map(([line]) => line);
  }

  /** The lines of living topics that hold a word, or a name as it is written; none of which there are very many. */
  holding(name: string): NearLine[] {
    const words = [...contentWords(name)].map((word) => this.#byWord.get(word) ?? []);
    const [rarest = this.#lines] = words.sort((a, b) => a.length - b.length);
    if (words.length > 0 && rarest.length > MOST_LINES) return [];
    return rarest.filter(
      (each) =>
        each.line !== '' &&
        each.file.isLiving &&
        !each.file.topic.pinned &&
        (each.words.has(name) || (each.file.text.includes(name) && containsLiteral(name, textOf(each)))),
    );
  }

  /** Where a line with this id stands in living topics. */
  withId(id: string): NearLine[] {
    return this.#lines.filter(({ line, file }) => line === id && file.isLiving);
  }
}

const worded = new WeakMap<StandingFile, NearLine[]>();

/** The lines of a file with their words. */
function wordedLines(file: StandingFile): NearLine[] {
  const known = worded.get(file);
  if (known) return known;
  const { name, description, lines } = file.topic;
  const made = [{ id: '', text: `${name.replaceAll('-', ' ')} ${description}` }, ...lines].map(({ id, text }) => ({
    ...{ file, line: id, words: contentWords(text) },
  }));
  worded.set(file, made);
  return made;
}
