// Takes in what was found in a working copy: each edit becomes a version by `external`, and the head what it makes with lines that
// were committed meanwhile, where the edit wins. It writes rows; it changes no file.
// Promises: no edit is lost, however it is saved; what a program saves that had read before a commit takes nothing of that out; what
// stands in both texts stands once.

import { align } from '../base/text/align.ts';
import type { Clock } from '../base/time.ts';
import type { Db, Sql } from '../db/sql.ts';
import { type Found, isStanding, type Known, knownFile, looksOf, type Survey } from './directory-look.ts';
import type { DisplacedFile, DisplacedFiles } from './displaced-files.ts';
import { mergeFiles, splitLines } from './edit-text.ts';
import {
  type Actor,
  addVersion,
  type Content,
  type Head,
  headAt,
  headOf,
  isSame,
  keepVersion,
  shaOf,
} from './file-rows.ts';
import { followLog } from './log-edits.ts';
import { followLines } from './rests.ts';
import { logDay } from './text/daily-log.ts';
import { Change } from './undo-rows.ts';

const EXTERNAL: Actor = { kind: 'external', id: null };
/** The coarsest clock of a file system: a file written later than this ago may change again without a sign of it. */
const TICK_MS = 2_000;
/** Nobody takes out by hand what stood there for less: who saves then had read what was there before. */
const JUST_NOW_MS = 2_000;
/** So many files are taken in by one write, for which others wait. */
const AT_ONCE = 200;

type Parts = { memory: string; db: Db; clock: Clock; displaced: DisplacedFiles };

export class ExternalEdits {
  readonly #parts: Parts;
  /** Paths where an edit won over lines that were committed. */
  readonly collided = new Set<string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Takes in what a look found, and notes what is missing, and what need not be read again. */
  async takeInAll({ found, missing, back, unchanged }: Survey): Promise<void> {
    const { db, memory, clock } = this.#parts;
    const settled = unchanged.filter(({ stat }) => clock.now().getTime() - stat.changedMs > TICK_MS);
    if (missing.length + back.length + settled.length > 0) {
      const at = clock.now().toISOString();
      const set = (column: string) => `update file set ${column} = ? where memory = ? and id = ?`;
      await db.write(async (sql) => {
        for (const { id } of missing) await sql.run(set('missing_since'), at, memory, id);
        for (const { id } of back) await sql.run(set('missing_since'), null, memory, id);
        for (const { file, stat } of settled) await sql.run(set('seen'), looksOf(stat), memory, file.id);
      });
    }
    // What logs tell is looked for in topics.
    const ordered = found.toSorted((a, b) => Number(logDay(a.path) !== null) - Number(logDay(b.path) !== null));
    for (let from = 0; from < ordered.length; from += AT_ONCE) await this.takeIn(ordered.slice(from, from + AT_ONCE));
  }

  /** Each becomes a version by `external`, and the head what it makes with lines that were committed meanwhile. */
  async takeIn(found: readonly Found[]): Promise<void> {
    const { db, memory, clock, displaced } = this.#parts;
    const at = clock.now().toISOString();
    const watched = displaced.of(new Set(found.flatMap(({ file }) => (file ? [file.id] : []))));
    await db.write(async (sql) => {
      await sql.get(`select id from memory where id = ?${db.lock.wait}`, memory);
      const change = new Change(sql, { job: 'external', at });
      for (const each of found) await this.#takeInOne(each, { change, watched });
      await change.end();
    });
  }

