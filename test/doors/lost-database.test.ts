// A database that is lost before its first copy: the Markdown is the truth, and every memory is there again at the next command,
// wherever one stands; what is not known any more is said.

import { mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
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
  expect(await done([])).toContain(
    'nothing this month; what was spent before the restore, today 02:00, may be missing',
  );
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

test('where it is damaged, check --restore reads every memory directory again, and work goes on', async () => {
  const { home, done, listed } = await remembered();
  const before = await listed();
  truncateSync(join(home, 'nocturne.db'), 12_288);
  await done(['check', '--restore']);
  expect(await listed()).toEqual(before);
  expect(await done(['cost'])).toContain('what was spent before the restore, today 02:00, may be missing');
  expect(await done(['learn', aSession(['Always sign commits.']).path])).toContain('1 thing learned');
});
