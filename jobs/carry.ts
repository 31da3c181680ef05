// Carry: the Markdown of a memory as plain files in a directory, which tar, git or a disk carries further, and back. A checkout that uses
// the memory of another path (adopt) brings what it has in the same way. Promises: only Markdown goes out and comes in, and nothing through
// a link, with what is known of the entries beside it; secrets are taken out both ways; an import is an action that undo takes back. What
// is there stays, unless theirs is asked for; a log keeps the entries of both, what was forgotten stays so, and what was learned or sorted
// elsewhere is not done again.

import { join } from 'node:path';
import { AppError } from '../src/base/errors.ts';
import { isDirectory, listFiles } from '../src/base/files/directories.ts';
import { readMemoryBytesNow, readTextNow, statNow, writeWhole } from '../src/base/files/files.ts';
import { redact } from '../src/base/secrets/redact-text.ts';
import { parseJson } from '../src/base/text/json.ts';
import { newId, type Sql } from '../src/db/sql.ts';
import { commit, type FileChange, lookInto } from '../src/memory/commit.ts';
import { type EntryRow, entriesWhere } from '../src/memory/entries.ts';
import { type Content, headsOf } from '../src/memory/file-rows.ts';
import { enterJob, isAtWork } from '../src/memory/job-rows.ts';
import { type KnownHistory, knownHistory, takeInLogs } from '../src/memory/log-history.ts';
import type { Memories, MemoryRow } from '../src/memory/memories.ts';
import { INDEX, withBuiltIndex } from '../src/memory/memory-index.ts';
import { isMemoryPath } from '../src/memory/memory-paths.ts';
import { keepApart } from '../src/memory/projects.ts';
import { joinLogs, logDay, parseLog, removeEntries } from '../src/memory/text/daily-log.ts';
import { editLines, isTopicFile, isTopicPath, parseTopic, saidId, withoutMark } from '../src/memory/text/topic.ts';
import type { Change } from '../src/memory/undo-rows.ts';
import { forgottenMarks, keepMarks } from './after-restore.ts';

type CarryDeps = { memories: Memories; memory: MemoryRow };

/** What is known of entries, beside the files. */
const HISTORY = '.nocturne/history.json';

/** `forgotten`: marks, so that it is not learned again elsewhere from the same source. */
type Carried = KnownHistory & {
  forgotten?: Awaited<ReturnType<typeof forgottenMarks>>;
  /** What lines topics ever had, by path. */
  lines?: Record<string, string[]>;
};

/** What may be carried of these files, without secrets; all else is skipped. */
async function fitting(files: { path: string; bytes: Buffer | null }[]) {
  const texts = new Map<string, string>();
  for (const { path, bytes } of files) {
    const text = bytes?.toString() ?? '';
    const isMarkdown = path.endsWith('.md') && isMemoryPath(path);
    if (isMarkdown && bytes?.equals(Buffer.from(text))) texts.set(path, (await redact(text)).text);
  }
  return { texts, skipped: files.map(({ path }) => path).filter((path) => !texts.has(path)) };
}

/** Errors: `bad-input` where the directory is there already. */
export async function exportMemory(directory: string, { memories, memory }: CarryDeps) {
  if (statNow(directory)) throw new AppError('bad-input', `${directory} exists already; nothing was written.`);
  await lookInto(memories, { memory: memory.id, paths: 'all' });
  const heads = await headsOf(memories.db, memory.id);
  const { texts, skipped } = await fitting(heads.map(({ path, content }) => ({ path: path ?? '', bytes: content })));
  for (const [path, text] of texts) writeWhole(join(directory, path), text);
  const history: Carried = {
    ...(await knownHistory(memories.db, memory.id)),
    forgotten: await forgottenMarks(memories.db, memory.id),
    lines: await linesEver(memories.db, memory.id),
  };
  writeWhole(join(directory, HISTORY), `${JSON.stringify(history)}\n`);
  return { outcome: 'exported', files: [...texts.keys()], skipped, job: null };
}

