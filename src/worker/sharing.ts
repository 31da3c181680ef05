// A memory is shared with the team of the working tree one stands in: what a person names, or what a dream changed.
// Here is where a team's memory is, too, and in whose name it is shared with: that of the working tree one stands in, whose
// `.claude/memory` git carries. A link in the tree, or the user's own directory, is no team's.

import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { orFailed, type ShareReport, type ShareRequest, share, sourcesOfDream } from '../../jobs/share.ts';
import type { Config } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import { canonicalPath, kindOf } from '../base/files/directories.ts';
import { gitUserName, isIgnored } from '../base/files/working-tree.ts';
import type { Db } from '../db/sql.ts';
import type { Memories, MemoryRow } from '../memory/memories.ts';
import { checkoutRoot, gitRoot, isCheckedIn } from '../memory/paths.ts';
import { scopeDir } from '../memory/places.ts';
import { authorName } from '../memory/text/blocks.ts';

/** What of an app sharing needs. */
type Sharing = { config: Config; db: Db; memories: Memories };

/** `cwd`: a directory in the working tree whose team it is. Errors: `bad-input` where there is no team to share with. */
export async function shareWithTeam(
  { config, memories }: Sharing,
  own: MemoryRow,
  request: ShareRequest,
  { cwd }: { cwd: string },
): Promise<ShareReport> {
  const dir = teamDirFor(config, { own: own.dir, cwd });
  const tree = treeOf(dir, config);
  const author = await authorIn(tree);
  const openTeam = () => memories.ofDirectory(dir, { scope: 'team', name: 'team' });
  const report = await share(request, { memories, dir, openTeam, author });
  return { ...report, isIgnored: await isIgnored('.claude/memory/MEMORY.md', tree) };
}

/**
 * Shares what a dream changed, or what a person accepted of one: into the team's memory of the working tree at `cwd`, else of the one
 * repository that all sessions of the memory ran in; undefined: there is nothing, or no such.
 */
export async function shareChanged(
  app: Sharing,
  own: MemoryRow,
  { job, cwd }: { job: string; cwd?: string },
): Promise<ShareReport | undefined> {
  const from = cwd ?? (await onlyRepository(app, own));
  const sources = from === undefined ? [] : await sourcesOfDream(app.db, own.id, job);
  if (from === undefined || sources.length === 0) return undefined;
  return orFailed(shareWithTeam(app, own, { sources, isUnasked: true }, { cwd: from }));
}

/** A memory that serves several repositories tells one team nothing of another's by itself. */
async function onlyRepository({ db }: Sharing, { id }: MemoryRow): Promise<string | undefined> {
  const rows = await db.all<{ cwd: string | null }>('select distinct cwd from session where memory = ?', id);
  const roots = new Set(rows.map(({ cwd }) => (cwd === null ? null : gitRoot(cwd))));
  const [root] = roots;
  return roots.size === 1 ? (root ?? undefined) : undefined;
}

const GIT_TIMEOUT_MS = 5_000;

/** What the repository carries is no store of a database. */
export function refuseInDatabase({ databaseUrl }: Config): void {
  if (databaseUrl === undefined) return;
  throw new AppError(
    'refused',
    "Memory on this machine is kept in a PostgreSQL database; a team's memory is a directory of the repository.",
    {
      remedy:
        'Share from a machine where NOCTURNE_DATABASE_URL is not set. nocturne stores move --to-home moves a memory out of the database first.',
    },
  );
}

/** The team's memory that one's own is shared with from `cwd`. Throws `bad-input` where there is none. */
function teamDirFor(config: Config, { own, cwd }: { own: string | null; cwd: string }): string {
  refuseInDatabase(config);
  const place = scopeDir(config, { memory: 'local', cwd });
  const dir = canonicalPath(place);
  // What a link leads to is not the repository's.
  const link = [dirname(place), place].find((path) => kindOf(path) === 'link');
  const whys: [boolean, string][] = [
    [link !== undefined && checkoutRoot(cwd) !== null, `${link} is a link to ${canonicalPath(link ?? place)}`],
    [!isCheckedIn(dir), `${cwd} is not in a git repository`],
    [dir === canonicalPath(scopeDir(config, { memory: 'user', cwd })), `${dir} is your own memory for all projects`],
    [dir === own, `${dir} is the team's memory itself`],
  ];
  const [, why] = whys.find(([isSo]) => isSo) ?? [];
  if (why)
    throw new AppError('bad-input', `There is no team to share with: ${why}.`, {
      remedy:
        'Share your own memory from inside of the repository whose team it is for; its .claude/memory is a directory.',
    });
  return dir;
}

/** The working tree of a team's memory directory, as git is asked about it. */
function treeOf(dir: string, { environment }: Pick<Config, 'environment'>) {
  return { root: join(dir, '..', '..'), environment, timeoutMs: GIT_TIMEOUT_MS };
}

/** Who shares, as it stands on each line. */
async function authorIn(tree: ReturnType<typeof treeOf>): Promise<string> {
  const { environment } = tree;
  const name = await gitUserName(tree);
  const user = environment.USER ?? environment.LOGNAME ?? environment.USERNAME ?? userInfo().username;
  return authorName(name ?? '') || authorName(user) || 'somebody';
}
