// The forked agent: runs one agent loop for the parent process and tells it how that ended.
// It has no disk, no database and no environment: the request comes by message, and everything it may do to the
// world except asking the model goes back to the parent as a port call. It ends with its parent.

import { runAgent } from '../agent/loop.ts';
import type { AgentEnding, AgentPorts, AgentRequest } from '../agent/types.ts';
import { type ErrorCode, isAppError } from '../errors.ts';
import { endWithParent } from './watchdog.ts';

/** What the parent says: the one request, then an answer to each port call. A call that fails is never answered. */
export type ToChild = { kind: 'start'; request: AgentRequest } | { kind: 'answer'; id: number; value: unknown };

export type PortCall = {
  [Port in keyof AgentPorts]: { kind: 'call'; id: number; port: Port; args: Parameters<AgentPorts[Port]> };
}[keyof AgentPorts];

/** What the child says: port calls, then one of the other two, then nothing. */
export type FromChild =
  | PortCall
  | { kind: 'ended'; ending: AgentEnding }
  | { kind: 'failed'; code: ErrorCode; message: string; remedy?: string; retryAfterMs?: number };

let calls = 0;
const waiting = new Map<number, (value: never) => void>();

const ports: AgentPorts = {
  callTool: (...args) => ask((id) => ({ kind: 'call', id, port: 'callTool', args })),
  reserve: (...args) => ask((id) => ({ kind: 'call', id, port: 'reserve', args })),
  settle: (...args) => ask((id) => ({ kind: 'call', id, port: 'settle', args })),
};

function ask<Value>(call: (id: number) => PortCall): Promise<Value> {
  return new Promise((resolve) => {
    calls += 1;
    waiting.set(calls, resolve);
    tell(call(calls));
  });
}

function tell(message: FromChild): void {
  process.send?.(message);
}

function hear(message: ToChild): void {
  if (message.kind === 'start') {
    // The child then waits for the parent to end it: an exit of its own could overtake the message.
    runAgent(message.request, ports).then((ending) => tell({ kind: 'ended', ending }), fail);
    return;
  }
  waiting.get(message.id)?.(message.value as never);
  waiting.delete(message.id);
}

function fail(error: unknown): void {
  if (isAppError(error)) {
    const { code, message, remedy, retryAfterMs } = error;
    tell({ kind: 'failed', code, message, remedy, retryAfterMs });
    return;
  }
  const bug = error instanceof Error ? (error.stack ?? error.message) : String(error);
  tell({ kind: 'failed', code: 'child-crash', message: `The agent process failed: ${bug}` });
}

endWithParent();
process.on('message', hear);
