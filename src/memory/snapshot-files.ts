// The files of a memory snapshot: topics, as they lie in the working tree, for everybody who works there. They are someone else's text:
// `screenTopic` says which lines speak to an agent, `bringTopic` what becomes of one beside what stands here. It writes nothing.

import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { AppError } from '../base/errors.ts';
import { kindOf, listNames } from '../base/files/directories.ts';
import { readBytesNow, statNow } from '../base/files/files.ts';
import { hasWrapperTag } from '../rules/as-read.ts';
import { speaksToAgent } from '../rules/languages.ts';
import { hasMarkers } from './directory-look.ts';
import { mergeLines } from './edit-text.ts';
import { foldPath, isMemoryPath } from './memory-paths.ts';
import { compare } from './text/blocks.ts';
import { isTopicPath, lineNumbers, parseTopic } from './text/topic.ts';

export interface MemorySnapshot {
  /** `snap_` and twelve hex digits of a hash over all of it. */
  id: string;
  topics: { path: string; text: string }[];
}

/** A line that a topic of someone else's should not bring in unread. */
export interface ForeignLine {
  /** In the file, from 1. */
  line: number;
  text: string;
}

/** What a stranger's repository may hold; a topic has at most what a memory may have. */
export const MOST = { topics: 500, topicBytes: 102_400 };
/** Else a checkout on Windows would change line ends, and with them every text. */
export const GIT_ATTRIBUTES = '* -text\n';

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

/** The snapshot of a working tree, or null where there is none. Errors: `bad-input` for a broken one. */
export function readMemorySnapshot(tree: string): MemorySnapshot | null {
  const dir = memorySnapshotDir(tree);
  const paths = listNames(dir).filter((name) => isTopicPath(name) && isMemoryPath(name));
  if (paths.length === 0) return null;
  if (paths.length > MOST.topics) throw broken(dir, `it has ${paths.length} files, of ${MOST.topics} at most`);
  if (new Set(paths.map(foldPath)).size < paths.length) throw broken(dir, 'two of its files differ by case alone');
  return snapshotOf(paths.map((path) => ({ path, text: readTopic(dir, path) })));
}

export function snapshotOf(topics: MemorySnapshot['topics']): MemorySnapshot {
  const sorted = topics.toSorted((a, b) => compare(a.path, b.path));
  return { id: `snap_${hash('sha256', JSON.stringify(sorted)).slice(0, 12)}`, topics: sorted };
}

function readTopic(dir: string, path: string): string {
  const look = statNow(join(dir, path));
  if (!look?.isFile) throw broken(dir, `${path} is no regular file`);
  if (look.bytes > MOST.topicBytes) throw broken(dir, `${path} has ${look.bytes} bytes, of ${MOST.topicBytes}`);
  const content = readBytesNow(join(dir, path)) ?? Buffer.alloc(0);
  if (!isUtf8(content) || content.includes(0)) throw broken(dir, `${path} is no text`);
  if (hasMarkers(content)) throw broken(dir, `git left a conflict in ${path}`);
  return content.toString();
}

function broken(dir: string, problem: string): AppError {
  return new AppError('bad-input', `The memory snapshot in ${dir} cannot be used: ${problem}.`, {
    remedy: 'Nothing was changed. Check it out again, or have it made again with nocturne snapshot create.',
  });
}

/** The lines of a topic that tell an agent what to do, or that hold tags which could pass for a system's. */
export function screenTopic({ path, text }: { path: string; text: string }): ForeignLine[] {
  const { description, name } = parseTopic(path, text);
  const raw = text.split('\n').map((line, at) => ({ line: at + 1, text: line.trim() }));
  // What is one line to a reader may be several in the file; a comment is none to a reader, but one to a model.
  const read = lineNumbers(text).map(({ first, text: said }) => ({ line: first, text: said }));
  const head = [description, name].map((said) => ({ line: 1, text: said }));
  const found = [...raw, ...read, ...head].filter(({ text: said }) => speaksToAgent(said) || hasWrapperTag(said));
  return [...new Map(found.map((each) => [each.line, each])).values()].sort((a, b) => a.line - b.line);
}

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
