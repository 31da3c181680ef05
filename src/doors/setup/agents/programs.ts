// The programs that agents and schedules are told to start, by absolute path: they run without a shell's PATH.

import { delimiter, join } from 'node:path';
import type { Config, Environment } from '../../../base/config/config.ts';
import { AppError } from '../../../base/errors.ts';
import { canonicalPath, realPath } from '../../../base/files/directories.ts';
import { packagePath, readTextNow } from '../../../base/files/files.ts';
import { memoryDirFor } from '../../places.ts';

export interface Programs {
  /** The Node that runs the others. */
  node: string;
  /** What an agent's hooks run; in a checkout, its source. */
  hook: string;
  /** The command line. */
  nocturne: string;
}

/** Whether what runs is the build; not told from where this file is, which the build packs into others. */
const isBuilt = import.meta.url.endsWith('.js');

/** The programs of this nocturne. */
export function findPrograms(environment: Environment): Programs {
  return {
    node: findNode(environment),
    hook: isBuilt ? packagePath('dist', 'hook.js') : packagePath('src', 'doors', 'hook', 'hook.ts'),
    nocturne: isBuilt ? packagePath('dist', 'nocturne.js') : packagePath('src', 'doors', 'cli', 'nocturne.js'),
  };
}

/** The template of the module that opencode is given. */
export function opencodeTemplate(): string {
  return isBuilt
    ? packagePath('dist', 'opencode-module.js')
    : packagePath('src', 'doors', 'setup', 'agents', 'opencode-module.js');
}

/** Throws where the programs will not stay: `npx` keeps packages in a cache that npm empties. */
export function refusePassing({ nocturne }: Programs): void {
  if (!/[\\/]_npx[\\/]/.test(nocturne)) return;
  throw new AppError('bad-input', `This nocturne is in npm's cache (${nocturne}), which is emptied one day.`, {
    remedy: 'Install it first: npm install --global nocturne',
  });
}

/**
 * This Node. Homebrew removes the directory of an old version when it updates, so there the name on PATH that leads to it
 * is taken; elsewhere such a name may be a shell's own and gone with it.
 */
function findNode(environment: Environment): string {
  const node = process.execPath;
  if (!node.includes('/Cellar/')) return node;
  const own = realPath(node);
  const named = (environment.PATH ?? '').split(delimiter).map((dir) => join(dir, 'node'));
  return named.find((path) => !path.includes('/node_modules/') && realPath(path) === own) ?? node;
}

const MARK = '// Written by nocturne install opencode.';
const INSTALLED = "const INSTALLED = { node: '', hook: '', home: '' };";

export function isOpencodePlugin(text: string): boolean {
  return text.startsWith(MARK);
}

/** The module's text. */
export function opencodePlugin({ programs, home }: { programs: Programs; home: string }): string {
  const path = opencodeTemplate();
  const template = readTextNow(path);
  if (!template?.includes(INSTALLED)) throw new AppError('storage', `${path} is not the template it should be.`);
  const { node, hook } = programs;
  return template.replace(INSTALLED, () => `const INSTALLED = ${JSON.stringify({ node, hook, home })};`);
}

/** The rules for where memory is kept: in one place, or in that of each project. Errors: those of the chain of places. */
export function memoryRules(config: Config): string[] {
  const { memoryDir, agentMemory, claudeDir, userDir } = config;
  const isOnePlace = (memoryDir ?? agentMemory.settings.autoMemoryDirectory) !== undefined;
  const base = isOnePlace ? memoryDirFor(config, {}) : join(agentMemory.remoteDir ?? claudeDir, 'projects');
  const below = isOnePlace ? '' : '/*/memory';
  const places = [...new Set([base, canonicalPath(base)])].map((place) => anchored(place, userDir) + below);
  return places.flatMap((place) => [`Edit(${place}/*.md)`, `Edit(${place}/logs/**/*.md)`]);
}

function anchored(path: string, user: string): string {
  const isBelowHome = path.startsWith(`${user}/`) || path.startsWith(`${user}\\`);
  const rest = (isBelowHome ? path.slice(user.length + 1) : path)
    .replaceAll('\\', '/')
    .replace(/^([A-Za-z]):\//, (_, drive: string) => `/${drive.toLowerCase()}/`)
    .replace(/[[\]*?!#]/g, '\\$&');
  return isBelowHome ? `~/${rest}` : `/${rest}`;
}
