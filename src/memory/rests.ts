// What a line of a topic rests on: entries, or the program that wrote it; a line that rests on nothing is a person's. What a line
// rests on follows it where an edit rewords it recognisably, or moves it to another topic; nothing is dropped by an edit, so a line
// that comes back rests on what it did. Which lines are seen once, or rest on what is gone, is asked here, and never stored.

import { allOf, type Sql } from '../db/sql.ts';
import { type Found, type Way, wayOf } from '../rules/lessons.ts';
import { containsLiteral, literals } from '../rules/literals.ts';
import { contentWords, isNegated, similarity } from '../rules/words.ts';
import { type Actor, headAt } from './file-rows.ts';
import type { Evidence } from './memory-types.ts';
import { logDay, parseLog } from './text/daily-log.ts';
import { isTopicFile, lineId, parseTopic, type TopicLine } from './text/topic.ts';
import { type Change, keyFrom } from './undo-rows.ts';

export interface Rest {
  file: string;
  line: string;
  /** The id of an entry, or `api:…`, `session:…` of a program. */
  source: string;
}

/** What the lines of a file rest on. */
export function restsOf(sql: Sql, memory: string, file: string): Promise<Rest[]> {
  return sql.all<Rest>('select file, line, source from rests where memory = ? and file = ?', memory, file);
}

/** What lines of a file rested on when a version of it was made and do no more, by entries that are not gone. */
export async function restsThen(
  sql: Sql,
  { memory, file, version }: { memory: string; file: string; version: string },
): Promise<Rest[]> {
  const key = `${JSON.stringify([memory, file]).slice(0, -1)},`;
  const rows = await sql.all<{ key: string; before: string | null }>(
    `select u.key, u.before from undo u join change c on c.id = u.change
     where u.tbl = 'rests' and u.key >= ? and u.key < ? and c.n > (select made.n from change made
       join version v on v.change = made.id where v.id = ?) order by c.n desc, u.n desc`,
    ...[key, `${key}\u{10ffff}`, version],
  );
  // The oldest image is what stood there then.
  const former = [...new Map(rows.map((row) => [row.key, row])).values()].filter(({ before }) => before !== null);
  const rests = former.map((row) => keyFrom('rests', row.key) as unknown as Rest);
  const select = "select id from entry where memory = ? and state <> 'gone' and id in (#)";
  const sources = rests.map(({ source }) => source);
  const standing = await allOf<{ id: string }>(sql, select, sources, memory);
  const stands = new Set(standing.map(({ id }) => id));
  // Else a program wrote it.
  const isEntry = ({ source }: Rest) => source.startsWith('e_');
  return rests
    .filter((rest) => !isEntry(rest) || stands.has(rest.source))
    .map(({ line, source }) => ({ file, line, source }));
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

export interface RestingLine {
  path: string;
  id: string;
  text: string;
}

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
  for (const [file, path] of [...new Map(files.map((each) => [each.file, each.path]))].sort(byPath)) {
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

function byPath([, a]: [string, string], [, b]: [string, string]): number {
  return a < b ? -1 : 1;
}

/** Lines by what all of their entries are; a line may not stand any more. */
async function linesWhose(sql: Sql, memory: string, having: string): Promise<(Rest & { path: string })[]> {
  return sql.all(
    `select r.file, f.path, r.line, min(r.source) as source from rests r
       join file f on f.memory = r.memory and f.id = r.file left join entry e on e.memory = r.memory and e.id = r.source
     where r.memory = ? and f.path is not null and r.source <> 'index' group by r.file, f.path, r.line having ${having}`,
    memory,
  );
}

/** Lines that one session showed, and nobody stated; `source`: one of their entries. */
export function seenOnce(sql: Sql, memory: string): Promise<(Rest & { path: string })[]> {
  const is = "count(e.id) = count(*) and count(distinct e.session) = 1 and max(e.strength) = 'implied'";
  return linesWhose(sql, memory, is);
}

/** Lines that rest on entries alone, all of which are gone. */
export function withdrawn(sql: Sql, memory: string): Promise<(Rest & { path: string })[]> {
  return linesWhose(sql, memory, "count(e.id) = count(*) and min(e.state) = 'gone' and max(e.state) = 'gone'");
}

/** A line that rests on what an agent found out. */
export interface FoundLine extends Rest {
  path: string;
  found: Found;
  /** Where that session ran. */
  cwd: string | null;
  machine: string | null;
  way: Way | null;
}

/** The lines that rest on lessons which stand, once for each lesson, or on those with such evidence; a line may not stand any more. */
export async function foundLines(
  sql: Sql,
  memory: string,
  isMeant: (evidence: readonly Evidence[]) => boolean = () => true,
): Promise<FoundLine[]> {
  const rows = await sql.all<Pick<FoundLine, 'source' | 'found' | 'cwd' | 'machine'> & { quotes: string }>(
    `select e.id as source, e.found, e.quotes, s.cwd, s.machine from entry e left join session s on s.id = e.session
     where e.memory = ? and e.found is not null and e.state <> 'gone' order by e.at`,
    memory,
  );
  const lessons = rows.flatMap(({ quotes, ...row }) => {
    const evidence: Evidence[] = JSON.parse(quotes);
    return isMeant(evidence) ? [{ ...row, way: wayOf(evidence) }] : [];
  });
  // Not in one statement: it would go through what all lines rest on.
  const select = `select r.file, f.path, r.line, r.source from rests r join file f on f.memory = r.memory and f.id = r.file
    where r.memory = ? and f.path is not null and r.source in (#)`;
  const sources = lessons.map(({ source }) => source);
  const lines = Map.groupBy(await allOf<Rest & { path: string }>(sql, select, sources, memory), ({ source }) => source);
  const found = lessons.flatMap((lesson) => (lines.get(lesson.source) ?? []).map((line) => ({ ...lesson, ...line })));
  return found.sort((a, b) => (a.path === b.path ? compare(a.line, b.line) : compare(a.path, b.path)));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
