// Carry: the Markdown of a memory as plain files in a directory, which tar, git or a disk carries further, and back.
// Promises: only Markdown goes out and comes in, and nothing through a link, with what is known of the entries beside it; secrets are
// taken out both ways; an import is an action that undo takes back. What is there stays, unless theirs is asked for; a log keeps the
// entries of both, what was forgotten stays so, and what was learned or sorted elsewhere is not done again.

import { join } from 'node:path';
import { AppError } from '../src/base/errors.ts';
import { isDirectory, listFiles } from '../src/base/files/directories.ts';
import { readMemoryBytesNow, readTextNow, statNow, writeWhole } from '../src/base/files/files.ts';
import { redact } from '../src/base/secrets/redact-text.ts';
import { parseJson } from '../src/base/text/json.ts';
import { newId } from '../src/db/sql.ts';
import { commit, type FileChange, lookInto } from '../src/memory/commit.ts';
import { entriesWhere } from '../src/memory/entries.ts';
import { headsOf } from '../src/memory/file-rows.ts';
import { enterJob, isAtWork } from '../src/memory/job-rows.ts';
import { type KnownHistory, knownHistory, takeInLogs } from '../src/memory/log-history.ts';
import type { Memories, MemoryRow } from '../src/memory/memories.ts';
import { INDEX, withBuiltIndex } from '../src/memory/memory-index.ts';
import { isMemoryPath } from '../src/memory/memory-paths.ts';
import { joinLogs, logDay, removeEntries } from '../src/memory/text/daily-log.ts';
import type { Change } from '../src/memory/undo-rows.ts';
import { forgottenMarks, keepMarks } from './after-restore.ts';

type CarryDeps = { memories: Memories; memory: MemoryRow };

/** What is known of entries, beside the files. */
const HISTORY = '.nocturne/history.json';

/** `forgotten`: marks, so that it is not learned again elsewhere from the same source. */
export type Carried = KnownHistory & { forgotten?: Awaited<ReturnType<typeof forgottenMarks>> };

/** What may be carried of these files, without secrets; all else is skipped. */
export async function fitting(files: { path: string; bytes: Buffer | null }[]) {
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
  };
  writeWhole(join(directory, HISTORY), `${JSON.stringify(history)}\n`);
  return { outcome: 'exported', files: [...texts.keys()], skipped, job: null };
}

export interface TakeInReport {
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
  const merge = ({ ours, theirs }: Both) => (isTheirs ? theirs : ours);
  return takeIn({ ...files, known, kind: 'import', merge }, { memories, memory: await openMemory() });
}

type Both = Record<'ours' | 'theirs', string>;

interface Given {
  /** By path. */
  texts: Map<string, string>;
  skipped: string[];
  /** What is known of the entries in them. */
  known?: Carried;
  kind: 'import' | 'adopt';
  /** What becomes of a topic that both have. */
  merge(both: Both): string;
  /** Rows that come in with it; then it is a change even where no file is. */
  rows?(change: Change): Promise<void>;
}

/** Takes files of another memory into one. */
export async function takeIn(
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
    const files = [...texts].map(([path, text]): FileChange => {
      const day = logDay(path);
      const take = (current: string | null) => {
        if (day === null) return current === null ? text : merge({ ours: current, theirs: text });
        return current === null ? removeEntries(text, leftOut) : joinLogs(current, text, { day, leftOut });
      };
      const make = (current: string | null) => {
        const taken = take(current);
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
      files: [...files.filter(({ path }) => !/^(?:MEMORY\.md$|index\/)/.test(path)), { path: INDEX, make }],
      async rows(change) {
        await keepMarks(change.sql, known?.forgotten ?? []);
        await rows?.(change);
        if (isChanged()) await takeInLogs(change, memory.id, known);
        if (!isChanged() && !rows) return;
        report.job = job;
        const of = { id: job, kind, memory: memory.id, outcome, at: change.at } as const;
        await enterJob(change.sql, { ...of, startedBy: 'person' });
      },
    };
  });
  if (committed.files.length === 0) return { ...report, outcome: 'busy' };
  if (report.added.length + report.changed.length > 0)
    await commit(memories, target, by, (sql) => withBuiltIndex(sql, memory, []));
  return report.job === null ? report : { ...report, outcome };
}
