// What is done in the team's memory of the working tree where a session begins.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeSpoolItem } from '../../src/queue/spool.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { ingestSpool } from '../support/doors.ts';
import { gitIn } from '../support/git.ts';
import { filesIn } from '../support/hook.ts';
import { dirWith, tempDir } from '../support/temp.ts';

/** A session begins in `cwd`, and what its hook said is taken in. */
async function begin({ app, home }: TestApp, cwd: string) {
  const told = {
    v: 1 as const,
    agent: 'claude-code' as const,
    session: 's1',
    transcript: null,
    size: null,
    mtime: null,
  };
  writeSpoolItem(home, { ...told, cwd, event: 'SessionStart', at: '2026-11-21T02:00:00.000Z' });
  const problems: string[] = [];
  const ingested = await ingestSpool(app, { onProblem: (message) => problems.push(message) });
  return { ...ingested, problems };
}

const TOPIC = '---\nname: hosts\ndescription: Hosts\ntype: project\n---\n\n';
const CONFLICT = `${TOPIC}<<<<<<< HEAD\n- Live is beta.\n=======\n- Mail is gamma.\n>>>>>>> origin/main\n`;

/** A working tree with a conflict in its team's memory. */
function treeWithConflict(): { tree: string; team: string; says(): string } {
  const tree = tempDir();
  const team = join(tree, '.claude/memory');
  gitIn(tree).run('init', '-q');
  mkdirSync(team, { recursive: true });
  writeFileSync(join(team, 'hosts.md'), CONFLICT);
  return { tree, team, says: () => readFileSync(join(team, 'hosts.md'), 'utf8') };
}

test.each<[string, (at: { tree: string; team: string }) => object]>([
  ['the team is turned off', () => ({ team: 'off' })],
  ['the project is turned off', ({ tree }) => ({ excludedPaths: [tree] })],
])('where %s, a session that begins changes nothing in its working tree', async (_, settingsFor) => {
  const at = treeWithConflict();
  const testing = await testApp({ settings: settingsFor(at) });
  await begin(testing, at.tree);
  expect(at.says()).toBe(CONFLICT);
  expect(filesIn(at.team)).toEqual(['hosts.md']);
});

test('a team memory without a conflict that nobody worked in stays as it is when a session begins', async () => {
  const testing = await testApp();
  const { tree, team } = treeWithConflict();
  writeFileSync(join(team, 'hosts.md'), `${TOPIC}- An example: \`<<<<<<<\`.\n`);
  await begin(testing, tree);
  expect(filesIn(team)).toEqual(['hosts.md']);
});

test('a conflict that git left is named by check, and neither recalled nor changed', async () => {
  const { dir, nocturne } = await testApp();
  dirWith({ 'hosts.md': CONFLICT, 'MEMORY.md': '# Memory\n\n- Hosts [hosts.md]\n' }, dir);
  expect(await nocturne('check')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/hosts\.md.*conflict markers that a merge left/s),
  });
  expect((await nocturne('next')).stdout).not.toMatch(/<<<<<<<|Mail is gamma/);
  expect(readFileSync(join(dir, 'hosts.md'), 'utf8')).toBe(CONFLICT);
});
