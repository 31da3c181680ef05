// Topics that are handed to others, as text. To the team's memory: what of one's own topic can be shared, where it holds what should not
// be, and how statements are put into the team's. A statement is one line with its author at its end, at its place in the alphabet, so
// that two clones that share write different places of the file and the order tells nothing of time.
// As a memory snapshot: topics of a project's memory that lie in its repository, for everybody who works there. It has nothing to do with
// the snapshots of transcripts. Promises: the same topics make the same bytes; what is read is complete, as its manifest says (names,
// hashes, sizes), and no link led to it, else an AppError says what is wrong and nothing was taken from it. It is someone else's text:
// `screenTopic` says which of its lines speak to an agent.

import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../base/errors.ts';
import { kindOf } from '../../base/files/directories.ts';
import { readBytesNow, readTextNow, statNow } from '../../base/files/files.ts';
import { locateSecrets, redact } from '../../base/secrets/redact-text.ts';
import { parseJson } from '../../base/text/json.ts';
import { hasWrapperTag } from '../../rules/as-read.ts';
import { speaksToAgent } from '../../rules/languages.ts';
import { mergeLines } from '../edit-text.ts';
import { foldPath, isMemoryPath } from '../memory-paths.ts';
import type { MemoryType } from '../memory-types.ts';
import { authorsOf, lineEndOf, withAuthors } from './blocks.ts';
import {
  isOfMachine,
  isTopicPath,
  type LocatedLine,
  lineNumbers,
  locateLines,
  newTopic,
  parseTopic,
  seenOnceOn,
} from './topic.ts';

/** A topic of one's own memory. */
export interface ShareSource {
  path: string;
  text: string;
  /** The ids of the lines that are meant; default: all. */
  only?: Set<string>;
  /** The ids of lines that these came in place of: where this author alone shared one, it goes. */
  replaced?: Set<string>;
}

const PERSONAL_PATH = /(?:\/(?:home|Users)\/|[A-Za-z]:\\Users\\)[^\s/\\]+/;

/** A place in one's own files, lines from 1. */
export type SharedPlace = { path: string; line: number };

export interface Statement {
  text: string;
  /** The lines of the file it stands on, from 1. */
  first: number;
  last: number;
}

export interface TopicToShare {
  path: string;
  replaced: Set<string>;
  file: string[];
  description: Statement;
  statements: Statement[];
  topic: ReturnType<typeof parseTopic>;
}

