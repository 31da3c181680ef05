// Somebody new with a login and no key: nocturne from its package, `setup --yes`, one session in a terminal. What was said
// in it is learned, sorted in a night that a schedule starts, and told to the next session, all by the agent's own program.

import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Environment } from '../../src/base/config/config.ts';
import { processesWith } from '../support/processes.ts';
import { until } from '../support/run.ts';
import { tempDir } from '../support/temp.ts';
import { AGENTS, writeFiles } from './homes.ts';
import { PROGRAMS } from './install.ts';
import { codexArguments, LOGINS } from './logins.ts';
import { type Loopback, type Play, startLoopback } from './loopback.ts';
import { asScripted, schemaOf } from './model-play.ts';
import { talk, wordsOf } from './talking.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The loopback is in this process: nothing may hold it up. */
const exec = promisify(execFile);
const FACT = 'Always use pnpm instead of npm.';
const REPLY = 'Done, I will.';

/** To a session it says the same; what nocturne asks it answers, and the trial of set-up. */
const play: Play = async (asked) => {
  const asks = Object.keys(schemaOf(asked).properties ?? {})[0];
  if (asks === undefined) return { text: REPLY };
  return asks === 'answer' ? { output: { answer: 'Yes.' } } : asScripted(asked);
};

describe.skipIf(PROGRAMS === null)('the whole way, by a login', () => {
  let nocturne = '';
  let server: Loopback;

  beforeAll(async () => {
    server = await startLoopback(play);
    const dir = tempDir();
    const npm = (...args: string[]) =>
      execFileSync('npm', [...args, '--ignore-scripts'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
    npm('pack', '--loglevel=error', '--pack-destination', dir);
    const [tarball = ''] = readdirSync(dir);
    npm(
      'install',
      '--global',
      '--prefix',
      dir,
      '--omit=dev',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
      join(dir, tarball),
    );
    nocturne = join(dir, 'bin');
  });
  afterAll(() => server.close());

  for (const name of ['claude-code', 'codex'] as const) {
    test(`${name}: said in one session, in the log within a minute, in a topic after a night, told to the next`, async () => {
      const home = tempDir();
      const project = join(home, 'work');
      const agent = AGENTS[name];
      mkdirSync(project);
      writeFiles(home, { ...agent.files({ url: server.url, project }), ...LOGINS[name] });
      // Its session goes to loopback by its configuration, which counts in no run of ours.
      const fixed = { agentArguments: { codex: codexArguments(server.url) } };
      // A user manager that takes what it is told.
      writeFiles(home, { 'bin/systemctl': '#!/bin/sh\n' });
      chmodSync(join(home, 'bin/systemctl'), 0o755);
      const path = `${join(home, 'bin')}:${nocturne}:${PROGRAMS}:${dirname(process.execPath)}:/usr/bin:/bin`;
      const environment: Environment = {
        ...{ HOME: home, PATH: path, LANG: 'C.UTF-8', TZ: 'UTC' },
        ...(name === 'codex'
          ? { ...agent.environment(server.url), NOCTURNE_FIXED: JSON.stringify(fixed) }
          : { ANTHROPIC_BASE_URL: server.url, DISABLE_AUTOUPDATER: '1' }),
      };
      const setup = await exec(join(nocturne, 'nocturne'), ['setup', '--yes', name], {
        cwd: project,
        env: environment,
      });
      expect(setup.stdout).toContain(name === 'codex' ? 'Codex' : 'Claude Code');
      const { model } = JSON.parse(readFileSync(join(home, '.nocturne', 'config.json'), 'utf8'));
      expect(model).toBe(name);

      const session = { reply: REPLY, server, environment, cwd: project, dir: home };
      await talk(agent, { ...session, prompts: [FACT] });
      const memory = join(home, '.claude/projects', project.replaceAll(/[^a-zA-Z0-9]/g, '-'), 'memory');
      const texts = (isLog: boolean) =>
        (existsSync(memory) ? readdirSync(memory, { recursive: true, encoding: 'utf8' }) : [])
          .filter((file) => file.endsWith('.md') && !file.startsWith('.') && file.startsWith('logs/') === isLog)
          .map((file) => readFileSync(join(memory, file), 'utf8'));
      await until(() => texts(true).some((text) => text.includes(FACT)), 60_000);
      await until(() => processesWith(`HOME=${home}`).size === 0, 30_000);

      // As systemd runs its unit: with little environment. To a shell these words are quoted as they are to it.
      const unit = readFileSync(join(home, '.config/systemd/user/nocturne.service'), 'utf8');
      const words = [...unit.matchAll(/^(?:Environment|ExecStart)=(.*)$/gm)].map(([, each]) => each);
      const [start, ...given] = words;
      const own = name === 'codex' ? [`NOCTURNE_FIXED='${environment.NOCTURNE_FIXED}'`] : [];
      const command = ['env -i', `HOME=${home}`, 'PATH=/usr/bin:/bin', ...own, ...given, start].join(' ');
      await exec('/bin/sh', ['-c', command], { cwd: home });
      expect(texts(false).some((text) => text.includes(`- ${FACT}`))).toBe(true);

      const before = server.asked.length;
      await talk(agent, { ...session, prompts: ['What do you know of me?'], sign: 'nocturne: 1 line recalled' });
      const requests = server.asked.slice(before).map(({ body }) => wordsOf(JSON.parse(body)));
      const main = requests.find((words) => words.includes('What do you know of me?') && words.length > 10_000);
      expect(main?.split(`- ${FACT}`).length).toBe(2);
    });
  }
});
