// The files of one memory, as every face reads and changes them: HTTP, MCP, the memory tool, the page, commands. A face checks its
// own input, calls one method, prints the answer.
// Promises: what is read is what stands, edits made a moment ago included; each change is one commit, made from what stands then;
// nothing is overwritten that the caller did not name; no secret is written, unless the memory allows it.

import { join } from 'node:path';
import { AppError, onAppError } from '../base/errors.ts';
import { kindOf } from '../base/files/directories.ts';
import { locateSecrets, redact } from '../base/secrets/redact-text.ts';
import type { Sql } from '../db/sql.ts';
import { type By, type Committed, commit, type FileChange, lookInto } from './commit.ts';
import { checkPrecondition, type Head, headAt, headOf, type Precondition } from './file-rows.ts';
import { followLogs } from './log-edits.ts';
import type { Memories, MemoryRow } from './memories.ts';
import { INDEX, withFollowing } from './memory-index.ts';
import { foldPath, isMemoryPath } from './memory-paths.ts';
import { type SearchRequest, type SearchResult, searchMemories } from './search.ts';
import { type ListVersions, type Version, versionOf, versionsOf } from './versions.ts';

export interface FileInfo {
  /** `mem_…`, the same after a rename. */
  id: string;
  path: string;
  /** `memver_…` */
  version: string;
  /** SHA-256 of the bytes, hex. */
  sha: string;
  /** Bytes. */
  size: number;
  createdAt: string;
  updatedAt: string;
}

export interface FileText extends FileInfo {
  /** Bytes that are no UTF-8 are shown as U+FFFD. */
  text: string;
}

/** All that is deeper than a list shows; ends with `/`. */
export type PrefixInfo = { prefix: string };

/** `next`: what `after` is for the page behind this one; null where there is none. */
export interface Page<Item> {
  items: Item[];
  next: string | null;
}

export interface Changed extends FileInfo {
  /** Paths where an edit made past nocturne won over lines of this change. */
  collisions: string[];
  /** Secrets that were taken out of what was to be written. */
  redacted: number;
}

export interface ListFiles {
  /** Ends with `/`. */
  prefix?: string;
  /** Levels below it that are shown; 0, the default: all. */
  depth?: number;
  after?: string;
  /** Default: all. */
  limit?: number;
  /** Default false. */
  content?: boolean;
}

/** By which a file is known. */
type FileName = { path: string } | { id: string };

/** What becomes of a secret in what is written: `refuse` is an error, `remove` puts a placeholder there. */
export type OfSecrets = 'refuse' | 'remove' | 'keep';

const SELECT = `select file.id, file.path, version.id as version, version.sha, version.size, file.created_at as "createdAt",
  version.at as "updatedAt"`;
const FROM = 'from file join version on version.id = file.head where file.memory = ?';

export class MemoryFiles {
  readonly memory: MemoryRow;
  readonly #memories: Memories;
  readonly #secrets: OfSecrets;

  constructor(memories: Memories, memory: MemoryRow, { secrets = 'remove' }: { secrets?: OfSecrets } = {}) {
    this.memory = memory;
    this.#memories = memories;
    this.#secrets = secrets;
  }

