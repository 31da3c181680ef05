// A project that is remembered under another path: after a move, in a clone, in a second checkout. It is offered, with what it goes by,
// and nothing is joined before a person says so.

import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { answerHook } from '../../src/hook/start-recall.ts';
import { projectMemoryDir } from '../../src/memory/paths.ts';
import { testApp } from '../support/app.ts';
import { gitIn } from '../support/git.ts';
import { runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { dirWith, ON_POSTGRES, tempDir } from '../support/temp.ts';

const REMOTE = 'https://ada:hunter2secret@git.example/Ada/orchard.git';

/** A repository of one commit. */
function repository(remote: string | null = REMOTE, name = 'orchard', by = 'Ann Bo'): string {
  const dir = join(tempDir(), name);
  mkdirSync(dir);
  const git = gitIn(dir, by);
  git.run('init', '-q');
  git.run('commit', '-q', '--allow-empty', '-m', `begun by ${by}`);
  if (remote) git.run('remote', 'add', 'origin', remote);
  return dir;
}

function cloneOf(dir: string, remote: string, ...options: string[]): string {
  const clone = join(tempDir(), 'work', 'orchard');
  gitIn(tempDir()).run('clone', '-q', ...options, `file://${dir}`, clone);
  gitIn(clone).run('remote', 'set-url', 'origin', remote);
  return clone;
}

/** What `remembers` remembers Tuesdays in. */
async function world(remembers: string) {
  const { environment } = await testApp();
  environment.NOCTURNE_MEMORY_DIR = undefined;
  const run = (cwd: string, ...args: string[]) => runHere(args, environment, { cwd });
  const done = async (cwd: string, ...args: string[]) => {
    const { code, stdout, stderr } = await run(cwd, ...args);
    expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' });
    return stdout + stderr;
  };
  let sessions = 0;
  const begins = async (cwd: string) => {
    const input = { hook_event_name: 'SessionStart', source: 'startup', session_id: `s${++sessions}`, cwd };
    return answerHook(await loadConfig({}, environment), { input });
  };
  await done(remembers, 'remember', 'Deploys happen on Tuesdays.');
  return { environment, run, done, begins };
}

const NEVER = /^$/;
const BOTH = /\(the same remote and first commit\)/;
const moved = (orchard: string) => {
  renameSync(orchard, `${orchard}-moved`);
  return `${orchard}-moved`;
};

type Case = [what: string, make: (orchard: string) => string, said: RegExp, remote?: string | null];
const CASES: Case[] = [
  ['a checkout that was moved', moved, BOTH],
  ['a moved one without a remote', moved, /\(the same first commit\)/, null],
  ['a clone by ssh', (orchard) => cloneOf(orchard, 'git@git.example:ada/orchard'), BOTH],
  [
    'a clone whose commits are packed',
    (orchard) => {
      gitIn(orchard).run('gc', '-q');
      return cloneOf(orchard, REMOTE);
    },
    BOTH,
  ],
  [
    'a shallow clone',
    (orchard) => {
      gitIn(orchard).run('commit', '-q', '--allow-empty', '-m', 'second');
      return cloneOf(orchard, REMOTE, '--depth', '1');
    },
    /\(the same remote\)/,
  ],
  [
    'a fork',
    (orchard) => cloneOf(orchard, 'https://git.example/eve/orchard'),
    /\(the same first commit, but another remote: perhaps a fork\)/,
  ],
  [
    "a stranger's repository with your remote",
    () => repository(REMOTE, 'orchard', 'Eve'),
    /\(the same remote, but another first commit\)/,
  ],
  [
    "a clone of a stranger's repository with your remote",
    () => cloneOf(repository(REMOTE, 'orchard', 'Eve'), REMOTE),
    /\(the same remote, but another first commit\)/,
  ],
  ['a repository from a template', () => repository('https://git.example/ada/pear', 'pear', 'Cy'), NEVER],
  ['no repository', () => tempDir(), NEVER],
];

test.each(CASES)(
  '%s is offered by what it goes by, and told nothing of what is remembered',
  async (...[, make, said, from]) => {
    const orchard = repository(from);
    const { run, begins } = await world(orchard);
    const there = make(orchard);
    const told = await begins(there);
    expect(told).not.toMatch(/Tuesdays|hunter2/);
    expect(told).toMatch(said);
    const { stdout, stderr } = await run(there, 'list');
    expect(stdout).toMatch(/^There are no topics in .* yet, and nothing waits to be sorted\.\n$/);
    expect(stderr).toMatch(said);
    if (said === NEVER) return;
    expect(told).toMatch(/this looks like orchard, remembered at /);
    expect(stderr).toMatch(/: nocturne adopt\n/);
    expect((await run(there)).stdout).toMatch(/nocturne adopt/);
  },
);

test('on another machine with the same database it is offered and adopted, and no directory of files is made there', async () => {
  const orchard = repository();
  const { environment, done, begins } = await world(orchard);
  const elsewhere = cloneOf(orchard, REMOTE);
  writeFileSync(join(environment.NOCTURNE_HOME ?? '', 'machine'), 'machine_0123456789abcdef01234567\n');
  expect(await begins(elsewhere)).toMatch(BOTH);
  await done(elsewhere, 'adopt', '--yes');
  expect(await begins(elsewhere)).toContain('Tuesdays');
  await done(elsewhere, 'remember', 'The kitchen closes at 15:00.');
  expect(await done(elsewhere, 'list')).toMatch(/kitchen.*Tuesdays|Tuesdays.*kitchen/s);
  expect(existsSync(projectMemoryDir(join(environment.HOME ?? '', '.claude'), elsewhere))).toBe(false);
});

test('a monorepo is one memory from each of its directories, and two where two checkouts are kept apart', async () => {
  const orchard = repository();
  const { done, begins } = await world(orchard);
  const inside = join(orchard, 'packages', 'press');
  mkdirSync(inside, { recursive: true });
  expect(await begins(inside)).toMatch(/Tuesdays/);
  expect(await done(inside, 'list')).toContain('Tuesdays');
  const second = cloneOf(orchard, REMOTE);
  await done(second, 'adopt', '--apart');
  await done(second, 'remember', 'The kitchen closes at 15:00.');
  const third = cloneOf(orchard, REMOTE);
  expect(await begins(third)).toMatch(/\(the same remote and first commit\), or one of 1 more/);
  expect(await begins(third)).not.toMatch(/Tuesdays|kitchen/);
  expect(await done(orchard, 'list')).not.toContain('kitchen');
});

test('adopting shows what would come, and then both checkouts have one memory, until it is undone', async () => {
  const orchard = repository();
  const { environment, run, done, begins } = await world(orchard);
  const clone = cloneOf(orchard, REMOTE);
  await done(clone, 'remember', 'The kitchen closes at 15:00.');
  const own = projectMemoryDir(join(environment.HOME ?? '', '.claude'), clone);
  const before = await done(clone, 'list');
  const shown = await run(clone, 'adopt');
  expect(shown).toMatchObject({ code: 2, stdout: '' });
  expect(shown.stderr).toMatch(/^This looks like orchard, .*same remote and first commit.*without asking: --yes\n$/s);
  // Before a night all is in the log.
  expect(shown.stderr).toMatch(
    /It has 0 topics and 1 entry not sorted yet in .* {2}logs\/\S+:\n {4}- The kitchen closes/s,
  );
  expect(await done(clone, 'list')).toBe(before);
  const adopted = await done(clone, 'adopt', '--yes');
  expect(adopted).toMatch(/^Sessions here use the memory of orchard from now on/);
  const [, job = ''] = /nocturne undo (job_\w+) takes it back/.exec(adopted) ?? [];
  for (const cwd of [orchard, clone]) {
    const listed = await done(cwd, 'list');
    expect(listed).toContain('Tuesdays');
    expect(listed).toContain('kitchen');
    expect(await begins(cwd)).not.toContain('nocturne adopt');
  }
  expect(await begins(clone)).toContain('Tuesdays');
  const session = aSession(['Always use pnpm instead of npm.'], { cwd: clone });
  await done(orchard, 'learn', session.path);
  expect(await done(orchard, 'list')).toContain('pnpm');
  expect(await done(clone, 'list', '--all')).toContain('pnpm');
  const undo = await done(clone, 'undo', job);
  expect(undo).not.toContain('What stays');
  expect(await done(clone, 'list')).toMatch(/kitchen/);
  expect(await done(clone, 'list')).not.toMatch(/Tuesdays|pnpm/);
  expect(await done(orchard, 'list')).not.toContain('kitchen');
  expect(existsSync(own)).toBe(!ON_POSTGRES);
});

test('a second checkout that remembers nothing gets no directory of files; what its agent wrote there comes in once', async () => {
  const orchard = repository();
  const { environment, done, begins } = await world(orchard);
  const clone = cloneOf(orchard, REMOTE);
  const own = projectMemoryDir(join(environment.HOME ?? '', '.claude'), clone);
  await done(clone, 'adopt', '--yes');
  await done(clone, 'remember', 'The kitchen closes at 15:00.');
  expect(existsSync(own)).toBe(false);
  expect(await begins(clone)).toMatch(/kitchen.*Tuesdays|Tuesdays.*kitchen/s);
  if (ON_POSTGRES) return;
  const [another, other] = [cloneOf(orchard, REMOTE), cloneOf(orchard, REMOTE)];
  const topic = '---\nname: hosts\ndescription: Hosts\ntype: project\n---\n\n';
  const dirs = [another, other].map((cwd) => projectMemoryDir(join(environment.HOME ?? '', '.claude'), cwd));
  for (const [n, dir] of dirs.entries())
    dirWith({ 'hosts.md': `${topic}- Live is beta.\n- Host ${n} is gamma.\n` }, dir);
  for (const cwd of [another, other]) await done(cwd, 'adopt', '--yes');
  const hosts = await done(orchard, 'show', 'hosts');
  expect(hosts.match(/Live is beta|Host 0|Host 1/g)).toEqual(['Live is beta', 'Host 0', 'Host 1']);
});

test.skipIf(ON_POSTGRES)('memories of two directories are offered once these are in one repository', async () => {
  const work = join(tempDir(), 'work');
  const { environment, run, done, begins } = await world(tempDir());
  for (const [n, name] of ['orchard', 'market'].entries()) {
    const cwd = join(work, name);
    mkdirSync(cwd, { recursive: true });
    const id = `${n}1111111-2222-4333-8444-555555555555`;
    environment.NOCTURNE_NOW = `2026-11-21T0${2 + n}:00:00Z`;
    await done(cwd, 'learn', aSession([`Always use tabs in ${name}.`], { id, cwd }).path);
  }
  environment.NOCTURNE_NOW = '2026-11-22T02:00:00Z';
  gitIn(work).run('init', '-q');
  const market = join(work, 'market');
  const said = `his looks like orchard, remembered at ${work}/orchard (its directory is in this repository now), or one of 1 more`;
  expect(await begins(market)).toContain(said);
  expect((await run(market, 'list')).stderr).toContain(`T${said}: nocturne adopt`);
  const [id = ''] = /memory_\w+(?= {2}market)/.exec((await run(market, 'adopt', '--yes')).stderr) ?? [];
  await done(market, 'adopt', id, '--yes');
  expect(await done(work, 'list')).toContain('Always use tabs in market.');
  expect(await begins(market)).not.toContain('nocturne adopt');
});

test('two that look alike are named, and the one that is meant is taken; what is to stay apart is not offered again', async () => {
  const orchard = repository();
  const { environment, run, done, begins } = await world(orchard);
  const other = cloneOf(orchard, REMOTE);
  environment.NOCTURNE_NOW = '2026-11-22T02:00:00Z';
  await done(other, 'remember', 'The kitchen closes at 15:00.');
  expect(await begins(other)).toContain('nocturne adopt');
  await done(other, 'adopt', '--apart');
  expect(await begins(other)).not.toContain('nocturne adopt');
  expect(await begins(orchard)).not.toContain('nocturne adopt');
  const third = cloneOf(orchard, REMOTE);
  expect(await begins(third)).toContain('or one of 1 more');
  const { code, stderr } = await run(third, 'adopt', '--yes');
  expect(code).toBe(1);
  expect(stderr).toMatch(/More than one memory looks like this project/);
  const [id = ''] = stderr.match(/memory_\w+(?=.*work)/) ?? stderr.match(/memory_\w+/) ?? [];
  await done(third, 'adopt', id, '--yes');
  expect((await done(third, 'list')).match(/kitchen|Tuesdays/g)).toHaveLength(1);
});

test('of a checkout that was moved the files can be taken along by hand, before or after it is adopted; nothing of it is listed twice', async () => {
  const orchard = repository();
  const { environment, done, begins } = await world(orchard);
  await done(orchard, 'learn', aSession(['Always use pnpm instead of npm.'], { cwd: orchard }).path);
  const dirOf = (cwd: string) => projectMemoryDir(join(environment.HOME ?? '', '.claude'), cwd);
  const take = (from: string, to: string) => {
    mkdirSync(dirname(dirOf(to)), { recursive: true });
    renameSync(dirOf(from), dirOf(to));
  };
  const [second, third] = [`${orchard}-2`, `${orchard}-3`];
  renameSync(orchard, second);
  await begins(second);
  await done(second, 'adopt', '--yes');
  if (ON_POSTGRES) return;
  take(orchard, second);
  await done(second, 'remember', 'The kitchen closes at 15:00.');
  expect(existsSync(dirOf(orchard))).toBe(false);
  renameSync(second, third);
  take(second, third);
  // A memory that holds nothing is not listed.
  mkdirSync(join(dirOf(second), 'cache'), { recursive: true });
  await done(third, 'list', '--memory', dirOf(second));
  const { memories: projects } = JSON.parse(await done(third, 'list', '--all', '--json'));
  expect(projects).toEqual([expect.objectContaining({ project: third, memory: dirOf(third) })]);
  expect(await done(third, 'list')).toMatch(/kitchen.*Tuesdays|Tuesdays.*kitchen/s);
});
