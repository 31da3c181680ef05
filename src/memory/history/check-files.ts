// What `check` finds in the files by themselves: that each topic can be read and is what its name says, that nothing
// stands twice, that links lead somewhere, that nothing was left by a crash and nobody else can read along; and MEMORY.md
// with its overflow files against the topics.
// A finding says what is wrong, where, and what would mend it. A mend follows from what is there, without a guess; what
// only a person can decide has none. Mends are ordinary commits of the store and never delete a file.

import { dirname, join, sep } from 'node:path';
import { canLink, isDirectory, listFiles, listNames, readDirectory, realPath } from '../../base/files/directories.ts';
import { isPrivate, makePrivate } from '../../base/files/files.ts';
import { isObject } from '../../base/text/json.ts';
import { sidesOf } from '../conflicts/conflict.ts';
import { lookAgain } from '../conflicts/resolve-merges.ts';
import { indexLines, writeIndexLines } from '../ledger/entries.ts';
import type { Transaction } from '../ledger/ledger.ts';
import { formatTooLarge } from '../store/apply.ts';
import { whyNoMemory } from '../store/confine.ts';
import { DISPLACED_DIR } from '../store/displaced-files.ts';
import { oversized } from '../store/live-files.ts';
import type { Actor, Store } from '../store/store.ts';
import { logDay } from '../text/daily-log.ts';
import { parseJsonReport } from '../text/dream-report.ts';
import { readFrontmatter, setKeys } from '../text/frontmatter.ts';
import { type BuiltIndex, buildIndex, INDEX_CAPS, isIndexPath } from '../text/index-file.ts';
import { isTopicPath, type Topic } from '../text/topic.ts';
import { MEMORY_TYPES } from '../types.ts';
import { REPORTS } from './log-items.ts';

type Texts = ReadFiles['texts'];

export async function findFileFaults(store: Store, { texts, topics: all }: ReadFiles): Promise<Finding[]> {
  const topics = [...all.values()].filter(({ path }) => isTopicPath(path));
  const files = await listFiles(store.dir);
  return [
    ...conflicts(store, texts),
    ...topics.flatMap((topic) => topicFaults(store, topic, texts)),
    ...tooLargeToRead(store, files),
    ...leftAlone(store.dir),
    ...repeatedNames(topics.map(({ path }) => path)),
    ...repeatedLines(store, topics),
    ...repeatedEntries(texts),
    ...(await unreadableReports(store)),
    ...leftovers(store, files),
    // What is committed with a repository is as open as that is.
    ...(store.isCheckedIn ? [] : openToOthers(store, files)),
    ...hardLinks(store),
  ];
}

/** Most are gone with the opening of the store; others wait for git, or came before nocturne did. */
function conflicts(store: Store, texts: Texts): Finding[] {
  const paths = [...texts].filter(([, text]) => sidesOf(text, { before: null })).map(([path]) => path);
  const mend = {
    says: 'Keeps the lines of both sides; what each had stays as a version.',
    apply: async () => {
      lookAgain(store.ledger, paths);
      await store.missing();
    },
  };
  const what = 'Holds conflict markers that a merge left.';
  return paths.map((where) => finding('conflict', where, what, mend));
}

function topicFaults(store: Store, topic: Topic, texts: Texts): Finding[] {
  const text = texts.get(topic.path) ?? '';
  return [
    ...frontmatterFaults(store, topic, text),
    ...tooLarge(store, topic.path, text),
    ...deadLinks(topic.path, { text, texts }),
  ];
}

function tooLargeToRead(store: Store, files: string[]): Finding[] {
  return oversized(store.dir, files).map(({ path, bytes }) => {
    const what = `It ${formatTooLarge(bytes)}. Split it, or move it out of the memory directory.`;
    return finding('size', path, what);
  });
}

/** Only a person can have made it so: the store refuses to. */
function tooLarge({ limits }: Store, where: string, text: string): Finding[] {
  const bytes = Buffer.byteLength(text);
  if (bytes <= limits.memoryBytes) return [];
  const what = `Has ${bytes} bytes; a memory may have ${limits.memoryBytes}, so that no job can add to it. Split it.`;
  return [finding('size', where, what)];
}

