// Continues a whole Messages request instead of beginning a conversation of our own, so that the prompt cache which the
// agent has just filled is read instead of paid for.
// Promises: model, system, tools and messages go out as they stood, in the same order; one user message with a cache
// mark of its own is put behind them. Tools come first in what is cached, so that one more would spoil all of it: the
// model answers with JSON text instead, which goes to the run's own tool. The conversation's tools are never run.

import type {
  BetaContentBlockParam,
  BetaMessage,
  BetaMessageParam,
  MessageCreateParamsNonStreaming,
} from '@anthropic-ai/sdk/resources/beta/messages';
import { AppError } from '../base/errors.ts';
import { parseJson } from '../base/text/json.ts';
import { explainFailure, openModel, readEnding } from './model.ts';
import type { AgentEnding, AgentPorts, AgentRequest } from './types.ts';

type Json = Record<string, unknown>;

const KEEP = { type: 'ephemeral' } as const;
/** A request may hold so many marks, ours included. */
const MOST_MARKS = 4;
const NOT_RUN = 'Not run: this conversation is over. Answer with the JSON object only.';

/** Contract: like `RunAgent`, for a request that `continues` another. */
export async function continueRequest(
  request: AgentRequest,
  ports: AgentPorts,
  signal?: AbortSignal,
): Promise<AgentEnding> {
  const body = continued(request);
  const asked = { ...request, model: body.model, maxOutputTokens: body.max_tokens };
  const client = openModel(asked, ports);
  try {
    for (let turn = 1; turn <= request.maxTurns; turn++) {
      const reply = await client.beta.messages.create(body, { signal });
      readEnding(reply, asked);
      const answer = await answerTo(reply, request.tools[0]?.name ?? '', ports);
      if (answer === null) return 'done';
      body.messages.push({ role: 'assistant', content: reply.content as BetaContentBlockParam[] }, answer);
    }
    return 'turn-limit';
  } catch (error) {
    signal?.throwIfAborted();
    throw explainFailure(error, asked);
  }
}

/** The request with the input behind it. What is sent at once is no stream; all else stays, in its order. */
function continued({ continues = {}, input, maxOutputTokens }: AgentRequest): MessageCreateParamsNonStreaming {
  const { stream: _, ...rest } = structuredClone(continues) as Json;
  const { messages } = rest;
  if (typeof rest.model !== 'string' || !Array.isArray(messages)) {
    throw new AppError('bad-input', 'The request to be continued names no model, or holds no messages.');
  }
  rest.max_tokens ??= maxOutputTokens;
  makeRoomForMark(rest);
  const text = { type: 'text' as const, text: input, cache_control: KEEP };
  messages.push({ role: 'user', content: [...unanswered(messages.at(-1)), text] } satisfies BetaMessageParam);
  return rest as unknown as MessageCreateParamsNonStreaming;
}

/** The calls of the last message get the answer that the API demands; they are not run. */
function unanswered(last: unknown): BetaContentBlockParam[] {
  const { role, content } = (last ?? {}) as Json;
  if (role !== 'assistant' || !Array.isArray(content)) return [];
  return (content as Json[]).filter((block) => block.type === 'tool_use').map((block) => refused(String(block.id)));
}

function refused(id: string): BetaContentBlockParam {
  return { type: 'tool_result', tool_use_id: id, content: NOT_RUN, is_error: true };
}

/**
 * Takes off the first mark of the messages (of system and tools where they have none) if ours would be one too many. A
 * mark is no part of what is cached, and the server finds what the last one wrote.
 */
function makeRoomForMark({ tools, system, messages }: Json): void {
  const inMessages = markedIn(messages);
  const others = [...markedIn(tools), ...markedIn(system)];
  if (inMessages.length + others.length < MOST_MARKS) return;
  // The one at the end is what the server looks back to.
  const [first] = inMessages.length > 1 ? inMessages : others;
  if (first) delete first.cache_control;
}

/** The blocks with a mark, in their order; also those inside messages and tool results. */
function markedIn(value: unknown): Json[] {
  if (Array.isArray(value)) return value.flatMap(markedIn);
  if (typeof value !== 'object' || value === null) return [];
  const block = value as Json;
  return [...markedIn(block.content), ...('cache_control' in block ? [block] : [])];
}

/** What is said next; null where there is nothing more to say. */
async function answerTo(reply: BetaMessage, tool: string, ports: AgentPorts): Promise<BetaMessageParam | null> {
  const called = reply.content.filter((block) => block.type === 'tool_use');
  if (called.length > 0) return { role: 'user', content: called.map(({ id }) => refused(id)) };
  const text = reply.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  // An assistant's message without content could not be sent back either.
  if (text.trim() === '') return null;
  const input = jsonIn(text);
  if (input === undefined)
    return { role: 'user', content: 'That is no JSON object. Answer with {"entries": […]} only.' };
  if (isEmpty(input)) return null;
  const result = await ports.callTool(tool, input);
  if (result.endsRun) return null;
  return { role: 'user', content: `${result.text}\nAnswer as JSON again; with {"entries": []} where nothing is left.` };
}

/** The JSON value in a text that may have words, or a fence, around it. */
function jsonIn(text: string): unknown {
  const [start, end] = [text.search(/[{[]/), Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))];
  if (start === -1 || end < start) return undefined;
  return parseJson(text.slice(start, end + 1));
}

function isEmpty(input: unknown): boolean {
  const entries = Array.isArray(input) ? input : (input as { entries?: unknown } | null)?.entries;
  return Array.isArray(entries) && entries.length === 0;
}
