// Takes a transcript's own words out of a text that repeats many of them in a row, and puts them back: in their place
// stands where they are, `⟦line:offset:length⟧`. White space is folded.

import { countLines, fileOfSession, placeOf, stringsOfLine, wordsAt } from './places.ts';

/** So many words in a row are a quotation. */
const QUOTATION_WORDS = 8;
const HIDDEN = /⟦(\d+):(\d+):(\d+)⟧/g;

const foldedLines = new Map<string, string[]>();

/** `session`: whose words may be in the text. */
export function hideWords(text: string, session: string): string {
  const file = fileOfSession(session);
  const lines = foldedLines.get(file) ?? foldAll(file);
  foldedLines.set(file, lines);
  const words = text.split(/\s+/);
  const kept: string[] = [];
  for (let at = 0; at < words.length; ) {
    const found = longestRun(words.slice(at), lines);
    const place = found ? placeOf(found.run, { file, line: found.line }) : null;
    if (found && place) kept.push(`⟦${place.line}:${place.offset}:${place.length}⟧`);
    else kept.push(words[at] ?? '');
    at += found && place ? found.words : 1;
  }
  return kept.join(' ');
}

export function showWords(text: string, session: string): string {
  return text.replace(HIDDEN, (_, line, offset, length) => {
    const place = { line: Number(line), offset: Number(offset), length: Number(length) };
    return wordsAt({ file: fileOfSession(session), ...place }).replace(/\s+/g, ' ');
  });
}

function longestRun(words: string[], lines: string[]): { run: string; line: number; words: number } | null {
  if (words.length < QUOTATION_WORDS) return null;
  const first = words.slice(0, QUOTATION_WORDS).join(' ');
  const at = lines.findIndex((line) => line.includes(first));
  if (at === -1) return null;
  let count = QUOTATION_WORDS;
  while (count < words.length && lines[at]?.includes(words.slice(0, count + 1).join(' '))) count += 1;
  return { run: words.slice(0, count).join(' '), line: at + 1, words: count };
}

function foldAll(file: string): string[] {
  return Array.from({ length: countLines(file) }, (_, at) => stringsOfLine(file, at + 1).replace(/\s+/g, ' '));
}
