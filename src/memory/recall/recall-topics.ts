// Which topics a session is told, most useful first: pinned, matching the query, used, changed lately, then as MEMORY.md has them. Of
// ten thousand it reads those that MEMORY.md itself names, which a night chose by the same order, and of the others those whose line
// in an overflow list matches. Also the beginning of MEMORY.md, as much as agents read of it; how old a memory may be before one
// should look again; and which things a text names that can be looked for in a working tree.

import { mostThat } from '../../base/text/wording.ts';
import { DAY_MS } from '../../base/time.ts';
import { withoutGivenUp } from '../../rules/words.ts';
import { isPinned } from '../file-guards.ts';
import { isMemoryPath } from '../memory-paths.ts';
import type { MemoryType } from '../memory-types.ts';
import { readLines } from '../text/blocks.ts';
import { INDEX_CAPS, linksIn } from '../text/index-file.ts';
import type { ReadFile, RecallSource } from './recall-source.ts';

export interface RankedTopic extends ReadFile {
  path: string;
  /** How many words of the query stand in it. */
  matches: number;
}

/** So many of the topics that only an overflow list names are read, the best by their lines. */
const MOST_LISTED = 50;
const LIST = /^index\/\w+\.md$/;

export async function rankTopics(source: RecallSource, index: string, query = ''): Promise<RankedTopic[]> {
  const words = wordsOf(query);
  const inIndex = namedIn(index);
  const lists = [...inIndex.keys()].filter((path) => LIST.test(path));
  for (const path of lists) inIndex.delete(path);
  const named = new Map([...inIndex].slice(0, INDEX_CAPS.lines));
  const overflow = words.length === 0 ? [] : [...(await source.read(lists)).values()];
  const listed = overflow
    .flatMap(({ text }) => [...namedIn(text)])
    .map(([path, line]) => ({ path, line, matches: countMatches(line, words) }))
    .filter(({ path, matches }) => matches > 0 && !named.has(path))
    .sort((a, b) => b.matches - a.matches);
  for (const { path, line } of listed.slice(0, MOST_LISTED)) named.set(path, line);
  const isTopic = (path: string) =>
    isMemoryPath(path) && path.toLowerCase() !== 'memory.md' && !/^(?:index|logs)\//.test(path);
  const paths = [...named.keys()].filter(isTopic);
  const [files, usedAt] = await Promise.all([source.read(paths), source.usedAt(paths)]);
  const topics = [...named].flatMap(([path, line], place) => {
    const file = files.get(path);
    if (!file) return [];
    const matches = countMatches(`${line} ${file.text}`, words);
    return { ...file, path, matches, place, usedAt: usedAt.get(path) ?? '', isPinned: isPinned(path, file.text) };
  });
  return topics.sort((a, b) => {
    const used = a.usedAt < b.usedAt ? 1 : a.usedAt > b.usedAt ? -1 : 0;
    const asked = Number(b.isPinned) - Number(a.isPinned) || b.matches - a.matches;
    return asked || used || b.changedAt.getTime() - a.changedAt.getTime() || a.place - b.place;
  });
}

/** Words of three letters and more, and whatever is written without spaces, once each. */
function wordsOf(query: string): string[] {
  const words =
    query
      .toLowerCase()
      .normalize('NFC')
      .match(/[\p{L}\p{N}_]+/gu) ?? [];
  return [...new Set(words.filter((word) => word.length > 2 || /[^ -~]/.test(word)))];
}

function countMatches(text: string, words: string[]): number {
  if (words.length === 0) return 0;
  // What a line names only as given up leads nobody to it.
  const folded = withoutGivenUp(text).toLowerCase().normalize('NFC');
  return words.filter((word) => folded.includes(word)).length;
}

/** The files that lines name, each with its first line. */
function namedIn(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split('\n')) {
    // Lines of our own end with their one link; thousands of them are read for a query.
    const own = line.startsWith('- ') && line.endsWith('.md]') ? [line.slice(line.lastIndexOf('[') + 1, -1)] : null;
    for (const path of own ?? (line.includes('.md') ? linksIn(line) : [])) if (!found.has(path)) found.set(path, line);
  }
  return found;
}

interface CutIndex {
  /** Whole lines, the last one ended. */
  text: string;
  shownLines: number;
  lines: number;
  bytes: number;
  isCut: boolean;
}

/** At most 200 lines, then at most 25,000 bytes of UTF-8, cut at a line end; `holds` may ask for less. */
export function cutIndex(text: string, holds: (part: string) => boolean = () => true): CutIndex {
  const all = readLines(text);
  const firstLines = all.slice(0, INDEX_CAPS.lines);
  let bytes = 0;
  const within = firstLines.findIndex(({ raw }) => {
    bytes += Buffer.byteLength(raw);
    return bytes > INDEX_CAPS.bytes;
  });
  const partOf = (count: number) =>
    all
      .slice(0, count)
      .map(({ raw }) => raw)
      .join('');
  const whole = within < 0 ? firstLines.length : within;
  const most = holds(partOf(whole)) ? whole : mostThat((count) => holds(partOf(count)), whole);
  const part = partOf(most);
  return {
    text: part === '' || part.endsWith('\n') ? part : `${part}\n`,
    shownLines: most,
    lines: all.length,
    bytes: Buffer.byteLength(text),
    isCut: most < all.length,
  };
}

