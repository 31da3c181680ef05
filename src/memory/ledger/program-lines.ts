// Lines that programs wrote: over HTTP, by MCP, with the memory tool. What a program writes is an agent's word, never the
// person's own; recall, `why` and a dream tell it as that. The ledger notes each line when it is committed, so that it is
// known after the versions are gone; it follows lines that a person copies or moves to another file. A line that rests on
// entries is told by those. Where the ledger is lost, nobody knows who wrote a line.

import { logDay, parseLog } from '../text/daily-log.ts';
import { lineId, parseTopic } from '../text/topic.ts';
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

/** The id of a heading, with its marks. */
export function headingId(heading: string): string {
  return lineId(heading.trim());
}

export const HEADINGS = /^ {0,3}#{1,6}[ \t].*$/gm;

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
  const headings = text.match(HEADINGS) ?? [];
  return new Set([...lines.map(({ id }) => id), ...headings.map(headingId), lineId(description)]);
}
