// What only looks makes nothing in a directory, and what is told to whoever looks.

import fs, { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { environmentIn } from '../support/app.ts';
import { gitIn } from '../support/git.ts';
import { runHere } from '../support/run-here.ts';
import { dirWith, tempDir } from '../support/temp.ts';

const HOSTS = '---\nname: hosts\ndescription: Hosts\ntype: project\n---\n\n- Live is beta.\n';

function world() {
  const home = tempDir();
  const dir = dirWith({ 'hosts.md': HOSTS, 'logs/2026/11/2026-11-20.md': '# 2026-11-20\n\n- Live is beta.\n' });
  writeFileSync(join(dir, 'MEMORY.md'), '- [hosts](hosts.md) — Hosts\n');
  const environment = environmentIn(home, { NOCTURNE_HOME: home, NOCTURNE_MEMORY_DIR: dir });
  const filesIn = () => readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort();
  return { dir, environment, filesIn };
}

test.each([['list'], ['search', 'beta'], ['next'], ['show', 'hosts'], ['why', 'hosts'], ['check']])(
  'nocturne %s finds what is in a directory that nobody set up, and makes nothing in it, also a second time',
  async (...args) => {
    const { environment, filesIn } = world();
    const before = filesIn();
    const first = await runHere(args, environment);
    expect(first.stdout).toMatch(/hosts|Live is beta|fine/);
    await runHere(args, environment);
    expect(filesIn()).toEqual(before);
    await runHere(['remember', 'Likes plums.'], environment);
    expect(filesIn()).toContain('.nocturne/id');
  },
);

test('what is learned of a directory that was only looked at stands beside what was there', async () => {
  const { environment, dir } = world();
  await runHere(['list'], environment);
  writeFileSync(join(dir, 'mail.md'), HOSTS.replaceAll('hosts', 'mail').replace('beta', 'gamma'));
  expect((await runHere(['search', 'gamma'], environment)).stdout).toContain('Live is gamma');
  await runHere(['remember', 'Likes plums.'], environment);
  const { stdout } = await runHere(['search', 'plums', 'beta'], environment);
  expect(stdout).toContain('plums');
  expect((await runHere(['search', 'beta'], environment)).stdout).toContain('beta');
});

test('a session is told which files of the team a pull left in conflict, and again when it is over that they are recalled', async () => {
  const { environment } = world();
  const tree = tempDir();
  gitIn(tree).run('init', '-q');
  const team = join(tree, '.claude/memory');
  mkdirSync(team, { recursive: true });
  const conflict = HOSTS.replace(
    '- Live is beta.\n',
    '<<<<<<< HEAD\n- Live is beta.\n=======\n- Mail is gamma.\n>>>>>>> main\n',
  );
  writeFileSync(join(team, 'MEMORY.md'), '- [hosts](hosts.md) — Hosts\n');
  writeFileSync(join(team, 'hosts.md'), conflict);
  const begin = async (session: string) => {
    const stdin = JSON.stringify({
      session_id: session,
      cwd: tree,
      hook_event_name: 'SessionStart',
      source: 'startup',
    });
    return (await runHere(['recall', '--hook'], environment, { stdin })).stdout;
  };
  const told = await begin('s1');
  expect(told).toContain(`git left conflict markers in ${join(team, 'hosts.md')}`);
  expect(told).not.toMatch(/gamma|<<<<<<</);
  expect(readdirSync(team).sort()).toEqual(['MEMORY.md', 'hosts.md']);
  writeFileSync(join(team, 'hosts.md'), HOSTS.replace('beta', 'gamma'));
  const after = await begin('s2');
  expect(after).toContain('gamma');
  expect(after).not.toContain('conflict');
});

test('a home on a network file system is told by every command that opens it, and by doctor', async () => {
  const { environment } = world();
  expect((await runHere(['list'], environment)).stderr).not.toContain('network');
  const { statfsSync } = fs;
  // As Linux tells of NFS.
  fs.statfsSync = ((path: string) => ({ ...statfsSync(path), type: 0x6969 })) as typeof statfsSync;
  onTestFinished(() => {
    fs.statfsSync = statfsSync;
  });
  expect((await runHere(['list'], environment)).stderr).toContain('is on a network file system');
  expect((await runHere(['doctor', '--no-online'], environment)).stdout).toMatch(
    /^warn {2}home: .*network file system\n.*NOCTURNE_HOME/m,
  );
});
