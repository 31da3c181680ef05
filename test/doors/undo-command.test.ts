// What a person takes back with `nocturne undo`, as it is typed: real memories, with nights and others at work between.

import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { type TestApp, testApp } from '../support/app.ts';
import { gitIn } from '../support/git.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const TOPIC = 'working-agreements.md';

/** A memory that a night has filled; then `here` is a person at it. */
async function dreamt(): Promise<TestApp & { read(path: string): string }> {
  const testing = await testApp();
  await learn(testing, 'Always use pnpm instead of npm.');
  await testing.app.dream(testing.store, {});
  return { ...testing, read: (path) => readFileSync(join(testing.dir, path), 'utf8') };
}

async function learn({ app }: TestApp, words: string): Promise<void> {
  const session = sessionFile(tempDir(), { id: randomUUID() });
  session.add(words);
  await app.extract({ transcript: session.path, ended: true });
}

test('a pin is taken back by undo, and nothing else is, whatever a night did since', async () => {
  const testing = await dreamt();
  const { environment, read } = testing;
  const before = read(TOPIC);
  expect((await runHere(['pin', 'working-agreements'], environment)).code).toBe(0);
  await learn(testing, 'Deploys go to delta.');
  await testing.app.dream(testing.store, {});
  const others = testing.store.ledger.all('select id, state from entry order by id');
  const asked = await runHere(['undo'], environment);
  expect(asked).toMatchObject({ code: 2, stdout: '' });
  expect(asked.stderr).toContain('You pinned a topic, just now');
  expect(asked.stderr).toContain(`  ${TOPIC}\n`);
  expect(asked.stderr).toContain('nocturne undo --last takes it back');
  expect(read(TOPIC)).not.toBe(before);
  const answers = { isTerminal: true };
  expect(await runHere(['undo'], environment, { ...answers, stdin: 'n\n' })).toMatchObject({ code: 2, stdout: '' });
  const done = await runHere(['undo'], environment, { ...answers, stdin: 'y\n' });
  expect(done).toMatchObject({ code: 0, stdout: expect.stringMatching(/^pin job_[0-9a-f]{8}: undone; /) });
  expect(read(TOPIC)).toBe(before);
  expect(testing.store.ledger.all('select id, state from entry order by id')).toEqual(others);
});

test('undo --last means what a person did; with --any what was done last, whoever began it', async () => {
  const testing = await dreamt();
  const { environment } = testing;
  const none = await runHere(['undo', '--last'], environment);
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing here that you did') });
  await runHere(['remember', 'Deploys go to delta.'], environment);
  await learn(testing, 'I prefer short answers.');
  const last = (...more: string[]) => jsonHere<{ kind: string }>(['undo', '--last', ...more], environment);
  const any = await runHere(['undo', '--any'], environment);
  expect(any).toMatchObject({ code: 2, stderr: expect.stringContaining('Last: learned from a session, just now') });
  expect(await jsonHere(['undo'], environment)).toMatchObject({ outcome: 'unconfirmed', kind: 'remember', undo: null });
  expect(await last()).toMatchObject({ kind: 'remember', outcome: 'undone', pushed: [] });
  expect(await last('--any')).toMatchObject({ kind: 'extract', outcome: 'undone' });
  expect(await last('--any')).toMatchObject({ kind: 'dream', outcome: 'undone' });
  const again = await runHere(['undo', '--last'], environment);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing here that you did') });
});

