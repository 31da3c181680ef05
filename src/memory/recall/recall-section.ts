// One memory's part of what a session is told: the index, what was corrected since the last night, the topics that are most useful,
// what else no night has sorted yet, and last what was seen only once; each within its share, as much as fits. What says that it
// changes a line stands before that. It says what is old or names something that is gone, and takes secrets out. It changes nothing.

import { missingPaths, missingWords, type TreeSearch } from '../../base/files/working-tree.ts';
import { redact } from '../../base/secrets/redact-text.ts';
import { mostThat } from '../../base/text/wording.ts';
import type { MemoryType } from '../memory-types.ts';
import { readLines } from '../text/blocks.ts';
import { bodyStart } from '../text/frontmatter.ts';
import { INDEX_CAPS } from '../text/index-file.ts';
import { editLines, foundOn, lineId, locateLines, parseTopic, partSeenOnce, seenOnceOn } from '../text/topic.ts';
import { currentOf, lessonsIn } from './recall-current.ts';
import type { RecallSource, UnsortedEntry } from './recall-source.ts';
import { type About, type NamedThing, namedThings, type RankedTopic, rankTopics } from './recall-topics.ts';
import {
  ALL_BY_PROGRAM,
  idWithoutDay,
  MARK,
  newerAmong,
  type ShownWords,
  sayNewer,
  sayType,
  sayUnsorted,
  shownWords,
  withMarks,
  wordLines,
} from './recall-words.ts';

/** What is to be shown of a memory. */
export interface SectionRequest {
  source: RecallSource;
  /** The agent reads MEMORY.md by itself, so it is left out here. */
  hasIndex: boolean;
  /** Where named things are looked for; without it nothing is marked as gone. */
  tree?: TreeSearch;
  about: About;
  now: Date;
  /** Whether a text is within this share of what the part may take. */
  isWithin(text: string, share: number): boolean;
  /** Whether the section has room for the part with this body. */
  fits(body: string): boolean;
}

export interface RecalledPart {
  index: { lines: number; shownLines: number } | null;
  topics: RecalledTopic[];
  /** Oldest first. */
  entries: Omit<UnsortedEntry, 'isPrograms'>[];
  /** How many lines that agents found out are told. */
  lessons: number;
  /** What found no room: topics by path, how many more, and how many entries. */
  left: { topics: string[]; more: number; entries: number };
}

export interface RecalledTopic {
  path: string;
  type: MemoryType | null;
  changedAt: string;
  /** What it names and is not in the working tree. */
  gone: string[];
  isCut: boolean;
  /** A program wrote all of it. */
  isPrograms: boolean;
  /** It holds words of the query. */
  matches: boolean;
  /** Why it is told before others, for a person. */
  why: string;
}

/** How much of the part each of its sections may take while the others want some too. */
const SHARES = { index: 0.5, entries: 0.25, topic: 0.4, sort: 0.5, found: 0.2, leftOut: 0.05 };
const MOST_NAMES = 100;
/** After so many that found no room, there is none. */
const MOST_MISSES = 5;

/** What is shown, laid out. */
export interface LaidPart {
  index: (NonNullable<RecalledPart['index']> & { text: string }) | null;
  topics: { found: RecalledTopic; text: TopicText }[];
  entries: { found: RecalledPart['entries'][number]; text: string }[];
  /** What agents found out, a line each. */
  lessons: string[];
  /** Topics that found no room. */
  leftOut: string;
  left: RecalledPart['left'];
}

const NO_MORE = { topics: [], more: 0, entries: 0 };
const NOTHING: LaidPart = { index: null, topics: [], entries: [], lessons: [], leftOut: '', left: NO_MORE };
export const NOTHING_TOLD: RecalledPart = { index: null, topics: [], entries: [], lessons: 0, left: NO_MORE };

export function foundIn({ index, topics, entries, lessons, left }: LaidPart): RecalledPart {
  return {
    index: index && { lines: index.lines, shownLines: index.shownLines },
    topics: topics.map(({ found }) => found),
    entries: entries.map(({ found }) => found),
    lessons: lessons.length,
    left,
  };
}

interface LaidTopic extends RankedTopic {
  description: string;
  /** The file without its frontmatter, its lines with what is known of them. */
  body: string;
  words: ShownWords;
  /** When the newest of its lines was said, where that is known of all of them. */
  saidOn: string | undefined;
}

