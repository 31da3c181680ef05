// Where a team's memory is, and in whose name it is shared with: that of the working tree one stands in, whose `.claude/memory` git
// carries. A link in the tree, or the user's own directory, is no team's.

import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import type { Config } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import { canonicalPath, kindOf } from '../base/files/directories.ts';
import { gitIdentity } from '../base/files/working-tree.ts';
import { checkoutRoot, isCheckedInDir } from '../memory/paths.ts';
import { scopeDir } from '../memory/places.ts';
import { authorName } from '../memory/text/blocks.ts';

const GIT_TIMEOUT_MS = 5_000;

/** What the repository carries is no store of a database. */
export function refuseInDatabase({ databaseUrl }: Config): void {
  if (databaseUrl === undefined) return;
  throw new AppError('refused', "Memory is kept in a database, and a team's memory is a directory of the repository.", {
    remedy: 'Share from a machine without NOCTURNE_DATABASE_URL (nocturne move --to-directory brings a memory there).',
  });
}

/** The team's memory that one's own is shared with from `cwd`. Throws `bad-input` where there is none. */
export function teamDirFor(config: Config, { own, cwd }: { own: string | null; cwd: string }): string {
  refuseInDatabase(config);
  const place = scopeDir(config, { memory: 'local', cwd });
  const dir = canonicalPath(place);
  const remedy = 'Share from inside of the repository whose team it is for.';
  // What a link leads to is not the repository's.
  const link = [dirname(place), place].find((path) => kindOf(path) === 'link');
  if (link !== undefined && checkoutRoot(cwd) !== null) {
    const what = `${link} is a link to ${canonicalPath(link)}, so what is there is not the repository's.`;
    throw new AppError('bad-input', what, { remedy: `Make ${link} a directory of the working tree to share there.` });
  }
  if (!isCheckedInDir(dir)) {
    const what = `${cwd} is in no working tree of git, so there is no team to share with.`;
    throw new AppError('bad-input', what, { remedy });
  }
  if (dir === canonicalPath(scopeDir(config, { memory: 'user', cwd }))) {
    throw new AppError('bad-input', `${dir} is your own memory for all projects, and no team's.`, { remedy });
  }
  if (dir === own) {
    throw new AppError('bad-input', `${dir} is the team's memory: there is nothing of your own to share from it.`, {
      remedy: 'Leave out --scope local, --memory and NOCTURNE_MEMORY_DIR to share from your own.',
    });
  }
  return dir;
}

/** The working tree of a team's memory directory, as git is asked about it. */
export function treeOf(dir: string, { environment }: Pick<Config, 'environment'>) {
  return { root: join(dir, '..', '..'), environment, timeoutMs: GIT_TIMEOUT_MS };
}

/** Who shares, as it stands on each line. `withEmail`: with the address of the mail. */
export async function authorIn(tree: ReturnType<typeof treeOf>, withEmail = false): Promise<string> {
  const { environment } = tree;
  const { name, email } = await gitIdentity(tree);
  const user = environment.USER ?? environment.LOGNAME ?? environment.USERNAME ?? userInfo().username;
  const known = authorName(name ?? '') || authorName(user) || 'somebody';
  return withEmail && email ? authorName(`${known} (${email})`) : known;
}
