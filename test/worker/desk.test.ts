// A worker over the memory directories of this machine: what keeps one from being worked keeps nobody from the others.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { isDirectory } from '../../src/base/files/directories.ts';
import { testApp } from '../support/app.ts';
import { enqueueExtract, openApp } from '../support/doors.ts';
import { runHere } from '../support/run-here.ts';
import { aSession, RULE } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

function logIn(dir: string): string {
  const logs = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((path) => /^logs.*\.md$/.test(path));
  return logs.map((path) => readFileSync(join(dir, path), 'utf8')).join();
}

/** Two projects; each has a memory, and a session that waits to be learned. */
async function twoProjects() {
  const { home, environment } = await testApp();
  const variables = { ...environment, NOCTURNE_MEMORY_DIR: '', CLAUDE_CONFIG_DIR: join(home, 'claude') };
  const app = await openApp(await loadConfig({}, variables));
  const dirs: string[] = [];
  for (const [n, name] of ['first', 'second'].entries()) {
    const id = `000${n}2222-2222-4333-8444-555555555555`;
    const { path } = aSession([RULE], { dir: tempDir(), id, cwd: `/work/${name}` });
    await enqueueExtract(app, { transcript: path, ended: true });
    dirs.push((await app.home.stores()).find((dir) => dir.includes(name)) ?? '');
  }
  await app.close();
  const worker = () => runHere(['worker', '--once'], variables);
  return { worker, first: dirs[0] as string, second: dirs[1] as string };
}

test.each([
  ['is gone', () => undefined],
  ['has a file in its place', (dir: string) => writeFileSync(dir, 'mine')],
] as const)(
  'a directory that %s is not made again by what waits for it, the others are worked, and nothing is lost',
  async (_, put) => {
    const { worker, first, second } = await twoProjects();
    rmSync(first, { recursive: true });
    put(first);
    expect(await worker()).toMatchObject({ code: 0 });
    expect(isDirectory(first)).toBe(false);
    expect(logIn(second)).toContain('pnpm');
    // What waits is kept in the database, not in the directory.
    rmSync(first, { force: true });
    mkdirSync(first);
    await worker();
    expect(logIn(first)).toContain('pnpm');
  },
);
