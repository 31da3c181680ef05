// What the extractor is shown of the memory that it works for, so that it need not look it up: a small memory whole, of a
// larger one the index and the topics nearest to what is offered, both together within the same bound, with what was left
// out by name. A topic is its name, type, description and lines, numbered through; no log or archive is shown.
// Promises: every text is redacted, holds no tag of ours, and of a topic nothing begins a line but what is written here.
// It changes nothing but the table of topics.

import { asData, NONE } from '../../src/base/prompt.ts';
import { redact } from '../../src/base/text/redact.ts';
import { mostThat } from '../../src/base/text/wording.ts';
import { TopicSearch, topicCards } from '../../src/memory/dream/topic-table.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { linksIn } from '../../src/memory/text/index-file.ts';
import { parseTopic, type TopicLine } from '../../src/memory/text/topic.ts';
import { withoutTagLines } from '../../src/rules/as-read.ts';
import type { SourceMessage } from '../../src/transcript/excerpt/excerpt.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import { otherPaths } from '../dream/draft.ts';

const MEMORY_TOKENS = 4_000;
/** Of these, what a part of a larger memory may take before its topics. */
const MOST_TOKENS = { index: MEMORY_TOKENS / 2, names: MEMORY_TOKENS / 20 };
/** No text is less. */
const CHARACTERS_PER_TOKEN = 3;
/** More than is ever shown of an index, so that no secret is cut where it is shown. */
const INDEX_CHARACTERS = 2 * MOST_TOKENS.index * CHARACTERS_PER_TOKEN;
/** Of lines that share words with a message, so many. */
const LINES_PER_MESSAGE = 6;
/** Of a message so much is compared. */
const MESSAGE_CHARACTERS = 4_000;
/** After so many topics that found no room, there is none. */
const MOST_MISSES = 5;

/** As data for a prompt. */
interface ShownMemory {
  /** `none` where the memory is shown whole. */
  index: string;
  /** `none` where there are none. */
  topics: string;
  /** The ids of the topics' lines, that of number 1 first. */
  lines: string[];
  /** Nothing was left out. */
  isWhole: boolean;
}

/** A text, and the ids of the lines that are numbered in it. */
interface Numbered {
  text: string;
  ids: string[];
}

type Offered = Pick<SourceMessage, 'speaker' | 'text' | 'offered'>;

export async function showMemory(store: Store, messages: Iterable<Offered>): Promise<ShownMemory> {
  const { ledger } = store;
  const search = new TopicSearch(ledger);
  const topics = topicCards(ledger).flatMap(({ path, isArchived }) => (isArchived ? [] : [path]));
  // Files that are no topics are memories, too; the index's own lists are not.
  const paths = [...topics, ...otherPaths(ledger).filter((path) => !path.startsWith('index/'))];
  const index = (await store.read('MEMORY.md')) ?? '';
  const whole = await wholeText(store, { paths, index });
  if (whole !== null) return { index: NONE, topics: whole.text || NONE, lines: whole.ids, isWhole: true };

  const lines = (await redact(index.slice(0, INDEX_CHARACTERS))).text.split('\n');
  const firstLines = (count: number) => asData(lines.slice(0, count).join('\n'));
  const fits = (count: number) => estimateTokens(firstLines(count)) <= MOST_TOKENS.index;
  const count = mostThat(fits, lines.length + 1);
  const shown = await nearestText(store, {
    ranked: rank(search, messages),
    paths,
    named: new Set(linksIn(firstLines(count))),
    tokens: MEMORY_TOKENS - estimateTokens(firstLines(count)) - MOST_TOKENS.names,
  });
  return { index: firstLines(count), topics: shown.text, lines: shown.ids, isWhole: false };
}

/** All of a memory, with what its index alone says; null where that is too much. */
async function wholeText(store: Store, { paths, index }: { paths: string[]; index: string }): Promise<Numbered | null> {
  const known = new Set(paths);
  const own = parseTopic('MEMORY.md', index).lines.filter(({ text }) => !linksIn(text).some((path) => known.has(path)));
  const all = own.length > 0 ? layOut('MEMORY.md', own, { after: 0 }) : { text: '', ids: [] };
  for (const path of paths) {
    if (all.text.length > MEMORY_TOKENS * CHARACTERS_PER_TOKEN) return null;
    const { text, ids } = await topicText(store, path, all.ids.length);
    all.text += text;
    all.ids.push(...ids);
  }
  const shown = { ...all, text: await safe(all.text) };
  // The numbers are ours, not the memory's.
  return estimateTokens(shown.text.replace(/^\d+ /gm, '- ')) <= MEMORY_TOKENS ? shown : null;
}

