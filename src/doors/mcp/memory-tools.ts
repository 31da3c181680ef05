// What the memory tools do: list, search and read; write, edit and delete. Each call is answered by a result or by an
// error that a client can act on, and after a conflict by what stands there now. What a client is shown is redacted, as
// everywhere; the SHA-256 and the size are those of the file itself, since they are what a change is checked against. A
// change is one commit of the store, checked against what stands there at that moment, so that several clients at once
// lose nothing; no secret is written that can be known as one. A store that is attached read-only is opened for looking
// alone, for every tool, so none can change it, and nothing of it is held open between calls.

import { join } from 'node:path';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { AppError, isAppError } from '../../base/errors.ts';
import { isDirectory } from '../../base/files/directories.ts';
import { statNow } from '../../base/files/files.ts';
import { redact } from '../../base/text/redact.ts';
import type { Clock } from '../../base/time.ts';
import { indexFollowing } from '../../memory/dream/index-follow.ts';
import { readVersion } from '../../memory/history/versions.ts';
import { type Hit, searchMemory } from '../../memory/recall/search.ts';
import { confine, type Location } from '../../memory/store/confine.ts';
import { type MemoryReader, type ReadMemory, ReadOnlyStore, readShown } from '../../memory/store/live-files.ts';
import { check, notThere, type Precondition } from '../../memory/store/staging.ts';
import type { FileChange, Store } from '../../memory/store/store.ts';
import { readLines } from '../../memory/text/blocks.ts';
import { isTopicPath } from '../../memory/text/topic.ts';
import { refuseJoinedSecret, refuseSecretName, replaceIn, withoutSecrets } from '../memory-words.ts';
import type { Input, Output, Tool, ToolCall } from './server.ts';
import {
  failure,
  isDirectoryHere,
  losesSecret,
  NOTHING,
  offsetOf,
  PLACEHOLDER,
  pageOf,
  readOnly,
  TEXTS,
} from './tool-answers.ts';

interface ToolDeps {
  /** Opens a directory that may be written; one that is open already is shared. */
  openStore(dir: string): Promise<Store>;
  /** Who makes the changes. */
  actor: string;
  clock: Clock;
  /** Where stores are kept elsewhere: opens one to read, too, and makes none; null: there is none. */
  findStore?(dir: string): Promise<Store | null>;
  /** Failures that whoever called answers. */
  passesOn?(error: unknown): boolean;
}

type Reader = MemoryReader & Partial<Pick<Store, 'recalls'>>;

const READING = { list: listMemories, search: searchMemories, read: readMemory };
const WRITING = { write: writeMemory, edit: editMemory, delete: deleteMemory };

export async function callTool({ tool, input, store }: ToolCall, deps: ToolDeps): Promise<CallToolResult> {
  const { path } = input as Input<'read'>;
  try {
    const output = await (tool in READING ? read() : write());
    const text = output ? TEXTS[tool](output as never) : `The store ${JSON.stringify(store.name)} has no memory yet.`;
    return {
      content: [{ type: 'text', text }],
      structuredContent: output ?? { store: store.name, ...NOTHING[tool as 'list'] },
    };
  } catch (error) {
    if (deps.passesOn?.(error)) throw error;
    const isConflict = tool in WRITING && isAppError(error, 'conflict');
    // What cannot be shown after a failure leaves the failure to be told.
    const now = isConflict
      ? reading(async (reader) => reader && readMemory(reader, { store: store.name, path }))
      : null;
    return failure(error, (await now?.catch(() => null)) ?? null);
  }

  function read(): Promise<Output<Tool> | null> {
    return reading(async (reader) => {
      if (reader === null && tool === 'read') throw notThere(path);
      if (reader === null) return null;
      const found = await READING[tool as keyof typeof READING](reader, input as never);
      if (tool === 'read') await countUse(reader, (found as Output<'read'>).path);
      return found;
    });
  }

  async function write(): Promise<Output<Tool>> {
    if (store.access !== 'read_write') {
      throw readOnly(store);
    }
    const work = WRITING[tool as keyof typeof WRITING];
    return work(await deps.openStore(store.dir), input as never, { actor: deps.actor });
  }

  /** Null: there is no memory, and none is made. */
  async function reading<T>(work: (reader: Reader | null) => Promise<T>): Promise<T> {
    if (store.access === 'read_write') return work(await deps.openStore(store.dir));
    if (deps.findStore) return work(await deps.findStore(store.dir));
    if (!isDirectory(store.dir)) return work(null);
    const reader = new ReadOnlyStore(store.dir);
    try {
      return await work(reader);
    } finally {
      reader.close();
    }
  }

  /** A topic that is read is used. Of a store that may not be changed nothing is counted. */
  async function countUse({ recalls }: Reader, path: string): Promise<void> {
    if (store.access !== 'read_write' || !isTopicPath(path)) return;
    await recalls?.use({ used: [path], now: deps.clock.now() });
  }
}

