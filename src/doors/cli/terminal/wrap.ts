// Lines that fit the terminal, broken between words and nowhere else. A call of nocturne that can be pasted, code and a
// quote stay whole as far as a line is long enough for them; a path is never broken, and a diff stays as it is. Nothing is
// left out.

import { stripVTControlCharacters } from 'node:util';

const GIVEN = String.raw`(?: (?:--?\w[\w-]*|"[^"\n]*"|'[^'\n]*'|<[^>\n]*>|[A-Z]{2,}\b|\S*[\d_/~:]\S*|\S+\.\w+))*`;
const CALL = String.raw`nocturne(?: (?:enqueue|snapshot|help) [a-z]+| [a-z-]+)?${GIVEN}\S*`;
const UNIT = new RegExp(String.raw`\S*(?:\x60[^\x60\n]*\x60|“[^”\n]*”|(?<!\S)"[^"\n]*")\S*|${CALL}|\S+`, 'g');

/** `indent`: where a line that is too long goes on; default: below its first words, behind a label where it has one. */
export function wrap(text: string, columns: number, indent?: number): string {
  const lines = text.split('\n');
  let isDiff = false;
  return lines
    .map((line, at) => {
      const plain = stripVTControlCharacters(line);
      isDiff = isDiff ? /^[-+ @\\]/.test(plain) : isDiffAt(lines, at);
      return isDiff || plain.length <= columns ? line : wrapLine(line, columns, indent ?? hangOf(line, columns));
    })
    .join('\n');
}

/** Its head is two lines, with the names of both files. */
function isDiffAt(lines: string[], at: number): boolean {
  const begins = (line: string | undefined, mark: string) => stripVTControlCharacters(line ?? '').startsWith(mark);
  return begins(lines[at], '--- ') && begins(lines[at + 1], '+++ ');
}

function wrapLine(line: string, columns: number, indent: number): string {
  const room = columns - indent;
  const lines: string[] = [];
  let current = '';
  let end = 0;
  const add = (unit: string, before: string) => {
    if (current !== '' && lengthOf(current + before + unit) > columns) {
      lines.push(current);
      current = ' '.repeat(indent) + unit;
    } else current += before + unit;
  };
  for (const { 0: unit, index } of line.matchAll(UNIT)) {
    const before = line.slice(end, index);
    end = index + unit.length;
    if (lengthOf(unit) <= room) add(unit, before);
    else for (const [at, word] of unit.split(' ').entries()) add(word, at === 0 ? before : ' ');
  }
  return [...lines, current].join('\n');
}

/** Behind `- `, or behind a word or two and the spaces that line up what follows. */
function hangOf(line: string, columns: number): number {
  const plain = stripVTControlCharacters(line);
  const labels = /^\s*(?:- |(?:\S{1,16}(?: \S{1,16})? {2,}){1,2})?/.exec(plain)?.[0].length ?? 0;
  return labels <= columns / 2 ? labels : (/^\s*/.exec(plain)?.[0].length ?? 0);
}

function lengthOf(text: string): number {
  return stripVTControlCharacters(text).length;
}
