// What a person takes back with `nocturne undo`, and looks up in versions, as it is typed: real memories, with nights and others at
// work between.

import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { type TestApp, testApp } from '../support/app.ts';
import { gitIn } from '../support/git.ts';
import { run } from '../support/run.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { aSession, RULE } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const TOPIC = 'working-agreements.md';

/** A memory that a night has filled; then `here` is a person at it. */
async function dreamt() {
  const testing = await testApp();
  const transcript = await learn(testing, RULE);
  await testing.app.dream(testing.store, {});
  return { ...testing, transcript, read: (path: string) => readFileSync(join(testing.dir, path), 'utf8') };
}

async function learn({ app }: TestApp, words: string): Promise<string> {
  const { path } = aSession([words], { id: randomUUID() });
  await app.extract({ transcript: path, ended: true });
  return path;
}

test('a pin is taken back by undo, and nothing else is, whatever a night did since', async () => {
  const testing = await dreamt();
  const { environment, read } = testing;
  const before = read(TOPIC);
  expect((await runHere(['show', 'working-agreements', '--pin'], environment)).code).toBe(0);
  await learn(testing, 'Deploys go to delta.');
  await testing.app.dream(testing.store, {});
  const others = await testing.rows('entries');
  const asked = await runHere(['undo'], environment);
  expect(asked).toMatchObject({ code: 2, stdout: '' });
  expect(asked.stderr).toContain('You pinned a topic, just now');
  expect(asked.stderr).toContain(`  ${TOPIC}\n`);
  expect(asked.stderr).toContain('without asking: nocturne undo --last');
  expect(read(TOPIC)).not.toBe(before);
  const answers = { isTerminal: true };
  expect(await runHere(['undo'], environment, { ...answers, stdin: 'n\n' })).toMatchObject({ code: 2, stdout: '' });
  const done = await runHere(['undo'], environment, { ...answers, stdin: 'y\n' });
  expect(done).toMatchObject({ code: 0, stdout: expect.stringMatching(/^edit job_[0-9a-f]{8}: undone; /) });
  expect(read(TOPIC)).toBe(before);
  expect(await testing.rows('entries')).toEqual(others);
});

test('undo --last means what a person did; with --any what was done last, whoever began it', async () => {
  const testing = await dreamt();
  const { environment } = testing;
  const none = await runHere(['undo', '--last'], environment);
  expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing left here that you did') });
  await runHere(['remember', 'Deploys go to delta.'], environment);
  await learn(testing, 'I prefer short answers.');
  const last = (...more: string[]) => jsonHere<{ kind: string }>(['undo', '--last', ...more], environment);
  const any = await runHere(['undo', '--any'], environment);
  expect(any).toMatchObject({ code: 2, stderr: expect.stringContaining('Last: learned from a session, just now') });
  expect(await jsonHere(['undo'], environment)).toMatchObject({ outcome: 'unconfirmed', kind: 'remember', undo: null });
  expect(await last()).toMatchObject({ kind: 'remember', outcome: 'undone' });
  expect(await last('--any')).toMatchObject({ kind: 'extract', outcome: 'undone' });
  const night = (await testing.rows('jobs')).find(({ kind }) => kind === 'dream');
  expect(await last('--any')).toMatchObject({ kind: 'dream', outcome: 'undone' });
  const why = await runHere(['why', night?.id ?? ''], environment);
  expect(why.stdout).toMatch(/^job_[0-9a-f]{8} changed nothing, or was undone\.\n$/);
  const gone = await runHere(['show', 'working-agreements'], environment);
  expect(gone.stderr).toContain('nocturne show working-agreements.md --history');
  const again = await runHere(['undo', '--last'], environment);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing left here that you did') });
});

test('a restore and the pin of a topic are actions: each is taken back by what its id begins with, and that again', async () => {
  const { read, rows, json, nocturne } = await dreamt();
  const created = read(TOPIC);
  await nocturne('show', TOPIC, '--pin');
  const { versions } = await json<{ versions: { id: string }[] }>('show', TOPIC, '--history');
  const pinned = read(TOPIC);
  await nocturne('undo', '--file', TOPIC, '--version', versions.at(-1)?.id.slice(0, 15) ?? '');
  expect(read(TOPIC)).toBe(created);
  const jobOf = async (of: string) =>
    (await rows('jobs')).find(({ kind, outcome }) => kind === of || outcome === `${of}d`)?.id ?? '';
  const undone = await nocturne('undo', (await jobOf('restore')).slice(0, 10));
  expect(undone.stdout).toMatch(/^edit job_[0-9a-f]{8}: undone; nocturne undo (job_[0-9a-f]{8}) redoes it\n/);
  expect(read(TOPIC)).toBe(pinned);
  const redo = /undo (job_\w+) redoes/.exec(undone.stdout)?.[1] as string;
  expect((await nocturne('undo', redo)).code).toBe(0);
  expect(read(TOPIC)).toBe(created);
  const unclear = await nocturne('undo', 'job_');
  expect(unclear).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no job job_ here') });
});

