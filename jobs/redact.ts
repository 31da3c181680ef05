// Redact: a text that should never have been kept goes from everywhere nocturne keeps it: files, versions, rows, what undo keeps, files
// aside, spool, logs, sessions that were sent, copies of the database. Who changed something and when stays, and so do ids.
//
// 1. Refuse where the name of a file holds it: that is for a person to rename.
// 2. Files that hold it get new versions without it, and are brought to their directories; what was moved aside goes.
// 3. Older versions lose text, place and hash; every other row is scrubbed; what lines rest on follows them.
// 4. What waits in the home, and its logs, are rewritten.
// 5. The database is written anew, so that no byte is left in it; a new copy of it is made, and the older ones are deleted.
// 6. Say where it is still found, or may be, and not changed: in the team's memory, too.
//
// It can be run again, whenever it broke off. It does not reach transcripts, version control, and what others copied.

import { join, sep } from 'node:path';
import { AppError, onAppError } from '../src/base/errors.ts';
import { listFiles } from '../src/base/files/directories.ts';
import { readOverlapping, readTextNow, writeWhole } from '../src/base/files/files.ts';
import { backUp, compact } from '../src/db/backup.ts';
import { newId } from '../src/db/sql.ts';
import { commit, type FileChange, lookInto } from '../src/memory/commit.ts';
import { rawText } from '../src/memory/edit-text.ts';
import { type Actor, headsOf } from '../src/memory/file-rows.ts';
import { beginJob, endJob, startedBy } from '../src/memory/job-rows.ts';
import type { Memories } from '../src/memory/memories.ts';
import {
  entriesHolding,
  forgetWords,
  movedLines,
  type Scrub,
  scrubFile,
  scrubJson,
  scrubLines,
  scrubRows,
  scrubSessions,
  type Where,
  wipe,
  wipeVersions,
} from '../src/memory/redaction.ts';
import { type RestingLine, restingOn } from '../src/memory/rests.ts';
import { addMark, markOf } from './after-restore.ts';

interface RedactDeps {
  memories: Memories;
  /** Who redacts; default: a person. */
  actor?: Actor;
}

export interface RedactRequest {
  /** What is taken out: `scrubOf('the words')`, `scrubSecrets`. */
  scrub: Scrub;
  /** In which memories; default: in all, and in what belongs to none. */
  memories?: readonly string[];
  /** Only say what would be changed; default false. */
  isDry?: boolean;
  /** Directories that are only looked through, where no memory that is redacted is in them: a team's memory, which others have, too. */
  beside?: readonly string[];
}

export interface RedactReport {
  job: string | null;
  /** Files that were changed, in the directories of their memories. */
  files: string[];
  /** How many versions lost their text. */
  versions: number;
  /** How many rows were changed. */
  rows: number;
  /** Files of the home that were changed, as they are called there: of the spool, logs. */
  home: string[];
  /** Sessions that are kept here which were changed, by their ids. */
  sessions: string[];
  /** Lines that rest on redacted entries alone, and do not hold it themselves. */
  lines: RestingLine[];
  /** Files beside these memories that hold it; nothing was changed there. */
  beside: string[];
  /** Files that still hold it, and what may. */
  remaining: string[];
  /** What a person has to do where nocturne does not reach, as sentences. */
  remedies: string[];
}

/** Errors: `refused` where a file's name holds it; `conflict` where another process keeps the database from being written anew. */
export async function redact(request: RedactRequest, deps: RedactDeps): Promise<RedactReport> {
  const { scrub, memories: asked, isDry = false } = request;
  const { memories, actor = PERSON } = deps;
  const { db, home, clock } = memories;
  const all =
    asked ?? (await db.all<{ id: string }>('select id from memory where deleted_at is null')).map(({ id }) => id);
  for (const memory of all) await memories.of(memory);
  const at: Where = { memories: asked };
  const job = isDry ? null : await begin('match', deps);
  const report = nothing(job);
  // 1.
  for (const memory of all) await refuseNames(scrub, memory, memories);
  // 2.
  const entries = await entriesHolding(db, scrub, at);
  for (const memory of all) {
    const said = entries.filter((each) => each.memory === memory).map(({ id }) => id);
    // That do not hold it themselves.
    const lines: RestingLine[] = [];
    for (const line of (await restingOn(db, memory, said)).alone)
      if ((await scrub(line.text)) === line.text) lines.push(line);
    report.lines.push(...lines);
    const changed = { scrub, memory, isDry, job: job ?? '', actor };
    const dir = memories.copyOf(memory)?.dir ?? '';
    for (const path of await redactFiles(changed, memories)) report.files.push(join(dir, path));
  }
  // 3.
  const wiped = await wipeVersions(db, scrub, { ...at, by: actor, now: clock.now(), isDry });
  report.versions = wiped.versions.length;
  report.rows = await scrubRows(db, scrub, { ...at, isDry });
  report.sessions = await scrubSessions(db, scrub, { ...at, isDry });
  if (!isDry) await scrubLines(db, scrub, at);
  // 4.
  report.home = await redactHome(scrub, { home, isDry });
  const dirs = all.flatMap((memory) => memories.copyOf(memory)?.dir ?? []);
  report.beside = await filesHolding(
    scrub,
    (request.beside ?? []).filter((dir) => !dirs.includes(dir)),
  );
  if (isDry) {
    const holding = await filesHolding(scrub, dirs);
    report.remaining = holding.filter(
      (path) => !report.files.includes(path) && !path.includes(`${sep}.nocturne${sep}`),
    );
    return report;
  }
  // 5.
  const said = entries.flatMap(({ memory, id, message }) => [`${memory} ${id}`, markOf(message)]);
  report.remedies.push(...(await rewrite([...said, ...wiped.versions], deps)));
  // 6.
  report.remaining = [...wiped.waiting, ...(await filesHolding(scrub, [home, ...dirs]))];
  if (wiped.waiting.length > 0) report.remedies.push(WAITING);
  return end(report, deps);
}

