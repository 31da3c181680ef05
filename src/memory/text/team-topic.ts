// Topics that are handed to the team, as text: what of one's own topic can be shared, where it holds what should not
// be, and how statements are put into the team's. A statement is one line with its author at its end, at its place in the alphabet, so
// that two clones that share write different places of the file and the order tells nothing of time.

import { locateSecrets, redact } from '../../base/secrets/redact-text.ts';
import type { MemoryType } from '../memory-types.ts';
import { authorsOf, lineEndOf, withAuthors } from './blocks.ts';
import { isOfMachine, type LocatedLine, lineNumbers, locateLines, newTopic, parseTopic, seenOnceOn } from './topic.ts';

/** A topic of one's own memory. */
export interface ShareSource {
  path: string;
  text: string;
  /** The ids of the lines that are meant; default: all. */
  only?: Set<string>;
  /** The ids of lines that these came in place of: where this author alone shared one, it goes. */
  replaced?: Set<string>;
}

/** Where one's own files hold a secret, lines from 1; never what it is. */
export type SharedSecret = { path: string; line: number; rule: string };

export interface Statement {
  text: string;
  /** The lines of the file it stands on, from 1. */
  first: number;
  last: number;
}

export interface TopicToShare {
  path: string;
  replaced: Set<string>;
  file: string[];
  description: Statement;
  statements: Statement[];
  topic: ReturnType<typeof parseTopic>;
}

export function readToShare({ path, text, only, replaced = new Set() }: ShareSource): TopicToShare {
  const topic = parseTopic(path, text);
  const file = text.split(/\r?\n/);
  const at = file.findIndex((line) => /^\s*["']?description["']?\s*:/.test(line));
  const first = Math.max(at, 0) + 1;
  return {
    path,
    replaced,
    file,
    description: { text: topic.description, first, last: first },
    // What one session showed has not been stated yet; what holds on one machine is no team's.
    statements: statementsOf(text).filter(
      ({ id, text: said }) => (!only || only.has(id)) && !seenOnceOn(said) && !isOfMachine(said),
    ),
    topic,
  };
}

export async function secretsIn({ path, file, description, statements }: TopicToShare): Promise<SharedSecret[]> {
  const secrets: SharedSecret[] = [];
  const texts = [description, ...statements];
  for (const { text, first, last } of texts) {
    const { found } = await redact(text);
    if (found.length === 0) continue;
    const located = await locateSecrets(file.slice(first - 1, last).join('\n'));
    const inFile = located.length > 0 ? located : found.map(({ rule }) => ({ rule, line: 1 }));
    secrets.push(...inFile.map(({ rule, line }) => ({ path, line: first + line - 1, rule })));
  }
  if (secrets.length > 0) return secrets;
  // One that runs over several statements.
  const { found } = await redact(texts.map(({ text }) => text).join('\n'));
  return found.map(({ rule }) => ({ path, line: statements[0]?.first ?? 1, rule }));
}

/** What is shared of a topic. */
interface SharedTopic {
  name: string;
  description: string;
  type: MemoryType;
  /** Each on one line; code in its fence. */
  statements: string[];
}

/** What of a topic can be shared: its statements, with the line's id and the lines of the file they stand on, from 1. */
function statementsOf(raw: string): { id: string; text: string; first: number; last: number }[] {
  const numbers = lineNumbers(raw);
  return locateLines(raw).flatMap(({ id, text, kind, from, to }, at) => {
    const { first = 1, last = 1 } = numbers[at] ?? {};
    // Between rows that come in any order the rule of a table says nothing.
    if (kind === 'paragraph' && /^[|:\- \t]+$/.test(text)) return [];
    return { id, text: kind === 'fence' ? withoutIndent(raw.slice(from, to)) : text, first, last };
  });
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
