// nocturne snapshot as two people of one project use it, each on a machine of their own.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SnapshotCheck } from '../../jobs/snapshot.ts';
import { newTopic } from '../../src/memory/text/topic.ts';
import { aPerson } from '../support/person.ts';
import { run } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';

function git(cwd: string, ...args: string[]): void {
  const own = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null', PATH: process.env.PATH };
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'core.autocrlf=true'];
  execFileSync('git', [...who, ...args], { cwd, env: own, stdio: 'ignore' });
}

/** Somebody with a checkout, and the memory directory of it. */
function colleague(from?: string) {
  const { user, environment } = aPerson();
  const tree = join(user, 'orchard');
  git(user, ...(from ? ['clone', from, tree] : ['init', tree]));
  const memory = join(user, '.claude/projects', tree.replace(/[^A-Za-z0-9]/g, '-'), 'memory');
  const asThere = { ...environment, PATH: process.env.PATH };
  return {
    tree,
    memory,
    nocturne: (...args: string[]) => runHere(args, asThere, { cwd: tree }),
    check: async () => {
      const { code, stdout } = await run(['snapshot', 'check', '--json'], asThere, { cwd: tree });
      const { state }: SnapshotCheck = JSON.parse(stdout);
      return { code, state };
    },
  };
}

const deploys = (port: number) =>
  newTopic({
    name: 'deploys',
    description: 'How it is deployed.',
    type: 'project',
    lines: [`Staging runs on port ${port}.`],
  });

test('a snapshot goes by git from one to the other, who is told of it and takes it in', async () => {
  const ada = colleague();
  expect(await ada.check()).toEqual({ code: 0, state: 'none' });
  mkdirSync(ada.memory, { recursive: true });
  writeFileSync(join(ada.memory, 'deploys.md'), deploys(8443));
  const created = await ada.nocturne('snapshot', 'create', 'deploys');
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^snap_\w{12} made: 1 topic in /) });
  git(ada.tree, 'add', '.claude');
  git(ada.tree, 'commit', '-m', 'memory');

  const ben = colleague(ada.tree);
  expect(await ben.check()).toEqual({ code: 3, state: 'not-applied' });
  const offer = await ben.nocturne('next');
  expect(offer.stdout).toMatch(
    /\n<nocturne-memory>\n[\s\S]*never applied here[^\n]*nocturne snapshot check[\s\S]*<\/nocturne-memory>\n/,
  );
  expect(offer.stdout).not.toContain('8443');
  expect((await ben.nocturne()).stdout).toContain('\n    nocturne snapshot check\n');
  expect((await ben.nocturne('doctor')).stdout).toMatch(
    /warn {2}memory: Memory snapshots: .*\n.*nocturne snapshot check/,
  );
  expect(existsSync(ben.memory)).toBe(false);

  expect(await ben.nocturne('snapshot', 'apply')).toMatchObject({ code: 0, stdout: expect.stringContaining('add') });
  expect(await ben.check()).toEqual({ code: 0, state: 'up-to-date' });
  const recalled = (await ben.nocturne('next')).stdout;
  expect(recalled).toContain('8443');
  expect(recalled).not.toContain('nocturne snapshot');
  for (const words of [['--json'], ['doctor']])
    expect((await ben.nocturne(...words)).stdout).not.toContain('snapshots');

  writeFileSync(join(ben.memory, 'deploys.md'), deploys(1111));
  writeFileSync(join(ada.memory, 'deploys.md'), deploys(2222));
  await ada.nocturne('snapshot', 'create');
  git(ada.tree, 'commit', '-am', 'more');
  git(ben.tree, 'pull');
  expect((await ben.nocturne('next')).stdout).toContain('a newer one');
  const diff = await ben.nocturne('snapshot', 'check', '--diff');
  expect(diff).toMatchObject({ code: 3, stdout: expect.stringContaining('collides') });
  expect(diff.stdout).toMatch(/^--- here\/deploys\.md\n\+\+\+ snapshot\/deploys\.md\n[\s\S]*-.*1111.*\n\+.*2222/m);
  expect((await ben.nocturne('snapshot', 'apply')).stdout).toContain('yours stays');
  expect((await ben.nocturne('show', 'deploys.md')).stdout).toBe(deploys(1111));
  const told = /deploys\.md has lines that were changed here and in the snapshot; yours stayed/;
  const home = await ben.nocturne();
  expect(home.stdout.replace(/\s+/g, ' ')).toMatch(told);
  expect(home.stdout).toContain('nocturne snapshot check --diff');
  expect((await ben.nocturne('doctor')).stdout).toMatch(new RegExp(`warn {2}memory: .*${told.source}`));
  expect((await ben.nocturne('snapshot', 'check', '--diff')).stdout).toMatch(/-.*1111.*\n\+.*2222/);
  await ben.nocturne('undo', '--last');
  expect((await ben.nocturne('doctor')).stdout).not.toMatch(told);
});

test('what nobody could take in is not made', async () => {
  const ada = colleague();
  mkdirSync(ada.memory, { recursive: true });
  const lines = Array.from({ length: 1_500 }, (_, n) => `Host ${n} is ${'far '.repeat(20)}away.`);
  writeFileSync(
    join(ada.memory, 'hosts.md'),
    newTopic({ name: 'hosts', description: 'Hosts', type: 'project', lines }),
  );
  const created = await ada.nocturne('snapshot', 'create', 'hosts');
  expect(created).toMatchObject({ code: 1, stderr: expect.stringContaining('not hosts.md') });
  expect(existsSync(join(ada.tree, '.claude/memory-snapshot'))).toBe(false);
});

test('a broken snapshot is an error of its commands, a warning of doctor and nocturne, and nothing to a session', async () => {
  const ada = colleague();
  mkdirSync(join(ada.tree, '.claude/memory-snapshot'), { recursive: true });
  writeFileSync(join(ada.tree, '.claude/memory-snapshot/deploys.md'), 'no\0text');
  const stderr = expect.stringContaining('cannot be used');
  expect(await ada.nocturne('snapshot', 'apply')).toMatchObject({ code: 1, stderr });
  expect((await ada.nocturne('snapshot', 'check')).code).toBe(1);
  expect((await ada.nocturne('doctor')).stdout).toMatch(/warn {2}memory: Memory snapshots: .*cannot be used/);
  expect(await ada.nocturne('next')).toMatchObject({ stdout: '' });
  expect((await ada.nocturne()).stdout).toContain('nocturne snapshot check');
  expect(existsSync(ada.memory)).toBe(false);
});
