// The `offline` model: a few rules behind the SDK's own `fetch`, answering the Messages protocol with tool calls.
// It finds explicit statements in English ("always …", "I prefer …", "the deadline is …") and files them by their words.
// It is no language model: it understands nothing, and is there to try nocturne out, and to test it, without key or network.
// The same request gets the same answer, byte for byte. It never calls out and never throws over what it is sent.
// It reads without zod, which the forked child would load for it alone.

import { hash } from 'node:crypto';
import { isObject, type JsonObject, parseJson } from '../../base/text/json.ts';
import { OFFLINE_MODEL } from '../types.ts';
import { DREAM_PARTS, type DreamInput, faultyEntries, offeredLines, proposeOperations } from './dream.ts';
import { findEntries } from './statements.ts';

/** One sentence for `--help`. */
export const OFFLINE_DESCRIPTION =
  'built-in rules for explicit statements in English instead of a model: no key, no network, for trying out and tests';

/** What the tool takes at once. */
const ENTRIES_PER_CALL = 20;

/** Answers `POST …/v1/messages`, not streamed, as the API would; everything else is the API's own kind of error. */
export async function offlineFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  if (request.method !== 'POST' || !new URL(request.url).pathname.endsWith('/v1/messages')) {
    return refuse(404, 'not_found_error', 'The offline model answers POST /v1/messages only.');
  }
  const body = await request.text();
  const conversation = readConversation(parseJson(body));
  if (conversation.stream) return refuse(400, 'invalid_request_error', 'The offline model does not stream.');
  const id = hash('sha256', body).slice(0, 24);
  const reply = answer(conversation);
  const content =
    typeof reply === 'string'
      ? [{ type: 'text', text: reply }]
      : reply.map(({ tool, input }, at) => ({ type: 'tool_use', id: `toolu_${id}_${at}`, name: tool, input }));
  return Response.json({
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: conversation.model,
    content,
    stop_reason: typeof reply === 'string' ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
  });
}

/** What is read of a request; what is odd in it counts as not there. */
function readConversation(value: unknown) {
  const { model, stream, tools, messages } = isObject(value) ? value : {};
  return {
    model: typeof model === 'string' ? model : OFFLINE_MODEL,
    stream: stream === true,
    tools: recordsIn(tools),
    messages: recordsIn(messages),
  };
}

/** The records of a list, or none where something else is in it. */
function recordsIn(list: unknown): JsonObject[] {
  return Array.isArray(list) && list.every(isObject) ? list : [];
}

/** A sentence, or calls of tools. */
type Answer = string | { tool: string; input: unknown }[];

function answer({ tools, messages }: ReturnType<typeof readConversation>): Answer {
  const [first, ...later] = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
  const results = later.flatMap((content) => recordsIn(content)).filter(({ type }) => type === 'tool_result');
  const knows = (tool: string) => tools.some(({ name }) => name === tool);
  if (knows('record_entries')) return extract(textOf(first), results.length > 0);
  if (knows('propose_operations')) return dream(textOf(first), results);
  return 'The offline model only knows how to record entries and to propose operations.';
}

function extract(question: string, isAnswered: boolean): Answer {
  // What was refused is left out: rules that read a sentence wrongly once would do so again.
  if (isAnswered) return 'Done.';
  const found = findEntries(partOf(question, 'excerpt'), partOf(question, 'known'));
  const calls = Map.groupBy(found.entries(), ([at]) => Math.floor(at / ENTRIES_PER_CALL));
  if (found.length === 0) return 'Nothing worth keeping.';
  return [...calls.values()].map((part) => ({
    tool: 'record_entries',
    input: { entries: part.map(([, entry]) => entry) },
  }));
}

function dream(question: string, [refusal, ...more]: { content?: unknown }[]): Answer {
  const input = Object.fromEntries(DREAM_PARTS.map((tag) => [tag, partOf(question, tag)])) as DreamInput;
  const propose = (operations: unknown[]): Answer => [{ tool: 'propose_operations', input: { operations } }];
  const operations = proposeOperations(input);
  if (refusal === undefined) return operations.length > 0 ? propose(operations) : 'Nothing to work in.';
  const problems = textOf(refusal.content);
  const [named, offered] = [faultyEntries(operations, problems), offeredLines(problems)];
  if (more.length > 0 || named.length === 0) return 'Done.';
  const faulty = named.filter((id) => !offered.some(({ entries }) => entries.includes(id)));
  const mended = proposeOperations(input, faulty, offered);
  // What stands is not sent again.
  const left = mended.filter(({ entries }) => entries.some((id) => named.includes(id)));
  return propose(problems.startsWith('These stand') ? left : mended);
}

/** What stands between the tags of prompts/*-input.md: the last such pair, so that data before it cannot stand in for it. */
function partOf(question: string, tag: string): string {
  const text = `\n${question}\n`;
  const end = text.lastIndexOf(`\n</${tag}>\n`);
  const start = text.lastIndexOf(`\n<${tag}>\n`, end);
  return start < 0 || end < 0 ? '' : text.slice(start + tag.length + 4, end);
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const texts = recordsIn(content).filter(({ type }) => type === 'text');
  return texts.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n');
}

function refuse(status: number, type: string, message: string): Response {
  return Response.json({ type: 'error', error: { type, message } }, { status });
}
