// A memory as recall reads it: its rows, or, where nocturne has not worked, the Markdown in its directory, in which nothing is known
// of who wrote what. It changes nothing. A path leads to no file outside of the memory, and a file with git's conflict markers to none.

import { join } from 'node:path';
import { attempt } from '../../base/errors.ts';
import { listNames } from '../../base/files/directories.ts';
import { readMemoryNow, statNow } from '../../base/files/files.ts';
import type { Day } from '../../base/time.ts';
import { allOf, type Db } from '../../db/sql.ts';
import type { Found } from '../../rules/lessons.ts';
import { hasMarkers } from '../directory-look.ts';
import { type EntryRow, entriesAmong, handEdits } from '../entries.ts';
import { confine, foldPath, isMemoryPath } from '../memory-paths.ts';
import type { MemoryType } from '../memory-types.ts';
import { homeName, isOfOnePlace, type Ran, ranElsewhere, userOf } from '../persons.ts';
import { idsHolding } from '../search.ts';
import { inOneCase } from '../search-words.ts';
import { type LogItem, logDay, logPath, parseLog } from '../text/daily-log.ts';
import { isTopicPath } from '../text/topic.ts';

export interface ReadFile {
  text: string;
  changedAt: Date;
}

/** What was stated and no night has sorted into topics yet. */
export interface UnsortedEntry {
  id: string;
  day: string;
  type: MemoryType;
  text: string;
  /** What of the things known before it changes. */
  changes?: string;
  /** Nobody said it: a program put it into the log. */
  isPrograms: boolean;
  /** An agent found it out: which kind it is. */
  found?: Found;
  /** Whom it is of, where that is somebody else than the one whose session it is told. */
  of?: string;
}

export interface KnownLine {
  /** A program wrote it, and it rests on no entry. */
  isPrograms: boolean;
  /** On which day it was last said. */
  day: Day | null;
  /** When, to the second. */
  at?: string | null;
  /** What it rests on holds on one machine. */
  isOfMachine?: boolean;
  /** All its sources ran on another machine, or in another home. */
  isElsewhere?: boolean;
  /** Which kind of lesson it rests on. */
  found?: Found | null;
}

/** Entries of so many days are looked for, as the newest that wait tell, and what a person wrote into so many of the newest logs. */
const MOST_DAYS = 14;
const MOST_WAITING = 2_000;
const NEWEST_LOGS = 2;
const MOST_FRESH = 40;
/** A directory that changed no later than so long after its rows was changed with them. */
const JUST_PLACED_MS = 2_000;
/** So many of what the last session said tell what it was about. */
const MOST_OF_SUBJECT = 4;
/** So many words are looked for, each in so many of the newest lines; the best of those tell the topics. */
const MOST_WORDS = 16;
const MOST_WITH_WORD = 400;
const MOST_FOUND = 300;
/** What so few lines hold is rare; each with what its entry says in its log, and that quotes. */
const MOST_OF_RARE = 9;
/** So many lines stand for all, where it is told how rare a word is. */
const USUAL_LINES = 10_000;

/** Where a session runs, and by what the settings know the user. */
export interface Here {
  machine?: string;
  cwd?: string;
  userName?: string[];
}

/** Files as they stand this moment; `conflicted`: those that git left in conflict. */
function readFrom(dir: string, paths: readonly string[]) {
  const found = new Map<string, ReadFile>();
  const conflicted: string[] = [];
  for (const path of paths) {
    const absolute = fileAt(dir, path);
    const text = absolute && readMemoryNow(absolute);
    if (text?.includes('<<<<<<<') && hasMarkers(Buffer.from(text))) conflicted.push(path);
    else if (text !== null)
      found.set(path, { text, changedAt: new Date(statNow(absolute as string)?.modifiedMs ?? 0) });
  }
  return { found, conflicted };
}

/** Files right in a directory that git left in conflict. */
export function conflictedIn(dir: string): string[] {
  const names = listNames(dir).filter((name) => name.endsWith('.md'));
  return readFrom(dir, names).conflicted;
}

