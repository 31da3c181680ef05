// What a line of a topic rests on: entries, or the program that wrote it; a line that rests on nothing is a person's. What a line
// rests on follows it where an edit rewords it recognisably, or moves it to another topic; nothing is dropped by an edit, so a line
// that comes back rests on what it did. Which lines are seen once, or rest on what is gone, is asked here, and never stored.
// And what is told of a line and of an entry, for whoever asks why something is remembered: which words gave it, what became of it.

import { AppError } from '../base/errors.ts';
import { allOf, keepSetting, type Sql, settingOf } from '../db/sql.ts';
import { type Found, type Way, wayOf } from '../rules/lessons.ts';
import { containsLiteral, literals } from '../rules/literals.ts';
import { contentWords, isNegated, similarity } from '../rules/words.ts';
import { entriesAmong, isInLog, type KeptEntry } from './entries.ts';
import { type Actor, headAt } from './file-rows.ts';
import type { Evidence } from './memory-types.ts';
import { compare } from './text/blocks.ts';
import { logDay, logPath, parseLog } from './text/daily-log.ts';
import { isTopicFile, lineId, lineNumbers, parseTopic, type TopicLine } from './text/topic.ts';
import { type Change, keyOf } from './undo-rows.ts';

interface Rest {
  file: string;
  line: string;
  /** The id of an entry, or `api:…`, `session:…` of a program. */
  source: string;
}

/** What the lines of a file rest on. */
export function restsOf(sql: Sql, memory: string, file: string): Promise<Rest[]> {
  return sql.all<Rest>('select file, line, source from rests where memory = ? and file = ?', memory, file);
}

/** Follows the lines of a topic from what it was to what an edit made of it. */
export async function followLines(
  change: Change,
  { memory, file, path, before, after }: { memory: string; file: string; path: string; before: string; after: string },
): Promise<void> {
  if (!isTopicFile(path)) return;
  const was = parseTopic(path, before).lines;
  const is = parseTopic(path, after).lines;
  const known = new Set(was.map(({ id }) => id));
  const standing = new Set(is.map(({ id }) => id));
  const added = is.filter(({ id }) => !known.has(id));
  if (added.length === 0) return;
  const rests = Map.groupBy(await restsOf(change.sql, memory, file), ({ line }) => line);
  const gone = Map.groupBy(
    was.filter(({ id }) => rests.has(id) && !standing.has(id)),
    beginningsOf,
  );
  // A file may have as many lines as it has bytes: all of them are asked for at once.
  const unknown = added.flatMap(({ id }) => (rests.has(id) ? [] : id));
  const same = 'select distinct line, source from rests where memory = ? and line in (#)';
  const elsewhere = await allOf<Omit<Rest, 'file'>>(change.sql, same, unknown, memory);
  const bySame = Map.groupBy(elsewhere, ({ line }) => line);
  const found = [...new Map(added.map((line) => [line.id, line])).values()].flatMap((line) => {
    if (rests.has(line.id)) return [];
    const former = gone.size > 0 && gone.get(beginningsOf(line))?.find((other) => isSameLine(other, line));
    const sources = former ? rests.get(former.id) : bySame.get(line.id);
    return (sources ?? []).map(({ source }) => ({ memory, file, line: line.id, source }));
  });
  await change.add('rests', found);
}

/** The same where a change was made by somebody who is known: what a program adds is its word, not the person's. */
export async function followChange(
  change: Change,
  actor: Actor,
  of: { memory: string; file: string; path: string; before: string; after: string },
): Promise<void> {
  const { memory, file, path, before, after } = of;
  await followLines(change, of);
  if (actor.kind !== 'api' && actor.kind !== 'session') return;
  const rests = new Set((await restsOf(change.sql, memory, file)).map(({ line }) => line));
  const was = saidIn(path, before);
  const said = [...saidIn(path, after)].filter((line) => !was.has(line) && !rests.has(line));
  const source = `${actor.kind}:${actor.id}`;
  await change.add(
    'rests',
    said.map((line) => ({ memory, file, line, source })),
  );
}

const HEADINGS = /^ {0,3}#{1,6}[ \t].*$/gm;

/** The ids of what a file says: lines, headings, description; of a log the entries that no job sealed. */
function saidIn(path: string, text: string): Set<string> {
  const day = logDay(path);
  if (day !== null) {
    const items = parseLog(text, day).filter((item) => item.kind === 'adopted' || item.edited);
    return new Set(items.map((item) => lineId(item.text)));
  }
  const { lines, description } = parseTopic(path, text);
  const headings = text.match(HEADINGS) ?? [];
  return new Set([...lines.map(({ id }) => id), ...[...headings, description].map((each) => lineId(each.trim()))]);
}

