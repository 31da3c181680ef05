// What a person typed in Gemini CLI. It sends more than was typed (the files that an `@` names, what the editor shows)
// and speaks in the person's place itself (to go on, to sum up). Commands to the program are not for the model;
// what was typed behind one is the person's.

import type { Part } from '../types.ts';
import { humanParts } from './human-text.ts';

const REFERENCED_FILES = /^\s*--- Content from referenced files ---/;

const MACHINE_BEGINNINGS = [
  '<state_snapshot>',
  '<session_context>',
  '<hook_context>',
  'This is the Gemini CLI. We are setting up the context for our chat',
  "Here is the user's editor context",
  "Here is a summary of changes in the user's editor context",
  'I ran the following shell command:',
  'System: ',
];

/** `/chat save` and the like, but not a path. */
const COMMAND = /^(\/[a-z][\w:-]*(\s|$)|\?$)/i;

/** The parts as the person typed them; `null` where nobody typed anything, or typed a command. */
export function typedParts(parts: readonly Part[]): Part[] | null {
  const files = parts.findIndex((part) => part.kind === 'text' && REFERENCED_FILES.test(part.text));
  const own = humanParts(files === -1 ? parts : parts.slice(0, files));
  const first = own?.find((part) => part.kind === 'text')?.text.trim() ?? '';
  const isMachine = first === 'Please continue.' || MACHINE_BEGINNINGS.some((beginning) => first.startsWith(beginning));
  return isMachine || COMMAND.test(first) ? null : own;
}

/** A command to the program that a person typed with arguments, as they typed it; `null` for anything else. */
export function typedCommand(parts: readonly Part[]): Part[] | null {
  const own = humanParts(parts);
  const first = own?.find((part) => part.kind === 'text')?.text.trim() ?? '';
  return /^\/[a-z][\w:-]*\s+\S/i.test(first) ? own : null;
}

/** What stands for the turns before, once they were compressed. */
export function isSnapshot(parts: readonly Part[]): boolean {
  return parts.some((part) => part.kind === 'text' && part.text.trimStart().startsWith('<state_snapshot>'));
}
