// What a night is about. The entries that are gone although lines rest on them, and what earlier nights left, which the dreams' own rows
// tell. And the draft: the topics that a dream looks at, with what their lines rest on. The living files are touched by the dream's commit
// alone, which applies the same operations to whatever stands there then.
// Also what a memory says that no dream writes: memories that are no topics, whoever made them (files in folders, of any
// name). A dream reads them, so that it says nothing twice, and never changes one: to it they are pinned, and each of their
// lines is a person's or a program's.

import { redact } from '../../src/base/secrets/redact-text.ts';
import { DAY_MS } from '../../src/base/time.ts';
import { allOf, type Sql } from '../../src/db/sql.ts';
import { entriesAmong, type KeptEntry } from '../../src/memory/entries.ts';
import { isPinned } from '../../src/memory/file-rows.ts';
import { INDEX } from '../../src/memory/memory-index.ts';
import { foldPath } from '../../src/memory/memory-paths.ts';
import { logDay } from '../../src/memory/text/daily-log.ts';
import type { Draft, DraftLine } from '../../src/memory/text/operations.ts';
import type { Left } from '../../src/memory/text/proposed-operations.ts';
import {
  isArchivePath,
  isTopicFile,
  parseTopic,
  seenOnceOn,
  type Topic,
  withoutMark,
} from '../../src/memory/text/topic.ts';
import type { DreamContext, KnownEntry, LineSource } from '../../src/rules/dream-context.ts';

/** A file of the memory as it stands, by its head. */
export interface StandingFile {
  /** `mem_…` */
  id: string;
  path: string;
  /** `memver_…` */
  version: string;
  sha: string;
  changedAt: string;
  text: string;
  /** What it says; of a file that is no topic too. */
  topic: Topic;
  /** Not put away, and no file in a folder. */
  isLiving: boolean;
}

/** By path. Topics, those put away too, and the memories that are none. */
export type StandingFiles = Map<string, StandingFile>;

export type DraftTopic = Draft & { file: string; sha: string };

export type NightContext = DreamContext<DraftTopic>;

/** What is longer is no note, and not looked through. */
const MOST_BYTES = 1024 * 1024;

/** All files of a memory that say something, as they stand; `known`: those that were read before, of which only news are read. */
export async function standingFiles(
  sql: Sql,
  memory: string,
  known: StandingFiles = new Map(),
): Promise<StandingFiles> {
  const rows = await sql.all<Pick<StandingFile, 'id' | 'path' | 'version' | 'sha' | 'changedAt'>>(
    `select file.id, file.path, file.head as version, version.sha, version.at as "changedAt" from file
       join version on version.id = file.head
     where file.memory = ? and file.path is not null and file.path not like 'logs/%' and version.size <= ${MOST_BYTES}
     order by file.path`,
    memory,
  );
  const isOwn = (path: string) => path === INDEX || path.startsWith('.') || logDay(path) !== null;
  const wanted = rows.filter(({ path }) => !isOwn(path));
  const unread = wanted.filter(({ path, version }) => known.get(path)?.version !== version);
  const select = 'select id, content from version where id in (#)';
  const versions = unread.map(({ version }) => version);
  const contents = await allOf<{ id: string; content: Buffer }>(sql, select, versions);
  const texts = new Map(contents.map(({ id, content }) => [id, content.toString()]));
  const files: StandingFiles = new Map();
  for (const row of wanted) {
    const text = texts.get(row.version);
    if (text === undefined) files.set(row.path, known.get(row.path) as StandingFile);
    else files.set(row.path, { ...row, text, topic: parseTopic(row.path, text), isLiving: isLivingPath(row.path) });
  }
  return files;
}

function isLivingPath(path: string): boolean {
  return isTopicFile(path) && !isArchivePath(path);
}

/** Topics, those that were put away too. */
export function topicsAmong(files: StandingFiles): StandingFile[] {
  return [...files.values()].filter(({ path }) => isTopicFile(path));
}

