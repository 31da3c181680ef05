// The memories of a store as the API has them: made, read, listed, changed, deleted. Each change is one commit of the store.
// Promises: nothing is overwritten that the caller did not name; a precondition is checked under the store's lock, against
// what stands in the file; what is written is kept byte for byte or refused; what is answered is the head, with whatever
// an edit made meanwhile put into it.

import type { Config } from '../../../base/config/config.ts';
import { fileIdentity, looksNow, readMemoryBytesNow, statNow } from '../../../base/files/files.ts';
import { locateSecrets } from '../../../base/text/redact.ts';
import { type Ledger, ledgerPath } from '../../../memory/ledger/ledger.ts';
import { shaOf } from '../../../memory/ledger/version-rows.ts';
import { locateFile } from '../../../memory/store/confine.ts';
import { bytesOf } from '../../../memory/store/edit-text.ts';
import { matchesKnown } from '../../../memory/store/live-files.ts';
import type { By, Store } from '../../../memory/store/store.ts';
import { ApiError } from '../api-errors.ts';
import { freePath, pathConflict, refuseConflict, STANDING, storePath } from './memory-paths.ts';

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
