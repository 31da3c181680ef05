// What is published: that it is whole, small, and of use where nothing else is installed.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Anthropic from '@anthropic-ai/sdk';
import { publint } from 'publint';
import { expect, onTestFinished, test, vi } from 'vitest';
import { isDeep } from './support/depth.ts';
import { processesWith } from './support/processes.ts';
import { tempDir } from './support/temp.ts';

const root = join(import.meta.dirname, '..');
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const MB = 1024 * 1024;
const packages = tempDir();
const npm = (args: string[], cwd = root) =>
  execFileSync('npm', [...args, '--ignore-scripts'], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

const deep = test.runIf(isDeep);
let packed: string | undefined;
/** The tarball that would be published, of the build that is there. */
function pack(): string {
  packed ??= npm(['pack', '--pack-destination', packages]).trim().split('\n').at(-1) ?? '';
  return join(packages, packed);
}

deep('the tarball is under 1.9 MB, its entries resolve with types, and it names what it took in', async () => {
  // By its place: a test runner is given a package's sources ("development"), which Node does not take from there.
  const { checkPackage, createPackageFromTarballData }: typeof import('@arethetypeswrong/core') = await import(
    join(root, 'node_modules/@arethetypeswrong/core/dist/index.js')
  );
  const tarball = pack();
  const bytes = readFileSync(tarball);
  expect(bytes.length).toBeLessThan(1.9 * MB);
  expect((await publint({ pack: { tarball: Uint8Array.from(bytes).buffer } })).messages).toEqual([]);
  const { types, ...checked } = await checkPackage(createPackageFromTarballData(bytes));
  expect(types).toBeTruthy();
  // It is made of modules; Node's require takes these too. Resolution of before exports is no longer any Node's.
  const problems = 'problems' in checked ? checked.problems : [];
  expect(problems.filter((each) => !['CJSResolvesToESM', 'NoResolution'].includes(each.kind))).toEqual([]);
  const licences = readFileSync(join(root, 'dist/licences.txt'), 'utf8');
  expect(licences).toMatch(/^gray-matter [\d.]+ \(MIT\)$/m);
});

// The compiler takes longer than all else.
deep('its types are whole for a program that has nothing but what is installed with it', () => {
  const dir = tempDir();
  const modules = join(dir, 'node_modules');
  mkdirSync(join(modules, 'nocturne'), { recursive: true });
  execFileSync('tar', ['-xzf', pack(), '-C', join(modules, 'nocturne'), '--strip-components', '1']);
  mkdirSync(join(modules, '@types'));
  for (const name of [...Object.keys(dependencies), '@types/node', 'undici-types'])
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  const use = `import { loadConfig, openNocturne } from 'nocturne';
    const config = await loadConfig();
    const [model, input]: [string, number] = [config.model, config.prices.own.input];
    // @ts-expect-error: so a type that is not known would be told
    config.dayTokens.trim();
    console.log(model, input, (await openNocturne(config)).files);`;
  writeFileSync(join(dir, 'use.mts'), use);
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const flags = '--strict --noEmit --target es2024 --lib esnext --module nodenext --types node'.split(' ');
  const { stdout } = spawnSync(process.execPath, [tsc, ...flags, 'use.mts'], { cwd: dir, encoding: 'utf8' });
  expect(stdout).toBe('');
});

/** Installed as `npm install --global` does it, where nothing else is: the place of its packages, and how it is run there. */
function install() {
  const [prefix, home] = [tempDir(), tempDir()];
  npm(['install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', pack()]);
  const modules = join(prefix, 'lib/node_modules');
  const env = { PATH: process.env.PATH, HOME: home };
  const run = (args: string[], more: object = {}) =>
    spawnSync(join(prefix, 'bin/nocturne'), args, { cwd: home, env: { ...env, ...more }, encoding: 'utf8' });
  return { prefix, home, modules, env, run };
}

deep(
  'installed where nothing else is: under 52 MB and 30 packages, remembers, and says which package is not there for what is asked',
  () => {
    const { home, modules, run } = install();
    const paths = readdirSync(modules, { recursive: true, encoding: 'utf8' });
    const bytes = paths.reduce((sum, path) => sum + statSync(join(modules, path)).size, 0);
    expect(bytes).toBeLessThan(52 * MB);
    const packages = paths.filter((path) => /(^|node_modules\/)(@[^/]+\/)?[^/]+\/package\.json$/.test(path));
    expect(packages.length).toBeLessThan(30);
    expect(run(['remember', 'Always use pnpm.']).status).toBe(0);
    expect(run(['next']).stdout).toContain('Always use pnpm.');
    expect(run(['setup', 'codex', '--yes']).stdout).toContain('hooks, one with each prompt: ~/.codex/hooks.json');
    expect(run(['doctor']).stdout).toContain('ok    hook of Codex: ~/.codex/hooks.json');
    // What a command needs that starts programs, one that starts none does not load.
    const told =
      "process.on('exit', () => console.error(process.moduleLoadList.includes('NativeModule child_process')))";
    const loads = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(told)}` };
    expect(run(['list', '--memory', join(home, 'memory')], loads).stderr).toBe('false\n');
    // As a library, without the SDK that only whoever calls it may have.
    const program = `import * as library from '${join(modules, 'nocturne/dist/lib/index.js')}';
      const opened = library.openStore ? null : await library.openNocturne();
      const files = opened ? opened.files(await opened.memoryFor()) : await library.openStore('memory');
      const tool = library.memoryTool(files, { mode: 'read-only' });
      await tool.run({ command: 'create', path: '/memories/a.md', file_text: 'a' }).catch((error) => console.log(error.message));
      await opened?.close();`;
    const called = spawnSync(process.execPath, ['--input-type=module', '-e', program], { cwd: home, encoding: 'utf8' });
    expect(called).toMatchObject({ status: 0, stdout: expect.stringContaining('read-only') });

    const pg = /npm install --global pg/;
    const database = { NOCTURNE_DATABASE_URL: 'postgres://127.0.0.1:1/test' };
    for (const [args, more] of [
      [['worker'], database],
      [['serve', '--port', '0'], database],
    ] as const) {
      const said = run([...args], more);
      expect([args, said.status, said.stderr]).toEqual([args, 1, expect.stringMatching(pg)]);
    }
    expect(run(['doctor'], database).stdout).toMatch(pg);
  },
);

deep('installed where nothing else is, a dream that the SDK asks of serve ends within 30 s', async () => {
  const { prefix, home, env: plain, run } = install();
  const env = { ...plain, NOCTURNE_MODEL: 'offline' };
  const { key } = JSON.parse(run(['keys', 'create', '--name', 'test', '--json']).stdout) as { key: string };
  const server = spawn(join(prefix, 'bin/nocturne'), ['serve', '--port', '0', '--json'], {
    ...{ cwd: home, env, stdio: ['ignore', 'pipe', 'inherit'] },
  });
  onTestFinished(() => {
    server.kill();
    for (const pid of processesWith(`HOME=${home}`).keys()) if (pid !== server.pid) process.kill(pid);
  });
  const [line] = await once(createInterface(server.stdout), 'line');
  const { url } = JSON.parse(line) as { url: string };
  const { beta } = new Anthropic({ apiKey: key, baseURL: url });
  const { id } = await beta.memoryStores.create({ name: 'notes' });
  const answer = await fetch(`${url}/nocturne/v1/sessions?memory_store_id=${id}`, {
    ...{ method: 'POST', headers: { 'x-api-key': key } },
    body: JSON.stringify([{ role: 'user', content: 'Please remember: we deploy on Fridays only.' }]),
  });
  const session = (await answer.json()) as { id: string };
  const dream = await beta.dreams.create({
    inputs: [
      { type: 'memory_store', memory_store_id: id },
      { type: 'sessions', session_ids: [session.id] },
    ],
    model: 'offline',
  });
  await vi.waitUntil(async () => (await beta.dreams.retrieve(dream.id)).ended_at !== null, {
    ...{ timeout: 30_000, interval: 200 },
  });
  expect(await beta.dreams.retrieve(dream.id)).toMatchObject({ status: 'completed', error: null });
});