interface TakeInReport {
  /** `busy`: a dream is at work. That and `unchanged` changed nothing. */
  outcome: 'imported' | 'adopted' | 'unchanged' | 'busy';
  added: string[];
  changed: string[];
  /** Those that are others here, and stayed. */
  differing: string[];
  skipped: string[];
  job: string | null;
}

/** `isTheirs`: where a file differs, theirs is taken. Errors: `bad-input` where there is no such directory. */
export async function importMemory(
  { directory, isTheirs }: { directory: string; isTheirs: boolean },
  { memories, openMemory }: { memories: Memories; openMemory(): Promise<MemoryRow> },
): Promise<TakeInReport> {
  if (!isDirectory(directory)) throw new AppError('bad-input', `There is no directory ${directory}.`);
  const found = listFiles(directory).filter((path) => path !== HISTORY);
  const files = await fitting(found.map((path) => ({ path, bytes: readMemoryBytesNow(join(directory, path)) })));
  const known = (parseJson(readTextNow(join(directory, HISTORY)) ?? '') ?? undefined) as Carried | undefined;
  for (const path of Object.keys(known?.lines ?? {}))
    if (isTopicFile(path) && !files.texts.has(path)) files.texts.set(path, '');
  const merge = ({ path, ours, theirs, had }: Both) => {
    if (isTheirs && theirs !== '') return theirs;
    if (!isTopicFile(path)) return ours;
    const there = new Map(parseTopic(path, theirs).lines.map(({ text }) => [saidOf(text), text]));
    const was = new Set(known?.lines?.[path]);
    const lines = parseTopic(path, ours).lines.map(({ id, text }) => ({ id, said: saidOf(text) }));
    const remove = new Set(lines.filter(({ said }) => was.has(said) && !there.has(said)).map(({ id }) => id));
    if (theirs === '' && lines.every(({ id }) => remove.has(id))) return null;
    return editLines(ours, { remove, add: [...there].flatMap(([said, text]) => (had.has(said) ? [] : text)) });
  };
  return takeIn({ ...files, known, kind: 'import', merge }, { memories, memory: await openMemory() });
}

const saidOf = (text: string) => saidId(withoutMark(text));

/** What lines topics ever had, by path, save by changes that were taken back. */
async function linesEver(sql: Sql, memory: string): Promise<Record<string, string[]>> {
  const versions = await sql.all<{ path: string; content: Content }>(
    `select distinct v.path, v.content from version v join change c on c.id = v.change
     where v.memory = ? and v.path not like 'logs/%' and c.undone_by is null and v.content is not null`,
    memory,
  );
  const byPath = Map.groupBy(versions, ({ path }) => (isTopicFile(path) ? path : ''));
  byPath.delete('');
  const said = ({ path, content }: (typeof versions)[0]) => parseTopic(path, content?.toString() ?? '').lines;
  const ever = [...byPath].map(([path, of]) => [path, new Set(of.flatMap(said).map(({ text }) => text))] as const);
  return Object.fromEntries(ever.map(([path, texts]) => [path, [...texts].map(saidOf)]));
}

/** A file that both have; `theirs`: empty where it is there no more. `had`: the lines that ours ever had. */
type Both = { path: string; ours: string; theirs: string; had: Set<string> };

interface Given {
  /** By path. */
  texts: Map<string, string>;
  skipped: string[];
  /** What is known of the entries in them. */
  known?: Carried;
  kind: 'import' | 'adopt';
  /** What becomes of a file that both have. */
  merge(both: Both): string | null;
  /** Rows that come in with it; then it is a change even where no file is. */
  rows?(change: Change): Promise<void>;
}

