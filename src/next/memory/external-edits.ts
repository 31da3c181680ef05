// Edits past nocturne, found in a working copy: what was changed, made, moved or deleted there becomes a version by `external`, merged
// with what was committed meanwhile, where the edit wins. It reads the directory and writes rows; it changes no file.
// Promises: no edit is lost, however it is saved; what a program saves that had read before a commit takes nothing of that out;
// many files gone at once are no deletions, unless git keeps them; a file with git's conflict markers is left alone.

import { join } from 'node:path';
import { AppError } from '../../base/errors.ts';
import { MOST_MEMORY_BYTES, readBytesNow, type Stat, statNow } from '../../base/files/files.ts';
import type { Clock } from '../../base/time.ts';
import { filesByName, isMemoryPath, locateFile } from '../../memory/store/confine.ts';
import { mergeFiles } from '../../memory/store/edit-text.ts';
import type { Db, Sql } from '../db/sql.ts';
import type { DisplacedFile, DisplacedFiles } from './displaced-files.ts';
import { followLines } from './evidence.ts';
import { type Actor, addVersion, type Content, foldPath, headOf, keepVersion, shaOf } from './file-rows.ts';
import { Change } from './undo-rows.ts';

const EXTERNAL: Actor = { kind: 'external', id: null };
/** The coarsest clock of a file system: a file written later than this ago may change again without a sign of it. */
const TICK_MS = 2_000;
/** Nobody takes out by hand what stood there for less: who saves then had read what was there before. */
const JUST_NOW_MS = 2_000;
/** Fewer files than this may go at once, unless they are all there are. */
const FEW_FILES = 5;

/** A file as the copy knows it. */
export interface Known {
  id: string;
  path: string | null;
  head: string;
  placed: string;
  placedSha: string | null;
  placedPath: string | null;
  seen: string | null;
  missingSince: string | null;
}

const KNOWN = `select file.id, file.path, file.head, file.placed, p.sha as "placedSha", p.path as "placedPath",
  file.seen, file.missing_since as "missingSince"
  from file left join version p on p.id = file.placed
  where file.memory = ? and file.placed is not null and (file.path is not null or file.placed <> file.head)`;

/** What was found that is not as it was placed. */
export interface Found {
  file: Known | null;
  path: string;
  content: Content;
  /** When it was saved, by the disk. */
  changedMs: number;
  /** Of a late edit: what it was made from. */
  base?: Buffer;
}

interface CopyParts {
  memory: string;
  /** Canonical. */
  dir: string;
  db: Db;
  clock: Clock;
  displaced: DisplacedFiles;
  /** Git keeps what was there, so files that are gone were removed. */
  isCheckedIn: boolean;
}

export class ExternalEdits {
  readonly #parts: CopyParts;
  /** Paths where an edit won over lines that were committed. */
  readonly collided = new Set<string>();

  constructor(parts: CopyParts) {
    this.#parts = parts;
  }

  known(and = '', ...values: string[]): Promise<Known[]> {
    return this.#parts.db.all<Known>(`${KNOWN} ${and}`, this.#parts.memory, ...values);
  }

  // Looking.

