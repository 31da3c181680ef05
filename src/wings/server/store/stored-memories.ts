// The memories of a store as the API has them: made, read, listed, changed, deleted. Each change is one commit of the store.
// Promises: nothing is overwritten that the caller did not name; a precondition is checked under the store's lock, against
// what stands in the file; what is written is kept byte for byte or refused; what is answered is the head, with whatever
// an edit made meanwhile put into it.
// Paths are `/notes/a.md` to clients and `notes/a.md` to the store; what a disk cannot hold apart is refused, by 400 where the
// path itself cannot be, by 409 where another memory is in its way: the same path, one that differs in letter case only, a
// file where a directory would be, or the reverse.

import type { Config } from '../../../base/config/config.ts';
import { isAppError } from '../../../base/errors.ts';
import { fileIdentity, looksNow, readMemoryBytesNow, statNow } from '../../../base/files/files.ts';
import { locateSecrets } from '../../../base/text/redact.ts';
import { type Ledger, ledgerPath } from '../../../memory/ledger/ledger.ts';
import { shaOf } from '../../../memory/ledger/version-rows.ts';
import { confine, locateFile, whyNoMemory } from '../../../memory/store/confine.ts';
import { bytesOf } from '../../../memory/store/edit-text.ts';
import { matchesKnown } from '../../../memory/store/live-files.ts';
import type { By, Store } from '../../../memory/store/store.ts';
import { ApiError } from '../api-errors.ts';

/** What work has beside its arguments. */
export interface At {
  store: Store;
  config: Config;
  /** Who a person of this machine is to clients. */
  user: string;
  /** Takes in what was edited past the store before this was asked. */
  look(): Promise<void>;
}

/** A memory at its head. */
export interface Memory {
  id: string;
  version: string;
  /** As clients write it. */
  path: string;
  content: string;
  sha: string;
  sizeBytes: number;
  createdAt: string;
  updatedAt: string;
}

/** What every change is made by and bound to. */
export interface Change {
  /** `apikey_…` */
  by: string;
  /** Secrets are kept as they are. */
  allowsSecrets: boolean;
}

export interface CreateMemory extends Change {
  path: string;
  content: string;
}

export interface UpdateMemory extends Change {
  id: string;
  path?: string;
  content?: string;
  sha?: string;
}

export interface ListMemories {
  prefix?: string;
  depth?: number;
  limit: number;
  withContent: boolean;
  /** Only what comes after this one in the order of paths, as it was listed. */
  after?: string;
}

/** `prefix`: a directory of memories, with a slash at its end. */
export type Listed = Memory | { prefix: string };

type Row = Omit<Memory, 'content'> & { content: Buffer };

/** Heads that stand: a file that is there, not one of nocturne's own. */
export const STANDING = `memory.path is not null and memory.path not like '.%' and version.sha is not null
  and memory.missing_since is null`;

const COLUMNS = `memory.id, version.id as version, memory.path, version.sha, version.size as sizeBytes,
  coalesce(memory.created_at, version.at) as createdAt, version.at as updatedAt`;
const FROM = `from memory join version on version.id = memory.head where ${STANDING}`;

export async function createMemory(at: At, args: CreateMemory): Promise<Memory> {
  const { store } = at;
  const { content } = args;
  const path = storePath(args.path);
  await refuseContent(at, { ...args, content });
  await store.commit(byOf(args), (ledger) => {
    refuseConflict(path, { ledger, dir: store.dir });
    freePath(path, ledger);
    return {
      files: [
        {
          path,
          change(current) {
            if (current !== null) throw pathConflict({ id: null, path });
            return content;
          },
        },
      ],
    };
  });
  return read(memoryAt(store.ledger, path), store.ledger);
}

export interface Retrieved {
  memory: Memory;
  restsOn: RestsOn | null;
}

/** As long as both look like this a memory is what it was. */
export interface RestsOn {
  file: string;
  /** `looksNow` of the file. */
  looks: string;
  ledger: string;
  /** `fileIdentity` of the ledger. */
  identity: string;
}

export async function retrieveMemory({ store }: At, { id }: { id: string }): Promise<Retrieved> {
  const head = memoryOf(store.ledger, id);
  if (!head) throw notFound();
  const file = locateFile(store.dir, head.path).absolute;
  // Before it is read: what changes it from here on changes its looks.
  const restsOn = settled(file, { id, store });
  const live = readMemoryBytesNow(file);
  // Most often the file is its head; else it was edited past the store, or is being swapped.
  if (live !== null && shaOf(live) === head.sha) {
    return { memory: { ...head, path: `/${head.path}`, content: live.toString() }, restsOn };
  }
  await store.missing();
  return { memory: read(memoryOf(store.ledger, id), store.ledger), restsOn: null };
}