function fileAt(dir: string, path: string): string | null {
  // A name right in the directory needs no closer look than at itself: it leads nowhere else.
  if (/^[!-.0-~]+$/.test(path) && isMemoryPath(path)) return statNow(join(dir, path))?.isFile ? join(dir, path) : null;
  const place = attempt(
    () => confine(dir, path),
    () => null,
    'bad-input',
  );
  return place?.kind === 'file' ? place.absolute : null;
}

function newTopicsIn(dir: string, known: ReadonlySet<string>): string[] {
  return listNames(dir).filter((name) => !known.has(name) && isTopicPath(name) && isMemoryPath(name));
}

function newestLogs(dir: string): string[] {
  const year = listNames(join(dir, 'logs')).findLast((name) => /^\d{4}$/.test(name));
  const month = year && listNames(join(dir, 'logs', year)).findLast((name) => /^\d\d$/.test(name));
  const files = month ? listNames(join(dir, 'logs', year, month)).map((name) => `logs/${year}/${month}/${name}`) : [];
  return files.filter((path) => logDay(path) !== null).slice(-NEWEST_LOGS);
}

/**
 * `dir`: where it is on this machine; its files are read as they stand, and what git left in conflict as it was before. `db`, `id`: left
 * out where nocturne has not worked.
 */
