// What the tools of MCP do with the files of a memory: list, search and read; write, edit and delete. Each call is answered by a
// result or by an error that a client can act on, and after a conflict by what stands there now.
// Promises: what a client is shown is redacted; the SHA-256 and the size are those of the file itself, since they are what a change
// is checked against; a change is one commit, checked against what stands there at that moment; no secret is written that can be
// known as one; a memory that is attached read-only is changed by no tool.

import type { CallToolResult } from '@modelcontextprotocol/server';
import { AppError, isAppError } from '../base/errors.ts';
import { redact } from '../base/secrets/redact-text.ts';
import type { By, FileChange } from '../memory/commit.ts';
import { shaOf } from '../memory/file-rows.ts';
import type { FileText, MemoryFiles } from '../memory/memory-files.ts';
import { checkFilePath } from '../memory/memory-paths.ts';
import { readLines } from '../memory/text/blocks.ts';
import { isTopicPath } from '../memory/text/topic.ts';
import type { Version } from '../memory/versions.ts';
import type { Input, Output, Tool, ToolCall } from './mcp-server.ts';
import { refuseJoinedSecret, refuseSecretName, replaceIn, withoutSecrets } from './memory-words.ts';
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

export interface ToolDeps {
  /** The files of the memory that a call is about; null where there is none, and none is to be made. */
  filesOf(place: string, how: { makes: boolean }): Promise<MemoryFiles | null>;
  by: By;
  /** Told of a topic that was read. */
  noteUse?(files: MemoryFiles, path: string): Promise<void>;
  /** Failures that whoever called answers. */
  passesOn?(error: unknown): boolean;
}

const READING = { list: listMemories, search: searchMemory, read: readMemory };
const WRITING = { write: writeMemory, edit: editMemory, delete: deleteMemory };

export async function callTool({ tool, input, store }: ToolCall, deps: ToolDeps): Promise<CallToolResult> {
  const { path } = input as Input<'read'>;
  const mayWrite = store.access === 'read_write';
  const open = () => deps.filesOf(store.dir, { makes: mayWrite });
  try {
    const output = await (tool in READING ? read() : write());
    const text = output ? TEXTS[tool](output as never) : `The store ${JSON.stringify(store.name)} has no memory yet.`;
    const structuredContent = output ?? { store: store.name, ...NOTHING[tool as 'list'] };
    return { content: [{ type: 'text', text }], structuredContent };
  } catch (error) {
    if (deps.passesOn?.(error)) throw error;
    const isConflict = tool in WRITING && isAppError(error, 'conflict');
    // What cannot be shown after a failure leaves the failure to be told.
    const now = isConflict ? open().then((files) => files && readMemory(files, { store: store.name, path })) : null;
    return failure(error, (await now?.catch(() => null)) ?? null);
  }

  async function read(): Promise<Output<Tool> | null> {
    const files = await open();
    if (files === null && tool === 'read') throw notThere(path);
    if (files === null) return null;
    const found = await READING[tool as keyof typeof READING](files, input as never);
    const { path: at } = found as Output<'read'>;
    if (tool === 'read' && mayWrite && isTopicPath(at)) await deps.noteUse?.(files, at);
    return found;
  }

  async function write(): Promise<Output<Tool>> {
    if (!mayWrite) throw readOnly(store);
    const files = (await open()) as MemoryFiles;
    return WRITING[tool as keyof typeof WRITING](files, input as never, deps.by);
  }
}

function notThere(path: string): AppError {
  return new AppError('bad-input', `There is no memory at ${path}.`, {
    remedy: 'List the memories to see which exist.',
  });
}

/** The file that a client names by path or by id. Errors: `bad-input` where there is none, or can be none. */
async function fileAt(files: MemoryFiles, given: string): Promise<FileText> {
  const byId = given.startsWith('mem_') ? await files.read({ id: given }) : null;
  if (byId) return byId;
  checkFilePath(given);
  const found = await files.read({ path: given });
  if (found) return found;
  const { items } = await files.list({ prefix: `${given}/`, limit: 1 });
  throw items.length > 0 ? isDirectoryHere(given) : notThere(given);
}

/** What of a file is told beside its text. */
function factsOf({ id, path, version, sha, size }: Omit<FileText, 'text' | 'createdAt' | 'updatedAt'>) {
  return { id, path, version, content_sha256: sha, size_bytes: size };
}

async function listMemories(files: MemoryFiles, input: Input<'list'>): Promise<Output<'list'>> {
  const { store, path_prefix: prefix, depth, limit, page: after } = input;
  const { items, next } = await files.list({ prefix, depth, limit, after });
  const memories = items.map((item) =>
    'prefix' in item
      ? ({ type: 'memory_prefix', path: item.prefix } as const)
      : ({ type: 'memory', ...factsOf(item), modified_at: item.updatedAt } as const),
  );
  return { store, memories, next_page: next };
}

async function searchMemory(files: MemoryFiles, input: Input<'search'>): Promise<Output<'search'>> {
  const { store, query, path_prefix: under, limit, page = '0' } = input;
  const offset = offsetOf(page);
  const { hits, total } = await files.search({ query, limit, offset, under });
  const texts = new Map<string, string>();
  for (const path of new Set(hits.map((hit) => hit.path)))
    texts.set(path, (await redact((await files.read({ path }))?.text ?? '')).text);
  const shown = hits.map(({ kind, path, line, text }) => {
    // A secret may reach over several lines, so that it is not known by one of them.
    const isShown = texts.get(path)?.includes(text.replace(/^…|…$/g, '').trim());
    return { kind, path, line, text: isShown ? text : '[redacted: this line holds a secret]' };
  });
  const next = offset + hits.length;
  return { store, hits: shown, total, next_page: hits.length > 0 && next < total ? String(next) : null };
}

