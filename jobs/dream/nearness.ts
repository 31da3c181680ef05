// Which lines of topics are near to a text, by the words that both have: the rarest count most, and words of a short line more.
// It looks through the lines that stand now; a file's words are found once while it stands as it does.

import { contentWords } from '../../src/rules/words.ts';
import type { StandingFile } from './topic-draft.ts';

/** `line`: its id, empty for the topic's name and description. */
export interface NearLine {
  file: StandingFile;
  line: string;
  words: Set<string>;
}

/** Of the words of a text, so many of the rarest are looked for. */
const MOST_WORDS = 12;
/** Words that more lines than these hold tell little, and cost most. */
const MOST_LINES = 2_000;

export class NearLines {
  readonly #lines: NearLine[];
  readonly #byWord = new Map<string, NearLine[]>();
  readonly #usualSize: number;

  constructor(topics: readonly StandingFile[]) {
    this.#lines = topics.flatMap(wordedLines);
    for (const line of this.#lines) {
      for (const word of line.words) {
        const those = this.#byWord.get(word);
        if (those) those.push(line);
        else this.#byWord.set(word, [line]);
      }
    }
    this.#usualSize = this.#lines.reduce((sum, { words }) => sum + words.size, 1) / Math.max(1, this.#lines.length);
  }

  /** Those that share the most and the rarest words with a text, best first. */
  find(text: string, most: number): NearLine[] {
    const known = [...contentWords(text)].flatMap((word) => {
      const lines = this.#byWord.get(word);
      return lines ? [{ word, lines }] : [];
    });
    known.sort((a, b) => a.lines.length - b.lines.length || compare(a.word, b.word));
    const scores = new Map<NearLine, number>();
    let looked = 0;
    for (const [at, { lines }] of known.slice(0, MOST_WORDS).entries()) {
      looked += lines.length;
      if (at > 0 && looked > MOST_LINES) break;
      const weight = Math.log(1 + this.#lines.length / lines.length);
      for (const line of lines) {
        const size = line.words.size / this.#usualSize;
        scores.set(line, (scores.get(line) ?? 0) + weight / (1.3 + 0.9 * size));
      }
    }
    return [...scores]
      .sort(([a, x], [b, y]) => y - x || compare(a.file.path, b.file.path) || compare(a.line, b.line))
      .slice(0, most)
      .map(([line]) => line);
  }

  /** Where a line with this id stands in living topics. */
  withId(id: string): NearLine[] {
    return this.#lines.filter(({ line, file }) => line === id && file.isLiving);
  }
}

const worded = new WeakMap<StandingFile, NearLine[]>();

/** The lines of a file with their words. */
export function wordedLines(file: StandingFile): NearLine[] {
  const known = worded.get(file);
  if (known) return known;
  const { name, description, lines } = file.topic;
  const made = [{ id: '', text: `${name.replaceAll('-', ' ')} ${description}` }, ...lines].map(({ id, text }) => ({
    ...{ file, line: id, words: contentWords(text) },
  }));
  worded.set(file, made);
  return made;
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
