// What the tools of MCP do with the files of a memory: list, search and read; write, edit and delete. Each call is answered by a
// result or by an error that a client can act on, and after a conflict by what stands there now.
// Promises: what a client is shown is redacted; the SHA-256 and the size are those of the file itself, since they are what a change
// is checked against; a change is one commit, checked against what stands there at that moment; no secret is written that can be
// known as one; a memory that is attached read-only is changed by no tool.

import type { CallToolResult } from '@modelcontextprotocol/server';
import { AppError, describeError, isAppError } from '../base/errors.ts';
import { redact } from '../base/secrets/redact-text.ts';
import type { By, FileChange } from '../memory/commit.ts';
import { shaOf } from '../memory/file-rows.ts';
import type { FileText, MemoryFiles } from '../memory/memory-files.ts';
import { checkFilePath } from '../memory/memory-paths.ts';
import { readLines } from '../memory/text/blocks.ts';
import { isTopicPath } from '../memory/text/topic.ts';
import type { AttachedStore, Input, Tool, ToolCall } from './mcp-server.ts';
import { refuseJoinedSecret, refuseSecretName, replaceIn, withoutSecrets } from './memory-words.ts';

interface ToolDeps {
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
const TOOLS = { ...READING, ...WRITING };

/** What each tool answers. */
export type Output<Name extends Tool> = Awaited<ReturnType<(typeof TOOLS)[Name]>>;
type Read = Output<'read'>;

export async function callTool({ tool, input, store }: ToolCall, deps: ToolDeps): Promise<CallToolResult> {
  const { path } = input as Input<'read'>;
  const mayWrite = store.access === 'read_write';
  const open = () => deps.filesOf(store.dir, { makes: mayWrite });
  try {
    const output = await (tool in READING ? read() : write());
    return { content: told(output), structuredContent: output };
  } catch (error) {
    if (deps.passesOn?.(error)) throw error;
    const isConflict = tool in WRITING && isAppError(error, 'conflict');
    // What cannot be shown after a failure leaves the failure to be told.
    const now = isConflict ? open().then((files) => files && readMemory(files, { store: store.name, path })) : null;
    return failure(error, (await now?.catch(() => null)) ?? null);
  }

  async function read() {
    const files = await open();
    if (files === null && tool === 'read') throw notThere(path);
    if (files === null) return { store: store.name, ...NOTHING[tool as 'list'] };
    const found = await READING[tool as keyof typeof READING](files, input as never);
    const { path: at } = found as Read;
    if (tool === 'read' && mayWrite && isTopicPath(at)) await deps.noteUse?.(files, at);
    return found;
  }

  async function write() {
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

async function listMemories(files: MemoryFiles, input: Input<'list'>) {
  const { store, path_prefix: prefix, depth, limit, page: after } = input;
  const { items, next } = await files.list({ prefix, depth, limit, after });
  const memories = items.map((item) =>
    'prefix' in item
      ? ({ type: 'memory_prefix', path: item.prefix } as const)
      : ({ type: 'memory', ...factsOf(item), modified_at: item.updatedAt } as const),
  );
  return { store, memories, next_page: next };
}

async function searchMemory(files: MemoryFiles, input: Input<'search'>) {
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

async function readMemory(files: MemoryFiles, input: Input<'read'>) {
  const file = await fileAt(files, input.path);
  const { text, redacted } = await withoutSecrets(file.text);
  const lines = readLines(text).map(({ raw }) => raw);
  return { store: input.store, ...factsOf(file), redacted, ...pageOf(lines, input) };
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

async function writeMemory(files: MemoryFiles, input: Input<'write'>, by: By) {
  const { path, expected_content_sha256: sha } = input;
  checkFilePath(path);
  await refuseSecretName(path);
  const { text, redacted } = await withoutSecrets(input.content);
  const before = text.includes(PLACEHOLDER) ? await files.read({ path }) : null;
  if (before && before.text !== text && (await redact(before.text)).found.length > 0) throw losesSecret(path);
  let outcome: 'created' | 'modified' | 'unchanged' = 'unchanged';
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

async function editMemory(files: MemoryFiles, input: Input<'edit'>, by: By) {
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
  let outcome: 'modified' | 'moved' | 'unchanged' = 'unchanged';
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

async function deleteMemory(files: MemoryFiles, input: Input<'delete'>, by: By) {
  const { text: _, ...before } = await fileAt(files, input.path);
  const sha = input.expected_content_sha256;
  const make = (current: string | null) => {
    if (current === null) throw notThere(input.path);
    if (sha) check(before.path, current, { sha });
    return null;
  };
  await files.changeAll(by, [{ path: before.path, make }]);
  return { store: input.store, ...factsOf(before), outcome: 'deleted' as const };
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

// The answers: as text for a model, as data, and as an error that a client can act on.

/** What is found where there is no memory. */
const NOTHING = { list: { memories: [], next_page: null }, search: { hits: [], total: 0, next_page: null } };

/** Of one answer; a single line that is longer is shown whole. */
const MAX_CHARS = 16_000;

/** The lines that are asked for, as many of them as one answer holds. Errors: `bad-input` where there are none. */
function pageOf(lines: string[], { first_line: from = 1, last_line: last = lines.length }: Input<'read'>) {
  const to = Math.min(last, lines.length);
  if (from > Math.max(to, 1)) {
    throw new AppError('bad-input', `There are no lines ${from} to ${last}: the memory has ${lines.length}.`, {
      remedy: 'Leave first_line and last_line out to read it from its beginning.',
    });
  }
  let content = lines[from - 1] ?? '';
  let next = Math.min(from + 1, lines.length + 1);
  while (next <= to && content.length + (lines[next - 1] as string).length <= MAX_CHARS) {
    content += lines[next - 1] as string;
    next += 1;
  }
  const next_line = next <= lines.length ? next : null;
  return {
    first_line: Math.min(from, lines.length),
    last_line: next - 1,
    total_lines: lines.length,
    next_line,
    content,
  };
}

/** Stands for a secret in what is shown. */
const PLACEHOLDER = '[redacted:';

function readOnly({ name }: Pick<AttachedStore, 'name'>): AppError {
  return new AppError('refused', `The store ${JSON.stringify(name)} is read-only; nothing was changed.`, {
    remedy: 'Ask the person for :rw behind --store, or for a key that may write.',
  });
}

/** A person's own secret is shown as a placeholder; written back whole, the placeholder would take its place. */
function losesSecret(path: string): AppError {
  return new AppError('refused', `${path} was not replaced: it holds a secret, which ${PLACEHOLDER}…] stands for.`, {
    remedy: 'Change the other parts with memory_edit; the secret stays where it is.',
  });
}

/** The number of the first hit of a page. Errors: `bad-input`. */
function offsetOf(page: string): number {
  if (/^\d{1,6}$/.test(page)) return Number(page);
  throw new AppError('bad-input', `${JSON.stringify(page)} is no next_page of a search.`, {
    remedy: 'Leave page out to begin with the first.',
  });
}

function isDirectoryHere(path: string): AppError {
  return new AppError('bad-input', `${path} is a directory.`, {
    remedy: `List it with the path_prefix ${JSON.stringify(`${path}/`)}.`,
  });
}

/** For a model: the facts as data, and behind them the text of a memory as it is. */
function told({ content, ...facts }: { store: string; content?: string }): CallToolResult['content'] {
  const said = { type: 'text', text: JSON.stringify(facts) } as const;
  return content === undefined ? [said] : [said, { type: 'text', text: content }];
}

/** A failure as a tool error; `found` is what stands there now. */
function failure(error: unknown, found: Read | null): CallToolResult {
  const { code, message, remedy } = isAppError(error) ? error : new AppError('unexpected', describeError(error));
  const text = [message, remedy, found && 'What stands there now:'].filter(Boolean).join('\n');
  return {
    isError: true,
    content: [{ type: 'text', text }, ...(found ? told(found) : [])],
    _meta: { 'nocturne/error': { code, message, remedy: remedy ?? null, found } },
  };
}
