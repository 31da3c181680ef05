// Sharing with the team, as people do it and as the settings do.

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import type { ShareReport } from '../../jobs/share.ts';
import { type TestApp, testApp, testModel } from '../support/app.ts';
import { ranIn } from '../support/doors.ts';
import { gitIn } from '../support/git.ts';
import { replacesLine } from '../support/obedient.ts';
import { runHere } from '../support/run-here.ts';
import { asking } from '../support/scripted-model.ts';
import { tempDir } from '../support/temp.ts';

const HOSTS = `---
name: hosts
description: Where things run
type: reference
---

- Staging is alpha.
- Live is beta.
  - It has two racks.

\`\`\`sh
ssh alpha
\`\`\`
`;

/** A repository as every test finds it, which each copies. */
let repository: string;
beforeAll(() => {
  repository = tempDir();
  const { run } = gitIn(repository);
  run('init', '-q', '-b', 'main', '--template=');
  run('config', 'user.name', 'Kim Lee');
  run('config', 'user.email', 'kim@example.org');
  mkdirSync(join(repository, 'src'));
});

async function world(settings: object = {}) {
  const testing = await testApp({ settings });
  const tree = gitIn(tempDir());
  cpSync(repository, tree.dir, { recursive: true });
  /** The team's memory. */
  const team = join(tree.dir, '.claude/memory');
  /** Each command takes all mocks back when it has ended. */
  const here = (...args: string[]) => {
    vi.spyOn(process, 'cwd').mockReturnValue(join(tree.dir, 'src'));
    return runHere(args, testing.environment);
  };
  return {
    ...testing,
    tree,
    team,
    here,
    json: async <T = ShareReport>(...args: string[]): Promise<T> => JSON.parse((await here(...args, '--json')).stdout),
    shared: (path: string) => readFileSync(join(team, path), 'utf8'),
  };
}

test.each(['.nocturne', '.nocturne/aside'])(
  'a repository whose %s is a link is not shared with, and nothing is written where it leads',
  async (link) => {
    const { here, dir, team } = await world();
    writeFileSync(join(dir, 'hosts.md'), HOSTS);
    const elsewhere = tempDir();
    mkdirSync(join(team, link, '..'), { recursive: true });
    symlinkSync(elsewhere, join(team, link));
    expect(await here('share', 'hosts')).toMatchObject({ code: 1, stderr: expect.stringContaining('is a link') });
    expect(readdirSync(elsewhere)).toEqual([]);
    expect(existsSync(join(team, 'hosts.md'))).toBe(false);
  },
);

test('share copies a topic: a statement a line, in the alphabet, with who shared it; the index and the merge rule with it', async () => {
  const { here, json, shared, dir, team, tree } = await world();
  writeFileSync(join(dir, 'hosts.md'), HOSTS);
  const { stdout } = await here('share', 'hosts', '--dry-run');
  expect(stdout).toContain('would share');
  expect(existsSync(team)).toBe(false);
  const report = await json('share', 'hosts');
  expect(report).toMatchObject({ outcome: 'shared', memory: team, author: 'Kim Lee', isIgnored: false });
  expect(shared('hosts.md')).toBe(`---
name: hosts
description: Where things run
type: reference
---

- Live is beta. - It has two racks. <!-- shared by Kim Lee -->
- Staging is alpha. <!-- shared by Kim Lee -->

\`\`\`sh
ssh alpha
\`\`\`
<!-- shared by Kim Lee -->
`);
  expect(shared('MEMORY.md')).toBe('# Memory\n\n## Reference\n- Where things run [hosts.md]\n');
  expect(tree.run('check-attr', 'merge', '.claude/memory/hosts.md')).toContain('merge: union');
  expect(tree.run('status', '--porcelain', '-uall').match(/\S+$/gm)).toEqual(
    ['.gitattributes', ...[], 'MEMORY.md', 'hosts.md'].map((path) => `.claude/memory/${path}`),
  );
  expect(await json('share', 'hosts')).toMatchObject({ outcome: 'known', topics: [], job: null });
  const explained = await json<{ authors: string[] }[]>('why', 'hosts.md', '--scope', 'local');
  expect(explained.map(({ authors }) => authors)).toEqual([['Kim Lee'], ['Kim Lee'], ['Kim Lee']]);
  expect((await here('why', 'hosts.md:7', '--scope', 'local')).stdout).toContain('shared by Kim Lee');
  expect((await here('check', '--scope', 'local')).stdout).toContain('fine');
  await here('undo', report.job as string, '--scope', 'local');
  expect(existsSync(join(team, 'hosts.md'))).toBe(false);
});

