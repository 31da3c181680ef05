// What the extractor is shown of the memory that it works for, so that it need not look it up: a small memory whole, of a larger
// one the index and the topics nearest to what is offered, both together within the same bound, with what was left out by name. A
// topic is its name, type, description and lines, numbered through; no log or archive is shown.
// Promises: every text is redacted, holds no tag of ours, and of a topic nothing begins a line but what is written here.

import { asData, NONE } from '../../src/base/prompt.ts';
import { redact } from '../../src/base/secrets/redact-text.ts';
import { mostThat } from '../../src/base/text/wording.ts';
import type { Sql } from '../../src/db/sql.ts';
import { headAt } from '../../src/memory/file-rows.ts';
import { inOneCase } from '../../src/memory/search-words.ts';
import { bulletMarker, fold } from '../../src/memory/text/blocks.ts';
import { logDay } from '../../src/memory/text/daily-log.ts';
import { linksIn } from '../../src/memory/text/index-file.ts';
import { isTopicPath, parseTopic, type TopicLine } from '../../src/memory/text/topic.ts';
import { withoutTagLines } from '../../src/rules/as-read.ts';
import type { SourceMessage } from '../../src/transcript/excerpt/excerpt.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';

const MEMORY_TOKENS = 4_000;
/** Of these, what a part of a larger memory may take before its topics. */
const MOST_TOKENS = { index: MEMORY_TOKENS / 2, names: MEMORY_TOKENS / 20 };
/** No text is less. */
const CHARACTERS_PER_TOKEN = 3;
/** More than is ever shown of an index, so that no secret is cut where it is shown. */
const INDEX_CHARACTERS = 2 * MOST_TOKENS.index * CHARACTERS_PER_TOKEN;
/** After so many topics that found no room, there is none. */
const MOST_MISSES = 5;

