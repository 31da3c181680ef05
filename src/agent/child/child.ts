// The forked agent: runs agent loops for the parent process, one after the other, and tells it how each ended.
// It has no disk, no database and no environment: the request comes by message, and everything it may do to the
// world except asking the model goes back to the parent as a port call. It ends with its parent.
// Promises: a run has modules that no other run has used; what is left over of a run that is over is not heard; it says
// whether it is as good for another run as it was for the first.

import type { RunAnswer } from '../loop.ts';
import type { AgentPorts, AgentRequest } from '../types.ts';
import { isFreshEachTime, loadRun } from './fresh-run.ts';
import { endWithParent } from './watchdog.ts';

/** What the parent says: a request, then an answer to each port call of its run. A call that fails is never answered. */
export type ToChild =
  | { kind: 'start'; run: number; request: AgentRequest }
  | { kind: 'answer'; run: number; id: number; value: unknown };

export type PortCall = {
  [Port in keyof AgentPorts]-?: {
    kind: 'call';
    run: number;
    id: number;
    port: Port;
    args: Parameters<NonNullable<AgentPorts[Port]>>;
  };
}[keyof AgentPorts];

/** What the child says of a run: port calls, then how it ended, then nothing. `isReady`: another run may come. */
export type FromChild = PortCall | (RunAnswer & { run: number; isReady?: boolean });

/** What earlier runs may have left in memory, in MiB, beyond what the process took before the first. */
const LEFT_OVER_MB = 64;

let calls = 0;
let running = 0;
const waiting = new Map<number, (value: never) => void>();
const bytesAtFirst = process.memoryUsage.rss();
const globalsAtFirst = Object.getOwnPropertyNames(globalThis).join(' ');

function portsOf(run: number): AgentPorts {
  const ask = <Value>(call: (id: number) => PortCall): Promise<Value> =>
    new Promise((resolve) => {
      if (run !== running) return;
      calls += 1;
      waiting.set(calls, resolve);
      tell(call(calls));
    });
  return {
    callTool: (...args) => ask((id) => ({ kind: 'call', run, id, port: 'callTool', args })),
    reserve: (...args) => ask((id) => ({ kind: 'call', run, id, port: 'reserve', args })),
    settle: (...args) => ask((id) => ({ kind: 'call', run, id, port: 'settle', args })),
    runProgram: (...args) => ask((id) => ({ kind: 'call', run, id, port: 'runProgram', args })),
  };
}

function tell(message: FromChild): void {
  process.send?.(message);
}

async function hear(message: ToChild): Promise<void> {
  if (message.kind === 'start') {
    const { run, request } = message;
    running = run;
    waiting.clear();
    // The child then waits for the parent to end it: an exit of its own could overtake the message.
    const answer = await loadRun()(request, portsOf(run));
    tell({ ...answer, run, isReady: isAsAtFirst() });
    return;
  }
  if (message.run !== running) return;
  waiting.get(message.id)?.(message.value as never);
  waiting.delete(message.id);
}

function isAsAtFirst(): boolean {
  const grownMb = (process.memoryUsage.rss() - bytesAtFirst) / 2 ** 20;
  return (
    isFreshEachTime &&
    waiting.size === 0 &&
    grownMb <= LEFT_OVER_MB &&
    Object.getOwnPropertyNames(globalThis).join(' ') === globalsAtFirst
  );
}

endWithParent();
process.on('message', (message: ToChild) => void hear(message));
