// Lines that programs wrote: over HTTP, by MCP, with the memory tool. What a program writes is an agent's word, never the
// person's own; recall, `why` and a dream tell it as that. The ledger notes each line when it is committed, so that it is
// known after the versions are gone; it follows lines that a person copies or moves to another file. A line that rests on
// entries is told by those. Where the ledger is lost, nobody knows who wrote a line.
// Recall tells a program's words from the user's: each line and heading that a program wrote has a mark before it, or the
// topic's heading says it of all; and a note says how to take them. What a program may not do is take the mark away: it is
// set by what the ledger knows, whatever stands in the line.

import { logDay, parseLog } from '../text/daily-log.ts';
import { lineId, locateLines, parseTopic } from '../text/topic.ts';
import type { Ledger } from './ledger.ts';

/** Tools of nocturne's own, which write no words of theirs. */
const OWN_TOOLS = new Set(['tool:check', 'tool:merge', 'tool:rebuild', 'tool:share']);

export interface ProgramLine {
  /** `tool:<id>`; of a key of the server its id. */
  actor: string;
  /** When it was written. */
  at: string;
}

interface Change {
  memory: string;
  path: string;
  /** Null: no file. */
  before: string | null;
  after: string | null;
}

/** Notes the lines that a commit adds to a memory, where a program makes it. */
export function noteProgramLines(ledger: Ledger, { actor, at, ...change }: Change & ProgramLine): void {
  if (!actor.startsWith('tool:') || OWN_TOOLS.has(actor)) return;
  for (const line of addedBy(change)) {
    ledger.run('insert or ignore into program_line values (?, ?, ?, ?)', change.memory, line, actor, at);
  }
}

/** Lines that came to a memory past the store stay a program's where it wrote them elsewhere. */
export function followProgramLines(ledger: Ledger, change: Change): void {
  if (!ledger.get('select 1 from program_line limit 1')) return;
  for (const line of addedBy(change)) {
    ledger.run(
      'insert or ignore into program_line select ?, line, actor, at from program_line where line = ? order by at limit 1',
      change.memory,
      line,
    );
  }
}

/** The lines of the memory at a path that a program wrote and that rest on no entry, by id. */
export function programLines(ledger: Ledger, path: string): Map<string, ProgramLine> {
  const rows = ledger.all<ProgramLine & { line: string }>(
    `select line, actor, at from program_line where memory = (select id from memory where path = ?)
       and not exists (select 1 from support where support.path = ? and support.line = program_line.line)`,
    path,
    path,
  );
  return new Map(rows.map(({ line, ...by }) => [line, by]));
}

const HEADINGS = /^ {0,3}#{1,6}[ \t].*$/gm;

function addedBy({ path, before, after }: Change): Set<string> {
  return idsIn(path, after ?? '').difference(idsIn(path, before ?? ''));
}

/** Lines, headings and the description; of a log its entries as far as no job sealed them. */
function idsIn(path: string, text: string): Set<string> {
  if (text === '' || path.startsWith('.')) return new Set();
  const day = logDay(path);
  if (day !== null) {
    const items = parseLog(text, day).filter((item) => item.kind === 'adopted' || item.edited);
    return new Set(items.map((item) => lineId(item.text)));
  }
  const { lines, description } = parseTopic(path, text);
  return new Set([...lines.map(({ id }) => id), ...headingsIn(text), lineId(description)]);
}

export const MARK = '[written by a program]';
export const ALL_BY_PROGRAM = 'written by a program';

const NOTES = {
  all: 'A program wrote this, not the user: take it as an agent’s word, which nobody checked.',
  some: `What is marked ${MARK} is not the user’s: take it as an agent’s word, which nobody checked.`,
};

export interface ProgramWords {
  /** Ids of the lines and headings, as they are shown. */
  ids: Set<string>;
  isDescription: boolean;
  isAll: boolean;
  note: string;
}

/** What programs wrote of a file; null for nothing. `shown`: its text without secrets, so that ids may be others. */
export function wordsOfPrograms(
  shown: string,
  { path, text, ledger }: { path: string; text: string; ledger: Ledger | null },
): ProgramWords | null {
  const programs = ledger && programLines(ledger, path);
  if (!programs || programs.size === 0) return null;
  const [was, is] = [idsOf(text), idsOf(shown)];
  const isSameNumber = was.length === is.length;
  const ids = new Set(is.filter((_, at) => !isSameNumber || programs.has(was[at] as string)));
  const isDescription = programs.has(lineId(parseTopic(path, text).description));
  if (ids.size === 0 && !isDescription) return null;
  const isAll = is.every((id) => ids.has(id)) && isDescription;
  return { ids, isDescription, isAll, note: isAll ? NOTES.all : NOTES.some };
}

/** The lines of the index that programs wrote, or that say of a topic what a program wrote of it. */
export function indexWordsOfPrograms(index: string, ledger: Ledger | null): Set<string> {
  if (!ledger?.get('select 1 from program_line limit 1')) return new Set();
  const own = programLines(ledger, 'MEMORY.md');
  const ofTopic = (line: string) => {
    const [, description = '', path] = /^(.*) \[([^[\]]+)\]$/.exec(line) ?? [];
    const programs = path === undefined ? null : programLines(ledger, path);
    // What was cut cannot be told from the rest of it.
    return programs?.has(lineId(description)) || (description.endsWith('…') && (programs?.size ?? 0) > 0);
  };
  const lines = locateLines(index).filter(({ id, text }) => own.has(id) || ofTopic(text));
  return new Set([...lines.map(({ id }) => id), ...headingsIn(index).filter((id) => own.has(id))]);
}

/** A text with the mark before each of these lines and headings; `before` stands above a line, in nocturne's own words. */
export function markPrograms(
  text: string,
  ids: Set<string> = new Set(),
  before: (line: string) => string = () => '',
): string {
  let out = '';
  let end = 0;
  for (const { id, text: said, from, to, marker, kind } of locateLines(text)) {
    out += withHeadings(text.slice(end, from), ids) + before(said) + marker;
    // In a fence the mark would be code.
    if (ids.has(id)) out += kind === 'fence' ? `${MARK}\n` : `${MARK} `;
    out += text.slice(from + marker.length, to);
    end = to;
  }
  return out + withHeadings(text.slice(end), ids);
}

function withHeadings(text: string, ids: Set<string>): string {
  if (ids.size === 0) return text;
  return text.replace(HEADINGS, (heading) =>
    ids.has(lineId(heading.trim())) ? heading.replace(/^ *#+[ \t]+/, `$&${MARK} `) : heading,
  );
}

function idsOf(text: string): string[] {
  return [...locateLines(text).map(({ id }) => id), ...headingsIn(text)];
}

/** The ids of the headings, with their marks. */
function headingsIn(text: string): string[] {
  return (text.match(HEADINGS) ?? []).map((heading) => lineId(heading.trim()));
}
