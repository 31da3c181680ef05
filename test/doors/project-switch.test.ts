// A project that turns memory off in its own settings of Claude Code: obeyed as the user's word, and nothing else of these
// files is read.

import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { coverageWhere } from '../../src/memory/ledger/coverage.ts';
import { inboxItems } from '../../src/memory/ledger/inbox.ts';
import { testApp } from '../support/app.ts';
import { runHere } from '../support/run-here.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

/** A project of git, a session in a directory of it, and the files that it brings. */
async function projectWith(files: Record<string, string>, settings: object = {}) {
  const root = tempDir();
  execFileSync('git', ['init', root], { stdio: 'ignore' });
  const cwd = join(root, 'src/deep');
  mkdirSync(cwd, { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  const testing = await testApp({ settings });
  const session = sessionFile(tempDir(), { cwd });
  session.add('Always use pnpm instead of npm.');
  const work = async () => {
    await runHere(['enqueue', 'extract', session.path], testing.environment);
    return (await runHere(['worker', '--once'], testing.environment)).stderr;
  };
  return { root, cwd, testing, session, work };
}

const OFF = '{\n  // Nothing of this leaves the room.\n  "autoMemoryEnabled": false,\n}\n';

test.for([
  ['.claude/settings.json', { '.claude/settings.json': OFF }],
  ['.claude/settings.local.json', { '.claude/settings.local.json': OFF }],
  ['src/.claude/settings.json', { 'src/.claude/settings.json': OFF, '.claude/settings.json': '{}' }],
] as const)('a session of a project with autoMemoryEnabled: false in %s is left alone, and why says so', async (of) => {
  const [path, files] = of;
  const { root, testing, session, work } = await projectWith(files);
  const reason = `autoMemoryEnabled is false in ${join(root, path)}`;
  expect((await runHere(['why', session.path], testing.environment)).stdout).toContain(reason);
  expect(await work()).toContain(`off (${reason})`);
  expect(inboxItems(testing.store.ledger)).toEqual([]);
  expect(coverageWhere(testing.store.ledger)).toEqual([]);
  // By name it is read all the same.
  expect((await runHere(['extract', session.path], testing.environment)).stdout).toContain('recorded');
});

test.for([
  ['the user takes nocturne in its place', { '.claude/settings.json': OFF }, { ignoreAgentSwitches: true }],
  [
    'the file that is not checked in says true',
    { '.claude/settings.json': OFF, '.claude/settings.local.json': '{"autoMemoryEnabled": true}' },
    {},
  ],
  ['settings without the word are broken', { '.claude/settings.json': '{ "hooks": ' }, {}],
] as const)('it is learned from where %s', async ([, files, settings]) => {
  const { work } = await projectWith(files, settings);
  expect(await work()).toContain(': recorded');
});

test('a project can turn nothing on, and says nothing of where memory lives', async () => {
  const elsewhere = tempDir();
  const text = JSON.stringify({ autoMemoryEnabled: true, autoMemoryDirectory: elsewhere });
  const { root, testing, session, work } = await projectWith({ '.claude/settings.json': text });
  mkdirSync(join(testing.home, '.claude'));
  const own = join(testing.home, '.claude/settings.json');
  writeFileSync(own, '{ "autoMemoryEnabled": false }');
  const { stdout } = await runHere(['why', session.path], testing.environment);
  expect(stdout).toContain(`autoMemoryEnabled is false in ~/.claude/settings.json`);
  expect(await work()).toContain(': off (');
  writeFileSync(own, '{}');
  expect(await work()).toContain(': recorded');
  const there = await runHere(['status', '--json'], { ...testing.environment, NOCTURNE_MEMORY_DIR: '' }, { cwd: root });
  expect(JSON.parse(there.stdout).memory).not.toContain(elsewhere);
});

test('where it cannot be told what the project says, the work waits; a link to a device keeps nobody', async () => {
  const broken = await projectWith({ '.claude/settings.json': '{ "autoMemoryEnabled": fal' });
  expect(await broken.work()).toContain('autoMemoryEnabled cannot be read: ');
  expect(inboxItems(broken.testing.store.ledger)).toHaveLength(1);
  writeFileSync(join(broken.root, '.claude/settings.json'), '{ "autoMemoryEnabled": true }');
  const later = { ...broken.testing.environment, NOCTURNE_NOW: '2026-11-21T02:06:00Z' };
  expect((await runHere(['worker', '--once'], later)).stderr).toContain(': recorded');

  const device = await projectWith({ '.claude/other.json': '' });
  symlinkSync('/dev/zero', join(device.root, '.claude/settings.json'));
  expect(await device.work()).toContain('it is no regular file');
});
