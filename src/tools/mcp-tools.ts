// What the tools of MCP do with the files of a memory: list, search and read; write, edit and delete. Each call is answered by a
// result or by an error that a client can act on, and after a conflict by what stands there now.
// Promises: what a client is shown is redacted; the SHA-256 and the size are those of the file itself, since they are what a change
// is checked against; a change is one commit, checked against what stands there at that moment; no secret is written that can be
// known as one; a memory that is attached read-only is changed by no tool.

import type { CallToolResult } from '@modelcontextprotocol/server';
import { AppError, describeError, isAppError } from '../base/errors.ts';
import { redact } from '../base/secrets/redact-text.ts';
import type { By, FileChange } from '../memory/commit.ts';
import type { FileInfo, FileText, MemoryFiles } from '../memory/memory-files.ts';
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
function factsOf({ id, path, version, sha, size }: FileInfo) {
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

async function writeMemory(files: MemoryFiles, input: Input<'write'>, by: By) {
  const { store, path, content: text, expected_content_sha256: sha } = input;
  checkFilePath(path);
  const before = await files.read({ path });
  if (before?.text === text)
    return { store, ...factsOf(before), redacted: 0, collided: false, outcome: 'unchanged' as const };
  if (before && text.includes(PLACEHOLDER) && (await redact(before.text)).found.length > 0) throw losesSecret(path);
  const now = await files.write(by, { path, text, if: sha ? { sha } : { absent: true } });
  const [outcome, collided] = [before ? ('modified' as const) : ('created' as const), now.collisions.includes(path)];
  return { store, ...factsOf(now), redacted: now.redacted, collided, outcome };
}

async function editMemory(files: MemoryFiles, input: Input<'edit'>, by: By) {
  const before = await fileAt(files, input.path);
  const { path: from } = before;
  const { store, old_str, new_path: to = from, expected_content_sha256: sha } = input;
  const isMove = to !== from;
  if (isMove) {
    checkFilePath(to);
    await refuseSecretName(to);
  }
  const { text: new_str, redacted } = await withoutSecrets(input.new_str);
  const edit = (text: string) =>
    old_str === undefined ? text : replaceIn(text, { path: from, old_str, new_str }).text;
  if (!sha || before.sha === sha) await refuseJoinedSecret(from, before.text, edit(before.text));
  const make = (current: string | null) => {
    if (current === null) throw notThere(input.path);
    return edit(current);
  };
  const change: FileChange = { path: to, ...(isMove && { from }), ...(sha && { if: { sha } }), make };
  const { collisions } = await files.changeAll(by, [change]);
  const now = await fileAt(files, to);
  const outcome = isMove ? 'moved' : now.version === before.version ? 'unchanged' : 'modified';
  return { store, ...factsOf(now), redacted, collided: collisions.includes(to), outcome } as const;
}

async function deleteMemory(files: MemoryFiles, input: Input<'delete'>, by: By) {
  const before = await fileAt(files, input.path);
  const sha = input.expected_content_sha256;
  await files.delete(by, { id: before.id, ...(sha && { if: { sha } }) });
  return { store: input.store, ...factsOf(before), outcome: 'deleted' as const };
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
