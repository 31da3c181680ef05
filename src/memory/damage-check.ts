// What is wrong with a memory as far as one can see from its directory and its rows, and what mends that without a guess: what is
// missing comes back from its versions, or is let go because a person says so.
// Promises: looking changes nothing; mending deletes no file; what only a person can decide is named, and left.

import { isUtf8 } from 'node:buffer';
import { dirname, join } from 'node:path';
import { onAppError } from '../base/errors.ts';
import { isDirectory, kindOf, listFiles } from '../base/files/directories.ts';
import { MOST_MEMORY_BYTES, readBytesNow, statNow } from '../base/files/files.ts';
import type { Day } from '../base/time.ts';
import { newId, type Sql } from '../db/sql.ts';
import { commit, lookInto, type Plan, type Target } from './commit.ts';
import { hasMarkers } from './directory-look.ts';
import { type EntryRow, entriesAmong, isInLog } from './entries.ts';
import { type Head, headsOf, missingFiles } from './file-rows.ts';
import { lostDays, withdrawLost } from './log-edits.ts';
import type { Memories, MemoryRow } from './memories.ts';
import { isMemoryPath } from './memory-paths.ts';
import { gitIsBusy } from './paths.ts';
import { joinLogs, logDay, logPath, parseLog } from './text/daily-log.ts';
import { readFrontmatter } from './text/frontmatter.ts';
import { isTopicFile } from './text/topic.ts';
import type { Change } from './undo-rows.ts';

export interface Finding {
  /** One word for programs. */
  kind: string;
  /** A sentence about the thing at `where`. */
  what: string;
  /** A path in the memory. */
  where: string;
  /** What mends it, as a sentence; null: only a person can. */
  fix: string | null;
  apply?(): Promise<unknown>;
}

const byHand = (kind: string, where: string, what: string): Finding => ({ kind, where, what, fix: null });
const actor = { kind: 'user', id: null } as const;

/** A commit of what mends something. */
function fix(memories: Memories, memory: MemoryRow, paths: Target['paths'], plan: (sql: Sql) => Promise<Plan>) {
  return commit(memories, { memory: memory.id, paths }, { job: newId('job'), actor }, plan);
}

/** Everything that is found; `isQuick`: without reading the files. Errors: those of the database and the disk alone. */
export async function findFaults(memories: Memories, memory: MemoryRow, { isQuick = false } = {}): Promise<Finding[]> {
  const looked = lookInto(memories, { memory: memory.id, paths: 'all' });
  await (isQuick ? looked.catch(onAppError(() => {})) : looked);
  const heads = isQuick ? [] : await headsOf(memories.db, memory.id);
  return [
    ...(isQuick ? [] : goneDirectory(memories, memory)),
    ...(await whatIsMissing(memories, memory)),
    ...(await noTexts(memories, memory, heads)),
    ...heads.flatMap(frontmatterFaults),
    ...(memory.dir === null || !isDirectory(memory.dir) ? [] : await directoryFaults(memories, memory, isQuick)),
  ];
}

/** Takes what is missing for removed on purpose; answers which files and days of logs that were. */
export async function acceptMissing(memories: Memories, memory: MemoryRow): Promise<string[]> {
  const copy = memories.copyOf(memory.id);
  const paths = (await copy?.hold(() => copy.acceptMissing())) ?? [];
  const lost = await lostDays(memories.db, memory.id);
  const rows = (change: Change) => withdrawLost(change, memory.id);
  await fix(memories, memory, 'all', async () => ({ files: [], rows }));
  return [...paths, ...lost.map(logPath)];
}

/** A directory of this machine that is not there. One that may come back by itself is not made. */
function goneDirectory(memories: Memories, { id }: MemoryRow): Finding[] {
  const copy = memories.copyOf(id);
  if (copy === null || isDirectory(copy.dir)) return [];
  const { dir } = copy;
  const [kind, project] = ['missing-directory', dirname(dirname(dir))];
  if (kindOf(dir) !== null) return [byHand(kind, '.', 'A file is in the place of its directory. Move it away.')];
  if (!isDirectory(project)) {
    const after = 'connect its disk, or run nocturne adopt where the project is now';
    return [byHand(kind, '.', `Its directory is gone, and so is ${project}: ${after}. Nothing remembered is lost.`)];
  }
  const apply = () => copy.hold(() => copy.restoreGone(() => memories.of(id)));
  const what = 'Its directory is gone. Nothing remembered is lost.';
  return [{ kind, where: '.', what, fix: 'Makes it again, with all its files.', apply }];
}