test('what is saved in the editor is an action: undo takes back that edit, and what it rested on is as before', async () => {
  const testing = await dreamt();
  const { environment, read, rows, dir } = testing;
  const before = read(TOPIC);
  const editor = join(tempDir(), 'editor');
  writeFileSync(editor, '#!/bin/sh\nsed -i.bak "s/Always use pnpm/Please always use pnpm/" "$1" && rm "$1.bak"\n');
  chmodSync(editor, 0o755);
  // Edited by hand before: not what the command did.
  writeFileSync(join(dir, TOPIC), `${before}- Mine.\n`);
  const support = () => rows('support');
  const rests = await support();
  const withEditor = { ...environment, EDITOR: editor };
  const edited = await runHere(['show', 'working-agreements', '--edit'], withEditor, { isTerminal: true });
  expect(edited).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^Saved; nocturne undo job_\w{8} takes it back/),
  });
  expect(read(TOPIC)).toContain('- Please always use pnpm');
  expect((await runHere(['undo'], environment)).stderr).toContain('You edited a file, just now');
  expect((await runHere(['why', 'Please always use pnpm'], environment)).stdout).toContain('written by you, just now');
  expect(await jsonHere(['undo', '--last'], environment)).toMatchObject({ kind: 'edit', files: [TOPIC] });
  expect(read(TOPIC)).toBe(`${before}- Mine.\n`);
  expect(await support()).toEqual(rests);
  const nothing = { ...environment, EDITOR: 'true' };
  const left = await runHere(['show', 'working-agreements', '--edit'], nothing, { isTerminal: true });
  expect(left).toMatchObject({ code: 0, stderr: expect.stringContaining('Nothing was saved yet') });
});

test('what was shared is the last action too', async () => {
  const { dir, nocturne } = await dreamt();
  const tree = gitIn(tempDir());
  tree.run('init', '-q', '-b', 'main');
  mkdirSync(join(tree.dir, 'src'));
  writeFileSync(join(dir, 'hosts.md'), '---\nname: hosts\ndescription: Where things run\n---\n\n- Staging is alpha.\n');
  const here = (...args: string[]) => {
    vi.spyOn(process, 'cwd').mockReturnValue(join(tree.dir, 'src'));
    return nocturne(...args);
  };
  await here('remember', 'Live is beta.');
  await here('share', 'hosts');
  const asked = await here('undo');
  expect(asked.stderr).toContain("shared with the team, just now, in the team's memory");
  const { stdout, code } = await here('undo', '--last');
  expect({ stdout, code }).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^share job_[0-9a-f]{8}: undone; .*--scope local/),
  });
  expect((await here('undo')).stderr).toContain('remembered, just now');
});

test('history, show, diff and restore lead from a change back to what was before it', async () => {
  const testing = await dreamt();
  const { dir } = testing;
  const text = readFileSync(join(dir, TOPIC), 'utf8');
  writeFileSync(join(dir, TOPIC), `${text}- More.\n`);
  const { stdout } = await run(['show', TOPIC, '--history', '--json'], testing.environment);
  const { versions } = JSON.parse(stdout);
  expect(versions.map((version: { operation: string }) => version.operation)).toEqual(['modified', 'created']);
  const [, created] = versions;
  expect((await testing.nocturne('show', join(dir, TOPIC), '--history')).stdout).toContain(
    `\t${created.id.slice(0, 15)}\tcreated\t`,
  );
  expect(await testing.nocturne('show', TOPIC, '--version', created.id)).toMatchObject({ code: 0, stdout: text });
  expect((await testing.nocturne('show', TOPIC, '--diff')).stdout).toMatch(
    /^--- .*\n\+\+\+ .*\n@@ .* @@\n( .*\n)+\+- More\.\n$/,
  );
  expect((await testing.nocturne('undo', '--file', TOPIC, '--version', created.id)).code).toBe(0);
  expect((await testing.nocturne('show', TOPIC)).stdout).toBe(text);
  const wrong = await testing.nocturne('show', 'MEMORY.md', '--version', created.id);
  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('of MEMORY.md') });
});

test('undo refuses with the reason and exit code 1, takes back what is asked for, and extract learns it again', async () => {
  const testing = await dreamt();
  const { store, transcript } = testing;
  const extract = (await testing.rows('jobs')).find(({ kind }) => kind === 'extract')?.id ?? '';
  expect(await testing.nocturne('undo', extract)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('changed by dream'),
  });
  expect(await testing.nocturne('undo')).toMatchObject({ code: 1, stderr: expect.stringContaining('--any') });
  expect((await testing.nocturne('undo', '--last', '--any')).code).toBe(0);
  expect(JSON.parse((await testing.nocturne('undo', '--last', '--any', '--json')).stdout)).toMatchObject({
    outcome: 'undone',
    job: extract,
  });
  expect(await store.list()).toEqual([]);
  expect(JSON.parse((await testing.nocturne('learn', transcript, '--json')).stdout)).toMatchObject({
    outcome: 'recorded',
  });
});

