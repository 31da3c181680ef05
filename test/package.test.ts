// What is published: that it is whole, small, and of use where nothing else is installed.

import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publint } from 'publint';
import { expect, test } from 'vitest';
import { sized } from './support/depth.ts';
import { tempDir } from './support/temp.ts';

const root = join(import.meta.dirname, '..');
// By its place: a test runner is given a package's sources ("development"), which Node does not take from there.
const { checkPackage, createPackageFromTarballData }: typeof import('@arethetypeswrong/core') = await import(
  join(root, 'node_modules/@arethetypeswrong/core/dist/index.js')
);
const MB = 1024 * 1024;
const npm = (args: string[], cwd = root) =>
  execFileSync('npm', [...args, '--ignore-scripts'], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

/** The tarball that would be published, of the build that is there. */
function pack(): string {
  const dir = tempDir();
  npm(['pack', '--pack-destination', dir]);
  return join(dir, readdirSync(dir)[0] ?? '');
}

test('the tarball is under 1.5 MB, its entries resolve with their types, and it names what it took in', async () => {
  const tarball = pack();
  const bytes = readFileSync(tarball);
  expect(bytes.length).toBeLessThan(1.5 * MB);
  expect((await publint({ pack: { tarball: Uint8Array.from(bytes).buffer } })).messages).toEqual([]);
  const { types, ...checked } = await checkPackage(createPackageFromTarballData(bytes));
  expect(types).toBeTruthy();
  // It is made of modules; Node's require takes these too. Resolution of before exports is no longer any Node's.
  const problems = 'problems' in checked ? checked.problems : [];
  expect(problems.filter((each) => !['CJSResolvesToESM', 'NoResolution'].includes(each.kind))).toEqual([]);
  const licences = readFileSync(join(root, 'dist/licences.txt'), 'utf8');
  expect(licences).toMatch(/^gray-matter [\d.]+ \(MIT\)$/m);
  const { components } = JSON.parse(readFileSync(join(root, 'dist/sbom.json'), 'utf8'));
  const names = components.map((each: { name: string }) => each.name);
  expect(names).toEqual(expect.arrayContaining(['gray-matter', 'bullmq', 'better-sqlite3', 'msgpackr']));
  expect(names).not.toContain('vitest');
});

test.skipIf(sized({ quick: true, deep: false }))(
  'installed where nothing else is: under 130 MB and 100 packages, remembers, and says how to get a queue of its own',
  () => {
    const dir = tempDir();
    writeFileSync(join(dir, 'package.json'), '{}');
    npm(['install', '--no-audit', '--no-fund', '--omit=dev', pack()], dir);
    const paths = readdirSync(join(dir, 'node_modules'), { recursive: true, encoding: 'utf8' });
    const bytes = paths.reduce((sum, path) => sum + statSync(join(dir, 'node_modules', path)).size, 0);
    expect(bytes).toBeLessThan(130 * MB);
    const packages = paths.filter((path) => /(^|node_modules\/)(@[^/]+\/)?[^/]+\/package\.json$/.test(path));
    expect(packages.length).toBeLessThan(100);
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [join(dir, 'node_modules/nocturne/dist/nocturne.js'), ...args], {
        cwd: dir,
        env: { PATH: process.env.PATH, HOME: dir, NOCTURNE_HOME: join(dir, 'home') },
        encoding: 'utf8',
      });
    expect(run('remember', 'Always use pnpm.').status).toBe(0);
    expect(run('recall').stdout).toContain('Always use pnpm.');
    expect(run('setup', 'codex', '--yes').stdout).toContain('hooks: ~/.codex/hooks.json');
    expect(run('doctor').stdout).toContain('ok    hook of Codex: ~/.codex/hooks.json');
    // As a library, without the SDK that only whoever calls it may have.
    const program = `import { memoryTool, openStore } from 'nocturne';
      const tool = memoryTool(await openStore('memory'), { mode: 'read-only' });
      await tool.run({ command: 'create', path: '/memories/a.md', file_text: 'a' }).catch((error) => console.log(error.message));`;
    const called = spawnSync(process.execPath, ['--input-type=module', '-e', program], { cwd: dir, encoding: 'utf8' });
    expect(called).toMatchObject({ status: 0, stdout: expect.stringContaining('read-only') });
    const worker = run('worker');
    expect(worker).toMatchObject({ status: 1 });
    expect(worker.stderr).toMatch(/npm install "@electric-sql\/pglite@\^[\d.]+"/);
  },
);