/** The place that a client names by path or by id. Throws `bad-input` for one that cannot be. */
function placeOf({ dir, ledger }: MemoryReader, given: string): Location {
  const known = /^mem_[0-9a-f]{12}$/.test(given) && ledger.get('select path from memory where id = ?', given)?.path;
  return confine(dir, typeof known === 'string' ? known : given);
}

/** The memory at a place. Throws `bad-input` where there is none. */
async function memoryAt(reader: MemoryReader, given: string): Promise<ReadMemory> {
  const { path, kind } = placeOf(reader, given);
  if (kind === 'directory') {
    throw isDirectoryHere(path);
  }
  const found = await reader.lookUp(path);
  if (found === null) throw notThere(given);
  return found;
}

/** What of a memory is told beside its text. */
function factsOf({ id, path, version, contentSha256, sizeBytes }: ReadMemory) {
  return { id, path, version, content_sha256: contentSha256, size_bytes: sizeBytes };
}

async function listMemories(reader: MemoryReader, input: Input<'list'>): Promise<Output<'list'>> {
  const { store, path_prefix: prefix, depth, limit, page = '' } = input;
  const rest = (await reader.list({ prefix, depth })).filter((path) => path > page);
  const memories: Output<'list'>['memories'] = [];
  for (const path of rest.slice(0, limit)) {
    if (path.endsWith('/')) memories.push({ type: 'memory_prefix', path });
    // What went away meanwhile is left out.
    const found = path.endsWith('/') ? null : await reader.lookUp(path);
    const modifiedMs = statNow(join(reader.dir, path))?.modifiedMs ?? 0;
    if (found) memories.push({ type: 'memory', ...factsOf(found), modified_at: new Date(modifiedMs).toISOString() });
  }
  return { store, memories, next_page: rest.length > limit ? (rest[limit - 1] as string) : null };
}

async function searchMemories(reader: MemoryReader, input: Input<'search'>): Promise<Output<'search'>> {
  const { store, query, path_prefix: under, limit, page = '0' } = input;
  const offset = offsetOf(page);
  const { hits, total } = searchMemory(reader, { query, limit, offset, under });
  const shown = await redactHits(reader, hits);
  const next = offset + hits.length;
  return { store, hits: shown, total, next_page: hits.length > 0 && next < total ? String(next) : null };
}

/** A secret may reach over several lines, so that it is not known by one of them. */
async function redactHits({ dir, ledger }: MemoryReader, hits: Hit[]): Promise<Output<'search'>['hits']> {
  const texts = new Map<string, string>();
  for (const path of new Set(hits.map((hit) => hit.path))) {
    texts.set(path, (await redact(readShown(dir, path, ledger) ?? '')).text);
  }
  return hits.map(({ kind, path, line, text }) => {
    const isShown = texts.get(path)?.includes(text.replace(/^…|…$/g, '').trim());
    return { kind, path, line, text: isShown ? text : '[redacted: this line holds a secret]' };
  });
}

async function readMemory(reader: MemoryReader, input: Input<'read'>): Promise<Output<'read'>> {
  const { store, path: given, version } = input;
  const current = version === undefined ? await memoryAt(reader, given) : null;
  const memory = current ?? versionAt(reader, { given, version: version as string });
  const { text, redacted } = await withoutSecrets(memory.text);
  const lines = readLines(text).map(({ raw }) => raw);
  const is_current = current !== null || (await reader.lookUp(memory.path))?.version === version;
  const previous = reader.ledger.get('select previous from version where id = ?', memory.version)?.previous;
  const previous_version = (previous as string | null | undefined) ?? null;
  return { store, ...factsOf(memory), previous_version, is_current, redacted, ...pageOf(lines, input) };
}

