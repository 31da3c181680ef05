// What an agent declares about its memory: `memory: user | project | local` in the frontmatter of its definition, as
// Claude Code keeps them in `.claude/agents/` of the project and of the user. Such an agent gets that scope and nothing
// beside it. Reads only.

import { dirname, join } from 'node:path';
import { AppError } from '../base/errors.ts';
import { canonicalPath, isDirectory, listFiles } from '../base/files/directories.ts';
import { readText } from '../base/files/files.ts';
import { checkoutRoot } from '../memory/home/paths.ts';
import { readFrontmatter } from '../memory/text/frontmatter.ts';
import { MEMORY_SCOPES, type MemoryScope } from './places.ts';

/**
 * The scope that a definition declares; undefined where it declares none. Throws `bad-input` for a file that is not
 * there and for a scope that there is not.
 */
export async function declaredScope(definition: string): Promise<MemoryScope | undefined> {
  const text = await readText(definition);
  if (text === null) throw new AppError('bad-input', `There is no agent definition at ${definition}.`);
  const { memory } = readFrontmatter(text).data;
  if (memory === undefined || memory === null) return undefined;
  const scope = MEMORY_SCOPES.find((each) => each === memory);
  if (scope) return scope;
  throw new AppError('bad-input', `${definition} declares memory: ${JSON.stringify(memory)}, which is no scope.`, {
    remedy: `Write memory: ${MEMORY_SCOPES.join(', memory: ').replace(/, (?=[^,]*$)/, ' or ')}.`,
  });
}

/**
 * The file that defines an agent of this name for a session in `cwd`: the project's before the user's, the nearest
 * first; null where none does. An agent's name is what its frontmatter says, else that of its file.
 */
export async function findDefinition(
  name: string,
  { cwd, claudeDir }: { cwd: string; claudeDir: string },
): Promise<string | null> {
  for (const dir of [...projectDirs(cwd), claudeDir].map((each) => join(each, 'agents')).filter(isDirectory)) {
    for (const path of (await listFiles(dir)).filter((each) => each.endsWith('.md'))) {
      const { data } = readFrontmatter((await readText(join(dir, path))) ?? '');
      const own = typeof data.name === 'string' ? data.name : path.replace(/^.*\/|\.md$/g, '');
      if (own === name) return join(dir, path);
    }
  }
  return null;
}

/** `.claude` of the directory and of those above it, up to the top of the working tree. */
function projectDirs(cwd: string): string[] {
  const from = canonicalPath(cwd);
  const root = checkoutRoot(from) ?? from;
  const dirs: string[] = [];
  for (let at = from; ; at = dirname(at)) {
    dirs.push(join(at, '.claude'));
    if (at === root || dirname(at) === at) return dirs;
  }
}
