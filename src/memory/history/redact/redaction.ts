// Redaction: a text that should never have been kept goes from everywhere the store keeps it: files, versions, rows,
// what undo keeps, displaced files, the spool, snapshots, and the pages of the ledger. Who changed something and when stays, and
// so do ids. It cannot reach what others keep: transcripts, version control, backups. It says where it still finds the
// text. Files of any size are looked through; one that holds the text and is too large to be changed whole stops the
// redaction before it begins.

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { AppError } from '../../../base/errors.ts';
import { isDirectory, listFiles, listNames } from '../../../base/files/directories.ts';
import { readLines, writePieces } from '../../../base/files/file-pieces.ts';
import { MOST_MEMORY_BYTES, moveFile, readText, removeFile, statNow, writeWhole } from '../../../base/files/files.ts';
import { wipeProposals } from '../../dream/proposals.ts';
import { clearTopicTable } from '../../dream/topic-table.ts';
import { type Ledger, readTextOrDatabase } from '../../ledger/ledger.ts';
import { formatTooLarge } from '../../store/apply.ts';
import { DISPLACED_DIR } from '../../store/displaced-files.ts';
import type { Actor, FileChange, Store } from '../../store/store.ts';
import { logDay, parseLog } from '../../text/daily-log.ts';
import { isReportPath } from '../../text/dream-report.ts';
import { readVersion, type Version } from '../versions.ts';
import { FileScrub, REDACTED, type Scrub } from './scrub.ts';

export interface Redaction {
  /** The files that were changed, in the memory directory. */
  files: string[];
  /** How many versions were redacted. */
  versions: number;
  /** How many rows of the ledger were changed. */
  rows: number;
  /** Files of the spool that were changed. */
  spool: string[];
  /** Snapshots of sessions that wait for their extraction which were changed, in the memory directory. */
  snapshots: string[];
  /** Sessions that are kept with a store outside of its directory which were changed; only where there is such a place. */
  sessions?: string[];
  /** Absolute paths of files in the memory directory and the home that still hold it. */
  remaining: string[];
}

export interface RedactionPlace {
  store: Store;
  /** The nocturne home. */
  home: string;
  now: Date;
  /** Who redacts; default: a person. */
  by?: Actor;
  /** Redacts what is kept of the store outside of its directory and its ledger: rows, and sessions by their names. */
  elsewhere?: RedactElsewhere;
}

export type RedactElsewhere = (at: { store: Store; scrub: Scrub; isDry: boolean }) => Promise<{
  rows: number;
  sessions: string[];
}>;

/** No record of a session is longer, nor is a longer one read. */
const MOST_LINE_BYTES = 64 * 2 ** 20;

/** Columns in which words of a person or of a model can stand. All others are ids, kinds, times and numbers. */
const WORDS = {
  job: { instructions: 'text', error: 'text' },
  session: { path: 'text', cwd: 'text' },
  entry: { text: 'text', evidence: 'json' },
  index_line: { line: 'text' },
  recalled: { text: 'text' },
  snapshot_topic: { text: 'text' },
  inbox: { payload: 'json', failure: 'text' },
  failure: { payload: 'json', message: 'text' },
  proposal: { operations: 'json', forgotten: 'json', because: 'text' },
} as const satisfies Record<string, Record<string, 'text' | 'json'>>;

/**
 * Redacts one version, and every other one with the same text: `redactVersion('memver_…', { store, home, now })`.
 * Throws `bad-input` where there is no such version, `refused` for what a file is at now, `conflict` where another
 * process keeps the ledger from being rewritten.
 */
export function redactVersion(id: string, place: RedactionPlace): Promise<Redaction> {
  return place.store.asOne((store) => redactVersionIn(id, { ...place, store }));
}

async function redactVersionIn(id: string, { store, now, by }: RedactionPlace): Promise<Redaction> {
  const { ledger } = store;
  await seeExternalEdit(store, id);
  const shas: string[] = [];
  const [versions, rows] = ledger.transaction(() => {
    const version = readVersion(ledger, id);
    if (version.redactedAt) return [0, 0];
    if (version.sha) shas.push(version.sha);
    const same = version.sha ? ledger.all('select id from version where sha = ?', version.sha) : [{ id }];
    for (const row of same) refuseHead(ledger, row.id as string);
    for (const row of same) wipe(ledger, row.id as string, { now, by });
    return [same.length, wipeWords(ledger, version)];
  });
  await removeDisplaced(store, (path) => shas.some((sha) => path.includes(sha)));
  clearTopicTable(ledger);
  ledger.compact();
  return { files: [], versions, rows, spool: [], snapshots: [], remaining: [] };
}

