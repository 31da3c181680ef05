// The MCP server: six tools over the attached stores, or the three of them that read where nothing may be written; as
// clients are told of them, by schemas that the server checks against.
// Promises: whatever a client sends is answered, by a result or by an error it can act on. mcp-tools.ts does the work.

import { type CallToolResult, McpServer, type ToolAnnotations } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { renderPrompt } from '../base/prompt.ts';

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
      path_prefix: under.describe('Only under this directory.'),
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
  instructions: string | null;
}

/** One call, in plain data. */
export interface ToolCall<T extends Tool = Tool> {
  tool: T;
  input: Input<T>;
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

function describeStore({ name, description, access, instructions }: AttachedStore): string {
  const about = `- \`${name}\` (${access})${description ? `: ${description}` : ''}`;
  return instructions ? `${about}\n${instructions.trim().replace(/^/gm, '  ')}` : about;
}
