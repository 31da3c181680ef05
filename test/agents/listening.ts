// What nocturne owes to somebody who uses an agent in a terminal, from `setup` to `setup --remove`, tried with the agent's
// own program. Its model is on loopback and says the same to everything; nocturne's own is the offline one.

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Environment } from '../../src/base/config/config.ts';
import type { AgentName } from '../../src/setup/agents/agents.ts';
import { processesWith } from '../support/processes.ts';
import { run, until } from '../support/run.ts';
import { tempDir } from '../support/temp.ts';
import { AGENTS, type AgentProgram, writeFiles } from './homes.ts';
import { PROGRAMS } from './install.ts';
import { type Play, startLoopback } from './loopback.ts';
import { talk, wordsOf } from './talking.ts';

/** What is said, and what the offline model makes of it. */
const SAID = {
  'Always use pnpm instead of npm.': 'Always use pnpm instead of npm.',
  'I prefer short answers.': 'The user prefers short answers.',
  'The deadline is 2026-12-04.': 'The deadline is 2026-12-04.',
};
export const REPLY = 'Done, I will.';

export function listens(name: AgentName): void {
  const agent = AGENTS[name];
  describe.skipIf(PROGRAMS === null)(`${agent.bin}, in a terminal`, () => {
    let at: Awaited<ReturnType<typeof begin>>;

    beforeAll(async () => {
      at = await begin(agent);
    });
    afterAll(async () => {
      await at.server.close();
    });

    test('what setup installed learns a session within 30 s of its end, all of it, and leaves no process', async () => {
      expect(await at.nocturne('setup', name, '--yes', '--schedule', 'none')).toMatchObject({ code: 0, stderr: '' });
      await at.session(Object.keys(SAID));
      await until(async () => Object.values(SAID).every((fact) => at.learned().includes(fact)), 30_000).catch(() => {
        expect.soft(at.learned()).toBe('all that was said');
      });
      await at.allEnded();
      for (const fact of Object.values(SAID)) expect(at.learned().split(`** ${fact}\n`).length).toBe(2);
    });

    test('the next session is told what is remembered, once, and its sign how many lines that is', async () => {
      expect(await at.nocturne('dream')).toMatchObject({ code: 0 });
      const before = at.server.asked.length;
      await at.session(['What do you know of me?'], 'nocturne: 3 lines recalled; 3 learned since yesterday');
      const [request] = at.server.asked
        .slice(before)
        .map(({ body }) => wordsOf(JSON.parse(body)))
        .filter((words) => words.includes('What do you know of me?') && words.length > 10_000);
      expect(request?.split('What is remembered from earlier sessions').length).toBe(2);
      for (const fact of Object.values(SAID)) expect(request?.split(`- ${fact}`).length).toBe(2);
      // What was recalled is not learned once more.
      await at.allEnded();
      for (const fact of Object.values(SAID)) expect(at.learned().split(`** ${fact}\n`).length).toBe(2);
    });

    test('setup --remove leaves the settings as they were, and what is said from then on is not learned', async () => {
      expect(await at.nocturne('setup', name, '--remove', '--yes')).toMatchObject({ code: 0, stderr: '' });
      expect(at.settings()).toBe(at.settingsBefore);
      const before = at.learned();
      await at.session(['Never push on Fridays.']);
      await at.allEnded();
      expect(at.learned()).toBe(before);
    });
  });
}

/** What setup writes into, in the HOME. */
const SETTINGS: Record<AgentName, string> = {
  'claude-code': '.claude/settings.json',
  codex: '.codex/hooks.json',
  gemini: '.gemini/settings.json',
  opencode: '.config/opencode/plugins/nocturne.js',
};

/** A person's HOME with the agent, its model on loopback, and a project. */
export async function begin(agent: AgentProgram, play: Play = () => ({ text: REPLY })) {
  const home = tempDir();
  const project = join(home, 'work');
  mkdirSync(project);
  const server = await startLoopback(play);
  const files = agent.files({ url: server.url, project });
  writeFiles(home, { ...files, '.nocturne/config.json': { model: 'offline' } });
  const environment: Environment = {
    HOME: home,
    PATH: `${PROGRAMS}:${dirname(process.execPath)}:/usr/bin:/bin`,
    LANG: 'C.UTF-8',
    TZ: 'UTC',
    // Tests run on a machine that is busy with others.
    NOCTURNE_PROMPT_MS: '60000',
    ...agent.environment(server.url),
  };
  const memory = join(home, '.claude/projects', project.replaceAll(/[^a-zA-Z0-9]/g, '-'), 'memory');
  const day = new Date().toISOString().slice(0, 10);
  const log = join(memory, 'logs', day.slice(0, 4), day.slice(5, 7), `${day}.md`);
  /** The file that setup writes into; null: it is not there. */
  const settings = () => {
    const path = join(home, SETTINGS[agent.name]);
    return existsSync(path) ? readFileSync(path, 'utf8') : null;
  };
  return {
    home,
    project,
    environment,
    server,
    settings,
    settingsBefore: settings(),
    nocturne: (...args: string[]) => run(args, environment, { cwd: project }),
    /** The logs of the memory. */
    learned: () => (existsSync(log) ? readFileSync(log, 'utf8') : ''),
    /** Types in a terminal and ends the program as a person does. `sign`: what the screen says meanwhile. */
    session: (prompts: string[], sign?: string) =>
      talk(agent, { prompts, reply: REPLY, sign, server, environment, cwd: project, dir: home }),
    /** Waits until no process of this home is left. */
    allEnded: async () => {
      const left = () => [...processesWith(`HOME=${home}`).values()].filter((command) => !command.startsWith('tmux'));
      await until(() => left().length === 0, 30_000).catch(() => expect(left()).toEqual([]));
    },
  };
}
