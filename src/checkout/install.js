// Installs what is missing before `npm start`, `npm test` and `npm run check`, so that a fresh clone needs no other
// command. It runs on whatever Node there is; the project brings its own newer one.

import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, statSync } from 'node:fs';

const installed = 'node_modules/.package-lock.json';
// One that is linked in from elsewhere is not ours to make again: npm would empty it where it is.
const isLinked = lstatSync('node_modules', { throwIfNoEntry: false })?.isSymbolicLink();
const isCurrent =
  isLinked || (existsSync(installed) && statSync(installed).mtimeMs >= statSync('package-lock.json').mtimeMs);
if (!isCurrent) {
  console.error('Installing what is missing (npm ci) …');
  const npm = process.env.npm_execpath;
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const run = npm
    ? spawnSync(process.execPath, [npm, ...args], { stdio: 'inherit' })
    : spawnSync('npm', args, { stdio: 'inherit', shell: process.platform === 'win32' });
  if (run.status !== 0) process.exit(run.status ?? 1);
}
