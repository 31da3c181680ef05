// What is known of a memory beside its files, for whoever carries it elsewhere, and how a memory takes that in: of a directory that came
// from elsewhere, or was left behind by a database that is lost, what its logs and its index tell.

import type { Sql } from '../db/sql.ts';
import { type CommitDeps, commit } from './commit.ts';
import { type Head, headsOf } from './file-rows.ts';
import { followLog, type KnownEntry } from './log-edits.ts';
import { GENERATED, INDEX } from './memory-index.ts';
import { readLines } from './text/blocks.ts';
import { indexLine } from './text/index-file.ts';
import { isTopicPath, lineId, parseTopic } from './text/topic.ts';
import type { Change } from './undo-rows.ts';

/** What is known of the entries beside their logs. */
export interface KnownHistory {
  entries: KnownEntry[];
  /** Which lines of which files rest on what. */
  rests: { path: string; line: string; source: string }[];
}

const NOTHING: KnownHistory = { entries: [], rests: [] };

/** What `takeInLogs` takes in of a memory elsewhere, beside its logs. */
export async function knownHistory(sql: Sql, memory: string): Promise<KnownHistory> {
  return {
    entries: await sql.all(
      "select id, state, reason from entry where memory = ? and state <> 'gone' order by id",
      memory,
    ),
    rests: await sql.all(
      `select f.path, r.line, r.source from rests r join file f on f.memory = r.memory and f.id = r.file
       where r.memory = ? and f.path is not null order by f.path, r.line, r.source`,
      memory,
    ),
  };
}

/** Takes in what stands in the logs. What the state of entries is is told by the history, else by topics. */
export async function takeInLogs(change: Change, memory: string, { entries, rests } = NOTHING): Promise<void> {
  const { sql } = change;
  const heads = await headsOf(sql, memory);
  for (const { path, content } of heads)
    await followLog(change, { memory, path: path ?? '', before: null, after: content, known: entries });
  const files = new Map(heads.map((head) => [head.path, head.id]));
  const known = await sql.all<{ id: string }>('select id from entry where memory = ?', memory);
  const ids = new Set(known.map(({ id }) => id));
  for (const { path, line, source } of [...rests, ...generatedIn(heads)]) {
    const file = files.get(path);
    if (file !== undefined && (ids.has(source) || !source.startsWith('e_')))
      await keepRest(change, { memory, file, line, source });
  }
}

/** The same in a commit of its own. */
export async function takeInHistory(memories: CommitDeps, memory: string, job: string): Promise<void> {
  const by = { job, actor: { kind: 'job', id: job } } as const;
  const rows = (change: Change) => takeInLogs(change, memory);
  await commit(memories, { memory, paths: 'all' }, by, async () => ({ files: [], rows }));
}

async function keepRest(change: Change, row: { memory: string; file: string; line: string; source: string }) {
  const known = 'select 1 from rests where memory = ? and file = ? and line = ? and source = ?';
  if (!(await change.sql.get(known, ...Object.values(row)))) await change.put('rests', row);
}

/** The lines of the index as nocturne writes them. */
function generatedIn(heads: readonly Head[]): KnownHistory['rests'] {
  const topics = heads.flatMap(({ path, content }) =>
    path !== null && content && isTopicPath(path) ? parseTopic(path, content.toString()) : [],
  );
  const lines = new Set(topics.map((topic) => lineId(indexLine(topic))));
  const index = heads.find(({ path }) => path === INDEX)?.content?.toString() ?? '';
  const standing = readLines(index).map(({ text }) => lineId(text));
  return standing.filter((line) => lines.has(line)).map((line) => ({ path: INDEX, line, source: GENERATED }));
}
