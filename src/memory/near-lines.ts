// Which files are nearest to texts, by the words that their lines share: the rarest count most. It reads the lines of the heads as
// the table `line` has them, and compares in the same way on both engines.

import type { Sql } from '../db/sql.ts';
import { bulletMarker, fold } from './text/blocks.ts';

export interface NearFile {
  path: string;
  /** Those of its lines that are near, in one case, without their bullets. */
  lines: string[];
}

/** Of the words of a text, so many of the rarest are looked for. */
const MOST_WORDS = 12;
/** Of lines that share words with a text, so many. */
const LINES_PER_TEXT = 6;
/** Of a text so much is compared. */
const TEXT_CHARACTERS = 4_000;

/** The files among these that share most and the rarest words with the texts, nearest first. */
export async function nearestFiles(
  sql: Sql,
  memory: string,
  { texts, among }: { texts: readonly string[]; among: readonly string[] },
): Promise<NearFile[]> {
  const wanted = new Set(among);
  const rows = await sql.all<{ path: string; text: string }>(
    'select file.path, line.text from line join file on file.memory = line.memory and file.id = line.file where line.memory = ?',
    memory,
  );
  const lines = rows.filter(({ path }) => wanted.has(path));
  const holding = new Map<string, number[]>();
  for (const [at, { text }] of lines.entries()) {
    for (const word of new Set(wordsOf(text))) {
      const places = holding.get(word);
      if (places) places.push(at);
      else holding.set(word, [at]);
    }
  }
  const files = new Map<string, { score: number; lines: Set<string> }>();
  for (const text of texts) {
    for (const [rank, at] of nearest(text, holding).entries()) {
      const { path, text: line } = lines[at] as { path: string; text: string };
      const file = files.get(path) ?? { score: 0, lines: new Set() };
      files.set(path, file);
      file.score += 1 / (1 + rank);
      file.lines.add(fold(line.slice(bulletMarker(line)?.length ?? 0)));
    }
  }
  return [...files]
    .sort(([a, { score: first }], [b, { score: second }]) => second - first || (a < b ? -1 : 1))
    .map(([path, file]) => ({ path, lines: [...file.lines] }));
}

/** The lines that share the most and the rarest words with a text, by their places, nearest first. */
function nearest(text: string, holding: ReadonlyMap<string, number[]>): number[] {
  const known = [...new Set(wordsOf(text.slice(0, TEXT_CHARACTERS)))].flatMap((word) => {
    const at = holding.get(word);
    return at ? [at] : [];
  });
  const scores = new Map<number, number>();
  for (const places of known.sort((a, b) => a.length - b.length).slice(0, MOST_WORDS))
    for (const at of places) scores.set(at, (scores.get(at) ?? 0) + 1 / places.length);
  return [...scores]
    .sort(([a, first], [b, second]) => second - first || a - b)
    .slice(0, LINES_PER_TEXT)
    .map(([at]) => at);
}

/** Of scripts without spaces every pair of characters is a word. */
function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).flatMap((run) => {
    if (!/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u.test(run)) return run.length > 1 ? [run] : [];
    const characters = [...run];
    return characters.length < 3 ? [run] : characters.slice(1).map((character, at) => characters[at] + character);
  });
}