async function whatIsMissing(memories: Memories, memory: MemoryRow): Promise<Finding[]> {
  const copy = memories.copyOf(memory.id);
  const gone = (await missingFiles(memories.db, memory.id)).map(
    ({ path }): Finding => ({
      kind: 'missing-file',
      where: path,
      what: 'Is gone with many others at once. Put it back, or accept that it is gone: nocturne check --accept-missing.',
      fix: 'Puts it back as it was.',
      apply: async () => copy?.hold(() => copy.restoreMissing()),
    }),
  );
  const lost = (await lostDays(memories.db, memory.id)).map(
    (day): Finding => ({
      kind: 'missing-file',
      where: logPath(day),
      what: 'Is gone, empty or damaged. What was in it stays remembered, until you accept the loss: nocturne check --accept-missing.',
      fix: 'Puts back what it held, with what was written since.',
      apply: () => restoreLog(memories, memory, day),
    }),
  );
  return [...gone, ...lost];
}

/** From its newest version that holds all that is known of the day. */
async function restoreLog(memories: Memories, memory: MemoryRow, day: Day): Promise<void> {
  const { db } = memories;
  const path = logPath(day);
  const rows = await entriesAmong(db, memory.id, { column: 'day', of: [day] });
  const known = rows.filter(isInLog).map(({ id }: EntryRow) => id);
  const idsIn = (text: string) => new Set(parseLog(text, day).map(({ id }) => id));
  const texts = await textsOf(db, memory.id, 'path', path);
  const whole = texts.find((text) => new Set(known).isSubsetOf(idsIn(text)));
  if (whole === undefined) return;
  const written = new Set([...rows.map((row) => row.id), ...texts.flatMap((text) => [...idsIn(text)])]);
  const make = (current: string | null) => {
    // What damage left of a line is no line of a person's.
    const debris = parseLog(current ?? '', day).filter(
      ({ id, kind, text }) => kind === 'adopted' || !written.has(id) || /\p{Cc}|\uFFFD/u.test(text),
    );
    return joinLogs(whole, current ?? '', { day, leftOut: new Set(debris.map(({ id }) => id)) });
  };
  await fix(memories, memory, [path], async () => ({ files: [{ path, make }] }));
}

/** What versions held that were text, the newest first. */
async function textsOf(sql: Sql, memory: string, column: 'file' | 'path', value: string): Promise<string[]> {
  const select = `select content from version where memory = ? and ${column} = ? and content is not null`;
  const versions = await sql.all<{ content: Buffer }>(`${select} order by seq desc`, memory, value);
  return versions.flatMap(({ content }) => (isText(content) ? content.toString() : []));
}

function isText(content: Buffer): boolean {
  return isUtf8(content) && !content.includes(0);
}

/** Files that hold bytes which are no text, and did hold text before. */
async function noTexts(memories: Memories, memory: MemoryRow, heads: readonly Head[]): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const { id, path, content } of heads) {
    if (path === null || !content || isText(content)) continue;
    const [text] = await textsOf(memories.db, memory.id, 'file', id);
    if (text === undefined) continue;
    const day = logDay(path);
    const plan = async () => ({ files: [{ path, make: () => text }] });
    found.push({
      kind: 'no-text',
      where: path,
      what: 'Holds bytes that are not text.',
      fix: day ? 'Puts back what it held, with what was written since.' : 'Puts back its newest text.',
      apply: () => (day ? restoreLog(memories, memory, day) : fix(memories, memory, [path], plan)),
    });
  }
  return found;
}

function frontmatterFaults({ path, content }: Head): Finding[] {
  if (path === null || !isTopicFile(path)) return [];
  const { problem } = readFrontmatter(content?.toString() ?? '');
  return problem ? [byHand('frontmatter', path, problem)] : [];
}

async function directoryFaults({ db }: Memories, memory: MemoryRow, isQuick: boolean): Promise<Finding[]> {
  const found: Finding[] = [];
  const dir = memory.dir as string;
  for (const path of listFiles(dir).filter((each) => each.endsWith('.md') && isMemoryPath(each))) {
    const bytes = statNow(join(dir, path))?.bytes ?? 0;
    if (bytes > MOST_MEMORY_BYTES)
      found.push(
        byHand('size', path, `It has ${Math.ceil(bytes / 2 ** 20)} MB, and is not read. Split it, or move it out.`),
      );
    else if (!isQuick && hasMarkers(readBytesNow(join(dir, path)) ?? Buffer.alloc(0)))
      found.push(byHand('conflict', path, 'Holds conflict markers of a merge. Resolve the conflict in the file.'));
  }
  const waiting =
    'select path from file where memory = ? and placed is not null and placed <> head and path is not null and missing_since is null';
  for (const { path } of gitIsBusy(dir) ? [] : await db.all<{ path: string }>(waiting, memory.id))
    if (!found.some(({ where }) => where === path))
      found.push(byHand('behind', path, 'It cannot be written, so changes to it wait.'));
  return found;
}
