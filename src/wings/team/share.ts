// Share: statements of one's own memory go into the team's, because a person says so or the settings do.
//
// 1. Take the statements: of whole topics, or what a dream changed in them.
// 2. Look for secrets in every text that would be shared. One refuses all, unless placeholders are to stand for them.
// 3. In one commit of the team's memory put each statement that stands nowhere there yet into the topic of its name,
//    with its author; build the index with it. Nothing that stands there is changed, but that what a dream replaced
//    goes where nobody else shared it.
//
// `shareWithTeam` is how the doors do it: whose team it is, and in whose name.

import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import type { Config } from '../../base/config/config.ts';
import { AppError, type Failure, failureOf, onAppError } from '../../base/errors.ts';
import { canonicalPath, isDirectory, kindOf } from '../../base/files/directories.ts';
import { readTextNow, writeNew } from '../../base/files/files.ts';
import { gitIdentity, isIgnored } from '../../base/files/working-tree.ts';
import { locateSecrets, redact } from '../../base/text/redact.ts';
import type { Clock } from '../../base/time.ts';
import { scopeDir } from '../../doors/places.ts';
import type { WingApp } from '../../doors/wing.ts';
import { indexChange } from '../../memory/dream/index-file.ts';
import { refreshTopics, saidId } from '../../memory/dream/topic-table.ts';
import { changesOf } from '../../memory/history/undo.ts';
import { checkoutRoot, gitRoot, isCheckedInDir } from '../../memory/home/paths.ts';
import { sessionDirs } from '../../memory/ledger/coverage.ts';
import { enterPersonsJob } from '../../memory/ledger/job-rows.ts';
import { isPinned } from '../../memory/store/staging.ts';
import type { FileChange, Store } from '../../memory/store/store.ts';
import { authorName } from '../../memory/text/blocks.ts';
import { editLines, parseTopic, seenOnceOn } from '../../memory/text/topic.ts';
import type { MemoryType } from '../../memory/types.ts';
import { sharedAlone, shareInto, statementsOf } from './team-memory.ts';

/** A topic of one's own memory. */
export interface ShareSource {
  path: string;
  text: string;
  /** The ids of the lines that are meant; default: all. */
  only?: Set<string>;
  /** The ids of lines that these came in place of: where this author alone shared one, it goes. */
  replaced?: Set<string>;
  /** For the team, where the text has no frontmatter that says it. */
  described?: { description: string; type: MemoryType };
}

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

// Its keys and functions in what the core exports.
declare module '../../../jobs/dream.ts' {
  interface DreamFacts {
    /** What of it went to the team, where that was asked for or set. */
    shared?: ShareReport;
  }
}
declare module '../../doors/job-bounds.ts' {
  interface JobOptions {
    /** A dream shares what it changed with the team whose working tree holds this directory. */
    shareFrom?: string;
  }
}
declare module '../../doors/compose.ts' {
  interface Nocturne {
    /** Puts statements of one's own memory into that of the team whose working tree holds `cwd`. */
    share(own: Store, request: ShareRequest, by: { cwd: string; withEmail?: boolean }): Promise<ShareReport>;
  }
}

const ATTRIBUTES = `# Memory of the team: what two people add at the same place is both kept, and nocturne tidies up behind it.
*.md merge=union
`;
const PERSONAL_PATH = /(?:\/(?:home|Users)\/|[A-Za-z]:\\Users\\)[^\s/\\]+/;

