// MEMORY.md: one line for every topic, grouped by type, within the caps that agents read. Pure: a text and topics in, texts out;
// who builds it when is memory-index.ts's.
// Promises: a line nocturne did not write stays, in its place, and no line is made for the topic it links; generated
// lines yield first, and of what does not fit it says how many topics that are; built again from its own output, it gives
// the same bytes.

import { MEMORY_TYPES, type MemoryType } from '../memory-types.ts';
import { compare, fold, lineEndOf, readLines } from './blocks.ts';
import { isTopicPath } from './topic.ts';

export interface IndexTopic {
  path: string;
  description: string;
  /** Undefined for a hand-written topic without one. */
  type: MemoryType | undefined;
  pinned: boolean;
  /** ISO-8601, where known. */
  usedAt?: string;
}

/** `bytes`: of UTF-8. */
export const INDEX_CAPS = { lines: 200, bytes: 25_000, lineCharacters: 150 };

interface IndexRequest {
  /** The file as it stands, or null. */
  current: string | null;
  /** The `generated` lines of the last build: what else is in the file, a person or the main agent wrote. */
  generatedBefore: Set<string>;
  topics: IndexTopic[];
  caps?: typeof INDEX_CAPS;
  /**
   * An index that several people build and plain git merges: in order of paths alone, and every line of the form that
   * is generated was, by whichever of them.
   */
  isCheckedIn?: boolean;
}

export interface BuiltIndex {
  text: string;
  generated: string[];
  lines: number;
  bytes: number;
}

const GROUPS = [...MEMORY_TYPES, 'other'] as const;
type Group = (typeof GROUPS)[number];

/** Where an earlier nocturne put what had no room. */
export const FORMER_PARTS = GROUPS.map((group) => `index/${group}.md`);

/** Whether such a file has its heading and lines of these topics, and nothing of anybody's. */
export function isFormerPart(text: string, topics: readonly IndexTopic[]): boolean {
  const [heading = '', ...lines] = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const generated = new Set(topics.map((topic) => indexLine(topic)));
  return /^# \w+$/.test(heading) && lines.length > 0 && lines.every((line) => generated.has(line));
}

const TITLE = '# Memory';
/** The last line of an index without room for all topics. */
export const OVERFLOW_LINE = /^- \d+ more in files beside this one$/m;

/** Builds MEMORY.md. The order within a group: pinned, used, then by path. */
export function buildIndex(request: IndexRequest): BuiltIndex {
  const { current, generatedBefore, topics, caps = INDEX_CAPS, isCheckedIn = false } = request;
  const before = isCheckedIn ? generatedBefore.union(linesAsGenerated(current ?? '')) : generatedBefore;
  const sections = readSections(current ?? '', before);
  const linked = new Set(linksIn(sections.flatMap(({ before, after }) => [...before, ...after]).join('\n')));
  const entries = topics
    .filter((topic) => !linked.has(topic.path))
    .sort(isCheckedIn ? byPath : byWorth)
    .map((topic) => ({ group: topic.type ?? ('other' as const), line: indexLine(topic, caps.lineCharacters) }));

  const lineEnd = lineEndOf(current ?? '');
  const finish = (layout: Section[]): BuiltIndex => {
    const text = render(layout, lineEnd);
    const generated = layout.flatMap((section) => section.generated);
    return { text, generated, lines: text.split('\n').length - 1, bytes: Buffer.byteLength(text) };
  };
  for (let count = Math.min(entries.length, caps.lines); count >= 0; count--) {
    const built = finish(layOut(sections, { kept: entries.slice(0, count), left: entries.length - count }));
    if (built.lines <= caps.lines && built.bytes <= caps.bytes) return built;
  }
  // Hand-written lines leave no room for any other.
  return finish(sections);
}

type Entry = { group: Group; line: string };

/** A generated heading with the hand-written lines under it, raw, and the place of the generated ones among them. */
type Section = { heading: string | null; before: string[]; generated: string[]; after: string[] };

const headingOf = (group: Group) => `## ${group[0]?.toUpperCase()}${group.slice(1)}`;

function readSections(current: string, generatedBefore: Set<string>): Section[] {
  const headings = new Set<string>([TITLE, ...GROUPS.map(headingOf)]);
  const sections: Section[] = [];
  let open: { heading: string | null; lines: string[]; place: number } = { heading: null, lines: [], place: -1 };
  const close = () => {
    const { before, after } = splitAt(open.lines, open.place);
    // A heading with nothing of anybody's under it is made anew where it is needed.
    if (before.length + after.length > 0) sections.push({ heading: open.heading, before, generated: [], after });
  };
  for (const { text, raw } of readLines(current)) {
    if (headings.has(text)) {
      close();
      open = { heading: text, lines: [], place: -1 };
    } else if (generatedBefore.has(text) || OVERFLOW_LINE.test(text)) {
      if (open.place < 0) open.place = open.lines.length;
    } else {
      open.lines.push(raw);
    }
  }
  close();
  return sections;
}