  async lookAt(paths: readonly string[]): Promise<Found[]> {
    const found: Found[] = [];
    for (const given of paths) {
      const { path, absolute } = locateFile(this.#parts.dir, given);
      const [file] = await this.known('and file.folded = ?', foldPath(path));
      if (file?.placed === '') continue;
      const stat = statNow(absolute);
      if (file && stat?.isFile && file.seen === looksOf(stat)) continue;
      const content = readLive(absolute, stat);
      if (content !== null && hasMarkers(content)) throw conflicted(path);
      if (file ? isAsPlaced(file, content) : content === null) continue;
      found.push({ file: file ?? null, path, content, changedMs: stat?.changedMs ?? 0 });
    }
    return found;
  }

  async lookAtAll(): Promise<Found[]> {
    const there = filesByName(this.#parts.dir);
    const found: Found[] = [];
    const lost: Known[] = [];
    const unseen: { file: Known; stat: Stat }[] = [];
    const back: Known[] = [];
    const known = await this.known();
    const byFold = new Set(known.flatMap(({ path }) => (path === null ? [] : [foldPath(path)])));
    for (const file of known) {
      if (file.placed === '' || file.placedPath === null || file.placedSha === null) continue;
      const spelled = there.get(file.placedPath);
      const absolute = join(this.#parts.dir, spelled ?? file.placedPath);
      const stat = spelled === undefined ? null : statNow(absolute);
      if (!stat?.isFile) {
        if (file.path !== null) lost.push(file);
        continue;
      }
      if (file.missingSince !== null) back.push(file);
      if (stat.bytes > MOST_MEMORY_BYTES || file.seen === looksOf(stat)) continue;
      const content = readBytesNow(absolute);
      if (isAsPlaced(file, content)) unseen.push({ file, stat });
      else if (content !== null && hasMarkers(content)) continue;
      else found.push({ file, path: file.path ?? file.placedPath, content, changedMs: stat.changedMs });
    }
    const placed = new Set(known.map(({ placedPath }) => placedPath));
    for (const [path, spelled] of there) {
      if (placed.has(path) || !path.endsWith('.md') || !isMemoryPath(path)) continue;
      const stat = statNow(join(this.#parts.dir, spelled));
      if (!stat?.isFile || stat.bytes > MOST_MEMORY_BYTES) continue;
      const content = readBytesNow(join(this.#parts.dir, spelled));
      if (content === null || hasMarkers(content)) continue;
      const from = byFold.has(foldPath(path))
        ? lost.find((file) => foldPath(file.path as string) === foldPath(path))
        : movedFrom(lost, path, content);
      if (from) lost.splice(lost.indexOf(from), 1);
      found.push({ file: from ?? null, path, content, changedMs: stat.changedMs });
    }
    await this.#noteMissing(lost, known.length, found);
    await this.#noteSeen(unseen, back);
    return found;
  }

  /** Files that are gone: deleted, or, where they are many at once, missing until a person says so. */
  async #noteMissing(lost: Known[], all: number, found: Found[]): Promise<void> {
    const isAccident = lost.length > FEW_FILES ? lost.length * 4 > all : lost.length === all && all > 1;
    const deleted =
      isAccident && !this.#parts.isCheckedIn ? [] : lost.filter(({ missingSince }) => missingSince === null);
    found.push(...deleted.map((file) => ({ file, path: file.path as string, content: null, changedMs: 0 })));
    const fresh = lost.filter((file) => file.missingSince === null && !deleted.includes(file));
    if (fresh.length === 0) return;
    const at = this.#parts.clock.now().toISOString();
    await this.#parts.db.write(async (sql) => {
      for (const { id } of fresh)
        await sql.run('update file set missing_since = ? where memory = ? and id = ?', at, this.#parts.memory, id);
    });
  }

  /** Remembers how files looked, so that they are not read again; not of those that may still change without a sign. */
  async #noteSeen(unseen: { file: Known; stat: Stat }[], back: Known[]): Promise<void> {
    if (unseen.length + back.length === 0) return;
    const nowMs = unseen.length > 0 ? this.#parts.displaced.nowMs() : 0;
    const settled = unseen.filter(({ stat }) => nowMs - stat.changedMs > TICK_MS);
    if (settled.length + back.length === 0) return;
    await this.#parts.db.write(async (sql) => {
      for (const { file, stat } of settled)
        await sql.run(
          'update file set seen = ? where memory = ? and id = ?',
          looksOf(stat),
          this.#parts.memory,
          file.id,
        );
      for (const { id } of back)
        await sql.run('update file set missing_since = null where memory = ? and id = ?', this.#parts.memory, id);
    });
  }

  // Taking in.

  /** Each becomes a version by `external`, and the head what it makes with lines that were committed meanwhile. */
  async takeIn(found: readonly Found[]): Promise<void> {
    const at = this.#parts.clock.now().toISOString();
    const watched = this.#parts.displaced.of(new Set(found.flatMap(({ file }) => (file ? [file.id] : []))));
    await this.#parts.db.write(async (sql) => {
      await sql.get(`select id from memory where id = ?${this.#parts.db.lock.wait}`, this.#parts.memory);
      const change = new Change(sql, { job: 'external', at });
      for (const each of found) await this.#takeInOne(each, change, watched);
      await change.end();
    });
  }

  async #takeInOne(found: Found, change: Change, watched: readonly DisplacedFile[]): Promise<void> {
    const { sql } = change;
    const { file, path, content } = found;
    const of = { memory: this.#parts.memory, change, actor: EXTERNAL };
    const head = file ? await headOf(sql, this.#parts.memory, file.id) : null;
    if (!file || !head) {
      if (content !== null) await addVersion({ ...of, file: null, path, content, isPlaced: true });
      return;
    }
    const isPending = head.version !== file.placed;
    if (shaOf(content ?? '') === head.sha && path === head.path) {
      await sql.run(
        'update file set placed = ? where memory = ? and id = ?',
        head.version,
        this.#parts.memory,
        file.id,
      );
      return;
    }
    const placed = await contentOf(sql, file.placed);
    const base = found.base ?? baseOf(found, placed, watched);
    const isPlain = !isPending && base === placed;
    const merged = isPlain ? { content, collisions: 0 } : mergeFiles(base, { ours: head.content, external: content });
    if (merged.collisions > 0) this.collided.add(path);
    const isWhole = isSame(merged.content, content);
    const seen = isWhole ? null : await keepVersion({ ...of, file: { ...head, version: file.placed }, path, content });
    // Of what was only renamed here, or deleted there, the newer name stays.
    const name = isPending && head.path !== null && path === file.placedPath ? head.path : path;
    const made = { ...of, file: head, path: name, content: merged.content };
    await addVersion({ ...made, isPlaced: isWhole && name === path && !found.base });
    if (seen && !found.base)
      await sql.run('update file set placed = ? where memory = ? and id = ?', seen.id, this.#parts.memory, file.id);
    const before = head.content?.toString() ?? '';
    await followLines(change, {
      memory: this.#parts.memory,
      file: file.id,
      path: name,
      before,
      after: merged.content?.toString() ?? '',
    });
  }

  async takeInLate(late: DisplacedFile): Promise<void> {
    const known = await this.#parts.db.get(
      'select 1 from version where memory = ? and file = ? and sha = ?',
      ...[this.#parts.memory, late.file, shaOf(late.bytes)],
    );
    if (known) return;
    const [file] = await this.known('and file.id = ?', late.file);
    if (!file?.path) return;
    const before = await this.#parts.db.get<{ content: Content }>(
      'select content from version where memory = ? and sha = ? limit 1',
      ...[this.#parts.memory, late.sha],
    );
    const base = before?.content ?? Buffer.alloc(0);
    await this.takeIn([{ file, path: file.path, content: late.bytes, changedMs: late.changedMs, base }]);
  }
}

export async function contentOf(sql: Sql, version: string): Promise<Content> {
  return (await sql.get<{ content: Content }>('select content from version where id = ?', version))?.content ?? null;
}

export function isSame(one: Content, other: Content): boolean {
  return one === null || other === null ? one === other : one.equals(other);
}

function isAsPlaced(file: Known, content: Content): boolean {
  return (content === null ? null : shaOf(content)) === file.placedSha;
}

function looksOf({ inode, bytes, modifiedMs, changedMs }: Stat): string {
  return `${inode}:${bytes}:${modifiedMs}:${changedMs}`;
}

/** The bytes of a live file; refuses what is none, which a swap would move away. */
export function readLive(path: string, stat: Stat | null): Content {
  if (stat === null) return null;
  if (!stat.isFile) {
    throw new AppError('conflict', `${path} is not a regular file.`, {
      remedy: 'Move it out of the way; what nocturne has to write there waits and is written at the next look.',
    });
  }
  if (stat.bytes > MOST_MEMORY_BYTES) {
    throw new AppError(
      'storage',
      `${path} has ${Math.ceil(stat.bytes / 2 ** 20)} MB, of which nocturne changes none.`,
      {
        remedy: 'Make it smaller, or move it out of the memory directory; nothing of it was changed.',
      },
    );
  }
  return readBytesNow(path);
}

/** Whether git left a conflict in a file, which a person has to end. */
export function hasMarkers(content: Buffer): boolean {
  return (
    content.includes('<<<<<<< ') && /^<{7} [^\n]*\n(?:[^\n]*\n)*?={7}\r?\n(?:[^\n]*\n)*?>{7} /m.test(content.toString())
  );
}

function conflicted(path: string): AppError {
  return new AppError('conflict', `${path} holds conflict markers that git left, so it is neither read nor changed.`, {
    remedy: 'End the conflict in the file; until then what nocturne has to write there waits.',
  });
}

/** A file that is gone and one that is new with the same bytes are one that was moved. */
function movedFrom(lost: readonly Known[], path: string, content: Buffer): Known | undefined {
  if (content.length === 0) return undefined;
  const same = lost.filter((file) => file.placedSha === shaOf(content));
  const nameOf = (of: string) => of.slice(of.lastIndexOf('/') + 1);
  return same.find((file) => nameOf(file.path as string) === nameOf(path)) ?? same[0];
}

/** What an edit was made from: what was placed, or what stood there just before it was saved, whichever it lacks less of. */
function baseOf({ file, content, changedMs }: Found, placed: Content, watched: readonly DisplacedFile[]): Content {
  if (content === null) return placed;
  const lines = new Set(content.toString().split('\n'));
  const lacks = (text: Content) => (text?.toString().split('\n') ?? []).filter((line) => !lines.has(line)).length;
  let best = placed;
  let least = lacks(placed);
  for (const each of watched) {
    if (each.file !== file?.id || changedMs - each.changedMs > JUST_NOW_MS) continue;
    const lacking = lacks(each.bytes);
    if (lacking < least) [best, least] = [each.bytes, lacking];
  }
  return best;
}