/**
 * Redacts every match everywhere: `redactMatches(scrubOf('the secret'), { store, home, now })`. With `isDry` it only
 * says what it would change. What it may not change is in `remaining`. Throws `refused` where the name of a file holds a
 * match or the file is too large, `conflict` where another process keeps the ledger from being rewritten.
 */
export function redactMatches(scrub: Scrub, place: RedactionPlace & { isDry?: boolean }): Promise<Redaction> {
  const { elsewhere, store: asked } = place;
  return asked.asOne((store) =>
    redactMatchesIn(scrub, { ...place, store, elsewhere: elsewhere && ((at) => elsewhere({ ...at, store: asked })) }),
  );
}

async function redactMatchesIn(scrub: Scrub, place: RedactionPlace & { isDry?: boolean }): Promise<Redaction> {
  const { store, isDry = false } = place;
  store.bringFilesUpToDate();
  const ofFiles = new FileScrub(scrub, store.ledger);
  await refuseTooLarge(scrub, store);
  const files = await filesWith(scrub, { store, ofFiles });
  if (!isDry && files.length > 0) await commitFiles(files, { store, scrub: ofFiles });
  const { versions, rows: own } = store.ledger.transaction(() => ({
    versions: redactVersions(scrub, { ...place, isDry }),
    rows: scrubRows(scrub, { ledger: store.ledger, isDry }),
  }));
  const { rows: others = 0, ...elsewhere } = (await place.elsewhere?.({ store, scrub, isDry })) ?? {};
  const rows = own + others;
  const spool = await scrubWaiting(scrub, { dir: join(place.home, 'spool'), isDry });
  const snapshots = await scrubWaiting(scrub, { dir: join(store.dir, '.nocturne', 'snapshots'), isDry });
  const done = { files, versions, rows, spool, snapshots, ...elsewhere };
  if (isDry) return { ...done, remaining: [] };
  await removeDisplaced(store, (path) => holdsMatch(path, scrub));
  clearTopicTable(store.ledger);
  store.ledger.compact();
  return { ...done, remaining: await remainsOf(scrub, [store.dir, place.home]) };
}

/** Whether a file of any size holds a match, as text; one of more than 1 MB may be missed in a file of more than 8. */
export async function holdsMatch(path: string, scrub: Scrub): Promise<boolean> {
  for await (const text of readTextOrDatabase(path)) if (scrub.isIn(text)) return true;
  return false;
}

/** A file of the memory is changed whole, and what is larger than that is told before anything has changed. */
async function refuseTooLarge(scrub: Scrub, { dir }: Store): Promise<void> {
  const tooLarge: string[] = [];
  for (const path of (await listFiles(dir)).filter(isOurs)) {
    if (!isTooLarge(join(dir, path)) || !(await holdsMatch(join(dir, path), scrub))) continue;
    tooLarge.push(`${path} ${formatTooLarge(statNow(join(dir, path))?.bytes ?? 0)}`);
  }
  if (tooLarge.length === 0) return;
  throw new AppError('refused', `${tooLarge.join('; ')}, and it holds what is to be redacted. Nothing was changed.`, {
    remedy:
      'Take the text out of it yourself, make it smaller, or delete it; then redact again, for what else holds it.',
  });
}

/** The files that hold a match, and those whose last known text does although they have an external edit since. */
async function filesWith(
  scrub: Scrub,
  { store: { dir, ledger }, ofFiles }: { store: Store; ofFiles: FileScrub },
): Promise<string[]> {
  const paths: string[] = [];
  const found = (await listFiles(dir)).filter(isOurs);
  // Topics first: what reports name of them is known by then.
  for (const path of found.sort((a, b) => Number(isReportPath(a)) - Number(isReportPath(b)))) {
    const text = isTooLarge(join(dir, path)) ? null : await readText(join(dir, path));
    const isText = text !== null && !text.includes('\uFFFD');
    if (isText) ofFiles.learn(path, text);
    if (isText && ofFiles.of(path, text) !== text) paths.push(path);
    if (scrub.isIn(path)) {
      throw new AppError('refused', `The name of ${path} holds it too. Nothing was changed.`, {
        remedy: 'Rename the file first, then redact.',
      });
    }
  }
  for (const { path, head } of ledger.all('select path, head from memory where head is not null')) {
    if (scrub.isIn(readVersion(ledger, head as string).text ?? '')) paths.push(path as string);
  }
  return [...new Set(paths)].sort();
}

