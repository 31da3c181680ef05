// The team's memory as it lies in a working tree. Where a session begins, conflicts that a pull left there and nobody has
// opened since are settled, where nocturne works and is not turned off. Where a text was redacted in one's own memory,
// what the team's still says of it is told, and changed only when that is asked for.
// The text of a topic there: a statement is one line with its author at its end, put at its place in the alphabet, so that two
// clones that share write different places of the file and the order tells nothing of time; what stands there is never taken
// out or reordered.

import { join } from 'node:path';
import { type AppError, describeError, onAppError } from '../../base/errors.ts';
import { canonicalPath, isDirectory, listFiles } from '../../base/files/directories.ts';
import { readTextNow } from '../../base/files/files.ts';
import { scopeDir, scopesBeside } from '../../doors/places.ts';
import type { Wing, WingApp } from '../../doors/wing.ts';
import { shownText } from '../../memory/conflicts/conflict.ts';
import { holdsMatch } from '../../memory/history/redact/redaction.ts';
import { scrubOf } from '../../memory/history/redact/scrub.ts';
import { isCheckedInDir } from '../../memory/home/paths.ts';
import { findConfined, liveFiles } from '../../memory/store/live-files.ts';
import { authorsOf, lineEndOf, withAuthors } from '../../memory/text/blocks.ts';
import { type LocatedLine, lineNumbers, locateLines, newTopic } from '../../memory/text/topic.ts';
import type { MemoryType } from '../../memory/types.ts';

export const onSessionStart: NonNullable<Wing['onSessionStart']> = (cwd, { app, onProblem }) => {
  // The next session, or whoever opens the directory, tries again.
  const told = (error: AppError) => onProblem(`The team's memory at ${cwd}: ${describeError(error)}`);
  return settleTeamMemory(app, cwd).catch(onAppError(told));
};

async function settleTeamMemory(app: WingApp, cwd: string): Promise<void> {
  if (app.keeping) return;
  const beside = scopesBeside(app.config, { cwd, memory: app.memoryDirOf({ cwd }) });
  const dir = beside.find(({ scope }) => scope === 'local')?.dir;
  if (dir === undefined || !isCheckedInDir(dir) || !(await app.standing({ cwd })).enabled) return;
  const isKnown = (await app.home.stores()).includes(dir);
  // What lies there of nocturne's came with the repository, and proves nothing of what happened here.
  if (!isKnown && (isDirectory(join(dir, '.nocturne')) || !hasConflict(dir))) return;
  await (await app.store(dir)).missing();
  await app.home.addStore(dir);
}

function hasConflict(dir: string): boolean {
  return liveFiles(dir, null).some(({ path, absolute }) => {
    const text = readTextNow(absolute) ?? '';
    return shownText(text, { path, ledger: null }) !== text;
  });
}

export const afterRedact: NonNullable<Wing['afterRedact']> = async (match, { app, store, cwd }) => {
  const dir = canonicalPath(scopeDir(app.config, { memory: 'local', cwd }));
  if (dir === store.dir || !isCheckedInDir(dir) || !isDirectory(dir)) return [];
  const scrub = scrubOf(match);
  const saying: string[] = [];
  for (const path of (await listFiles(dir)).filter((each) => each.endsWith('.md'))) {
    const absolute = findConfined(dir, path);
    if (absolute !== null && (await holdsMatch(absolute, scrub))) saying.push(join(dir, path));
  }
  if (saying.length === 0) return [];
  return [`It stands in the team's memory, too: ${saying.join(', ')}. The same with --scope local takes it out there.`];
};

/** What is shared of a topic. */
interface SharedTopic {
  name: string;
  description: string;
  type: MemoryType;
  /** Each on one line; code in its fence. */
  statements: string[];
}

/** What of a topic can be shared: its statements, with the line's id and the lines of the file they stand on, from 1. */
export function statementsOf(raw: string): { id: string; text: string; first: number; last: number }[] {
  const numbers = lineNumbers(raw);
  const lines = locateLines(raw);
  let table: { head: string[]; end: number } | null = null;
  return lines.flatMap(({ id, text, kind, from, to }, at) => {
    const { first = 1, last = 1 } = numbers[at] ?? {};
    const said = { id, text: kind === 'fence' ? withoutIndent(raw.slice(from, to)) : text, first, last };
    if (kind !== 'paragraph' || !text.includes('|')) return said;
    const next = lines[at + 1];
    if (next?.from === to && isTableRule(next.text)) {
      table = { head: cellsOf(text), end: next.to };
      return [];
    }
    if (table === null || (from !== table.end && to !== table.end)) return said;
    if (to === table.end) return [];
    table.end = to;
    return { ...said, text: rowAlone(cellsOf(text), table.head) };
  });
}

function isTableRule(line: string): boolean {
  return /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/.test(line);
}

function cellsOf(row: string): string[] {
  const inner = row.replace(/^\||(?<!\\)\|$/g, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim());
}

/** A row of a table as it can stand on a line of its own, in any order: `Host: alpha; Port: 22`. */
function rowAlone(cells: string[], head: string[]): string {
  const named = cells.map((cell, at) => (cell && head[at] ? `${head[at]}: ${cell}` : cell));
  return named.filter((cell) => cell !== '').join('; ');
}

/** The lines of a team's topic that this author shared and nobody else. */
export function sharedAlone(raw: string, author: string): LocatedLine[] {
  return locateLines(raw).filter(({ authors }) => authors.length === 1 && authors[0] === author);
}

/** The team's topic with the statements that are not in it yet; a new one where there is none. */
export function shareInto(current: string | null, { statements, ...topic }: SharedTopic, author: string): string {
  const start = current ?? newTopic({ ...topic, lines: [] });
  return statements.reduce((raw, statement) => putInPlace(raw, statement, author), start);
}

function putInPlace(raw: string, statement: string, author: string): string {
  const lineEnd = lineEndOf(raw);
  const ended = raw === '' || raw.endsWith('\n') ? raw : raw + lineEnd;
  if (/^(?:```|~~~).*\n/.test(statement)) {
    const gap = /(?:^|\n)\r?\n$/.test(ended) ? '' : lineEnd;
    return ended + gap + [...statement.trimEnd().split('\n'), withAuthors('', [author]).trim(), ''].join(lineEnd);
  }
  const line = `- ${withAuthors(statement, [author])}${lineEnd}`;
  const list = lastList(ended);
  const last = list.at(-1);
  if (!last) return ended + (/(?:^|\n)\r?\n$/.test(ended) ? '' : lineEnd) + line;
  const at = list.find(({ text }) => text > statement)?.from ?? last.to;
  return ended.slice(0, at) + line + ended.slice(at);
}

/** The bullets of the last list; what is numbered or indented is in someone's own order. */
function lastList(raw: string): LocatedLine[] {
  const lines = locateLines(raw);
  const isPlain = (line: LocatedLine | undefined) => line !== undefined && /^[-*+]/.test(line.marker);
  const isNext = (line?: LocatedLine, next?: LocatedLine) => raw.slice(line?.to, next?.from).trim() === '';
  const last = lines.findLastIndex(isPlain);
  let first = last;
  while (isPlain(lines[first - 1]) && isNext(lines[first - 1], lines[first])) first -= 1;
  return lines.slice(Math.max(first, 0), last + 1);
}

function withoutIndent(fence: string): string {
  const lines = fence.split(/\r?\n/).filter((line) => authorsOf(line).length === 0);
  const indent = /^[ \t]*/.exec(lines[0] ?? '')?.[0] ?? '';
  return lines
    .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
    .join('\n')
    .trimEnd();
}