function versionAt(reader: MemoryReader, { given, version }: { given: string; version: string }): ReadMemory {
  const { path } = placeOf(reader, given);
  const memory = reader.ledger.get('select id from memory where path = ?', path)?.id;
  const found = readVersion(reader.ledger, version);
  if (found.path !== path && found.memory !== memory) {
    throw new AppError('bad-input', `${version} is no version of ${given}.`, {
      remedy: 'Read the memory without a version.',
    });
  }
  if (found.text === null || found.sha === null) {
    const why = found.redactedAt ? 'was redacted' : `is of a memory that was ${found.operation}`;
    throw new AppError('bad-input', `Version ${version} ${why}: it has no text.`, {
      remedy: 'Read the memory without a version.',
    });
  }
  const { text, sha, sizeBytes } = found;
  return { id: found.memory, path, version, text, contentSha256: sha, sizeBytes: sizeBytes ?? Buffer.byteLength(text) };
}

type By = Pick<ToolDeps, 'actor'>;

async function writeMemory(store: Store, input: Input<'write'>, by: By): Promise<Output<'write'>> {
  const { path } = confine(store.dir, input.path);
  await refuseSecretName(path);
  const { text, redacted } = await withoutSecrets(input.content);
  await refuseLosingSecret(store, { path, text });
  const expected = input.expected_content_sha256;
  const precondition: Precondition = expected ? { contentSha256: expected } : { mustNotExist: true };
  let outcome: Output<'write'>['outcome'] = 'unchanged';
  const collided = await change(store, by, {
    path,
    change(current) {
      if (current === text) return text;
      check({ path, precondition }, current);
      outcome = current === null ? 'created' : 'modified';
      return text;
    },
  });
  return { store: input.store, ...factsOf(await memoryAt(store, path)), redacted, collided, outcome };
}

async function editMemory(store: Store, input: Input<'edit'>, by: By): Promise<Output<'edit'>> {
  const { path: from } = placeOf(store, input.path);
  const to = input.new_path === undefined ? from : confine(store.dir, input.new_path).path;
  if (to !== from) await refuseSecretName(to);
  const { old_str, expected_content_sha256: expected } = input;
  const { text: new_str, redacted } = await withoutSecrets(input.new_str);
  const standing = old_str === undefined ? null : await store.read(from);
  if (standing !== null && old_str !== undefined && standing.split(old_str).length === 2) {
    await refuseJoinedSecret(
      from,
      standing,
      standing.replace(old_str, () => new_str),
    );
  }
  let outcome: Output<'edit'>['outcome'] = 'unchanged';
  const collided = await change(store, by, {
    path: to,
    from,
    change(current) {
      check({ path: from, precondition: expected ? { contentSha256: expected } : undefined }, current);
      if (current === null) throw notThere(input.path);
      const text = old_str === undefined ? current : replaceIn(current, { path: from, old_str, new_str }).text;
      outcome = to !== from ? 'moved' : text !== current ? 'modified' : 'unchanged';
      return text;
    },
  });
  return { store: input.store, ...factsOf(await memoryAt(store, to)), redacted, collided, outcome };
}

async function deleteMemory(store: Store, input: Input<'delete'>, by: By): Promise<Output<'delete'>> {
  const before = await memoryAt(store, input.path);
  const { path } = before;
  const expected = input.expected_content_sha256;
  await change(store, by, {
    path,
    change(current) {
      if (current === null) throw notThere(input.path);
      check({ path, precondition: expected ? { contentSha256: expected } : undefined }, current);
      return null;
    },
  });
  return { store: input.store, ...factsOf(before), outcome: 'deleted' };
}

async function refuseLosingSecret(store: Store, { path, text }: { path: string; text: string }): Promise<void> {
  const before = text.includes(PLACEHOLDER) ? await store.lookUp(path) : null;
  if (before === null || before.text === text || (await redact(before.text)).found.length === 0) return;
  throw losesSecret(path);
}

/** Commits the change of one file; answers whether lines of it gave way to an edit made meanwhile. */
async function change(store: Store, by: By, file: FileChange): Promise<boolean> {
  const { collisions } = await store.commit(by, () => {
    const index = indexFollowing(store, [file]);
    return { files: [file, ...index.files], rows: (transaction) => index.finish(transaction) };
  });
  return collisions.includes(file.path);
}
