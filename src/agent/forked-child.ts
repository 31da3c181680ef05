// The forked agent: runs agent loops for the parent process, one after the other, and tells it how each ended.
// It has no disk, no database and no environment: the request comes by message, and everything it may do to the
// world except asking the model goes back to the parent as a port call. It ends with its parent.
// Promises: what is left over of a run that is over is not heard. No module here or below keeps what a run was told.

import type { AgentPorts, AgentRequest } from './agent-types.ts';
import { answerRun, type RunAnswer } from './loop.ts';
import { endWithParent } from './watchdog.ts';

/** What the parent says: a request, then an answer to each port call of its run. A call that fails is never answered. */
export type ToChild =
  | { kind: 'start'; run: number; request: AgentRequest }
  | { kind: 'answer'; id: number; value: unknown };

export interface PortCall {
  kind: 'call';
  run: number;
  id: number;
  port: keyof AgentPorts;
  args: unknown[];
}

/** What the child says of a run: port calls, then how it ended. */
export type FromChild = PortCall | (RunAnswer & { run: number });

let calls = 0;
const waiting = new Map<number, (value: never) => void>();

function portsOf(run: number): AgentPorts {
  const ask =
    (port: keyof AgentPorts) =>
    <Value>(...args: unknown[]): Promise<Value> =>
      new Promise((resolve) => {
        calls += 1;
        waiting.set(calls, resolve);
        tell({ kind: 'call', run, id: calls, port, args });
      });
  return {
    callTool: ask('callTool'),
    reserve: ask('reserve'),
    settle: ask('settle'),
    runProgram: ask('runProgram'),
  };
}

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
  const { run, request } = message;
  waiting.clear();
  // The child then waits for the parent to end it: an exit of its own could overtake the message.
  tell({ ...(await answerRun(request, portsOf(run))), run });
});
