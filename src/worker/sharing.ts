// A memory is shared with the team of the working tree one stands in: what a person names, or what a dream changed.

import { orFailed, type ShareReport, type ShareRequest, share, sourcesOfDream } from '../../jobs/share.ts';
import type { Config } from '../base/config/config.ts';
import { isIgnored } from '../base/files/working-tree.ts';
import type { Db } from '../db/sql.ts';
import type { Memories, MemoryRow } from '../memory/memories.ts';
import { gitRoot } from '../memory/paths.ts';
import { authorIn, teamDirFor, treeOf } from './team-place.ts';

/** What of an app sharing needs. */
interface Sharing {
  config: Config;
  db: Db;
  memories: Memories;
}

/** `cwd`: a directory in the working tree whose team it is. Errors: `bad-input` where there is no team to share with. */
export async function shareWithTeam(
  { config, memories }: Sharing,
  own: MemoryRow,
  request: ShareRequest,
  { cwd, withEmail }: { cwd: string; withEmail?: boolean },
): Promise<ShareReport> {
  const dir = teamDirFor(config, { own: own.dir, cwd });
  const tree = treeOf(dir, config);
  const author = await authorIn(tree, withEmail);
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
