// What a merge of git leaves in a memory directory is settled when the store is opened next, or writes, or is asked.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { findFaults } from '../../../src/memory/history/check.ts';
import { listVersions, readVersion } from '../../../src/memory/history/versions.ts';
import { indexLines, writeIndexLines } from '../../../src/memory/ledger/entries.ts';
import { openStore } from '../../../src/memory/open.ts';
import type { Store } from '../../../src/memory/store/store.ts';
import { type GitTree, gitIn } from '../../support/git.ts';
import { tempDir } from '../../support/temp.ts';

const clock = fixedClock('2026-11-21T02:00:00Z');
const TOPIC = '---\nname: hosts\ndescription: Hosts\ntype: project\n---\n\n- Staging is alpha.\n';
const OURS = `${TOPIC}- Live is beta.\n`;
const THEIRS = `${TOPIC}- Mail is gamma.\n`;
const CONFLICT = `${TOPIC}<<<<<<< HEAD\n- Live is beta.\n=======\n- Mail is gamma.\n>>>>>>> origin/main\n`;
const BOTH = `${TOPIC}- Live is beta.\n- Mail is gamma.\n`;

async function open(dir: string): Promise<Store> {
  const store = await openStore(dir, { clock });
  onTestFinished(() => store.close());
  return store;
}

/** A repository with a team's memory of one topic and its index, committed. */
async function teamIn(tree: GitTree): Promise<string> {
  const memory = join(tree.dir, '.claude/memory');
  tree.run('init', '-q', '-b', 'main');
  mkdirSync(memory, { recursive: true });
  writeFileSync(join(memory, 'hosts.md'), TOPIC);
  (await open(memory)).close();
  commit(tree);
  return memory;
}

function commit(tree: GitTree): void {
  tree.run('add', '-A');
  tree.run('commit', '-q', '-m', 'memory');
}

/** Two branches that put different lines at the same place of the topic; `main` is checked out. */
function diverge(tree: GitTree, memory: string): void {
  tree.run('checkout', '-q', '-b', 'other');
  writeFileSync(join(memory, 'hosts.md'), THEIRS);
  writeFileSync(join(memory, 'people.md'), TOPIC.replaceAll('hosts', 'people'));
  commit(tree);
  tree.run('checkout', '-q', 'main');
  writeFileSync(join(memory, 'hosts.md'), OURS);
  commit(tree);
}

test('in any directory a conflict becomes one text with both sides, and the file as found and each side are versions', async () => {
  const dir = tempDir();
  const store = await open(dir);
  await store.write({ actor: 'person' }, { path: 'hosts.md', text: TOPIC });
  writeFileSync(join(dir, 'hosts.md'), CONFLICT);
  await store.missing();
  expect(readFileSync(join(dir, 'hosts.md'), 'utf8')).toBe(BOTH);
  const { versions } = listVersions(store.ledger, { path: 'hosts.md' });
  const kept = versions.map(({ id, actor }) => [actor, readVersion(store.ledger, id).text]);
  expect(kept).toEqual([
    ['tool:merge', BOTH],
    ['external', THEIRS],
    ['external', OURS],
    ['external', CONFLICT],
    ['person', TOPIC],
  ]);
  expect(await findFaults(store)).not.toContainEqual(expect.objectContaining({ kind: 'conflict' }));
});

test.each<[string, (store: Store) => Promise<unknown>]>([
  ['a look at the file', async (store) => expect((await store.lookUp('hosts.md'))?.text).toBe(BOTH)],
  ['a write of another', (store) => store.write({ actor: 'person' }, { path: 'other.md', text: 'x\n' })],
  [
    'a write of the same',
    (store) => store.edit({ actor: 'person' }, { path: 'hosts.md', old: '- Live', new: '- Live' }),
  ],
])('an open store settles it at %s', async (_, touch) => {
  const dir = tempDir();
  const store = await open(dir);
  writeFileSync(join(dir, 'hosts.md'), CONFLICT);
  await touch(store);
  expect(readFileSync(join(dir, 'hosts.md'), 'utf8')).toBe(BOTH);
});

test('entries of a log that two sides wrote at one place stay whole', async () => {
  const entry = (at: string, n: string) =>
    `- ${at} **feedback** Use ${n}.\n  > yes\n  <!-- e_00000000000${n} s=x t=1 at=x by=human -->\n`;
  const dir = tempDir();
  mkdirSync(join(dir, 'logs/2026/11'), { recursive: true });
  const path = join(dir, 'logs/2026/11/2026-11-20.md');
  const [a, b] = [entry('10:00', '1'), entry('11:00', '2')];
  writeFileSync(path, `# 2026-11-20\n\n<<<<<<< HEAD\n${a}=======\n${b}>>>>>>> other\n`);
  await open(dir);
  expect(readFileSync(path, 'utf8')).toBe(`# 2026-11-20\n\n${a}${b}`);
});

