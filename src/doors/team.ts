// A memory is shared with the team of the working tree one stands in (team-place.ts): what a person names, or what a dream changed.

import { type ShareReport, type ShareRequest, share, sourcesOfDream } from '../../jobs/share.ts';
import type { Config } from '../base/config/config.ts';
import { failureOf, onAppError } from '../base/errors.ts';
import { isIgnored } from '../base/files/working-tree.ts';
import { gitRoot } from '../memory/home/paths.ts';
import { sessionDirs } from '../memory/ledger/coverage.ts';
import type { Store } from '../memory/store/store.ts';
import { authorIn, teamDirFor, treeOf } from './team-place.ts';

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
  const { config } = at.app;
  const { clock } = config;
  const dir = teamDirFor(config, { own: at.own.dir, cwd: at.cwd });
  const tree = treeOf(dir, config);
  const author = await authorIn(tree, at.withEmail);
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

/** A memory that serves several repositories tells one team nothing of another's by itself. */
function onlyRepository({ ledger }: Store): string | undefined {
  const roots = new Set(sessionDirs(ledger).map((dir) => (dir === undefined ? null : gitRoot(dir))));
  const [root] = roots;
  return roots.size === 1 ? (root ?? undefined) : undefined;
}
