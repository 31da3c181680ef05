// One run of the forked agent for a job: its tools answered here, its spend counted against the job's ceilings.

import { routeTools, type Tool } from '../src/agent/tools.ts';
import type { AgentEnding, AgentRequest, RunAgent } from '../src/agent/types.ts';
import type { JobSpend } from '../src/memory/home/spend.ts';

export interface AgentDeps {
  agent: Pick<AgentRequest, 'model' | 'access' | 'maxTurns' | 'maxOutputTokens' | 'requestMs'>;
  runAgent: RunAgent;
  spend: JobSpend;
  signal?: AbortSignal;
}

/** Resolves with how the run ended; what its tools were told is the tools' to answer. */
export function runWithTools(
  ask: Pick<AgentRequest, 'memory' | 'system' | 'input' | 'continues'>,
  tools: Tool[],
  { agent, runAgent, spend, signal }: AgentDeps,
): Promise<AgentEnding> {
  const continued = ask.continues && String(ask.continues.model);
  return runAgent(
    { ...agent, ...ask, tools: tools.map((tool) => tool.definition) },
    {
      callTool: routeTools(tools),
      reserve: (tokens, outputTokens) => spend.reserve(tokens, outputTokens, continued),
      settle: (reservation, usage) => spend.settle(reservation, usage),
    },
    signal,
  );
}
