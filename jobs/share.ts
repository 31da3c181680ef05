// Share: statements of one's own memory go into the team's, because a person says so or the settings do.
//
// 1. Take the statements: of whole topics, or what a dream changed in them.
// 2. Look for secrets in every text that would be shared. One refuses all.
// 3. In one commit of the team's memory put each statement that stands nowhere there yet into the topic of its name,
//    with its author; build the index with it. Nothing that stands there is changed, but that what a dream replaced
//    goes where nobody else shared it.

import { join } from 'node:path';
import { type Failure, failureOf, onAppError } from '../src/base/errors.ts';
import { isDirectory } from '../src/base/files/directories.ts';
import { readTextNow, writeNew } from '../src/base/files/files.ts';
import { newId, type Sql } from '../src/db/sql.ts';
import { commit, type FileChange, type Plan, withRows } from '../src/memory/commit.ts';
import { headAt, headsOf, isPinned } from '../src/memory/file-rows.ts';
import { enterJob, fileChangesOf } from '../src/memory/job-rows.ts';
import type { Memories, MemoryRow } from '../src/memory/memories.ts';
import { withBuiltIndex } from '../src/memory/memory-index.ts';
import {
  readToShare,
  type SharedSecret,
  type ShareSource,
  type Statement,
  secretsIn,
  sharedAlone,
  shareInto,
  type TopicToShare,
} from '../src/memory/text/team-topic.ts';
import { editLines, isTopicFile, parseTopic, saidId } from '../src/memory/text/topic.ts';

export interface ShareRequest {
  sources: ShareSource[];
  /** Nobody named what is shared: topics that are pinned in the team's memory are left as they are. */
  isUnasked?: boolean;
  isDryRun?: boolean;
}

interface ShareDeps {
  memories: Memories;
  /** The team's memory directory; made when something is shared. */
  dir: string;
  openTeam(): Promise<MemoryRow>;
  /** Who shares, as it stands on each line. */
  author: string;
}

export interface ShareReport {
  /** `known`: all of it stands there already. `refused`: there are secrets. All but `shared` changed nothing. */
  outcome: 'shared' | 'known' | 'refused' | 'failed';
  /** The team's memory directory. */
  memory: string;
  author: string;
  topics: { path: string; isNew: boolean; lines: string[]; replaced: string[] }[];
  secrets: SharedSecret[];
  /** With which it can be undone in the team's memory; null where nothing was changed. */
  job: string | null;
  /** Set by whoever asks git: it leaves the team's memory out of commits. */
  isIgnored?: boolean;
  error?: Failure;
}

/** What a dream changed in topics of the project and in references, as it stands now. */
export async function sourcesOfDream(sql: Sql, memory: string, job: string): Promise<ShareSource[]> {
  const sources: ShareSource[] = [];
  for (const { steps } of await fileChangesOf(sql, job)) {
    const path = steps[0]?.after?.path ?? '';
    const text = (await headAt(sql, memory, path))?.content?.toString() ?? '';
    const { type, lines } = parseTopic(path, text);
    if (path.includes('/') || !isTopicFile(path) || (type !== 'project' && type !== 'reference')) continue;
    const before = new Set(parseTopic(path, steps.at(-1)?.before?.text ?? '').lines.map(({ id }) => id));
    const now = new Set(lines.map(({ id }) => id));
    const only = now.difference(before);
    if (only.size > 0) sources.push({ path, text, only, replaced: before.difference(now) });
  }
  return sources;
}

/** Where sharing comes behind other work that is done: what goes wrong is told in the report, and not instead of it. */
export function orFailed(sharing: Promise<ShareReport>): Promise<ShareReport> {
  const failed = { outcome: 'failed', memory: '', author: '', job: null } as const;
  return sharing.catch(onAppError((error) => ({ ...failed, topics: [], secrets: [], error: failureOf(error) })));
}

