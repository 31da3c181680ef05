// Splits Markdown into the blocks a memory can be: bullets with all that belongs to them, paragraphs, code fences,
// comments. Headings, blank lines and rules are no blocks. Every block knows the bytes it stands on, so that one can
// be taken out and every other byte kept. What is left open (a fence, a comment) never swallows what follows it.
// Who shared a line is a mark at its end that no Markdown shows, `<!-- shared by Ann Bo, Kim Lee -->`: it goes wherever
// git, a person or a merge takes the line, and is no part of what the line says.

export interface Block {
  kind: 'bullet' | 'paragraph' | 'fence' | 'comment';
  /** Without line ends; a bullet's first line still has its marker. */
  lines: string[];
  /** Offsets in the text; `to` is behind the last line's end. */
  from: number;
  to: number;
}

export interface Line {
  text: string;
  /** The line with its end (`\n`, `\r\n` or, at the end of the text, none). */
  raw: string;
  from: number;
}

const HEADING = /^ {0,3}#{1,6}(?:[ \t]|$)/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|=+[ \t]*)$/;
const BULLET = /^[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const FENCE = /^[ \t]*(`{3,}|~{3,})/;
const COMMENT = /^[ \t]*<!--/;

export function readLines(text: string): Line[] {
  const lines: Line[] = [];
  let from = 0;
  for (const raw of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    lines.push({ text: raw.replace(/\r?\n$/, ''), raw, from });
    from += raw.length;
  }
  return lines;
}

/** The line end a text uses: that of its first line, `\n` where it has none. */
export const lineEndOf = (text: string) => /\r?\n/.exec(text)?.[0] ?? '\n';

/** The order of texts by their code units. */
export const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** White space folded to one space: what a bullet or a quote is on one line. */
export const fold = (text: string) => text.replace(/\s+/g, ' ').trim();

/** The marker of a bullet, e.g. `- `, or null for another line. */
export const bulletMarker = (line: string): string | null => BULLET.exec(line)?.[0] ?? null;

/** The blocks of `text` in order. */
export function readBlocks(text: string): Block[] {
  const lines = readLines(text);
  const blocks: Block[] = [];
  let open: { kind: Block['kind']; first: number; last: number; indent: number } | null = null;
  const endOfFence = fenceEnds(lines);

  const close = () => {
    if (open) blocks.push(blockOf(lines, open));
    open = null;
  };
  for (let at = 0; at < lines.length; at++) {
    const line = textAt(lines, at);
    if (line.trim() === '') {
      if (open?.kind === 'paragraph') close();
      continue;
    }
    const indent = indentOf(line);
    const isDeeper: boolean = open !== null && indent >= open.indent + 2;
    const end = COMMENT.test(line) ? endOfComment(lines, at) : FENCE.test(line) ? endOfFence(at) : at;
    if (COMMENT.test(line)) {
      close();
      blocks.push(blockOf(lines, { kind: 'comment', first: at, last: end }));
    } else if (isDeeper && open) {
      open.last = end;
    } else if (end > at) {
      close();
      blocks.push(blockOf(lines, { kind: 'fence', first: at, last: end }));
    } else if (HEADING.test(line) || RULE.test(line)) {
      close();
    } else if (BULLET.test(line)) {
      close();
      open = { kind: 'bullet', first: at, last: at, indent };
    } else if (open && open.last === at - 1) {
      open.last = at;
    } else {
      close();
      open = { kind: 'paragraph', first: at, last: at, indent };
    }
    at = end;
  }
  close();
  return blocks;
}

function blockOf(lines: Line[], range: { kind: Block['kind']; first: number; last: number }): Block {
  const own = lines.slice(range.first, range.last + 1);
  return {
    kind: range.kind,
    lines: own.map((line) => line.text),
    from: own[0]?.from ?? 0,
    to: own.reduce((to, line) => to + line.raw.length, own[0]?.from ?? 0),
  };
}

/** Columns before the first character; a tab counts four. */
const indentOf = (line: string) => (/^[ \t]*/.exec(line)?.[0] ?? '').replaceAll('\t', '    ').length;

const textAt = (lines: Line[], at: number) => lines[at]?.text ?? '';

/** Answers where the fence that a line begins ends: at that line where it is left open. */
function fenceEnds(lines: Line[]): (at: number) => number {
  /** By its character, the length from which on a fence is left open: what was not found once is not looked for again. */
  const leftOpen = new Map<string, number>();
  return (at) => {
    const fence = FENCE.exec(textAt(lines, at))?.[1] ?? '';
    const [character = ''] = fence;
    if (fence.length >= (leftOpen.get(character) ?? Infinity)) return at;
    const closing = new RegExp(`^[ \\t]*${character}{${fence.length},}[ \\t]*$`);
    for (let end = at + 1; end < lines.length; end++) if (closing.test(textAt(lines, end))) return end;
    leftOpen.set(character, fence.length);
    return at;
  };
}

/** A line that opens a comment of its own cannot end an earlier one: that one was left open. */
function endOfComment(lines: Line[], at: number): number {
  if (textAt(lines, at).includes('-->')) return at;
  for (let end = at + 1; end < lines.length; end++)
    if (/<!--|-->/.test(textAt(lines, end))) return textAt(lines, end).includes('<!--') ? at : end;
  return at;
}

const MARK = /(?<![ \t])[ \t]*<!-- shared by ([^<>\n]*?) -->/g;

/** The names in the marks of a text, each once, sorted. */
export function authorsOf(text: string): string[] {
  return sorted([...text.matchAll(MARK)].flatMap(([, names = '']) => names.split(',')));
}

/** The text without its marks. */
export const withoutAuthors = (text: string) => (text.includes('<!-- shared by ') ? text.replace(MARK, '') : text);

/** The text with one mark for all of these, at its end. */
export function withAuthors(text: string, authors: string[]): string {
  const names = sorted(authors);
  return names.length === 0 ? text : `${withoutAuthors(text)} <!-- shared by ${names.join(', ')} -->`;
}

/** A name as a mark can hold it: on one line, without a comma or anything that ends a comment. */
export function authorName(name: string): string {
  return name
    .replace(/[\p{Cc}\p{Cf}<>,]+|-{2,}/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 80)
    .trim();
}

function sorted(names: string[]): string[] {
  return [...new Set(names.map(authorName))].filter((name) => name !== '').sort();
}
