// A program run as its person runs it, without a word of ours: with all that it takes from files.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ProgramName } from '../../src/agent/programs/programs.ts';
import { writeFiles } from './homes.ts';
import { PROGRAMS } from './install.ts';
import { codexArguments } from './logins.ts';
import type { ModelWorld } from './model-world.ts';

/** Writes the files, which stay, and asks the program one thing in the HOME. */
export async function runAsPerson(
  name: ProgramName,
  { home, environment, server }: ModelWorld,
  files: Record<string, object | string>,
): Promise<void> {
  writeFiles(home, files);
  const { ANTHROPIC_API_KEY, OPENAI_API_KEY, CODEX_API_KEY, ...own } = environment;
  const codex = ['exec', '--skip-git-repo-check', '--dangerously-bypass-hook-trust', ...codexArguments(server.url)];
  const [bin, args] = name === 'codex' ? ['codex', [...codex, '-']] : ['claude', ['-p']];
  const child = spawn(join(PROGRAMS ?? '', bin), args, { cwd: home, env: own, stdio: ['pipe', 'ignore', 'pipe'] });
  child.stdin.end('What do you know?');
  let said = '';
  child.stderr.on('data', (part) => {
    said += part;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${bin} ended with ${code}: ${said}`);
}