/** What a dream changed in topics of the project and in references, as it stands now. */
async function sourcesOfDream(own: Store, job: string): Promise<ShareSource[]> {
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
  const report: ShareReport = { ...nothing(), outcome: 'known', memory: dir, author };
  // 1.
  const sharing = request.sources.map(read);
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

const nothing = () => ({ topics: [], secrets: [], personalPaths: [], job: null });

interface Statement {
  text: string;
  /** The lines of the file it stands on, from 1. */
  first: number;
  last: number;
}

interface TopicToShare {
  path: string;
  replaced: Set<string>;
  file: string[];
  description: Statement;
  statements: Statement[];
  topic: ReturnType<typeof parseTopic>;
}

function read({ path, text, only, replaced = new Set(), described }: ShareSource): TopicToShare {
  const topic = { ...parseTopic(path, text), ...described };
  const file = text.split(/\r?\n/);
  const at = file.findIndex((line) => /^\s*["']?description["']?\s*:/.test(line));
  const first = Math.max(at, 0) + 1;
  return {
    path,
    replaced,
    file,
    description: { text: topic.description, first, last: first },
    // What one session showed has not been stated yet.
    statements: statementsOf(text).filter(({ id, text: said }) => (!only || only.has(id)) && !seenOnceOn(said)),
    topic,
  };
}

function textsOf({ description, statements }: TopicToShare): string[] {
  return [description, ...statements].map(({ text }) => text);
}

async function secretsIn(sharing: TopicToShare): Promise<ShareReport['secrets']> {
  const { path, file, description, statements } = sharing;
  const secrets: ShareReport['secrets'] = [];
  for (const { text, first, last } of [description, ...statements]) {
    const { found } = await redact(text);
    if (found.length === 0) continue;
    const located = await locateSecrets(file.slice(first - 1, last).join('\n'));
    const inFile = located.length > 0 ? located : found.map(({ rule }) => ({ rule, line: 1 }));
    secrets.push(...inFile.map(({ rule, line }) => ({ path, line: first + line - 1, rule })));
  }
  if (secrets.length > 0) return secrets;
  // One that runs over several statements.
  const { found } = await redact(textsOf(sharing).join('\n'));
  return found.map(({ rule }) => ({ path, line: statements[0]?.first ?? 1, rule }));
}

async function takeSecretsOut({ description, statements }: TopicToShare): Promise<void> {
  for (const each of [description, ...statements]) each.text = (await redact(each.text)).text;
}

function personalPathsIn({ path, file, statements }: TopicToShare): ShareReport['personalPaths'] {
  const numbers = statements.flatMap(({ first, last }) => file.slice(first - 1, last).map((_, at) => first + at));
  return numbers.filter((line) => PERSONAL_PATH.test(file[line - 1] ?? '')).map((line) => ({ path, line }));
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

const GIT_TIMEOUT_MS = 5_000;

interface Sharing {
  app: WingApp;
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
  job: string | null,
  { cwd, ...at }: Omit<Sharing, 'cwd'> & { cwd?: string },
): Promise<ShareReport | undefined> {
  const from = cwd ?? onlyRepository(at.own);
  if (job === null || from === undefined) return undefined;
  const sources = await sourcesOfDream(at.own, job);
  if (sources.length === 0) return undefined;
  return orFailed(shareWithTeam({ sources, isUnasked: true }, { ...at, cwd: from }));
}

/** Where sharing comes behind other work that is done: what goes wrong is told in the report, and not instead of it. */
export function orFailed(sharing: Promise<ShareReport>): Promise<ShareReport> {
  const failed = { ...nothing(), outcome: 'failed', memory: '', author: '' } as const;
  return sharing.catch(onAppError((error) => ({ ...failed, error: failureOf(error) })));
}

/** What the repository carries is no store of a database. */
export function refuseInDatabase({ databaseUrl }: Config): void {
  if (databaseUrl === undefined) return;
  throw new AppError('refused', "Memory is kept in a database, and a team's memory is a directory of the repository.", {
    remedy: 'Share from a machine without NOCTURNE_DATABASE_URL (nocturne move --to-directory brings a memory there).',
  });
}

/** The team's memory that one's own is shared with from `cwd`. Throws `bad-input` where there is none. */
export function teamDirFor({ app: { config }, own, cwd }: Sharing): string {
  refuseInDatabase(config);
  const dir = canonicalPath(scopeDir(config, { memory: 'local', cwd }));
  const remedy = 'Share from inside of the repository whose team it is for.';
  const link = linkTo(scopeDir(config, { memory: 'local', cwd }));
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

/** Which of `.claude` and `.claude/memory` is a link, if any. */
function linkTo(dir: string): string | undefined {
  return [dirname(dir), dir].find((path) => kindOf(path) === 'link');
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