/** The same for lines of the same words: another ending begins behind the fourth letter. */
function beginningsOf({ text }: TopicLine): string {
  return [...new Set([...contentWords(text)].map((word) => word.slice(0, 4)))].sort().join(' ');
}

function isSameLine({ text: a }: TopicLine, { text: b }: TopicLine): boolean {
  return (
    similarity(a, b) === 1 &&
    isNegated(a) === isNegated(b) &&
    literals(a).every((value) => containsLiteral(value, b)) &&
    literals(b).every((value) => containsLiteral(value, a))
  );
}

export type RestingLine = { path: string; id: string; text: string };

/**
 * The standing lines that rest on these entries alone, or with ones that are gone, and those that rest on others, too: for whoever
 * takes a source away.
 */
export async function restingOn(
  sql: Sql,
  memory: string,
  entries: readonly string[],
): Promise<{ alone: RestingLine[]; shared: RestingLine[] }> {
  const taken = new Set(entries);
  const found: { alone: RestingLine[]; shared: RestingLine[] } = { alone: [], shared: [] };
  const select = `select distinct r.file, f.path from rests r join file f on f.memory = r.memory and f.id = r.file
    where f.path is not null and r.memory = ? and r.source in (#)`;
  const files = await allOf<{ file: string; path: string }>(sql, select, entries, memory);
  for (const [file, path] of [...new Map(files.map((each) => [each.file, each.path]))].sort(([, a], [, b]) =>
    compare(a, b),
  )) {
    const rests = await sql.all<{ line: string; source: string; state: string | null }>(
      `select r.line, r.source, e.state from rests r left join entry e on e.memory = r.memory and e.id = r.source
       where r.memory = ? and r.file = ?`,
      ...[memory, file],
    );
    const isGone = ({ source, state }: (typeof rests)[0]) =>
      taken.has(source) || state === 'gone' || (state === null && source.startsWith('e_'));
    const byLine = Map.groupBy(rests, ({ line }) => line);
    const head = await headAt(sql, memory, path);
    for (const { id, text } of parseTopic(path, head?.content?.toString() ?? '').lines) {
      const own = byLine.get(id) ?? [];
      if (own.some(({ source }) => taken.has(source)))
        found[own.every(isGone) ? 'alone' : 'shared'].push({ path, id, text });
    }
  }
  return found;
}

/** So many of the newest are kept. */
const MOST_OVERTAKEN = 300;
const overtakenKey = (memory: string) => `overtaken:${memory}`;

type Overtaken = [line: string, at: string, job?: string];

async function notedLines(sql: Sql, memory: string): Promise<Overtaken[]> {
  return JSON.parse((await settingOf(sql, overtakenKey(memory))) ?? '[]');
}

/** The lines that calls of a session may have overtaken since, with the time at which it began; none whose learning was undone. */
export async function overtakenLines(sql: Sql, memory: string): Promise<Map<string, string>> {
  const noted = await notedLines(sql, memory);
  const select = 'select distinct job from change where undone_by is not null and job in (#)';
  const jobs = [...new Set(noted.flatMap(([, , job]) => job ?? []))];
  const undone = new Set((await allOf<{ job: string }>(sql, select, jobs)).map(({ job }) => job));
  return new Map(noted.flatMap(([line, at, job = '']) => (undone.has(job) ? [] : [[line, at] as const])));
}

export async function noteOvertaken(
  sql: Sql,
  memory: string,
  { lines, at, job }: { lines: readonly string[]; at: string; job: string },
) {
  if (lines.length === 0) return;
  const again = new Set(lines);
  const others = (await notedLines(sql, memory)).filter(([line]) => !again.has(line));
  const noted = [...others, ...[...again].map((line) => [line, at, job])];
  await keepSetting(sql, overtakenKey(memory), JSON.stringify(noted.slice(-MOST_OVERTAKEN)));
}

/** A line that rests on what an agent found out. */
export interface FoundLine extends Rest {
  path: string;
  found: Found;
  /** Where that session ran. */
  cwd: string | null;
  machine: string | null;
  way: Way | null;
  evidence: Evidence[];
  /** What the lesson says. */
  text: string;
}

/**
 * The lines that rest on lessons which stand, once for each lesson, or on those with such evidence; a line may not stand any more. What
 * no night has sorted yet has no path, and its entry's id for a line.
 */
