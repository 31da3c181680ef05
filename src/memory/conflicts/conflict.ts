// Conflict markers that git left in a file (`<<<<<<<`, `|||||||`, `=======`, `>>>>>>>`): the two files that were to be
// merged, and one made of both with nothing of either lost. Only a whole set in the right order is a conflict; a marker
// alone, or a set that a code fence shows as an example, is text about git.
// Statements of both sides stand together, ours first; of a key that the frontmatter has twice one value stays, chosen by
// the values alone, so that every clone chooses alike; of a bullet that stands twice one, with the authors of both.
// Changes nothing: who only looks is shown what resolve-merges.ts would commit.

import { changesOf } from '../../base/text/align.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { headAt, shaOf, versionOf } from '../ledger/version-rows.ts';
import { authorsOf, type Line, lineEndOf, readLines, withAuthors } from '../text/blocks.ts';
import { bodyStart } from '../text/frontmatter.ts';
import { isTopicFile, locateLines } from '../text/topic.ts';

/** The file as each side had it, where it was merged and where not. */
export interface Sides {
  ours: string;
  theirs: string;
}

/** Deeper than any merge nests: what is deeper is taken for text. */
const MAX_DEPTH = 20;
const FENCE = /^[ \t]*(`{3,}|~{3,})/;
const MARKER = /^(?:(<{7}|>{7}|\|{7})(?: .*)?|(={7}))$/;

/**
 * The two sides; null without a conflict. A set inside a code fence is one only where the file had that fence with one
 * of the two sides `before`.
 */
export function sidesOf(text: string, { before }: { before: string | null }): Sides | null {
  if (!/^<{7}(?: |\r?$)/m.test(text)) return null;
  const lines = readLines(text);
  const examples = linesOfExamples(lines, before ?? '');
  return sidesOfLines(lines, (at) => examples.has(at));
}

function sidesOfLines(lines: Line[], isText: (at: number) => boolean): Sides | null {
  const pieces = readPieces(lines, isText);
  if (pieces.every((piece) => typeof piece === 'string')) return null;
  return { ours: textOf(pieces, 'ours'), theirs: textOf(pieces, 'theirs') };
}

interface Conflict {
  ours: string[];
  theirs: string[];
}

/** A line with its end, or two versions of some. */
type Piece = string | Conflict;

/** A set of markers that is not complete yet. */
interface Open extends Conflict {
  base: string[];
  at: 'ours' | 'base' | 'theirs';
  /** All of it in order, for when it is never completed. */
  all: Piece[];
}

function readPieces(lines: Line[], isText: (at: number) => boolean): Piece[] {
  const out: Piece[] = [];
  const opens: Open[] = [];
  const add = (piece: Piece, lines: string[]) => {
    const open = opens.at(-1);
    open?.[open.at].push(...lines);
    (open?.all ?? out).push(piece);
  };
  for (const [at, { text, raw }] of lines.entries()) {
    const open = opens.at(-1);
    const marker = isText(at) ? null : MARKER.exec(text);
    const sign = (marker?.[1] ?? marker?.[2])?.[0];
    if (sign === '<' && opens.length < MAX_DEPTH) {
      opens.push({ ours: [], base: [], theirs: [], at: 'ours', all: [raw] });
    } else if (open && sign === '|' && open.at === 'ours') {
      open.at = 'base';
      open.all.push(raw);
    } else if (open && sign === '=' && open.at !== 'theirs') {
      open.at = 'theirs';
      open.all.push(raw);
    } else if (open && sign === '>' && open.at === 'theirs') {
      opens.pop();
      const { ours, theirs } = open;
      // Within a side of another conflict both are that side's.
      add({ ours, theirs }, [...ours, ...theirs.filter((line) => !ours.includes(line))]);
    } else add(raw, [raw]);
  }
  // What was never completed is text, with the complete ones in it.
  return [...out, ...opens.flatMap((open) => open.all)];
}

function textOf(pieces: Piece[], side: keyof Sides): string {
  return pieces.flatMap((piece) => (typeof piece === 'string' ? piece : piece[side])).join('');
}

/** The lines of the code fences that quote whole sets of markers. */
function linesOfExamples(lines: Line[], before: string): Set<number> {
  const found = new Set<number>();
  for (let at = 0; at < lines.length; at += 1) {
    const fence = FENCE.exec(lines[at]?.text ?? '')?.[1];
    if (!fence) continue;
    const closing = new RegExp(`^[ \\t]*${fence[0]}{${fence.length},}[ \\t]*$`);
    const end = lines.findIndex((line, index) => index > at && closing.test(line.text));
    if (end < 0) break;
    const sides = sidesOfLines(lines.slice(at, end + 1), () => false);
    const wasThere = sides !== null && (before.includes(sides.ours) || before.includes(sides.theirs));
    if (sides && !wasThere) for (let line = at; line <= end; line += 1) found.add(line);
    at = end;
  }
  return found;
}

/** The two sides and the one text of them; null without a conflict. `before`: the file before git merged it. */
export function withoutMarkers(
  text: string,
  { path, before }: { path: string; before: string | null },
): { sides: Sides; text: string } | null {
  const sides = sidesOf(text, { before });
  if (!sides) return null;
  const merged = tidyFrontmatter(reconcile(sides));
  return { sides, text: isTopicFile(path) ? tidyTopic(merged) : merged };
}

/** The text of a file as readers are shown it; `ledger` is null where nocturne has not worked. */
export function shownText(text: string, { path, ledger }: { path: string; ledger: Ledger | null }): string {
  if (!text.includes('<<<<<<<')) return text;
  return withoutMarkers(text, { path, before: ledger && textBefore(ledger, { path, text }) })?.text ?? text;
}

/** The file before this text; null where the ledger does not know. */
function textBefore(ledger: Ledger, { path, text }: { path: string; text: string }): string | null {
  const head = headAt(ledger, path);
  if (head?.sha !== shaOf(text)) return head?.content?.toString() ?? null;
  return head.previous === null ? null : (versionOf(ledger, head.previous).content?.toString() ?? null);
}

/** One file of two. */
export function reconcile({ ours, theirs }: Sides): string {
  const lineEnd = lineEndOf(ours || theirs);
  const [a, b] = [ours, theirs].map((text) => text.replaceAll(/\r?\n/g, lineEnd)) as [string, string];
  const [from, to] = [bodyStart(a), bodyStart(b)];
  return mergeHeads(a.slice(0, from), b.slice(0, to)) + unionOf(a.slice(from), b.slice(to), lineEnd);
}

/** The frontmatter, of which a key may stand twice and parts may stand in the body, with every key once. */
export function tidyFrontmatter(text: string): string {
  const from = bodyStart(text);
  if (from === 0) return text;
  let head = mergeHeads(text.slice(0, from), '');
  let body = text.slice(from);
  const known = new Set(keyBlocks(head).blocks.keys());
  for (let left = MAX_DEPTH; left > 0; left -= 1) {
    const stray = strayHead(body, known);
    if (!stray) break;
    head = mergeHeads(head, `---\n${stray.text}`);
    body = body.slice(0, stray.from) + body.slice(stray.to).replace(/^(?:\r?\n)+/, '');
  }
  return head + body;
}

/** What git's union leaves of a second frontmatter: lines of keys, then the rule that ended it. */
function strayHead(body: string, known: Set<string>): { text: string; from: number; to: number } | null {
  const lines = readLines(body);
  let fence = false;
  for (const [at, line] of lines.entries()) {
    if (/^[ \t]*(?:```|~~~)/.test(line.text)) fence = !fence;
    if (fence || !/^---[ \t]*$/.test(line.text)) continue;
    let first = at;
    while (first > 0 && known.has(keyOf(lines[first - 1]?.text ?? '') ?? '')) first -= 1;
    const start = lines[first];
    if (first === at || !start) continue;
    const to = line.from + line.raw.length;
    return { text: body.slice(start.from, to), from: start.from, to };
  }
  return null;
}

