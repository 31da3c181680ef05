// What the agents hand to a hook, as one spool item. Pure: fields in, item out.
// The contract is Claude Code's, snake_case with `hook_event_name`; Codex, Gemini and opencode's plugin keep it. Which of them it is, the words say that
// set-up has written; without any it is Claude Code.

import { isObject, parseJson, parseObject, textOf as text } from '../base/text/json.ts';
import { type AgentName, kindOfEvent, type SpoolItem } from '../queue/spool.ts';

interface HookCall {
  agent: AgentName;
  input: Record<string, unknown>;
  at: string;
}

/** What is to be spooled, or in words why nothing is; null: nothing, and nobody has to know. */
export function itemOf({ agent, input, at }: HookCall): SpoolItem | string | null {
  // A subagent's own hook: the session's hook comes later and covers it.
  if (text(input.agent_id)) return null;
  const event = text(input.hook_event_name);
  if (!event) return 'the input names no event';
  if (!kindOfEvent(event)) return `the event ${JSON.stringify(event.slice(0, 60))} is nothing to nocturne`;
  const [session, transcript] = [text(input.session_id) ?? null, text(input.transcript_path) ?? null];
  if (kindOfEvent(event) !== 'start' && !session && !transcript)
    return 'the input names neither session nor transcript';
  return { v: 1, agent, session, transcript, cwd: text(input.cwd) ?? null, event, size: null, mtime: null, at };
}

/** Whether an agent asks before it takes up a prompt: Gemini CLI by a name of its own. */
export function isPromptEvent(event: unknown): boolean {
  return event === 'UserPromptSubmit' || event === 'BeforeAgent';
}

/** A call that failed, as an agent tells of it. */
export interface Failure {
  tool: string;
  input: unknown;
  output: string;
}

const SHELL = /^(?:bash|shell|exec_command|run_shell_command|powershell)$/i;
/** By which Gemini CLI, which tells of each call, says that one failed. */
const FAILED = /^Exit Code: ?-?[1-9]\d*/m;
/** A person's own doing, or a timeout of theirs. */
const STOPPED = /^Exit code 1(?:30|37|43)\b/;

/**
 * Undefined for an event that tells of no call; null for a call that did not fail for all that is told, which of other tools than a
 * shell is told by Claude Code alone. Codex tells a hook no exit code: that stands at the end of what `readRollout` answers, the session's file.
 */
export function failureOf(
  input: HookCall['input'],
  readRollout: (path: string) => string | null = () => null,
): Failure | null | undefined {
  const { hook_event_name: event, tool_input: given, tool_response: response, error } = input;
  if (event !== 'PostToolUseFailure' && event !== 'PostToolUse' && event !== 'AfterTool') return undefined;
  const failure = { tool: text(input.tool_name) ?? '', input: isObject(given) ? given : { command: given } };
  if (event === 'PostToolUseFailure') {
    const output = text(error) ?? '';
    return input.is_interrupt === true || STOPPED.test(output) ? null : { ...failure, output };
  }
  if (!SHELL.test(failure.tool)) return null;
  const output = typeof response === 'string' ? response : textsIn(response);
  const hasFailed =
    event === 'AfterTool'
      ? FAILED.test(output)
      : isFailedIn(readRollout(text(input.transcript_path) ?? ''), input.tool_use_id);
  return hasFailed ? { ...failure, output } : null;
}

function isFailedIn(rollout: string | null, call: unknown): boolean {
  const of = JSON.stringify(call ?? '');
  const line = rollout?.split('\n').findLast((each) => each.includes(`"id":${of}`) && each.includes('"exit_code":'));
  const { payload } = parseObject(line ?? '') ?? {};
  const item = isObject(payload) && isObject(payload.item) ? payload.item : {};
  return typeof item.exit_code === 'number' && item.exit_code !== 0;
}

function textsIn(value: unknown): string {
  if (typeof value === 'string') return `${value}\n`;
  if (typeof value === 'number') return '';
  return typeof value === 'object' && value !== null ? Object.values(value).map(textsIn).join('') : '';
}

export const INPUT_MS = 500;
export const MAX_INPUT_BYTES = 4 * 2 ** 20;

export interface HookInput {
  /** Empty where it is too long. */
  text: string;
  bytes: number;
  isLate: boolean;
}

/** Reads until a whole JSON value is there, or the time is over: agents may leave the pipe open. */
export function readInput(input: NodeJS.ReadStream): Promise<HookInput> {
  const { promise, resolve, reject } = Promise.withResolvers<HookInput>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const text = () => Buffer.concat(chunks).toString('utf8');
  const end = (isLate: boolean) => {
    clearTimeout(timer);
    // What is made of it takes its time, in which a pipe may be closed.
    input.removeAllListeners().on('error', () => {});
    resolve({ text: text(), bytes, isLate });
  };
  const timer = setTimeout(() => end(true), INPUT_MS);
  input.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    // Read on and forgotten: a pipe that nobody reads would hold up the agent.
    if (bytes > MAX_INPUT_BYTES) chunks.length = 0;
    else chunks.push(chunk);
    if (/\}\s*$/.test(chunk.toString('latin1')) && parseJson(text()) !== undefined) end(false);
  });
  input.on('end', () => end(false));
  input.on('error', reject);
  return promise;
}

/** The object, or null where none came, or what came is none. */
export async function readHookJson(input: NodeJS.ReadStream): Promise<Record<string, unknown> | null> {
  if (input.isTTY) return null;
  const read = await readInput(input).catch(() => null);
  input.destroy();
  return parseObject(read?.text ?? '') ?? null;
}
