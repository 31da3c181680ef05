// A memory as plain files, and plain files as a memory: with all that was done, never outside of it, and taken back as a whole.

import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listFiles } from '../../src/base/files/directories.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

type Imported = { outcome: string; job: string | null } & Record<
  'added' | 'changed' | 'differing' | 'skipped',
  string[]
>;

const SECRET = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;

async function contents(dir: string): Promise<Record<string, string>> {
  const kept = listFiles(dir).filter((path) => !/^\.nocturne\/(?!dreams)/.test(path));
  return Object.fromEntries(kept.map((path) => [path, readFileSync(join(dir, path), 'utf8')]));
}

/** A memory that read a session and dreamed, and where it was exported to. */
async function exported(): Promise<TestApp & { session: string; out: string }> {
  const testing = await testApp();
  const session = aSession(['Always use pnpm instead of npm.', 'The beta starts on 2026-12-04.']);
  writeFileSync(join(testing.dir, 'by-hand.md'), 'No frontmatter,\r\nno last line end');
  await testing.nocturne('learn', session.path);
  expect((await testing.nocturne('dream')).code).toBe(0);
  await testing.nocturne('remember', 'The kitchen closes at 15:00.');
  const out = join(tempDir(), 'out');
  expect(await testing.nocturne('export', out)).toMatchObject({ code: 0 });
  return { ...testing, session: session.path, out };
}

const importFrom = ({ json }: TestApp, from: string, ...more: string[]) => json<Imported>('import', from, ...more);

test('an export brings an empty memory to the same files, and nothing is extracted or distilled again', async () => {
  const { dir, out, session } = await exported();
  expect(await contents(out)).toEqual(await contents(dir));
  const other = await testApp();
  const report = await importFrom(other, out);
  expect(report).toMatchObject({ outcome: 'imported', changed: [], differing: [], skipped: [] });
  expect(await contents(other.dir)).toEqual(await contents(dir));
  expect((await other.nocturne('check')).code).toBe(0);
  expect(await other.json('learn', session)).toMatchObject({ entries: [] });
  const dream = await other.json<{ operations: { kind: string }[] }>('dream');
  expect(dream.operations.map(({ kind }) => kind)).toEqual(['add']);
  const why = await other.nocturne('why', 'pnpm');
  expect(why.stdout).toMatch(/“Always use pnpm instead of npm\.”\n +said in an imported memory, /);
  expect(await importFrom(other, out)).toMatchObject({ added: [], changed: [] });
});

test('what was forgotten goes along as marks without its words, and is not learned elsewhere from the same session', async () => {
  const { nocturne, session } = await exported();
  await nocturne('forget', 'pnpm', '--yes');
  const out = join(tempDir(), 'again');
  await nocturne('export', out);
  expect(readFileSync(join(out, '.nocturne/history.json'), 'utf8')).not.toContain('pnpm');
  const other = await testApp();
  await importFrom(other, out);
  const { entries } = await other.json<{ entries: { text: string }[] }>('learn', session);
  expect(entries.map(({ text }) => text).join()).not.toContain('pnpm');
});

test('an import is taken back by undo, and done again it is whole again', async () => {
  const { out } = await exported();
  const other = await testApp();
  const { job } = await importFrom(other, out);
  const whole = await contents(other.dir);
  expect((await other.nocturne('undo', job ?? '')).code).toBe(0);
  expect(await contents(other.dir)).toEqual({});
  await importFrom(other, out);
  expect(await contents(other.dir)).toEqual(whole);
  expect((await other.nocturne('why', 'pnpm')).stdout).toContain('“Always use pnpm instead of npm.”');
  expect(await importFrom(other, out)).toMatchObject({ outcome: 'unchanged', job: null });
});

test('into a memory that holds something comes what is missing; with --theirs what differs goes to history', async () => {
  const { out } = await exported();
  const other = await testApp();
  const topic = join(other.dir, 'working-agreements.md');
  writeFileSync(topic, '---\ntype: feedback\n---\n\n- Mine.\n');
  writeFileSync(join(other.dir, 'MEMORY.md'), '# Memory\n\n- My words about it [own.md]\n');
  const first = await importFrom(other, out);
  expect(first).toMatchObject({ differing: [], changed: ['working-agreements.md'] });
  expect(readFileSync(topic, 'utf8')).toMatch(/^---\ntype: feedback\n---\n\n- Mine\.\n- Always use pnpm .*\n$/);
  const index = readFileSync(join(other.dir, 'MEMORY.md'), 'utf8');
  for (const line of ['- My words about it [own.md]', '[working-agreements.md]', '[project-facts.md]'])
    expect(index).toContain(line);
  expect(await importFrom(other, out)).toMatchObject({ outcome: 'unchanged', differing: ['working-agreements.md'] });
  expect(await importFrom(other, out, '--theirs')).toMatchObject({ changed: ['working-agreements.md'], added: [] });
  expect(readFileSync(topic, 'utf8')).toBe(readFileSync(join(out, 'working-agreements.md'), 'utf8'));
  const { stdout } = await other.nocturne('show', 'working-agreements', '--diff');
  expect(stdout).toContain('-- Mine.');
});