test('the author is whom git’s own configuration names, wherever that is kept; code is told of as it is shared', async () => {
  const { environment, dir, tree } = await world();
  writeFileSync(join(dir, 'hosts.md'), HOSTS);
  tree.run('config', '--unset', 'user.name');
  const config = join(tempDir(), 'gitconfig');
  writeFileSync(config, '[user]\n\tname = Ann Bo\n');
  vi.spyOn(process, 'cwd').mockReturnValue(tree.dir);
  const git = { GIT_CONFIG_GLOBAL: config, GIT_DIR: join(tempDir(), 'other.git') };
  const { stdout } = await runHere(['share', 'hosts'], { ...environment, ...git });
  expect(stdout).toContain(', as Ann Bo\n');
  expect(stdout).toContain('    ```sh\n    ssh alpha\n    ```\n');
});

test('a table is shared row by row, without its rule', async () => {
  const { json, shared, dir } = await world();
  const table = '| Host | Port | |\n|:-----|-----:|---|\n| beta | 22 | slow \\| old |\n| alpha |  | |\n';
  writeFileSync(join(dir, 'hosts.md'), `# Hosts\n\nBelow:\n${table}\nEither a | b.\n`);
  const { topics } = await json('share', 'hosts');
  expect(topics[0]?.lines).toEqual([
    'Below:',
    '| Host | Port | |',
    '| beta | 22 | slow \\| old |',
    '| alpha | | |',
    'Either a | b.',
  ]);
  expect(shared('hosts.md')).toContain('- | alpha | | | <!-- shared by Kim Lee -->\n- | beta | 22 |');
  expect(await json('share', 'hosts')).toMatchObject({ outcome: 'known' });
});

test('what stands in a topic of that name stays, and a statement that stands anywhere is not shared twice', async () => {
  const { json, shared, dir, team } = await world();
  mkdirSync(team, { recursive: true });
  const theirs =
    '---\nname: hosts\ndescription: Theirs\ntype: project\nowner: ann\n---\n\nTheir words.\n\n- Mail is gamma.\n';
  writeFileSync(join(team, 'hosts.md'), theirs);
  writeFileSync(join(team, 'other.md'), '# Other\n\n- live is beta - it has two racks\n');
  writeFileSync(join(dir, 'hosts.md'), HOSTS.replace(/\n```[\s\S]*/, ''));
  expect((await json('share', 'hosts')).topics).toEqual([
    { path: 'hosts.md', isNew: false, lines: ['Staging is alpha.'], replaced: [] },
  ]);
  expect(shared('hosts.md')).toBe(`${theirs}- Staging is alpha. <!-- shared by Kim Lee -->\n`);
});

test('a line that is named is shared alone, and list says where the team’s memory is', async () => {
  const { here, json, dir } = await world();
  writeFileSync(join(dir, 'hosts.md'), HOSTS.replace(/\n```[\s\S]*/, ''));
  expect((await here('list')).stderr).not.toContain('--scope local');
  const number = 1 + HOSTS.split('\n').findIndex((line) => line.includes('Staging is alpha.'));
  const { topics } = await json('share', `hosts:${number}`);
  expect(topics).toMatchObject([{ path: 'hosts.md', lines: ['Staging is alpha.'] }]);
  expect((await here('list')).stderr).toContain(
    "The team's memory, which the repository carries: nocturne list --scope local",
  );
  expect((await here('list', '--scope', 'local')).stdout).toMatch(/^hosts\s/m);
});

