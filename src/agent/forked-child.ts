// The forked agent: runs one agent loop for the parent process, and tells it how that ended. It has no disk, no database and no
// environment: the request comes by message, and everything it may do to the world except asking the model goes back to the parent
// as a port call. It ends with its parent.

import type { AgentPorts, AgentRequest } from './agent-types.ts';
import { answerRun, type RunAnswer } from './loop.ts';
import { endWithParent } from './watchdog.ts';

/** What the parent says: a request, then an answer to each port call. A call that fails is never answered. */
export type ToChild = { kind: 'start'; request: AgentRequest } | { kind: 'answer'; id: number; value: unknown };

export interface PortCall {
  kind: 'call';
  id: number;
  port: keyof AgentPorts;
  args: unknown[];
}

/** What the child says: port calls, then how the run ended. */
export type FromChild = PortCall | RunAnswer;

let calls = 0;
const waiting = new Map<number, (value: never) => void>();

const ask =
  (port: keyof AgentPorts) =>
  <Value>(...args: unknown[]): Promise<Value> =>
    new Promise((resolve) => {
      calls += 1;
      waiting.set(calls, resolve);
      tell({ kind: 'call', id: calls, port, args });
    });
const ports: AgentPorts = {
  callTool: ask('callTool'),
  reserve: ask('reserve'),
  settle: ask('settle'),
  runProgram: ask('runProgram'),
};

function tell(message: FromChild): void {
  process.send?.(message);
}

endWithParent();
process.on('message', async (message: ToChild) => {
  if (message.kind === 'answer') {
    waiting.get(message.id)?.(message.value as never);
    waiting.delete(message.id);
    return;
  }
  // The child then waits for the parent to end it: an exit of its own could overtake the message.
  tell(await answerRun(message.request, ports));
});
