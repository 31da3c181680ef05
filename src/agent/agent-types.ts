// What the agent loop is asked, and what it answers. The same words are spoken over the pipe to the forked child.
// It loads no SDK, so that a command can tell whether a model can be asked at all.

import type { ModelAccess } from '../base/config/config.ts';
import type { Paid, Settled, Usage } from '../base/config/prices.ts';
import { AppError } from '../base/errors.ts';
import { type ProgramAnswer, type ProgramTask, programOf } from './programs/programs.ts';

/** A custom tool, or Anthropic's memory tool (which the model knows; only its name is sent). */
export type ToolDefinition =
  | { kind: 'custom'; name: string; description: string; inputSchema: Record<string, unknown> }
  | { kind: 'memory'; name: 'memory' };

/** The model id of the rule-based model that answers without key or network, and costs nothing. */
export const OFFLINE_MODEL = 'offline';

/** What it cannot find, as a sentence. */
export const OFFLINE_LIMITS =
  'The offline model takes only what is said outright, in English: “Always use …”, “Remember that …”, “I prefer …”.';

/** Everything one run needs, as plain data. */
export interface AgentRequest {
  /** A model id of the endpoint, an agent's program (programs/programs.ts), or `OFFLINE_MODEL`. */
  model: string;
  access: ModelAccess;
  system: string;
  input: string;
  tools: ToolDefinition[];
  /** Model calls with their tool results. The run is never given one more. */
  maxTurns: number;
  /** Output tokens per model call. */
  maxOutputTokens: number;
  /** How long one HTTP request may take, to the last byte of its reply. */
  requestMs: number;
}

export interface ToolReply {
  text: string;
  /** Nothing of the call was taken. */
  isError: boolean;
  /** All of the call was taken, and nothing is left to say. A reply whose calls all end so ends the run. */
  endsRun?: boolean;
}

export const NO_USAGE: Usage = { calls: 0, inputTokens: 0, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };

/**
 * What a run may ask of the process that owns it.
 * Contract: `callTool` never throws (a tool's failure is a reply the model can read). `reserve` throws an AppError
 * `ceiling` when the upper bound does not fit; a granted reservation is settled once, or stays counted whole.
 */
export interface AgentPorts {
  callTool(name: string, input: unknown): Promise<ToolReply>;
  /**
   * Before every HTTP request; `upperBoundTokens` is the UTF-8 bytes of its body plus `max_tokens` (offline: 0), of
   * which `outputTokens` may be output. `paid`: how a program pays that stands as the model.
   */
  reserve(upperBoundTokens: number, outputTokens: number, paid?: Paid): Promise<number>;
  /** `refused`: the server did not answer but by this status; who asked may ask again. */
  settle(reservation: number, usage: Settled, refused?: Refusal): Promise<void>;
  /** Runs the program that stands as the model; there where one does. */
  runProgram?(task: ProgramTask): Promise<ProgramAnswer>;
}

export interface Refusal {
  status: number;
  /** The pause that the server asks for. */
  waitMs: number | null;
}

/**
 * `done`: the model ended by itself, or all that it called ends the run. `turn-limit`: it still wanted tools after
 * `maxTurns` calls; they were run.
 */
export type AgentEnding = 'done' | 'turn-limit';

/** Contract: throws an AppError for every unplanned ending (refusal, cut reply, auth, network, ceiling, crash). */
export type RunAgent = (request: AgentRequest, ports: AgentPorts, signal?: AbortSignal) => Promise<AgentEnding>;

/** The same runs; these are called when a request is about to be sent, and before what it used is counted. */
export function aroundRequests(
  run: RunAgent,
  told: {
    reserved?(reservation: number, bound: number): void;
    settled(usage: Settled, refused: Refusal | undefined, reservation: number): void | Promise<void>;
  },
): RunAgent {
  return (request, ports, signal) => {
    const reserve: typeof ports.reserve = async (bound, ...how) => {
      const reservation = await ports.reserve(bound, ...how);
      told.reserved?.(reservation, bound);
      return reservation;
    };
    const settle: typeof ports.settle = async (reservation, usage, refused) => {
      await told.settled(usage, refused, reservation);
      return ports.settle(reservation, usage, refused);
    };
    return run(request, { ...ports, reserve, settle }, signal);
  };
}

/** Whether the model is asked by a key of ours: not the offline one, nor a program, which has its own login. */
export function needsKey(model: string): boolean {
  return model !== OFFLINE_MODEL && programOf(model) === null;
}

/** Throws `no-model` where there is neither key nor token, unless the model needs none. */
export function requireAccess({ model, access }: Pick<AgentRequest, 'model' | 'access'>): void {
  if (!needsKey(model) || access.apiKey || access.authToken) return;
  throw new AppError('no-model', `There is no key for model ${model}.`, {
    remedy:
      'nocturne setup keeps one; or set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN; for a local endpoint also ANTHROPIC_BASE_URL), or choose the program of an agent that you are logged in to (--model claude-code or codex), or --model offline.',
  });
}
