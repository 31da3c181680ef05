// Two versions of a file as one, with nothing of either lost: what plain git could not merge, or merged by keeping the
// lines of both sides (`merge=union`).
// Statements of both stand together, ours first; of a key that the frontmatter has twice one value stays, chosen by the
// values alone, so that every clone chooses alike; of a bullet that stands twice one, with the authors of both. Whoever calls keeps what went as a version. Pure.

import { diffComm } from 'node-diff3';
import { authorsOf, withAuthors } from '../text/authors.ts';
import { lineEndOf, readLines } from '../text/blocks.ts';
import { bodyStart } from '../text/frontmatter.ts';
import { locateLines } from '../text/topic.ts';
import type { Sides } from './conflict.ts';

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
  for (let stray = strayHead(body, known); stray; stray = strayHead(body, known)) {
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
  return diffComm(partsOf(whole(ours)), partsOf(whole(theirs)))
    .flatMap((region) => {
      if ('common' in region) return region.common;
      const { buffer1, buffer2 } = region;
      const isRepeated = (part: string) => /^(?:[-*+] |\s*$)/.test(part) && buffer1.includes(part);
      return [...buffer1, ...buffer2.filter((part) => !isRepeated(part))];
    })
    .join('');
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
