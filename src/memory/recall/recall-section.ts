// One memory's part of what a session is told: the index, what was corrected since the last night, the topics that are most useful,
// what else no night has sorted yet, and last what was seen only once; each within its share, as much as fits. What says that it
// changes a line stands before that. It says what is old or names something that is gone, and takes secrets out. It changes nothing.

import { missingPaths, missingWords, type TreeSearch } from '../../base/files/working-tree.ts';
import { redact } from '../../base/secrets/redact-text.ts';
import { mostThat } from '../../base/text/wording.ts';
import type { MemoryType } from '../memory-types.ts';
import { bodyStart } from '../text/frontmatter.ts';
import { editLines, lineId, locateLines, parseTopic, partSeenOnce } from '../text/topic.ts';
import type { RecallSource, UnsortedEntry } from './recall-source.ts';
import {
  ageCaveat,
  ageDays,
  cutIndex,
  cutWarning,
  type NamedThing,
  namedThings,
  type RankedTopic,
  rankTopics,
  sayAge,
} from './recall-topics.ts';
import {
  ALL_BY_PROGRAM,
  indexWordsOfPrograms,
  MARK,
  markPrograms,
  newerAmong,
  type ProgramWords,
  sayNewer,
  sayUnsorted,
  wordsOfPrograms,
} from './recall-words.ts';

/** What is to be shown of a memory. */
export interface SectionRequest {
  source: RecallSource;
  /** The agent reads MEMORY.md by itself, so it is left out here. */
  hasIndex: boolean;
  /** Where named things are looked for; without it nothing is marked as gone. */
  tree?: TreeSearch;
  /** What the session is about; topics that match come first. */
  query?: string;
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
}

/** How much of the part each of its sections may take while the others want some too. */
const SHARES = { index: 0.5, entries: 0.25, topic: 0.4, seenOnce: 0.1 };
/** Looked at for the names in them: more than ever fits. */
const MOST_TOPICS = 40;
const MOST_NAMES = 100;
/** After so many that found no room, there is none. */
const MOST_MISSES = 5;

/** What is shown, laid out. */
export interface LaidPart {
  index: (NonNullable<RecalledPart['index']> & { text: string }) | null;
  topics: { found: RecalledTopic; text: TopicText }[];
  entries: { found: RecalledPart['entries'][number]; text: string }[];
  seenOnce: string[];
}

const NOTHING: LaidPart = { index: null, topics: [], entries: [], seenOnce: [] };

export function foundIn({ index, topics, entries }: LaidPart): RecalledPart {
  return {
    index: index && { lines: index.lines, shownLines: index.shownLines },
    topics: topics.map(({ found }) => found),
    entries: entries.map(({ found }) => found),
  };
}

interface LaidTopic extends RankedTopic {
  description: string;
  type: MemoryType | undefined;
  /** The file without its frontmatter. */
  body: string;
  programs: ProgramWords | null;
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
  const index = await clean(beginningOf((await source.read(['MEMORY.md'])).get('MEMORY.md')?.text ?? ''));
  if (!request.hasIndex && index.trim() !== '') {
    const ids = await indexWordsOfPrograms(index, source);
    const laid = (lines: string) => (ids.size > 0 ? markPrograms(lines, ids) : lines);
    const cut = cutIndex(index, (lines) => {
      const text = laid(lines);
      const withRoom = { lines: 0, shownLines: 0, text: text + cutWarningRoom(index) };
      return isWithin(text, SHARES.index) && fits(bodyOf({ ...part, index: withRoom }));
    });
    const text = cut.isCut ? `${laid(cut.text)}\n${cutWarning(cut)}\n` : laid(cut.text);
    part.index = { lines: cut.lines, shownLines: cut.shownLines, text };
  }

  let misses = 0;
  // The newest entries win, and are told in the order in which they were said.
  for (const unsorted of await source.unsorted()) {
    if (misses === MOST_MISSES) break;
    const changes = unsorted.changes && (await clean(unsorted.changes));
    const { isPrograms, ...known } = unsorted;
    const found = { ...known, text: await clean(unsorted.text), ...(changes && { changes }) };
    const newer = newerAmong([found.text], foundIn(part).entries)(found.text);
    // What a newer one quotes as what it changes is told there.
    if (newer.some(({ changes: known = '' }) => known.includes(found.text))) continue;
    const text = sayNewer(newer) + sayUnsorted({ ...found, isPrograms });
    const entries = [{ found, text }, ...part.entries];
    if (isWithin(entries.map(({ text }) => text).join(''), SHARES.entries) && fits(bodyOf({ ...part, entries }))) {
      part.entries = entries;
    } else misses += 1;
  }

