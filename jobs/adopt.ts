// Adopt: a checkout of a project that is remembered under another path uses that memory from now on, because a person says so.
//
// 1. Take what is kept for the checkout alone: of its own memory, or what its agent wrote into its directory.
// 2. In one commit: lines that the memory lacks come into its topics, logs are joined, the directory leads to the memory, and what
//    was the checkout's own is put away. Undo takes all of it back.

import { join } from 'node:path';
import { AppError } from '../src/base/errors.ts';
import { listFiles } from '../src/base/files/directories.ts';
import { readMemoryBytesNow } from '../src/base/files/files.ts';
import { lookInto } from '../src/memory/commit.ts';
import { headsOf } from '../src/memory/file-rows.ts';
import { knownHistory } from '../src/memory/log-history.ts';
import type { Memories, MemoryRow } from '../src/memory/memories.ts';
import { keepApart } from '../src/memory/same-project.ts';
import { editLines, isTopicPath, parseTopic, saidId } from '../src/memory/text/topic.ts';
import { forgottenMarks } from './after-restore.ts';
import { fitting, type TakeInReport, takeIn } from './carry.ts';

interface AdoptDeps {
  memories: Memories;
  /** The one that is remembered. */
  memory: MemoryRow;
  /** The directory that is to lead to it. */
  place: string;
  /** The checkout's own memory, where it has one. */
  own: MemoryRow | null;
}

/** What both would bring: of each topic of the checkout's own how many lines the memory lacks. */
export async function previewAdoption(deps: AdoptDeps) {
  const { memories, memory } = deps;
  const theirs = await ownFiles(deps);
  await lookInto(memories, { memory: memory.id, paths: 'all' });
  const heads = await headsOf(memories.db, memory.id);
  const texts = new Map(heads.map(({ path, content }) => [path, content?.toString() ?? '']));
  const topics = [...theirs.texts].filter(([path]) => isTopicPath(path));
  return {
    topics: [...texts.keys()].filter((path) => path !== null && isTopicPath(path)).length,
    comes: topics.map(([path, text]) => ({
      path,
      lines: missingIn(path, { ours: texts.get(path) ?? '', theirs: text }),
    })),
  };
}

/** Errors: `refused` while sessions of the checkout's own memory wait, which would be learned into it. */
export async function adopt(deps: AdoptDeps): Promise<TakeInReport> {
  const { memories, memory, place, own } = deps;
  const { db, machine } = memories;
  // 1.
  const waits =
    "select 1 from inbox where memory = ? and (state = 'waiting' and kind = 'extract' or owner is not null)";
  if (own && (await db.get(waits, own.id))) {
    throw new AppError('refused', 'Sessions of this checkout wait to be learned, or are being learned.', {
      remedy: 'Let a worker do it (nocturne worker --once), and adopt then.',
    });
  }
  const files = await ownFiles(deps);
  // 2.
  return takeIn(
    {
      ...files,
      kind: 'adopt',
      merge: ({ path, ours, theirs }) => editLines(ours, { remove: new Set(), add: missingIn(path, { ours, theirs }) }),
      async rows(change) {
        await change.put('place', { machine, path: place, memory: memory.id });
        if (own) await change.put('memory', { ...own, deleted_at: change.at });
        await keepApart(change.sql, { machine, place });
      },
    },
    { memories, memory },
  );
}

async function ownFiles({ memories, place, own }: AdoptDeps) {
  if (own === null) {
    const found = listFiles(place).map((path) => ({ path, bytes: readMemoryBytesNow(join(place, path)) }));
    return fitting(found);
  }
  await lookInto(memories, { memory: own.id, paths: 'all' });
  const heads = await headsOf(memories.db, own.id);
  const found = heads.flatMap(({ path, content }) => (path === null ? [] : { path, bytes: content }));
  const known = { ...(await knownHistory(memories.db, own.id)), forgotten: await forgottenMarks(memories.db, own.id) };
  return { ...(await fitting(found)), known };
}

/** The lines of theirs that say what ours does not. */
function missingIn(path: string, { ours, theirs }: Record<'ours' | 'theirs', string>): string[] {
  const said = new Set(parseTopic(path, ours).lines.map(({ text }) => saidId(text)));
  return parseTopic(path, theirs).lines.flatMap(({ text }) => (said.has(saidId(text)) ? [] : text));
}
