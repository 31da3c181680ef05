// What a reader answered in the place of a model, kept to be played again: for each request, in order, the session, what
// it was for, a hash of what was asked, and the answer. What quotes a session is kept as a place in its
// transcript (chain/hidden.ts).

import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hiderOf } from '../chain/hidden.ts';

export interface CassetteEntry {
  type: string;
  strength: string;
  text: string;
  /** `message`: its whole id where it is known; `quote`: null where its words stand nowhere. */
  evidence: { message: string; quote: string | null }[];
  /** Whether it was recorded in the play. */
  taken: boolean;
}

export interface CassetteLine {
  session: string;
  kind: 'extract' | 'dream';
  entries?: CassetteEntry[];
  /** As they were proposed, in the words of today's three; `hold` is none of them. `texts`: what the entries that they name say. */
  operations?: { kind: string; entries?: string[] }[];
  texts?: Record<string, string>;
}

/** Real sessions beside the checkout. Not from test/support, which only a test can load. */
const SHARED = join(import.meta.dirname, '../../../../shared/transcripts');
const FOLDER = join(import.meta.dirname, 'cassettes');

export const cassetteNames = (): string[] =>
  readdirSync(FOLDER)
    .map((name) => name.replace('.jsonl', ''))
    .sort();

/** As it is kept; `wholeCassette` puts the transcripts' own words back. */
export function readCassette(name: string): CassetteLine[] {
  const text = readFileSync(join(FOLDER, `${name}.jsonl`), 'utf8').trimEnd();
  return text.split('\n').map((line) => JSON.parse(line));
}

/** Of the lines of one session. */
export function wholeCassette(lines: CassetteLine[]): CassetteLine[] {
  const { show } = hiderOf(lines.slice(0, 1).map(({ session }) => pathOfSession(session)));
  return lines.map((line) => mapStrings(line, show));
}

/** Where a shared session lies, by its whole id. */
export function pathOfSession(session: string): string {
  const [file] = globSync(`*/*/*${session}.jsonl`, { cwd: SHARED });
  if (file === undefined) throw new Error(`There is no shared session ${session}.`);
  return join(SHARED, file);
}

/** Every string of a value, keys apart, as `change` makes it. */
export function mapStrings<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return change(value) as T;
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change)) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, change)])) as T;
}
