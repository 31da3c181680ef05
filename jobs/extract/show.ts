// Shows the pending turns: in excerpts, each made when it is asked for; or, where that is asked for and nothing stands
// against it, continues the request that the transcript holds, so that the agent's own prompt cache is read.
// Of such a request the model is told which messages are offered, by id and by how they begin. Every text is redacted whole
// before any of it is cut; the quotes are checked against the same texts.

import { needsKey } from '../../src/agent/types.ts';
import { asData, NONE } from '../../src/base/prompt.ts';
import { redact } from '../../src/base/text/redact.ts';
import { mostThat } from '../../src/base/text/wording.ts';
import { TopicSearch, topicCards } from '../../src/memory/dream/topic-table.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { linksIn } from '../../src/memory/text/index-file.ts';
import { parseTopic, type TopicLine } from '../../src/memory/text/topic.ts';
import { withoutTagLines } from '../../src/rules/as-read.ts';
import {
  buildExcerpts,
  type Excerpt,
  readSource,
  redactOnce,
  type SourceMessage,
} from '../../src/transcript/excerpt/excerpt.ts';
import { type Layout, renderHeader, shortenIds } from '../../src/transcript/excerpt/render.ts';
import { type ExcerptTurn, type Segment, segmentsOf } from '../../src/transcript/excerpt/segments.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import type { Session } from '../../src/transcript/session.ts';
import { otherPaths } from '../dream/draft.ts';
import type { PendingTurn, SortedTurns } from './sort-turns.ts';

/** What the extractor continues: an excerpt of the transcript, or the request that it holds. */
export type Fork = 'excerpt' | 'prefix';

/** How the model is shown a session; `why`: not by the prefix, though that was wanted. */
export interface ShownBy {
  by: Fork;
  why?: string;
}

/** One excerpt, with the pending turns that it is about. */
export interface Offered {
  /** Where a request is continued, what points to its messages. */
  excerpt: Excerpt;
  /** The request to be continued, which holds the messages themselves. */
  continues?: Session['request'];
  shown: ShownBy;
  /** Those that end in it. */
  turns: PendingTurn[];
  /** Those of which it offers anything. */
  touched: PendingTurn[];
  /** How many turns of the session are pending, these included. */
  left: number;
}

interface ShowOptions {
  wanted: ShownBy;
  excerptTokens: number;
  zone: string;
  agent: { model: string };
}

/** What the pending turns are shown in. Contract: the next is asked for once what was offered is committed. */
export async function* offerPending(
  of: { session: Pick<Session, 'request'>; sorted: SortedTurns },
  options: ShowOptions,
): AsyncGenerator<Offered> {
  const { pending } = of.sorted;
  const by: Continuation = options.wanted.by === 'prefix' ? await continuationOf(of, options) : options.wanted;
  const { continues, excerpt: pointers, ...shown } = by;
  let left = pending.size + of.sorted.later;
  for await (const excerpt of pointers ? [pointers] : excerptsOf(of.sorted, options)) {
    const offered = [...excerpt.sources.values()].filter((source) => source.offered).map(({ turn }) => turn);
    const turnsOf = (ids: string[]) => [...new Set(ids)].flatMap((id) => pending.get(id) ?? []);
    const turns = turnsOf(excerpt.turns);
    yield { excerpt, continues, shown, turns, touched: turnsOf([...offered, ...excerpt.turns]), left };
    left -= turns.length;
  }
}

/** The excerpts that the pending turns are shown in. */
export function excerptsOf(
  { shown }: Pick<SortedTurns, 'shown'>,
  { excerptTokens, zone }: Pick<ShowOptions, 'excerptTokens' | 'zone'>,
): AsyncGenerator<Excerpt> {
  return buildExcerpts(shown, { budgetTokens: excerptTokens, redact, zone });
}

/** The request to be continued and which of its messages are offered; or why it is not continued. */
type Continuation = ShownBy & { continues?: Session['request']; excerpt?: Excerpt };

/** What stands in a request was sent to the provider before: it goes out again as it is, or not at all. */
async function continuationOf(
  of: { session: Pick<Session, 'request'>; sorted: SortedTurns },
  { agent, excerptTokens, zone }: ShowOptions,
): Promise<Continuation> {
  const { request } = of.session;
  const obstacle = obstacleIn(request, agent.model);
  if (obstacle) return { by: 'excerpt', why: obstacle };
  if ([...of.sorted.states.values()].includes('private')) return { by: 'excerpt', why: PRIVATE };
  const excerpt = await listMessages(of.sorted.shown, { excerptTokens, zone });
  if (!excerpt) return { by: 'excerpt', why: 'too many of its messages are pending' };
  return { by: 'prefix', continues: request, excerpt };
}

