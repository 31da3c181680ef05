// Takes a transcript's own words out of a text that repeats many of them in a row, and puts them back: in their place
// stands where they are, `⟦line:offset:length⟧`. White space is folded.

import { countLines, fileOfSession, placeOf, stringsOfLine, wordsAt } from './places.ts';

/** So many words in a row are a quotation. */
const QUOTATION_WORDS = 8;
const HIDDEN = /⟦(\d+):(\d+):(\d+)⟧/g;

/** A transcript's lines with white space folded: all as one text, and where each begins in it. */
interface Folded {
  text: string;
  begins: number[];
}

const foldedFiles = new Map<string, Folded>();

/** `session`: whose words may be in the text. */
export function hideWords(text: string, session: string): string {
  const file = fileOfSession(session);
  const folded = foldedFiles.get(file) ?? foldAll(file);
  foldedFiles.set(file, folded);
  const words = text.split(/\s+/);
  const kept: string[] = [];
  for (let at = 0; at < words.length; ) {
    const found = longestRun(words.slice(at), folded);
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

function longestRun(words: string[], { text, begins }: Folded): { run: string; line: number; words: number } | null {
  if (words.length < QUOTATION_WORDS) return null;
  // No words of ours hold the line break between two lines.
  const found = text.indexOf(words.slice(0, QUOTATION_WORDS).join(' '));
  if (found === -1) return null;
  const line = begins.findLastIndex((begin) => begin <= found) + 1;
  const whole = text.slice(begins[line - 1], begins[line]);
  let count = QUOTATION_WORDS;
  while (count < words.length && whole.includes(words.slice(0, count + 1).join(' '))) count += 1;
  return { run: words.slice(0, count).join(' '), line, words: count };
}

function foldAll(file: string): Folded {
  const begins: number[] = [];
  let text = '';
  for (let line = 1; line <= countLines(file); line += 1) {
    begins.push(text.length);
    text += `${stringsOfLine(file, line).replace(/\s+/g, ' ')}\n`;
  }
  return { text, begins };
}
