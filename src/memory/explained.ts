// What is told of a line and of an entry, for whoever asks why something is remembered: what the line rests on, which words that gave
// it, what became of an entry, and what a line was before somebody changed it outside of a dream: its history goes on through their edit.

import { AppError } from '../base/errors.ts';
import { allOf, type Sql } from '../db/sql.ts';
import { literals } from '../rules/literals.ts';
import { similarity } from '../rules/words.ts';
import { type Actor, headAt } from './file-rows.ts';
import type { Evidence } from './memory-types.ts';
import { restsOf } from './rests.ts';
import { logPath } from './text/daily-log.ts';
import { isTopicFile, lineNumbers, parseTopic, type TopicLine, withoutMark } from './text/topic.ts';
import { keyOf } from './undo-rows.ts';

export interface ExplainedEntry {
  id: string;
  type: string;
  strength: 'stated' | 'implied';
  text: string;
  changes: string | null;
  /** The first carries it. */
  evidence: Evidence[];
  /** Who said the first evidence: `human`, `assistant`, … */
  by: string;
  /** As its agent calls it; null where no session said it. */
  session: string | null;
  turn: string | null;
  /** ISO-8601. */
  at: string;
  state: string;
  reason: string | null;
  /** The daily log that holds it, or held it. */
  log: string;
  /** False: it is gone, and what rests on it alone goes, too. */
  isInLog: boolean;
  /** Where the session's transcript is, or was; null where that is not known. */
  transcript: string | null;
  /** The job that learned it. */
  job: string;
  /** Of a line that rests on it: the words that it gave the line, in the line's order. */
  gave?: string[];
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

const ENTRY = `select e.id, e.type, e.strength, e.text, e.changes, e.quotes, e.said_by as "by", coalesce(s.name, e.session) as session,
  e.turn, e.at, e.day, e.state, e.reason, s.path as transcript, e.job
  from entry e left join session s on s.id = e.session where e.memory = ?`;

/** Entries with where they were said, by time. */
export async function explainEntries(sql: Sql, memory: string, ids: readonly string[]): Promise<ExplainedEntry[]> {
  type Kept = Omit<ExplainedEntry, 'evidence' | 'log' | 'isInLog'> & { quotes: string; day: string };
  const rows = await allOf<Kept>(sql, `${ENTRY} and e.id in (#)`, ids, memory);
  const entries = rows.map(({ quotes, day, ...row }) => ({
    ...row,
    evidence: JSON.parse(quotes) as Evidence[],
    log: logPath(day),
    isInLog: row.state !== 'gone',
  }));
  return entries.sort((a, b) => (a.at < b.at || (a.at === b.at && a.id < b.id) ? -1 : 1));
}

/**
 * The lines of a topic, or the one that `line` names (its number from 1, or its id), with what they rest on. Errors:
 * `bad-input` where there is no such topic or line.
 */
export async function explainLines(
  sql: Sql,
  { memory, path, line }: { memory: string; path: string; line?: string },
): Promise<ExplainedLine[]> {
  const head = isTopicFile(path) ? await headAt(sql, memory, path) : null;
  if (!head?.content) {
    throw new AppError('bad-input', `There is no topic ${path} in this memory.`, {
      remedy: 'Name a topic file, as MEMORY.md lists them, or an entry (e_…).',
    });
  }
  const at = Number(line);
  const lines = lineNumbers(head.content.toString()).filter(
    ({ id, first, last }) => line === undefined || id === line || (at >= first && at <= last),
  );
  if (lines.length === 0) {
    throw new AppError('bad-input', `${path} has no memory at ${line ?? 'all'}.`, {
      remedy: `nocturne why ${path} shows all of its lines.`,
    });
  }
  const rests = Map.groupBy(await restsOf(sql, memory, head.id), (rest) => rest.line);
  const sources = new Set(lines.flatMap(({ id }) => (rests.get(id) ?? []).map(({ source }) => source)));
  const known = await explainEntries(sql, memory, [...sources]);
  return lines.map(({ id, text, first: number, authors }) => {
    const own = new Set((rests.get(id) ?? []).map(({ source }) => source));
    const entries = known.filter((entry) => own.has(entry.id)).map((entry) => ({ ...entry, gave: given(text, entry) }));
    const program = entries.length > 0 ? null : ([...own].find((source) => /^(?:api|session):/.test(source)) ?? null);
    return { path, number, id, text, isPersons: own.size === 0, program, authors, entries };
  });
}

/** The words of a line that an entry said, in runs: without runs of a single word that says nothing. */
function given(line: string, { text, evidence }: ExplainedEntry): string[] {
  const tokensOf = (said: string) =>
    said
      .toLowerCase()
      .split(/\s+/)
      .map((word) => word.replace(/^\p{P}+|\p{P}+$/gu, ''));
  const said = new Set(tokensOf([text, ...evidence.map(({ quote }) => quote)].join('\n')));
  const runs: string[][] = [[]];
  for (const word of withoutMark(line).split(/\s+/)) {
    const [token = ''] = tokensOf(word);
    if (token !== '' && said.has(token)) runs.at(-1)?.push(word);
    else if (runs.at(-1)?.length !== 0) runs.push([]);
  }
  return runs.map((run) => run.join(' ')).filter((run) => run.includes(' ') || literals(run).length > 0);
}

/** What became of an entry, the latest first: its state by a job, as far as undo is kept. */
export async function historyOf(
  sql: Sql,
  memory: string,
  id: string,
): Promise<{ at: string; job: string; kind: string | null; state: string | null }[]> {
  const rows = await sql.all<{ at: string; job: string; kind: string | null; before: string | null }>(
    `select c.at, c.job, job.kind, u.before from undo u join change c on c.id = u.change left join job on job.id = c.job
     where u.tbl = 'entry' and u.key = ? order by c.n desc, u.n desc`,
    keyOf('entry', { memory, id }),
  );
  const now = await sql.get<{ state: string }>('select state from entry where memory = ? and id = ?', memory, id);
  return rows.map(({ at, job, kind }, n) => {
    const later = rows[n - 1];
    return { at, job, kind, state: later ? stateIn(later.before) : (now?.state ?? null) };
  });
}

function stateIn(image: string | null): string | null {
  return image === null ? null : ((JSON.parse(image) as { state: string }).state ?? null);
}

// What it was.

export interface FormerLine {
  /** When it was changed, as far as nocturne saw that, and who did. */
  at: string;
  actor: Actor;
  /** What it said when it still rested on entries. */
  text: string;
  /** The ids of these entries. */
  entries: string[];
}

/** The line that rested on entries and that a standing line without any was made of; null where there is none. */
export async function formerLine(
  sql: Sql,
  { memory, path, line }: { memory: string; path: string; line: string },
): Promise<FormerLine | null> {
  const versions = await sql.all<{ content: Buffer; kind: Actor['kind']; actor: string | null; at: string }>(
    `select v.content, v.actor_kind as kind, v.actor, v.at from version v
     join file f on f.memory = v.memory and f.id = v.file where f.memory = ? and f.path = ? and v.content is not null
     order by v.seq desc`,
    ...[memory, path],
  );
  const rests = await sql.all<{ line: string; source: string }>(
    `select r.line, r.source from rests r join file f on f.memory = r.memory and f.id = r.file
     where f.memory = ? and f.path = ? and r.source like 'e_%'`,
    ...[memory, path],
  );
  const sources = Map.groupBy(rests, (rest) => rest.line);
  let wanted = line;
  let changed: Pick<FormerLine, 'at' | 'actor'> | undefined;
  for (const [n, { content, kind, actor, at }] of versions.entries()) {
    const before = versions[n + 1];
    if (!before) return null;
    const is = parseTopic(path, content.toString()).lines;
    const was = parseTopic(path, before.content.toString()).lines;
    if (was.some(({ id }) => id === wanted) || !is.some(({ id }) => id === wanted)) continue;
    const former = kind === 'job' ? undefined : counterpart(wanted, { is, was });
    if (!former) return null;
    changed ??= { at, actor: { kind, id: actor } };
    const entries = sources.get(former.id);
    if (entries) return { ...changed, text: former.text, entries: entries.map(({ source }) => source) };
    wanted = former.id;
  }
  return null;
}

/** The line that went where this one came: between the same lines that stayed, else the one most like it. */
function counterpart(id: string, { is, was }: { is: TopicLine[]; was: TopicLine[] }): TopicLine | undefined {
  const stayed = new Set(was.map((line) => line.id)).intersection(new Set(is.map((line) => line.id)));
  const gapOf = (lines: TopicLine[], at: number) => lines.slice(0, at).filter((line) => stayed.has(line.id)).length;
  const at = is.findIndex((line) => line.id === id);
  const came = is.filter((line, n) => !stayed.has(line.id) && gapOf(is, n) === gapOf(is, at));
  const went = was.filter((line, n) => !stayed.has(line.id) && gapOf(was, n) === gapOf(is, at));
  const same = came.length === went.length ? went[came.findIndex((line) => line.id === id)] : undefined;
  if (same) return same;
  const text = is[at]?.text ?? '';
  const others = was
    .filter((line) => !stayed.has(line.id))
    .map((line) => ({ line, near: similarity(text, line.text) }));
  const best = others.sort((a, b) => b.near - a.near)[0];
  return best && best.near > 0.5 ? best.line : undefined;
}
