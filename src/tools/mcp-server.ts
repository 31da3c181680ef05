// The MCP server: six tools over the attached stores, or the three of them that read where nothing may be written; as clients are
// told of them, by schemas that the server checks against, and what each does with the files of a memory.
// Promises: whatever a client sends is answered, by a result or by an error it can act on, after a conflict with what stands there
// now; what a client is shown is redacted; the SHA-256 and the size are those of the file itself, since they are what a change is
// checked against; a change is one commit, checked against what stands there at that moment; no secret is written that can be known
// as one; a memory that is attached read-only is changed by no tool.

import { type CallToolResult, McpServer, type ToolAnnotations } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { AppError, describeError, isAppError } from '../base/errors.ts';
import { renderPrompt } from '../base/prompt.ts';
import { redact } from '../base/secrets/redact-text.ts';
import type { By, FileChange } from '../memory/commit.ts';
import type { FileInfo, FileText, MemoryFiles } from '../memory/memory-files.ts';
import { checkFilePath } from '../memory/memory-paths.ts';
import { readLines } from '../memory/text/blocks.ts';
import { isTopicPath } from '../memory/text/topic.ts';
import { refuseJoinedSecret, refuseSecretName, replaceIn, withoutSecrets } from './memory-tool.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'is no SHA-256 in lower-case hex');
const text = z.string().refine((value) => value.isWellFormed(), 'holds half a character');
const path = z.string().min(1).describe('Path as memory_list shows it, or the id of a memory (mem_…).');
const newPath = z
  .string()
  .regex(/\.md$/i, 'does not end with .md')
  .describe('Path within the store: names with "/" between them, ending in .md.');
const page = z.string().optional().describe('next_page of the page before.');
const under = z.string().regex(/\/$/, 'does not end with "/"').optional();
const count = z.int().min(1);

/** The store that a call is about; it may be left out where there is one. */
function storeName(names: string[]) {
  const name = z.enum(names as [string, ...string[]]).describe('Which store.');
  return names.length === 1 ? name.default(names[0] as string) : name;
}

/** What each tool takes, where the attached stores have these names. */
function inputShapes(names: string[]) {
  const store = storeName(names);
  return {
    list: z.strictObject({
      store,
      path_prefix: under.describe('Only what is under this directory, for example logs/2026/.'),
      depth: z.int().min(0).max(20).default(0).describe('Levels shown; deeper directories are folded. 0: all.'),
      limit: count.max(1_000).default(100),
      page,
    }),
    search: z.strictObject({
      store,
      query: z.string().min(1).max(1_000).describe('Words or how they begin, "phrases" that must be there.'),
      limit: count.max(100).default(20),
      page,
    }),
    read: z.strictObject({
      store,
      path,
      first_line: count.optional(),
      last_line: count.optional(),
    }),
    write: z.strictObject({
      store,
      path: newPath,
      content: text.describe('The whole new text.'),
      expected_content_sha256: sha256
        .optional()
        .describe('SHA-256 of the text that is replaced, as memory_read told. Left out: nothing may be there yet.'),
    }),
    edit: z
      .strictObject({
        store,
        path,
        old_str: text.min(1).optional().describe('Text that stands there exactly once.'),
        new_str: text.default('').describe('What takes its place; empty: it is removed.'),
        new_path: newPath.optional().describe('Moves the memory there; its id and versions go with it.'),
        expected_content_sha256: sha256.optional().describe('Nothing is changed unless this stands there.'),
      })
      .refine(({ old_str, new_path }) => old_str !== undefined || new_path !== undefined, 'needs old_str or new_path'),
    delete: z.strictObject({
      store,
      path,
      expected_content_sha256: sha256.optional().describe('Nothing is deleted unless this stands there.'),
    }),
  };
}

type Shapes = ReturnType<typeof inputShapes>;
export type Input<Tool extends keyof Shapes> = z.infer<Shapes[Tool]>;

export type Tool = keyof Shapes;

export interface AttachedStore {
  name: string;
  description: string | null;
  /** The memory directory, canonical; it need not be there. */
  dir: string;
  access: 'read_only' | 'read_write';
}

/** One call, in plain data. */
export interface ToolCall {
  tool: Tool;
  input: Input<Tool>;
  store: Pick<AttachedStore, 'name' | 'dir' | 'access'>;
}

export interface ServerDeps {
  stores: AttachedStore[];
  /** Does what a client asked of one of them. */
  call(asked: ToolCall): Promise<CallToolResult>;
  /** Tools that write are not even listed. */
  onlyReads?: boolean;
  version: string;
}