const PERSON: Actor = { kind: 'user', id: null };
const nothing = (job: string | null): RedactReport => ({
  ...{ job, files: [], versions: 0, rows: 0, home: [], sessions: [] },
  ...{ lines: [], beside: [], remaining: [], remedies: [] },
});
const WAITING =
  'Some files cannot be written now (git is at work, or another machine is off): redact again when they can.';
const BEYOND_POSTGRES =
  'PostgreSQL keeps what was deleted until vacuum full is run on these tables, and dumps and archives (pg_dump, WAL) still hold it.';

/**
 * Redacts one version, and every other one of its memory with the same text; answers how many. Errors: `bad-input` where there is no
 * such version, `refused` for what a file is at now.
 */
export async function redactVersion(
  { memory, version: id }: { memory: string; version: string },
  deps: RedactDeps,
): Promise<RedactReport> {
  const { memories, actor = PERSON } = deps;
  const { db, clock } = memories;
  await lookInto(memories, { memory, paths: 'all' });
  const select =
    'select id, memory, file, path, sha, content, redacted_at as redacted from version where memory = ? and';
  const version = await db.get<StoredVersion>(`${select} id = ?`, memory, id);
  if (!version) throw new AppError('bad-input', `There is no version ${id}; it may be older than versions are kept.`);
  if (version.redacted !== null) return nothing(null);
  const same = version.sha === null ? [version] : await db.all<StoredVersion>(`${select} sha = ?`, memory, version.sha);
  const heads = await headsOf(db, memory);
  const head = heads.find((each) => same.some((one) => one.id === each.version));
  if (head) {
    throw new AppError('refused', `Version ${head.version} is what ${head.path} is at now. Nothing was redacted.`, {
      remedy: 'Change or delete the file first, or use nocturne redact --match TEXT, which does it.',
    });
  }
  const job = await begin('version', deps);
  const forgotten: string[] = [];
  const wiped = await db.write(async (sql) => {
    const ids: string[] = [];
    for (const one of same) {
      if (!(await wipe(sql, one.id, { by: actor, now: clock.now() }))) continue;
      ids.push(one.id);
      forgotten.push(...(await forgetWords(sql, one)));
    }
    return ids;
  });
  const copy = memories.copyOf(memory);
  await copy?.hold(async () => copy.clearAside());
  const remedies = await rewrite([...wiped, ...forgotten.map((entry) => `${memory} ${entry}`)], deps);
  const isWhole = wiped.length === same.length;
  const report = { ...nothing(job), versions: wiped.length, rows: forgotten.length, remedies };
  return end(isWhole ? report : { ...report, remedies: [...remedies, WAITING] }, deps);
}

interface StoredVersion {
  id: string;
  memory: string;
  file: string;
  path: string | null;
  sha: string | null;
  content: Buffer | null;
  redacted: string | null;
}

async function begin(what: 'match' | 'version', { memories, actor = PERSON }: RedactDeps): Promise<string> {
  const id = newId('job');
  // Never the words themselves.
  const start = { id, kind: 'redact', startedBy: startedBy(actor), request: { what } } as const;
  return beginJob(memories.db, { ...start, at: memories.clock.now().toISOString() });
}