async function commitFiles(paths: string[], { store, scrub }: { store: Store; scrub: FileScrub }): Promise<void> {
  const moved: ReturnType<FileScrub['movedLines']> = [];
  await store.commit({ actor: 'person' }, () => ({
    files: paths.map(
      (path): FileChange => ({
        path,
        change(text) {
          if (text === null) return null;
          moved.push(...scrub.movedLines(path, text));
          return scrub.of(path, text);
        },
      }),
    ),
    rows({ ledger }) {
      // A line keeps what it rests on, so that it does not pass for a person's from now on.
      const sql = 'update or replace support set line = ? where path = ? and line = ?';
      const ofPrograms = `update or replace program_line set line = ?
        where memory = (select id from memory where path = ?) and line = ?`;
      for (const { path, from, to } of moved) {
        ledger.run(sql, to, path, from);
        ledger.run(ofPrograms, to, path, from);
      }
    },
  }));
}

function redactVersions(scrub: Scrub, { store, now, isDry }: RedactionPlace & { isDry: boolean }): number {
  const { ledger } = store;
  let count = 0;
  for (const { id } of ledger.all('select id from version where redacted_at is null')) {
    const { text, path, memory } = readVersion(ledger, id as string);
    const isNamed = scrub.isIn(path ?? '');
    if (!isNamed && !scrub.isIn(text ?? '')) continue;
    count += 1;
    if (isDry) continue;
    // The last word on a file that is gone may go too; what a file is at was scrubbed before.
    if (isNamed) ledger.run('update memory set path = ? where id = ?', `redacted/${memory}`, memory);
    else refuseHead(ledger, id as string);
    wipe(ledger, id as string, { now });
  }
  return count;
}

function scrubRows(scrub: Scrub, { ledger, isDry }: { ledger: Ledger; isDry: boolean }): number {
  let count = 0;
  for (const [table, columns] of Object.entries(WORDS)) {
    for (const [column, form] of Object.entries(columns)) {
      count += ledger.scrub({ table, column, isDry }, scrub[form as 'text' | 'json']);
    }
  }
  count += ledger.scrub({ table: 'undo', column: 'before', isDry }, (image) => scrubImage(scrub, image));
  // The index is always rebuilt, so undo does without these.
  for (const { key } of ledger.all("select distinct key from undo where tbl = 'index_line'")) {
    if (!scrub.isIn(key as string)) continue;
    count += 1;
    if (!isDry) ledger.run("delete from undo where tbl = 'index_line' and key = ?", key as string);
  }
  return count;
}

/** The image of a row that undo keeps. */
function scrubImage(scrub: Scrub, image: string): string {
  const words: Record<string, 'text' | 'json'> = Object.assign({}, ...Object.values(WORDS));
  const scrubbed = Object.entries(JSON.parse(image)).map(([column, value]) => {
    const form = words[column];
    return [column, form && typeof value === 'string' ? scrub[form](value) : value];
  });
  return JSON.stringify(Object.fromEntries(scrubbed));
}

/** What a person changed just now counts as changed, also where no commit has noticed it yet. */
async function seeExternalEdit(store: Store, id: string): Promise<void> {
  const path = store.ledger.get('select path from memory where head = ?', id)?.path as string | undefined;
  const files = path === undefined ? [] : [{ path, change: (current: string | null) => current }];
  await store.commit({ actor: 'person' }, () => ({ files }));
}

function wipe(ledger: Ledger, id: string, { now, by = 'person' }: Pick<RedactionPlace, 'now' | 'by'>): void {
  ledger.run(
    `update version set content = null, sha = null, size = null, path = null, redacted_at = ?, redacted_by = ?
     where id = ?`,
    now.toISOString(),
    by,
    id,
  );
}

function refuseHead(ledger: Ledger, id: string): void {
  const head = ledger.get('select path from memory where head = ?', id);
  if (!head) return;
  throw new AppError('refused', `Version ${id} is what ${head.path} is at now. Nothing was redacted.`, {
    remedy: 'Change or delete the file first, or use nocturne redact --match TEXT, which does it.',
  });
}