/** Frontmatter with its fences; either may be empty. */
function mergeHeads(ours: string, theirs: string): string {
  if (ours === '' || theirs === '') {
    const { open, blocks, close } = keyBlocks(ours || theirs);
    return open + [...blocks.values()].join('') + close;
  }
  const a = keyBlocks(ours);
  const blocks = new Map(a.blocks);
  for (const [key, value] of keyBlocks(theirs).blocks) blocks.set(key, chosen(blocks.get(key), value));
  return a.open + [...blocks.values()].join('') + a.close;
}

/** The lines of each key, and what is before the first of them under ''. */
function keyBlocks(head: string): { open: string; blocks: Map<string, string>; close: string } {
  const lines = readLines(head);
  const blocks = new Map<string, string>();
  let key = '';
  let value = '';
  const end = () => {
    if (value !== '') blocks.set(key, chosen(blocks.get(key), value));
    value = '';
  };
  for (const { text, raw } of lines.slice(1, -1)) {
    const next = keyOf(text);
    if (next !== null) {
      end();
      key = next;
    }
    value += raw;
  }
  end();
  return { open: lines[0]?.raw ?? '', blocks, close: lines.length > 1 ? (lines.at(-1)?.raw ?? '') : '' };
}

function keyOf(line: string): string | null {
  return /^(["']?)([\w-]+)\1[ \t]*:(?:[ \t]|$)/.exec(line)?.[2] ?? null;
}

/** Pinned is the careful choice; else the longer says more. */
function chosen(ours: string | undefined, theirs: string): string {
  if (ours === undefined || ours === theirs) return theirs;
  const isPin = (value: string) => /^["']?pinned["']?\s*:\s*true/.test(value);
  if (isPin(ours) !== isPin(theirs)) return isPin(ours) ? ours : theirs;
  if (ours.length !== theirs.length) return ours.length > theirs.length ? ours : theirs;
  return ours > theirs ? ours : theirs;
}

/** The parts of both in the order of each; a bullet that both have at a place stands once. */
function unionOf(ours: string, theirs: string, lineEnd: string): string {
  const whole = (text: string) => (text === '' || text.endsWith('\n') ? text : text + lineEnd);
  const [a, b] = [partsOf(whole(ours)), partsOf(whole(theirs))];
  let at = 0;
  const both = changesOf(a, b).flatMap(({ a: [start, length], b: [from, added] }) => {
    const until = start + length;
    const stands = new Set(a.slice(start, until));
    const isRepeated = (part: string) => /^(?:[-*+] |\s*$)/.test(part) && stands.has(part);
    const here = [...a.slice(at, until), ...b.slice(from, from + added).filter((part) => !isRepeated(part))];
    at = until;
    return here;
  });
  return [...both, ...a.slice(at)].join('');
}

/** A line with the deeper ones below it, as an entry of a log is, or a whole code fence: what is merged as one. */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  let fence: string | undefined;
  for (const { text: line, raw } of readLines(text)) {
    const mark = /^[ \t]*(`{3,}|~{3,})/.exec(line)?.[1];
    const isBelow = fence !== undefined || /^[ \t]+\S/.test(line);
    if (isBelow && parts.length > 0) parts.push(parts.pop() + raw);
    else parts.push(raw);
    if (fence === undefined) fence = mark;
    else if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined;
  }
  return parts;
}

/** A topic as it stands, after git may have merged it by keeping the lines of both sides. */
export function tidyTopic(raw: string): string {
  return withoutRepeats(tidyFrontmatter(raw));
}

/** Takes out the bullets that say what one before them says, and names the authors of all of them there. */
function withoutRepeats(raw: string): string {
  const bullets = locateLines(raw).filter(({ kind }) => kind === 'bullet');
  const edits = [...Map.groupBy(bullets, ({ id }) => id).values()].flatMap((same) => {
    const [first, ...others] = same;
    if (!first || others.length === 0) return [];
    const authors = same.flatMap((line) => line.authors);
    const text = nameAuthors(raw.slice(first.from, first.to), authors);
    return [{ from: first.from, to: first.to, text }, ...others.map(({ from, to }) => ({ from, to, text: '' }))];
  });
  return edits
    .sort((a, b) => b.from - a.from)
    .reduce((text, edit) => text.slice(0, edit.from) + edit.text + text.slice(edit.to), raw);
}

/** A bullet with these authors, on the line where some stood, else its first. */
function nameAuthors(bullet: string, authors: string[]): string {
  const lines = bullet.split('\n');
  const at = Math.max(
    lines.findIndex((line) => authorsOf(line).length > 0),
    0,
  );
  const [, text = '', end = ''] = /^(.*?)(\r?)$/.exec(lines[at] ?? '') ?? [];
  return lines.with(at, withAuthors(text, authors) + end).join('\n');
}
