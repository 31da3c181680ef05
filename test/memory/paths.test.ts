import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { checkedDir, checkoutRoot, gitRoot, projectMemoryDir, sanitizePath } from '../../src/memory/paths.ts';
import { memoryDirFor } from '../../src/memory/places.ts';
import { tempDir } from '../support/temp.ts';

const USER = '/home/ada';

function git(dir: string, ...args: string[]): void {
  const identity = ['-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'protocol.file.allow=always'];
  execFileSync('git', ['-C', dir, ...identity, ...args], { stdio: 'ignore' });
}

/** Where memory lives for `/srv/app`, as every door asks it. */
async function placeOf(scene: { env?: Record<string, string>; settings?: string; option?: string }): Promise<string> {
  const home = tempDir();
  const claude = join(home, '.claude');
  mkdirSync(claude);
  if (scene.settings !== undefined) writeFileSync(join(claude, 'settings.json'), scene.settings);
  const config = await loadConfig({ memoryDir: scene.option }, { HOME: home, ...scene.env });
  return memoryDirFor(config, { cwd: '/srv/app' }).replace(home, '~');
}

const SETTING = '{ "autoMemoryDirectory": "~/notes/memory", "theme": "dark" }';

test.each([
  ['nothing is set: the project’s own', {}, '~/.claude/projects/-srv-app/memory'],
  ['the user’s settings name a directory', { settings: SETTING }, '~/notes/memory'],
  [
    'CLAUDE_COWORK_MEMORY_PATH_OVERRIDE wins over the settings',
    { settings: SETTING, env: { CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: '/srv/agents/one' } },
    '/srv/agents/one',
  ],
  [
    'NOCTURNE_MEMORY_DIR wins over both',
    {
      settings: SETTING,
      env: { NOCTURNE_MEMORY_DIR: '/srv/agents/two', CLAUDE_COWORK_MEMORY_PATH_OVERRIDE: '/srv/agents/one' },
    },
    '/srv/agents/two',
  ],
  [
    '--memory wins over all',
    { settings: SETTING, env: { NOCTURNE_MEMORY_DIR: '/srv/agents/two' }, option: '/srv/agents/three' },
    '/srv/agents/three',
  ],
  ['~/ stands for the user’s directory', { env: { NOCTURNE_MEMORY_DIR: '~/mine/memory' } }, '~/mine/memory'],
  ['a remote machine’s mount', { env: { CLAUDE_CODE_REMOTE_MEMORY_DIR: '/mnt/m' } }, '/mnt/m/projects/-srv-app/memory'],
  ['an empty override is none', { settings: SETTING, env: { NOCTURNE_MEMORY_DIR: '' } }, '~/notes/memory'],
  [
    'a setting among comments, as the agent reads it',
    { settings: '\uFEFF{\n  // notes\n  "autoMemoryDirectory": "/srv/x/y", /* mine */\n}' },
    '/srv/x/y',
  ],
  ['an empty setting is none', { settings: '{ "autoMemoryDirectory": "" }' }, '~/.claude/projects/-srv-app/memory'],
  ['an empty settings file says nothing', { settings: '' }, '~/.claude/projects/-srv-app/memory'],
  [
    'a broken settings file is nobody’s matter under an override',
    { settings: '{', env: { NOCTURNE_MEMORY_DIR: '/srv/agents/two' } },
    '/srv/agents/two',
  ],
] as const)('%s', async (_, scene, place) => {
  expect(await placeOf(scene)).toBe(place);
});

test.each([
  ['is not JSON', '{ "autoMemoryDirectory": "/srv/x/y" '],
  ['names a directory by a number', '{ "autoMemoryDirectory": 7 }'],
])('a settings file that %s is named, not passed over', async (_, settings) => {
  await expect(placeOf({ settings })).rejects.toThrow(/settings\.json/);
});

test.each([
  ['', 'it is empty'],
  ['  ', 'it is empty'],
  ['memory', 'it is relative'],
  ['./memory', 'it is relative'],
  ['../memory', 'it is relative'],
  ['/', 'the root of the file system'],
  ['/srv/..', 'the root of the file system'],
  ['//', 'UNC'],
  ['/srv', 'right under the root'],
  ['/srv/', 'right under the root'],
  ['/srv/a/..', 'right under the root'],
  ['C:', 'the root of a drive'],
  ['C:\\', 'the root of a drive'],
  ['d:/', 'the root of a drive'],
  ['\\\\server\\share\\memory', 'UNC'],
  ['//server/share/memory', 'UNC'],
  ['\\\\?\\C:\\memory', 'UNC'],
  ['/srv/mem\0ory', 'U+0000'],
  ['/srv/mem\nory', 'U+000A'],
  ['~', "the user's own directory"],
  ['~/', "the user's own directory"],
  ['~/.', "the user's own directory"],
  ['~/notes/..', "the user's own directory"],
  ['~/../..', 'the root of the file system'],
  ['/home/ada', "the user's own directory"],
  ['~bob/memory', 'another user'],
  ['~bob', 'another user'],
])('%j cannot be a memory directory', (path, because) => {
  const refused = () => checkedDir({ path, from: 'NOCTURNE_MEMORY_DIR' }, USER);
  expect(refused).toThrow(because);
  expect(refused).toThrow('NOCTURNE_MEMORY_DIR');
});

test('a directory that the user’s own is in cannot be a memory directory', () => {
  const above = () => checkedDir({ path: '/data/home', from: '--memory' }, '/data/home/ada');
  expect(above).toThrow("the user's own directory is in it");
});

test.each([
  ['/srv/agents/memory/', '/srv/agents/memory'],
  ['/srv/agents/../memory/x', '/srv/memory/x'],
  ['~/memory', '/home/ada/memory'],
  ['/srv/a~b/memory', '/srv/a~b/memory'],
  ['/srv/cafe\u0301/memory', '/srv/caf\u00e9/memory'],
])('%j is taken as %j', (path, taken) => {
  expect(checkedDir({ path, from: '--memory' }, USER)).toBe(taken);
});

test('all worktrees of a repository share the memory of its main checkout', () => {
  const root = tempDir();
  git(root, 'init');
  git(root, 'commit', '--allow-empty', '-m', 'first');
  const [one, two] = [join(tempDir(), 'one'), join(tempDir(), 'two')];
  git(root, 'worktree', 'add', one);
  git(root, 'worktree', 'add', two);
  for (const tree of [one, two]) {
    expect(projectMemoryDir('/c', tree)).toBe(projectMemoryDir('/c', root));
    expect(checkoutRoot(tree)).toBe(tree);
  }
});

test('worktrees of a bare repository share that of the bare one', () => {
  const bare = join(tempDir(), 'repo.git');
  execFileSync('git', ['init', '--bare', bare], { stdio: 'ignore' });
  const source = tempDir();
  git(source, 'init');
  git(source, 'commit', '--allow-empty', '-m', 'first');
  git(source, 'push', bare, 'HEAD:main');
  const [one, two] = [join(tempDir(), 'one'), join(tempDir(), 'two')];
  git(bare, 'worktree', 'add', one, 'main');
  git(bare, 'worktree', 'add', '-b', 'other', two, 'main');
  expect(gitRoot(one)).toBe(bare);
  expect(gitRoot(two)).toBe(bare);
  expect(gitRoot(bare)).toBe(bare);
});

test('a submodule is a project of its own, and its worktrees belong to it', () => {
  const [inner, outer] = [tempDir(), tempDir()];
  git(inner, 'init');
  git(inner, 'commit', '--allow-empty', '-m', 'first');
  git(outer, 'init');
  git(outer, 'submodule', 'add', inner, 'lib');
  const lib = join(outer, 'lib');
  expect(gitRoot(lib)).toBe(lib);
  expect(gitRoot(outer)).toBe(outer);
  const tree = join(tempDir(), 'tree');
  git(lib, 'worktree', 'add', tree);
  expect(gitRoot(tree)).toBe(lib);
});

test('a directory that only claims to be a worktree of a repository has no part in its memory', () => {
  const victim = tempDir();
  git(victim, 'init');
  git(victim, 'commit', '--allow-empty', '-m', 'first');
  git(victim, 'worktree', 'add', join(tempDir(), 'own'));
  const known = join(victim, '.git', 'worktrees', 'own');
  const foreign = tempDir();
  writeFileSync(join(foreign, '.git'), `gitdir: ${known}\n`);
  expect(gitRoot(foreign)).toBe(foreign);
  mkdirSync(join(foreign, 'own'));
  writeFileSync(join(foreign, '.git'), 'gitdir: own\n');
  writeFileSync(join(foreign, 'own', 'commondir'), join(victim, '.git'));
  writeFileSync(join(foreign, 'own', 'gitdir'), join(foreign, '.git'));
  expect(gitRoot(foreign)).toBe(foreign);
});

test.each(['/dev/zero', 'pipe'])('a link to %s where git would have a file fails, and is not waited for', (target) => {
  const root = tempDir();
  execFileSync('mkfifo', [join(root, 'pipe')]);
  symlinkSync(target, join(root, 'HEAD'));
  expect(() => gitRoot(root)).toThrow('it is not a regular file');
});

test('a directory where git has a file is no repository, and no failure', () => {
  const root = tempDir();
  for (const name of ['.git', 'HEAD', 'empty/.git', 'other/.git/HEAD'])
    mkdirSync(join(root, name), { recursive: true });
  for (const dir of ['empty', 'other'])
    expect([gitRoot(join(root, dir)), checkoutRoot(join(root, dir))]).toEqual([null, null]);
});

test('a session’s directory that is not on this machine stands for itself', () => {
  expect(projectMemoryDir('/c', '/nowhere/at all')).toBe('/c/projects/-nowhere-at-all/memory');
});

test('a very long path is cut and told from others by a hash', () => {
  const [one, two] = [sanitizePath(`/${'x'.repeat(300)}1`), sanitizePath(`/${'x'.repeat(300)}2`)];
  expect(one).toHaveLength(209);
  expect(one).not.toBe(two);
});
