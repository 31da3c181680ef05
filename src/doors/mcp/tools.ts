// What the tools do: each call is answered by a result or by an error that a client can act on, and after a conflict by
// what stands there now. A store that is attached read-only is opened for looking alone, for every tool, so none can
// change it, and nothing of it is held open between calls.

import type { CallToolResult } from '@modelcontextprotocol/server';
import { AppError, isAppError } from '../../base/errors.ts';
import type { Clock } from '../../base/time.ts';
import { rememberUses } from '../../memory/recall/recall-uses.ts';
import { type MemoryReader, ReadOnlyStore } from '../../memory/store/live-files.ts';
import type { Store } from '../../memory/store/store.ts';
import { isTopicPath } from '../../memory/text/topic.ts';
import { failure, TEXTS } from './answers.ts';
import type { AttachedStore } from './attached-stores.ts';
import { listMemories, readMemory, searchMemories } from './reading.ts';
import type { Input, Output, Tool } from './tool-shapes.ts';
import { deleteMemory, editMemory, writeMemory } from './writing.ts';

/** One call, in plain data. */
export interface ToolCall<T extends Tool = Tool> {
  tool: T;
  input: Input<T>;
  store: Pick<AttachedStore, 'name' | 'dir' | 'access'>;
}

export interface ToolDeps {
  /** Opens a directory that may be written; one that is open already is shared. */
  openStore(dir: string): Promise<Store>;
  /** Who makes the changes. */
  actor: string;
  clock: Clock;
  /** Failures that whoever called answers. */
  passesOn?(error: unknown): boolean;
}

const READING = { list: listMemories, search: searchMemories, read: readMemory };
const WRITING = { write: writeMemory, edit: editMemory, delete: deleteMemory };

export async function callTool({ tool, input, store }: ToolCall, deps: ToolDeps): Promise<CallToolResult> {
  try {
    const output = await (tool in READING ? read() : write());
    return { content: [{ type: 'text', text: TEXTS[tool](output as never) }], structuredContent: output };
  } catch (error) {
    if (deps.passesOn?.(error)) throw error;
    const { path } = input as Input<'write'>;
    const isConflict = tool in WRITING && isAppError(error, 'conflict');
    const now = isConflict ? reading((reader) => readMemory(reader, { store: store.name, path })) : null;
    return failure(error, (await now?.catch(asNothing)) ?? null);
  }

  function read(): Promise<Output<Tool>> {
    return reading(async (reader) => {
      const found = await READING[tool as keyof typeof READING](reader, input as never);
      if (tool === 'read') countUse(reader, (found as Output<'read'>).path);
      return found;
    });
  }

  async function write(): Promise<Output<Tool>> {
    if (store.access !== 'read_write') {
      throw new AppError('refused', `The store ${JSON.stringify(store.name)} is read-only; nothing was changed.`, {
        remedy:
          'Ask the person for access read_write in mcpStores of the settings, for :rw behind --store, or for a key that may write.',
      });
    }
    const work = WRITING[tool as keyof typeof WRITING];
    return work(await deps.openStore(store.dir), input as never, { actor: deps.actor });
  }

  async function reading<T>(work: (reader: MemoryReader) => Promise<T>): Promise<T> {
    if (store.access === 'read_write') return work(await deps.openStore(store.dir));
    const reader = new ReadOnlyStore(store.dir);
    try {
      return await work(reader);
    } finally {
      reader.close();
    }
  }

  /** A topic that is read is used. Of a store that may not be changed nothing is counted. */
  function countUse(reader: MemoryReader, path: string): void {
    if (reader instanceof ReadOnlyStore || !isTopicPath(path)) return;
    rememberUses(reader.ledger, { used: [path], now: deps.clock.now() });
  }
}

/** What cannot be shown after a failure leaves the failure to be told. */
function asNothing(): null {
  return null;
}