const READS: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
const WRITES: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, openWorldHint: false };

const TOOLS: Record<Tool, { title: string; description: string; annotations: ToolAnnotations }> = {
  list: {
    title: 'List memories',
    description: 'Lists the memories of a store by path, with size and last change.',
    annotations: READS,
  },
  search: {
    title: 'Search memories',
    description: 'Finds words in all memories and daily logs of a store, best first, with path, line and text.',
    annotations: READS,
  },
  read: {
    title: 'Read a memory',
    description: 'Reads a memory, or some lines of it.',
    annotations: READS,
  },
  write: {
    title: 'Write a memory',
    description: 'Creates a memory where there is none, or replaces one whose content_sha256 you give.',
    annotations: { ...WRITES, idempotentHint: true },
  },
  edit: {
    title: 'Edit a memory',
    description: 'Replaces text that stands in a memory exactly once, or moves the memory, or both.',
    annotations: { ...WRITES, idempotentHint: false },
  },
  delete: {
    title: 'Delete a memory',
    description: 'Deletes a memory. Its versions are kept, so that a person can restore it.',
    annotations: { ...WRITES, idempotentHint: true },
  },
};

/** A server for one connection. */
export async function memoryServer(deps: ServerDeps): Promise<McpServer> {
  const { text: instructions } = await renderPrompt('mcp', { stores: deps.stores.map(describeStore).join('\n') });
  const server = new McpServer({ name: 'nocturne', version: deps.version }, { instructions });
  const inputs = inputShapes(deps.stores.map(({ name }) => name));

  for (const [name, { title, description, annotations }] of Object.entries(TOOLS)) {
    const tool = name as Tool;
    if (deps.onlyReads && annotations !== READS) continue;
    const told = { title, description, inputSchema: inputs[tool], annotations };
    server.registerTool<z.ZodType, z.ZodType<Input<Tool>>>(`memory_${tool}`, told, (input) => {
      // The schema names these alone.
      const store = deps.stores.find(({ name }) => name === input.store) as AttachedStore;
      return deps.call({ tool, input, store });
    });
  }
  return server;
}

function describeStore({ name, description, access }: AttachedStore): string {
  return `- \`${name}\` (${access})${description ? `: ${description}` : ''}`;
}

// What each tool does.

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
const DOING = { ...READING, ...WRITING };

/** What each tool answers. */
export type Output<Name extends Tool> = Awaited<ReturnType<(typeof DOING)[Name]>>;
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
    if (!mayWrite)
      throw new AppError('refused', `The store ${JSON.stringify(store.name)} is read-only; nothing was changed.`, {
        remedy: 'Ask the person for :rw behind --store, or for a key that may write.',
      });
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
  if (items.length === 0) throw notThere(given);
  throw new AppError('bad-input', `${given} is a directory.`, {
    remedy: `List it with the path_prefix ${JSON.stringify(`${given}/`)}.`,
  });
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
  const { store, query, limit, page = '0' } = input;
  const offset = offsetOf(page);
  const { hits, total } = await files.search({ query, limit, offset });
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
  const { store, path, expected_content_sha256: sha } = input;
  checkFilePath(path);
  const { text, redacted } = await withoutSecrets(input.content);
  const before = await files.read({ path });
  if (before?.text === text)
    return { store, ...factsOf(before), redacted, collided: false, outcome: 'unchanged' as const };
  // A person's own secret is shown as a placeholder; written back whole, the placeholder would take its place.
  if (before && text.includes(PLACEHOLDER) && (await redact(before.text)).found.length > 0)
    throw new AppError('refused', `${path} was not replaced: it holds a secret, which ${PLACEHOLDER}…] stands for.`, {
      remedy: 'Change the other parts with memory_edit; the secret stays where it is.',
    });
  const now = await files.write(by, { path, text, if: sha ? { sha } : { absent: true } });
  const [outcome, collided] = [before ? ('modified' as const) : ('created' as const), now.collisions.includes(path)];
  return { store, ...factsOf(now), redacted, collided, outcome };
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

/** The number of the first hit of a page. Errors: `bad-input`. */
function offsetOf(page: string): number {
  if (/^\d{1,6}$/.test(page)) return Number(page);
  throw new AppError('bad-input', `${JSON.stringify(page)} is no next_page of a search.`, {
    remedy: 'Leave page out to begin with the first.',
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
