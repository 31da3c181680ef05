// A database that is lost before its first copy: the Markdown is the truth, and every memory is there again at the next command,
// wherever one stands; what is not known any more is said.

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { backUp } from '../../src/db/backup.ts';
import { projectMemoryDir } from '../../src/memory/paths.ts';
import { environmentIn } from '../support/app.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { asking, scriptedModel } from '../support/scripted-model.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

interface Listed {
  memories: { memory: string; topics: { name: string }[]; waiting: { text: string }[] }[];
}

/** Two projects, one whose entry was sorted, and the user's own memory. */
async function remembered() {
  const user = tempDir();
  const environment = environmentIn(user, asking(await scriptedModel()));
  const done = async (args: string[], cwd = user) => {
    const ended = await runHere(args, environment, { cwd });
    expect(ended.code, ended.stderr).toBe(0);
    return ended.stdout.replace(/\s+/g, ' ');
  };
  for (const [n, [project, rule]] of [
    ['shop', 'Always use pnpm instead of npm.'],
    ['api', 'Never commit to main directly.'],
  ].entries()) {
    const cwd = join(user, project ?? '');
    mkdirSync(join(cwd, '.git'), { recursive: true });
    const id = `${n}1111111-2222-4333-8444-555555555555`;
    await done(['learn', aSession([rule ?? ''], { id, cwd }).path], cwd);
    if (n === 0) await done(['dream'], cwd);
  }
  await done(['remember', '--scope', 'user', 'I prefer short answers.']);
  const home = join(user, '.nocturne');
  const listed = async () => {
    const { memories } = await jsonHere<Listed>(['list', '--all'], environment, { cwd: user });
    const said = ({ memory, topics, waiting }: Listed['memories'][0]) =>
      [memory, ...topics.map(({ name }) => name), ...waiting.map(({ text }) => text)].join(' ');
    return memories.map(said).sort();
  };
  return { user, home, done, listed };
}

test('what was remembered is listed again, searched and told why, and that the spend may be missing is said', async () => {
  const { home, done, listed } = await remembered();
  const before = await listed();
  expect(before).toHaveLength(3);
  for (const name of readdirSync(home)) if (name.startsWith('nocturne.db')) rmSync(join(home, name));
  const spent = 'nothing this month; what was spent before the restore, today 02:00, may be missing';
  expect(await done([])).toContain(spent);
  expect(await listed()).toEqual(before);
  expect(await done(['search', 'pnpm', '--all'])).toContain('Always use pnpm');
});

test('a clone that used a memory is offered it again, by a session that lies beside it', async () => {
  const { home, user, done } = await remembered();
  const [shop, clone] = [join(user, 'shop'), join(user, 'clone')];
  const remote = '[remote "origin"]\n\turl = https://git.example/ada/shop.git\n';
  for (const dir of [shop, clone]) {
    mkdirSync(join(dir, '.git'), { recursive: true });
    writeFileSync(join(dir, '.git', 'HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(join(dir, '.git', 'config'), remote);
  }
  const beside = dirname(projectMemoryDir(join(user, '.claude'), shop));
  aSession(['Where is the parser?'], { dir: beside, cwd: shop });
  for (const name of readdirSync(home)) if (name.startsWith('nocturne.db')) rmSync(join(home, name));
  expect(await done([], clone)).toMatch(/This looks like shop, remembered at .* nocturne adopt/);
});

test.each(['no copy', 'before it was said', 'before it was forgotten', 'while it was forgotten'])(
  'what was forgotten and brought back stays, and what that was taken back for goes; newest copy: %s',
  async (copied) => {
    const { home, user, done } = await remembered();
    const copy = (when: string) => (when === copied ? backUp(home, { now: new Date('2026-11-21T01:00:00Z') }) : null);
    const lose = async () => {
      for (const name of readdirSync(home)) if (name.startsWith('nocturne.db')) rmSync(join(home, name));
      const said = await done(['check', '--restore']);
      await done(['dream']);
      return said;
    };
    const undo = async () => /nocturne undo (job_\w+)/.exec(await done(['undo', '--last']))?.[1] ?? '';
    await copy('before it was said');
    await done(['remember', 'Cheese is stored in the blue fridge.']);
    await done(['dream']);
    await copy('before it was forgotten');
    await done(['forget', 'Cheese', '--yes']);
    await copy('while it was forgotten');
    const back = await undo();
    expect(await lose()).not.toContain('were taken out again');
    expect(await done(['next'])).toContain('Cheese is stored');
    if (copied !== 'no copy') return;
    await done(['remember', 'Milk is stored in the red fridge.']);
    await done(['forget', 'Milk', '--yes']);
    await done(['undo', await undo()]);
    await lose();
    expect(await done(['next'])).not.toContain('Milk is stored');
    expect(back).not.toBe('');
    // Two memories have something of one message.
    writeFileSync(join(home, 'config.json'), '{ "userScope": true }');
    const id = '41111111-2222-4333-8444-555555555555';
    const { path } = aSession(['I like tea. Always take plums.'], { id, cwd: user });
    await done(['learn', path]);
    for (const word of ['tea', 'plums']) await done(['forget', word, '--yes']);
    await undo();
    await lose();
    for (const again of [[], ['--again']]) await done(['learn', ...again, path]);
    expect(await done(['list', '--all'])).not.toContain('likes tea');
  },
);

test('a project that began after the newest copy is listed after the restore, by its name', async () => {
  const { home, user, done, listed } = await remembered();
  await backUp(home, { now: new Date('2026-11-21T01:00:00Z') });
  const late = join(user, 'late');
  mkdirSync(join(late, '.git'), { recursive: true });
  writeFileSync(join(late, '.git', 'HEAD'), 'ref: refs/heads/main\n');
  const beside = dirname(projectMemoryDir(join(user, '.claude'), late));
  mkdirSync(beside, { recursive: true });
  const id = '31111111-2222-4333-8444-555555555555';
  await done(['learn', aSession(['Always close the gate.'], { id, dir: beside, cwd: late }).path], late);
  const before = await listed();
  for (const name of readdirSync(home)) if (name.startsWith('nocturne.db')) rmSync(join(home, name));
  await done(['check', '--restore']);
  expect(await listed()).toEqual(before);
  expect(await done(['list', '--all'])).toMatch(/ ~\/late cd ~\/late && nocturne list /);
});