async function readMemory(files: MemoryFiles, input: Input<'read'>): Promise<Output<'read'>> {
  const { store, path: given, version } = input;
  const current = version === undefined ? await fileAt(files, given) : null;
  const { previous, ...file } = current
    ? { ...current, previous: (await files.version(current.version))?.previous ?? null }
    : await versionAt(files, { given, version: version as string });
  const { text, redacted } = await withoutSecrets(file.text);
  const lines = readLines(text).map(({ raw }) => raw);
  const is_current = current !== null || (await files.read({ id: file.id }))?.version === version;
  return { store, ...factsOf(file), previous_version: previous, is_current, redacted, ...pageOf(lines, input) };
}

async function versionAt(files: MemoryFiles, { given, version }: { given: string; version: string }) {
  const found = await files.version(version);
  if (!found) {
    throw new AppError('bad-input', `There is no version ${version}.`, {
      remedy: 'nocturne show --history lists those that are kept.',
    });
  }
  const at = given.startsWith('mem_') ? null : await files.read({ path: given });
  const isOf = [found.file, at?.id].includes(given) || found.path === given || at?.id === found.file;
  const { file: id, path, text, sha, size, previous } = found;
  if (isOf && text != null && sha !== null && path !== null)
    return { id, path, version, text, sha, size: size ?? Buffer.byteLength(text), previous };
  throw new AppError(
    'bad-input',
    isOf ? `Version ${version} ${whyEmpty(found)}: it has no text.` : `${version} is no version of ${given}.`,
    {
      remedy: 'Read the memory without a version.',
    },
  );
}

function whyEmpty({ redactedAt, op }: Version): string {
  return redactedAt ? 'was redacted' : `is of a memory that was ${op}`;
}

/** What must stand there, else nothing is changed. Errors: `conflict`, which says what was found. */
function check(path: string, current: string | null, wanted: { sha: string } | { absent: true }): void {
  const found = current === null ? 'no file' : `content with the SHA-256 ${shaOf(current)}`;
  if ('absent' in wanted) {
    if (current === null) return;
    throw new AppError('conflict', `${path} exists already: found ${found}.`, {
      remedy: 'Choose another path, or edit what stands there.',
    });
  }
  if (current !== null && shaOf(current) === wanted.sha) return;
  throw new AppError('conflict', `${path} is not what was expected (${wanted.sha}): found ${found}.`, {
    remedy: 'Read it again and repeat the change on what stands there now.',
  });
}

async function writeMemory(files: MemoryFiles, input: Input<'write'>, by: By): Promise<Output<'write'>> {
  const { path, expected_content_sha256: sha } = input;
  checkFilePath(path);
  await refuseSecretName(path);
  const { text, redacted } = await withoutSecrets(input.content);
  const before = text.includes(PLACEHOLDER) ? await files.read({ path }) : null;
  if (before && before.text !== text && (await redact(before.text)).found.length > 0) throw losesSecret(path);
  let outcome: Output<'write'>['outcome'] = 'unchanged';
  const change: FileChange = {
    path,
    make(current) {
      if (current === text) return text;
      check(path, current, sha ? { sha } : { absent: true });
      outcome = current === null ? 'created' : 'modified';
      return text;
    },
  };
  return { ...(await changed(files, change, { by, input, redacted })), outcome };
}

async function editMemory(files: MemoryFiles, input: Input<'edit'>, by: By): Promise<Output<'edit'>> {
  const { path: from, id } = await fileAt(files, input.path);
  const to = input.new_path ?? from;
  if (to !== from) {
    checkFilePath(to);
    await refuseSecretName(to);
  }
  const { old_str, expected_content_sha256: sha } = input;
  const { text: new_str, redacted } = await withoutSecrets(input.new_str);
  const standing = old_str === undefined ? undefined : (await files.read({ id }))?.text;
  if (standing !== undefined && old_str !== undefined && standing.split(old_str).length === 2)
    await refuseJoinedSecret(
      from,
      standing,
      standing.replace(old_str, () => new_str),
    );
  let outcome: Output<'edit'>['outcome'] = 'unchanged';
  const isMove = to !== from;
  const change: FileChange = {
    path: to,
    ...(isMove && { from }),
    make(current) {
      if (sha) check(from, current, { sha });
      if (current === null) throw notThere(input.path);
      const text = old_str === undefined ? current : replaceIn(current, { path: from, old_str, new_str }).text;
      outcome = isMove ? 'moved' : text !== current ? 'modified' : 'unchanged';
      return text;
    },
  };
  return { ...(await changed(files, change, { by, input, redacted })), outcome };
}

async function deleteMemory(files: MemoryFiles, input: Input<'delete'>, by: By): Promise<Output<'delete'>> {
  const { text: _, ...before } = await fileAt(files, input.path);
  const sha = input.expected_content_sha256;
  const make = (current: string | null) => {
    if (current === null) throw notThere(input.path);
    if (sha) check(before.path, current, { sha });
    return null;
  };
  await files.changeAll(by, [{ path: before.path, make }]);
  return { store: input.store, ...factsOf(before), outcome: 'deleted' };
}

/** Commits the change of one file; answers how it stands, and whether lines of it gave way to an edit made meanwhile. */
async function changed(
  files: MemoryFiles,
  change: FileChange,
  { by, input, redacted }: { by: By; input: { store: string }; redacted: number },
) {
  const { collisions } = await files.changeAll(by, [change]);
  const { text: _, ...now } = await fileAt(files, change.path);
  return { store: input.store, ...factsOf(now), redacted, collided: collisions.includes(change.path) };
}
