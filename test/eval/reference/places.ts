// Where words stand in a transcript that is not part of the project: a file, a line, and where in the strings of that
// line's record. So a quote can be named, found again and told from a changed one, and its words stay where they are.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../../src/base/text/json.ts';

/** Real sessions beside the checkout. Not from test/support, which only a test can load. */
const SHARED = join(import.meta.dirname, '../../../../shared/transcripts');

export interface Place {
  /** In the folder of shared transcripts. */
  file: string;
  /** From 1. */
  line: number;
  /** In the strings of the record, one after another, in UTF-16 units. */
  offset: number;
  length: number;
  /** Of the words: the first 16 hex digits of their SHA-256. */
  sha256: string;
}

const fileOf = new Map<string, string>();

/** The file of a session, by its whole id, in the folder of shared transcripts. */
export function fileOfSession(session: string): string {
  const [file] = fileOf.has(session) ? [fileOf.get(session)] : globSync(`*/*/*${session}.jsonl`, { cwd: SHARED });
  if (file === undefined) throw new Error(`There is no shared session ${session}.`);
  fileOf.set(session, file);
  return file;
}

/** Where that file is. */
export function pathOf(file: string): string {
  return join(SHARED, file);
}

const linesOf = new Map<string, string[]>();

/** The strings of a record of a shared transcript, one after another, a line break between them; of what is no record, the line. */
export function stringsOfLine(file: string, line: number): string {
  const lines = linesOf.get(file) ?? readFileSync(join(SHARED, file), 'utf8').split('\n');
  linesOf.set(file, lines);
  const text = lines[line - 1] ?? '';
  return stringsIn(parseJson(text) ?? text).join('\n');
}

/** The words at a place, whatever they are. */
export function wordsAt({ file, line, offset, length }: Omit<Place, 'sha256'>): string {
  return stringsOfLine(file, line).slice(offset, offset + length);
}

const HIDDEN = /⟦(\d+):(\d+):(\d+)⟧/g;

/** A text with the words of a session put back: in it stands where they are, `⟦line:offset:length⟧`. */
export function showWords(text: string, session: string): string {
  return text.replace(HIDDEN, (_, line, offset, length) => {
    const place = { line: Number(line), offset: Number(offset), length: Number(length) };
    return wordsAt({ file: fileOfSession(session), ...place }).replace(/\s+/g, ' ');
  });
}

export function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