test('a restore and the pin of a topic are actions: each is taken back by what its id begins with, and that again', async () => {
  const { environment, read, store } = await dreamt();
  const created = read(TOPIC);
  await runHere(['pin', TOPIC], environment);
  const { versions } = await jsonHere<{ versions: { id: string }[] }>(['show', TOPIC, '--history'], environment);
  const pinned = read(TOPIC);
  await runHere(['restore', TOPIC, '--version', versions.at(-1)?.id.slice(0, 15) ?? ''], environment);
  expect(read(TOPIC)).toBe(created);
  const jobOf = (kind: string) => store.ledger.get('select id from job where kind = ?', kind)?.id as string;
  const undone = await runHere(['undo', jobOf('restore').slice(0, 10)], environment);
  expect(undone.stdout).toMatch(/^restore job_[0-9a-f]{8}: undone; nocturne undo (job_[0-9a-f]{8}) redoes it\n/);
  expect(read(TOPIC)).toBe(pinned);
  const redo = /undo (job_\w+) redoes/.exec(undone.stdout)?.[1] as string;
  expect((await runHere(['undo', redo], environment)).code).toBe(0);
  expect(read(TOPIC)).toBe(created);
  const unclear = await runHere(['undo', 'job_'], environment);
  expect(unclear).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no job job_ here') });
});

test('what is saved in the editor is an action: undo takes back that edit, and what it rested on is as before', async () => {
  const testing = await dreamt();
  const { environment, read, store, dir } = testing;
  const before = read(TOPIC);
  const editor = join(tempDir(), 'editor');
  writeFileSync(editor, '#!/bin/sh\nsed -i.bak "s/Always use pnpm/Please always use pnpm/" "$1" && rm "$1.bak"\n');
  chmodSync(editor, 0o755);
  // Edited by hand before: not what the command did.
  writeFileSync(join(dir, TOPIC), `${before}- Mine.\n`);
  const support = () => store.ledger.all('select * from support order by path, line, entry');
  const rests = support();
  const withEditor = { ...environment, EDITOR: editor };
  const edited = await runHere(['show', 'working-agreements', '--edit'], withEditor, { isTerminal: true });
  expect(edited).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^Saved; nocturne undo job_\w{8} takes it back/),
  });
  expect(read(TOPIC)).toContain('- Please always use pnpm');
  expect((await runHere(['undo'], environment)).stderr).toContain('You edited a file, just now');
  expect(await jsonHere(['undo', '--last'], environment)).toMatchObject({ kind: 'edit', files: [TOPIC] });
  expect(read(TOPIC)).toBe(`${before}- Mine.\n`);
  expect(support()).toEqual(rests);
  const nothing = { ...environment, EDITOR: 'true' };
  const left = await runHere(['show', 'working-agreements', '--edit'], nothing, { isTerminal: true });
  expect(left).toMatchObject({ code: 0, stderr: expect.stringContaining('Nothing was saved so far') });
});

test('what was shared is the last action too, and undo names the branches that have it since', async () => {
  const { environment, dir } = await dreamt();
  const tree = gitIn(tempDir());
  tree.run('init', '-q', '-b', 'main');
  mkdirSync(join(tree.dir, 'src'));
  writeFileSync(join(dir, 'hosts.md'), '---\nname: hosts\ndescription: Where things run\n---\n\n- Staging is alpha.\n');
  const here = (...args: string[]) => {
    vi.spyOn(process, 'cwd').mockReturnValue(join(tree.dir, 'src'));
    return runHere(args, environment);
  };
  await here('remember', 'Live is beta.');
  await here('share', 'hosts');
  tree.run('add', '.claude');
  tree.run('commit', '-qm', 'memory');
  const remote = tempDir();
  gitIn(remote).run('init', '-q', '--bare');
  tree.run('push', '-q', remote, 'main');
  tree.run('remote', 'add', 'origin', remote);
  tree.run('fetch', '-q', 'origin');
  const asked = await here('undo');
  expect(asked.stderr).toContain("shared with the team, just now, in the team's memory");
  expect(asked.stderr).toContain('hosts.md (origin/main)');
  const { stdout, code } = await here('undo', '--last');
  expect({ stdout, code }).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^share job_[0-9a-f]{8}: undone; .*--scope local/),
  });
  expect(stdout).toContain('It has left this machine');
  expect(stdout).toContain('  hosts.md (origin/main)');
  expect((await here('undo')).stderr).toContain('remembered, just now');
});
