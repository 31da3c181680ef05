// One run of an agent whose tools are answered here, its spend counted by who asks.

import { renderPrompt } from '../base/prompt.ts';
import type { AgentEnding, AgentPorts, AgentRequest, RunAgent } from './agent-types.ts';
import { programOf } from './programs/programs.ts';
import { routeTools, type Tool } from './tools.ts';

/** Contract as in `AgentPorts`. `continued`: the model of a request that is another program's. */
export interface Spend extends Pick<AgentPorts, 'settle'> {
  reserve(
    tokens: number,
    outputTokens: number,
    how: { continued?: string; paid?: Parameters<AgentPorts['reserve']>[2] },
  ): Promise<number>;
}

export interface AgentDeps {
  agent: Pick<AgentRequest, 'model' | 'access' | 'maxTurns' | 'maxOutputTokens' | 'requestMs'>;
  runAgent: RunAgent;
  spend: Spend;
  signal?: AbortSignal;
}

/** Resolves with how the run ended; what its tools were told is the tools' to answer. */
export async function runWithTools(
  ask: Pick<AgentRequest, 'memory' | 'system' | 'input' | 'continues'>,
  tools: Tool[],
  { agent, runAgent, spend, signal }: AgentDeps,
): Promise<AgentEnding> {
  const continued = ask.continues && String(ask.continues.model);
  const system = programOf(agent.model) ? `${ask.system}\n${await programWords(tools)}` : ask.system;
  return runAgent(
    { ...agent, ...ask, system, tools: tools.map((tool) => tool.definition) },
    {
      callTool: routeTools(tools),
      reserve: (tokens, outputTokens, paid) => spend.reserve(tokens, outputTokens, { continued, paid }),
      settle: (reservation, usage) => spend.settle(reservation, usage),
    },
    signal,
  );
}

/** A program is given no tools: what would be passed to one is its answer. */
async function programWords([tool]: Tool[]): Promise<string> {
  return (await renderPrompt('program', { tool: tool?.definition.name ?? '' })).text;
}
