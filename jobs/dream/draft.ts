// The draft: the topics that a dream looks at, and what they become. It lives in memory; the living files are touched
// by the dream's commit alone, which applies the same operations to whatever stands there then. Of a memory of ten
// thousand topics it holds those that someone asked for by path or name. Where a topic is renamed, links to it follow in
// lines that nocturne wrote; a person's line is not changed, so a topic that one links keeps its name.
// Also what a memory says that no dream writes: memories that are no topics, whoever made them (files in folders, of any
// name). A dream reads them, so that it says nothing twice, and never changes one: to it they are pinned, and each of their
// lines is a person's or a program's.

import { redact } from '../../src/base/text/redact.ts';
import type { RestingLine } from '../../src/memory/dream/provenance.ts';
import { linesLinking } from '../../src/memory/dream/topic-table.ts';
import {
  addSupport,
  dropSupport,
  type EntryRow,
  entriesByLine,
  indexLines,
  sourcesOf,
  supportsOf,
} from '../../src/memory/ledger/entries.ts';
import type { Ledger } from '../../src/memory/ledger/ledger.ts';
import { programLines } from '../../src/memory/ledger/program-lines.ts';
import { shaOf } from '../../src/memory/ledger/version-rows.ts';
import { isPinned } from '../../src/memory/store/staging.ts';
import type { CommitPlan, Store } from '../../src/memory/store/store.ts';
import { logDay } from '../../src/memory/text/daily-log.ts';
import { isOverflow, linksIn } from '../../src/memory/text/index-file.ts';
import {
  archivePath,
  editLines,
  isArchivePath,
  isTopicPath,
  lineId,
  parseTopic,
  saidId,
  seenOnceOn,
  withoutMark,
} from '../../src/memory/text/topic.ts';
import { type Draft, followLinks, refuseLinks, type TopicEdit } from '../../src/memory/text/topic-edits.ts';
import { contentWords, countSharedWords } from '../../src/rules/words.ts';

export interface DraftTopic extends Draft {
  /** SHA-256 of its file as it was read. */
  sha: string;
}

/**
 * Reads these topics, by path, into `topics`, with what the ledger says their lines rest on. Their text is redacted,
 * since a model is shown it; a line's id is that of the line as it stands in the file. An archived topic goes by its
 * plain name, unless a living one has it.
 */
export async function readTopics(
  store: Store,
  paths: Iterable<string>,
  topics: Map<string, DraftTopic> = new Map(),
): Promise<Map<string, DraftTopic>> {
  for (const path of paths) await readTopicAt(store, path, topics);
  return topics;
}

/** Reads one of them, unless it is there; undefined where there is none. */
export async function readTopicAt(store: Store, path: string, topics: Map<string, DraftTopic>) {
  const isLiving = !isArchivePath(path) || (await store.read(nameOf(path) + END)) !== null;
  const name = isLiving ? path.slice(0, -END.length) : nameOf(path);
  const text = topics.has(name) ? null : await store.read(path);
  if (text !== null) topics.set(name, await readTopic(store.ledger, { name, path, text }));
  return topics.get(name);
}

/**
 * Reads the topics of these names that are not there yet, living or archived, under the names that their files have; a
 * name that no file has stays unknown.
 */
export async function readNamed(store: Store, names: string[], topics: Map<string, DraftTopic>): Promise<void> {
  for (const given of new Set(names)) {
    if (topics.has(given)) continue;
    const found = (await store.lookUp(given + END)) ?? (await store.lookUp(archivePath(given + END)));
    if (found) await readUnseen(store, found.path, topics);
  }
}

/** Reads the living topics that are not there yet and hold one of these lines, as far as nocturne wrote it. */
export async function readHolding(store: Store, lines: string[], topics: Map<string, DraftTopic>): Promise<void> {
  for (const line of new Set(lines)) {
    const paths = store.ledger.lists('select distinct path from support where line = ?', line) as [string][];
    for (const [path] of paths) if (isTopicPath(path)) await readUnseen(store, path, topics);
  }
}

async function readUnseen(store: Store, path: string, topics: Map<string, DraftTopic>): Promise<void> {
  const read = await readTopics(store, [path]);
  for (const [name, topic] of read) if (!topics.has(name)) topics.set(name, { ...topic, isUnseen: true });
}

const END = '.md';

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1, -END.length);
}

/** A memory that is no topic, as a topic that nobody but its writer changes; null where there is none. */
async function readOther(store: Store, path: string): Promise<DraftTopic | null> {
  const text = await store.read(path);
  if (text === null) return null;
  const topic = await readTopic(store.ledger, { name: path.replace(/\.md$/i, ''), path, text });
  return { ...topic, isPinned: true };
}

async function readTopic(ledger: Ledger, file: { name: string; path: string; text: string }): Promise<DraftTopic> {
  const { name, text } = file;
  const topic = parseTopic(file.path, text);
  const supports = entriesByLine(ledger, file.path);
  const programs = programLines(ledger, file.path);
  const lines: DraftTopic['lines'] = new Map();
  for (const line of topic.lines) {
    const entries = supports.get(line.id) ?? [];
    const seenOnce = entries.length > 0 ? seenOnceOn(line.text) : undefined;
    lines.set(line.id, {
      text: (await redact(seenOnce ? withoutMark(line.text) : line.text)).text,
      ...(seenOnce && { seenOnce }),
      entries,
      sources: sourcesOf(ledger, entries),
      isPersons: entries.length === 0 && !programs.has(line.id),
      ...(programs.has(line.id) && { isPrograms: true }),
    });
  }
  const path = isArchivePath(file.path) && !name.includes('/') ? name + END : file.path;
  return {
    name,
    path,
    type: topic.type,
    description: (await redact(topic.description)).text,
    sha: shaOf(text),
    // What is no UTF-8 reads as U+FFFD, and the store would refuse to change it.
    isPinned: topic.pinned || text.includes('\uFFFD'),
    bytes: Buffer.byteLength(text),
    lines,
    ...(path !== file.path && { from: file.path }),
  };
}

