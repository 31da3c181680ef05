// A memory snapshot: topics of a project's memory that lie in its repository, for everybody who works there. It has
// nothing to do with the snapshots of transcripts in `transcript/session.ts`. Promises: the same topics make the same
// bytes; what is read is complete, as its manifest says (names, hashes, sizes), and no link led to it, else an AppError
// says what is wrong and nothing was taken from it. It is someone else's text: `screenTopic` says which of its lines
// speak to an agent.

import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../base/errors.ts';
import { kindOf } from '../../base/files/directories.ts';
import { readBytesNow, readTextNow, statNow } from '../../base/files/files.ts';
import { parseJson } from '../../base/text/json.ts';
import { hasWrapperTag } from '../../rules/as-read.ts';
import { speaksToAgent } from '../../rules/languages.ts';
import { mergeLines } from '../edit-text.ts';
import { foldPath, isMemoryPath } from '../memory-paths.ts';
import { isTopicPath, lineNumbers, parseTopic } from './topic.ts';

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
