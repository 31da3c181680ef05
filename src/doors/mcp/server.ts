// The MCP server: six tools over the attached stores, or the three of them that read where nothing may be written.
// Promises: whatever a client sends is answered, by a result or by an error it can act on, also over stdin and stdout
// where a client writes its requests and closes its end at once (a pipe, a script). tools.ts does the work.

import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import {
  type CallToolResult,
  type JSONRPCMessage,
  McpServer,
  type ToolAnnotations,
  type Transport,
} from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { z } from 'zod';
import { renderPrompt } from '../../base/prompt.ts';
import type { AttachedStore } from './attached-stores.ts';
import { type Input, inputShapes, OUTPUTS, type Tool } from './tool-shapes.ts';
import type { ToolCall } from './tools.ts';

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
    description: 'Reads a memory, or some lines of it, as it is or as it was in a version.',
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
    const told = { title, description, inputSchema: inputs[tool], outputSchema: OUTPUTS[tool], annotations };
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

/** A request that is never answered, such as one that listens, does not keep the process. */
const LONGEST_WAIT_MS = 10_000;

export class AnsweringTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Not ended with stdin, or the SDK would close. */
  readonly #input = new PassThrough();
  readonly #stdio = new StdioServerTransport(this.#input);
  readonly #asked = new Set<string | number>();
  #onAnswer = () => {};
  #answered?: Promise<void>;

  async start(): Promise<void> {
    this.#stdio.onclose = () => this.onclose?.();
    this.#stdio.onerror = (error) => this.onerror?.(error);
    this.#stdio.onmessage = (message) => {
      if ('method' in message && 'id' in message) this.#asked.add(message.id);
      if ('method' in message && message.method === 'notifications/cancelled') this.#settle(message.params?.requestId);
      this.onmessage?.(message);
    };
    await this.#stdio.start();
    process.stdin.pipe(this.#input, { end: false });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#stdio.send(message);
    if (!('method' in message)) this.#settle(message.id);
  }

  close(): Promise<void> {
    process.stdin.unpipe(this.#input);
    // Else it keeps the process.
    process.stdin.pause();
    return this.#stdio.close();
  }

  /** Resolves when everything that came in so far is answered, or will not be within ten seconds. */
  answered(): Promise<void> {
    this.#answered ??= this.#waitForAnswers();
    return this.#answered;
  }

  async #waitForAnswers(): Promise<void> {
    // What came last may be on its way to the reader still.
    do await setImmediate();
    while (this.#input.readableLength > 0);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LONGEST_WAIT_MS);
      this.#onAnswer = () => {
        if (this.#asked.size > 0) return;
        clearTimeout(timer);
        resolve();
      };
      this.#onAnswer();
    });
  }

  #settle(id: unknown): void {
    if (typeof id !== 'string' && typeof id !== 'number') return;
    this.#asked.delete(id);
    this.#onAnswer();
  }
}
