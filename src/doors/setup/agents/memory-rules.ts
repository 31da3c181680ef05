// The permission rules with which Claude Code writes its memory files without asking, and nothing wider: topics and the
// index, and the daily logs. Not what lies in `.nocturne`, the ledger with its versions: that is nocturne's alone.
// Claude Code looks at `Edit(path)` rules alone for every tool that writes files (a `Write(path)` rule never applies). A
// path begins with `~/`, or with `//` for the root of the disk, follows .gitignore, and must match through links too.

import { join } from 'node:path';
import type { Config } from '../../../base/config/config.ts';
import { canonicalPath } from '../../../base/files/directories.ts';
import { memoryDirFor } from '../../places.ts';

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
