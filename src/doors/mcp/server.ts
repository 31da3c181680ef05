// The MCP server: six tools over the attached stores.
// Promises: a store that is attached read-only is opened for looking alone, for every tool, so none can change it; it
// holds nothing open between calls. A store that may be written is opened when it is first asked for. Whatever a client
// sends is answered, by a result or by an error it can act on.

import { type CallToolResult, McpServer, type ToolAnnotations } from '@modelcontextprotocol/server';
import { AppError, isAppError } from '../../base/errors.ts';
import { renderPrompt } from '../../base/prompt.ts';
import type { Clock } from '../../base/time.ts';
import { rememberUses } from '../../memory/recall/recall-uses.ts';
import { type MemoryReader, ReadOnlyStore } from '../../memory/store/live-files.ts';
import type { Store } from '../../memory/store/store.ts';
import { isTopicPath } from '../../memory/text/topic.ts';
import { failure, TEXTS } from './answers.ts';
import type { AttachedStore } from './attached-stores.ts';
import { listMemories, readMemory, searchMemories } from './reading.ts';
import { type Input, inputShapes, OUTPUTS, type Output } from './tool-shapes.ts';
import { deleteMemory, editMemory, writeMemory } from './writing.ts';

export interface ServerDeps {
  stores: AttachedStore[];
  /** Opens a directory that may be written; one that is open already is shared. */
  openStore(dir: string): Promise<Store>;
  clock: Clock;
  version: string;
}

type Tool = keyof typeof OUTPUTS;

const READS: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
const WRITES: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, openWorldHint: false };

/** A server for one connection. */
export async function memoryServer(deps: ServerDeps): Promise<McpServer> {
  const { text: instructions } = await renderPrompt('mcp', { stores: deps.stores.map(describeStore).join('\n') });
  const server = new McpServer({ name: 'nocturne', version: deps.version }, { instructions });
  const inputs = inputShapes(deps.stores.map(({ name }) => name));

  server.registerTool(
    'memory_list',
    {
      title: 'List memories',
      description: 'Lists the memories of a store by path, with size and last change.',
      inputSchema: inputs.list,
      outputSchema: OUTPUTS.list,
      annotations: READS,
    },
    (input) => read('list', input, listMemories),
  );
  server.registerTool(
    'memory_search',
    {
      title: 'Search memories',
      description: 'Finds words in all memories and daily logs of a store, best first, with path, line and text.',
      inputSchema: inputs.search,
      outputSchema: OUTPUTS.search,
      annotations: READS,
    },
    (input) => read('search', input, searchMemories),
  );
  server.registerTool(
    'memory_read',
    {
      title: 'Read a memory',
      description: 'Reads a memory, or some lines of it, as it is or as it was in a version.',
      inputSchema: inputs.read,
      outputSchema: OUTPUTS.read,
      annotations: READS,
    },
    (input) =>
      read('read', input, async (reader, asked) => {
        const found = await readMemory(reader, asked);
        countUse(reader, found.path);
        return found;
      }),
  );
  server.registerTool(
    'memory_write',
    {
      title: 'Write a memory',
      description: 'Creates a memory where there is none, or replaces one whose content_sha256 you give.',
      inputSchema: inputs.write,
      outputSchema: OUTPUTS.write,
      annotations: { ...WRITES, idempotentHint: true },
    },
    (input) => write('write', input, writeMemory),
  );
  server.registerTool(
    'memory_edit',
    {
      title: 'Edit a memory',
      description: 'Replaces text that stands in a memory exactly once, or moves the memory, or both.',
      inputSchema: inputs.edit,
      outputSchema: OUTPUTS.edit,
      annotations: { ...WRITES, idempotentHint: false },
    },
    (input) => write('edit', input, editMemory),
  );
  server.registerTool(
    'memory_delete',
    {
      title: 'Delete a memory',
      description: 'Deletes a memory. Its versions are kept, so that a person can restore it.',
      inputSchema: inputs.delete,
      outputSchema: OUTPUTS.delete,
      annotations: { ...WRITES, idempotentHint: true },
    },
    (input) => write('delete', input, deleteMemory),
  );
  return server;

  function attached(name: string): AttachedStore {
    const found = deps.stores.find((store) => store.name === name);
    if (found) return found;
    throw new AppError('bad-input', `No store ${JSON.stringify(name)} is attached.`);
  }

  async function reading<T>({ access, dir }: AttachedStore, work: (reader: MemoryReader) => Promise<T>): Promise<T> {
    if (access === 'read_write') return work(await deps.openStore(dir));
    const reader = new ReadOnlyStore(dir);
    try {
      return await work(reader);
    } finally {
      reader.close();
    }
  }

  async function read<T extends Tool, In extends { store: string }>(
    tool: T,
    input: In,
    work: (reader: MemoryReader, input: In) => Promise<Output<T>>,
  ): Promise<CallToolResult> {
    return answer(tool, () => reading(attached(input.store), (reader) => work(reader, input)));
  }

  async function write<T extends 'write' | 'edit' | 'delete'>(
    tool: T,
    input: Input<T>,
    work: (store: Store, input: Input<T>) => Promise<Output<T>>,
  ): Promise<CallToolResult> {
    const { store: name, path } = input;
    return answer(
      tool,
      async () => {
        const { access, dir } = attached(name);
        if (access === 'read_write') return work(await deps.openStore(dir), input);
        throw new AppError('refused', `The store ${JSON.stringify(name)} is read-only; nothing was changed.`, {
          remedy: 'Ask the person for access read_write in mcpStores of the settings, or :rw behind --store.',
        });
      },
      () => reading(attached(name), (reader) => readMemory(reader, { store: name, path })),
    );
  }

  /** A topic that is read is used. Of a store that may not be changed nothing is counted. */
  function countUse(reader: MemoryReader, path: string): void {
    if (reader instanceof ReadOnlyStore || !isTopicPath(path)) return;
    rememberUses(reader.ledger, { used: [path], now: deps.clock.now() });
  }
}

/** What a tool did as its answer; after a conflict with what `lookAgain` finds. */
async function answer<T extends Tool>(
  tool: T,
  work: () => Promise<Output<T>>,
  lookAgain?: () => Promise<Output<'read'>>,
): Promise<CallToolResult> {
  try {
    const output = await work();
    return { content: [{ type: 'text', text: TEXTS[tool](output) }], structuredContent: output };
  } catch (error) {
    const found = lookAgain && isAppError(error, 'conflict') ? await lookAgain().catch(asNothing) : null;
    return failure(error, found);
  }
}

/** What cannot be shown after a failure leaves the failure to be told. */
function asNothing(): null {
  return null;
}

function describeStore({ name, description, access, instructions }: AttachedStore): string {
  const about = `- \`${name}\` (${access})${description ? `: ${description}` : ''}`;
  return instructions ? `${about}\n${instructions.trim().replace(/^/gm, '  ')}` : about;
}
