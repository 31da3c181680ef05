// What README.md and docs/ show of a terminal is what a terminal shows: examples are run as written, in order, in a home of their own
// without a model; `…` stands for ids, days and what is left out.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startWith } from '../../src/cli/start.ts';
import { environmentIn } from '../support/app.ts';
import { type HereOptions, hereWith, runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const root = join(import.meta.dirname, '../..');
const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)].filter((page) =>
  page.endsWith('.md'),
);
const textOf = (page: string) => readFileSync(join(root, page), 'utf8');

/** A line of `…` alone: any lines. */
function asShown(shown: string): RegExp {
  const lines = shown.split('\n').map((line) => line.split('…').map(RegExp.escape).join('.*?'));
  return new RegExp(`^${lines.join('\n').replaceAll(/(?<=^|\n)\.\*\?\n/g, '(?:.*\n)*?')}$`);
}

const wordsOf = (call: string) =>
  [...call.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

/** Runs calls in a project of their own. */
function fresh() {
  const home = tempDir();
  const cwd = join(home, 'orchard');
  mkdirSync(join(cwd, '.git'), { recursive: true });
  writeFileSync(join(cwd, '.git/HEAD'), 'ref: refs/heads/main\n');
  const environment = environmentIn(home, { EDITOR: 'true' });
  const run = (call: string, how: HereOptions = {}) => runHere(wordsOf(call), environment, { cwd, ...how });
  return { cwd, run };
}

test('README: npm start prints what is shown there', async () => {
  const shown = /^```sh\nnpm start\n```\n[^`]*^```\n([^`]*)^```/m.exec(textOf('README.md'))?.[1] ?? '';
  const { stdout } = await hereWith(() => startWith([], { root: join(tempDir(), 'x') }), environmentIn(tempDir()));
  const plain = stdout.replaceAll(/^─+\n/gm, '');
  expect(plain).toMatch(asShown(`…\n${shown}…\n`));
});

const shown = pages.flatMap((page) =>
  [...textOf(page).matchAll(/^```console\n(.*?)^```/gms)].map(([, block = '']) => [page, block] as const),
);

test.each(shown)('%s: a terminal shows what is shown there', async (_, block) => {
  const { run } = fresh();
  for (const example of block.split(/^\$ nocturne /m).slice(1)) {
    const [call = '', ...lines] = example.split('\n');
    const { stdout, stderr } = await run(call);
    expect(stdout + stderr, call).toMatch(asShown(lines.join('\n')));
  }
});

/** Those that go on, or install. */
const NOT_RUN = /^(?:open|worker$|serve|setup|doctor|mcp)/;
/** What a call ends with that does what it says, or finds nothing to do. */
const FINE = [0, 3];

test.each(['README.md', 'docs/guide.md'])('%s: each command that is shown can be called so', async (page) => {
  const { cwd, run } = fresh();
  const session = aSession(['Always deploy with pnpm.', 'Always use pnpm instead of npm.'], { cwd });
  writeFileSync(join(cwd, 'SESSION.jsonl'), readFileSync(session.path));
  await run('learn SESSION.jsonl');
  await run('dream');
  const shell = [...textOf(page).matchAll(/^```sh\n(.*?)^```|^\| `(nocturne.*?)`/gms)].map(
    ([, block, row]) => block ?? row,
  );
  const calls = [...shell.join('\n').matchAll(/^nocturne(?: ([^#\n]*))?/gm)].map(([, call = '']) => call.trim());
  expect(calls.length).toBeGreaterThan(10);
  for (const call of calls.filter((each) => !NOT_RUN.test(each))) {
    const given = call.replace(/\bSESSION\b(?!\.)/, session.id).replace(/\bTOPIC\b/, 'working-agreements');
    const { code, stderr } = await run(given, { isTerminal: true, answer: () => 'y\n' });
    expect({ call, code, stderr: FINE.includes(code) ? '' : stderr }).toEqual({ call, code, stderr: '' });
  }
});
