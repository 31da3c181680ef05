// The programs that agents and schedules are told to start, by absolute path: they run without a shell's PATH.

import { delimiter, join } from 'node:path';
import type { Environment } from '../../../base/config/config.ts';
import { AppError } from '../../../base/errors.ts';
import { realPath } from '../../../base/files/directories.ts';
import { packagePath } from '../../../base/files/files.ts';

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
