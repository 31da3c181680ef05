// A memory directory that cannot be written (a read-only mount, another user's) is looked at all the same.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testApp } from '../support/app.ts';
import { treeHash } from '../support/mcp.ts';
import { runHere } from '../support/run-here.ts';
import { tempDir } from '../support/temp.ts';
import { makeUnwritable } from '../support/unwritable.ts';

test('what only looks works where nothing can be written, and says what it says elsewhere', async ({ skip }) => {
  const testing = await testApp();
  const { app, store, dir, environment } = testing;
  await app.remember(store, { text: 'Staging is alpha.', type: 'project' });
  await app.dream(store, {});
  const { id } = await app.remember(store, { text: 'Live is beta.', type: 'project' }).then(({ entry }) => entry);
  await app.close();
  const run = (...args: string[]) => runHere(args, environment);
  const looks = [
    ['next'],
    ['next', '--prompt', 'alpha'],
    ['list'],
    ['search', 'alpha'],
    ['list', '--day'],
    ['why'],
    ['show', 'project-facts.md'],
    ['why', 'project-facts.md'],
    ['why', id],
    ['show', '--history'],
    ['show', 'project-facts.md', '--diff'],
    ['--json'],
  ];
  const before = [];
  for (const look of looks) before.push(await run(...look));
  if (!makeUnwritable(dir)) skip();
  const hash = treeHash(dir);
  for (const [at, look] of looks.entries()) {
    const { code, stdout, stderr } = await run(...look);
    expect([look, code, stdout, stderr]).toEqual([look, before[at]?.code, before[at]?.stdout, before[at]?.stderr]);
  }
  const kept = await run('remember', 'x');
  // It is in the database, and written when that can be.
  expect(kept).toMatchObject({ code: 0, stdout: expect.stringContaining('Remembered: x') });
  expect(await run()).toMatchObject({ code: 3, stdout: expect.stringMatching(/cannot\s+be\s+written/) });
  expect(treeHash(dir)).toBe(hash);
});

test('files in which nocturne never worked are shown where nothing can be written, or it says why not', async ({
  skip,
}) => {
  const { app, environment, home } = await testApp();
  await app.close();
  const dir = tempDir();
  writeFileSync(join(dir, 'hosts.md'), '- Staging is alpha.\n');
  if (!makeUnwritable(dir)) skip();
  const here = (...args: string[]) => runHere(args, { ...environment, NOCTURNE_HOME: home, NOCTURNE_MEMORY_DIR: dir });
  expect((await here('show', 'hosts.md')).stdout).toBe('- Staging is alpha.\n');
  expect((await here('search', 'alpha')).stdout).toContain('hosts.md:1');
});

test('what only looks makes nothing where nothing is', async () => {
  const { nocturne } = await testApp();
  const dir = join(tempDir(), 'memory');
  const looks = [['list'], ['search', 'x'], ['show'], ['show', '--history'], ['list', '--day'], ['why'], ['--json']];
  const more = [
    ['why', 'a:1'],
    ['why', 'x'],
    ['show', '--history'],
    ['show', 'a', '--diff'],
    ['next'],
    ['list', '--sessions'],
    ['check'],
    ['show', '--edit', '--json'],
  ];
  for (const look of [...looks, ...more]) {
    const { stderr, stdout } = await nocturne(...look, '--memory', dir);
    expect({ look, isSaid: (stderr + stdout).trim() !== '' }).toEqual({ look, isSaid: true });
    expect({ look, isMade: existsSync(dir) }).toEqual({ look, isMade: false });
  }
});
