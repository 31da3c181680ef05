// What a job changed, as the ledger remembers it: rows with what stood there before and after it, files with their
// versions; and which of its lines have left this machine since, by what git last saw of other repositories (nothing is
// claimed where git does not answer). It reads; taking back is the business of jobs/undo.ts.
// What someone changed after the job no longer is as the job left it, and is named with who did.

import { relative, sep } from 'node:path';
import { AppError } from '../../base/errors.ts';
import { remotesHolding } from '../../base/files/working-tree.ts';
import { checkoutRoot } from '../home/paths.ts';
import { commitsOf } from '../ledger/job-rows.ts';
import { KEYS, type Ledger, type Row, type UndoableTable } from '../ledger/ledger.ts';
import { shortId } from '../ledger/short-ids.ts';
import type { Store } from '../store/store.ts';
import { readVersion } from './versions.ts';

export interface RowChange {
  table: UndoableTable;
  /** The key columns. */
  key: Row;
  /** Before the job; null: no row. */
  before: Row | null;
  /** As the job left it. */
  after: Row | null;
  current: Row | null;
  /** Who changed the row first after the job; null where it stands as the job left it, or as it was before. */
  changedBy: string | null;
}

interface FileStep {
  before: string | null;
  after: string | null;
}

export interface FileChanges {
  memory: string;
  /** Where the file is now. */
  path: string;
  /** Where it was before the job gave it another name, under which it still is. */
  movedFrom?: string;
  /** What the job did to it, newest first. */
  steps: FileStep[];
  /** The job's newest version of it. */
  lastVersion: string;
}

export interface JobChanges {
  rows: RowChange[];
  files: FileChanges[];
}

/** Everything a job changed. Throws `refused` where that is not all kept any more. */
export function changesOf(ledger: Ledger, job: string): JobChanges {
  const commits = commitsOf(ledger, job);
  const dropped = ledger.get<{ through: number }>('select through from dropped')?.through ?? 0;
  const oldest = commits.at(-1);
  if (oldest !== undefined && oldest <= dropped) throw tooOld(ledger, job);
  return { rows: rowChanges(ledger, commits), files: fileChanges(ledger, { job, commits }) };
}

/** Who changed a file after this version of it, without the job itself. */
export function changedSince(ledger: Ledger, { memory, lastVersion }: FileChanges): string[] {
  const sql = `select distinct actor from version
    where memory = ? and rowid > (select rowid from version where id = ?) order by rowid`;
  return ledger.all(sql, memory, lastVersion).map((row) => row.actor as string);
}

function rowChanges(ledger: Ledger, commits: number[]): RowChange[] {
  const changes = new Map<string, RowChange>();
  for (const commit of commits) {
    for (const row of writtenRows(ledger, commit)) {
      const { table, key, before } = row;
      const name = `${table} ${key}`;
      const known = changes.get(name);
      // Newest first: the oldest image of a row is what stood there before the job.
      if (known) known.before = imageOf(before);
      else changes.set(name, rowChange(ledger, row));
    }
  }
  for (const change of changes.values()) if (isSame(change.current, change.before)) change.changedBy = null;
  return [...changes.values()];
}

interface WrittenRow {
  rowid: number;
  table: UndoableTable;
  /** JSON of the key columns' values. */
  key: string;
  /** JSON of the row before. */
  before: string | null;
}

function writtenRows(ledger: Ledger, commit: number): WrittenRow[] {
  return ledger.all(
    'select rowid, tbl as "table", key, before from undo where "commit" = ? order by rowid desc',
    commit,
  );
}

