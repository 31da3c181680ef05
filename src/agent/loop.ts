// The agent loop: one prompt, a few tools, at most `maxTurns` model calls, on the SDK's own tool runner.
// Promises: never one call more, and none where the tools took all and wait for nothing; a turn's tools run one after
// another in the model's order; a tool's failure is a result the model can read and mend; every ending the SDK takes for a
// success although the reply is unfinished (cut, refused, too long) is an AppError, and its tool calls are not run.
// Never executes a tool itself: the ports do.

import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import { AppError, type ErrorCode, isAppError } from '../base/errors.ts';
import type { AgentEnding, AgentPorts, AgentRequest, RunAgent, ToolDefinition } from './agent-types.ts';
import { explainFailure, openModel, readEnding } from './model.ts';

/** Marks the end of a prefix the server keeps for the next calls. Two are used of the four a request may hold. */
const KEEP = { type: 'ephemeral' } as const;

/** Runs the loop in this process; `signal` ends it with the signal's reason. */
export const runAgent: RunAgent = async (request, ports, signal) => {
  signal?.throwIfAborted();
  // The SDK takes 0 for "no limit".
  if (!(request.maxTurns >= 1)) throw new AppError('bad-input', `maxTurns is ${request.maxTurns}, not 1 or more.`);
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
