// The text of a topic file: one memory, with frontmatter and a Markdown body of short lines.
// Reads what any program or person wrote (`type:` or `metadata: type:`, or no frontmatter at all); changes single
// lines of it and keeps every other byte.

import { createHash } from 'node:crypto';
import { isMemoryType, type MemoryType } from '../types.ts';
import { authorsOf, withoutAuthors } from './authors.ts';
import { type Block, bulletMarker, fold, lineEndOf, readBlocks } from './blocks.ts';
import { bodyStart, isRecord, readFrontmatter, setKeys } from './frontmatter.ts';

const ARCHIVE = 'archive/';

export interface TopicLine {
  /** Eight hex digits over the text: the same words have the same id, in any file. */
  id: string;
  /** On one line, without bullet marker; continuation lines and nested bullets belong to it. */
  text: string;
}

export interface Topic {
  path: string;
  /** The file name without `.md`. */
  name: string;
  /** From the frontmatter, else the first heading or line. */
  description: string;
  /** Undefined where the file names none that we know. */
  type: MemoryType | undefined;
  pinned: boolean;
  lines: TopicLine[];
}

/** Whether a name is fit for a topic file: kebab-case, at most 64 characters, of no other meaning anywhere. */
export function isTopicName(name: string): boolean {
  return (
    name.length <= 64 &&
    /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name) &&
    !/^(?:con|prn|aux|nul|com\d|lpt\d|memory|index)$/.test(name)
  );
}

/** Whether a file of the memory directory is a topic, whoever wrote it: Markdown at the top, save the index. */
export function isTopicPath(path: string): boolean {
  return /^[^/\\]+\.md$/i.test(path) && path.toLowerCase() !== 'memory.md';
}

/** Whether a file holds what a dream put away: out of the index, found by a search, back when it is touched. */
export function isArchivePath(path: string): boolean {
  return path.startsWith(ARCHIVE) && isTopicPath(path.slice(ARCHIVE.length));
}

/** Where the lines of a topic are put away; of a path that is there already, the topic's own. */
export function archivePath(path: string): string {
  return ARCHIVE + path;
}

/** The id of the line with this text. */
export function lineId(text: string): string {
  return createHash('sha256').update(fold(text)).digest('hex').slice(0, 8);
}

/** Reads a topic file of the memory directory; never throws. */
export function parseTopic(path: string, raw: string): Topic {
  const { data } = readFrontmatter(raw);
  const metadata = isRecord(data.metadata) ? data.metadata : {};
  const type = data.type ?? metadata.type;
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/\.md$/i, '');
  const lines = locateLines(raw).map(({ id, text }) => ({ id, text }));
  const heading = /^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*\r?$/m.exec(raw.slice(bodyStart(raw)))?.[1];
  const description = typeof data.description === 'string' ? fold(data.description) : '';
  return {
    path,
    name,
    description: description || fold(heading ?? '') || lines[0]?.text || name,
    type: isMemoryType(type) ? type : undefined,
    pinned: (data.pinned ?? metadata.pinned) === true,
    lines,
  };
}

/** The lines of a topic with the lines of the file they stand on, from 1, and who shared them. */
export function lineNumbers(raw: string): (TopicLine & { first: number; last: number; authors: string[] })[] {
  const countEnds = (text: string) => text.split('\n').length - 1;
  let at = 0;
  let first = 1;
  return locateLines(raw).map(({ id, text, from, to, authors }) => {
    first += countEnds(raw.slice(at, from));
    at = from;
    return { id, text, first, last: first + countEnds(raw.slice(from, to).trimEnd()), authors };
  });
}

/** The text of a new topic file, with a bullet for each line. */
export function newTopic(topic: { name: string; description: string; type: MemoryType; lines: string[] }): string {
  const bullets = topic.lines.map((line) => `- ${fold(line)}\n`).join('');
  const { name, type } = topic;
  return setKeys(bullets, { name, description: fold(topic.description), type });
}

/**
 * Takes out the lines with these ids and puts new ones where the first of them stood, else behind the last list.
 * What belongs to a bullet goes with it; every other byte stays.
 */