  async #takeInOne(found: Found, way: Way): Promise<void> {
    const { memory } = this.#parts;
    const { change } = way;
    const { file, path, content, base } = found;
    const head = file && (await headOf(change.sql, memory, file.id));
    const isPending = head !== null && head.version !== file?.placed;
    // Of what was only renamed here, the newer name stays.
    const name = isPending && head.path !== null && path === file?.placedPath ? head.path : path;
    const other = content === null ? null : await headAt(change.sql, memory, name);
    if (other && other.id !== file?.id) return this.#leaveTo(other, { found, head, way });
    const of = { memory, change, actor: EXTERNAL, content };
    if (!file || !head) {
      if (content === null) return;
      const made = await addVersion({ ...of, file: null, path, isPlaced: true });
      return this.#follow(change, { file: made.file, path, before: null, after: content, found: content });
    }
    const isHead = isSame(content, head.content) && (content === null || path === head.path);
    if (isHead && !base) return setPlaced(change.sql, memory, { id: file.id, placed: head.version });
    const merged = await this.#merge(found, { file, head, way });
    const isWhole = isSame(merged, content) && name === path && !base;
    if (!isWhole) {
      const seen = await keepVersion({ ...of, file: { ...head, version: file.placed }, path });
      if (!base) await setPlaced(change.sql, memory, { id: file.id, placed: seen.id });
    }
    if (isSame(merged, head.content) && (merged === null || name === head.path)) return;
    await addVersion({ ...of, file: head, path: name, content: merged, isPlaced: isWhole });
    await this.#follow(change, { file: file.id, path: name, before: head.content, after: merged, found: content });
  }

  async #merge({ content, changedMs, base, path }: Found, at: { file: Known; head: Head; way: Way }): Promise<Content> {
    const { file, head, way } = at;
    const placed = await contentOf(way.change.sql, file.placed);
    const from = base ?? baseOf({ content, changedMs }, { file: file.id, placed, head: head.content, ...way });
    if (from === placed && head.version === file.placed) return content;
    // What was never placed has nothing that it was made from, but what both have.
    const common = from ?? (head.content && content && commonLines(head.content, content));
    const merged = mergeFiles(common, { ours: head.content, external: content });
    if (merged.collisions > 0) this.collided.add(path);
    return merged.content;
  }

  /** What stands at the place of another file by now is that file's. */
  async #leaveTo(other: Head, of: { found: Found; head: Head | null; way: Way }): Promise<void> {
    const { found, head, way } = of;
    const { file, base, content, path } = found;
    const { memory } = this.#parts;
    const { sql } = way.change;
    if (file && head && base) {
      await keepVersion({ memory, change: way.change, actor: EXTERNAL, content, path, file: head });
      return;
    }
    if (file && head?.path === null) await setPlaced(sql, memory, { id: file.id, placed: head.version });
    else if (file && head) await this.#takeInOne({ ...found, path: file.placedPath ?? path, content: null }, way);
    const known = await knownFile(sql, memory, other.id);
    // One that stands elsewhere still leaves there first: it comes to this when it is brought.
    if (known && !isStanding(known)) await this.#takeInOne({ ...found, file: known }, way);
  }

  async #follow(
    change: Change,
    of: { file: string; path: string; before: Content; after: Content; found: Content },
  ): Promise<void> {
    const { memory } = this.#parts;
    await followLog(change, { memory, ...of });
    const [before, after] = [of.before?.toString() ?? '', of.after?.toString() ?? ''];
    await followLines(change, { ...of, memory, before, after });
  }

  /** What was written into a file after it was moved aside. */
  async takeInLate({ file: id, sha, bytes, changedMs }: DisplacedFile): Promise<void> {
    const { db, memory } = this.#parts;
    const ofSha = 'select content from version where memory = ? and file = ? and sha = ? limit 1';
    if (await db.get(ofSha, memory, id, shaOf(bytes))) return;
    const file = await knownFile(db, memory, id);
    if (!file) return;
    const path =
      file.path ?? (await db.get<{ path: string }>('select path from version where id = ?', file.head))?.path;
    if (!path) return;
    const base = (await db.get<{ content: Content }>(ofSha, memory, id, sha))?.content ?? Buffer.alloc(0);
    await this.takeIn([{ file, path, content: bytes, changedMs, base }]);
  }
}

interface Way {
  change: Change;
  /** Of the files of which something was found, what was moved aside a moment ago. */
  watched: readonly DisplacedFile[];
}

/** Notes which version of a file stands in the working copy; '': none. */
export async function setPlaced(
  sql: Sql,
  memory: string,
  { id, placed }: { id: string; placed: string },
): Promise<void> {
  const set = 'update file set placed = ?, seen = null, missing_since = null where memory = ? and id = ?';
  await sql.run(set, placed, memory, id);
}

export async function contentOf(sql: Sql, version: string): Promise<Content> {
  return (await sql.get<{ content: Content }>('select content from version where id = ?', version))?.content ?? null;
}

/**
 * What an edit was made from: what was placed, the head where that may stand there by now, or what stood there just before it
 * was saved; the one that it lacks least of, and of these the one to which it adds least.
 */
function baseOf(
  { content, changedMs }: Pick<Found, 'content' | 'changedMs'>,
  { file, placed, head, watched }: { file: string; placed: Content; head: Content; watched: readonly DisplacedFile[] },
): Content {
  if (content === null) return placed;
  const lines = linesOf(content);
  const before = watched.filter((each) => each.file === file && changedMs - each.changedMs <= JUST_NOW_MS);
  let best: { text: Content; lacks: number; adds: number } | undefined;
  for (const text of [placed, head, ...before.map(({ bytes }) => bytes)]) {
    if (text === null && best) continue;
    const had = linesOf(text);
    const [lacks, adds] = [had.difference(lines).size, lines.difference(had).size];
    if (!best || lacks < best.lacks || (lacks === best.lacks && adds < best.adds)) best = { text, lacks, adds };
  }
  return best?.text ?? null;
}

function linesOf(text: Content): Set<string> {
  return new Set(text?.toString().split('\n'));
}

function commonLines(one: Buffer, other: Buffer): Buffer {
  const lines = splitLines(one.toString());
  const place = align(lines, splitLines(other.toString()));
  return Buffer.from(lines.filter((_, at) => (place[at] ?? -1) >= 0).join(''));
}
