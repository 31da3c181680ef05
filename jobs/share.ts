// Share: statements of one's own memory go into the team's, because a person says so or the settings do.
//
// 1. Take the statements: of whole topics, or what a dream changed in them.
// 2. Look for secrets in every text that would be shared. One refuses all, unless placeholders are to stand for them.
// 3. In one commit of the team's memory put each statement that stands nowhere there yet into the topic of its name,
//    with its author; build the index with it. Nothing that stands there is changed, but that what a dream replaced
//    goes where nobody else shared it.
//
// In a team's topic a statement is one line with its author at its end, put at its place in the alphabet, so that two clones
// that share write different places of the file and the order tells nothing of time.

import { join } from 'node:path';
import type { Failure } from '../src/base/errors.ts';
import { isDirectory } from '../src/base/files/directories.ts';
import { readTextNow, writeNew } from '../src/base/files/files.ts';
import { locateSecrets, redact } from '../src/base/text/redact.ts';
import type { Clock } from '../src/base/time.ts';
import { indexChange } from '../src/memory/dream/index-change.ts';
import { refreshTopics } from '../src/memory/dream/topic-table.ts';
import { changesOf } from '../src/memory/history/job-changes.ts';
import { enterPersonsJob } from '../src/memory/ledger/job-rows.ts';
import { isPinned } from '../src/memory/store/staging.ts';
import type { FileChange, Store } from '../src/memory/store/store.ts';
import { authorsOf, lineEndOf, withAuthors } from '../src/memory/text/blocks.ts';
import {
  editLines,
  type LocatedLine,
  lineNumbers,
  locateLines,
  newTopic,
  parseTopic,
  saidId,
  seenOnceOn,
} from '../src/memory/text/topic.ts';
import type { MemoryType } from '../src/memory/types.ts';

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

const ATTRIBUTES = `# Memory of the team: what two people add at the same place is both kept, and nocturne tidies up behind it.
*.md merge=union
`;
const PERSONAL_PATH = /(?:\/(?:home|Users)\/|[A-Za-z]:\\Users\\)[^\s/\\]+/;

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

/** What is shared of a topic. */
interface SharedTopic {
  name: string;
  description: string;
  type: MemoryType;
  /** Each on one line; code in its fence. */
  statements: string[];
}

/** What of a topic can be shared: its statements, with the line's id and the lines of the file they stand on, from 1. */
export function statementsOf(raw: string): { id: string; text: string; first: number; last: number }[] {
  const numbers = lineNumbers(raw);
  const lines = locateLines(raw);
  let table: { head: string[]; end: number } | null = null;
  return lines.flatMap(({ id, text, kind, from, to }, at) => {
    const { first = 1, last = 1 } = numbers[at] ?? {};
    const said = { id, text: kind === 'fence' ? withoutIndent(raw.slice(from, to)) : text, first, last };
    if (kind !== 'paragraph' || !text.includes('|')) return said;
    const next = lines[at + 1];
    if (next?.from === to && isTableRule(next.text)) {
      table = { head: cellsOf(text), end: next.to };
      return [];
    }
    if (table === null || (from !== table.end && to !== table.end)) return said;
    if (to === table.end) return [];
    table.end = to;
    return { ...said, text: rowAlone(cellsOf(text), table.head) };
  });
}

function isTableRule(line: string): boolean {
  return /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/.test(line);
}

function cellsOf(row: string): string[] {
  const inner = row.replace(/^\||(?<!\\)\|$/g, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim());
}

/** A row of a table as it can stand on a line of its own, in any order: `Host: alpha; Port: 22`. */
function rowAlone(cells: string[], head: string[]): string {
  const named = cells.map((cell, at) => (cell && head[at] ? `${head[at]}: ${cell}` : cell));
  return named.filter((cell) => cell !== '').join('; ');
}

/** The lines of a team's topic that this author shared and nobody else. */
export function sharedAlone(raw: string, author: string): LocatedLine[] {
  return locateLines(raw).filter(({ authors }) => authors.length === 1 && authors[0] === author);
}

/** The team's topic with the statements that are not in it yet; a new one where there is none. */
export function shareInto(current: string | null, { statements, ...topic }: SharedTopic, author: string): string {
  const start = current ?? newTopic({ ...topic, lines: [] });
  return statements.reduce((raw, statement) => putInPlace(raw, statement, author), start);
}

function putInPlace(raw: string, statement: string, author: string): string {
  const lineEnd = lineEndOf(raw);
  const ended = raw === '' || raw.endsWith('\n') ? raw : raw + lineEnd;
  if (/^(?:```|~~~).*\n/.test(statement)) {
    const gap = /(?:^|\n)\r?\n$/.test(ended) ? '' : lineEnd;
    return ended + gap + [...statement.trimEnd().split('\n'), withAuthors('', [author]).trim(), ''].join(lineEnd);
  }
  const line = `- ${withAuthors(statement, [author])}${lineEnd}`;
  const list = lastList(ended);
  const last = list.at(-1);
  if (!last) return ended + (/(?:^|\n)\r?\n$/.test(ended) ? '' : lineEnd) + line;
  const at = list.find(({ text }) => text > statement)?.from ?? last.to;
  return ended.slice(0, at) + line + ended.slice(at);
}

/** The bullets of the last list; what is numbered or indented is in someone's own order. */
function lastList(raw: string): LocatedLine[] {
  const lines = locateLines(raw);
  const isPlain = (line: LocatedLine | undefined) => line !== undefined && /^[-*+]/.test(line.marker);
  const isNext = (line?: LocatedLine, next?: LocatedLine) => raw.slice(line?.to, next?.from).trim() === '';
  const last = lines.findLastIndex(isPlain);
  let first = last;
  while (isPlain(lines[first - 1]) && isNext(lines[first - 1], lines[first])) first -= 1;
  return lines.slice(Math.max(first, 0), last + 1);
}

function withoutIndent(fence: string): string {
  const lines = fence.split(/\r?\n/).filter((line) => authorsOf(line).length === 0);
  const indent = /^[ \t]*/.exec(lines[0] ?? '')?.[0] ?? '';
  return lines
    .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
    .join('\n')
    .trimEnd();
}