/** Wipes the entries and index lines that stood in this version and stand in none that is left; answers how many. */
function wipeWords(ledger: Ledger, { path, memory, text }: Version & { text: string | null }): number {
  const day = logDay(path ?? '');
  if (text === null) return 0;
  const others = ledger
    .all('select id from version where memory = ? and redacted_at is null', memory)
    .map((row) => readVersion(ledger, row.id as string).text ?? '');
  let count = 0;
  if (day) {
    const left = new Set(others.flatMap((other) => parseLog(other, day).map((item) => item.id)));
    for (const { id } of parseLog(text, day).filter((item) => !left.has(item.id))) {
      count += ledger.run("update entry set text = ?, evidence = '[]', state = 'forgotten' where id = ?", REDACTED, id);
      count += ledger.run("delete from undo where tbl = 'entry' and key = ?", JSON.stringify([id]));
      count += wipeProposals(ledger, id);
    }
  } else if (path === 'MEMORY.md') {
    const left = new Set(others.flatMap((other) => other.split('\n')));
    for (const line of text.split('\n').filter((each) => !left.has(each))) {
      count += ledger.run("delete from undo where tbl = 'index_line' and key = ?", JSON.stringify([line]));
    }
  }
  return count;
}

async function removeDisplaced({ dir }: Store, isToGo: (path: string) => boolean | Promise<boolean>): Promise<void> {
  for (const name of listNames(join(dir, DISPLACED_DIR))) {
    const path = join(dir, DISPLACED_DIR, name);
    if (await isToGo(path)) removeFile(path);
  }
}

/** What others left to be worked on: JSON, or a JSON value a line. One that is still being written is left alone. */
async function scrubWaiting(scrub: Scrub, { dir, isDry }: { dir: string; isDry: boolean }): Promise<string[]> {
  const changed: string[] = [];
  for (const path of isDirectory(dir) ? await listFiles(dir) : []) {
    if (path.endsWith('.tmp')) continue;
    const change = isTooLarge(join(dir, path)) ? scrubLines : scrubWhole;
    if (await change(join(dir, path), { scrub, isDry })) changed.push(path);
  }
  return changed;
}

/** Answers whether there was a match, which with `isDry` is left. */
async function scrubWhole(path: string, { scrub, isDry }: { scrub: Scrub; isDry: boolean }): Promise<boolean> {
  const text = (await readText(path)) ?? '';
  const scrubbed = scrub.text(scrub.json(text));
  if (scrubbed !== text && !isDry) writeWhole(path, scrubbed);
  return scrubbed !== text;
}

/** The same line by line, for a file that is too large to be held. A line that is too long stays, and is told. */
async function scrubLines(path: string, { scrub, isDry }: { scrub: Scrub; isDry: boolean }): Promise<boolean> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  let isChanged = false;
  async function* scrubbedLines(): AsyncGenerator<Buffer | string> {
    for await (const { bytes, isWhole } of readLines(path, MOST_LINE_BYTES)) {
      const text = isWhole ? bytes.toString('utf8') : '';
      const scrubbed = scrub.text(scrub.json(text));
      isChanged ||= scrubbed !== text;
      yield scrubbed === text ? bytes : scrubbed;
    }
  }
  await writePieces(temporary, scrubbedLines());
  if (isChanged && !isDry) moveFile(temporary, path);
  else removeFile(temporary);
  return isChanged;
}

async function remainsOf(scrub: Scrub, dirs: string[]): Promise<string[]> {
  const found = new Set<string>();
  for (const dir of dirs) {
    // Copies of stores that are kept elsewhere are brought on from there.
    const paths = (await listFiles(dir)).filter((path) => !path.startsWith('copies/'));
    for (const path of paths) if (await holdsMatch(join(dir, path), scrub)) found.add(join(dir, path));
  }
  return [...found].sort();
}

function isTooLarge(path: string): boolean {
  return (statNow(path)?.bytes ?? 0) > MOST_MEMORY_BYTES;
}

/** Whether a file is part of the memory; databases, what waits for work, and a repository's own are not. */
function isOurs(path: string): boolean {
  return !/^(?:\.nocturne\/(?:(?:ledger|lock)\.db|(?:aside|snapshots)\/)|(?:.*\/)?\.git\/)/.test(path);
}
