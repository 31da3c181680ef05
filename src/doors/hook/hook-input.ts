// What the agents hand to a hook, as one spool item. Pure: fields in, item out.
// The contracts: Claude Code, Codex and Gemini write snake_case with `hook_event_name`; Codex's older `notify` writes
// kebab-case; Copilot writes camelCase without the event's name; opencode's plugin writes what Claude Code does.

import { parseObject, textOf as text } from '../../base/text/json.ts';
import { type AgentName, isAgentName, kindOfEvent, type SpoolItem } from '../../queue/spool.ts';

interface HookCall {
  /** The arguments: `[AGENT] [EVENT]`, both left out where the JSON tells. */
  args: string[];
  input: Record<string, unknown>;
  at: string;
}

/** What is to be spooled, or in words why nothing is; null: nothing, and nobody has to know. */
export function itemOf({ args, input, at }: HookCall): SpoolItem | string | null {
  // A subagent's own hook: the session's hook comes later and covers it.
  if (text(input.agent_id)) return null;
  const named = args.find(isAgentName);
  const agent = named ?? agentOf(input);
  const event = args.find((arg) => kindOfEvent(eventName(arg)) !== undefined) ?? eventOf(input);
  if (!event) return 'the input names no event';
  const name = eventName(event);
  if (!kindOfEvent(name)) return `the event ${JSON.stringify(event.slice(0, 60))} is nothing to nocturne`;
  const session = text(input.session_id) ?? text(input['thread-id']) ?? text(input.sessionId) ?? null;
  const transcript = text(input.transcript_path) ?? text(input.transcriptPath) ?? null;
  if (kindOfEvent(name) !== 'start' && !session && !transcript) return 'the input names neither session nor transcript';
  return { v: 1, agent, session, transcript, cwd: text(input.cwd) ?? null, event: name, size: null, mtime: null, at };
}

/** `session-end` is how a settings file may spell `SessionEnd`. */
function eventName(given: string): string {
  if (kindOfEvent(given)) return given;
  const pascal = given.replaceAll(/(?:^|[-_ ])([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return kindOfEvent(pascal) ? pascal : given;
}

function eventOf(input: HookCall['input']): string | undefined {
  const said = text(input.hook_event_name) ?? text(input.hookEventName) ?? text(input.type);
  if (said) return said;
  if (text(input.stopReason)) return 'agentStop';
  if (text(input.reason)) return 'sessionEnd';
  return text(input.source) ? 'sessionStart' : undefined;
}

function agentOf(input: HookCall['input']): AgentName {
  const path = (text(input.transcript_path) ?? text(input.transcriptPath) ?? '').replaceAll('\\', '/');
  const event = text(input.hook_event_name) ?? text(input.type) ?? '';
  if (input['thread-id'] || input.turn_id || /\/\.codex\/|\/rollout-[^/]+$/.test(path)) return 'codex';
  if (/^(AfterAgent|PreCompress)$/.test(event) || path.includes('/.gemini/')) return 'gemini';
  if (event.startsWith('session.')) return 'opencode';
  if (input.sessionId) return 'copilot';
  return 'claude-code';
}

/** Whether an agent asks before it takes up a prompt: Gemini CLI by a name of its own. */
export function isPromptEvent(event: unknown): boolean {
  return event === 'UserPromptSubmit' || event === 'BeforeAgent';
}

const WAIT_MS = 500;
const MAX_CHARACTERS = 1 << 20;

/** The object, or null where none came, or what came is none. */
export function readHookJson(input: NodeJS.ReadStream): Promise<Record<string, unknown> | null> {
  if (input.isTTY) return Promise.resolve(null);
  return new Promise((resolve) => {
    let read = '';
    const end = (found = parseObject(read)) => {
      clearTimeout(timer);
      input.removeAllListeners();
      input.destroy();
      resolve(found ?? null);
    };
    const timer = setTimeout(end, WAIT_MS);
    input.setEncoding('utf8');
    input.on('data', (chunk: string) => {
      read += chunk;
      const found = read.trimEnd().endsWith('}') ? parseObject(read) : undefined;
      if (found || read.length > MAX_CHARACTERS) end(found);
    });
    input.once('end', () => end());
    input.once('error', () => end());
  });
}
