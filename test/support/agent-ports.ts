// Ports for agent runs in tests: they keep what was asked of them, and answer tools by a function of the test.

import type { AgentEnding, AgentPorts, AgentRequest, ToolReply } from '../../src/agent/agent-types.ts';
import type { Usage } from '../../src/base/config/prices.ts';
import { AppError } from '../../src/base/errors.ts';

export interface RecordingPorts extends AgentPorts {
  toolCalls: { name: string; input: unknown }[];
  /** The upper bound of each reservation, in order; its index is its id. */
  reserved: number[];
  settled: { reservation: number; usage: Usage }[];
}

export interface PortsOptions {
  callTool?: (name: string, input: unknown) => ToolReply | Promise<ToolReply>;
  /** How many requests the ceiling has room for. */
  room?: number;
}

export function recordingPorts({ callTool, room = Number.POSITIVE_INFINITY }: PortsOptions = {}): RecordingPorts {
  const ports: RecordingPorts = {
    toolCalls: [],
    reserved: [],
    settled: [],
    async callTool(name, input) {
      ports.toolCalls.push({ name, input });
      return (await callTool?.(name, input)) ?? { text: 'ok', isError: false };
    },
    async reserve(upperBoundTokens) {
      if (ports.reserved.length >= room)
        throw new AppError('ceiling', 'No tokens are left for today.', { remedy: 'Wait for tomorrow.' });
      return ports.reserved.push(upperBoundTokens) - 1;
    },
    async settle(reservation, usage) {
      ports.settled.push({ reservation, usage });
    },
  };
  return ports;
}

/** A request with one custom tool and the memory tool, five turns, to be completed by the test. */
export function agentRequest(given: Partial<AgentRequest> & Pick<AgentRequest, 'access'>): AgentRequest {
  return {
    model: 'test-model',
    system: 'You keep what matters.',
    input: 'The session so far.',
    tools: [
      { kind: 'memory', name: 'memory' },
      {
        kind: 'custom',
        name: 'record_entries',
        description: 'Records entries.',
        inputSchema: { type: 'object', properties: { entries: { type: 'array' } } },
      },
    ],
    maxTurns: 5,
    maxOutputTokens: 1000,
    requestMs: 20_000,
    ...given,
  };
}

/** What a run fails with; a run that does not fail is an error of the test. */
export async function failureOf(running: Promise<AgentEnding>): Promise<AppError> {
  const ending = await running.catch((failure: AppError) => failure);
  if (typeof ending === 'string') throw new Error(`the run ended as ${ending}`);
  return ending;
}