/**
 * Null for a file that was written so lately that it could be written again and look the same, and where only a database
 * knows whether the store is as it was.
 */
function settled(file: string, { id, store }: { id: string; store: Store }): RestsOn | null {
  if (store.id !== store.dir) return null;
  const ledger = ledgerPath(store.dir);
  const [looks, identity, stat] = [looksNow(file), fileIdentity(ledger), statNow(file)];
  const known = store.ledger.get<Parameters<typeof matchesKnown>[0]>(
    'select seen_bytes as bytes, seen_modified as modifiedMs, seen_changed as changedMs from memory where id = ?',
    id,
  );
  const isSettled = known !== undefined && stat !== null && matchesKnown(known, stat);
  return isSettled && looks !== null && identity !== null ? { file, looks, ledger, identity } : null;
}

export async function updateMemory(at: At, args: UpdateMemory): Promise<Memory> {
  const { store } = at;
  const { id, content, sha } = args;
  const path = args.path === undefined ? undefined : storePath(args.path);
  await refuseContent(at, args);
  await store.commit(byOf(args), (ledger) => {
    const head = memoryOf(ledger, id);
    if (!head) throw notFound();
    const to = path ?? head.path;
    if (to !== head.path) {
      refuseConflict(to, { ledger, dir: store.dir, own: id });
      freePath(to, ledger);
    }
    const change = (current: string | null) => {
      if (current === null) throw notFound();
      // What stands there as it was asked for is fine, whatever the precondition.
      if (to === head.path && (content ?? current) === current) return current;
      checkSha(current, sha);
      return content ?? current;
    };
    return { files: [{ path: to, ...(to !== head.path && { from: head.path }), change }] };
  });
  return read(memoryOf(store.ledger, id), store.ledger);
}

export async function deleteMemory(
  { store }: At,
  args: Change & { id: string; sha?: string },
): Promise<{ id: string }> {
  await store.commit(byOf(args), (ledger) => {
    const head = memoryOf(ledger, args.id);
    if (!head) throw notFound();
    const change = (current: string | null) => {
      if (current === null) throw notFound();
      checkSha(current, args.sha);
      return null;
    };
    return { files: [{ path: head.path, change }] };
  });
  return { id: args.id };
}

/** In the order of paths; what is deeper than `depth` is folded into its directory. */
export async function listMemories({ store, look }: At, { prefix = '/', depth = 0, ...args }: ListMemories) {
  if (!prefix.startsWith('/') || !prefix.endsWith('/')) {
    throw new ApiError('invalid_request_error', 'path_prefix: it must begin and end with "/".');
  }
  // What was edited by hand is a version before it is listed; further pages are of the same look.
  if (args.after === undefined) await look();
  const below = prefix.slice(1);
  const items: Listed[] = [];
  let from = args.after === undefined ? below : following(args.after.slice(1));
  while (items.length <= args.limit) {
    const row = store.ledger.get<Omit<Memory, 'content'>>(
      `select ${COLUMNS} ${FROM} and memory.path >= ? and (? = '' or memory.path < ?) order by memory.path limit 1`,
      from,
      below,
      `${below.slice(0, -1)}0`,
    );
    if (!row) break;
    const rest = row.path.slice(below.length);
    const isFolded = depth > 0 && rest.includes('/');
    const folded = `${below}${rest.slice(0, rest.indexOf('/') + 1)}`;
    if (isFolded) items.push({ prefix: `/${folded}` });
    else items.push({ ...row, path: `/${row.path}`, content: args.withContent ? contentOf(row, store.ledger) : '' });
    from = isFolded ? following(folded) : following(row.path);
  }
  return { items: items.slice(0, args.limit), hasMore: items.length > args.limit };
}

/** The first place after a path, or after all that is in a directory. */
function following(path: string): string {
  return path.endsWith('/') ? `${path.slice(0, -1)}0` : `${path}\u0000`;
}

async function refuseContent(
  { config }: At,
  { path, content, allowsSecrets }: Change & { path?: string; content?: string },
) {
  const bytes = content === undefined ? 0 : Buffer.byteLength(content);
  if (bytes > config.memoryBytes) {
    throw new ApiError(
      'invalid_request_error',
      `content: it has ${bytes} bytes; at most ${config.memoryBytes} are allowed.`,
    );
  }
  if (allowsSecrets) return;
  for (const [name, text] of Object.entries({ path, content })) {
    const found = text === undefined ? [] : await locateSecrets(text);
    if (found.length === 0) continue;
    const where = found.map(({ line, rule }) => `${name === 'content' ? `line ${line}: ` : ''}${rule}`).join(', ');
    throw new ApiError(
      'invalid_request_error',
      `${name}: it holds what looks like a secret (${where}). Nothing was kept.`,
    );
  }
}