/** What to say below an index that was cut. */
export function cutWarning({ shownLines, lines, bytes }: CutIndex): string {
  return `WARNING: MEMORY.md has ${lines} lines and ${bytes} bytes; only its first ${shownLines} lines stand here. Read the file for the rest.`;
}

/** From so many whole days on a memory of the type is marked; a file without a type counts as a project's. */
export const STALE_DAYS: Record<MemoryType, number> = { project: 1, reference: 7, user: 30, feedback: 60 };

const CAVEATS: Record<MemoryType, string> = {
  project: 'Plans, dates and code may have moved on: check before relying on it.',
  reference: 'What it points at may have moved: look before relying on it.',
  user: 'It may have changed since: go by what the user says now.',
  feedback: 'Ways of working may have changed since: go by what the user says now.',
};

/** Whole days since a change; 0 for one that lies in the future. */
export function ageDays(changed: Date, now: Date): number {
  return Math.max(0, Math.floor((now.getTime() - changed.getTime()) / DAY_MS));
}

/** `today`, `1 day ago`, `12 days ago`. */
export function sayAge(days: number): string {
  if (days === 0) return 'today';
  return days === 1 ? '1 day ago' : `${days} days ago`;
}

/** What to say of a memory of this age, or null while it is fresh. */
export function ageCaveat(type: MemoryType | undefined, days: number): string | null {
  return days >= STALE_DAYS[type ?? 'project'] ? CAVEATS[type ?? 'project'] : null;
}

/** A file, flag or function that a text names. */
export interface NamedThing {
  kind: 'path' | 'word';
  /** As it stands in the text. */
  shown: string;
  /** The path with `/`, or the words of which one stands in code that has the thing. */
  search: string[];
}

const EXTENSION =
  /\.(?:[cm]?[jt]sx?|json[c5]?|ya?ml|toml|mdx?|py|rb|go|rs|java|kts?|swift|[ch]|cc|[ch]pp|cs|php|(?:ba|z)?sh|sql|s?css|html?|vue|svelte|proto|tf|lock|gradle|xml|ini|cfg|txt)$/i;
const BARE_PATH = /(?<![\w@/.:~`-])(?:\.\/)?(?:[\w@.-]+\/)+[\w.-]+\.[a-z]\w{0,5}(?![\w/`])/gi;

/** The files, flags and functions that `text` names, each once. What may well be someone else's is left out. */
export function namedThings(text: string): NamedThing[] {
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, '').replace(/\b\w+:\/\/[^\s`)>\]]+/g, '');
  const spans = [...prose.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '');
  const bare = prose.match(BARE_PATH) ?? [];
  const things = new Map<string, NamedThing>();
  for (const thing of [...spans.map(thingOf), ...bare.map(pathOf)]) if (thing) things.set(thing.shown, thing);
  return [...things.values()];
}

function thingOf(span: string): NamedThing | null {
  const shown = span.trim();
  return pathOf(shown) ?? flagOf(shown) ?? functionOf(shown);
}

function pathOf(shown: string): NamedThing | null {
  const path = shown.replace(/^\.\//, '').replace(/:\d+(?:[-:]\d+)?$/, '');
  if (/[\s*?{}<>$|"'\\(),;=]/.test(path) || /^(?:[/~@]|\.\.)|(?:^|\/)(?:\.\.|node_modules)\//.test(path)) return null;
  if (!EXTENSION.test(path) && !/^[\w.-]+\/(?:[\w.-]+\/)*$/.test(path)) return null;
  return { kind: 'path', shown, search: [path.replace(/\/$/, '')] };
}

/** Options are written in code with dashes, underscores or humps. */
function flagOf(shown: string): NamedThing | null {
  const name = /^--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?:[= ].*)?$/i.exec(shown)?.[1];
  if (!name || name.length < 3) return null;
  const humps = name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return { kind: 'word', shown, search: [...new Set([name, name.replaceAll('-', '_'), humps])] };
}

/** A name counts as code by its brackets, its humps, its underscores or its owner. */
function functionOf(shown: string): NamedThing | null {
  const [, owner, name, brackets] = /^((?:[A-Za-z_$][\w$]*(?:\.|::|#))*)([A-Za-z_$][\w$]*)(\(.*\))?$/.exec(shown) ?? [];
  if (!name || name.length < 3 || /^[A-Z0-9_]+$/.test(name)) return null;
  const isCode = brackets || /[a-z\d][A-Z]|\w_\w/.test(name) || /::|#/.test(owner ?? '');
  return isCode ? { kind: 'word', shown, search: [name] } : null;
}
