// The everyday commands, as a person types them: what they print, at a terminal and into a pipe, and how they end.

import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RememberReport } from '../../jobs/edit.ts';
import type { ForgetReport } from '../../jobs/forget.ts';
import { listFiles } from '../../src/base/files/directories.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { sized } from '../support/depth.ts';
import { runHere } from '../support/run-here.ts';
import { aSession, sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const PNPM = 'Always use pnpm instead of npm.';
const TOPIC =
  '---\nname: hosts\ndescription: Where things run # for deploys\ntype: reference\n---\n\n- Staging is alpha.\n';

/** A memory that a person wrote: a topic from ten days ago, an entry, and no dream yet. */
async function aMemory(): Promise<TestApp> {
  const testing = await testApp();
  writeFileSync(join(testing.dir, 'hosts.md'), TOPIC);
  const tenDaysAgo = new Date('2026-11-11T01:00:00Z');
  utimesSync(join(testing.dir, 'hosts.md'), tenDaysAgo, tenDaysAgo);
  await testing.app.remember(testing.store, { text: PNPM, type: 'feedback' });
  return testing;
}

test('remember takes words or stdin, says what it keeps and how to take it back', async () => {
  const { environment, dir } = await testApp();
  const typed = await runHere(['remember', 'Always', 'use', 'pnpm.'], environment);
  expect(typed).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/^Remembered: Always use pnpm\.\n.*\n.*undo job_/),
  });
  const piped = await runHere(['remember', '-', '--type', 'user', '--json'], environment, { stdin: 'I am\nKim.\n' });
  const report: RememberReport = JSON.parse(piped.stdout);
  expect(report).toMatchObject({
    outcome: 'remembered',
    entry: { type: 'user', text: 'I am Kim.', day: '2026-11-21' },
  });
  expect(readFileSync(join(dir, report.path), 'utf8')).toMatch(
    /\*\*feedback\*\* Always use pnpm\.[\s\S]*\*\*user\*\* I am Kim\./,
  );
  const before = readFileSync(join(dir, report.path), 'utf8');
  const ruins = await runHere(['remember', '-'], environment, { stdin: Buffer.from('caf\xe9', 'latin1') });
  expect(ruins).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('not UTF-8') });
  expect(readFileSync(join(dir, report.path), 'utf8')).toBe(before);
});

test('why of what was typed names who and when, and no session where there was none', async () => {
  const { json, nocturne } = await testApp();
  const { entry } = await json<RememberReport>('remember', PNPM);
  const { stdout } = await nocturne('why', entry?.id ?? '');
  expect(stdout).toMatch(/^ {2}said by you, just now$/m);
});

test('list names topics with type, age and lines, and entries that no dream has read; --type chooses', async () => {
  const { dir, json, nocturne } = await aMemory();
  const { stdout } = await nocturne('list');
  expect(stdout).toContain('hosts\treference\t10 d\t1\t\tWhere things run\n');
  expect(stdout).toMatch(/e_[0-9a-f]{8}\tfeedback\t2026-11-21\tAlways use pnpm instead of npm\.\n/);
  expect(await json('list', '--type', 'reference')).toEqual({
    memory: dir,
    topics: [
      {
        ...{ name: 'hosts', path: 'hosts.md', type: 'reference', description: 'Where things run', lines: 1 },
        ...{ pinned: false, modifiedAt: '2026-11-11T01:00:00.000Z' },
      },
    ],
    waiting: [],
  });
});