export async function foundLines(
  sql: Sql,
  memory: string,
  isMeant: (evidence: readonly Evidence[], text: string) => boolean = () => true,
): Promise<FoundLine[]> {
  type Row = Pick<FoundLine, 'source' | 'found' | 'cwd' | 'machine' | 'text'> & { quotes: string; state: string };
  const rows = await sql.all<Row>(
    `select e.id as source, e.state, e.found, e.text, e.quotes, s.cwd, s.machine from entry e left join session s on s.id = e.session
     where e.memory = ? and e.found is not null and e.state <> 'gone' order by e.at`,
    memory,
  );
  const unsorted = new Set(rows.flatMap(({ source, state }) => (state === 'new' ? source : [])));
  const lessons = rows.flatMap(({ quotes, state: _, ...row }) => {
    const evidence: Evidence[] = JSON.parse(quotes);
    return isMeant(evidence, row.text) ? [{ ...row, evidence, way: wayOf(evidence) }] : [];
  });
  // Not in one statement: it would go through what all lines rest on.
  const select = `select r.file, f.path, r.line, r.source from rests r join file f on f.memory = r.memory and f.id = r.file
    where r.memory = ? and f.path is not null and r.source in (#)`;
  const sources = lessons.map(({ source }) => source);
  const lines = Map.groupBy(await allOf<Rest & { path: string }>(sql, select, sources, memory), ({ source }) => source);
  const linesOf = (source: string) =>
    lines.get(source) ?? (unsorted.has(source) ? [{ file: '', path: '', line: source, source }] : []);
  const found = lessons.flatMap((lesson) => linesOf(lesson.source).map((line) => ({ ...lesson, ...line })));
  return found.sort((a, b) => (a.path === b.path ? compare(a.line, b.line) : compare(a.path, b.path)));
}

export interface ExplainedEntry extends Omit<KeptEntry, 'changes'> {
  changes: string | null;
  /** As its agent calls it; null where no session said it. */
  session: string | null;
  /** The daily log that holds it, or held it. */
  log: string;
  /** False: it is gone, and what rests on it alone goes, too. */
  isInLog: boolean;
}

export interface ExplainedLine {
  path: string;
  /** First line in the file, from 1. */
  number: number;
  id: string;
  text: string;
  /** It rests on nothing: a person wrote it. */
  isPersons: boolean;
  /** It rests on no entry, and a program wrote it: `api:…` with the key, or `session:…`. */
  program: string | null;
  /** Who shared it, in a memory that is checked in. */
  authors: string[];
  /** By time. */
  entries: ExplainedEntry[];
}

/** Entries with where they were said, by time. */
export async function explainEntries(sql: Sql, memory: string, ids: readonly string[]): Promise<ExplainedEntry[]> {
  const rows = await entriesAmong(sql, memory, { column: 'id', of: ids });
  return rows.map(({ changes = null, ...row }) => ({
    ...{ ...row, changes, session: row.name },
    ...{ log: logPath(row.day), isInLog: isInLog(row) },
  }));
}

/**
 * The lines of a topic, those `among` these ids, or the one that `line` names (its number from 1, or its id), with what they rest
 * on. Errors: `bad-input` where there is no such topic or line.
 */
export async function explainLines(
  sql: Sql,
  { memory, path, line, among }: { memory: string; path: string; line?: string; among?: ReadonlySet<string> },
): Promise<ExplainedLine[]> {
  const head = isTopicFile(path) ? await headAt(sql, memory, path) : null;
  if (!head?.content) {
    throw new AppError('bad-input', `There is no topic ${path} in this memory.`, {
      remedy: 'Name a topic file, as MEMORY.md lists them, or an entry (e_…).',
    });
  }
  const at = Number(line);
  const lines = lineNumbers(head.content.toString()).filter(
    ({ id, first, last }) =>
      (line === undefined || id === line || (at >= first && at <= last)) && (among?.has(id) ?? true),
  );
  if (lines.length === 0) {
    throw new AppError('bad-input', `${path} has no ${line === undefined ? 'lines' : `line of memory at ${line}`}.`, {
      remedy: `nocturne why ${path} shows all of its lines.`,
    });
  }
  const rests = Map.groupBy(await restsOf(sql, memory, head.id), (rest) => rest.line);
  const sources = new Set(lines.flatMap(({ id }) => (rests.get(id) ?? []).map(({ source }) => source)));
  const known = await explainEntries(sql, memory, [...sources]);
  return lines.map(({ id, text, first: number, authors }) => {
    const own = new Set((rests.get(id) ?? []).map(({ source }) => source));
    const entries = known.filter((entry) => own.has(entry.id));
    const program = entries.length > 0 ? null : ([...own].find((source) => /^(?:api|session):/.test(source)) ?? null);
    return { path, number, id, text, isPersons: own.size === 0, program, authors, entries };
  });
}

/** The nights that made something of an entry, the earliest first, as far as undo is kept. */
export function nightsOf(
  sql: Sql,
  memory: string,
  entry: string,
): Promise<{ job: string; at: string; output: string | null }[]> {
  return sql.all(
    `select distinct job.id as job, job.created_at as at, job.output
     from undo u join change c on c.id = u.change join job on job.id = c.job
     where u.tbl = 'entry' and u.key = ? and job.kind = 'dream' order by job.created_at, job.id`,
    keyOf('entry', { memory, id: entry }),
  );
}
