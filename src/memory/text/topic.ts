// The text of a topic file: one memory, with frontmatter and a Markdown body of short lines.
// Reads what any program or person wrote (`type:` or `metadata: type:`, or no frontmatter at all); changes single lines
// and keeps every other byte. A line that rests on one session that showed a habit says so: `Seen once, 2026-11-20: …`; one that
// rests on what an agent found out there `Found by the agent, 2026-11-20: …`.
// A line has a due day where its last date lay ahead when it was said, and no word says that something goes on or begins then.

import { hash } from 'node:crypto';
import { isObject } from '../../base/text/json.ts';
import { type Day, isDay } from '../../base/time.ts';
import { isMemoryType, type MemoryType } from '../memory-types.ts';
import { authorsOf, type Block, bulletMarker, fold, lineEndOf, readBlocks, withoutAuthors } from './blocks.ts';
import { bodyStart, readFrontmatter, setKeys } from './frontmatter.ts';

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
export const isTopicPath = (path: string) => /^[^/\\]+\.md$/i.test(path) && path.toLowerCase() !== 'memory.md';

/** Whether a file holds what a dream put away: out of the index, found by a search, back when it is touched. */
export const isArchivePath = (path: string) => path.startsWith(ARCHIVE) && isTopicPath(path.slice(ARCHIVE.length));

/** Whether a file holds a topic, put away or not. */
export const isTopicFile = (path: string) => isTopicPath(path) || isArchivePath(path);

/** Where the lines of a topic are put away; of a path that is there already, the topic's own. */
export const archivePath = (path: string) => ARCHIVE + path;

/** The id of the line with this text. */
export const lineId = (text: string) => hash('sha256', fold(text)).slice(0, 8);

/** The same for texts that say the same in the same words. */
export function saidId(text: string): string {
  const words = text
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{M}\p{N}]+(?:[./_:@-]+[\p{L}\p{M}\p{N}]+)*/gu);
  return lineId((words ?? []).join(' '));
}

