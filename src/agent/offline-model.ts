// The `offline` model: a few rules behind the SDK's own `fetch`, answering the Messages protocol with tool calls.
// It finds explicit statements in six languages ("always …", "I prefer …", "the deadline is …") and files them by their
// words. It is no language model: it understands nothing, and is there to try nocturne out, and to test it, without key or network.
// The same request gets the same answer, byte for byte. It never calls out and never throws over what it is sent.

import { createHash } from 'node:crypto';
import { parseJson } from '../base/text/json.ts';
import { faultyEntries, proposeOperations, withoutEntries } from './offline/dream.ts';
import { findEntries } from './offline/extract.ts';
import { OFFLINE_MODEL } from './types.ts';

/** One sentence for `--help`. */
export const OFFLINE_DESCRIPTION =
  'built-in rules for explicit statements in six languages instead of a model: no key, no network, for trying out and tests';

/** What the tool takes at once. */
const ENTRIES_PER_CALL = 20;

/** Answers `POST …/v1/messages`, not streamed, as the API would; everything else is the API's own kind of error. */
export async function offlineFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const request = new Request(input, init);
  if (request.method !== 'POST' || !new URL(request.url).pathname.endsWith('/v1/messages')) {
    return refuse(404, 'not_found_error', 'The offline model answers POST /v1/messages only.');
  }
  const body = await request.text();
  const conversation = readConversation(body);
  if (conversation.isStreamed) return refuse(400, 'invalid_request_error', 'The offline model does not stream.');
  const id = createHash('sha256').update(body).digest('hex').slice(0, 24);
  const answer = think(conversation);
  const content =
    typeof answer === 'string'
      ? [{ type: 'text', text: answer }]
      : answer.map(({ tool, input }, at) => ({ type: 'tool_use', id: `toolu_${id}_${at}`, name: tool, input }));
  return Response.json({
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    model: conversation.model,
    content,
    stop_reason: typeof answer === 'string' ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: {
      input_tokens: 0,
      output_tokens: 0,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
    },
  });
}

interface Conversation {
  model: string;
  isStreamed: boolean;
  tools: string[];
  /** The text of the first user message. */
  question: string;
  /** The tool results since, in order. */
  results: { text: string; isError: boolean }[];
}

type Answer = string | { tool: string; input: unknown }[];

function think(conversation: Conversation): Answer {
  if (conversation.tools.includes('record_entries')) return extract(conversation);
  if (conversation.tools.includes('propose_operations')) return dream(conversation);
  return 'The offline model only knows how to record entries and to propose operations.';
}

function extract({ question, results }: Conversation): Answer {
  // What was refused is left out: rules that read a sentence wrongly once would do so again.
  if (results.length > 0) return 'Done.';
  const entries = findEntries(partOf(question, 'excerpt'), partOf(question, 'known'));
  if (entries.length === 0) return 'Nothing worth keeping.';
  const parts = Array.from({ length: Math.ceil(entries.length / ENTRIES_PER_CALL) }, (_, part) =>
    entries.slice(part * ENTRIES_PER_CALL, (part + 1) * ENTRIES_PER_CALL),
  );
  return parts.map((part) => ({ tool: 'record_entries', input: { entries: part } }));
}

function dream({ question, results }: Conversation): Answer {
  const operations = proposeOperations({
    entries: partOf(question, 'entries'),
    withdrawn: partOf(question, 'withdrawn'),
    topics: partOf(question, 'topics'),
    others: partOf(question, 'others'),
  });
  const [refusal, ...more] = results;
  if (refusal === undefined) {
    return operations.length > 0 ? [{ tool: 'propose_operations', input: { operations } }] : 'Nothing to work in.';
  }
  const faulty = faultyEntries(operations, refusal.text);
  if (more.length > 0 || faulty.size === 0) return 'Done.';
  // What stands is not sent again.
  const mended = withoutEntries(operations, faulty, 'The rules of the offline model could not place it.').filter(
    ({ entries }) => !refusal.text.startsWith('These stand') || entries.some((id) => faulty.has(id)),
  );
  return [{ tool: 'propose_operations', input: { operations: mended } }];
}

/** What stands between the tags of prompts/*-input.md: the last such pair, so that data before it cannot stand in for it. */
function partOf(question: string, tag: string): string {
  const text = `\n${question}\n`;
  const end = text.lastIndexOf(`\n</${tag}>\n`);
  const start = text.lastIndexOf(`\n<${tag}>\n`, end);
  return start < 0 || end < 0 ? '' : text.slice(start + tag.length + 4, end);
}

function readConversation(body: string): Conversation {
  const request = asRecord(parseJson(body));
  const messages = asList(request.messages).map(asRecord);
  const blocks = messages.flatMap(({ role, content }) => (role === 'user' ? asList(content).map(asRecord) : []));
  const first = messages.find(({ role }) => role === 'user');
  return {
    model: typeof request.model === 'string' ? request.model : OFFLINE_MODEL,
    isStreamed: request.stream === true,
    tools: asList(request.tools).map((tool) => String(asRecord(tool).name)),
    question: textOf(first?.content),
    results: blocks
      .filter(({ type }) => type === 'tool_result')
      .map(({ content, is_error }) => ({
        text: textOf(content),
        isError: is_error === true,
      })),
  };
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const texts = asList(content).map((block) => asRecord(block).text);
  return texts.filter((text) => typeof text === 'string').join('\n');
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function refuse(status: number, type: string, message: string): Response {
  return Response.json({ type: 'error', error: { type, message } }, { status });
}
