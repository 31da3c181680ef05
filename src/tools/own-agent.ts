// Memory for agents that are built with the Agent SDK or on the Messages API: the words for the system prompt, and the tool that
// reads and writes the memory that they speak of. Nothing beside that memory is opened or made.

import { basename } from 'node:path';
import { type Config, loadConfig } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import { isStoreId } from '../base/files/directories.ts';
import { renderPrompt } from '../base/prompt.ts';
import { type RecallOptions, recallFor } from '../hook/start-recall.ts';
import type { MemoryRow } from '../memory/memories.ts';
import type { MemoryFiles } from '../memory/memory-files.ts';
import { MEMORY_SCOPES, type MemoryScope, notOfWorkingTree, scopeDir } from '../memory/places.ts';
import { noteUses } from '../memory/recall/recall.ts';
import { isTopicPath } from '../memory/text/topic.ts';
import { type App, openApp } from '../worker/compose.ts';
import { type MemoryTool, memoryTool } from './memory-tool.ts';

export interface AgentMemory {
  /** The memory directory; null where it is kept in the database alone. */
  dir: string | null;
  /** To be appended to the agent's system prompt: how to use its memory, and what is recalled. */
  systemPrompt: string;
  /** Anthropic's memory tool, for `client.beta.messages.toolRunner`. Agents with file tools of their own need none. */
  tools: MemoryTool[];
  files: MemoryFiles;
  /** To be called when the agent has ended. */
  close(): Promise<void>;
}

export interface AgentMemoryOptions extends Omit<RecallOptions, 'agent' | 'isAlone'> {
  /** `user`: `~/.claude/memory`; `project`: where the project's memory lives; `local`: `.claude/memory` in its root. */
  memory: MemoryScope;
  /** Whether the agent may write its memory. Default: `read-write`. */
  mode?: 'read-write' | 'read-only';
  /** Default: the settings of this machine's user. */
  config?: Config;
}

/** Opens an agent's memory, which is made where it is missing. Errors: `bad-input` where nothing says which it is. */
export async function agentMemory(options: AgentMemoryOptions): Promise<AgentMemory> {
  const { config = await loadConfig(), mode = 'read-write', memory, ...recalling } = options;
  if (memory === undefined)
    throw new AppError('bad-input', 'Nothing says which memory the agent has.', {
      remedy: `Give memory: ${MEMORY_SCOPES.join(', ')}.`,
    });
  const cwd = options.cwd ?? process.cwd();
  const app = await openApp(config);
  try {
    const row = await memoryAt(app, { memory, cwd });
    const { text: recalled } = await recallFor(config, { ...recalling, cwd, memory, isAlone: true });
    const { text } = await renderPrompt('agent-memory', { directory: row.dir ?? row.id, recalled });
    const files = app.files(row);
    const tool = memoryTool(files, { mode });
    const run = async (input: unknown) => {
      await noteView(app, row, input);
      return tool.run(input);
    };
    return { dir: row.dir, systemPrompt: text.trimEnd(), tools: [{ ...tool, run }], files, close: () => app.close() };
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function memoryAt({ memories, config, db }: App, at: { memory: MemoryScope; cwd: string }): Promise<MemoryRow> {
  const place = scopeDir(config, at);
  if (isStoreId(place, config)) return memories.of(place);
  const of = { scope: at.memory === 'user' ? 'user' : 'project', name: basename(at.cwd) } as const;
  if (db.engine === 'sqlite') return memories.ofDirectory(place, of);
  if (at.memory === 'local') throw notOfWorkingTree();
  return memories.ofPlace(place, of);
}

/** A topic that an agent opens is used. */
async function noteView({ db, clock }: App, { id }: MemoryRow, input: unknown): Promise<void> {
  const { command, path } = (input ?? {}) as { command?: unknown; path?: unknown };
  if (command !== 'view' || typeof path !== 'string') return;
  const topic = path.replace(/^\/?memories\//, '');
  if (isTopicPath(topic)) await noteUses(db, id, { used: [topic], at: clock.now().toISOString() });
}