const PRIVATE = 'something in it is marked as private';

/** What the program that sent the request runs itself; all other kinds of tools run at the provider. */
const RUN_BY_CLIENT = /^(custom|(bash|text_editor|computer|memory)_\d+)$/;

function obstacleIn(request: Session['request'], agentModel: string): string | undefined {
  if (!request) return 'the transcript holds no request';
  if (!needsKey(agentModel)) return 'a model without a key reads excerpts only';
  const { model, tools, tool_choice: choice } = request;
  if (typeof model !== 'string') return 'the request names no model';
  const values = [...valuesIn(request)];
  if (/<private[\s>]/i.test(values.map(({ value }) => (typeof value === 'string' ? value : '')).join('\n'))) {
    return PRIVATE;
  }
  if (/^(any|tool)$/.test(String(fieldOf(choice, 'type')))) return 'the request demands a call';
  if (request.output_format ?? fieldOf(request.output_config, 'format')) return 'the request demands a format';
  const kinds = (Array.isArray(tools) ? tools : []).map((tool) => fieldOf(tool, 'type') ?? 'custom');
  const isRunElsewhere = (kind: unknown) => !RUN_BY_CLIENT.test(String(kind));
  if (request.mcp_servers || request.container || kinds.some(isRunElsewhere)) {
    return 'the provider would run tools of the request';
  }
  // A ceiling stands before the bytes that are sent; how much such a file holds is not among them.
  if (values.some(({ key, value }) => key === 'source' && /^(url|file)$/.test(String(fieldOf(value, 'type'))))) {
    return 'the request names files that are kept elsewhere';
  }
  return undefined;
}

/** Every value inside a JSON value, with the name under which it stands. */
function* valuesIn(value: unknown, key = ''): Generator<{ key: string; value: unknown }> {
  yield { key, value };
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) yield* valuesIn(inner, name);
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

const BEGINNING_CHARACTERS = 80;

/** Lists all that is offered of `turns`, tools left out where it is too much; null where it still is. */
async function listMessages(
  turns: ExcerptTurn[],
  { excerptTokens, zone }: Pick<ShowOptions, 'excerptTokens' | 'zone'>,
): Promise<Excerpt | null> {
  const segments: Segment[] = [];
  for (const turn of turns) {
    const messages = (segments.at(-1)?.position ?? -1) + 1;
    segments.push(...segmentsOf(turn, { messages, segments: segments.length }).filter((segment) => segment.offered));
  }
  const layout: Layout = { shortIds: shortenIds(segments.map(({ message }) => message.id)), messages: 0, zone };
  const sources = new Map<string, SourceMessage>();
  const lines: { text: string; isTool: boolean }[] = [];
  const redaction = { offered: true, shortIds: layout.shortIds, redact, redactSegment: redactOnce(redact) };
  for (const first of segments.filter((segment) => segment.siblings[0] === segment)) {
    // The question that a person answers is not in the list.
    const { asked: _, ...source } = await readSource(first, redaction);
    sources.set(source.id, source);
    const shown = first.siblings.find(({ speaker }) => speaker === source.speaker) ?? first;
    lines.push({
      text: `${renderHeader(shown, true, layout)} | ${beginningOf(source.text)}`,
      isTool: shown.kind !== 'words' || shown.speaker === 'tool',
    });
  }
  const ids = turns.filter(({ offeredFrom }) => offeredFrom !== null).map(({ turn }) => turn.id);
  for (const kept of [lines, lines.filter((line) => !line.isTool)]) {
    const text = kept.map((line) => line.text).join('\n');
    const tokens = estimateTokens(text);
    if (tokens <= excerptTokens) return { text, tokens, turns: ids, sources };
  }
  return null;
}

function beginningOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > BEGINNING_CHARACTERS ? `${line.slice(0, BEGINNING_CHARACTERS).toWellFormed()}…` : line;
}

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

export async function showMemory(
  store: Store,
  messages: Iterable<Pick<SourceMessage, 'speaker' | 'text' | 'offered'>>,
): Promise<ShownMemory> {
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
function rank(
  search: TopicSearch,
  messages: Iterable<Pick<SourceMessage, 'speaker' | 'text' | 'offered'>>,
): [string, Set<string>][] {
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