test('edits by hand on both sides come together: none is lost, none is there twice, and where both changed a line, both are', async () => {
  const here = await exported();
  const there = await testApp();
  await importFrom(there, here.out);
  const topicOf = ({ dir }: TestApp) => join(dir, 'working-agreements.md');
  const edit = (of: TestApp, change: (text: string) => string) =>
    writeFileSync(topicOf(of), change(readFileSync(topicOf(of), 'utf8')));
  const linesIn = (of: TestApp) => readFileSync(topicOf(of), 'utf8').match(/^- .*/gm);
  const carry = async (from: TestApp, to: TestApp) => {
    const out = join(tempDir(), 'out');
    await from.json('export', out);
    return importFrom(to, out);
  };
  edit(here, (text) => `${text}- Written here.\n- To be edited.\n- To be removed.\n`);
  await carry(here, there);
  expect(linesIn(there)).toEqual(linesIn(here));
  edit(here, (text) => text.replace('edited', 'edited, here').replace('- To be removed.\n', ''));
  edit(there, (text) => `${text.replace('edited', 'edited, there')}- Written there.\n`);
  rmSync(join(here.dir, 'by-hand.md'));
  await carry(here, there);
  expect(existsSync(join(there.dir, 'by-hand.md'))).toBe(false);
  const all = [
    expect.stringContaining('pnpm'),
    ...['- To be edited, here.', '- To be edited, there.', '- Written here.', '- Written there.'],
  ];
  expect(linesIn(there)?.sort()).toEqual(all);
  await carry(there, here);
  expect(linesIn(here)?.sort()).toEqual(all);
  expect(await carry(there, here)).toMatchObject({ outcome: 'unchanged' });
  await here.nocturne('forget', 'Written there', '--yes');
  for (const [from, to] of [[there, here] as const, [here, there] as const]) {
    await carry(from, to);
    expect(linesIn(to)?.join()).not.toContain('Written there');
  }
  expect((await there.nocturne('check')).code).toBe(0);
});

test('a log of a day that both have keeps the entries of both, and what was forgotten does not come back', async () => {
  const { out } = await exported();
  const other = await testApp();
  await other.nocturne('remember', 'The lift is out of order.');
  const log = 'logs/2026/11/2026-11-21.md';
  const mine = readFileSync(join(other.dir, log), 'utf8');
  expect((await importFrom(other, out)).changed).toEqual([log]);
  const both = readFileSync(join(other.dir, log), 'utf8');
  expect(both.startsWith(mine)).toBe(true);
  expect(both).toContain('The kitchen closes at 15:00.');
  expect((await other.nocturne('forget', 'The kitchen closes', '--yes')).code).toBe(0);
  await importFrom(other, out, '--theirs');
  expect(readFileSync(join(other.dir, log), 'utf8')).not.toContain('kitchen');
  expect(readFileSync(join(other.dir, log), 'utf8')).toContain('The lift is out of order.');
});

test('only Markdown of a memory comes in, through no link, and without secrets; only that goes out', async () => {
  const from = join(tempDir(), 'from');
  for (const dir of ['.git', '.nocturne']) mkdirSync(join(from, dir), { recursive: true });
  writeFileSync(join(from, 'good.md'), `- The token is ${SECRET}.\n`);
  const skipped = ['.git/hooks.md', '.nocturne/ledger.db', 'run.sh', 'latin.md'];
  for (const path of skipped) writeFileSync(join(from, path), Buffer.from([0x68, 0xe9]));
  symlinkSync('/etc/passwd', join(from, 'link.md'));
  const other = await testApp();
  const report = await importFrom(other, from);
  expect(report).toMatchObject({ outcome: 'imported', added: ['good.md'], skipped: skipped.toSorted() });
  expect(readFileSync(join(other.dir, 'good.md'), 'utf8')).toMatch(/^- The token is \[redacted:[\w-]+\]\.\n$/);

  writeFileSync(join(other.dir, 'later.md'), `- Now it is ${SECRET}.\n`);
  writeFileSync(join(other.dir, 'latin.md'), Buffer.from([0x68, 0xe9]));
  const out = join(tempDir(), 'out');
  expect(await other.json('export', out)).toMatchObject({ skipped: ['latin.md'] });
  expect(listFiles(out).filter((path) => !path.startsWith('.nocturne/dreams/'))).toEqual(
    expect.arrayContaining(['MEMORY.md', 'good.md', 'later.md']),
  );
  expect(Object.values(await contents(out)).join('')).not.toContain(SECRET);
});

test('nothing is written over, and where no memory or directory is none is made', async () => {
  const { out, nocturne } = await exported();
  const before = await contents(out);
  const again = await nocturne('export', out);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('exists already') });
  expect(await contents(out)).toEqual(before);
  const none = join(tempDir(), 'none');
  const nowhere = await nocturne('export', join(none, 'out'), '--memory', none);
  expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no memory') });
  const nothing = await nocturne('import', join(none, 'out'), '--memory', none);
  expect(nothing).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no directory') });
  expect(existsSync(none)).toBe(false);
});