/** How many lines the living topics have. */
export function countLines(files: StandingFiles): number {
  return [...files.values()].reduce((sum, { isLiving, topic }) => sum + (isLiving ? topic.lines.length : 0), 0);
}

/** The entries that operations speak of, with room for topics. What a person wrote is redacted here. */
export async function contextOf(fresh: NightEntry[], files: StandingFiles): Promise<NightContext> {
  const entries = new Map<string, KnownEntry>();
  for (const entry of fresh) {
    const { id, type, strength, at, by, again, found, person, evidence } = entry;
    const session = entry.name ?? '';
    const quotes = await Promise.all(evidence.map(async (item) => (await redact(item.quote)).text));
    const changes = entry.changes && (await redact(entry.changes)).text;
    entries.set(id, {
      ...{ id, type, strength, at, by, session, quotes, text: (await redact(entry.text)).text },
      speakers: evidence.map((item, place) => item.by ?? (place === 0 ? by : undefined)),
      ...(changes && { changes }),
      ...(again && { again }),
      ...(found && { found }),
      ...(person && { person }),
    });
  }
  return { entries, topics: new Map(), lines: countLines(files) };
}

const END = '.md';

/**
 * Reads a file into the context, unless it is there, with what its lines rest on; undefined where there is none. An archived
 * topic goes by its plain name, unless a living one has it.
 */
export async function openTopic(
  path: string,
  { sql, memory, files, context }: DraftPlace,
): Promise<DraftTopic | undefined> {
  const file = files.get(path);
  if (!file) return undefined;
  const plain = path.slice(path.lastIndexOf('/') + 1, -END.length);
  const isAway = isArchivePath(path) && !files.has(plain + END);
  const name = isAway ? plain : path.replace(/\.md$/i, '');
  const known = context.topics.get(name);
  if (known) return known;
  const rests = Map.groupBy(await sourcesOf(sql, memory, file.id), ({ line }) => line);
  const lines = new Map<string, DraftLine>();
  for (const { id, text } of file.topic.lines) {
    const of = rests.get(id) ?? [];
    const entries = of.flatMap(({ source, at }) => (at === null ? [] : source));
    const seenOnce = entries.length > 0 ? seenOnceOn(text) : undefined;
    lines.set(id, {
      text: (await redact(entries.length > 0 ? withoutMark(text) : text)).text,
      ...(seenOnce && { seenOnce }),
      entries,
      // What is gone holds nothing any more.
      sources: of.flatMap(({ source, line: _, at, state, ...said }) =>
        at === null || state === 'gone' ? [] : { id: source, at, ...said },
      ),
      isPersons: of.length === 0,
      ...(of.length > 0 && entries.length === 0 && { isPrograms: true }),
    });
  }
  const topic: DraftTopic = {
    ...{ name, path: isAway ? name + END : path, file: file.id, sha: file.sha, lines },
    type: file.topic.type,
    description: (await redact(file.topic.description)).text,
    // What is no UTF-8 reads as U+FFFD, and a commit would refuse to change it.
    isPinned: isPinned(path, file.text) || file.text.includes('\uFFFD') || !isTopicFile(path),
    bytes: Buffer.byteLength(file.text),
    ...(isAway && { from: path }),
  };
  context.topics.set(name, topic);
  return topic;
}

export type DraftPlace = { sql: Sql; memory: string; files: StandingFiles; context: NightContext };

/** `at`: null where it is no entry. */
type Source = Omit<LineSource, 'id' | 'at'> & { line: string; source: string; at: string | null; state: string };

function sourcesOf(sql: Sql, memory: string, file: string): Promise<Source[]> {
  return sql.all<Source>(
    `select r.line, r.source, e.at, e.text, e.strength, e.found, e.person, e.said_by as "by", e.state, coalesce(s.name, e.session, '') as session
     from rests r left join entry e on e.memory = r.memory and e.id = r.source left join session s on s.id = e.session
     where r.memory = ? and r.file = ? order by r.source`,
    ...[memory, file],
  );
}

