// One run of the agent loop in the forked process, and how it ended, in words for the pipe.
// The build evaluates this file with all that it imports anew for each run (fresh-run.ts), so that nothing a module
// remembers of one run is there in the next.

import { type ErrorCode, isAppError } from '../../base/errors.ts';
import { runAgent } from '../loop.ts';
import type { AgentEnding, AgentPorts, AgentRequest } from '../types.ts';

export type RunAnswer =
  | { kind: 'ended'; ending: AgentEnding }
  | { kind: 'failed'; code: ErrorCode; message: string; remedy?: string; retryAfterMs?: number };

/** Never throws. */
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