interface TopicText {
  head: string;
  /** What the topic says, or its first lines. */
  body: string;
  /** What is to be known of it. */
  foot: string;
}

/** Nothing where nothing is remembered, or nothing fits. */
export async function recallPart(request: SectionRequest): Promise<LaidPart> {
  const part = { ...NOTHING };
  const { source, now, fits, isWithin } = request;
  const written = beginningOf((await source.read(['MEMORY.md'])).get('MEMORY.md')?.text ?? '');
  const index = request.hasIndex ? '' : await clean(written);
  if (index.trim() !== '') {
    const laid = await withMarks(index, source);
    const lines = readLines(index).map(({ raw }) => raw);
    const firstOf = (shownLines: number) => {
      const cut = shownLines < lines.length ? `${cutHere('MEMORY.md')}\n` : '';
      const text = `${laid(lines.slice(0, shownLines).join('')).replace(/(?<!\n)$/, '\n')}${cut}`;
      return { lines: lines.length, shownLines, text };
    };
    const isHeld = (count: number) =>
      isWithin(firstOf(count).text, SHARES.index) && fits(bodyOf({ ...part, index: firstOf(count) }));
    part.index = firstOf(mostThat(isHeld, Math.min(lines.length, INDEX_CAPS.lines) + 1));
  }

  const whose = await source.whose();
  const { ranked: all, others, about } = await rankTopics(source, written, request.about);
  const paths = all.map(({ path }) => path);
  const knownOf = await source.lines(paths);
  const of = { files: all, known: knownOf, unsorted: await source.unsorted() };
  const { files: ranked, unsorted } = currentOf(of, { branch: request.about.branch, now });
  const waiting = unsorted.filter(({ found }) => !found);
  let misses = 0;
  // The newest entries win, and are told in the order in which they were said.
  let quoted = 0;
  for (const entry of waiting) {
    if (misses === MOST_MISSES) break;
    const changes = entry.changes && (await clean(entry.changes));
    const { isPrograms, ...known } = entry;
    const found = { ...known, text: await clean(entry.text), ...(changes && { changes }) };
    const newer = newerAmong([found.text], foundIn(part).entries)(found.text);
    // What a newer one quotes as what it changes is told there.
    if (newer.some(({ changes: known = '' }) => known.includes(found.text))) {
      quoted += 1;
      continue;
    }
    const text = sayNewer(newer) + sayUnsorted({ ...found, isPrograms });
    const entries = [{ found, text }, ...part.entries];
    if (isWithin(entries.map(({ text }) => text).join(''), SHARES.entries) && fits(bodyOf({ ...part, entries }))) {
      part.entries = entries;
    } else misses += 1;
  }

  const gone = await goneThings(ranked, request.tree);
  const newerThan = newerAmong(
    ranked.flatMap((raw) => locateLines(bodyOfTopic(raw.text)).map(({ text }) => text)),
    foundIn(part).entries,
  );
  misses = 0;
  const lessons = await lessonsIn({ ranked, unsorted, about });
  const toldOf = (most: number, leftOut: string) => {
    for (const { line } of lessons) {
      const more = [...part.lessons, line];
      if (part.lessons.includes(line) || !isWithin(more.join(''), most)) continue;
      if (fits(bodyOf({ ...part, lessons: more, leftOut }))) part.lessons = more;
    }
  };
  toldOf(SHARES.found, '');
  const leftOutOf = (left: string[], hasRoom: (text: string) => boolean) => {
    const say = (count: number) => sayLeftOut(left.slice(0, count), others + left.length - count);
    return say(mostThat((count) => isWithin(say(count), SHARES.leftOut) && hasRoom(say(count)), left.length + 1));
  };
  const room = leftOutOf(paths, () => true);
  const place = async (raw: RankedTopic, isFull: (text: string) => boolean) => {
    const text = await clean(raw.text);
    const { description } = parseTopic(raw.path, text);
    const words = shownWords(text, { ...raw, known: knownOf.get(raw.path) });
    const { isPrograms } = words;
    const { text: certain, marked } = partSeenOnce(bodyOfTopic(text));
    const others = marked.filter(({ text }) => foundOn(text) === undefined);
    // All of it is told among what agents found.
    if (certain.trim() === '' && marked.length > 0 && others.length === 0) return true;
    const unsure = others.sort((a, b) => ((seenOnceOn(a.text) ?? '') < (seenOnceOn(b.text) ?? '') ? 1 : -1));
    const lines = [certain.trim(), ...unsure.map((line) => `- ${line.text}`)].filter((line) => line !== '').join('\n');
    const days = locateLines(lines).map(({ id, text }) => seenOnceOn(text) ?? words.lines.get(id)?.day ?? '');
    const known = new Map(isPrograms ? [] : words.lines);
    for (const { id } of unsure) known.set(id, { isPrograms: known.get(id)?.isPrograms ?? false, day: null });
    const body = wordLines(lines, known, (line) => sayNewer(newerThan(line)));
    const saidOn = days.every((day) => day !== '') ? days.sort().at(-1) : undefined;
    const topic = { ...raw, description, words, saidOn, body };
    const marks = namedThings(body).flatMap(({ shown }) => (gone.has(shown) ? [shown] : []));
    const found = {
      path: topic.path,
      type: topic.type ?? null,
      changedAt: topic.changedAt.toISOString(),
      gone: marks,
      isCut: false,
      isPrograms,
      matches: topic.matches > 0,
      why: topic.why,
    };
    const leftOut = part.topics.length + 1 < ranked.length ? room : '';
    const block = topicBlock(topic, { marks, whose }, (text) => {
      const topics = [...part.topics, { found, text }];
      return isWithin(wholeOf(text), SHARES.topic) && fits(bodyOf({ ...part, topics, leftOut }));
    });
    if (block && isFull(wholeOf(block.text))) return false;
    if (block) part.topics = [...part.topics, { found: { ...found, isCut: block.isCut }, text: block.text }];
    else misses += 1;
    return true;
  };
  const later: RankedTopic[] = [];
  const bySort = new Map<number, string>();
  for (const raw of ranked) {
    if (misses === MOST_MISSES) break;
    const isPlaced = await place(raw, (text) => {
      const before = bySort.get(raw.sort) ?? '';
      if (raw.matches > 0 || before === '' || isWithin(before + text, SHARES.sort)) {
        bySort.set(raw.sort, before + text);
        return false;
      }
      return true;
    });
    if (!isPlaced) later.push(raw);
  }
  for (const raw of later) if (misses < MOST_MISSES) await place(raw, () => false);
  const order = new Map(ranked.map(({ path }, at) => [path, at]));
  part.topics.sort((a, b) => (order.get(a.found.path) ?? 0) - (order.get(b.found.path) ?? 0));
  // What room is left tells more of what was found.
  toldOf(1, room);
  const isLeft = (path: string) => {
    const found = lessons.filter((each) => each.path === path);
    if (found.some(({ line }) => !part.lessons.includes(line))) return true;
    return found.length === 0 && !part.topics.some((topic) => topic.found.path === path);
  };
  const left = paths.filter(isLeft);
  part.leftOut = leftOutOf(left, (leftOut) => fits(bodyOf({ ...part, leftOut })));
  part.left = { topics: left, more: others, entries: waiting.length - part.entries.length - quoted };
  // An index of which not even a line fits leaves where it was cut, for which there may be no room either.
  return fits(bodyOf(part)) ? part : NOTHING;
}