test('a secret keeps all from being shared, and is named by rule and line alone', async () => {
  const { here, json, dir, team } = await world();
  const token = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789';
  writeFileSync(
    join(dir, 'hosts.md'),
    HOSTS.replace('two racks.', `two racks.\n  - Its tokens are ${token} and ${token}.`),
  );
  const refused = await here('share', 'hosts');
  expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('hosts.md:10 holds a secret (github)') });
  expect((await json('share', 'hosts')).secrets).toEqual([{ path: 'hosts.md', line: 10, rule: 'github' }]);
  expect(`${refused.stdout}${refused.stderr}`).not.toContain(token);
  expect(existsSync(team)).toBe(false);
});

test('a secret that runs over several lines is found, and not even shared in pieces', async () => {
  const { json, dir, team } = await world();
  const body = Array.from({ length: 6 }, (_, at) => `${'MIIEpAIBAAKCAQEA7bq'.repeat(3)}${at}`);
  const key = ['-----BEGIN RSA PRIVATE KEY-----', ...body, '-----END RSA PRIVATE KEY-----'];
  writeFileSync(join(dir, 'keys.md'), `# Keys\n\n${key.join('\n')}\n`);
  const report = await json('share', 'keys');
  expect(report).toMatchObject({ outcome: 'refused', secrets: [{ path: 'keys.md' }] });
  expect(existsSync(team)).toBe(false);
});

