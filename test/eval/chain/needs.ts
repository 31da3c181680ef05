// What later sessions of a chain would have needed of earlier ones, as readers wrote it down who saw nothing of nocturne
// (chains/README.md). Where it stands is a file, a line, and the hash of its words, which stay where they are.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../../src/base/errors.ts';
import { parseJson } from '../../../src/base/text/json.ts';
import { hiderOf } from './hidden.ts';
import { linksOf } from './links.ts';

export const NEEDS = join(import.meta.dirname, '../chains/needs.jsonl');

interface Place {
  file: string;
  line: number;
  length: number;
  sha256: string;
}

const writtenSchema = z.strictObject({
  /** Which session of the chain needed it, from 1. */
  session: z.int().min(2),
  grade: z.enum(['A', 'B', 'C']),
  source: z.enum(['person', 'found']),
  kind: z.enum(['way', 'place', 'reason', 'outcome']).optional(),
  fact: z.string().min(1),
  earlier: z.strictObject({ session: z.int().min(1), line: z.int().min(1), quote: z.string().min(1).max(200) }),
  later: z.strictObject({ session: z.int().min(2), line: z.int().min(1), quote: z.string().min(1).max(200) }),
  /** Which of the readers name it. */
  readers: z.array(z.int()).default([1]),
});

export interface Need extends Omit<z.infer<typeof writtenSchema>, 'earlier' | 'later' | 'kind'> {
  chain: string;
  id: string;
  kind?: string;
  earlier: Place;
  later: Place;
}

export function readLines<T>(path: string): T[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  return lines.flatMap((line) => (line.trim() === '' ? [] : JSON.parse(line)));
}

export const needsOf = (chain?: string, path = NEEDS): Need[] =>
  readLines<Need>(path).filter((need) => chain === undefined || need.chain === chain);

/** Needs as a reader wrote them, with hashes for their quotes. Throws for a quote that does not stand in its line. */
export async function placedNeeds(path: string, of: { chain: string; sessions?: string }): Promise<Need[]> {
  const paths = (await linksOf(of.chain, of.sessions)).map((link) => link.path);
  const { isQuoting } = hiderOf(paths);
  const number = needsOf(of.chain).length;
  return readLines<unknown>(path).map((value, at) => {
    const wrong = (what: string) => new AppError('bad-input', `${path}, need ${at + 1}: ${what}.`);
    const written = writtenSchema.safeParse(value);
    if (!written.success) throw wrong(z.prettifyError(written.error));
    const { earlier, later, ...need } = written.data;
    const placed = ({ session, line, quote }: typeof earlier): Place => {
      const file = paths[session - 1];
      const words = file ? wordsIn(textAt(file, line), quote) : undefined;
      if (!file || words === undefined) throw wrong(`session ${session} does not say in line ${line}: ${quote}`);
      return { file: basename(file), line, length: words.length, sha256: shortHash(words) };
    };
    if (later.session !== need.session || earlier.session >= later.session)
      throw wrong('it must be of the session that needs it, and of one before');
    if (isQuoting(need.fact)) throw wrong('its fact repeats eight words of a session: say it in other words');
    const name = of.chain.split('+').at(-1);
    const id = `${name}-${String(number + at + 1).padStart(2, '0')}`;
    return { chain: of.chain, id, ...need, earlier: placed(earlier), later: placed(later) };
  });
}

/** Whether words of that hash stand there. */
export function standsIn(paths: string[], { file, line, length, sha256 }: Place): boolean {
  const path = paths.find((each) => each.endsWith(file));
  const text = path ? textAt(path, line) : '';
  for (let at = 0; at + length <= text.length; at += 1)
    if (shortHash(text.slice(at, at + length)) === sha256) return true;
  return false;
}

/** All that a line of a transcript says. */
function textAt(file: string, line: number): string {
  const text = readFileSync(file, 'utf8').split('\n')[line - 1] ?? '';
  return stringsIn(parseJson(text) ?? text).join('\n');
}

const shortHash = (words: string) => createHash('sha256').update(words).digest('hex').slice(0, 16);

/** The words as they stand there, whatever white space is between them. */
function wordsIn(text: string, quote: string): string | undefined {
  return new RegExp(quote.trim().split(/\s+/).map(RegExp.escape).join('\\s+')).exec(text)?.[0];
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
