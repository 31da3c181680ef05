// Which topics a session is told, most useful first: pinned, matching the query, used, changed lately, then as MEMORY.md has them. Of
// ten thousand it reads those that MEMORY.md itself names, which a night chose by the same order, and of the others those whose line
// matches. Also which things a text names that can be looked for in a working tree.

import { DAY_MS } from '../../base/time.ts';
import { COMMON_VERBS, LIGHT } from '../../rules/languages.ts';
import { contentWords, withoutGivenUp } from '../../rules/words.ts';
import { isPinned } from '../file-rows.ts';
import { isMemoryPath } from '../memory-paths.ts';
import { isMemoryType, type MemoryType } from '../memory-types.ts';
import { bodyStart } from '../text/frontmatter.ts';
import { INDEX_CAPS, linksIn } from '../text/index-file.ts';
import { isTopicName } from '../text/topic.ts';
import type { ReadFile, RecallSource } from './recall-source.ts';

export interface RankedTopic extends ReadFile {
  path: string;
  type: MemoryType | undefined;
  /** How many words of the query stand in it. */
  matches: number;
  /** Of which sort it is, of those that are told one behind the other. */
  sort: number;
  /** Why it is told before others, for a person. */
  why: string;
}

/** What a session is about. */
export interface About {
  /** What it asks for. */
  query?: string;
  /** Its branch and directory; topics that are near to that, or to what the last session said, come before the rest. */
  here?: string;
  /** Empty on a main one. */
  branch?: string;
}

/** So many topics that the index does not name are read, the nearest by their lines. */
const MOST_NEAR = 50;
/** So many of one sort, while there are others. */
const MOST_OF_SORT = 12;
/** Looked at for the names in them: more than ever fits. */
const MOST_TOPICS = 40;

/** The topics that may be told, the most useful first; `others`: how many more the index names; `about`: by which words. */
export async function rankTopics(source: RecallSource, index: string, { query = '', here = '' }: About) {
  const words = wordsOf(query);
  const about = words.length > 0 ? words : tellingWords(`${here}\n${await source.lastSubject()}`);
  const [{ topics: near }, fresh] = await Promise.all([source.holding(about), source.fresh()]);
  const named = namedIn(index);
  const byName = (path: string) => -countMatches(path, about);
  const candidates = new Set([
    ...namesIn(query),
    ...[...named.keys()].slice(0, INDEX_CAPS.lines),
    ...[...near.keys()].slice(0, MOST_NEAR),
    ...fresh.toSorted((a, b) => byName(a) - byName(b)).slice(0, INDEX_CAPS.lines),
  ]);
  const paths = [...candidates].filter(
    (path) => isMemoryPath(path) && path.toLowerCase() !== 'memory.md' && !/^(?:archive|index|logs)\//.test(path),
  );
  const [files, usedAt] = await Promise.all([source.read(paths), source.usedAt(paths)]);
  const exact = new Set(namesIn(query));
  const topics = paths.flatMap((path) => {
    const file = files.get(path);
    if (!file) return [];
    const { text } = file;
    const type = typeIn(text);
    const matches = countMatches(`${path} ${named.get(path) ?? ''} ${text}`, words);
    const order = [
      isPinned(path, text) ? 0 : 1,
      exact.has(path) ? 0 : 1,
      -matches,
      type === 'feedback' ? 0 : type === 'user' ? 1 : OPEN.test(text) ? 2 : near.has(path) ? 3 : 4,
      -(near.get(path) ?? 0),
    ];
    const [pin, name, , sort = 0] = order;
    const used = usedAt.get(path) ?? '';
    const rest = SORTS[sort] ?? (used === '' ? 'changed lately' : 'it was used before');
    const why = pin === 0 ? 'pinned' : name === 0 || matches > 0 ? 'it has words that were asked for' : rest;
    return { ...file, path, type, matches, order, sort, why, usedAt: used };
  });
  const sorted = topics.sort((a, b) => {
    const differs = a.order.findIndex((value, at) => value !== b.order[at]);
    if (differs >= 0) return (a.order[differs] as number) - (b.order[differs] as number);
    const used = a.usedAt < b.usedAt ? 1 : a.usedAt > b.usedAt ? -1 : 0;
    return used || b.changedAt.getTime() - a.changedAt.getTime();
  });
  const first = [...Map.groupBy(sorted, ({ sort }) => sort).values()].flatMap((of) => of.slice(0, MOST_OF_SORT));
  const asked = sorted.filter((topic) => topic.matches > 0 || first.includes(topic));
  const ranked = [...new Set([...asked, ...sorted])].slice(0, MOST_TOPICS);
  return { ranked, others: sorted.length - ranked.length, about };
}