test.each(['.claude', '.claude/memory'])(
  'where %s is a link, sharing is refused and the message says so',
  async (link) => {
    const { here, dir, tree } = await world();
    writeFileSync(join(dir, 'hosts.md'), HOSTS);
    const elsewhere = tempDir();
    mkdirSync(dirname(join(tree.dir, link)), { recursive: true });
    symlinkSync(elsewhere, join(tree.dir, link));
    expect(await here('share', 'hosts')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${join(tree.dir, link)} is a link to ${elsewhere}`),
    });
    expect(readdirSync(elsewhere)).toEqual([]);
  },
);

test('sharing is refused where there is no team, and from the team’s memory itself', async () => {
  const { here, json, dir, environment } = await world();
  writeFileSync(join(dir, 'hosts.md'), HOSTS);
  vi.spyOn(process, 'cwd').mockReturnValue(tempDir());
  const outside = await runHere(['share', 'hosts'], environment);
  expect(outside).toMatchObject({ code: 1, stderr: expect.stringContaining('not in a git repository') });
  await json('share', 'hosts');
  expect(await here('share', 'hosts', '--scope', 'local')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is the team's memory itself"),
  });
  expect((await here('share', 'host')).stderr).toContain('hosts');
});

/** Entries that wait for a dream, in a memory whose sessions ran in these directories. */
async function entriesWait({ app, store }: TestApp, ...cwds: string[]): Promise<void> {
  await app.remember(store, { text: 'The release deadline is 2026-12-04.', type: 'project' });
  await app.remember(store, { text: 'Bugs are tracked in Linear under ORCHARD.', type: 'reference' });
  await app.remember(store, { text: 'Always use pnpm instead of npm.', type: 'feedback' });
  for (const cwd of cwds) await ranIn(app, store, cwd);
}

test('dream --share shares what it changed in topics of the project and references, and nothing else', async () => {
  const at = await world();
  await entriesWait(at);
  writeFileSync(join(at.dir, 'hosts.md'), HOSTS);
  const { shared } = await at.json<{ shared: ShareReport }>('dream', '--share');
  const said = shared.topics.flatMap(({ lines }) => lines).join('\n');
  expect(said).toContain('2026-12-04');
  expect(said).toContain('ORCHARD');
  expect(said).not.toMatch(/pnpm|alpha/);
  expect((await at.here('dream', '--share')).stdout).not.toContain('share:');
});

test('what a later dream replaces goes from the team’s memory where its author alone shared it', async () => {
  const at = await world();
  Object.assign(at.environment, asking(await testModel(replacesLine)));
  const dreamOf = async (place: string) => {
    await at.app.remember(at.store, { text: `Bugs are tracked in ${place}.`, type: 'reference' });
    const { shared } = await at.json<{ shared: ShareReport }>('dream', '--share');
    return shared.topics[0]?.replaced;
  };
  await dreamOf('Linear');
  expect(await dreamOf('Jira')).toEqual(['Bugs are tracked in Linear.']);
  const path = join(at.team, 'references.md');
  writeFileSync(path, readFileSync(path, 'utf8').replace('shared by ', 'shared by Ann Bo, '));
  expect(await dreamOf('Trello')).toEqual([]);
  expect(at.shared('references.md').match(/tracked in \w+/g)).toEqual(['tracked in Jira', 'tracked in Trello']);
});

test('with team: write every dream shares, but leaves topics alone that are pinned in the team’s memory', async () => {
  const at = await world({ team: 'write' });
  await entriesWait(at, join(at.tree.dir, 'src'), at.tree.dir);
  mkdirSync(at.team, { recursive: true });
  const pinned = '---\nname: references\ntype: reference\npinned: true\n---\n\n- Ours.\n';
  writeFileSync(join(at.team, 'references.md'), pinned);
  const { shared } = await at.app.dream(at.store, {});
  expect(shared).toMatchObject({ outcome: 'shared', memory: at.team, author: 'Kim Lee' });
  expect(shared?.topics.map(({ path }) => path)).toEqual(['project-facts.md']);
  expect(at.shared('references.md')).toBe(pinned);
});

test('with review and team: write a dream shares nothing until a person accepts what it proposes', async () => {
  const at = await world({ team: 'write', review: true });
  await entriesWait(at, at.tree.dir);
  expect((await at.app.dream(at.store, {})).outcome).toBe('proposed');
  expect(existsSync(at.team)).toBe(false);
  const decided = await at.app.review(at.store, { word: { kind: 'accept' } });
  expect(decided.map(({ outcome }) => outcome)).toContain('accepted');
  expect(at.shared('project-facts.md')).toContain('shared by Kim Lee');
});

test('a memory of two repositories shares nothing by itself', async () => {
  const at = await world({ team: 'write' });
  const other = gitIn(tempDir());
  other.run('init', '-q');
  await entriesWait(at, at.tree.dir, other.dir);
  expect(await at.app.dream(at.store, {})).toMatchObject({ outcome: 'dreamed' });
  expect([existsSync(at.team), existsSync(join(other.dir, '.claude'))]).toEqual([false, false]);
});

test('what one session only showed is not shared', async () => {
  const { dir, json, shared } = await world();
  writeFileSync(
    join(dir, 'hosts.md'),
    HOSTS.replace('- Live is beta.', '- Seen once, 2026-11-20: Asks for gamma first.\n- Live is beta.'),
  );
  await json('share', 'hosts');
  expect(shared('hosts.md')).toContain('Live is beta.');
  expect(shared('hosts.md')).not.toContain('gamma');
});

test('redact says where the team’s memory has it, and changes it when asked there', async () => {
  const { here, json, shared, dir, team } = await world();
  mkdirSync(team, { recursive: true });
  writeFileSync(join(dir, 'hosts.md'), HOSTS);
  writeFileSync(join(team, 'ours.md'), '- Live is beta.\n');
  const told = expect.stringContaining(
    `in the team's memory too: ${join(team, 'ours.md')}. To take it out there, add --scope local`,
  );
  expect(await here('redact', '--match', 'beta', '--dry-run')).toMatchObject({ stderr: told });
  expect(await here('redact', '--match', 'beta', '--yes')).toMatchObject({ code: 0, stderr: told });
  expect(readFileSync(join(dir, 'hosts.md'), 'utf8')).toContain('- Live is [redacted].');
  expect(shared('ours.md')).toBe('- Live is beta.\n');
  expect(await json('redact', '--match', 'beta', '--yes', '--scope', 'local')).toMatchObject({
    beside: [],
    remaining: [],
  });
  expect(shared('ours.md')).toBe('- Live is [redacted].\n');
});
