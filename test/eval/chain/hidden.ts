// Takes the words of transcripts that are not part of the project out of a text that repeats eight or more in a row, and puts
// them back: in their place stands where they are, `⟦file:line:offset:length⟧`. White space stays as it is in the text.

import { readFileSync } from 'node:fs';
import { parseJson, textsIn } from '../../../src/base/text/json.ts';

/** So many words in a row are a quotation. */
const QUOTATION_WORDS = 8;
const HIDDEN = /⟦(\d+):(\d+):(\d+):(\d+)⟧/g;

interface Spoken {
  /** The words of a line, and where each begins in the line's text with white space folded. */
  words: string[];
  text: string;
  starts: number[];
}

/** Of the transcripts at these paths, which are named by their place in the list. */
export function hiderOf(paths: readonly string[]) {
  const files = paths.map((path) => readFileSync(path, 'utf8').split('\n').map(spoken));
  const runs = new Map<string, { file: number; line: number; at: number }>();
  for (const [file, lines] of files.entries())
    for (const [line, { words }] of lines.entries())
      for (let at = 0; at + QUOTATION_WORDS <= words.length; at += 1) runs.set(runAt(words, at), { file, line, at });

  /** How many words from `at` on stand in a row in a transcript, and where. */
  function longest(words: string[], at: number) {
    const found = at + QUOTATION_WORDS <= words.length ? runs.get(runAt(words, at)) : undefined;
    if (!found) return null;
    const said = files[found.file]?.[found.line]?.words ?? [];
    let count = QUOTATION_WORDS;
    while (at + count < words.length && words[at + count] === said[found.at + count]) count += 1;
    return { ...found, count };
  }

  function show(text: string): string {
    return text.replace(HIDDEN, (_, file, line, offset, length) => {
      const said = files[Number(file)]?.[Number(line) - 1]?.text ?? '';
      return said.slice(Number(offset), Number(offset) + Number(length));
    });
  }

  function hide(text: string): string {
    const [words, gaps] = [text.split(/\s+/), text.match(/\s+/g) ?? []];
    const kept: string[] = [];
    for (let at = 0; at < words.length; ) {
      const run = longest(words, at);
      const until = at + (run?.count ?? 1);
      // A gap that is more than a space is not the transcript's: the run goes on behind it.
      for (let from = at; from < until; ) {
        let to = from + 1;
        while (to < until && gaps[to - 1] === ' ') to += 1;
        kept.push(run ? placed(run, from - at, to - at) : (words[from] ?? ''), gaps[to - 1] ?? '');
        from = to;
      }
      at = until;
    }
    const hidden = kept.join('');
    if (show(hidden) !== text) throw new Error(`The words of a text cannot be hidden: ${text.slice(0, 80)}`);
    return hidden;
  }

  function placed({ file, line, at }: { file: number; line: number; at: number }, from: number, to: number): string {
    const { starts = [], words = [] } = files[file]?.[line] ?? {};
    const offset = starts[at + from] ?? 0;
    const end = (starts[at + to - 1] ?? 0) + (words[at + to - 1] ?? '').length;
    return `⟦${file}:${line + 1}:${offset}:${end - offset}⟧`;
  }

  return { hide, show, isQuoting: (text: string) => text.split(/\s+/).some((_, at, words) => longest(words, at)) };
}

const runAt = (words: string[], at: number) => words.slice(at, at + QUOTATION_WORDS).join(' ');

function spoken(line: string): Spoken {
  const json = parseJson(line);
  const words = (json === undefined ? line : textsIn(json).join('\n')).split(/\s+/).filter((word) => word !== '');
  const starts: number[] = [];
  let length = 0;
  for (const word of words) {
    starts.push(length);
    length += word.length + 1;
  }
  return { words, starts, text: words.join(' ') };
}