test('where an edit by hand is in the way it is named, and once it is taken back undo does the rest', async () => {
  const { nocturne, read, dir, json } = await dreamt();
  const dreamed = read(TOPIC);
  writeFileSync(join(dir, TOPIC), dreamed.replace('Always', 'Please always'));
  const refused = await nocturne('undo', '--last', '--any');
  expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('changed by an edit of the file') });
  const { versions } = await json<{ versions: { id: string }[] }>('show', TOPIC, '--history');
  expect(await nocturne('undo', '--file', TOPIC, '--version', versions[1]?.id ?? '')).toMatchObject({ code: 0 });
  expect(read(TOPIC)).toBe(dreamed);
  const [, night = ''] = /^dream (job_\w{8}): refused/.exec(refused.stdout) ?? [];
  expect((await nocturne('undo', night)).stdout).toMatch(/^dream job_\w{8}: undone; /);
  expect(await json('list')).toMatchObject({ topics: [] });
});

test('what was taken back in part is not offered again until that is redone; history names what undo takes', async () => {
  const { nocturne, dir } = await testApp();
  await nocturne('remember', 'Deploys go to delta.');
  await nocturne('remember', 'Never use semicolons.');
  await nocturne('dream');
  const topic = join(dir, TOPIC);
  writeFileSync(topic, readFileSync(topic, 'utf8').replace('Deploys go', 'All deploys go'));
  const part = await nocturne('undo', '--last', '--partial');
  expect(part.stdout).toMatch(/^dream job_\w{8}: undone-in-part; /);
  const id = /^dream (job_\w{8})/.exec(part.stdout)?.[1] ?? '';
  expect((await nocturne('undo')).stderr).toContain('You remembered');
  const again = await nocturne('undo', id);
  const redo = /, undo (job_\w+)\)/.exec(again.stdout)?.[1] ?? '';
  expect((await nocturne('undo', redo)).code).toBe(0);
  expect((await nocturne('undo')).stderr).toContain(id);
  const history = (await nocturne('show', '--history')).stdout;
  expect(history).toContain(`dream ${id}`);
  expect(history).toMatch(/\tyou, undo job_\w{8}\t/);
});

test('redact tells what it would change, asks, changes it, and leaves nothing to find', async () => {
  const testing = await dreamt();
  expect((await testing.nocturne('redact', '--match', 'pnpm', '--dry-run')).stdout).toContain(TOPIC);
  expect(readFileSync(join(testing.dir, TOPIC), 'utf8')).toContain('pnpm');
  const asked = await testing.nocturne('redact', '--match', 'pnpm');
  expect(asked).toMatchObject({ code: 2, stdout: 'Nothing was redacted.\n' });
  expect(asked.stderr).toMatch(/^would redact \d+ versions?, \d+ rows? of the database, \d+ files\n/);
  for (const said of ['This cannot be undone.', join(testing.dir, TOPIC), 'without asking: --yes'])
    expect(asked.stderr).toContain(said);
  const no = await runHere(['redact', '--match', 'pnpm'], testing.environment, { isTerminal: true, stdin: 'n\n' });
  expect(no).toMatchObject({ code: 2, stderr: expect.stringContaining('Redact it? [y/N]') });
  expect(await testing.json('redact', '--match', 'pnpm')).toMatchObject({ job: null });
  expect(readFileSync(join(testing.dir, TOPIC), 'utf8')).toContain('pnpm');
  expect((await testing.nocturne('redact', '--yes')).stderr).toContain('Say what to redact');
  mkdirSync(join(testing.home, 'compiled', 'v24'), { recursive: true });
  writeFileSync(join(testing.home, 'compiled', 'v24', 'program'), 'pnpm');
  const yes = await runHere(['redact', '--match', 'pnpm'], testing.environment, { isTerminal: true, stdin: 'y\n' });
  expect(yes).toMatchObject({ code: 0, stderr: expect.stringContaining('brings it back') });
  expect(readFileSync(join(testing.dir, TOPIC), 'utf8')).toContain('Always use [redacted] instead of npm.');
  const again = await testing.nocturne('redact', '--match', 'pnpm');
  expect(again.stdout).toBe('redacted 0 versions, 0 rows of the database, 0 files\n');
});

test('history says what it cannot read, and that it knows no such file', async () => {
  const { nocturne } = await dreamt();
  const history = (...args: string[]) => nocturne('show', ...args, '--history');
  for (const [args, code, words] of [
    [['--limit', 'many'], 2, "'many' is invalid. Give a whole number"],
    [['nothing.md'], 1, 'There is no version of nothing.md'],
  ] as const) {
    expect(await history(...args)).toMatchObject({ code, stderr: expect.stringContaining(words) });
  }
});
