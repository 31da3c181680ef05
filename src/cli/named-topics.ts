// Topics as a person names them: by name or by file, in the memory or on the disk. What is not there is told with the nearest name.

import { isAbsolute, relative, sep } from 'node:path';
import { AppError } from '../base/errors.ts';
import { canonicalPath } from '../base/files/directories.ts';
import { didYouMean } from '../base/text/wording.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { archivePath, isTopicFile, isTopicPath } from '../memory/text/topic.ts';
import type { App } from '../worker/compose.ts';
import { placeOf } from '../worker/whose-memory.ts';

/** The names of the living topics. */
export async function topicNames({ db }: App, { id }: Pick<MemoryRow, 'id'>): Promise<string[]> {
  const topics = 'select path from file where memory = ? and meta is not null and path is not null order by path';
  const rows = await db.all<{ path: string }>(topics, id);
  return rows.flatMap(({ path }) => (isTopicPath(path) ? path.replace(/\.md$/i, '') : []));
}

/** A topic, and perhaps a line of it, by its number or its id. */
export const LINE = /^(.+?)(?::(\d+|[0-9a-f]{8}))?$/;

/** The file of a topic, by its name or its path; undefined where there is none. One in the archive is found where no other is. */
export async function findTopic(app: App, memory: MemoryRow, given: string): Promise<string | undefined> {
  const path = pathIn(memory, given);
  for (const each of [path, `${path}.md`, archivePath(path), archivePath(`${path}.md`)]) {
    if (!isTopicFile(each)) continue;
    const found = await app.files(memory).read({ path: each });
    if (found) return found.path;
  }
  return undefined;
}

/** The path of any file, whether it is there, was, or never was; a topic may be named without its ending. */
export async function fileNamed(app: App, memory: MemoryRow, given: string): Promise<string> {
  const found = await findTopic(app, memory, given);
  if (found) return found;
  const path = pathIn(memory, given);
  const { items } = await app.files(memory).versions({ path: `${path}.md`, limit: 1 });
  return items.length > 0 ? `${path}.md` : path;
}

function pathIn({ dir }: MemoryRow, given: string): string {
  return isAbsolute(given) && dir !== null
    ? relative(dir, canonicalPath(given)).split(sep).join('/')
    : given.replace(/^\.\//, '');
}

/** The same as `findTopic`. Errors: `bad-input` that names the nearest; `memory`: null where there is none yet. */
export async function topicFile(app: App, memory: MemoryRow | null, given: string): Promise<string> {
  const found = memory && (await findTopic(app, memory, given));
  if (found) return found;
  const called = memory ? placeOf(memory) : app.memoryDirOf();
  throw new AppError('bad-input', `There is no topic ${JSON.stringify(given)} in ${called}.`, {
    remedy: didYouMean(given, memory ? await topicNames(app, memory) : [], 'nocturne list shows the topics.'),
  });
}