test('an index of two sides is built anew: no line of a topic that is gone, one of each that is there, own ones kept', async () => {
  const dir = tempDir();
  const store = await open(dir);
  const line = '- Hosts [hosts.md]';
  await store.commit({ actor: 'person' }, () => ({
    files: [
      { path: 'hosts.md', change: () => TOPIC },
      { path: 'MEMORY.md', change: () => `# Memory\n\n## Project\n${line}\n` },
    ],
    rows: (transaction) => writeIndexLines(transaction, [line]),
  }));
  writeFileSync(
    join(dir, 'MEMORY.md'),
    `# Memory\n\n## Project\n<<<<<<< HEAD\n${line}\n- [Wiki](hosts2.md) — mine\n=======\n- Hosts, once [hosts.md]\n- Gone [gone.md]\nAsk Kim.\n>>>>>>> other\n`,
  );
  await store.missing();
  const text = readFileSync(join(dir, 'MEMORY.md'), 'utf8');
  expect(text.match(/hosts\.md/g)).toHaveLength(1);
  expect(text).not.toMatch(/gone\.md|[<=>]{7}/);
  expect(text).toContain('- [Wiki](hosts2.md) — mine\n');
  expect(text).toContain('Ask Kim.\n');
  expect(indexLines(store.ledger)).toEqual(new Set([line]));
});

test('after a merge that stopped, `git add` and `git commit` just work', async () => {
  const tree = gitIn(tempDir());
  const memory = await teamIn(tree);
  diverge(tree, memory);
  expect(tree.tries('merge', 'other')).toBe(false);
  (await open(memory)).close();
  expect(readFileSync(join(memory, 'hosts.md'), 'utf8')).toBe(BOTH);
  tree.run('add', '-A');
  tree.run('commit', '-q', '--no-edit');
  expect(tree.run('status', '--porcelain')).toBe('');
  expect(await findFaults(await open(memory))).toEqual([]);
});

test('amid a rebase only files with markers are touched, so that it goes on; the index follows when it is over', async () => {
  const tree = gitIn(tempDir());
  const memory = await teamIn(tree);
  diverge(tree, memory);
  tree.run('checkout', '-q', 'other');
  expect(tree.tries('rebase', 'main')).toBe(false);
  (await open(memory)).close();
  expect(tree.run('diff', '--name-only')).toBe('.claude/memory/hosts.md\n'.repeat(2));
  tree.run('add', '.claude/memory/hosts.md');
  tree.run('-c', 'core.editor=true', 'rebase', '--continue');
  const store = await open(memory);
  expect(readFileSync(join(memory, 'hosts.md'), 'utf8')).toContain('- Live is beta.\n- Mail is gamma.\n');
  expect(readFileSync(join(memory, 'MEMORY.md'), 'utf8')).toContain('[people.md]');
  expect(await findFaults(store)).toEqual([]);
});

test('while git works on the tree nothing is touched, and check says so; the next opening settles it', async () => {
  const tree = gitIn(tempDir());
  const memory = await teamIn(tree);
  writeFileSync(join(tree.dir, '.git/index.lock'), '');
  writeFileSync(join(memory, 'hosts.md'), CONFLICT);
  const store = await open(memory);
  const found = (await findFaults(store)).find(({ kind }) => kind === 'conflict');
  expect(found).toMatchObject({ where: 'hosts.md' });
  expect(readFileSync(join(memory, 'hosts.md'), 'utf8')).toBe(CONFLICT);
  store.close();
  rmSync(join(tree.dir, '.git/index.lock'));
  expect(await findFaults(await open(memory))).toEqual([]);
  expect(readFileSync(join(memory, 'hosts.md'), 'utf8')).toBe(BOTH);
});

test('check --repair settles markers that an older nocturne took for text', async () => {
  const dir = tempDir();
  await (await open(dir)).write({ actor: 'person' }, { path: 'hosts.md', text: CONFLICT });
  const store = await open(dir);
  const found = (await findFaults(store)).find(({ kind }) => kind === 'conflict');
  await found?.mend?.apply();
  expect(readFileSync(join(dir, 'hosts.md'), 'utf8')).toBe(BOTH);
});

test('in a team’s memory a branch without the topics is no accident, and its index is of paths alone, pinned or not', async () => {
  const tree = gitIn(tempDir());
  const memory = await teamIn(tree);
  const topic = (name: string, more = '') => TOPIC.replaceAll('hosts', name).replace('type:', `${more}type:`);
  tree.run('checkout', '-q', '-b', 'more');
  for (const name of ['zebra', 'ant', 'bee']) writeFileSync(join(memory, `${name}.md`), topic(name));
  writeFileSync(join(memory, 'owl.md'), topic('owl', 'pinned: true\n'));
  const store = await open(memory);
  const index = () => readFileSync(join(memory, 'MEMORY.md'), 'utf8').match(/(?<=\[)\w+/g);
  expect(index()).toEqual(['ant', 'bee', 'hosts', 'owl', 'zebra']);
  commit(tree);
  tree.run('checkout', '-q', 'main');
  expect(await store.missing()).toEqual([]);
  expect(index()).toEqual(['hosts']);
  tree.run('checkout', '-qf', 'more');
  await store.missing();
  expect(index()).toEqual(['ant', 'bee', 'hosts', 'owl', 'zebra']);
});
