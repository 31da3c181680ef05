// Where a line of a topic comes from: the entries it rests on, the words they rest on, who said them, when, and in which
// transcript; and the other way round, which lines rest on an entry. The history of a line that someone changed outside of
// a dream goes on through their edit. It reads the ledger and the files and changes nothing.

import { join } from 'node:path';
import { AppError } from '../../base/errors.ts';
import { listNames } from '../../base/files/directories.ts';
import { readMemoryNow } from '../../base/files/files.ts';
import type { Day } from '../../base/time.ts';
import { literals } from '../../rules/literals.ts';
import { similarity } from '../../rules/words.ts';
import { entriesByLine, entryRow, sendersOf, supportsByEntry } from '../ledger/entries.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type ProgramLine, programLines } from '../ledger/program-lines.ts';
import { memoryAt } from '../ledger/version-rows.ts';
import type { MemoryReader } from '../store/live-files.ts';
import { logPath, parseLog } from '../text/daily-log.ts';
import { parseJsonReport, type ReportRow, reportDay, reportPath } from '../text/dream-report.ts';
import { isTopicFile, lineNumbers, parseTopic, type TopicLine, withoutMark } from '../text/topic.ts';
import type { Entry } from '../types.ts';

export interface ExplainedEntry extends Omit<Entry, 'prompt' | 'day'> {
  state: string;
  /** The daily log that holds it, or held it; of a `sent` one in the user scope. */
  log: string;
  /** False: someone took it out, and the next dream takes out what rests on it alone. */
  isInLog: boolean;
  /** Where the session's transcript is, or was; null where nocturne was never told. */
  transcript: string | null;
  /** The memory directories whose sessions sent it here, as the user scope; they know its transcript. */
  sentFrom: string[];
  /** Of a line that rests on it: the words that it gave the line, in the line's order. */
  gave?: string[];
}

export interface ExplainedLine {
  path: string;
  /** First line in the file, from 1. */
  number: number;
  id: string;
  text: string;
  /** It rests on no entries: a person, or the main agent, wrote it. */
  isPersons: boolean;
  /** It rests on no entries, and a program wrote it, or an agent by a tool: nobody said it. */
  program: ProgramLine | null;
  /** Who shared it, in a memory that is checked in. */
  authors: string[];
  entries: ExplainedEntry[];
  /** Someone changed it since it rested on entries: when and who, what it said, and what that rested on. */
  changed: (Omit<FormerLine, 'entries'> & { entries: ExplainedEntry[] }) | null;
}

export interface RestingLine {
  path: string;
  id: string;
  text: string;
}

/**
 * The lines of a topic, or the one that `line` names (a line number from 1, or the line's id), with what they rest on.
 * Throws `bad-input` where there is no such topic or line.
 */
export async function explainLines(
  store: MemoryReader,
  { path, line }: { path: string; line?: string },
): Promise<ExplainedLine[]> {
  const raw = isTopicFile(path) ? await store.read(path) : null;
  if (raw === null) {
    throw new AppError('bad-input', `There is no topic ${path} in ${store.id}.`, {
      remedy: 'Name a topic file, as MEMORY.md lists them, or an entry (e_…).',
    });
  }
  const lines = lineNumbers(raw);
  const at = Number(line);
  const wanted = lines.filter(
    ({ id, first, last }) => line === undefined || id === line || (at >= first && at <= last),
  );
  if (wanted.length === 0) {
    throw new AppError('bad-input', `${path} has no memory at ${line ?? 'all'}.`, {
      remedy: `nocturne why ${path} shows all of its lines.`,
    });
  }
  const supports = entriesByLine(store.ledger, path);
  const programs = programLines(store.ledger, path);
  return wanted.map(({ id, text, first, authors }) => {
    const entries = (supports.get(id) ?? []).flatMap((entry) => {
      const explained = explainEntry(store, entry);
      if (!explained) return [];
      const said = [explained.text, ...explained.evidence.map(({ quote }) => quote)].join('\n');
      return { ...explained, gave: sharedRuns(withoutMark(text), said) };
    });
    const program = programs.get(id) ?? null;
    const isPersons = !supports.has(id) && !program;
    const former = supports.has(id) ? null : formerLine(store.ledger, { path, id });
    const changed = former && {
      ...former,
      entries: former.entries.flatMap((entry) => explainEntry(store, entry) ?? []).sort(byTime),
    };
    return { path, number: first, id, text, isPersons, program, authors, entries: entries.sort(byTime), changed };
  });
}

/** The words of a line that stand in what was said, in runs: without runs of a single word that says nothing. */
function sharedRuns(line: string, said: string): string[] {
  const there = new Set(tokensOf(said));
  const runs: string[][] = [[]];
  for (const word of line.split(/\s+/)) {
    const [token = ''] = tokensOf(word);
    if (token !== '' && there.has(token)) runs.at(-1)?.push(word);
    else if (runs.at(-1)?.length !== 0) runs.push([]);
  }
  return runs.map((run) => run.join(' ')).filter((run) => run.includes(' ') || literals(run).length > 0);
}

