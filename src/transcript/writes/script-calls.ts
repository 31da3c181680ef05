// Codex's code mode: the model writes a script that calls tools. What commands and patches stand in such a script, as
// far as its text tells; nothing is run, and what the script puts together itself is not seen.

import { findPatches, type Written } from './shell-writes.ts';

export interface ScriptCommand {
  line: string;
  workdir?: string;
}

/** The commands given to `exec_command({ cmd, workdir })`. */
export function findScriptCommands(script: string): ScriptCommand[] {
  const starts = [...script.matchAll(/\bcmd["']?\s*:\s*(?=["'`])/g)].map((match) => match.index + match[0].length);
  return starts.map((start, at) => {
    const { text, end } = readString(script, start);
    const workdir = /\bworkdir["']?\s*:\s*(?=["'`])/.exec(script.slice(end, Math.max(end, starts[at + 1] ?? Infinity)));
    if (!workdir) return { line: text };
    return { line: text, workdir: readString(script, end + workdir.index + workdir[0].length).text };
  });
}

/** What the patches given to `apply_patch` write. */
export function findScriptPatches(script: string): Written[] {
  return script.includes('apply_patch') ? findPatches(withoutEscapes(script)) : [];
}

function readString(script: string, start: number): { text: string; end: number } {
  let end = start + 1;
  while (end < script.length && script[end] !== script[start]) end += script[end] === '\\' ? 2 : 1;
  return { text: withoutEscapes(script.slice(start + 1, end)), end };
}

function withoutEscapes(text: string): string {
  return text.replace(/\\(.)/gs, (_, char: string) => (char === 'n' ? '\n' : char));
}