/** As data for a prompt. */
export interface KnownMemory {
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
type Numbered = { text: string; ids: string[] };

/** A memory as it stands, read file by file. */
type Reading = { sql: Sql; memory: string };

type Message = Pick<SourceMessage, 'speaker' | 'text' | 'offered'>;

export async function knownMemory(at: Reading, messages: Iterable<Message>): Promise<KnownMemory> {
  const rows = await at.sql.all<{ path: string }>(
    'select path from file where memory = ? and path is not null order by path',
    at.memory,
  );
  // Files that are no topics are memories, too; the index's own lists are not.
  const isOther = (path: string) => !/^(?:archive\/|index\/|\.|memory\.md$)/i.test(path) && logDay(path) === null;
  const all = rows.map(({ path }) => path).filter(isOther);
  const paths = [...all.filter(isTopicPath), ...all.filter((path) => !isTopicPath(path))];
  const index = (await textAt(at, 'MEMORY.md')) ?? '';
  const whole = await wholeText(at, { paths, index });
  if (whole !== null) return { index: NONE, topics: whole.text || NONE, lines: whole.ids, isWhole: true };

  const lines = (await redact(index.slice(0, INDEX_CHARACTERS))).text.split('\n');
  const firstLines = (count: number) => asData(lines.slice(0, count).join('\n'));
  const count = mostThat((most) => estimateTokens(firstLines(most)) <= MOST_TOKENS.index, lines.length + 1);
  const said = [...messages].filter(({ offered, speaker }) => offered && speaker !== 'tool').map(({ text }) => text);
  const shown = await nearestText(at, {
    said,
    paths,
    named: new Set(linksIn(firstLines(count))),
    tokens: MEMORY_TOKENS - estimateTokens(firstLines(count)) - MOST_TOKENS.names,
  });
  return { index: firstLines(count), topics: shown.text, lines: shown.ids, isWhole: false };
}

async function textAt({ sql, memory }: Reading, path: string): Promise<string | null> {
  return (await headAt(sql, memory, path))?.content?.toString() ?? null;
}

/** All of a memory, with what its index alone says; null where that is too much. */
async function wholeText(at: Reading, { paths, index }: { paths: string[]; index: string }): Promise<Numbered | null> {
  const known = new Set(paths);
  const own = parseTopic('MEMORY.md', index).lines.filter(({ text }) => !linksIn(text).some((path) => known.has(path)));
  const all = own.length > 0 ? layOut('MEMORY.md', own, { after: 0 }) : { text: '', ids: [] };
  for (const path of paths) {
    if (all.text.length > MEMORY_TOKENS * CHARACTERS_PER_TOKEN) return null;
    const { text, ids } = await topicText(at, path, all.ids.length);
    all.text += text;
    all.ids.push(...ids);
  }
  const shown = { ...all, text: await safe(all.text) };
  // The numbers are ours, not the memory's.
  return estimateTokens(shown.text.replace(/^\d+ /gm, '- ')) <= MEMORY_TOKENS ? shown : null;
}

/** The nearest topics, whole or with the lines that are near, and the names of what neither they nor the index tell. */
async function nearestText(
  at: Reading,
  { said, paths, named, tokens }: { said: string[]; paths: string[]; named: Set<string>; tokens: number },
): Promise<Numbered> {
  const ranked = await nearestFiles(at.sql, at.memory, { texts: said, among: paths.filter(isTopicPath) });
  const shown = new Map<string, string>();
  const ids: string[] = [];
  let [room, misses] = [tokens, 0];
  for (const { path, lines } of ranked) {
    if (misses === MOST_MISSES) break;
    const whole = await fitting(await topicText(at, path, ids.length), room);
    const found = whole ?? (await fitting(await topicText(at, path, ids.length, lines), room));
    if (found?.text) {
      room -= estimateTokens(found.text);
      shown.set(path, found.text);
      ids.push(...found.ids);
    } else misses += 1;
  }
  const left = [...new Set([...ranked.map(({ path }) => path), ...paths])].filter((path) => !shown.has(path));
  const unnamed = left.filter((path) => !named.has(path));
  const sayLeft = (count: number) => {
    const others = left.length - count;
    return `(not shown: ${[...unnamed.slice(0, count), ...(others > 0 ? [`${others} others`] : [])].join(', ')})`;
  };
  const most = mostThat((count) => estimateTokens(sayLeft(count)) <= MOST_TOKENS.names, unnamed.length + 1);
  return { text: [...shown.values(), ...(left.length > 0 ? [await safe(sayLeft(most))] : [])].join('\n'), ids };
}

/** A topic as a reader needs it, or of its lines only those that hold one of these; empty where the file is gone. */
async function topicText(at: Reading, path: string, after: number, only?: readonly string[]): Promise<Numbered> {
  const text = await textAt(at, path);
  if (text === null) return { text: '', ids: [] };
  const { type, description, lines } = parseTopic(path, text);
  const kept = only ? lines.filter((line) => only.some((near) => inOneCase(line.text).includes(near))) : lines;
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

interface NearFile {
  path: string;
  /** Those of its lines that are near, in one case, without their bullets. */
  lines: string[];
}

/** Of the words of a text, so many of the rarest are looked for. */
const MOST_WORDS = 12;
/** Of lines that share words with a text, so many. */
const LINES_PER_TEXT = 6;
/** Of a text so much is compared. */
const TEXT_CHARACTERS = 4_000;

/** The files among these that share most and the rarest words with the texts, nearest first. */
async function nearestFiles(
  sql: Sql,
  memory: string,
  { texts, among }: { texts: readonly string[]; among: readonly string[] },
): Promise<NearFile[]> {
  const wanted = new Set(among);
  const rows = await sql.all<{ path: string; text: string }>(
    'select file.path, line.text from line join file on file.memory = line.memory and file.id = line.file where line.memory = ?',
    memory,
  );
  const lines = rows.filter(({ path }) => wanted.has(path));
  const holding = new Map<string, number[]>();
  for (const [at, { text }] of lines.entries()) {
    for (const word of new Set(wordsOf(text))) {
      const places = holding.get(word);
      if (places) places.push(at);
      else holding.set(word, [at]);
    }
  }
  const files = new Map<string, { score: number; lines: Set<string> }>();
  for (const text of texts) {
    for (const [rank, at] of nearest(text, holding).entries()) {
      const { path, text: line } = lines[at] as { path: string; text: string };
      const file = files.get(path) ?? { score: 0, lines: new Set() };
      files.set(path, file);
      file.score += 1 / (1 + rank);
      file.lines.add(fold(line.slice(bulletMarker(line)?.length ?? 0)));
    }
  }
  return [...files]
    .sort(([a, { score: first }], [b, { score: second }]) => second - first || (a < b ? -1 : 1))
    .map(([path, file]) => ({ path, lines: [...file.lines] }));
}

/** The lines that share the most and the rarest words with a text, by their places, nearest first. */
function nearest(text: string, holding: ReadonlyMap<string, number[]>): number[] {
  const known = [...new Set(wordsOf(text.slice(0, TEXT_CHARACTERS)))].flatMap((word) => {
    const at = holding.get(word);
    return at ? [at] : [];
  });
  const scores = new Map<number, number>();
  for (const places of known.sort((a, b) => a.length - b.length).slice(0, MOST_WORDS))
    for (const at of places) scores.set(at, (scores.get(at) ?? 0) + 1 / places.length);
  return [...scores]
    .sort(([a, first], [b, second]) => second - first || a - b)
    .slice(0, LINES_PER_TEXT)
    .map(([at]) => at);
}

/** Of scripts without spaces every pair of characters is a word. */
function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).flatMap((run) => {
    if (!/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u.test(run)) return run.length > 1 ? [run] : [];
    const characters = [...run];
    return characters.length < 3 ? [run] : characters.slice(1).map((character, at) => characters[at] + character);
  });
}