function tokensOf(text: string): string[] {
  const words = text.toLowerCase().split(/\s+/);
  return words.map((word) => word.replace(/^\p{P}+|\p{P}+$/gu, '')).filter((word) => word !== '');
}

/** An entry with where it was said; undefined for one that is not known. */
export function explainEntry({ dir, ledger }: MemoryReader, id: string): ExplainedEntry | undefined {
  const row = entryRow(ledger, id);
  if (!row) return undefined;
  const inLog = parseLog(readMemoryNow(join(dir, logPath(row.day))) ?? '', row.day);
  const { prompt: _, job: __, day, ...entry } = row;
  const session = ledger.get('select path from session where id = ?', entry.session);
  const sentFrom = sendersOf(ledger, id).flatMap(({ source, stands }) => (stands ? [source] : []));
  return {
    ...entry,
    log: logPath(day),
    isInLog: inLog.some((item) => item.id === id),
    transcript: (session?.path as string | undefined) ?? null,
    sentFrom,
  };
}

/**
 * The standing lines that rest on these entries alone (or with ones that are gone), and those that rest on others too.
 * For whoever takes a source away: a session, an entry, a line of a log.
 */
export async function restingOn(
  store: MemoryReader,
  entries: Iterable<string>,
): Promise<{ alone: RestingLine[]; shared: RestingLine[] }> {
  const gone = new Set(entries);
  const found = { alone: new Map<string, RestingLine>(), shared: new Map<string, RestingLine>() };
  const paths = new Set([...gone].flatMap((entry) => supportsByEntry(store.ledger, entry).map(({ path }) => path)));
  for (const path of [...paths].sort()) {
    const supports = entriesByLine(store.ledger, path);
    for (const { id, text } of parseTopic(path, (await store.read(path)) ?? '').lines) {
      const rests = supports.get(id) ?? [];
      if (!rests.some((entry) => gone.has(entry))) continue;
      const isGone = (entry: string) =>
        gone.has(entry) || ['withdrawn', 'forgotten', undefined].includes(entryRow(store.ledger, entry)?.state);
      found[rests.every(isGone) ? 'alone' : 'shared'].set(`${path}\n${id}`, { path, id, text });
    }
  }
  return { alone: [...found.alone.values()], shared: [...found.shared.values()] };
}

/** What dreams did with an entry, the latest first, as their reports tell it; `most` of the latest. */
export function toldOf(
  dir: string,
  id: string,
  most = 3,
): ({ day: Day } & Pick<ReportRow, 'op' | 'topic' | 'reason' | 'over'>)[] {
  const told: ReturnType<typeof toldOf> = [];
  const days = listNames(join(dir, '.nocturne', 'dreams')).flatMap((name) => reportDay(name) ?? []);
  for (const day of days.sort().reverse()) {
    const json = readMemoryNow(join(dir, reportPath(day, 'json'))) ?? '';
    const rows = json.includes(id) ? (parseJsonReport(json) ?? []).filter(({ entry }) => entry === id) : [];
    told.push(
      ...rows.reverse().map(({ op, topic, reason, over }) => ({ day, op, topic, reason, ...(over && { over }) })),
    );
    if (told.length >= most) break;
  }
  return told.slice(0, most);
}

function byTime(a: { at: string; id: string }, b: { at: string; id: string }): number {
  return a.at.localeCompare(b.at) || a.id.localeCompare(b.id);
}

interface FormerLine {
  /** When it was changed, as far as nocturne saw that. */
  at: string;
  /** Who changed it: `external`, `person` or a tool. */
  actor: string;
  /** What it said when it still rested on entries. */
  text: string;
  /** The ids of these entries. */
  entries: string[];
}

/** The line that rested on entries and that a standing line without any was made of; null where there is none. */
function formerLine(ledger: Ledger, { path, id }: { path: string; id: string }): FormerLine | null {
  const versions = ledger.all<{ content: Buffer; actor: string; at: string }>(
    'select content, actor, at from version where memory = ? and content is not null order by rowid desc',
    memoryAt(ledger, path),
  );
  const supports = entriesByLine(ledger, path);
  let wanted = id;
  let changed: Pick<FormerLine, 'at' | 'actor'> | undefined;
  for (const [n, version] of versions.entries()) {
    const before = versions[n + 1];
    if (!before) return null;
    const is = parseTopic(path, version.content.toString()).lines;
    const was = parseTopic(path, before.content.toString()).lines;
    if (was.some((line) => line.id === wanted) || !is.some((line) => line.id === wanted)) continue;
    if (version.actor.startsWith('job:')) return null;
    const former = counterpart(wanted, { is, was });
    if (!former) return null;
    changed ??= { at: version.at, actor: version.actor };
    const entries = supports.get(former.id);
    if (entries) return { ...changed, text: former.text, entries };
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