async function end(report: RedactReport, { memories }: RedactDeps): Promise<RedactReport> {
  const { job, versions, rows } = report;
  const at = memories.clock.now().toISOString();
  await endJob(memories.db, job ?? '', { outcome: 'redacted', output: { versions, rows }, at });
  return report;
}

async function refuseNames(scrub: Scrub, memory: string, { db }: Memories): Promise<void> {
  const files = await db.all<{ path: string }>('select path from file where memory = ? and path is not null', memory);
  for (const { path } of files) {
    if ((await scrub(path)) === path) continue;
    throw new AppError('refused', `The name of ${path} has it in it, too. Nothing was changed.`, {
      remedy: 'Rename the file first, then redact.',
    });
  }
}

interface Files {
  scrub: Scrub;
  memory: string;
  isDry: boolean;
  job: string;
  actor: Actor;
}

/** So often files are read again that were changed while it was found what becomes of them. */
const MOST_ROUNDS = 5;

/** Answers the paths of files that hold it, and which were changed. */
async function redactFiles({ scrub, memory, isDry, job, actor }: Files, memories: Memories): Promise<string[]> {
  const changed = new Set<string>();
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    await lookInto(memories, { memory, paths: 'all' });
    const found: { path: string; before: string; after: string }[] = [];
    for (const { path, content } of await headsOf(memories.db, memory)) {
      const before = content ? rawText(content) : '';
      const after = await scrubFile(scrub, path ?? '', before);
      if (path !== null && after !== before) found.push({ path, before, after });
    }
    for (const { path } of found) changed.add(path);
    if (found.length === 0 || isDry) break;
    const files = found.map(({ path, before, after }): FileChange => {
      return { path, make: (current) => (current === before ? after : current) };
    });
    await commit(memories, { memory, paths: found.map(({ path }) => path) }, { job, actor }, async () => ({
      files,
      async rows(change, heads) {
        for (const [n, { path, before, after }] of found.entries()) {
          // A line keeps what it rests on, so that it does not pass for a person's from now on.
          for (const { from, to } of movedLines(path, before, after)) {
            const key = [memory, heads[n]?.id ?? ''];
            const of = 'memory = ? and file = ? and line = ?';
            const known = `delete from rests where ${of} and source in (select source from rests where ${of})`;
            await change.sql.run(known, ...key, to, ...key, from);
            await change.sql.run(`update rests set line = ? where ${of}`, to, ...key, from);
          }
        }
      },
    }));
  }
  const copy = isDry ? null : memories.copyOf(memory);
  await copy?.hold(async () => copy.clearAside());
  return [...changed].sort();
}

/** What waits in the spool, and logs: those that are still being written are left. */
async function redactHome(scrub: Scrub, { home, isDry }: { home: string; isDry: boolean }): Promise<string[]> {
  const changed: string[] = [];
  for (const path of listFiles(home)) {
    if (!/^(?:spool|logs)\//.test(path) || path.endsWith('.tmp')) continue;
    const text = readTextNow(join(home, path)) ?? '';
    const lines: string[] = [];
    for (const line of text.split('\n')) lines.push(await scrub(await scrubJson(scrub, line)));
    const after = lines.join('\n');
    if (after === text) continue;
    changed.push(path);
    if (!isDry) writeWhole(join(home, path), after);
  }
  return changed;
}

/** Answers what is left for a person to do. */
async function rewrite(marked: string[], { memories: { db, home, clock } }: RedactDeps): Promise<string[]> {
  if (db.engine === 'postgres') return [BEYOND_POSTGRES];
  // First: should the rest not be done, a restore does not bring it back.
  addMark(home, { what: 'redacted', ids: marked });
  await compact(home);
  await backUp(home, { now: clock.now(), isOnly: true });
  return [];
}

/** Files are looked through in pieces; what is no longer than `overlap` stands whole in one. */
const PIECES = { bytes: 4 * 2 ** 20, overlap: 2 ** 16 };

/** Files of directories that hold it, databases apart, which are not read as files. */
async function filesHolding(scrub: Scrub, dirs: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const dir of dirs) {
    for (const path of listFiles(dir)) {
      const absolute = join(dir, path);
      // What node compiled of this program looks like any secret in places.
      if (/\.db(?:-wal|-shm)?$|^\.git\/|^compiled\/v\d/.test(path.replaceAll(sep, '/'))) continue;
      const isHeld = await holds(absolute, scrub).catch(onAppError(() => false));
      if (isHeld) found.push(absolute);
    }
  }
  return [...new Set(found)].sort();
}

async function holds(path: string, scrub: Scrub): Promise<boolean> {
  for (const piece of readOverlapping(path, PIECES)) {
    const text = piece.toString();
    if ((await scrub(text)) !== text) return true;
  }
  return false;
}
