// What the logs of a memory tell of entries that no row knows: of a directory that came from elsewhere, or was left behind by a
// database that is lost. The entries come in with their quotes and their sources, and what they were learned from counts as read.
// Promises: an entry that is known stays as it is, and so does what a person wrote; nothing that was forgotten comes back.

import { allOf, insert, newId, type Sql } from '../db/sql.ts';
import { type CommitDeps, commit } from './commit.ts';
import { coverageWhere } from './coverage.ts';
import { type EntryRow, type EntryState, entriesAmong, putEntry } from './entries.ts';
import { type Head, headsOf } from './file-rows.ts';
import { GENERATED, INDEX } from './memory-index.ts';
import { readLines } from './text/blocks.ts';
import { logDay, parseLog } from './text/daily-log.ts';
import { indexLine } from './text/index-file.ts';
import { isArchivePath, isTopicFile, isTopicPath, lineId, parseTopic } from './text/topic.ts';
import type { Change } from './undo-rows.ts';

/** What is known of the entries beside their logs. */
export interface KnownHistory {
  entries: { id: string; state: EntryState; reason: string | null }[];
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

/** Takes in what stands in the logs; answers how many entries that were. What their state is is told by `known`, else by topics. */
export async function takeInLogs(change: Change, memory: string, { entries, rests } = NOTHING): Promise<number> {
  const { sql, job } = change;
  const heads = await headsOf(sql, memory);
  const items = heads.flatMap(({ path, content }) => {
    const day = logDay(path ?? '');
    return day && content ? parseLog(content.toString(), day) : [];
  });
  const own = items.flatMap((item) => (item.kind === 'own' && !item.edited ? item : []));
  const rows = await entriesAmong(sql, memory, { column: 'id', of: own.map(({ id }) => id) });
  const knownIds = new Set(rows.map(({ id }) => id));
  const added = own.filter(({ id }) => !knownIds.has(id));
  const files = new Map(heads.map((head) => [head.path, head.id]));
  const standing = linesByText(heads);
  const states = new Map(entries.map((each) => [each.id, each]));
  const sessions = await sessionsNamed(change, memory, [...new Set(added.map(({ session }) => session))]);
  for (const { kind: _, edited: __, ...item } of added) {
    const session = sessions.get(item.session) ?? null;
    const place = standing.get(item.text);
    const state = states.get(item.id)?.state ?? (place ? (isArchivePath(place.path) ? 'archived' : 'placed') : 'new');
    const reason = states.get(item.id)?.reason ?? null;
    const row: EntryRow = { ...item, memory, session, turn: item.turn || null, job, state, reason };
    await putEntry(change, row);
    if (place) await change.put('rests', { memory, file: place.file, line: place.line, source: item.id });
    if (session !== null && row.turn !== null) await assumeRead(change, { ...row, session, turn: row.turn });
  }
  const ids = new Set(own.map(({ id }) => id));
  for (const { path, line, source } of [...rests, ...generatedIn(heads)]) {
    const file = files.get(path);
    if (file !== undefined && (ids.has(source) || !source.startsWith('e_')))
      await keepRest(change, { memory, file, line, source });
  }
  return added.length;
}

/** The same in a commit of its own. */
export async function takeInHistory(memories: CommitDeps, memory: string, job: string): Promise<number> {
  let count = 0;
  const by = { job, actor: { kind: 'job', id: job } } as const;
  await commit(memories, { memory, paths: 'all' }, by, async () => ({
    files: [],
    async rows(change) {
      count = await takeInLogs(change, memory);
    },
  }));
  return count;
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

interface Place {
  file: string;
  path: string;
  line: string;
}

/** The lines of topics, by what they say: what an entry says word for word rests on it. */
function linesByText(heads: readonly Head[]): Map<string, Place> {
  const places = new Map<string, Place>();
  for (const { id: file, path, content } of heads) {
    if (path === null || !content || !isTopicFile(path)) continue;
    for (const { id, text } of parseTopic(path, content.toString()).lines)
      if (!places.has(text)) places.set(text, { file, path, line: id });
  }
  return places;
}

/** The ids of the rows of sessions, which are made where they are missing. */
async function sessionsNamed({ sql, at }: Change, memory: string, names: string[]): Promise<Map<string, string>> {
  const rows = names.flatMap((name) => (name === '' ? [] : { id: newId('session'), name, memory, created_at: at }));
  await insert(sql, 'session', rows, 'on conflict (memory, name) do nothing');
  const select = 'select id, name from session where memory = ? and name in (#)';
  const found = await allOf<{ id: string; name: string }>(sql, select, names, memory);
  return new Map(found.map(({ id, name }) => [name, id]));
}

/** A turn that gave an entry was read, with all before it. */
async function assumeRead(
  change: Change,
  { memory, session, turn: id, day }: EntryRow & { session: string; turn: string },
): Promise<void> {
  if ((await coverageWhere(change.sql, { session, id })).some(({ state }) => state !== 'undone')) return;
  const assumed = { state: 'skipped', reason: 'assumed', day, job: change.job };
  await change.put('turn', { session, id, begins: '', memory, through: '', ...assumed });
}