export function sourceOf({
  db: sql = NO_ROWS,
  id: memory = '',
  dir,
  here = {},
}: {
  db?: Db;
  id?: string;
  dir: string | null;
  here?: Here;
}) {
  /** Those of these files that are there, by the path that was asked for. */
  async function read(paths: readonly string[]): Promise<Map<string, ReadFile>> {
    const { found, conflicted } = dir === null ? { found: new Map(), conflicted: paths } : readFrom(dir, paths);
    const asked = new Map(conflicted.map((path) => [foldPath(path), path]));
    const select = `select file.folded, version.at, version.content from file
      join version on version.id = file.head where file.memory = ? and file.folded in (#)`;
    type Found = { folded: string; at: string; content: Buffer | null };
    const rows = await allOf<Found>(sql, select, [...asked.keys()], memory);
    for (const { folded, at, content } of rows)
      if (content) found.set(asked.get(folded) as string, { text: content.toString(), changedAt: new Date(at) });
    return found;
  }
  /** What rows know of the lines of these files, by path and by the line's id; of a person's own nothing. */
  async function lines(paths: readonly string[]): Promise<Map<string, Map<string, KnownLine>>> {
    // Asked for first: joined to what lines rest on, SQLite would go through what all lines of the memory rest on.
    const select = 'select id, path from file where memory = ? and path in (#)';
    const files = await allOf<{ id: string; path: string }>(sql, select, paths, memory);
    // Of one that is gone it is still known where it was said.
    const resting = `select r.file, r.line, r.source, e.day, e.at, e.found, s.machine, s.cwd,
        case when e.text like 'On this machine%' then 1 else 0 end as one
      from rests r left join entry on entry.memory = r.memory and entry.id = r.source
      left join entry e on e.memory = entry.memory and e.id = entry.id and e.state <> 'gone'
      left join session s on s.id = entry.session where r.memory = ? and r.file in (#)`;
    const rows = Map.groupBy(
      await allOf<Rest>(
        sql,
        resting,
        files.map(({ id }) => id),
        memory,
      ),
      ({ file }) => file,
    );
    return new Map(
      files.map(({ id, path }) => {
        const byLine = [...Map.groupBy(rows.get(id) ?? [], ({ line }) => line)];
        return [path, new Map(byLine.map(([line, on]) => [line, knownOf(on, here)]))];
      }),
    );
  }
  /** Whose rules these are, where that is somebody else than the one whose session it is; else null. */
  async function whose(): Promise<string | null> {
    const home = homeName(here.cwd);
    if (home === undefined) return null;
    const user = await userOf(sql, memory, here.userName);
    return user.otherBy([home]) === null ? null : (user.name ?? null);
  }
  return {
    ...{ read, lines, whose },
    /** Living topics of which a line or the description holds these words, the best first; `rare`: the words that few lines hold. */
    holding: (words: readonly string[]) => topicsHolding(sql, memory, words),
    /** Topics in the directory that have no row yet, then those that changed last. */
    async fresh(): Promise<string[]> {
      const newest = await sql.all<{ path: string; at: string }>(
        `select file.path, max(file.updated_at) as at
         from (select memory, file, seq from version where memory = ? order by seq desc limit ?) last
         join file on file.memory = last.memory and file.id = last.file
         where file.meta is not null and file.path is not null group by file.path order by max(last.seq) desc`,
        ...[memory, MOST_FRESH],
      );
      const paths = newest.map(({ path }) => path);
      const isSame = (statNow(dir ?? '')?.modifiedMs ?? 0) < Date.parse(newest[0]?.at ?? '') + JUST_PLACED_MS;
      if (dir === null || isSame) return paths;
      // One value instead of as many rows.
      const list = sql.engine === 'sqlite' ? 'json_group_array(path)' : 'cast(json_agg(path) as text)';
      const row = await sql.get<{ known: string | null }>(
        `select ${list} as known from file where memory = ? and path is not null`,
        memory,
      );
      return [...newTopicsIn(dir, new Set(JSON.parse(row?.known ?? '[]'))), ...paths];
    },
    /** What the last session that was learned from said, in its own words. */
    async lastSubject(): Promise<string> {
      const rows = await sql.all<{ text: string }>(
        `select text from entry where state <> 'gone' and job = (select id from job where memory = ? and kind = 'extract'
           and exists (select 1 from entry where entry.job = job.id and entry.state <> 'gone')
           order by created_at desc limit 1) order by at desc limit ?`,
        ...[memory, MOST_OF_SUBJECT],
      );
      return rows.map(({ text }) => text).join('\n');
    },
    /** When these topics were last used, by path. */
    async usedAt(paths: readonly string[]): Promise<Map<string, string>> {
      const select = `select path, (select used_at from topic_use where topic_use.memory = file.memory
        and topic_use.file = file.id) as at from file where memory = ? and path in (#)`;
      const rows = await allOf<{ path: string; at: string | null }>(sql, select, paths, memory);
      return new Map(rows.map(({ path, at }) => [path, at ?? '']));
    },
    /** Newest first. `isQuick`: of the days alone of which rows know some. */
    async unsorted({ isQuick = false } = {}): Promise<UnsortedEntry[]> {
      // By time, as by day SQLite would go through all entries of the memory.
      const waiting = await sql.all<{ day: string }>(
        "select day from entry where memory = ? and state = 'new' order by at desc limit ?",
        ...[memory, MOST_WAITING],
      );
      const known = [...new Set(waiting.map(({ day }) => day))].slice(0, MOST_DAYS);
      const newest = isQuick || dir === null ? [] : newestLogs(dir);
      const paths = new Set([...known.map(logPath), ...newest]);
      const logs = await read([...paths]);
      const items = itemsOf(logs);
      const named = [...items.values()].flatMap((those) => those.map(({ id }) => id));
      const rows = [
        ...(await entriesAmong(sql, memory, { column: 'day', of: [...items.keys()] })),
        ...(await entriesAmong(sql, memory, { column: 'id', of: named })),
      ];
      const written = [...(await lines([...logs.keys()])).values()].flatMap((of) => [...of]);
      const byPrograms = new Set(written.flatMap(([id, { isPrograms }]) => (isPrograms ? id : [])));
      const of = await whose();
      const away = new Set(rows.flatMap((row) => (isOfOnePlace(row.text) && ranElsewhere(row, here) ? row.id : [])));
      const told = unsortedIn(items, { memory, rows, byPrograms }).filter(({ id }) => !away.has(id));
      return told.map((entry) =>
        of !== null && (entry.type === 'user' || entry.type === 'feedback') ? { ...entry, of } : entry,
      );
    },
  };
}

export type RecallSource = ReturnType<typeof sourceOf>;

/** What is read where nothing is known. */
const NO_ROWS = { engine: 'sqlite', all: async () => [], get: async () => undefined } as unknown as Db;

type Rest = Ran & { file: string; line: string; source: string; one: number } & Pick<KnownLine, 'day' | 'at' | 'found'>;