function sayLeftOut(paths: string[], more: number): string {
  if (paths.length === 0) return '';
  return `${paths.join(', ')}${more > 0 ? `, and ${more} more` : ''}\n`;
}

/** The ids of the statements that a part shows. */
export function statementsIn({ topics, entries }: LaidPart): string[] {
  // What a program wrote is not said by the user, who may say it in a part behind.
  const own = topics.filter(({ found }) => !found.isPrograms);
  const lines = own.flatMap(({ text }) => locateLines(text.body).map(({ text }) => idWithoutDay(text)));
  return [...lines, ...entries.map(({ found }) => lineId(found.text))];
}

/** A part without the statements that are said already, and without topics that say nothing else. */
export function withoutSaid(part: LaidPart, said: Set<string>): LaidPart {
  const topics = part.topics.flatMap(({ found, text }) => {
    const lines = locateLines(text.body);
    const remove = new Set(lines.flatMap((line) => (said.has(idWithoutDay(line.text)) ? line.id : [])));
    if (lines.length > 0 && lines.every(({ id }) => remove.has(id)) && !found.isCut) return [];
    return [{ found, text: { ...text, body: editLines(text.body, { remove, add: [] }) } }];
  });
  return { ...part, topics, entries: part.entries.filter(({ found }) => !said.has(lineId(found.text))) };
}