/** The changes of other files; throws `refused` where a person's line links a topic that is renamed. */
export async function relinked(edits: TopicEdit[], store: Store): Promise<Required<CommitPlan>> {
  const renames = new Map(
    edits.flatMap(({ renamedFrom, path }) => (renamedFrom === undefined ? [] : [[renamedFrom, path] as const])),
  );
  if (renames.size === 0) return { files: [], rows: () => {} };
  const generated = indexLines(store.ledger);
  const own = ((await store.read('MEMORY.md')) ?? '').split(/\r?\n/).filter((line) => !generated.has(line));
  refuseLinks(own, 'MEMORY.md', renames);
  const moved: { path: string; line: string; text: string }[] = [];
  for (const path of new Set([...renames.keys()].flatMap((from) => linesLinking(store.ledger, from)))) {
    const text = await store.read(path);
    if (text === null || edits.some((edit) => edit.path === path || edit.renamedFrom === path)) continue;
    const supported = entriesByLine(store.ledger, path);
    const linking = parseTopic(path, text).lines.filter(({ text: said }) =>
      linksIn(said).some((to) => renames.has(to)),
    );
    const isTheirs = isPinned({ path, text });
    refuseLinks(
      linking.filter(({ id }) => isTheirs || !supported.has(id)).map((line) => line.text),
      path,
      renames,
    );
    moved.push(...linking.map(({ id, text: said }) => ({ path, line: id, text: followLinks(said, renames) })));
  }
  return {
    files: [...Map.groupBy(moved, ({ path }) => path)].map(([path, lines]) => ({
      path,
      change: (current) =>
        lines.reduce(
          (text: string | null, { line, text: said }) =>
            text && editLines(text, { remove: new Set([line]), add: [said] }),
          current,
        ),
    })),
    rows(transaction) {
      for (const { path, line, text } of moved) {
        for (const support of supportsOf(transaction.ledger, path).filter((each) => each.line === line)) {
          dropSupport(transaction, support);
          addSupport(transaction, { ...support, line: lineId(text) });
        }
      }
    },
  };
}

/** What is longer is no note, and not looked through. */
const MOST_BYTES = 1024 * 1024;
/** Of lines that share words with an entry, so many are shown. */
const LINES_PER_ENTRY = 3;
const LEAST_SHARED = 2;

/** The paths of memories that are no topics. */
export function otherPaths(ledger: Ledger): string[] {
  return headsOf(ledger).map(({ path }) => path);
}

function headsOf(ledger: Ledger): { path: string; head: string }[] {
  const sql = `select memory.path, memory.head from memory join version on version.id = memory.head
    where memory.path is not null and version.content is not null and memory.path not like '.%' order by memory.path`;
  const isOther = (path: string) =>
    !isTopicPath(path) && !isArchivePath(path) && logDay(path) === null && path.toLowerCase() !== 'memory.md';
  return ledger.all<{ path: string; head: string }>(sql).filter(({ path }) => isOther(path));
}

function linesOf(ledger: Ledger): RestingLine[] {
  return headsOf(ledger).flatMap(({ path, head }) => {
    const sql = 'select content from version where id = ? and size <= ?';
    const text = ledger.get<{ content: Buffer }>(sql, head, MOST_BYTES)?.content.toString();
    if (text === undefined || (path.startsWith('index/') && isOverflow(text))) return [];
    return parseTopic(path, text).lines.map((line) => ({ path, ...line }));
  });
}

/** What such memories say, by line and by sentence; each with the file that says it. */
export function saidElsewhere(ledger: Ledger): Map<string, RestingLine> {
  const said = new Map<string, RestingLine>();
  for (const line of linesOf(ledger)) {
    for (const text of [line.text, ...line.text.split(/(?<=[.!?])\s+/)]) said.set(saidId(text), line);
  }
  return said;
}

/** Such memories that are near to entries, with the lines that are. */
export async function nearOthers(entries: EntryRow[], store: Store): Promise<Map<DraftTopic, Set<string>>> {
  const near = new Map<string, Set<string>>();
  const lines = linesOf(store.ledger).map((line) => ({ ...line, words: contentWords(line.text) }));
  for (const { text } of lines.length > 0 ? entries : []) {
    const words = contentWords(text);
    const scored = lines
      .map((line) => ({ line, shared: countSharedWords(words, line.words) }))
      .filter(({ shared }) => shared >= LEAST_SHARED)
      .sort((a, b) => b.shared - a.shared || a.line.words.size - b.line.words.size);
    for (const { line } of scored.slice(0, LINES_PER_ENTRY)) {
      near.set(line.path, (near.get(line.path) ?? new Set()).add(line.id));
    }
  }
  const topics = new Map<DraftTopic, Set<string>>();
  for (const [path, ids] of near) {
    const topic = await readOther(store, path);
    if (topic) topics.set(topic, ids);
  }
  return topics;
}
