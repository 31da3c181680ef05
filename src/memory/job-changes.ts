// What a job changed in files, by their versions; who changed the same since; and which of its lines have left this machine,
// by what git last saw of other repositories (nothing is claimed where git does not answer). It reads; taking back is jobs/undo.ts's.

import { relative, sep } from 'node:path';
import { AppError } from '../base/errors.ts';
import { remotesHolding } from '../base/files/working-tree.ts';
import type { Sql } from '../db/sql.ts';
import { rawText } from './edit-text.ts';
import type { Actor, Content } from './file-rows.ts';
import { checkoutRoot } from './paths.ts';

/** What one of the job's versions made of a file; null: no file. */
export interface FileStep {
  before: { path: string; text: string } | null;
  after: { path: string; text: string } | null;
}

export interface FileChanges {
  memory: string;
  /** `mem_…` */
  file: string;
  /** Newest first. */
  steps: FileStep[];
  /** The `seq` of the job's newest version of it. */
  last: number;
}

interface VersionRow {
  memory: string;
  file: string;
  seq: number;
  previous: string | null;
  id: string;
  path: string | null;
  content: Content;
  redacted: string | null;
  wasId: string | null;
  wasPath: string | null;
  was: Content;
  wasRedacted: string | null;
}

/** What a job did to files. Errors: `refused` where that is not all kept any more. */
export async function fileChangesOf(sql: Sql, job: string): Promise<FileChanges[]> {
  const rows = await sql.all<VersionRow>(
    `select v.memory, v.file, v.seq, v.previous, v.id, v.path, v.content, v.redacted_at as redacted, p.id as "wasId",
       p.path as "wasPath", p.content as was, p.redacted_at as "wasRedacted"
     from version v join change c on c.id = v.change left join version p on p.id = v.previous
     where c.job = ? order by v.seq desc`,
    job,
  );
  for (const { id, previous, redacted, wasId, wasRedacted } of rows) {
    if (redacted !== null || wasRedacted !== null) throw wasTakenOut(redacted === null ? (wasId ?? '') : id);
    if (previous !== null && wasId === null) throw tooOld(job);
  }
  return [...Map.groupBy(rows, ({ file }) => file)].map(([file, of]) => ({
    memory: of[0]?.memory ?? '',
    file,
    last: of[0]?.seq ?? 0,
    steps: of.map(({ path, content, wasPath, was }) => ({
      before: stateOf(wasPath, was),
      after: stateOf(path, content),
    })),
  }));
}

function stateOf(path: string | null, content: Content): FileStep['after'] {
  return path === null || content === null ? null : { path, text: rawText(content) };
}

function wasTakenOut(version: string): AppError {
  return new AppError('refused', `Version ${version} was redacted, and with it what undoing would need.`, {
    remedy: 'Edit the files by hand; nocturne takes the edit at your word.',
  });
}

export function tooOld(job: string): AppError {
  return new AppError('refused', `${job} is older than versions are kept, so it cannot be taken back any more.`, {
    remedy:
      'Edit the files by hand; nocturne takes the edit at your word. versionDays in config.json keeps them longer.',
  });
}

/** Who changed a file after the job did. */
export async function laterChangesOf(sql: Sql, { memory, file, last }: FileChanges): Promise<string[]> {
  const rows = await sql.all<{ change: string }>(
    'select change, min(seq) from version where memory = ? and file = ? and seq > ? group by change order by 2',
    ...[memory, file, last],
  );
  const said: string[] = [];
  for (const { change } of rows) said.push(await sayChange(sql, change));
  return [...new Set(said)];
}

const ACTORS: Record<Actor['kind'], string> = {
  external: 'an edit made outside',
  user: 'a person',
  api: 'a client',
  session: 'an agent',
  job: 'a job',
};

/** Who made a change, in words: `dream job_…`, `an edit made outside`. */
export async function sayChange(sql: Sql, change: string): Promise<string> {
  const job = 'select job.id, job.kind from change join job on job.id = change.job where change.id = ?';
  const row = await sql.get<{ id: string; kind: string }>(job, change);
  if (row) return `${row.kind} ${row.id}`;
  const by = await sql.get<{ kind: Actor['kind'] }>(
    'select actor_kind as kind from version where change = ? limit 1',
    change,
  );
  return ACTORS[by?.kind ?? 'job'];
}

export interface Pushed {
  /** In the memory directory. */
  path: string;
  /** Branches of other repositories: `origin/main`. */
  to: string[];
}

const GIT_TIMEOUT_MS = 5_000;
/** A shorter line, as a heading or a mark, may stand in a file that says nothing of what was written. */
const TELLING_CHARACTERS = 8;

/** In which files lines that a job wrote have left this machine. */
export async function pushedBy(
  sql: Sql,
  { job, environment }: { job: string; environment: Record<string, string | undefined> },
): Promise<Pushed[]> {
  const pushed: Pushed[] = [];
  for (const { memory, steps } of await fileChangesOf(sql, job)) {
    const dir = (await sql.get<{ dir: string | null }>('select dir from memory where id = ?', memory))?.dir;
    const root = dir ? checkoutRoot(dir) : null;
    const path = steps[0]?.after?.path;
    if (!dir || root === null || path === undefined) continue;
    const before = new Set(linesOf(steps.at(-1)?.before?.text));
    const written = linesOf(steps[0]?.after?.text).filter(
      (line) => line.length >= TELLING_CHARACTERS && !before.has(line),
    );
    const from = [relative(root, dir).split(sep).join('/'), path].filter(Boolean).join('/');
    const to = await remotesHolding(written, from, { root, environment, timeoutMs: GIT_TIMEOUT_MS });
    if (to.length > 0) pushed.push({ path, to });
  }
  return pushed;
}

function linesOf(text = ''): string[] {
  return text.split(/\r?\n/).map((line) => line.trim());
}