/** Takes files of another memory into one. */
async function takeIn(
  { texts, skipped, known, kind, merge, rows }: Given,
  { memories, memory }: CarryDeps,
): Promise<TakeInReport> {
  const report: TakeInReport = { outcome: 'unchanged', added: [], changed: [], differing: [], skipped, job: null };
  const job = newId('job');
  const by = { job, actor: { kind: 'user', id: null } } as const;
  const target = { memory: memory.id, paths: 'all' } as const;
  const outcome = ({ import: 'imported', adopt: 'adopted' } as const)[kind];
  const committed = await commit(memories, target, by, async (sql) => {
    if (await isAtWork(sql, { memories: [memory.id], now: memories.clock.now() })) return { files: [] };
    const forgotten = await entriesWhere(sql, memory.id, "and state = 'gone' and reason = 'forgotten'");
    const leftOut = new Set(forgotten.map(({ id }) => id));
    const index = texts.get(INDEX) ?? null;
    const ever = await linesEver(sql, memory.id);
    const files = [...texts].map(([path, text]): FileChange => {
      const day = logDay(path);
      const had = new Set(ever[path]);
      const take = (ours: string | null) => {
        if (day === null) return ours === null ? text || null : merge({ path, ours, theirs: text, had });
        return ours === null ? removeEntries(text, leftOut) : joinLogs(ours, text, { day, leftOut });
      };
      const make = (current: string | null) => {
        const taken = take(current);
        if (current === null && taken === null) return null;
        if (current === null) report.added.push(path);
        else if (taken !== current) report.changed.push(path);
        else if (taken !== text && day === null) report.differing.push(path);
        return taken;
      };
      return { path, make };
    });
    const isChanged = () => report.added.length + report.changed.length > 0;
    const make = (current: string | null) => (isChanged() ? (current ?? index) : current);
    return {
      files: [...files.filter(({ path }) => path !== INDEX), { path: INDEX, make }],
      async rows(change) {
        await keepMarks(change.sql, known?.forgotten ?? []);
        await rows?.(change);
        if (isChanged()) await takeInLogs(change, memory.id, known);
        if (!isChanged() && !rows) return;
        report.job = job;
        await enterJob(change, { kind, memory: memory.id, outcome });
      },
    };
  });
  if (committed.files.length === 0) return { ...report, outcome: 'busy' };
  if (report.added.length + report.changed.length > 0)
    await commit(memories, target, by, (sql) => withBuiltIndex(sql, memory, []));
  return report.job === null ? report : { ...report, outcome };
}

// Adopt: a checkout of a project that is remembered under another path uses that memory from now on, because a person says so.
//
// 1. Take what is kept for the checkout alone: of its own memory, or what its agent wrote into its directory.
// 2. In one commit: lines that the memory lacks come into its topics, logs are joined, the directory leads to the memory, and what
//    was the checkout's own is put away. Undo takes all of it back.

interface AdoptDeps {
  memories: Memories;
  /** The one that is remembered. */
  memory: MemoryRow;
  /** The directory that is to lead to it. */
  place: string;
  /** The checkout's own memory, where it has one. */
  own: MemoryRow | null;
}

/** What both would bring: of each topic and log of the checkout's own the lines and the entries that the memory lacks. */
export async function previewAdoption(deps: AdoptDeps) {
  const { memories, memory, own } = deps;
  const theirs = await ownFiles(deps);
  await lookInto(memories, { memory: memory.id, paths: 'all' });
  const heads = await headsOf(memories.db, memory.id);
  const texts = new Map(heads.map(({ path, content }) => [path, content?.toString() ?? '']));
  // What a topic says already is not told of a log.
  const select = "select memory, id, state from entry where memory = ? or (memory = ? and state <> 'new')";
  const known = await memories.db.all<EntryRow>(select, memory.id, own?.id ?? '');
  const ids = new Set(known.map(({ id }) => id));
  const comes = [...theirs.texts].flatMap(([path, text]) => {
    if (isTopicPath(path)) return { path, lines: missingIn(path, { ours: texts.get(path) ?? '', theirs: text }) };
    const day = logDay(path);
    const lines = day === null ? [] : parseLog(text, day).flatMap((item) => (ids.has(item.id) ? [] : item.text));
    return lines.length === 0 ? [] : { path, lines };
  });
  return {
    topics: [...texts.keys()].filter((path) => path !== null && isTopicPath(path)).length,
    unsorted: known.filter((entry) => entry.memory === memory.id && entry.state === 'new').length,
    comes,
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
