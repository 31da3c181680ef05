// Somebody whose model is an agent's program: a HOME with a login of the program, a session to learn from, and the program's
// service on loopback. nocturne runs as it is installed; its environment holds keys that it must hand on to no program.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ProgramName } from '../../src/agent/programs/programs.ts';
import type { Environment } from '../../src/base/config/config.ts';
import { run, start } from '../support/run.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';
import { writeFiles } from './homes.ts';
import { PROGRAMS } from './install.ts';
import { codexArguments, LOGINS } from './logins.ts';
import { type Play, startLoopback } from './loopback.ts';

export const FACTS = ['Always use pnpm instead of npm.', 'The deadline is 2026-12-04.'];

export type ModelWorld = Awaited<ReturnType<typeof modelWorld>>;

export async function modelWorld(
  name: ProgramName,
  play: Play,
  { files = {}, settings = {} }: { files?: Record<string, object | string>; settings?: object } = {},
) {
  const home = tempDir();
  const project = join(home, 'work');
  mkdirSync(project);
  const server = await startLoopback(play);
  onTestFinished(() => server.close());
  writeFiles(home, { '.nocturne/config.json': { model: name, ...settings }, ...files });
  const sessions = join(home, '.claude/projects', project.replaceAll(/[^a-zA-Z0-9]/g, '-'));
  mkdirSync(sessions, { recursive: true });
  const session = aSession(FACTS, { dir: sessions, cwd: project });
  const environment: Environment = {
    HOME: home,
    PATH: `${PROGRAMS}:${dirname(process.execPath)}:/usr/bin:/bin`,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    ANTHROPIC_BASE_URL: server.url,
    ANTHROPIC_API_KEY: 'sk-ant-key-of-the-environment',
    OPENAI_API_KEY: 'sk-key-of-the-environment',
    CODEX_API_KEY: 'sk-key-of-the-environment',
    CLAUDECODE: '1',
    NOCTURNE_FIXED: JSON.stringify({ agentArguments: { codex: codexArguments(server.url) } }),
  };
  const logIn = (login: Record<string, object> = LOGINS[name]) => writeFiles(home, login);
  if (!Object.keys(LOGINS[name]).some((path) => path in files)) logIn();
  const nocturne = (...args: string[]) => run(args, environment, { cwd: project });
  return {
    home,
    server,
    session,
    environment,
    nocturne,
    /** What a worker says that does what is due. */
    async worked() {
      const { stdout, stderr } = await nocturne('worker', '--once');
      return stdout + stderr;
    },
    begin: (...args: string[]) => start(args, environment, { cwd: project }),
    /** Writes, or removes, the files of a login. */
    logIn,
    logOut() {
      for (const path of Object.keys(LOGINS[name])) rmSync(join(home, path), { force: true });
    },
    /** All that the memory holds as Markdown. */
    remembered() {
      const memory = join(sessions, 'memory');
      const paths = existsSync(memory) ? readdirSync(memory, { recursive: true, encoding: 'utf8' }) : [];
      const texts = paths.filter((path) => path.endsWith('.md') && !path.startsWith('.nocturne'));
      return texts.map((path) => `${path}\n${readFileSync(join(memory, path), 'utf8')}`).join('\n');
    },
  };
}
