// How recall tells a program's words from the user's: each line and heading that a program wrote has a mark before it, or
// the topic's heading says it of all; and a note says how to take them. What a program may not do is take the mark away:
// it is set by what the ledger knows, whatever stands in the line.

import type { Ledger } from '../ledger/ledger.ts';
import { HEADINGS, headingId, programLines } from '../ledger/program-lines.ts';
import { lineId, locateLines, parseTopic } from '../text/topic.ts';

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
    ids.has(headingId(heading)) ? heading.replace(/^ *#+[ \t]+/, `$&${MARK} `) : heading,
  );
}

function idsOf(text: string): string[] {
  return [...locateLines(text).map(({ id }) => id), ...headingsIn(text)];
}

function headingsIn(text: string): string[] {
  return (text.match(HEADINGS) ?? []).map(headingId);
}