/** What is known of a line by what it rests on. */
function knownOf(on: readonly Rest[], here: Here): KnownLine {
  const newest = <Column extends 'day' | 'at' | 'found'>(column: Column) =>
    on.reduce<Rest[Column] | null>((last, { [column]: each }) => (each && (!last || each > last) ? each : last), null);
  return {
    ...{ day: newest('day'), at: newest('at'), found: newest('found') },
    isPrograms: on.every(({ source }) => /^(?:api|session):/.test(source)),
    isOfMachine: on.some(({ one }) => one === 1),
    isElsewhere: on.every((each) => ranElsewhere(each, here)),
  };
}

/** What stands in logs, by day. */
function itemsOf(logs: Map<string, ReadFile>): Map<Day, LogItem[]> {
  return new Map([...logs].map(([path, { text }]) => [logDay(path) ?? '', parseLog(text, logDay(path) ?? '')]));
}

/** What the logs say now, in place of what their rows say. */
function unsortedIn(
  logs: Map<Day, LogItem[]>,
  { memory, rows, byPrograms }: { memory: string; rows: EntryRow[]; byPrograms?: Set<string> },
): UnsortedEntry[] {
  const entries = new Map(rows.map((row) => [row.id, row]));
  const known = [...entries.values()];
  for (const edit of handEdits({ memory, logs, rows: known, byPrograms })) entries.set(edit.id, edit);
  const days = [...logs].sort(([a], [b]) => (a < b ? 1 : -1));
  const items = days.flatMap(([, those]) => those.toReversed());
  return [...new Set(items.map(({ id }) => id))].flatMap((id) => {
    const entry = entries.get(id);
    // What was only shown no session is told before a night has seen it; what an agent found out rests on its calls.
    if (entry?.state !== 'new' || (entry.strength !== 'stated' && !entry.found)) return [];
    const { day, type, text, changes, by, evidence, found } = entry;
    const isPrograms = by === 'assistant' && evidence.length === 0;
    return { id, day, type, text, isPrograms, ...(changes && { changes }), ...(found && { found }) };
  });
}

/** Living topics with lines that hold these words, the best first: by what its best line holds, rare words weighing more. */
async function topicsHolding(db: Db, memory: string, words: readonly string[]) {
  const sought = Map.groupBy(
    words.toSorted((a, b) => b.length - a.length),
    (word) => stemOf(inOneCase(word)),
  );
  const scores = new Map<number, number>();
  const rare = new Set<string>();
  for (const [text, forms] of [...sought].slice(0, MOST_WORDS)) {
    const ids = await idsHolding(db, memory, { texts: [text], most: MOST_WITH_WORD });
    if (ids.length <= MOST_OF_RARE) for (const word of forms) rare.add(word);
    const weight = Math.log(1 + USUAL_LINES / Math.max(1, ids.length));
    for (const id of ids) scores.set(id, (scores.get(id) ?? 0) + weight);
  }
  const best = [...scores].sort(([a, x], [b, y]) => y - x || b - a).slice(0, MOST_FOUND);
  // Without the memory, of which SQLite would go through all lines.
  const ids = best.map(([id]) => id);
  const lines = await allOf<{ id: number; file: string }>(db, 'select id, file from line where id in (#)', ids);
  const files = await allOf<{ id: string; path: string }>(
    db,
    "select id, path from file where memory = ? and id in (#) and meta is not null and path not like 'archive/%'",
    [...new Set(lines.map(({ file }) => file))],
    memory,
  );
  const pathOf = new Map(files.map(({ id, path }) => [id, path]));
  const paths = new Map(lines.map(({ id, file }) => [id, pathOf.get(file)]));
  const topics = new Map<string, number>();
  for (const [id, score] of best) {
    const path = paths.get(id);
    if (path !== undefined && !topics.has(path)) topics.set(path, score);
  }
  return { topics, rare };
}

/** What all forms of a word begin with; a short one stands behind a space, since letters are looked for three at a time. */
function stemOf(word: string): string {
  const stem = /^[a-z]{5,}$/.test(word) ? word.replace(/(?:e?s|e?d|ing|e)$/, '') : word;
  return [...stem].length < 3 ? ` ${stem}` : stem;
}