function frontmatterFaults(store: Store, { path, name, type, pinned }: Topic, text: string): Finding[] {
  const { data, problem } = readFrontmatter(text);
  if (problem) return [finding('frontmatter', path, problem)];
  if (Object.keys(data).length === 0) return [];
  const faults: Finding[] = [];
  const said = data.name ?? (isObject(data.metadata) ? data.metadata.name : undefined);
  if (said !== undefined && said !== name) {
    const change = (current: string | null) => current && setKeys(current, { name });
    const apply = async () => void (await store.commit({ actor: CHECK }, () => ({ files: [{ path, change }] })));
    const mend = pinned ? null : { says: `Sets the name to ${name}, the file's.`, apply };
    const what = `Its frontmatter calls it ${JSON.stringify(said)}, its file ${name}.`;
    faults.push(finding('name', path, what, mend));
  }
  if (type === undefined) {
    const what = `Its frontmatter names no type; one of ${MEMORY_TYPES.join(', ')} is expected.`;
    faults.push(finding('type', path, what));
  }
  return faults;
}

/** Links to Markdown files of this directory, and `[[topic]]`. */
function deadLinks(where: string, { text, texts }: { text: string; texts: Texts }): Finding[] {
  const links = [...text.matchAll(/\]\((?:\.\/)?([^()\s#]+\.md)(?:#[^()\s]*)?\)|\[\[([\w-]+)\]\]/gi)];
  const paths = links.map(([, path, name]) => path ?? `${name}.md`);
  return [...new Set(paths)]
    .filter((path) => !/^\/|:\/\/|^\.\./.test(path) && !texts.has(path))
    .map((path) => finding('link', where, `Links ${path}, which is not there.`));
}

/** What looks like memory to whoever put it there, and is none: no version of it is kept, and no dream reads it. */
function leftAlone(root: string, below = ''): Finding[] {
  return (readDirectory(join(root, below)) ?? []).flatMap(({ name, kind }): Finding[] => {
    const where = below === '' ? name : `${below}/${name}`;
    if (name.startsWith('.')) return [];
    if (kind === 'directory') return leftAlone(root, where);
    const isMarkdown = name.endsWith('.md') || isDirectory(join(root, where));
    const why = kind === 'link' ? whyNotFollowed(root, where) : whyNoMemory(where);
    if (!isMarkdown || why === null) return [];
    return [finding('left-alone', where, `Is left alone: ${why}.`)];
  });
}

function whyNotFollowed(root: string, where: string): string | null {
  const real = realPath(join(root, where));
  if (real === null) return 'it is a link that leads nowhere';
  return real.startsWith(root + sep) ? null : `it is a link that leads out of the memory directory, to ${real}`;
}

/** Names that are one on a file system that does not tell cases apart. */
function repeatedNames(paths: string[]): Finding[] {
  const groups = Map.groupBy(paths, (path) => path.normalize('NFC').toLowerCase());
  return [...groups.values()]
    .filter((group) => group.length > 1)
    .map(([where = '', ...others]) =>
      finding('duplicate', where, `Differs from ${others.join(', ')} in letter case alone.`),
    );
}

/** Lines that stand twice and of which nocturne wrote at least one; what people repeat is their business. */
function repeatedLines(store: Store, topics: Topic[]): Finding[] {
  const own = new Set(store.ledger.all('select distinct line from support').map((row) => row.line as string));
  const all = topics.flatMap(({ path, lines }) => lines.map((line) => ({ path, ...line })));
  return [...Map.groupBy(all, (line) => line.id)].flatMap(([id, lines]): Finding[] => {
    const [first, ...others] = lines;
    if (!first || others.length === 0 || !own.has(id)) return [];
    const places = [...new Set(others.map((line) => line.path))].join(', ');
    return [finding('duplicate', first.path, `Says again in ${places}: ${first.text}`)];
  });
}

function repeatedEntries(texts: Texts): Finding[] {
  const logs = [...texts].filter(([path]) => logDay(path));
  const all = logs.flatMap(([path, text]) =>
    [...text.matchAll(/^[ \t]*<!-- (e_[0-9a-f]{12}) /gm)].map((match) => ({ path, id: match[1] as string })),
  );
  return [...Map.groupBy(all, (entry) => entry.id)].flatMap(([id, places]): Finding[] => {
    const [, second] = places;
    const what = `Holds entry ${id}, which stands in ${places[0]?.path} already; the first counts.`;
    return second ? [finding('duplicate', second.path, what)] : [];
  });
}

async function unreadableReports(store: Store): Promise<Finding[]> {
  const faults: Finding[] = [];
  for (const name of listNames(join(store.dir, REPORTS)).filter((each) => each.endsWith('.json'))) {
    const where = `${REPORTS}/${name}`;
    if (parseJsonReport((await store.read(where)) ?? '')) continue;
    faults.push(finding('report', where, 'Cannot be read as a dream report.'));
  }
  return faults;
}

function leftovers(store: Store, files: string[]): Finding[] {
  // While the write lock is held nobody swaps a file, so what is under way then is what a crash left.
  const displaced = store.ledger.transaction(() => listNames(join(store.dir, DISPLACED_DIR)));
  const broken = displaced.filter((name) => /\.tmp$|\.taking\./.test(name)).map((name) => `${DISPLACED_DIR}/${name}`);
  const temporary = files.filter((path) => /\.[0-9a-f-]{36}\.tmp$/.test(path) && !path.startsWith(`${DISPLACED_DIR}/`));
  const what = 'Was left by a crash; look whether it holds something that is missing elsewhere, then remove it.';
  return [...broken, ...temporary].map((where) => finding('leftover', where, what));
}

/** One finding for all: whoever copied the directory copied it whole. */
function openToOthers(store: Store, files: string[]): Finding[] {
  const own = files.filter((path) => path.endsWith('.md') || path.startsWith('.nocturne/'));
  const paths = [...new Set([...own.flatMap(parentsOf), ...own])].filter(
    (path) => !path.startsWith(`${DISPLACED_DIR}/`),
  );
  // Nobody comes to what is in a directory that is closed to them.
  const isClosed = (path: string) =>
    path !== '.' && parentsOf(path).some((parent) => isPrivate(join(store.dir, parent)));
  const open = paths.filter((path) => !isPrivate(join(store.dir, path)) && !isClosed(path));
  if (open.length === 0) return [];
  const mend = {
    says: 'Makes directories 0700 and files 0600.',
    apply: async () => {
      for (const path of open) makePrivate(join(store.dir, path));
    },
  };
  const what = `Other users may read ${listed(open)}.`;
  return [finding('mode', '.', what, mend)];
}

/** The directories that a path is in, the memory directory (`.`) first. */
function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === '.' ? ['.'] : [...parentsOf(parent), parent];
}

function hardLinks(store: Store): Finding[] {
  if (canLink(join(store.dir, DISPLACED_DIR))) return [];
  const what = 'This file system has no hard links: an edit made while nocturne writes the same file can be lost.';
  return [finding('hard-links', '.', what)];
}

const INDEX = 'MEMORY.md';

export function findIndexFaults(store: Store, { texts, topics: all }: ReadFiles): Finding[] {
  const current = texts.get(INDEX) ?? null;
  const linked = linkedPaths([...texts].flatMap(([path, text]) => (isIndexPath(path) ? text : [])).join('\n'));
  // What a program put there for itself is no topic, until a dream lists it.
  const plain = madeByTools(store);
  // The order of the last dream stands, whatever was used or pinned since.
  const order = new Map([...linked].map((path, at) => [path, at]));
  const topics = [...all.values()].filter(
    ({ path, type }) => isTopicPath(path) && (linked.has(path) || type !== undefined || !plain.has(path)),
  );
  if (topics.length === 0 && current === null) return [];
  const generatedBefore = indexLines(store.ledger);
  const build = (text: string | null) =>
    buildIndex({ current: text, generatedBefore, topics, isCheckedIn: store.isCheckedIn, order });
  const built = build(current);
  const mend: Mend = { says: 'Builds the index again; hand-written lines stay.', apply: () => rebuild(store, build) };
  const lines = (current ?? '').split(/\r?\n/);
  const unlisted = topics.map(({ path }) => path).filter((path) => !linked.has(path));
  const faults = [
    ...caps(built, { current: current ?? '', mend }),
    ...(unlisted.length === 0 ? [] : [finding('index-line', INDEX, `Has no line for ${listed(unlisted)}.`, mend)]),
    ...lines
      .filter((line) => generatedBefore.has(line) && !built.generated.includes(line))
      .map((line) => finding('index-stale', INDEX, `Says what is true no more: ${line}`, mend)),
    ...[...linkedPaths(built.text)]
      .filter((path) => !texts.has(path) && !built.overflow.some((file) => file.path === path))
      .map((link) => finding('link', INDEX, `Links ${link}, which is not there; the line is hand-written.`)),
    ...overflow(built, { texts, mend }),
  ];
  const isExplained = faults.some((fault) => fault.mend === mend);
  if (current === built.text || isExplained) return faults;
  return [...faults, finding('index', INDEX, 'Is not what its topics make it.', mend)];
}

function madeByTools({ ledger }: Store): Set<string> {
  const sql = `select memory.path from memory join version on version.memory = memory.id
    where version.previous is null and version.actor like 'tool:%' and memory.path is not null`;
  return new Set(ledger.all<{ path: string }>(sql).map(({ path }) => path));
}

function caps(built: BuiltIndex, { current, mend }: { current: string; mend: Mend }): Finding[] {
  const lines = current.split('\n').length - 1;
  const bytes = Buffer.byteLength(current);
  if (lines <= INDEX_CAPS.lines && bytes <= INDEX_CAPS.bytes) return [];
  const what = `Has ${lines} lines and ${bytes} bytes; agents read ${INDEX_CAPS.lines} lines and ${INDEX_CAPS.bytes} bytes.`;
  const isTheirs = built.handWrittenOverCaps;
  if (!isTheirs) return [finding('index-caps', INDEX, what, mend)];
  return [finding('index-caps', INDEX, `${what} Its hand-written lines alone are too many.`)];
}

function overflow(built: BuiltIndex, { texts, mend }: Pick<ReadFiles, 'texts'> & { mend: Mend }): Finding[] {
  const wanted = built.overflow
    .filter(({ path, text }) => texts.get(path) !== text)
    .map(({ path }) => finding('overflow', path, 'Does not list what the index has no room for.', mend));
  const what = 'Is no longer needed: the index has room for all; the next dream removes what nocturne made.';
  const unwanted = [...texts.keys()]
    .filter((path) => path.startsWith('index/') && !built.overflow.some((file) => file.path === path))
    .map((where) => finding('overflow', where, what));
  return [...wanted, ...unwanted];
}

const LINK = /\[([^[\]()\n]+\.md)\]|\]\((?:\.\/)?([^()\s#]+\.md)(?:#[^()\s]*)?\)/gi;

/** The Markdown files of this directory that a text links. */
function linkedPaths(text: string): Set<string> {
  const paths = [...text.matchAll(LINK)].map((link) => link[1] ?? link[2] ?? '');
  return new Set(paths.filter((path) => !/^\/|:\/\/|^\.\./.test(path)));
}

async function rebuild(store: Store, build: (current: string | null) => BuiltIndex): Promise<void> {
  const overflow = build(await store.read(INDEX)).overflow;
  let generated: string[] = [];
  await store.commit({ actor: CHECK }, () => ({
    files: [
      {
        path: INDEX,
        change(current) {
          const built = build(current);
          generated = built.generated;
          return built.text;
        },
      },
      ...overflow.map(({ path, text }) => ({ path, change: () => text })),
    ],
    rows: (transaction) => writeIndexLines(transaction, generated),
  }));
}

/** What is looked at: the text of each file, and the topics among them, archived ones too, both by path. */
export interface ReadFiles {
  texts: Map<string, string>;
  topics: Map<string, Topic>;
}

export interface Finding {
  /** One word for programs: `ledger`, `support`, `link`, … */
  kind: string;
  /** A sentence about the thing at `where`. */
  what: string;
  /** A path in the memory directory. */
  where: string;
  /** Findings of one cause share one. */
  mend: Mend | null;
}

export interface Mend {
  /** A sentence: what it does. */
  says: string;
  /** Contract: no dream runs meanwhile. */
  apply(): Promise<void>;
}

/** Who makes the commits of mends. */
export const CHECK: Actor = 'tool:check';

export function finding(kind: string, where: string, what: string, mend: Mend | null = null): Finding {
  return { kind, what, where, mend };
}

/** Commits a mend that changes the rows of each of these, and no file. */
export async function commitEach<Item>(store: Store, items: Item[], change: (tx: Transaction, item: Item) => void) {
  const rows = (tx: Transaction) => {
    for (const item of items) change(tx, item);
  };
  await store.commit({ actor: CHECK }, () => ({ files: [], rows }));
}

/** The first of many paths, and how many more there are. */
export function listed(paths: string[]): string {
  const shown = paths.slice(0, 3).join(', ');
  return paths.length > 3 ? `${shown} and ${paths.length - 3} more` : shown;
}
