// The agents' programs that may stand as the model, and which model id names one.

import { claudeCode } from './claude-code-program.ts';
import { codex } from './codex-program.ts';
import type { Program, ProgramName } from './program.ts';

const ALL: Record<ProgramName, Program> = { 'claude-code': claudeCode, codex };

export const PROGRAMS = Object.keys(ALL) as ProgramName[];

export function programNamed(name: ProgramName): Program {
  return ALL[name];
}

/** `codex/gpt-6` is a model of the program `codex`, `codex` the one that it chooses itself; null: no program is named. */
export function programOf(model: string): { name: ProgramName; model?: string } | null {
  const [, name, own] = /^([a-z-]+)(?:\/(.+))?$/.exec(model) ?? [];
  return PROGRAMS.includes(name as ProgramName) ? { name: name as ProgramName, ...(own && { model: own }) } : null;
}