/** What is told first, sort by sort. */
const SORTS = [
  'how you want things done',
  'about you',
  'something in it is open',
  'about this directory or branch, or what was last worked on',
];

/** What is not decided, or goes on. */
const OPEN = /^[-*] Open: /m;

function typeIn(text: string): MemoryType | undefined {
  const type = /^\s*type: *["']?(\w+)/m.exec(text.slice(0, bodyStart(text)))?.[1];
  return isMemoryType(type) ? type : undefined;
}

/** The topics that a query may name: in a word of it, or in all of it. */
function namesIn(query: string): string[] {
  const words = query.toLowerCase().match(/[a-z0-9]+(?:-[a-z0-9]+)*/g) ?? [];
  return [...new Set([words.join('-'), ...words])].flatMap((name) => (isTopicName(name) ? `${name}.md` : []));
}

/** What every second task is worded with is no subject of one. */
export const OF_ANY_TASK =
  /^(?:add|adds|chang|creat|edit|fix|implement|improv|updat|remov|renam|mov|writ|read|show|find|check|new|file|code|line)(?:e|es|s|ed|en|d|ing)?$/;

function tellingWords(text: string): string[] {
  return [...contentWords(text)].filter(
    (word) => word.length > 2 && !OF_ANY_TASK.test(word) && !LIGHT.has(word) && !COMMON_VERBS.has(word),
  );
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

/** What it counts that a word begins another, or ends it. */
const OF_PART = 0.5;

export function countMatches(text: string, words: string[]): number {
  if (words.length === 0) return 0;
  // What a line names only as given up leads nobody to it.
  const folded = withoutGivenUp(text).toLowerCase().normalize('NFC');
  const whole = new Set(words.length > 0 ? folded.match(/[\p{L}\p{N}_]+/gu) : []);
  return words.reduce((sum, word) => sum + (whole.has(word) ? 1 : folded.includes(word) ? OF_PART : 0), 0);
}

/** The files that lines name, each with its first line. */
function namedIn(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of text.split('\n'))
    for (const path of line.includes('.md') ? linksIn(line) : []) if (!found.has(path)) found.set(path, line);
  return found;
}

/** Whole days since a change; 0 for one that lies in the future. */
export function ageDays(changed: Date, now: Date): number {
  return Math.max(0, Math.floor((now.getTime() - changed.getTime()) / DAY_MS));
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
/** What nobody writes but in code: brackets behind a name, an underscore or a hump in it; no trade name (`iPhone`, `macOS`). */
const BARE_NAME =
  /(?<![\w@/.:~$-])(?:[A-Za-z_]\w*(?:\.|::))*(?:[A-Za-z_]\w+\(\)|[a-z]{2,}\d*(?:[A-Z][a-z]\w*|_[a-z]\w*))(?![\w/(-]|\.\w|:\/)/g;

/** The files, flags and functions that `text` names, each once. What may well be someone else's is left out. */
export function namedThings(text: string): NamedThing[] {
  const prose = text.replace(/^(```|~~~)[\s\S]*?^\1/gm, '').replace(/\b\w+:\/\/[^\s`)>\]]+/g, '');
  const spans = [...prose.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '');
  const names = prose.replace(/`[^`\n]+`/g, ' ').match(BARE_NAME) ?? [];
  const things = new Map<string, NamedThing>();
  for (const thing of [...spans.map(thingOf), ...(prose.match(BARE_PATH) ?? []).map(pathOf), ...names.map(functionOf)])
    if (thing) things.set(thing.shown, thing);
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