export function readToShare({ path, text, only, replaced = new Set() }: ShareSource): TopicToShare {
  const topic = parseTopic(path, text);
  const file = text.split(/\r?\n/);
  const at = file.findIndex((line) => /^\s*["']?description["']?\s*:/.test(line));
  const first = Math.max(at, 0) + 1;
  return {
    path,
    replaced,
    file,
    description: { text: topic.description, first, last: first },
    // What one session showed has not been stated yet; what holds on one machine is no team's.
    statements: statementsOf(text).filter(
      ({ id, text: said }) => (!only || only.has(id)) && !seenOnceOn(said) && !isOfMachine(said),
    ),
    topic,
  };
}

export function textsOf({ description, statements }: TopicToShare): string[] {
  return [description, ...statements].map(({ text }) => text);
}

export async function secretsIn(sharing: TopicToShare): Promise<(SharedPlace & { rule: string })[]> {
  const { path, file, description, statements } = sharing;
  const secrets: (SharedPlace & { rule: string })[] = [];
  for (const { text, first, last } of [description, ...statements]) {
    const { found } = await redact(text);
    if (found.length === 0) continue;
    const located = await locateSecrets(file.slice(first - 1, last).join('\n'));
    const inFile = located.length > 0 ? located : found.map(({ rule }) => ({ rule, line: 1 }));
    secrets.push(...inFile.map(({ rule, line }) => ({ path, line: first + line - 1, rule })));
  }
  if (secrets.length > 0) return secrets;
  // One that runs over several statements.
  const { found } = await redact(textsOf(sharing).join('\n'));
  return found.map(({ rule }) => ({ path, line: statements[0]?.first ?? 1, rule }));
}

export async function takeSecretsOut({ description, statements }: TopicToShare): Promise<void> {
  for (const each of [description, ...statements]) each.text = (await redact(each.text)).text;
}

export function personalPathsIn({ path, file, statements }: TopicToShare): SharedPlace[] {
  const numbers = statements.flatMap(({ first, last }) => file.slice(first - 1, last).map((_, at) => first + at));
  return numbers.filter((line) => PERSONAL_PATH.test(file[line - 1] ?? '')).map((line) => ({ path, line }));
}

/** What is shared of a topic. */
interface SharedTopic {
  name: string;
  description: string;
  type: MemoryType;
  /** Each on one line; code in its fence. */
  statements: string[];
}

/** What of a topic can be shared: its statements, with the line's id and the lines of the file they stand on, from 1. */
function statementsOf(raw: string): { id: string; text: string; first: number; last: number }[] {
  const numbers = lineNumbers(raw);
  const lines = locateLines(raw);
  let table: { head: string[]; end: number } | null = null;
  return lines.flatMap(({ id, text, kind, from, to }, at) => {
    const { first = 1, last = 1 } = numbers[at] ?? {};
    const said = { id, text: kind === 'fence' ? withoutIndent(raw.slice(from, to)) : text, first, last };
    if (kind !== 'paragraph' || !text.includes('|')) return said;
    const next = lines[at + 1];
    if (next?.from === to && isTableRule(next.text)) {
      table = { head: cellsOf(text), end: next.to };
      return [];
    }
    if (table === null || (from !== table.end && to !== table.end)) return said;
    if (to === table.end) return [];
    table.end = to;
    return { ...said, text: rowAlone(cellsOf(text), table.head) };
  });
}

const isTableRule = (line: string) => /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/.test(line);

function cellsOf(row: string): string[] {
  const inner = row.replace(/^\||(?<!\\)\|$/g, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim());
}

/** A row of a table as it can stand on a line of its own, in any order: `Host: alpha; Port: 22`. */
function rowAlone(cells: string[], head: string[]): string {
  const named = cells.map((cell, at) => (cell && head[at] ? `${head[at]}: ${cell}` : cell));
  return named.filter((cell) => cell !== '').join('; ');
}

/** The lines of a team's topic that this author shared and nobody else. */
export function sharedAlone(raw: string, author: string): LocatedLine[] {
  return locateLines(raw).filter(({ authors }) => authors.length === 1 && authors[0] === author);
}

/** The team's topic with the statements that are not in it yet; a new one where there is none. */
export function shareInto(current: string | null, { statements, ...topic }: SharedTopic, author: string): string {
  const start = current ?? newTopic({ ...topic, lines: [] });
  return statements.reduce((raw, statement) => putInPlace(raw, statement, author), start);
}

function putInPlace(raw: string, statement: string, author: string): string {
  const lineEnd = lineEndOf(raw);
  const ended = raw === '' || raw.endsWith('\n') ? raw : raw + lineEnd;
  if (/^(?:```|~~~).*\n/.test(statement)) {
    const gap = /(?:^|\n)\r?\n$/.test(ended) ? '' : lineEnd;
    return ended + gap + [...statement.trimEnd().split('\n'), withAuthors('', [author]).trim(), ''].join(lineEnd);
  }
  const line = `- ${withAuthors(statement, [author])}${lineEnd}`;
  const list = lastList(ended);
  const last = list.at(-1);
  if (!last) return ended + (/(?:^|\n)\r?\n$/.test(ended) ? '' : lineEnd) + line;
  const at = list.find(({ text }) => text > statement)?.from ?? last.to;
  return ended.slice(0, at) + line + ended.slice(at);
}

/** The bullets of the last list; what is numbered or indented is in someone's own order. */
function lastList(raw: string): LocatedLine[] {
  const lines = locateLines(raw);
  const isPlain = (line: LocatedLine | undefined) => line !== undefined && /^[-*+]/.test(line.marker);
  const isNext = (line?: LocatedLine, next?: LocatedLine) => raw.slice(line?.to, next?.from).trim() === '';
  const last = lines.findLastIndex(isPlain);
  let first = last;
  while (isPlain(lines[first - 1]) && isNext(lines[first - 1], lines[first])) first -= 1;
  return lines.slice(Math.max(first, 0), last + 1);
}

function withoutIndent(fence: string): string {
  const lines = fence.split(/\r?\n/).filter((line) => authorsOf(line).length === 0);
  const indent = /^[ \t]*/.exec(lines[0] ?? '')?.[0] ?? '';
  return lines
    .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
    .join('\n')
    .trimEnd();
}

/** What is in a snapshot, by the file name of each topic. */
export interface MemorySnapshot {
  /** `snap_` and twelve hex digits of a hash over the manifest. */
  id: string;
  createdAt: string;
  topics: { path: string; text: string }[];
}

/** A line that a topic of someone else's should not bring in unread. */
export interface ForeignLine {
  /** In the file, from 1. */
  line: number;
  text: string;
}

const VERSION = 1;
const MANIFEST = 'manifest.json';
/** Of one snapshot; a topic has at most what a memory may have. */
const BOUNDS = { manifestBytes: 256 * 1024, topics: 500, topicBytes: 102_400, totalBytes: 10 * 1024 * 1024 };
/** Else a checkout on Windows would change line ends, and with them every hash. */
const GIT_ATTRIBUTES = '* -text\n';

const manifestSchema = z.strictObject({
  version: z.literal(VERSION),
  createdAt: z.iso.datetime(),
  files: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
});

/** Where the snapshot of a working tree lies, whether there is one or not. Throws `refused` where a link is in the way. */
export function memorySnapshotDir(tree: string): string {
  const above = join(tree, '.claude');
  const dir = join(above, 'memory-snapshot');
  for (const path of [above, dir]) {
    const kind = kindOf(path);
    if (kind === null || kind === 'directory') continue;
    throw new AppError('refused', `${path} is a ${kind}, so no memory snapshot is read or written there.`, {
      remedy: 'Make it a directory of the working tree.',
    });
  }
  return dir;
}

/** The files of a snapshot, the manifest last. `createdAt`: when the newest of the topics was last changed. */
export function buildMemorySnapshot(topics: MemorySnapshot['topics'], createdAt: string) {
  const sorted = [...topics].sort((a, b) => (a.path < b.path ? -1 : 1));
  const totalBytes = sorted.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  const large = sorted.find(({ text }) => Buffer.byteLength(text) > BOUNDS.topicBytes);
  if (large || sorted.length > BOUNDS.topics || totalBytes > BOUNDS.totalBytes) {
    const what = large ? large.path : `${sorted.length} topics of ${totalBytes} bytes`;
    throw new AppError('bad-input', `A memory snapshot cannot hold ${what}: it is too much.`, {
      remedy: `Name fewer topics: at most ${BOUNDS.topics} of ${BOUNDS.topicBytes} bytes each, ${BOUNDS.totalBytes} together.`,
    });
  }
  const files = Object.fromEntries(sorted.map(({ path, text }) => [path, hash('sha256', text)]));
  const manifest = `${JSON.stringify({ version: VERSION, createdAt, files }, null, 2)}\n`;
  const snapshot: MemorySnapshot = { id: idOf(manifest), createdAt, topics: sorted };
  return {
    snapshot,
    files: [
      { name: '.gitattributes', text: GIT_ATTRIBUTES },
      ...sorted.map(({ path, text }) => ({ name: path, text })),
      { name: MANIFEST, text: manifest },
    ],
  };
}

/** The snapshot of a working tree, verified, or null where there is none. Throws `bad-input` for a broken one. */
export function readMemorySnapshot(tree: string): MemorySnapshot | null {
  const dir = memorySnapshotDir(tree);
  const manifest = readManifest(dir);
  if (manifest === null) return null;
  const { files, createdAt } = manifest;
  const paths = Object.keys(files).sort();
  const spellings = new Set(paths.map(foldPath));
  if (paths.length > BOUNDS.topics || spellings.size < paths.length) {
    throw broken(
      dir,
      `it names ${paths.length} files, of which ${spellings.size} differ; ${BOUNDS.topics} may be there`,
    );
  }
  let totalBytes = 0;
  const topics = paths.map((path) => {
    const topic = { path, text: readTopic(dir, { path, sha: files[path] ?? '' }) };
    totalBytes += Buffer.byteLength(topic.text);
    if (totalBytes > BOUNDS.totalBytes) throw broken(dir, `it holds more than ${BOUNDS.totalBytes} bytes`);
    return topic;
  });
  return { id: manifest.id, createdAt, topics };
}

/** The lines of a topic that tell an agent what to do, or that hold tags which could pass for a system's. */
export function screenTopic({ path, text }: { path: string; text: string }): ForeignLine[] {
  const { description, name } = parseTopic(path, text);
  const raw = text.split('\n').map((line, at) => ({ line: at + 1, text: line.trim() }));
  // What is one line to a reader may be several in the file; a comment is none to a reader, but one to a model.
  const read = lineNumbers(text).map(({ first, text: said }) => ({ line: first, text: said }));
  const head = [description, name].map((said) => ({ line: 1, text: said }));
  const judged = new Map<string, boolean>();
  const speaks = (said: string) => {
    const known = judged.get(said) ?? (speaksToAgent(said) || hasWrapperTag(said));
    judged.set(said, known);
    return known;
  };
  const found = [...raw, ...read, ...head].filter(({ text: said }) => speaks(said));
  return [...new Map(found.map((each) => [each.line, each])).values()].sort((a, b) => a.line - b.line);
}

/** What its manifest says, or null where there is none. Errors: `bad-input` for a broken one. */
export function readManifest(dir: string) {
  const path = join(dir, MANIFEST);
  const look = statNow(path);
  if (look === null) return null;
  if (!look.isFile || look.bytes > BOUNDS.manifestBytes) throw broken(dir, `${MANIFEST} is no file of a fitting size`);
  const text = readTextNow(path) ?? '';
  const parsed = manifestSchema.safeParse(parseJson(text));
  if (!parsed.success) throw broken(dir, `${MANIFEST} does not fit: ${z.prettifyError(parsed.error)}`);
  return { ...parsed.data, id: idOf(text) };
}

function readTopic(dir: string, { path, sha }: { path: string; sha: string }): string {
  if (!isTopicPath(path) || !isMemoryPath(path))
    throw broken(dir, `${JSON.stringify(path)} is no name of a topic file`);
  const at = join(dir, path);
  const look = statNow(at);
  if (!look?.isFile) throw broken(dir, `${path} is ${look === null ? 'not there' : 'no regular file'}`);
  if (look.bytes > BOUNDS.topicBytes) throw broken(dir, `${path} has ${look.bytes} bytes, of ${BOUNDS.topicBytes}`);
  const content = readBytesNow(at);
  if (content === null || hash('sha256', content) !== sha)
    throw broken(dir, `${path} is not what the manifest says it is`);
  if (!isUtf8(content) || content.includes(0)) throw broken(dir, `${path} is no text`);
  return content.toString();
}

function broken(dir: string, problem: string): AppError {
  return new AppError('bad-input', `The memory snapshot in ${dir} cannot be used: ${problem}.`, {
    remedy: 'Nothing was changed. Check it out again, or have it made again with nocturne snapshot create --replace.',
  });
}

const idOf = (manifest: string) => `snap_${hash('sha256', manifest).slice(0, 12)}`;

/** A snapshot of the repository that was never applied here: the first, or one newer than what was. */
export type SnapshotOffer = 'first' | 'newer';

export function sayOffer(offer: SnapshotOffer): string {
  return offer === 'first' ? 'the repository has one that was never applied here' : 'the repository has a newer one';
}

/**
 * What becomes of a topic. `add`, `update` and `merge` change the memory; `same` and `own` leave what is there, since
 * the snapshot has nothing new for it; `collides` and `removed` leave it although it has.
 */
export type TopicStep = 'add' | 'update' | 'merge' | 'same' | 'own' | 'collides' | 'removed';

/** Brings a topic of a snapshot (`theirs`) to what stands here (`ours`), both made from `base`; what is here wins. */
export function bringTopic(topic: { base: string | undefined; ours: string | null; theirs: string }): {
  step: TopicStep;
  text: string | null;
} {
  const { base, ours, theirs } = topic;
  if (ours === null) return base === undefined ? { step: 'add', text: theirs } : { step: 'removed', text: null };
  if (ours === theirs) return { step: 'same', text: ours };
  if (theirs === base) return { step: 'own', text: ours };
  if (ours === base) return { step: 'update', text: theirs };
  if (base === undefined) return { step: 'collides', text: ours };
  const merged = mergeLines(base, { ours: theirs, external: ours });
  if (merged.collisions > 0) return { step: 'collides', text: ours };
  return { step: merged.text === ours ? 'own' : 'merge', text: merged.text };
}