export function editLines(raw: string, edit: { remove: Set<string>; add: string[] }): string {
  const lines = locateLines(raw);
  const removed = lines.filter((line) => edit.remove.has(line.id));
  const added = edit.add.map(fold).filter((text) => text !== '');
  const place = placeFor(added, { raw, lines, removed });

  // Without the fence between, a bullet would swallow the paragraph behind it.
  const gaps = removed.map(({ from, to, kind }) => ({ from, to, text: kind === 'fence' ? lineEndOf(raw) : '' }));
  let out = '';
  let end = 0;
  for (const { from, to, text } of [...gaps, place].sort(inOrder)) {
    out += raw.slice(end, from) + text;
    end = Math.max(end, to);
  }
  out += raw.slice(end);
  // A rule that comes to stand first would make what follows it frontmatter.
  if (bodyStart(raw) === 0 && bodyStart(out) > 0) out = lineEndOf(raw) + out;
  return raw.endsWith('\n') || raw === '' ? out : out.replace(/\r?\n$/, '');
}

/** A line of a topic with the bytes it stands on. */
export interface LocatedLine extends TopicLine {
  kind: Block['kind'];
  /** Who shared it, in a memory that is checked in. */
  authors: string[];
  from: number;
  to: number;
  /** Of a bullet, with its indentation; empty for other lines. */
  marker: string;
}

interface Insertion {
  from: number;
  to: number;
  text: string;
}

function inOrder(a: Insertion, b: Insertion): number {
  return a.from - b.from || a.to - b.to;
}

export function locateLines(raw: string): LocatedLine[] {
  const start = bodyStart(raw);
  return readBlocks(raw.slice(start))
    .flatMap((block, at, blocks): LocatedLine[] => {
      const from = start + block.from;
      if (block.kind === 'comment') return [];
      // Each line of a paragraph stands for itself (`**Why:** …`), a bullet and a fence are one.
      if (block.kind === 'paragraph') {
        const units = raw.slice(from, start + block.to).match(/[^\n]+\n?(?:(?: {2}|[ ]?\t)[^\n]*\n?)*/g) ?? [];
        let at = from;
        return units.map((unit) => {
          at += unit.length;
          return locate(unit, { from: at - unit.length, to: at, marker: '', kind: 'paragraph' });
        });
      }
      const marker = block.kind === 'bullet' ? (bulletMarker(block.lines[0] ?? '') ?? '') : '';
      // Within a fence a mark would be code: it stands behind.
      const mark = block.kind === 'fence' ? markBehind(block, blocks[at + 1]) : undefined;
      const text = [...block.lines, ...(mark?.lines ?? [])].join('\n').slice(marker.length);
      return [locate(text, { from, to: start + (mark ?? block).to, marker, kind: block.kind })];
    })
    .filter((line) => line.text !== '');
}

function locate(text: string, where: Omit<LocatedLine, keyof TopicLine | 'authors'>): LocatedLine {
  const said = withoutAuthors(text);
  return { id: lineId(said), text: fold(said), authors: authorsOf(text), ...where };
}

function markBehind(fence: Block, next: Block | undefined): Block | undefined {
  return next?.from === fence.to && authorsOf(next.lines.join('\n')).length > 0 ? next : undefined;
}

function placeFor(
  added: string[],
  { raw, lines, removed }: { raw: string; lines: LocatedLine[]; removed: LocatedLine[] },
): Insertion {
  const lineEnd = lineEndOf(raw);
  const write = (marker: string) => added.map((text) => `${marker}${text}${lineEnd}`).join('');
  const first = removed[0];
  if (added.length === 0) return { from: 0, to: 0, text: '' };
  if (first?.marker) return { from: first.from, to: first.from, text: write(bulletLike(first.marker)) };
  // In a paragraph a bullet would swallow the line behind it.
  if (first?.kind === 'paragraph' && added.every(isPlainLine))
    return { from: first.from, to: first.from, text: write('') };

  const last = lines.findLast((line) => line.marker !== '');
  if (last) return { from: last.to, to: last.to, text: startLine(raw, last.to) + write(bulletLike(last.marker)) };
  const body = raw.slice(bodyStart(raw));
  const gap = body.trim() === '' || /\n\r?\n$/.test(body) ? '' : lineEnd;
  return { from: raw.length, to: raw.length, text: startLine(raw, raw.length) + gap + write('- ') };
}

function startLine(raw: string, at: number): string {
  return at === 0 || raw[at - 1] === '\n' ? '' : lineEndOf(raw);
}

/** The marker of a new bullet beside another; a number would have to be counted on. */
function bulletLike(marker: string): string {
  return /\d/.test(marker) ? '- ' : `${marker.trimEnd()} `;
}

/** Whether a text, alone on its line, is nothing but a line of a paragraph. */
function isPlainLine(text: string): boolean {
  const [block] = readBlocks(text);
  return block?.kind === 'paragraph' && !/^(?:[>|<=]|```|~~~)/.test(text);
}