/** Reads the topics of these names that are not there yet, living or archived, under the names that their files have. */
export async function openNamed(names: readonly string[], place: DraftPlace): Promise<void> {
  for (const name of new Set(names)) {
    if (place.context.topics.has(name)) continue;
    const wanted = [foldPath(name + END), foldPath(`archive/${name}${END}`)];
    const found = wanted.flatMap((folded) => [...place.files.keys()].find((path) => foldPath(path) === folded) ?? []);
    if (found[0] !== undefined) await openUnseen(found[0], place);
  }
}

/** Reads the living topics that are not there yet and hold one of these lines, as far as nocturne wrote it. */
export async function openHolding(lines: readonly string[], place: DraftPlace): Promise<void> {
  const wanted = new Set(lines);
  for (const { path, isLiving, topic } of wanted.size > 0 ? place.files.values() : [])
    if (isLiving && topic.lines.some(({ id }) => wanted.has(id))) await openUnseen(path, place);
}

async function openUnseen(path: string, place: DraftPlace): Promise<void> {
  const before = new Set(place.context.topics.keys());
  const topic = await openTopic(path, place);
  if (topic && !before.has(topic.name)) topic.isUnseen = true;
}

export interface NightEntry extends KeptEntry {
  /** Of one that is gone, the lines that rest on it and stand. */
  holds?: { file: string; line: string }[];
}

/** Those that are gone on which lines rest that stand, with these. */
export async function goneHolding(sql: Sql, memory: string, files: StandingFiles): Promise<NightEntry[]> {
  const lines = new Map([...files.values()].map(({ id, topic }) => [id, new Set(topic.lines.map((line) => line.id))]));
  const rests = await sql.all<{ source: string; file: string; line: string }>(
    `select r.source, r.file, r.line from rests r join entry e on e.memory = r.memory and e.id = r.source
     where r.memory = ? and e.state = 'gone'`,
    memory,
  );
  const holds = Map.groupBy(
    rests.filter(({ file, line }) => lines.get(file)?.has(line)),
    ({ source }) => source,
  );
  const entries = await entriesAmong(sql, memory, { column: 'id', of: [...holds.keys()] });
  return entries.map((entry) => ({ ...entry, holds: holds.get(entry.id) ?? [] }));
}

/** What earlier nights could not place. */
interface Unplaced extends Left {
  /** In how many nights it was tried. */
  nights: number;
  /** When for the first time. */
  since: string;
}

/** From so many nights on a person is told, and it is tried once a week. */
export const TELL_AFTER_NIGHTS = 3;
const AGAIN_AFTER_MS = 7 * DAY_MS;

/** Of these entries those that nights left, by what the dreams' rows say. */
export async function unplacedOf(sql: Sql, memory: string, entries: readonly NightEntry[]): Promise<Unplaced[]> {
  const since = entries.map(({ learnedAt }) => learnedAt).sort()[0];
  if (since === undefined) return [];
  const waiting = new Set(entries.map(({ id }) => id));
  const rows = await sql.all<{ at: string; output: string }>(
    `select created_at as at, output from job where memory = ? and kind = 'dream' and created_at >= ? and output is not null
     order by created_at, id`,
    ...[memory, since],
  );
  const found = new Map<string, Unplaced>();
  for (const { at, output } of rows) {
    const { left = [] } = JSON.parse(output) as { left?: Left[] };
    for (const each of left) {
      const { nights, since } = found.get(each.entry) ?? { nights: 0, since: at };
      if (waiting.has(each.entry)) found.set(each.entry, { ...each, since, nights: nights + 1 });
    }
  }
  return [...found.values()];
}

/** Whether it is not asked about tonight: it was tried in vain for nights, and a person was told. */
export function isResting({ nights, since }: Unplaced, now: Date): boolean {
  return nights >= TELL_AFTER_NIGHTS && now.getTime() - Date.parse(since) < nights * AGAIN_AFTER_MS;
}