/** The nearest topics, whole or with the lines that are near, and the names of what neither they nor the index tell. */
async function nearestText(
  store: Store,
  of: { ranked: [string, Set<string>][]; paths: string[]; named: Set<string>; tokens: number },
): Promise<Numbered> {
  const shown = new Map<string, string>();
  const ids: string[] = [];
  let [room, misses] = [of.tokens, 0];
  for (const [path, near] of of.ranked) {
    if (misses === MOST_MISSES) break;
    const whole = await fitting(await topicText(store, path, ids.length), room);
    const found = whole ?? (await fitting(await topicText(store, path, ids.length, near), room));
    if (found?.text) {
      room -= estimateTokens(found.text);
      shown.set(path, found.text);
      ids.push(...found.ids);
    } else misses += 1;
  }
  const left = [...new Set([...of.ranked.map(([path]) => path), ...of.paths])].filter((path) => !shown.has(path));
  const unnamed = left.filter((path) => !of.named.has(path));
  const sayLeft = (count: number) => {
    const others = left.length - count;
    return `(not shown: ${[...unnamed.slice(0, count), ...(others > 0 ? [`${others} others`] : [])].join(', ')})`;
  };
  const most = mostThat((count) => estimateTokens(sayLeft(count)) <= MOST_TOKENS.names, unnamed.length + 1);
  return { text: [...shown.values(), ...(left.length > 0 ? [await safe(sayLeft(most))] : [])].join('\n'), ids };
}

/** The topics that share most and the rarest words with what people and agents say, best first, with the lines that do. */
function rank(search: TopicSearch, messages: Iterable<Offered>): [string, Set<string>][] {
  const scores = new Map<string, { score: number; lines: Set<string> }>();
  for (const { speaker, text, offered } of messages) {
    if (!offered || speaker === 'tool') continue;
    for (const [at, { path, line }] of search.find(text.slice(0, MESSAGE_CHARACTERS), LINES_PER_MESSAGE).entries()) {
      if (path.startsWith('archive/')) continue;
      const topic = scores.get(path) ?? { score: 0, lines: new Set() };
      scores.set(path, topic);
      topic.score += 1 / (1 + at);
      topic.lines.add(line);
    }
  }
  return [...scores]
    .sort(([a, { score: first }], [b, { score: second }]) => second - first || (a < b ? -1 : 1))
    .map(([path, { lines }]) => [path, lines]);
}

/** A topic as a reader needs it, or of its lines only those with these ids; empty where the file is gone. */
async function topicText(store: Store, path: string, after: number, only?: Set<string>): Promise<Numbered> {
  const text = await store.read(path);
  if (text === null) return { text: '', ids: [] };
  const { type, description, lines } = parseTopic(path, text);
  const kept = only ? lines.filter(({ id }) => only.has(id)) : lines;
  const says = kept.some((line) => line.text.includes(description)) ? '' : `: ${description}`;
  return layOut(`${path}${type ? ` (${type})` : ''}${says}`, kept, { after, left: lines.length - kept.length });
}

/** `after`: the number that goes before those of its lines. */
function layOut(heading: string, lines: TopicLine[], { after, left = 0 }: { after: number; left?: number }): Numbered {
  const more = left > 0 ? `(${left} more ${left === 1 ? 'line' : 'lines'} not shown)\n` : '';
  const text = lines.map((line, at) => `${after + at + 1} ${line.text}\n`).join('');
  return { text: `## ${heading}\n${text}${more}`, ids: lines.map(({ id }) => id) };
}

/** A text as it is shown; null where it is too much. */
async function fitting({ text, ids }: Numbered, tokens: number): Promise<Numbered | null> {
  if (estimateTokens(text) > tokens) return null;
  const shown = await safe(text);
  return estimateTokens(shown) <= tokens ? { text: shown, ids } : null;
}

async function safe(text: string): Promise<string> {
  return withoutTagLines((await redact(text)).text).trimEnd();
}