/** Contract: every planned ending is the report's `outcome`. */
export async function share(request: ShareRequest, deps: ShareDeps): Promise<ShareReport> {
  const { dir, author, memories } = deps;
  const report: ShareReport = { outcome: 'known', memory: dir, author, job: null, topics: [], secrets: [] };
  // 1.
  const sharing = request.sources.map(readToShare);
  // 2.
  const found = (await Promise.all(sharing.map(secretsIn))).flat();
  report.secrets = [...new Map(found.map((each) => [`${each.path}:${each.line} ${each.rule}`, each])).values()];
  if (report.secrets.length > 0) return { ...report, outcome: 'refused' };
  // 3.
  if (request.isDryRun && !isDirectory(dir)) {
    report.topics = sharing.map(({ path, statements }) => {
      return { path, isNew: true, lines: statements.map(({ text }) => text), replaced: [] };
    });
  } else {
    const team = await deps.openTeam();
    if (!request.isDryRun) writeAttributes(dir);
    const job = newId('job');
    const actor = request.isUnasked ? ({ kind: 'job', id: job } as const) : ({ kind: 'user', id: null } as const);
    const plan = (sql: Sql) => planOf(sql, { sharing, request, report, team, author, job });
    await commit(memories, { memory: team.id, paths: 'all' }, { job, actor }, plan);
  }
  report.topics = report.topics.filter(({ lines }) => lines.length > 0);
  return { ...report, outcome: report.topics.length > 0 ? 'shared' : 'known' };
}

interface Sharing {
  sharing: TopicToShare[];
  request: ShareRequest;
  report: ShareReport;
  team: MemoryRow;
  author: string;
  job: string;
}

async function planOf(sql: Sql, { sharing, request, report, team, author, job }: Sharing): Promise<Plan> {
  const { isUnasked = false, isDryRun = false } = request;
  report.topics = [];
  const heads = await headsOf(sql, team.id);
  const texts = heads.flatMap(({ path, content }) =>
    path !== null && content && isTopicFile(path) ? { path, text: content.toString() } : [],
  );
  const said = new Set(
    texts.flatMap(({ path, text }) => parseTopic(path, text).lines.map((line) => saidId(line.text))),
  );
  const isNews = ({ text }: Statement) => {
    const id = saidId(text);
    const isKnown = said.has(id);
    said.add(id);
    return !isKnown;
  };
  const files = sharing.map(
    ({ path, topic, replaced, description, statements }): FileChange => ({
      path,
      make(current) {
        if (isUnasked && isPinned(path, current)) return current;
        const news = statements.filter(isNews).map(({ text }) => text);
        const own = sharedAlone(current ?? '', author).filter(({ id }) => replaced.has(id) && news.length > 0);
        report.topics.push({ path, isNew: current === null, lines: news, replaced: own.map(({ text }) => text) });
        if (news.length === 0 || isDryRun) return current;
        const { name, type = 'project' } = topic;
        const kept = current && editLines(current, { remove: new Set(own.map(({ id }) => id)), add: [] });
        return shareInto(kept, { name, type, description: description.text, statements: news }, author);
      },
    }),
  );
  if (isDryRun) return { files };
  const isShared = () => report.topics.some(({ lines }) => lines.length > 0);
  const index = await withBuiltIndex(sql, team, files, isShared);
  return withRows(index, async (change) => {
    if (!isShared()) return;
    const startedBy = isUnasked ? 'program' : 'person';
    await enterJob(change, { kind: 'share', memory: team.id, outcome: 'shared', startedBy });
    report.job = job;
  });
}

const ATTRIBUTES = `# Memory of the team: what two people add at the same place is both kept, and nocturne tidies up behind it.
*.md merge=union
`;

/** With the first that is shared: who takes the file away later wants its conflicts shown. */
function writeAttributes(dir: string): void {
  const path = join(dir, '.gitattributes');
  const isBegun = readTextNow(join(dir, 'MEMORY.md')) !== null || readTextNow(path) !== null;
  if (!isBegun) writeNew(path, ATTRIBUTES);
}
