// The calls with which the main agent may have written memory, as a transcript records them: those that succeeded, with
// what they were told. Of a tool that is told what to write by a key of its input it tells which lines are new.
// It reads no shell and looks nothing up: whether a call wrote is for jobs/extract/external-changes.ts to say.

import { isObject, objectsOf, textOf, textsIn } from '../base/text/json.ts';
import type { Message, Part, Turn } from './messages.ts';

/** A call that succeeded. */
export interface FinishedCall {
  call: string;
  /** Where its message stands in the turn, and the last message that belongs to it: mostly its result. */
  at: number;
  through: number;
  /** When it was made and answered; ISO-8601. */
  began?: string;
  ended?: string;
  /** All that it was told. */
  text: string;
  /** The path of a memory by all appearance, on whatever machine, and the lines that it adds there. */
  memory: MemoryText | null;
  /** The lines that it adds, where it is told them by themselves. */
  added: string[];
}

interface MemoryText {
  path: string;
  added: string[];
}

/** The calls of the main agent in `turn` that succeeded, in order. */
export function finishedCalls({ messages }: Turn): FinishedCall[] {
  const results = new Map<string, number>();
  for (const [at, message] of messages.entries()) {
    if (!isMainAgents(message)) continue;
    for (const part of message.parts) if (part.kind === 'result' && !part.isError) results.set(part.callId, at);
  }
  return messages.flatMap((message, at) => {
    if (!isMainAgents(message)) return [];
    return message.parts.flatMap((part) => {
      const result = part.kind === 'call' ? results.get(part.id) : undefined;
      if (part.kind !== 'call' || result === undefined) return [];
      const { id: call, input } = part;
      const text = textsIn(input).join('\n');
      const through = endOfCall(messages, { at, result });
      const times = { began: message.at, ended: messages[result]?.at };
      return [{ call, at, through, ...times, text, memory: memoryText(input), added: addedBy(input) }];
    });
  });
}

/** The message with what these of its calls wrote as words instead of the calls. */
export function sayWrites(message: Message, calls: ReadonlySet<string>): Message {
  if (!message.parts.some((part) => part.kind === 'call' && calls.has(part.id))) return message;
  const parts = message.parts.map((part): Part => {
    const written = part.kind === 'call' && calls.has(part.id) ? memoryText(part.input) : null;
    return written ? { kind: 'text', text: [`[wrote ${written.path}]`, ...written.added].join('\n') } : part;
  });
  return { ...message, parts };
}

/** Whether a message is a part of the conversation between a person and the main agent. */
export function isMainAgents({ isSidechain, isAbandoned, speaker }: Message): boolean {
  return !isSidechain && !isAbandoned && speaker !== 'subagent';
}

/** What a person says before the result comes was not known to the call. */
function endOfCall(messages: readonly Message[], { at, result }: { at: number; result: number }): number {
  const human = messages.findIndex(
    (message, index) => index > at && index <= result && message.speaker === 'human' && isMainAgents(message),
  );
  return human === -1 ? Math.max(at, result) : human - 1;
}

/** The memory tool's own paths, and where agents keep memory. */
const MEMORY_PATH =
  /^\/memories(?:\/|$)|[\\/]projects[\\/][^\\/]+[\\/]memory(?:[\\/]|$)|[\\/]\.(?:claude[\\/]memory|codex[\\/]memories)(?:[\\/]|$)/;

function memoryText(input: unknown): MemoryText | null {
  const paths = ['file_path', 'filePath', 'path'].flatMap((key) => (isObject(input) ? (textOf(input[key]) ?? []) : []));
  const path = paths.find((each) => MEMORY_PATH.test(each));
  const added = addedBy(input);
  return path === undefined || added.length === 0 ? null : { path, added };
}

const KEYS_OF_NEW = 'content contents file_text insert_text new_string newString newText new_str new_source'.split(' ');
const KEYS_OF_OLD = 'old_string oldString oldText old_str'.split(' ');

/** The lines of the new text that the old one lacks, for every way in which a tool is told of them. */
function addedBy(input: unknown): string[] {
  if (!isObject(input)) return [];
  return [input, ...objectsOf(input.edits)].flatMap((each) => {
    const linesAt = (key: string) => (textOf(each[key]) ?? '').split(/\r?\n/).filter((line) => line.trim() !== '');
    const before = new Set(KEYS_OF_OLD.flatMap(linesAt));
    return KEYS_OF_NEW.flatMap(linesAt).filter((line) => !before.has(line));
  });
}