function checkSha(current: string, expected: string | undefined): void {
  const found = shaOf(bytesOf(current));
  if (expected === undefined || found === expected) return;
  throw preconditionFailed(`The content of the memory is another by now: its SHA-256 is ${found}.`);
}

function preconditionFailed(message: string): ApiError {
  return new ApiError('memory_precondition_failed_error', message);
}

function notFound(): ApiError {
  return new ApiError('not_found_error', 'There is no such memory in this memory store.');
}

function byOf({ by }: Change): By {
  return { actor: `tool:${by}`, looksAtItsFiles: true };
}

function memoryOf(ledger: Ledger, id: string): Omit<Memory, 'content'> | undefined {
  return ledger.get(`select ${COLUMNS} ${FROM} and memory.id = ?`, id);
}

function memoryAt(ledger: Ledger, path: string): Omit<Memory, 'content'> | undefined {
  return ledger.get(`select ${COLUMNS} ${FROM} and memory.path = ?`, path);
}

function read(head: Omit<Memory, 'content'> | undefined, ledger: Ledger): Memory {
  if (!head) throw notFound();
  return { ...head, path: `/${head.path}`, content: contentOf(head, ledger) };
}

function contentOf({ version }: { version: string }, ledger: Ledger): string {
  return (
    ledger.get<Pick<Row, 'content'>>('select content from version where id = ?', version)?.content.toString() ?? ''
  );
}

const CONFLICTS = `select memory.id, memory.path from memory join version on version.id = memory.head where ${STANDING}`;

interface Conflict {
  id: string | null;
  path: string;
}

/** The store's own path. Throws 400 for one that cannot be. */
export function storePath(path: string): string {
  const problem = problemOf(path);
  if (problem === null) return path.slice(1);
  throw new ApiError('invalid_request_error', `path: ${problem}.`);
}

function problemOf(path: string): string | null {
  if (!path.startsWith('/')) return 'it must begin with "/"';
  if (path.normalize('NFC') !== path) return 'it is not in Unicode normalisation form C';
  return whyNoMemory(path.slice(1));
}

/** Throws 409 where another memory than `own` is in the way of a path. Belongs inside a commit. */
export function refuseConflict(
  path: string,
  { ledger, dir, own }: { ledger: Ledger; dir: string; own?: string },
): void {
  const found = conflictOf(path, { ledger, dir });
  if (!found || (found.id === own && found.path === path)) return;
  throw pathConflict(found);
}

export function pathConflict({ id, path }: Conflict): ApiError {
  return new ApiError('memory_path_conflict_error', `A memory stands at /${path} already.`, {
    more: { ...(id !== null && { conflicting_memory_id: id }), conflicting_path: `/${path}` },
  });
}

/** A deleted memory gives up its path: what is made there is another one. Belongs inside a commit. */
export function freePath(path: string, ledger: Ledger): void {
  ledger.run(
    `update memory set path = null where path = ?
       and exists (select 1 from version where version.id = memory.head and version.sha is null)`,
    path,
  );
}

function conflictOf(path: string, { ledger, dir }: { ledger: Ledger; dir: string }): Conflict | null {
  const names = path.split('/');
  const above = names.map((_, at) => names.slice(0, at + 1).join('/'));
  const at = ledger.get<{ id: string; path: string }>(
    `${CONFLICTS} and memory.path in (select value from json_each(?)) order by length(memory.path) limit 1`,
    JSON.stringify(above),
  );
  return at ?? firstBelow(path, ledger) ?? otherSpelling(path, { ledger, dir });
}

function firstBelow(path: string, ledger: Ledger): Conflict | null {
  const sql = `${CONFLICTS} and memory.path > ? and memory.path < ? order by memory.path limit 1`;
  return ledger.get<{ id: string; path: string }>(sql, `${path}/`, `${path}0`) ?? null;
}

/** What the directory has under another letter case, or that no memory is. */
function otherSpelling(path: string, { ledger, dir }: { ledger: Ledger; dir: string }): Conflict | null {
  let place: ReturnType<typeof confine>;
  try {
    place = confine(dir, path);
  } catch (error) {
    // The name of a file stands where a directory would have to be.
    if (isAppError(error, 'bad-input')) throw new ApiError('invalid_request_error', `path: ${error.message}`);
    throw error;
  }
  if (place.path === path && place.kind !== 'directory') return null;
  const there = ledger.get<{ id: string; path: string }>(`${CONFLICTS} and memory.path = ?`, place.path);
  if (there) return there;
  const names = path.split('/');
  const spelled = place.path.split('/');
  const differs = spelled.slice(0, spelled.findIndex((name, at) => name !== names[at]) + 1).join('/') || place.path;
  return firstBelow(differs, ledger) ?? { id: null, path: place.path };
}
