// The agent loop: one prompt, a few tools, at most `maxTurns` model calls, on the SDK's own tool runner.
// Promises: never one call more, and none where the tools took all and wait for nothing; a turn's tools run one after
// another in the model's order; a tool's failure is a result the model can read and mend; every ending the SDK takes for a success although the reply is unfinished
// (cut, refused, too long) is an AppError, and the tool calls of such a reply are not run.
// Never executes a tool itself: the ports do.

import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import { AppError } from '../base/errors.ts';
import { continueRequest } from './continue-request.ts';
import { explainFailure, openModel, readEnding } from './model.ts';
import type { AgentEnding, AgentPorts, RunAgent, ToolDefinition } from './types.ts';

/** Marks the end of a prefix the server keeps for the next calls. Two are used of the four a request may hold. */
const KEEP = { cache_control: { type: 'ephemeral' } } as const;

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
        system: [{ type: 'text', text: request.system, ...KEEP }],
        messages: [{ role: 'user', content: [{ type: 'text', text: request.input, ...KEEP }] }],
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
    throw explainFailure(error, request);
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
  return definitions.map((tool) => (tool.kind === 'memory' ? readOnlyMemory(call) : customTool(tool, call)));
}

type CallTool = (name: string, input: unknown) => Promise<string>;

function customTool(tool: Extract<ToolDefinition, { kind: 'custom' }>, call: CallTool): BetaRunnableTool {
  return {
    name: tool.name,
    description: tool.description,
    input_schema: { ...tool.inputSchema, type: 'object' },
    parse: (input) => input,
    run: (input) => call(tool.name, input),
  };
}

function readOnlyMemory(call: CallTool): BetaRunnableTool {
  const refuse = (): never => {
    throw new ToolError('Memory is read-only here: only the command `view` works.');
  };
  return betaMemoryTool({
    view: (command) => call('memory', command),
    create: refuse,
    str_replace: refuse,
    insert: refuse,
    delete: refuse,
    rename: refuse,
  });
}
