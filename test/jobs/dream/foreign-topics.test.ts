// What a dream does with topic files that people and other agents named, wrote and keep their own way.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RunAgent } from '../../../src/agent/types.ts';
import { explainLines } from '../../../src/memory/dream/provenance.ts';
import { entriesIn, supportsOf } from '../../../src/memory/ledger/entries.ts';
import { jobsInProcess } from '../../support/jobs-in-process.ts';
import { record } from '../../support/recorded.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

type Jobs = Awaited<ReturnType<typeof open>>;

async function open(dir = tempDir(), runAgent?: RunAgent) {
  const jobs = await jobsInProcess(dir, undefined, runAgent ? { runAgent } : {});
  return Object.assign(jobs, { dir, file: (path: string) => readFileSync(join(dir, path), 'utf8') });
}

async function learn(jobs: Jobs, ...prompts: string[]): Promise<void> {
  await jobs.extract(aSession(prompts, { id: crypto.randomUUID() }).path);
}

/** A model that adds all entries to these topics, one after the other until code lets one through. */
function addingTo(jobs: () => Jobs, topics: string[], refused: string[] = []): RunAgent {
  return async (_, ports) => {
    for (const topic of topics) {
      const entries = entriesIn(jobs().store.ledger, 'new');
      const operation = {
        kind: 'put',
        topic,
        ...(existsSync(join(jobs().dir, `${topic}.md`)) ? {} : { type: 'project', description: 'What is known' }),
        in: entries.map(({ id, text }) => ({ text, entries: [id] })),
        reason: 'New.',
      };
      const { text, isError } = await ports.callTool('propose_operations', { operations: [operation] });
      if (!isError) return 'done';
      refused.push(text);
    }
    return 'done';
  };
}

test('a topic that another agent named its own way gets the lines that belong there', async () => {
  const jobs: Jobs = await open(
    tempDir(),
    addingTo(() => jobs, ['feedback_package_manager']),
  );
  const theirs =
    '---\nname: feedback_package_manager\ndescription: Which package manager to run (npm)\ntype: feedback\n---\n\nAs the lockfile says.\n';
  writeFileSync(join(jobs.dir, 'feedback_package_manager.md'), theirs);
  await record(jobs.store, '2026-11-20T10:00:00Z', [
    { type: 'feedback', text: 'Never run the package manager npm with --force.' },
  ]);
  expect(await jobs.dream()).toMatchObject({ outcome: 'dreamed', topics: ['feedback_package_manager.md'] });
  const added = `${theirs}\n- Never run the package manager npm with --force.\n`;
  expect(jobs.file('feedback_package_manager.md')).toBe(added);
});

test('a topic that was renamed in letter case alone is one topic: the model is told its name, and lines rest there', async () => {
  const first = await open();
  await learn(first, 'The release deadline is 2026-12-04.');
  await first.dream();
  renameSync(join(first.dir, 'project-facts.md'), join(first.dir, 'Project-Facts.md'));
  await learn(first, 'Remember that the port is 8443.');
  const refused: string[] = [];
  const jobs: Jobs = await open(
    first.dir,
    addingTo(() => jobs, ['project-facts', 'Project-Facts'], refused),
  );
  expect(await jobs.dream()).toMatchObject({ outcome: 'dreamed', topics: ['Project-Facts.md'] });
  expect(refused.join('\n')).toContain('there is a file Project-Facts.md already');
  expect(jobs.file('Project-Facts.md')).toContain('- The port is 8443.\n');
  expect(supportsOf(jobs.store.ledger, 'Project-Facts.md')).toHaveLength(2);
  expect(jobs.store.ledger.all("select path from memory where path like 'project-facts.md'")).toHaveLength(1);
});

test('the report tells an operation once, with the lines as they were written, and links the topic whatever it is called', async () => {
  const first = await open();
  writeFileSync(join(first.dir, 'Ports (all).md'), '---\ntype: project\n---\n\n- Theirs.\n');
  await learn(first, 'Remember that the port is 8443.', 'Remember that the host is stage.example.org.');
  const jobs: Jobs = await open(
    first.dir,
    addingTo(() => jobs, ['Ports (all)']),
  );
  await jobs.dream();
  expect(jobs.file('.nocturne/dreams/2026-11-21.md').match(/^ *- .*$/gm)).toEqual([
    expect.stringMatching(
      /^- \*\*added\*\* → \[Ports \(all\)\.md\]\(<\.\.\/\.\.\/Ports \(all\)\.md>\): .*(?: <!-- e_\w+ -->){2}$/,
    ),
    '  - The port is 8443.',
    '  - The host is stage.example.org.',
  ]);
});

test('a new topic gets a name of ours: any other, and one that a link holds, goes back to the model', async () => {
  const first = await open();
  const elsewhere = join(tempDir(), 'notes.md');
  writeFileSync(elsewhere, 'mine\n');
  symlinkSync(elsewhere, join(first.dir, 'notes.md'));
  await learn(first, 'Remember that the port is 8443.');
  const refused: string[] = [];
  const names = ['Port Numbers', '../ports', 'notes', 'ports'];
  const jobs: Jobs = await open(
    first.dir,
    addingTo(() => jobs, names, refused),
  );
  expect(await jobs.dream()).toMatchObject({ outcome: 'dreamed', topics: ['ports.md'] });
  expect(refused).toEqual([
    expect.stringContaining('kebab-case'),
    expect.stringContaining('must be the name of a topic file'),
    expect.stringContaining('leads out of the directory'),
  ]);
  expect(readFileSync(elsewhere, 'utf8')).toBe('mine\n');
  expect(readdirSync(first.dir).filter((name) => name.endsWith('.md'))).toEqual(['MEMORY.md', 'notes.md', 'ports.md']);
  rmSync(elsewhere);
});

test('after a checkout of another branch and back, with a dream there, nothing is learned twice and lines keep their sources', async () => {
  const jobs = await open();
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', jobs.dir, '-c', 'user.name=k', '-c', 'user.email=k@k', ...args]);
  await learn(
    jobs,
    'Always use pnpm instead of npm.',
    'I prefer short answers.',
    'The release deadline is 2026-12-04.',
  );
  await jobs.dream();
  git('init', '-q', '-b', 'main');
  const keep = (message: string) => {
    git('add', '-A');
    git('commit', '-q', '-m', message);
  };
  keep('one');
  git('checkout', '-q', '-b', 'other');
  await learn(jobs, 'Never run the migrations by hand.');
  await jobs.dream();
  keep('two');
  git('checkout', '-q', 'main');
  await jobs.dream();
  expect(jobs.file('working-agreements.md')).not.toContain('migrations');
  git('checkout', '-q', 'other');
  expect(await jobs.dream()).toMatchObject({ outcome: 'nothing-new', spend: { calls: 0 } });
  const lines = await explainLines(jobs.store, { path: 'working-agreements.md' });
  expect(lines.map(({ text, isPersons, entries }) => [text, isPersons, entries.map(({ state }) => state)])).toEqual([
    ['Always use pnpm instead of npm.', false, ['distilled']],
    ['Never run the migrations by hand.', false, ['distilled']],
  ]);
});