/** Blank lines around a section are layout and made anew; those inside are the writer's. */
function splitAt(lines: string[], place: number): { before: string[]; after: string[] } {
  const isBlank = (line: string) => line.trim() === '';
  const first = lines.findIndex((line) => !isBlank(line));
  if (first < 0) return { before: [], after: [] };
  const last = lines.findLastIndex((line) => !isBlank(line)) + 1;
  // Without generated lines yet, they go before the writer's own heading, if there is one.
  const heading = lines.findIndex((line) => /^#{1,6} /.test(line));
  const at = Math.min(Math.max(place < 0 ? (heading < 0 ? last : heading) : place, first), last);
  return { before: lines.slice(first, at), after: lines.slice(at, last) };
}

/** The index without the lines, whoever wrote them, that link one of these files. */
export function withoutLinksTo(current: string, paths: Set<string>): string {
  const links = (line: string) => linksIn(line).some((path) => paths.has(path));
  return readLines(current)
    .filter(({ text }) => !links(text))
    .map(({ raw }) => raw)
    .join('');
}

/** The files that a text of an index links, in both forms, as they are written there. */
export function linksIn(text: string): string[] {
  const links = text.matchAll(/[[(](?:\.\/)?([^[\]()\n]+\.md)(?:#[^[\]()\n]*)?[\])]/gi);
  return [...links].map((link) => link[1] ?? '');
}

function byWorth(a: IndexTopic, b: IndexTopic): number {
  return Number(b.pinned) - Number(a.pinned) || compare(b.usedAt ?? '', a.usedAt ?? '') || byPath(a, b);
}

const byPath = (a: IndexTopic, b: IndexTopic) => compare(a.path, b.path);

/** The lines of an index, whoever built it, that look as if they were generated. */
function linesAsGenerated(index: string): Set<string> {
  const lines = readLines(index).map(({ text }) => text);
  return new Set(lines.filter((line) => isTopicPath(/^- .+ \[([^[\]\n]+)\]$/.exec(line)?.[1] ?? '')));
}

/** `- <description> [<path>]`; the description is cut at a word, the link never. */
export function indexLine(
  { path, description }: Pick<IndexTopic, 'path' | 'description'>,
  maxCharacters = INDEX_CAPS.lineCharacters,
): string {
  const room = maxCharacters - [...`-  [${path}]`].length;
  return `- ${cutDescription(description, room) || path.replace(/\.md$/i, '')} [${path}]`;
}

/** A description on one line, cut at a word where it is longer than so many characters. */
export function cutDescription(description: string, room = INDEX_CAPS.lineCharacters): string {
  const words = [...fold(description)];
  if (words.length <= room) return words.join('');
  const cut = words.slice(0, Math.max(room - 1, 0)).join('');
  const isWhole = words[room - 1] === ' ';
  const atWord = isWhole ? cut : cut.slice(0, Math.max(cut.lastIndexOf(' '), 0)) || cut;
  return `${atWord.trimEnd()}…`;
}

function layOut(sections: Section[], { kept, left }: { kept: Entry[]; left: number }): Section[] {
  const out = sections.map((section) => ({ ...section }));
  if (!out.some((section) => section.heading === TITLE)) {
    const at = out[0]?.heading === null ? 1 : 0;
    out.splice(at, 0, { heading: TITLE, before: [], generated: [], after: [] });
  }
  for (const [rank, group] of GROUPS.entries()) {
    const generated = kept.filter((entry) => entry.group === group).map(({ line }) => line);
    if (generated.length === 0) continue;
    let section = out.find((one) => one.heading === headingOf(group));
    if (!section) {
      section = { heading: headingOf(group), before: [], generated: [], after: [] };
      const later = new Set<string | null>(GROUPS.slice(rank + 1).map(headingOf));
      const at = out.findIndex((one) => later.has(one.heading));
      out.splice(at < 0 ? out.length : at, 0, section);
    }
    section.generated = generated;
  }
  if (left > 0)
    out.push({ heading: null, before: [], generated: [`- ${left} more in files beside this one`], after: [] });
  return out;
}

function render(sections: Section[], lineEnd: string): string {
  /** The last line of a file may have had no end. */
  const ended = (raw: string) => (raw.endsWith('\n') ? raw : raw + lineEnd);
  const blocks = sections
    .map(({ heading, before, generated, after }) => {
      const body = [...before.map(ended), ...generated.map((line) => line + lineEnd), ...after.map(ended)].join('');
      if (heading === null) return body;
      return heading + lineEnd + (heading === TITLE && body !== '' ? lineEnd : '') + body;
    })
    .filter((block) => block !== '');
  return blocks.join(lineEnd);
}