  /** In the order of paths. */
  async list(of: ListFiles = {}): Promise<Page<FileInfo | FileText | PrefixInfo>> {
    const { prefix = '', depth = 0, after, limit, content = false } = of;
    if (prefix !== '' && !prefix.endsWith('/'))
      throw new AppError('bad-input', `The prefix ${JSON.stringify(prefix)} does not end with "/".`);
    if (after === undefined) await lookInto(this.#memories, { memory: this.memory.id, paths: 'all' });
    const items: (FileInfo | FileText | PrefixInfo)[] = [];
    let from = after === undefined ? prefix : following(after);
    let folded: string | undefined;
    const isFull = () => limit !== undefined && items.length > limit;
    for (let isEnd = false; !isEnd && !isFull(); ) {
      // With a depth what is folded is jumped over, so that a list is as long as what it shows.
      const most = depth > 0 ? 50 : (limit ?? 100_000) + 1;
      const select = `${SELECT} ${content ? ', version.content' : ''} ${FROM} and file.path >= ? and file.path < ? order by file.path limit ?`;
      const values = [this.memory.id, from, `${prefix}\u{10ffff}`, most];
      const rows = await this.#memories.db.all<FileInfo & { content?: Buffer }>(select, ...values);
      isEnd = rows.length < most;
      for (const { content: bytes, ...row } of rows) {
        if (isFull() || (folded !== undefined && row.path.startsWith(folded))) continue;
        const levels = row.path.slice(prefix.length).split('/');
        const isFolded = depth > 0 && levels.length > depth;
        folded = isFolded ? `${prefix}${levels.slice(0, depth).join('/')}/` : undefined;
        const item = folded === undefined ? row : { prefix: folded };
        items.push(bytes && 'id' in item ? { ...item, text: bytes.toString() } : item);
        from = following('id' in item ? item.path : item.prefix);
      }
    }
    const shown = limit === undefined ? items : items.slice(0, limit);
    const last = shown.at(-1);
    const next = shown.length < items.length && last ? ('id' in last ? last.path : last.prefix) : null;
    return { items: shown, next };
  }

  /** A file as it stands; null where there is none. Errors: `bad-input` for a path that cannot be one. */
  async read(of: FileName): Promise<FileText | null> {
    const { id: memory } = this.memory;
    const known = 'id' in of ? (await headOf(this.#memories.db, memory, of.id))?.path : of.path;
    if (known === null || known === undefined || this.isDirectory(known)) return null;
    await lookInto(this.#memories, { memory, paths: [known] });
    const row = await this.#memories.db.get<FileInfo & { content: Buffer | null }>(
      `${SELECT}, version.content ${FROM} and ${'id' in of ? 'file.id = ?' : 'file.folded = ?'} and file.path is not null`,
      ...[memory, 'id' in of ? of.id : foldPath(known)],
    );
    if (!row?.content) return null;
    const { content, ...info } = row;
    return { ...info, text: content.toString() };
  }

  /** Whether a directory stands at a path of the working copy, whatever is in it. */
  isDirectory(path: string): boolean {
    const copy = this.#memories.copyOf(this.memory.id);
    return copy !== null && isMemoryPath(path) && kindOf(join(copy.dir, path)) === 'directory';
  }

  /** Makes a file. Errors: `conflict` where its path is taken. */
  create(by: By, file: { path: string; text: string }): Promise<Changed> {
    return this.write(by, { ...file, if: { absent: true } });
  }

  /** Makes a file hold a text, whatever it held. */
  async write(by: By, { path, text, if: wanted }: { path: string; text: string; if?: Precondition }): Promise<Changed> {
    await this.#refuseSecretName(path);
    const kept = await this.#withoutSecrets(text);
    const done = await this.changeAll(by, [{ path, if: wanted, make: () => kept.text }]);
    return { ...this.#done(done), redacted: kept.redacted };
  }

  /** Moves a file to a path that is free; its id and versions go with it. */
  async rename(by: By, { from, to, if: wanted }: { from: string; to: string; if?: Precondition }): Promise<Changed> {
    await this.#refuseSecretName(to);
    const change = (head: Head): FileChange => ({ ...movedTo(to, head), if: wanted, make: (current) => current });
    return this.#done(await this.#changeOne(by, { path: from, to }, change));
  }

  /** Removes a file; its versions stay. */
  async delete(by: By, { if: wanted, ...file }: FileName & { if?: Precondition }): Promise<void> {
    await this.#changeOne(by, file, ({ path }) => ({ path: path as string, if: wanted, make: () => null }));
  }

  /**
   * Changes the text or the path of a file that is known by its id. What is as it was asked for already is fine, whatever must have
   * stood there. Errors: `bad-input` where there is none of that id.
   */
  async update(
    by: By,
    { id, path, text, if: wanted }: { id: string; path?: string; text?: string; if?: Precondition },
  ): Promise<Changed> {
    if (path !== undefined) await this.#refuseSecretName(path);
    const kept = text === undefined ? undefined : await this.#withoutSecrets(text);
    const done = await this.#changeOne(by, { id, to: path }, (head) => {
      const to = path ?? (head.path as string);
      const make = (current: string | null) => {
        const after = kept?.text ?? current;
        if (after === current && to === head.path) return current;
        if (wanted) checkPrecondition(to, head, wanted);
        return after;
      };
      return { ...movedTo(to, head), make };
    });
    return { ...this.#done(done), redacted: kept?.redacted ?? 0 };
  }

  /** Changes several files in one commit. */
  changeAll(by: By, files: FileChange[]): Promise<Committed> {
    const paths = files.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from]));
    return this.#land(by, paths, async () => files);
  }

