// The agent loop: one prompt, a few tools, at most `maxTurns` model calls, on the SDK's own tool runner; or the same behind
// a recorded Messages request, so that the prompt cache which the agent has just filled is read instead of paid for.
// Promises: never one call more, and none where the tools took all and wait for nothing; a turn's tools run one after
// another in the model's order; a tool's failure is a result the model can read and mend; every ending the SDK takes for a
// success although the reply is unfinished (cut, refused, too long) is an AppError, and its tool calls are not run.
// Never executes a tool itself: the ports do. Neither this file nor what it imports keeps what a run was told: the forked
// process runs it again and again.

import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import type {
  BetaContentBlockParam,
  BetaMessage,
  BetaMessageParam,
  MessageCreateParamsNonStreaming,
} from '@anthropic-ai/sdk/resources/beta/messages';
import { AppError, type ErrorCode, isAppError } from '../base/errors.ts';
import { parseJson } from '../base/text/json.ts';
import type { AgentEnding, AgentPorts, AgentRequest, RunAgent, ToolDefinition } from './agent-types.ts';
import { explainFailure, openModel, readEnding } from './model.ts';

/** Marks the end of a prefix the server keeps for the next calls. Two are used of the four a request may hold. */
const KEEP = { type: 'ephemeral' } as const;

/** Runs the loop in this process; `signal` ends it with the signal's reason. */
export const runAgent: RunAgent = async (request, ports, signal) => {
  signal?.throwIfAborted();
  // The SDK takes 0 for "no limit".
  if (!(request.maxTurns >= 1)) throw new AppError('bad-input', `maxTurns is ${request.maxTurns}, not 1 or more.`);
  if (request.continues) return continueRequest(request, ports, signal);
  const client = openModel(request, ports);
  let ended = 0;
  const countingPorts: AgentPorts = {
    ...ports,
    async callTool(name, input) {
      const reply = await ports.callTool(name, input);
      if (reply.endsRun) ended += 1;
      return reply;
    },
  };
  try {
    const runner = client.beta.messages.toolRunner(
      {
        model: request.model,
        max_tokens: request.maxOutputTokens,
        max_iterations: request.maxTurns,
        // The whole conversation goes out with every call: proxies and local endpoints know no message threads.
        thread: false,
        // Tools and system are the same for every run; the input is the same for every call of this run.
        system: [{ type: 'text', text: request.system, cache_control: KEEP }],
        messages: [{ role: 'user', content: [{ type: 'text', text: request.input, cache_control: KEEP }] }],
        tools: buildTools(request.tools, countingPorts),
      },
      { signal },
    );
    let ending: AgentEnding = 'turn-limit';
    for await (const reply of runner) {
      ending = readEnding(reply, request);
      if (ending === 'done') continue;
      ended = 0;
      await runner.generateToolResponse();
      const called = reply.content.filter((block) => block.type === 'tool_use').length;
      if (called > 0 && ended === called) return 'done';
    }
    return ending;
  } catch (error) {
    signal?.throwIfAborted();
    throw await explainFailure(error, request);
  }
};

function buildTools(definitions: ToolDefinition[], ports: AgentPorts): BetaRunnableTool[] {
  // The runner starts all tools of a turn at once, in the model's order; each waits here for the one before.
  let previous: Promise<unknown> = Promise.resolve();
  const call = async (name: string, input: unknown): Promise<string> => {
    const reply = previous.then(() => ports.callTool(name, input));
    previous = Promise.allSettled([reply]);
    const { text, isError } = await reply;
    if (isError) throw new ToolError(text);
    return text;
  };
  return definitions.map((tool) => ({
    ...(tool.kind === 'memory'
      ? { type: 'memory_20250818', name: tool.name }
      : { name: tool.name, description: tool.description, input_schema: { ...tool.inputSchema, type: 'object' } }),
    parse: (input) => input,
    run: (input) => call(tool.name, input),
  }));
}

/** How a run ended, in words for the pipe. */
export type RunAnswer =
  | { kind: 'ended'; ending: AgentEnding }
  | { kind: 'failed'; code: ErrorCode; message: string; remedy?: string; retryAfterMs?: number };

/** One run in the forked process. Never throws. */
export async function answerRun(request: AgentRequest, ports: AgentPorts): Promise<RunAnswer> {
  try {
    return { kind: 'ended', ending: await runAgent(request, ports) };
  } catch (error) {
    if (isAppError(error)) {
      const { code, message, remedy, retryAfterMs } = error;
      return { kind: 'failed', code, message, remedy, retryAfterMs };
    }
    const bug = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { kind: 'failed', code: 'child-crash', message: `The agent process failed: ${bug}` };
  }
}

// A recorded Messages request that is continued: model, system, tools and messages go out as they stood, in the same order;
// one user message with a cache mark of its own is put behind them. Tools come first in what is cached, so that one more
// would spoil all of it: the model answers with JSON text instead, which goes to the run's own tool. The conversation's
// tools are never run.

type Json = Record<string, unknown>;

/** A request may hold so many marks, ours included. */
const MOST_MARKS = 4;
const NOT_RUN = 'Not run: this conversation is over. Answer with the JSON object only.';

/** Contract: like `RunAgent`, for a request that `continues` another. */
async function continueRequest(request: AgentRequest, ports: AgentPorts, signal?: AbortSignal): Promise<AgentEnding> {
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
    throw await explainFailure(error, asked);
  }
}

/** The request with the input behind it. What is sent at once is no stream; all else stays, in its order. */
function continued({ continues = {}, input, maxOutputTokens }: AgentRequest): MessageCreateParamsNonStreaming {
  const { stream: _, ...rest } = structuredClone(continues) as Json;
  const { messages } = rest;
  if (typeof rest.model !== 'string' || !Array.isArray(messages))
    throw new AppError('bad-input', 'The request to be continued names no model, or holds no messages.');
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
