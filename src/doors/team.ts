// Whose team a memory is shared with, and in whose name: that of the working tree one stands in, whose `.claude/memory` git carries.
// A link in the tree, or the user's own directory, is no team's.

import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { type ShareReport, type ShareRequest, share, sourcesOfDream } from '../../jobs/share.ts';
import type { Config } from '../base/config/config.ts';
import { AppError, failureOf, onAppError } from '../base/errors.ts';
import { canonicalPath, kindOf } from '../base/files/directories.ts';
import { gitIdentity, isIgnored } from '../base/files/working-tree.ts';
import { checkoutRoot, gitRoot, isCheckedInDir } from '../memory/home/paths.ts';
import { sessionDirs } from '../memory/ledger/coverage.ts';
import type { Store } from '../memory/store/store.ts';
import { authorName } from '../memory/text/blocks.ts';
import { scopeDir } from './places.ts';

const GIT_TIMEOUT_MS = 5_000;

interface Sharing {
  app: {
    config: Config;
    /** Opens a memory directory, and makes it known to the nightly dream. */
    knownStore(dir: string): Promise<Store>;
  };
  /** One's own memory. */
  own: Store;
  /** A directory in the working tree whose team it is. */
  cwd: string;
  /** Name the author with the address of the mail, too. */
  withEmail?: boolean;
}

/** Throws `bad-input` where there is no team to share with. */
export async function shareWithTeam(request: ShareRequest, at: Sharing): Promise<ShareReport> {
  const dir = teamDirFor(at);
  const { environment, clock } = at.app.config;
  const tree = { root: join(dir, '..', '..'), environment, timeoutMs: GIT_TIMEOUT_MS };
  const author = await authorIn(tree, at);
  const report = await share(request, { dir, openTeam: () => at.app.knownStore(dir), author, clock });
  return { ...report, isIgnored: await isIgnored('.claude/memory/MEMORY.md', tree) };
}

/**
 * Shares what a dream changed, or what a person accepted of one: into the team's memory of the working tree at `cwd`, else, where the settings say so,
 * of the one repository that all sessions of the memory ran in.
 */
export async function shareChanged(
  job: string,
  { cwd, ...at }: Omit<Sharing, 'cwd'> & { cwd?: string },
): Promise<ShareReport | undefined> {
  const from = cwd ?? onlyRepository(at.own);
  if (from === undefined) return undefined;
  const sources = await sourcesOfDream(at.own, job);
  if (sources.length === 0) return undefined;
  return orFailed(shareWithTeam({ sources, isUnasked: true }, { ...at, cwd: from }));
}

/** Where sharing comes behind other work that is done: what goes wrong is told in the report, and not instead of it. */
export function orFailed(sharing: Promise<ShareReport>): Promise<ShareReport> {
  const failed = { outcome: 'failed', memory: '', author: '', job: null } as const;
  const nothing = { topics: [], secrets: [], personalPaths: [] };
  return sharing.catch(onAppError((error) => ({ ...failed, ...nothing, error: failureOf(error) })));
}

/** What the repository carries is no store of a database. */
export function refuseInDatabase({ databaseUrl }: Config): void {
  if (databaseUrl === undefined) return;
  throw new AppError('refused', "Memory is kept in a database, and a team's memory is a directory of the repository.", {
    remedy: 'Share from a machine without NOCTURNE_DATABASE_URL (nocturne move --to-directory brings a memory there).',
  });
}

/** The team's memory that one's own is shared with from `cwd`. Throws `bad-input` where there is none. */
export function teamDirFor({ app: { config }, own, cwd }: Pick<Sharing, 'app' | 'own' | 'cwd'>): string {
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
  if (dir === own.dir) {
    throw new AppError('bad-input', `${dir} is the team's memory: there is nothing of your own to share from it.`, {
      remedy: 'Leave out --scope local, --memory and NOCTURNE_MEMORY_DIR to share from your own.',
    });
  }
  return dir;
}

/** A memory that serves several repositories tells one team nothing of another's by itself. */
function onlyRepository({ ledger }: Store): string | undefined {
  const roots = new Set(sessionDirs(ledger).map((dir) => (dir === undefined ? null : gitRoot(dir))));
  const [root] = roots;
  return roots.size === 1 ? (root ?? undefined) : undefined;
}

async function authorIn(tree: Parameters<typeof gitIdentity>[0], { withEmail }: Sharing): Promise<string> {
  const { environment } = tree;
  const { name, email } = await gitIdentity(tree);
  const user = environment.USER ?? environment.LOGNAME ?? environment.USERNAME ?? userInfo().username;
  const known = authorName(name ?? '') || authorName(user) || 'somebody';
  return withEmail && email ? authorName(`${known} (${email})`) : known;
}
