// What the model is shown of the pending turns: excerpts, each made when it is asked for; or, where that is asked for and nothing
// stands against it, the request that the transcript holds is continued, so that the agent's own prompt cache is read. Of such a
// request the model is told which messages are offered, by id and by how they begin. Every text is redacted whole before any of
// it is cut; the quotes are checked against the same texts.

import { needsKey } from '../../src/agent/agent-types.ts';
import { redact } from '../../src/base/secrets/redact-text.ts';
import { isObject } from '../../src/base/text/json.ts';
import { buildExcerpts, type Excerpt, redactOnce } from '../../src/transcript/excerpt/excerpt.ts';
import { type Layout, renderHeader, shortenIds } from '../../src/transcript/excerpt/render.ts';
import {
  type ExcerptTurn,
  readSource,
  type Segment,
  type SourceMessage,
  segmentsOf,
} from '../../src/transcript/excerpt/segments.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import { triedIn } from '../../src/transcript/excerpt/tried.ts';
import type { Session } from '../../src/transcript/session.ts';
import type { SortedTurns, TurnRange } from './pending-turns.ts';

/** What the extractor continues: an excerpt of the transcript, or the request that it holds. */
export type Fork = 'excerpt' | 'prefix';

/** How the model is shown a session; `why`: not by the prefix, though that was wanted. */
export type ShownBy = { by: Fork; why?: string };

/** One excerpt, with the pending ranges that it is about. */
export interface Offered {
  /** Where a request is continued, what points to its messages. */
  excerpt: Excerpt;
  /** The request to be continued, which holds the messages themselves. */
  continues?: Session['request'];
  shown: ShownBy;
  /** Those that end in it. */
  ranges: TurnRange[];
  /** Those of which it offers anything. */
  touched: TurnRange[];
  /** How many turns of the session are pending, these included. */
  left: number;
}

type ShowOptions = { wanted: ShownBy; excerptTokens: number; zone: string; agent: { model: string } };

/** What the pending turns are shown in. Contract: the next is asked for once what was offered is committed. */
export async function* offerPending(
  request: Session['request'],
  sorted: SortedTurns,
  options: ShowOptions,
): AsyncGenerator<Offered> {
  const { pending } = sorted;
  const { excerpt: pointers, ...shown }: ShownBy & { excerpt?: Excerpt } =
    options.wanted.by === 'prefix' ? await continuationOf(request, sorted, options) : options.wanted;
  const { excerptTokens: budgetTokens, zone } = options;
  let left = pending.size + sorted.later;
  for await (const excerpt of pointers ? [pointers] : buildExcerpts(sorted.shown, { budgetTokens, redact, zone })) {
    const offered = [...excerpt.sources.values()].filter((source) => source.offered).map(({ turn }) => turn);
    const rangesOf = (ids: string[]) => [...new Set(ids)].flatMap((id) => pending.get(id) ?? []);
    const ranges = rangesOf(excerpt.turns);
    yield {
      excerpt,
      continues: pointers && request,
      shown,
      ranges,
      touched: rangesOf([...offered, ...excerpt.turns]),
      left,
    };
    left -= ranges.length;
  }
}

/**
 * Which messages of the request are offered; or why it is not continued. What stands in it was sent to the provider before: it
 * goes out again as it is, or not at all.
 */
async function continuationOf(
  request: Session['request'],
  { shown, hasPrivate }: SortedTurns,
  options: ShowOptions,
): Promise<ShownBy & { excerpt?: Excerpt }> {
  const obstacle = obstacleIn(request, options.agent.model) ?? (hasPrivate ? PRIVATE : undefined);
  if (obstacle) return { by: 'excerpt', why: obstacle };
  const excerpt = await listMessages(shown, options);
  return excerpt ? { by: 'prefix', excerpt } : { by: 'excerpt', why: 'too many of its messages are pending' };
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
  if (values.some(({ value }) => typeof value === 'string' && /<private[\s>]/i.test(value))) return PRIVATE;
  if (/^(any|tool)$/.test(String(fieldOf(choice, 'type')))) return 'the request demands a call';
  if (request.output_format ?? fieldOf(request.output_config, 'format')) return 'the request demands a format';
  const kinds = (Array.isArray(tools) ? tools : []).map((tool) => fieldOf(tool, 'type') ?? 'custom');
  if (request.mcp_servers || request.container || kinds.some((kind) => !RUN_BY_CLIENT.test(String(kind))))
    return 'the provider would run tools of the request';
  // A ceiling stands before the bytes that are sent; how much such a file holds is not among them.
  if (values.some(({ key, value }) => key === 'source' && /^(url|file)$/.test(String(fieldOf(value, 'type')))))
    return 'the request names files that are kept elsewhere';
  return undefined;
}

/** Every value inside a JSON value, with the name under which it stands. */
function* valuesIn(value: unknown, key = ''): Generator<{ key: string; value: unknown }> {
  yield { key, value };
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) yield* valuesIn(inner, name);
}

function fieldOf(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined;
}

const BEGINNING_CHARACTERS = 80;

/** Lists all that is offered of `turns`, tools left out where it is too much; null where it still is. */
async function listMessages(
  turns: readonly ExcerptTurn[],
  { excerptTokens, zone }: Pick<ShowOptions, 'excerptTokens' | 'zone'>,
): Promise<Excerpt | null> {
  const segments: Segment[] = [];
  for (const turn of turns) {
    const messages = (segments.at(-1)?.position ?? -1) + 1;
    segments.push(...segmentsOf(turn, { messages, segments: segments.length }).filter(({ offered }) => offered));
  }
  const layout: Layout = { shortIds: shortenIds(segments.map(({ message }) => message.id)), messages: 0, zone };
  const redaction = { offered: true, shortIds: layout.shortIds, redact, redactSegment: redactOnce(redact) };
  const sources = new Map<string, SourceMessage>();
  const lines: { text: string; isTool: boolean }[] = [];
  for (const first of segments.filter((segment) => segment.siblings[0] === segment)) {
    // The question that a person answers is not in the list.
    const { asked: _, ...source } = await readSource(first, redaction);
    sources.set(source.id, source);
    const shown = first.siblings.find(({ speaker }) => speaker === source.speaker) ?? first;
    const text = `${renderHeader(shown, true, layout)} | ${beginningOf(source.text)}`;
    lines.push({ text, isTool: shown.kind !== 'words' || shown.speaker === 'tool' });
  }
  const ids = turns.flatMap(({ turn, offeredFrom }) => (offeredFrom === null ? [] : turn.id));
  for (const kept of [lines, lines.filter(({ isTool }) => !isTool)]) {
    const text = kept.map((line) => line.text).join('\n');
    const tokens = estimateTokens(text);
    if (tokens <= excerptTokens) return { text, tokens, turns: ids, sources, tried: triedIn(segments) };
  }
  return null;
}

function beginningOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > BEGINNING_CHARACTERS ? `${line.slice(0, BEGINNING_CHARACTERS).toWellFormed()}…` : line;
}