/** Reads a topic file of the memory directory; never throws. */
export function parseTopic(path: string, raw: string): Topic {
  const { data } = readFrontmatter(raw);
  const metadata = isObject(data.metadata) ? data.metadata : {};
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
  for (const { from, to, text } of [...gaps, place].sort((a, b) => a.from - b.from || a.to - b.to)) {
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
): { from: number; to: number; text: string } {
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

const startLine = (raw: string, at: number) => (at === 0 || raw[at - 1] === '\n' ? '' : lineEndOf(raw));

/** The marker of a new bullet next to another; a number would have to be counted on. */
const bulletLike = (marker: string) => (/\d/.test(marker) ? '- ' : `${marker.trimEnd()} `);

/** Whether a text, alone on its line, is nothing but a line of a paragraph. */
function isPlainLine(text: string): boolean {
  const [block] = readBlocks(text);
  return block?.kind === 'paragraph' && !/^(?:[>|<=]|```|~~~)/.test(text);
}

const MARK = /^(Seen once|Found by the agent), (\d{4}-\d{2}-\d{2}): /;

/** `isFound`: an agent found it out in that session, and no person showed it. */
export const markSeenOnce = (text: string, day: Day, isFound = false) =>
  `${isFound ? 'Found by the agent' : 'Seen once'}, ${day}: ${withoutMark(text)}`;

export const withoutMark = (text: string) => text.replace(MARK, '').replace(MAY_BE_OVER, '');

/** Behind a line that tells a state which nobody has told again. */
const MAY_BE_OVER = / \(as of \d{4}-\d{2}-\d{2}, may be over\)$/;

export const mayBeOver = (text: string) => MAY_BE_OVER.test(text);

export const markMayBeOver = (text: string, day: Day) => `${text.replace(MAY_BE_OVER, '')} (as of ${day}, may be over)`;

/** Of a line that holds on the machine alone where it was found: told there, and never shared. */
export const isOfMachine = (text: string) => /^On this machine\b/i.test(withoutMark(text));

/** The day that a line's mark names; undefined for a plain line. */
export const seenOnceOn = (text: string): Day | undefined => MARK.exec(text)?.[2];

/** The same of a line that says what an agent found out, alone. */
export const foundOn = (text: string): Day | undefined =>
  MARK.exec(text)?.[1] === 'Found by the agent' ? seenOnceOn(text) : undefined;

/** A topic's text, or its body, without the lines that carry the mark, and these. */
export function partSeenOnce(raw: string): { text: string; marked: { id: string; text: string }[]; isAll: boolean } {
  const lines = locateLines(raw);
  const marked = lines.filter(({ text }) => seenOnceOn(text) !== undefined);
  if (marked.length === 0) return { text: raw, marked, isAll: false };
  const remove = new Set(marked.map(({ id }) => id));
  return { text: editLines(raw, { remove, add: [] }), marked, isAll: marked.length === lines.length };
}

/** Words, and the beginnings of words with a `*`, by which something goes on, begins or stays open. */
const GOES_ON = [
  'since from starting as…of onwards always never every open',
  'seit ab immer nie jede* offen',
  'depuis dès à…partir toujours jamais chaque',
  'desde a…partir siempre nunca cada',
  'dal dalla da…quando sempre mai ogni a…decorrere',
  'sinds vanaf altijd nooit elke',
  'od zawsze nigdy każd*',
  'с начиная всегда никогда кажд*',
  'sedan från alltid aldrig varje',
  '以来* 以降* から* いつも* 自 起 始终* 总是* 부터* 항상*',
];

const ANY_DATE = /(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)/g;

/** Made when the first date is met: to make it takes longer than all else that a hook loads. */
let goesOn: RegExp | undefined;

/** The last date of a text, where it lay ahead when that was said; null where nothing is over then, but goes on or begins. */
export function dueDay(text: string, saidAt = ''): Day | null {
  const last = text.match(ANY_DATE)?.filter(isDay).sort().at(-1);
  if (last === undefined || last <= saidAt) return null;
  goesOn ??= pattern(GOES_ON);
  return goesOn.test(text) ? null : last;
}

/** Any of the words, as whole words; in scripts without spaces wherever they stand. */
function pattern(lists: string[]): RegExp {
  const words = lists
    .flatMap((list) => list.split(' '))
    .map((word) => {
      const plain = word.replace('*', '').replaceAll('…', String.raw`\s(?:[\p{L}]+\s){0,3}?`);
      if (/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u.test(plain)) return plain;
      return String.raw`(?<!\p{L})${plain}${word.endsWith('*') ? '' : String.raw`(?!\p{L})`}`;
    });
  return new RegExp(`(?:${words.join('|')})`, 'iu');
}

/** A line as it stands in the file, with its marker, for whoever edits it. */
export function shownLine(raw: string, { from, to }: Pick<LocatedLine, 'from' | 'to'>): string {
  return withUnixEnds(raw.slice(from, to)).trimEnd();
}

/**
 * The file with `text` in the place of the line with this id, of equal ones the one at this index, bullet marker and all; empty
 * takes it out. Null where the line is not as it was shown any more.
 */
export function withLine(
  raw: string,
  { line, index, shown, text }: { line: string; index: number; shown: string; text: string },
): string | null {
  const [was, now] = [shown, text].map((each) => withUnixEnds(each).trimEnd()) as [string, string];
  if (now === was) return raw;
  const lines = locateLines(raw);
  const isMeant = (each?: LocatedLine) => each?.id === line && shownLine(raw, each) === was;
  const place = isMeant(lines[index]) ? lines[index] : lines.find(isMeant);
  if (!place) return null;
  const { from, to } = place;
  const end = lineEndOf(raw);
  const written = now === '' ? '' : `${now.replaceAll('\n', end)}${raw.slice(from, to).endsWith('\n') ? end : ''}`;
  return raw.slice(0, from) + written + raw.slice(to);
}

function withUnixEnds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
