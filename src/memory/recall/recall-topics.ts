// What recall takes from MEMORY.md (its beginning, as much as agents read of it) and which topics it shows, most useful
// first: pinned, matching the query, used, changed lately, then as the index has them. Of ten thousand topics it reads
// those that MEMORY.md itself names, which the dream chose by the same order, and of the others only those whose line in
// an overflow list matches. Also how old a memory may be before one should look again (what a project is about changes
// within days, people hardly), and which things it names that can be looked for.

import { join } from 'node:path';
import { readMemoryNow, statNow } from '../../base/files/files.ts';
import { mostThat } from '../../base/text/wording.ts';
import { DAY_MS } from '../../base/time.ts';
import { withoutGivenUp } from '../../rules/words.ts';
import { shownText } from '../conflicts/conflict.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { isMemoryPath } from '../store/confine.ts';
import { findConfined, readShown } from '../store/live-files.ts';
import { isPinned } from '../store/staging.ts';
import { readLines } from '../text/blocks.ts';
import { bodyStart } from '../text/frontmatter.ts';
import { INDEX_CAPS, linksIn } from '../text/index-file.ts';
import { parseTopic } from '../text/topic.ts';
import type { MemoryType } from '../types.ts';
import { topicUses } from './recall-uses.ts';

export interface RankedTopic {
  path: string;
  changedAt: Date;
  /** How many words of the query stand in it. */
  matches: number;
  text: string;
}

/** So many of the topics that only an overflow list names are read, the best by their lines. */
const MOST_LISTED = 50;

export function rankTopics(
  { dir, ledger, query }: { dir: string; ledger: Ledger | null; query?: string },
  index: string,
): RankedTopic[] {
  const words = wordsOf(query ?? '');
  const uses = ledger ? topicUses(ledger) : null;
  const inIndex = topicsIn(index)
    .filter(({ path }) => !LIST.test(path))
    .slice(0, INDEX_CAPS.lines);
  const named = new Set(inIndex.map(({ path }) => path));
  const listed = words.length === 0 ? [] : bestListed(listedTopics({ dir, ledger }, index), words);
  return [...inIndex, ...listed.filter(({ path }) => !named.has(path))]
    .flatMap(({ path, line }, place) => {
      const read = readTopic(path, { dir, ledger });
      if (!read) return [];
      const matches = countMatches(`${line} ${read.text}`, words);
      return [{ path, place, matches, usedAt: uses?.get(path)?.usedAt ?? '', ...read }];
    })
    .sort(byWorth)
    .map(({ path, text, matches, changedMs }) => ({ path, text, matches, changedAt: new Date(changedMs) }));
}

export interface ReadTopic {
  description: string;
  type: MemoryType | undefined;
  /** The file without its frontmatter. */
  body: string;
}

export function readRanked({ path, text }: RankedTopic): ReadTopic {
  const { description, type } = parseTopic(path, text);
  return { description, type, body: text.slice(bodyStart(text)).trim() };
}

interface Worth {
  isPinned: boolean;
  matches: number;
  usedAt: string;
  changedMs: number;
  place: number;
}

function byWorth(a: Worth, b: Worth): number {
  const used = a.usedAt < b.usedAt ? 1 : a.usedAt > b.usedAt ? -1 : 0;
  const asked = Number(b.isPinned) - Number(a.isPinned) || b.matches - a.matches;
  return asked || used || b.changedMs - a.changedMs || a.place - b.place;
}

function bestListed(topics: NamedTopic[], words: string[]): NamedTopic[] {
  return topics
    .map((topic) => ({ topic, matches: countMatches(topic.line, words) }))
    .filter(({ matches }) => matches > 0)
    .sort((a, b) => b.matches - a.matches)
    .slice(0, MOST_LISTED)
    .map(({ topic }) => topic);
}

/** A topic file that a line names; null where the path is not one, or leads nowhere. */
function readTopic(path: string, { dir, ledger }: { dir: string; ledger: Ledger | null }) {
  if (!isMemoryPath(path) || path.toLowerCase() === 'memory.md' || /^(?:index|logs)\//.test(path)) return null;
  // A name right in the directory needs no closer look than at itself: it leads nowhere else.
  const absolute = /^[!-.0-~]+$/.test(path) ? join(dir, path) : findConfined(dir, path);
  const look = absolute === null ? null : statNow(absolute);
  const found = absolute !== null && look?.isFile ? readMemoryNow(absolute) : null;
  if (!look || found === null) return null;
  const text = shownText(found, { path, ledger });
  return { text, isPinned: isPinned({ path, text }), changedMs: look.modifiedMs };
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

interface NamedTopic {
  path: string;
  /** What the index says of it. */
  line: string;
}

const LIST = /^index\/\w+\.md$/;

/** The files that its overflow lists (`index/<type>.md`) name. */
function listedTopics({ dir, ledger }: { dir: string; ledger: Ledger | null }, index: string): NamedTopic[] {
  const lists = topicsIn(index).filter(({ path }) => LIST.test(path));
  return lists.flatMap(({ path }) => topicsIn(readShown(dir, path, ledger) ?? ''));
}

function topicsIn(text: string): NamedTopic[] {
  const found = new Map<string, NamedTopic>();
  for (const line of text.split('\n')) {
    // Lines of our own end with their one link; thousands of them are read for a query.
    const own = line.startsWith('- ') && line.endsWith('.md]') ? [line.slice(line.lastIndexOf('[') + 1, -1)] : null;
    for (const path of own ?? (line.includes('.md') ? linksIn(line) : [])) {
      if (!found.has(path)) found.set(path, { path, line });
    }
  }
  return [...found.values()];
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