function bodyOfTopic(text: string): string {
  return text.slice(bodyStart(text)).trim();
}

/** What a person wrote down may hold a secret; a model is not shown it. */
async function clean(text: string): Promise<string> {
  return (await redact(text)).text;
}

/** Empty where a part shows nothing. */
export function bodyOf({ index, topics, entries, lessons, leftOut }: LaidPart): string {
  const textsOf = (isChange: boolean) =>
    entries.flatMap(({ found, text }) => (Boolean(found.changes) === isChange ? text : [])).join('');
  const [changed, others] = [textsOf(true), textsOf(false)];
  const sections = [
    index?.text && `## MEMORY.md\n\n${index.text}`,
    changed && `## Changed since the topics were written\n\n${changed}`,
    topics.length > 0 && `## Topics\n\n${topics.map(({ text }) => wholeOf(text)).join('\n')}`,
    others && `## Not sorted into topics yet\n\n${others}`,
    lessons.length > 0 && `## Found out by agents, said by nobody\n\n${lessons.join('')}`,
    leftOut && `## Not told here: read what is needed\n\n${leftOut}`,
  ];
  return sections.filter((section) => section).join('\n');
}

function wholeOf({ head, body, foot }: TopicText): string {
  return `${head}${body}\n${foot}`;
}

const cutHere = (path: string) => `(cut here: read ${path})`;

/** A topic whole, else its first lines where some fit; null where none do. */
function topicBlock(
  topic: LaidTopic,
  { marks, whose }: { marks: string[]; whose: string | null },
  fits: (block: TopicText) => boolean,
): { text: TopicText; isCut: boolean } | null {
  const { words, saidOn } = topic;
  const changed = saidOn ?? topic.changedAt.toISOString().slice(0, 10);
  const names = marks.map((shown) => `\`${shown}\``).join(', ');
  const by = words.isPrograms && ALL_BY_PROGRAM;
  const about = [topic.type && sayType(topic.type, whose), !saidOn && `last changed ${changed}`, by]
    .filter((part) => part)
    .join(', ');
  const mark = words.isDescriptionPrograms && !by ? `${MARK} ` : '';
  const says = topic.body.includes(topic.description) ? '' : `: ${mark}${topic.description}`;
  const head = `### ${topic.path}${about && ` (${about})`}${says}\n`;
  const notes = [
    words.note && `> ${words.note}\n`,
    marks.length > 0 && `> Not found in the working tree now: ${names}.\n`,
  ];
  const said = notes.filter((note) => note).join('');
  const foot = said && `\n${said}`;
  const whole = { head, body: topic.body, foot };
  if (fits(whole)) return { text: whole, isCut: false };
  const lines = topic.body.split('\n');
  const cut = (count: number) => ({
    head,
    body: lines.slice(0, count).join('\n'),
    foot: `${cutHere(topic.path)}\n${foot}`,
  });
  const most = mostThat((count) => fits(cut(count)), lines.length);
  return most > 0 ? { text: cut(most), isCut: true } : null;
}

async function goneThings(topics: RankedTopic[], tree: TreeSearch | undefined): Promise<Set<string>> {
  if (!tree) return new Set();
  const things = topics.flatMap(({ text }) => namedThings(text.slice(bodyStart(text)))).slice(0, MOST_NAMES);
  const searched = (kind: NamedThing['kind']) => [
    ...new Set(things.filter((thing) => thing.kind === kind).flatMap((thing) => thing.search)),
  ];
  const [paths, words] = await Promise.all([
    missingPaths(searched('path'), tree),
    missingWords(searched('word'), tree),
  ]);
  const missing = { path: new Set(paths), word: new Set(words) };
  return new Set(
    things.filter(({ kind, search }) => search.every((name) => missing[kind].has(name))).map(({ shown }) => shown),
  );
}

/** Of an index so much is looked into for secrets and topics: forty times what is shown. */
const MOST_INDEX_CHARACTERS = 1_000_000;

function beginningOf(text: string): string {
  return text.length <= MOST_INDEX_CHARACTERS ? text : text.slice(0, text.lastIndexOf('\n', MOST_INDEX_CHARACTERS) + 1);
}