  /** Words in topics, logs, the index and what was put away, best first. */
  async search(request: SearchRequest): Promise<SearchResult> {
    await lookInto(this.#memories, { memory: this.memory.id, paths: 'all' });
    return searchMemories(this.#memories.db, [this.memory.id], request);
  }

  /** Newest first, from any edit on that was made a moment ago. */
  async versions(of: ListVersions = {}): Promise<Page<Version>> {
    if (of.after === undefined) await lookInto(this.#memories, { memory: this.memory.id, paths: 'all' });
    return versionsOf(this.#memories.db, this.memory.id, of);
  }

  /** With its text; null where there is none of this id. */
  version(id: string): Promise<Version | null> {
    return versionOf(this.#memories.db, this.memory.id, id);
  }

  /** A commit to a file that is there, wherever it stands by then. */
  async #changeOne(
    by: By,
    { to, ...file }: FileName & { to?: string },
    change: (head: Head) => FileChange,
  ): Promise<Committed> {
    const { id: memory } = this.memory;
    const find = (sql: Sql) => ('id' in file ? headOf(sql, memory, file.id) : headAt(sql, memory, file.path));
    const known = 'path' in file ? file.path : (await find(this.#memories.db))?.path;
    const paths = [known, to].filter((path) => typeof path === 'string');
    return this.#land(by, paths, async (sql) => {
      const head = await find(sql);
      if (head?.path) return [change(head)];
      const named = 'id' in file ? file.id : file.path;
      throw new AppError('bad-input', `There is no file ${named} in this memory.`, { cause: new NotThere() });
    });
  }

  async #land(by: By, paths: string[], plan: (sql: Sql) => Promise<FileChange[]>): Promise<Committed> {
    const { id: memory, scope } = this.memory;
    // A store has no index, and all in it is its clients'.
    if (scope === 'store')
      return commit(this.#memories, { memory, paths }, by, async (sql) => {
        const files = await plan(sql);
        return { files, rows: (change, heads) => followLogs(change, { memory, actor: by.actor }, { files, heads }) };
      });
    // An index that git left in conflict stops no other file.
    await lookInto(this.#memories, { memory, paths: [INDEX] }).catch(onAppError(() => {}, 'conflict'));
    const following = async (sql: Sql) => withFollowing(sql, this.memory, by.actor, await plan(sql));
    return commit(this.#memories, { memory, paths }, by, following);
  }

  #done({ files: [head], collisions }: Committed): Changed {
    const { id, path, version, sha, size, createdAt, updatedAt } = head as Head & FileInfo;
    return { id, path, version, sha, size, createdAt, updatedAt, collisions, redacted: 0 };
  }

  /** Names are shown, listed and kept in every version. */
  async #refuseSecretName(path: string): Promise<void> {
    if (this.#secrets !== 'keep') await refuseSecrets('path', path);
  }

  async #withoutSecrets(given: string): Promise<{ text: string; redacted: number }> {
    if (this.#secrets === 'refuse') await refuseSecrets('content', given);
    if (this.#secrets !== 'remove') return { text: given, redacted: 0 };
    const { text, found } = await redact(given);
    return { text, redacted: found.reduce((sum, { count }) => sum + count, 0) };
  }
}

/** Errors: `refused`, with where it is and which rule found it. */
async function refuseSecrets(what: 'path' | 'content', text: string): Promise<void> {
  const found = await locateSecrets(text);
  if (found.length === 0) return;
  const where = found.map(({ line, rule }) => `${what === 'content' ? `line ${line}: ` : ''}${rule}`).join(', ');
  throw new AppError('refused', `${what}: it holds what looks like a secret (${where}). Nothing was written.`, {
    remedy: 'Say where the secret is kept instead of what it is.',
  });
}

/** The first place behind a path, or behind all that is in a directory. */
function following(path: string): string {
  return path.endsWith('/') ? `${path.slice(0, -1)}0` : `${path}\u0001`;
}

function movedTo(to: string, { path }: Head): Pick<FileChange, 'path' | 'from'> {
  return { path: to, ...(path !== null && to !== path && { from: path }) };
}

/** The cause of the error where a file is not there. */
export class NotThere extends Error {}
