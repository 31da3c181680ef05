// Share: statements of one's own memory go into the team's, because a person says so or the settings do.
//
// 1. Take the statements: of whole topics, or what a dream changed in them.
// 2. Look for secrets in every text that would be shared. One refuses all, unless placeholders are to stand for them.
// 3. In one commit of the team's memory put each statement that stands nowhere there yet into the topic of its name,
//    with its author; build the index with it. Nothing that stands there is changed, but that what a dream replaced
//    goes where nobody else shared it.

import { join } from 'node:path';
import type { Failure } from '../src/base/errors.ts';
import { isDirectory } from '../src/base/files/directories.ts';
import { readTextNow, writeNew } from '../src/base/files/files.ts';
import { redact } from '../src/base/text/redact.ts';
import type { Clock } from '../src/base/time.ts';
import { indexChange } from '../src/memory/dream/index-change.ts';
import { refreshTopics } from '../src/memory/dream/topic-table.ts';
import { changesOf } from '../src/memory/history/job-changes.ts';
import { enterPersonsJob } from '../src/memory/ledger/job-rows.ts';
import { isPinned } from '../src/memory/store/staging.ts';
import type { FileChange, Store } from '../src/memory/store/store.ts';
import {
  personalPathsIn,
  readToShare,
  type ShareSource,
  type Statement,
  secretsIn,
  sharedAlone,
  shareInto,
  type TopicToShare,
  takeSecretsOut,
  textsOf,
} from '../src/memory/text/team-topic.ts';
import { editLines, parseTopic, saidId } from '../src/memory/text/topic.ts';

export interface ShareRequest {
  sources: ShareSource[];
  /** Nobody named what is shared: topics that are pinned in the team's memory are left as they are. */
  isUnasked?: boolean;
  /** Share secrets as placeholders, instead of nothing. */
  isRedacted?: boolean;
  isDryRun?: boolean;
}

interface ShareDeps {
  /** The team's memory directory; made when something is shared. */
  dir: string;
  openTeam(): Promise<Store>;
  /** Who shares, as it stands on each line. */
  author: string;
  clock: Clock;
}

export interface ShareReport {
  /** `known`: all of it stands there already. `refused`: there are secrets. All but `shared` changed nothing. */
  outcome: 'shared' | 'known' | 'refused' | 'failed';
  /** The team's memory directory. */
  memory: string;
  author: string;
  topics: { path: string; isNew: boolean; lines: string[]; replaced: string[] }[];
  /** Where one's own files hold secrets, lines from 1; never what they are. */
  secrets: { path: string; line: number; rule: string }[];
  /** Where they name directories of a person. */
  personalPaths: { path: string; line: number }[];
  /** With which it can be undone in the team's memory; null where nothing was changed. */
  job: string | null;
  /** Set by whoever asks git: it leaves the team's memory out of commits. */
  isIgnored?: boolean;
  error?: Failure;
}

const ATTRIBUTES = `# Memory of the team: what two people add at the same place is both kept, and nocturne tidies up behind it.
*.md merge=union
`;
/** What a dream changed in topics of the project and in references, as it stands now. */
export async function sourcesOfDream(own: Store, job: string): Promise<ShareSource[]> {
  const sources: ShareSource[] = [];
  for (const { path, steps } of changesOf(own.ledger, job).files) {
    const text = await own.read(path);
    const { type, lines } = parseTopic(path, text ?? '');
    if (text === null || path.includes('/') || (type !== 'project' && type !== 'reference')) continue;
    const before = new Set(parseTopic(path, steps.at(-1)?.before ?? '').lines.map(({ id }) => id));
    const only = new Set(lines.map(({ id }) => id).filter((id) => !before.has(id)));
    const now = new Set(lines.map(({ id }) => id));
    if (only.size > 0) sources.push({ path, text, only, replaced: before.difference(now) });
  }
  return sources;
}

/** Contract: every planned ending is the report's `outcome`. */
export async function share(request: ShareRequest, deps: ShareDeps): Promise<ShareReport> {
  const { dir, author, clock } = deps;
  const report: ShareReport = {
    ...{ outcome: 'known', memory: dir, author, job: null },
    ...{ topics: [], secrets: [], personalPaths: [] },
  };
  // 1.
  const sharing = request.sources.map(readToShare);
  // 2.
  for (const topic of sharing) {
    report.secrets.push(...(await secretsIn(topic)));
    report.personalPaths.push(...personalPathsIn(topic));
  }
  if (report.secrets.length > 0) {
    for (const topic of sharing) await takeSecretsOut(topic);
    const isClean = (await redact(sharing.flatMap(textsOf).join('\n'))).found.length === 0;
    if (!request.isRedacted || !isClean) return { ...report, outcome: 'refused' };
  }
  // 3.
  if (request.isDryRun && !isDirectory(dir)) {
    report.topics = sharing.map(({ path, statements }) => {
      return { path, isNew: true, lines: statements.map(({ text }) => text), replaced: [] };
    });
  } else await commit(sharing, { request, report, team: await deps.openTeam(), author, clock });
  report.topics = report.topics.filter(({ lines }) => lines.length > 0);
  return { ...report, outcome: report.topics.length > 0 ? 'shared' : 'known' };
}

async function commit(
  sharing: TopicToShare[],
  at: Pick<ShareDeps, 'author' | 'clock'> & { request: ShareRequest; report: ShareReport; team: Store },
): Promise<void> {
  const { request, report, team, author, clock } = at;
  const { isUnasked = false, isDryRun = false } = request;
  if (!isDryRun) writeAttributes(team.dir);
  await team.commit({ actor: isUnasked ? 'tool:share' : 'person' }, (ledger) => {
    refreshTopics(ledger);
    const said = new Set<string>();
    const isNews = ({ text }: Statement) => {
      const id = saidId(text);
      if (said.has(id) || ledger.get('select 1 from topic_line where said = ?', id)) return false;
      said.add(id);
      return true;
    };
    const files = sharing.map(
      ({ path, topic, replaced, description, statements }): FileChange => ({
        path,
        change(current) {
          if (isUnasked && current !== null && isPinned({ path, text: current })) return current;
          const news = statements.filter(isNews).map(({ text }) => text);
          const own = sharedAlone(current ?? '', author).filter(({ id }) => replaced.has(id) && news.length > 0);
          const texts = own.map(({ text }) => text);
          report.topics.push({ path, isNew: current === null, lines: news, replaced: texts });
          if (news.length === 0 || isDryRun) return current;
          const { name, type = 'project' } = topic;
          const kept = current && editLines(current, { remove: new Set(own.map(({ id }) => id)), add: [] });
          return shareInto(kept, { name, type, description: description.text, statements: news }, author);
        },
      }),
    );
    const index = indexChange(team);
    return {
      files: isDryRun ? files : [...files, index.memory, ...index.overflow()],
      rows(transaction) {
        if (isDryRun || report.topics.every(({ lines }) => lines.length === 0)) return;
        index.finish(transaction);
        const startedBy = isUnasked ? 'program' : undefined;
        const shared = { kind: 'share', outcome: 'shared', now: clock.now(), startedBy } as const;
        report.job = enterPersonsJob(transaction, shared);
      },
    };
  });
}

/** With the first that is shared: who takes the file away later wants its conflicts shown. */
function writeAttributes(dir: string): void {
  const path = join(dir, '.gitattributes');
  const isBegun = readTextNow(join(dir, 'MEMORY.md')) !== null || readTextNow(path) !== null;
  if (!isBegun) writeNew(path, ATTRIBUTES);
}
