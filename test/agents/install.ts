// The agents' own programs, for the tests that run them: the versions of programs/package-lock.json, by its checksums,
// once for each lock file, in a cache outside the project. Before the first test of `npm run test:agents`; a test file
// asks `PROGRAMS`. Nothing of them is a dependency of the project.

import { execFileSync, spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import build from '../support/build.ts';

const HERE = join(import.meta.dirname, 'programs');
const FILES = ['package.json', 'package-lock.json'];
/** What two of the packages do after they are unpacked; of the others nothing is run that is not asked for. */
const AFTERWARDS = ['@anthropic-ai/claude-code/install.cjs', 'opencode-ai/postinstall.mjs'];

/** Where the programs are by name; null where they could not be had. */
export const PROGRAMS: string | null = process.env.NOCTURNE_TEST_AGENTS || null;

/** Run by vitest before all else. */
export default async function setUp(): Promise<() => Promise<void>> {
  const tearDown = build();
  process.env.NOCTURNE_TEST_AGENTS = (await installed()) ?? '';
  return tearDown;
}

async function installed(): Promise<string | null> {
  if (spawnSync('tmux', ['-V']).status !== 0)
    return without('tmux is not installed (apt-get install tmux)', { isOurs: true });
  const lock = hash('sha256', FILES.map((name) => readFileSync(join(HERE, name), 'utf8')).join('')).slice(0, 16);
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'nocturne-agents');
  const dir = join(cache, lock);
  const bin = join(dir, 'node_modules/.bin');
  if (existsSync(bin)) return bin;
  mkdirSync(cache, { recursive: true });
  // Whole or not at all: another run may look meanwhile.
  const fresh = mkdtempSync(join(cache, 'fresh-'));
  try {
    for (const name of FILES) copyFileSync(join(HERE, name), join(fresh, name));
    console.log(`Installing the agents' programs into ${dir} …`);
    // By the lock's checksums; `npm ci` asks for those of systems, too, for which a registry may have nothing.
    const npm = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', npm, { cwd: fresh, stdio: ['ignore', 'ignore', 'inherit'] });
    for (const script of AFTERWARDS)
      execFileSync(process.execPath, [join(fresh, 'node_modules', script)], { stdio: ['ignore', 'ignore', 'inherit'] });
    renameSync(fresh, dir);
    return bin;
  } catch (error) {
    if (existsSync(bin)) return bin;
    return without(String(error), { isOurs: await registryAnswers() });
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** On a person's machine, and where there is no registry, the tests are skipped; CI is told. */
function without(why: string, { isOurs }: { isOurs: boolean }): null {
  if (process.env.CI === 'true' && isOurs) throw new Error(`The agents' programs cannot be tried: ${why}`);
  console.warn(`The agents' programs are not tried: ${why}`);
  return null;
}

async function registryAnswers(): Promise<boolean> {
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  return fetch(new URL('-/ping', registry), { signal: AbortSignal.timeout(20_000) }).then(
    () => true,
    () => false,
  );
}