  const ranked = (await rankTopics(source, index, request.query)).slice(0, MOST_TOPICS);
  const programsOf = await source.programLines(ranked.map(({ path }) => path));
  const gone = await goneThings(ranked, request.tree);
  misses = 0;
  const marked: string[] = [];
  const newerThan = newerAmong(
    ranked.flatMap((raw) => locateLines(bodyOfTopic(raw.text)).map(({ text }) => text)),
    foundIn(part).entries,
  );
  for (const raw of ranked) {
    if (misses === MOST_MISSES) break;
    const text = await clean(raw.text);
    const { description, type } = parseTopic(raw.path, text);
    const programs = wordsOfPrograms(text, { ...raw, programs: programsOf.get(raw.path) });
    const isPrograms = programs?.isAll ?? false;
    const { text: body, marked: once, isAll } = partSeenOnce(bodyOfTopic(text));
    const markOf = (id: string) => (programs?.ids.has(id) ? `${MARK} ` : '');
    marked.push(...once.map(({ id, text }) => `- ${markOf(id)}${text} (${raw.path})\n`));
    if (isAll) continue;
    const ids = (!isPrograms && programs?.ids) || undefined;
    const topic = {
      ...raw,
      ...{ description, type, programs },
      body: markPrograms(body.trim(), ids, (line) => sayNewer(newerThan(line))),
    };
    const marks = namedThings(topic.body).flatMap(({ shown }) => (gone.has(shown) ? [shown] : []));
    const found = {
      path: topic.path,
      type: topic.type ?? null,
      changedAt: topic.changedAt.toISOString(),
      gone: marks,
      isCut: false,
      isPrograms,
      matches: topic.matches > 0,
    };
    const block = topicBlock(topic, { marks, now }, (text) => {
      const topics = [...part.topics, { found, text }];
      return isWithin(wholeOf(text), SHARES.topic) && fits(bodyOf({ ...part, topics }));
    });
    if (block) part.topics = [...part.topics, { found: { ...found, isCut: block.isCut }, text: block.text }];
    else misses += 1;
  }
  for (const line of marked) {
    const seenOnce = [...part.seenOnce, line];
    if (isWithin(seenOnce.join(''), SHARES.seenOnce) && fits(bodyOf({ ...part, seenOnce }))) part.seenOnce = seenOnce;
  }
  // An index of which not even a line fits leaves its warning, for which there may be no room either.
  return fits(bodyOf(part)) ? part : NOTHING;
}

/** The ids of the statements that a part shows. */
export function statementsIn({ topics, entries }: LaidPart): string[] {
  // What a program wrote is not said by the user, who may say it in a part behind.
  const own = topics.filter(({ found }) => !found.isPrograms);
  const lines = own.flatMap(({ text }) => locateLines(text.body).map(({ id }) => id));
  return [...lines, ...entries.map(({ found }) => lineId(found.text))];
}

/** A part without the statements that are said already, and without topics that say nothing else. */
export function withoutSaid(part: LaidPart, said: Set<string>): LaidPart {
  const topics = part.topics.flatMap(({ found, text }) => {
    const lines = locateLines(text.body);
    if (lines.length > 0 && lines.every(({ id }) => said.has(id)) && !found.isCut) return [];
    return [{ found, text: { ...text, body: editLines(text.body, { remove: said, add: [] }) } }];
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
export function bodyOf({ index, topics, entries, seenOnce }: LaidPart): string {
  const textsOf = (isChange: boolean) =>
    entries.flatMap(({ found, text }) => (Boolean(found.changes) === isChange ? text : [])).join('');
  const [changed, others] = [textsOf(true), textsOf(false)];
  const sections = [
    index?.text && `## MEMORY.md\n\n${index.text}`,
    changed && `## Changed since the topics were written\n\n${changed}`,
    topics.length > 0 && `## Topics\n\n${topics.map(({ text }) => wholeOf(text)).join('\n')}`,
    others && `## Not sorted into topics yet\n\n${others}`,
    seenOnce.length > 0 && `## Seen once, not certain yet\n\n${seenOnce.join('')}`,
  ];
  return sections.filter((section) => section).join('\n');
}

const SECTION =
  /^## (?=(?:MEMORY\.md|Changed since the topics were written|Topics|Not sorted into topics yet|Seen once, not certain yet)$)/m;

/** How many lines of what is remembered a text tells: those of an index only name them, and `Newer` says one twice. */
export function countLines(text: string): number {
  const [, ...sections] = text.split(SECTION);
  const told = sections.filter((section) => !section.startsWith('MEMORY.md'));
  return told.join('').match(/^[ \t]*[-*] (?!Newer, \d)/gm)?.length ?? 0;
}

function wholeOf({ head, body, foot }: TopicText): string {
  return `${head}${body}\n${foot}`;
}

/** As long as the warning can get. */
function cutWarningRoom(index: string): string {
  const bytes = Buffer.byteLength(index);
  return `\n${cutWarning({ text: '', shownLines: bytes, lines: bytes, bytes, isCut: true })}\n\n`;
}

/** A topic whole, else its first lines where some fit; null where none do. */
function topicBlock(
  topic: LaidTopic,
  { marks, now }: { marks: string[]; now: Date },
  fits: (block: TopicText) => boolean,
): { text: TopicText; isCut: boolean } | null {
  const days = ageDays(topic.changedAt, now);
  const caveat = ageCaveat(topic.type, days);
  const names = marks.map((shown) => `\`${shown}\``).join(', ');
  const { programs } = topic;
  const by = programs?.isAll && ALL_BY_PROGRAM;
  const about = [topic.type, `last changed ${sayAge(days)}`, by].filter((part) => part).join(', ');
  const mark = programs?.isDescription && !by ? `${MARK} ` : '';
  const says = topic.body.includes(topic.description) ? '' : `: ${mark}${topic.description}`;
  const head = `### ${topic.path} (${about})${says}\n`;
  const notes = [
    programs && `> ${programs.note}\n`,
    caveat && `> ${caveat}\n`,
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
    foot: `(cut here: read ${topic.path})\n${foot}`,
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
