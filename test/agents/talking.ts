// A person's session with an agent's program in a terminal, from its start to `/exit`, and what its model was told.

import { join } from 'node:path';
import type { Environment } from '../../src/base/config/config.ts';
import type { AgentProgram } from './homes.ts';
import { PROGRAMS } from './install.ts';
import type { Loopback } from './loopback.ts';
import { openTerminal } from './terminal.ts';

interface Talk {
  prompts: string[];
  /** What the model says to each. */
  reply: string;
  /** What the screen says meanwhile. */
  sign?: string;
  server: Loopback;
  environment: Environment;
  cwd: string;
  /** For what the terminal itself needs. */
  dir: string;
}

export async function talk(agent: AgentProgram, { prompts, reply, sign, server, ...at }: Talk): Promise<void> {
  const terminal = openTerminal([join(PROGRAMS ?? '', agent.bin), ...agent.args], at);
  const say = async () => {
    for (const prompt of prompts) {
      const before = server.of(prompt).length;
      await terminal.says(prompt, () => server.of(prompt).length > before);
      await terminal.shows(new RegExp(`${escaped(prompt)}[\\s\\S]*${escaped(reply)}`));
    }
  };
  try {
    await terminal.shows(agent.ready);
    // Meanwhile: some show the sign for seconds only.
    await Promise.all([say(), sign && terminal.shows(sign)]);
    await terminal.says(agent.quit, () => terminal.isEnded());
    await terminal.ended();
  } finally {
    terminal.close();
  }
}

/** All strings of a request, as the model reads them. */
export function wordsOf(value: unknown): string {
  if (typeof value === 'string') return `${value}\n`;
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).map(wordsOf).join('');
}

function escaped(words: string): string {
  return words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
