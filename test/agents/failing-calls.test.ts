// A call that fails in an agent's own program, where memory knows a way: the next request of the same session holds the line.

import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { openApp } from '../../src/worker/compose.ts';
import { placeWay } from '../support/recalling.ts';
import { AGENTS, writeFiles } from './homes.ts';
import { PROGRAMS } from './install.ts';
import { begin, REPLY } from './listening.ts';
import type { Asked, Said } from './loopback.ts';
import { wordsOf } from './talking.ts';

const LINE = 'In services/api: ./check; from the top it fails with "No projects matched the filters".';
/** A command for each prompt. */
const COMMANDS = { 'Check the api, please.': './check', 'Look at the rest.': './other', 'Say what is well.': './fine' };
/** By which name each agent's model calls a shell, and with what. */
const SHELLS = {
  'claude-code': { name: 'Bash', args: [], input: (command: string) => ({ command, description: 'Runs it' }) },
  codex: {
    name: 'exec_command',
    args: ['-m', 'gpt-5.2', '-a', 'never', '-s', 'danger-full-access'],
    input: (command: string) => ({ cmd: command }),
  },
} as const;

describe.skipIf(PROGRAMS === null).each(['claude-code', 'codex'] as const)('%s', (name) => {
  const shell = SHELLS[name];
  const agent = { ...AGENTS[name], args: [...AGENTS[name].args, ...shell.args] };
  const isTold = new Set<string>();
  /** Of each prompt the first request with tools is answered with a call, all else with words. */
  const play = async ({ body }: Asked): Promise<Said> => {
    const prompt = Object.keys(COMMANDS).findLast((words) => body.includes(words)) as keyof typeof COMMANDS | undefined;
    const hasShell = JSON.stringify(JSON.parse(body).tools ?? []).includes(`"${shell.name}"`);
    if (!prompt || !hasShell || isTold.has(prompt)) return { text: REPLY };
    // Once the session has begun, which would be told the line there.
    if (isTold.size === 0) await learn();
    isTold.add(prompt);
    return { call: { name: shell.name, input: shell.input(COMMANDS[prompt]) } };
  };
  const learn = async () => {
    const app = await openApp(await loadConfig({}, at.environment));
    const { id } = await app.memoryFor({ cwd: at.project });
    const way = { failed: './check', error: 'No projects matched the filters', worked: 'cd services/api && ./check' };
    await placeWay({ app }, { ...way, line: LINE, cwd: at.project }, id);
    await app.close();
  };
  let at: Awaited<ReturnType<typeof begin>>;

  beforeAll(async () => {
    at = await begin(agent, play);
    for (const [program, script] of [
      ['check', 'echo "ERR: No projects matched the filters in this place"; exit 1'],
      ['other', 'echo "Something else is wrong"; exit 1'],
      ['fine', 'echo well'],
    ] as const) {
      writeFileSync(join(at.project, program), `#!/bin/sh\n${script}\n`);
      chmodSync(join(at.project, program), 0o755);
    }
    const allow = Object.values(COMMANDS).map((command) => `Bash(${command})`);
    if (name === 'claude-code') writeFiles(at.home, { '.claude/settings.json': { permissions: { allow } } });
  });
  afterAll(async () => {
    await at.server.close();
  });

  test('a failing call that memory knows leads to its line in the next request, one that it does not to nothing', async () => {
    expect(await at.nocturne('setup', name, '--yes', '--schedule', 'none')).toMatchObject({ code: 0, stderr: '' });
    await at.session(Object.keys(COMMANDS));
    const requests = at.server.asked.map(({ body }) => wordsOf(JSON.parse(body)));
    const after = (words: string) => requests.find((request) => request.includes(words)) ?? '';
    expect(after('ERR: No projects matched')).toContain(`- ${LINE} (found by the agent, 2026-11-20)`);
    const last = requests.findLast((request) => request.includes('Something else is wrong')) ?? '';
    expect(last.split('A call like this one failed before')).toHaveLength(2);
    expect(isTold.size).toBe(3);
    // A call that went well is not spoken of, and neither is the same failure twice.
    expect(requests.every((request) => request.split(`- ${LINE}`).length <= 2)).toBe(true);
  });
});