function rowChange(ledger: Ledger, { rowid, table, key, before }: WrittenRow): RowChange {
  const values = JSON.parse(key) as string[];
  const columns = KEYS[table];
  const where = columns.map((column) => `${column} = ?`).join(' and ');
  const current = ledger.get(`select * from ${table} where ${where}`, ...values) ?? null;
  const next = ledger.get(
    `select before, actor from undo join "commit" on "commit".id = undo."commit"
     where tbl = ? and key = ? and undo.rowid > ? order by undo.rowid limit 1`,
    table,
    key,
    rowid,
  );
  const after = next ? imageOf(next.before as string | null) : current;
  return {
    table,
    key: Object.fromEntries(columns.map((column, at) => [column, values[at] as string])),
    before: imageOf(before),
    after,
    current,
    changedBy: isSame(after, current) ? null : (next?.actor as string),
  };
}

function fileChanges(ledger: Ledger, { job, commits }: { job: string; commits: number[] }): FileChanges[] {
  const files = new Map<string, FileChanges>();
  for (const commit of commits) {
    // What an external edit added while the commit was brought to the file is no work of the job.
    const versions = ledger.all(
      `select version.id, memory.path from version join memory on memory.id = version.memory
       join "commit" on "commit".id = version."commit" and "commit".actor = version.actor
       where version."commit" = ? order by version.rowid desc`,
      commit,
    );
    for (const { id, path } of versions) {
      const version = readVersion(ledger, id as string);
      const file = files.get(version.memory) ?? {
        memory: version.memory,
        path: path as string,
        steps: [],
        lastVersion: version.id,
      };
      files.set(version.memory, file);
      const previous = version.previous === null ? null : readVersion(ledger, version.previous);
      const before = previous?.path ?? null;
      const isMove = before !== null && version.operation === 'modified' && before !== version.path;
      if (isMove && version.path === (file.movedFrom ?? file.path)) file.movedFrom = before;
      if (version.operation !== 'created' && previous === null) throw tooOld(ledger, job);
      file.steps.push({ before: previous && textOf(ledger, previous), after: textOf(ledger, version) });
    }
  }
  return [...files.values()];
}

function textOf(ledger: Ledger, { id, text, redactedAt }: ReturnType<typeof readVersion>): string | null {
  if (redactedAt === null) return text;
  throw new AppError(
    'refused',
    `Version ${shortId(ledger, 'version', id)} was redacted, and with it what undoing would need.`,
    { remedy: 'Edit the files by hand; nocturne takes the edit at your word.' },
  );
}

function tooOld(ledger: Ledger, job: string): AppError {
  const name = shortId(ledger, 'job', job);
  return new AppError('refused', `${name} is older than versions are kept, so it cannot be taken back any more.`, {
    remedy:
      'Edit the files by hand; nocturne takes the edit at your word. versionDays in config.json keeps them longer.',
  });
}

function imageOf(before: string | null): Row | null {
  return before === null ? null : JSON.parse(before);
}

/** An image that was made before a column was there lacks it. */
function isSame(a: Row | null, b: Row | null): boolean {
  const said = (row: Row | null) => JSON.stringify(row, (_, value) => (value === null ? undefined : value));
  return said(a) === said(b);
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

export async function pushedBy(
  { dir, ledger }: Pick<Store, 'dir' | 'ledger'>,
  job: string,
  environment: Record<string, string | undefined>,
): Promise<Pushed[]> {
  const root = checkoutRoot(dir);
  if (root === null) return [];
  const tree = { root, environment, timeoutMs: GIT_TIMEOUT_MS };
  const pushed: Pushed[] = [];
  for (const file of changesOf(ledger, job).files) {
    const from = [relative(root, dir).split(sep).join('/'), file.path].filter(Boolean).join('/');
    const to = await remotesHolding(writtenBy(file), from, tree);
    if (to.length > 0) pushed.push({ path: file.path, to });
  }
  return pushed;
}

/** The lines that the job left in a file and that were not there before it. */
function writtenBy({ steps }: FileChanges): string[] {
  const before = new Set(linesOf(steps.at(-1)?.before));
  return linesOf(steps[0]?.after).filter((line) => line.length >= TELLING_CHARACTERS && !before.has(line));
}

function linesOf(text: string | null | undefined): string[] {
  return (text ?? '').split(/\r?\n/).map((line) => line.trim());
}