test('what a memory holds cannot command a terminal, and a topic of one endless line does not fill it', async () => {
  const { environment, dir } = await aMemory();
  const evil =
    'Where\u001b]0;title\u0007 hosts\u001b[2J are\r\u009b1A\u001b[8mhidden\u202eback\u2066to\u001b[38;5;0mfront';
  writeFileSync(join(dir, 'evil.md'), `---\r\nname: evil\r\ntype: reference\r\n---\r\n\r\n- ${evil}\r\n`);
  writeFileSync(join(dir, 'endless.md'), `- ${'long '.repeat(5_000)}\n`);
  const terminal = { ...environment, TERM: 'xterm-256color', CI: undefined };
  for (const command of [['list'], ['show', 'evil.md'], ['search', 'hosts']]) {
    const { stdout } = await runHere(command, terminal, { isTerminal: true });
    expect(stdout).toContain('hosts');
    expect(stdout.replace(/\u001b\[(?:1|22|36|39)m|\r?\n/g, '')).not.toMatch(/\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
  }
  const { stderr } = await runHere(['show', 'no\u001b[2J\u202ename.md'], terminal, { isTerminal: true });
  expect(stderr).toContain('no');
  expect(stderr.replaceAll('\n', '')).not.toMatch(/\p{Cc}|\u202e/u);
  expect((await runHere(['show', 'evil.md'], environment)).stdout).toContain(evil);
  expect((await runHere(['list'], environment)).stdout).toMatch(/\tlong (?:long ){20,28}long…$/m);
});

test('at a terminal there is a table with a head; with NO_COLOR and in a pipe there is no colour', async () => {
  const { environment } = await aMemory();
  // On a build server Node shows no colours.
  const colourful = { ...environment, TERM: 'xterm-256color', CI: undefined };
  const terminal = await runHere(['list'], colourful, { isTerminal: true });
  expect(terminal.stdout).toContain('\u001b[1mtopic');
  expect(terminal.stdout).toMatch(/topic.*type.*age.*lines.*description/);
  expect(terminal.stdout).toMatch(/^hosts {2}reference {2}10 d +1 +Where things run$/m);
  const plain = await runHere(['list'], { ...colourful, NO_COLOR: '1' }, { isTerminal: true });
  const piped = await runHere(['search', 'pnpm'], colourful);
  for (const { stdout } of [plain, piped]) expect(stdout).not.toContain('\u001b[');
});

test('search shows path and line of what it finds, best first, and ends with 1 where there is nothing', async () => {
  const { nocturne } = await aMemory();
  const found = await nocturne('search', 'staging', 'pnpm');
  expect(found).toMatchObject({ code: 0, stderr: '' });
  expect(found.stdout.split('\n').map((line) => line.split('  ')[0])).toEqual([
    'hosts.md:7',
    'logs/2026/11/2026-11-21.md:3',
    '',
  ]);
  expect(await nocturne('search', 'nothing', 'like', 'it')).toMatchObject({ code: 1, stdout: '' });
  expect(await nocturne('search', 'is', '--limit', '1')).toMatchObject({
    stderr: expect.stringMatching(/^(|… and \d+ more.*\n)$/),
  });
});

test('list --day shows the latest day, or one that is named by date or word; another is an error that names the nearest', async () => {
  const { dir, nocturne } = await aMemory();
  mkdirSync(join(dir, 'logs/2026/10'), { recursive: true });
  writeFileSync(join(dir, 'logs/2026/10/2026-10-02.md'), '# 2026-10-02\n\n- The gate code changed.\n');
  const latest = await nocturne('list', '--day');
  expect(latest.stdout).toBe('2026-11-21 · 1 entry\n02:00  feedback   Always use pnpm instead of npm. (new)\n');
  for (const day of ['today', '-0', '2026-11-21'])
    expect((await nocturne('list', '--day', day)).stdout).toBe(latest.stdout);
  expect((await nocturne('list', '--day', '2026-10-02')).stdout).toContain('The gate code changed.');
  for (const [day, words] of [
    ['yesterday', 'of 2026-11-20'],
    ['-1', '2026-10-02 and 2026-11-21'],
    ['frday', 'YYYY-MM-DD, today, yesterday'],
  ] as const) {
    expect(await nocturne('list', '--day', day)).toMatchObject({ code: 1, stderr: expect.stringContaining(words) });
  }
});

test('a dream and its report count alike: operations, whatever the entries and requests they took', async () => {
  const { app, nocturne, rows } = await testApp({ settings: { excerptTokens: 500 } });
  const session = sessionFile(tempDir());
  for (let n = 0; n < sized({ quick: 10, deep: 40 }); n++)
    session.add(`Always deploy service-${n} from branch release-${n} before ${n + 10} o'clock.`);
  // Said again in another session: two entries, one operation.
  const id = '22222222-2222-4333-8444-555555555555';
  const other = aSession(["Always deploy service-0 from branch release-0 before 10 o'clock."], { id });
  for (const { path: transcript } of [session, other]) await app.extract({ transcript, ended: true });
  const dream = await nocturne('dream');
  const counted = /^dream: (.*); /.exec(dream.stdout)?.[1];
  const report = await nocturne('why');
  expect(report.stdout.split('\n')[0]).toMatch(new RegExp(`: ${counted}$`));
  const items = report.stdout.split('\n').filter((line) => /^ {2}(?:added|changed|confirmed) /.test(line)).length;
  expect(items).toBeGreaterThan(1);
  const sum = (counted ?? '').split(', ').reduce((all, each) => all + Number.parseInt(each, 10), 0);
  expect(items).toBe(sum);
  expect((await rows('entries')).length).toBeGreaterThan(items);
});

test('why tells what the last dream did, entry by entry, and of a day what all did', async () => {
  const { app, store, json, nocturne } = await aMemory();
  expect(await nocturne('why')).toMatchObject({ code: 1, stderr: expect.stringContaining('nocturne dream') });
  await app.dream(store, {});
  await app.remember(store, { text: 'The release deadline is 2026-12-04.', type: 'project' });
  await app.dream(store, {});
  const last = await nocturne('why');
  expect(last.stdout).toMatch(
    /^Dream of 2026-11-21 02:00, job_\w+: 1 added\n[\s\S]*^ {2}added \(project-facts\): .*\n {4}The release deadline/m,
  );
  expect(last.stdout).not.toContain('pnpm');
  const day = await json<{ dreams: unknown[] }>('why', 'today');
  expect(day.dreams).toMatchObject([
    { operations: [{ kind: 'add', came: [PNPM] }] },
    { operations: [{ kind: 'add', topic: 'project-facts.md' }] },
  ]);
});

test('show --pin sets one key, --unpin says that it is pinned no more, every other byte stays; a mistyped topic names the nearest', async () => {
  const { dir, json, nocturne } = await aMemory();
  const path = join(dir, 'hosts.md');
  expect(await json('show', 'hosts', '--pin')).toEqual({ path: 'hosts.md', pinned: true, changed: true });
  expect(readFileSync(path, 'utf8')).toBe(TOPIC.replace('\n---\n\n', '\npinned: true\n---\n\n'));
  expect((await nocturne('show', path, '--pin')).stdout).toBe('hosts.md is pinned already.\n');
  expect((await nocturne('list')).stdout).toContain('\tpinned\t');
  expect(await json('show', 'hosts.md', '--unpin')).toMatchObject({ pinned: false, changed: true });
  expect(readFileSync(path, 'utf8')).toBe(TOPIC.replace('\n---\n\n', '\npinned: false\n---\n\n'));
  expect(await nocturne('show', 'hsots', '--pin')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Did you mean hosts?'),
  });
  const unknown = await nocturne('show', 'host');
  expect(unknown.stderr).toContain('Did you mean hosts? If it was deleted, nocturne show host --history');
});

test('show --edit starts the editor at a terminal, with its own arguments, and prints the path elsewhere', async () => {
  const { environment, dir } = await aMemory();
  const seen = join(tempDir(), 'seen');
  const editor = join(tempDir(), 'my editor');
  writeFileSync(editor, `#!/bin/sh\nprintf '%s\\n' "$@" > '${seen}'\n`, { mode: 0o755 });
  const withEditor = { ...environment, VISUAL: `'${editor}' --wait`, EDITOR: 'false' };
  expect(await runHere(['show', 'hosts', '--edit'], withEditor, { isTerminal: true })).toMatchObject({
    code: 0,
    stdout: '',
  });
  expect(readFileSync(seen, 'utf8')).toBe(`--wait\n${join(dir, 'hosts.md')}\n`);
  expect(await runHere(['show', '--edit'], { ...withEditor, VISUAL: 'false' }, { isTerminal: true })).toMatchObject({
    code: 1,
  });
  expect((await runHere(['show', '--edit'], withEditor)).stdout).toBe(`${dir}\n`);
  expect((await runHere(['show', 'hosts', '--edit'], environment, { isTerminal: true })).stdout).toBe(
    `${join(dir, 'hosts.md')}\n`,
  );
});

test('forget asks at a terminal and shows what goes; without an answer, a terminal or a yes nothing goes', async () => {
  const { environment, dir } = await aMemory();
  const log = join(dir, 'logs/2026/11/2026-11-21.md');
  for (const [options, code] of [
    [{ isTerminal: true, stdin: 'n\n' }, 2],
    [{ isTerminal: false, stdin: 'y\n' }, 2],
    [{ isTerminal: true, stdin: 'y\n' }, 0],
  ] as const) {
    const ended = await runHere(['forget', 'pnpm'], environment, options);
    expect(ended).toMatchObject({ code, stderr: expect.stringMatching(/forgotten:\n {2}entry {2}e_\w+ .*pnpm/) });
    expect(existsSync(log)).toBe(code !== 0);
  }
  const yes = await runHere(['forget', 'hosts', '--yes', '--json'], environment);
  const report: ForgetReport = JSON.parse(yes.stdout);
  expect(report).toMatchObject({ outcome: 'forgotten', topics: ['hosts.md'], entries: [] });
  expect((await runHere(['undo', report.job ?? ''], environment)).code).toBe(0);
  expect(readFileSync(join(dir, 'hosts.md'), 'utf8')).toBe(TOPIC);
});

test('forget of a text that may mean several things lists them with their ids and ends with 2', async () => {
  const { app, store, dir, nocturne } = await aMemory();
  const { entry } = await app.remember(store, { text: 'Never publish with pnpm.', type: 'feedback' });
  const { code, stdout } = await nocturne('forget', 'pnpm', '--yes');
  expect({ code, stdout }).toEqual({ code: 2, stdout: expect.stringContaining(entry.id.slice(0, 10)) });
  expect(readFileSync(join(dir, 'logs/2026/11/2026-11-21.md'), 'utf8').match(/\*\*feedback\*\*/g)).toHaveLength(2);
  expect(await nocturne('forget', entry.id.slice(0, 10), '--yes')).toMatchObject({ code: 0 });
  const stderr = expect.stringContaining('nocturne search');
  expect(await nocturne('forget', 'nowhere said')).toMatchObject({ code: 1, stderr });
  expect((await nocturne('forget', 'hosts:99')).stderr).toContain('nocturne show hosts shows its lines.');
});

test('a secret in the instructions of any command is in no byte of the memory and the home', async () => {
  const { dir, home, nocturne } = await testApp();
  const session = aSession();
  const secret = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
  const commands = [
    ['learn', session.path],
    ['dream'],
    ['learn', '--again', '--all'],
    ['learn', '--later', session.path],
    ['dream', '--later'],
  ];
  for (const command of commands) {
    const ended = await nocturne(...command, '--instructions', `Keep what uses ${secret}.`);
    expect(ended, command.join(' ')).toMatchObject({ code: 0, stderr: '' });
  }
  const places = [dir, home];
  const texts = (await Promise.all(places.map(listFiles))).flatMap((paths, at) =>
    paths.map((path) => readFileSync(join(places[at] as string, path), 'latin1')),
  );
  expect(texts.filter((text) => text.includes(secret))).toEqual([]);
  expect(texts.filter((text) => text.includes('Keep what uses [redacted:github].'))).not.toEqual([]);
});
