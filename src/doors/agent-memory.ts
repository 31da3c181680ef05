// Memory for agents that are built with the Agent SDK or on the Messages API: the words for the system prompt, and the
// tool that reads and writes the directory they speak of.

import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import { type Config, loadConfig } from '../base/config/config.ts';
import { AppError, describeError } from '../base/errors.ts';
import { canonicalPath, isStoreId } from '../base/files/directories.ts';
import { renderPrompt } from '../base/prompt.ts';
import { openStore } from '../memory/open.ts';
import type { Store } from '../memory/store/store.ts';
import { isTopicPath } from '../memory/text/topic.ts';
import { keepingOf, openHomeOf } from './keeping.ts';
import { type MemoryToolOptions, memoryCommands } from './memory-commands.ts';
import { readMemoryCommand } from './memory-words.ts';
import { declaredScope, MEMORY_SCOPES, type MemoryScope, notOfWorkingTree, scopeDir } from './places.ts';
import { type RecallOptions, recallFor } from './recall-session.ts';

/** A tool as the official SDK's runners take it; written out here, so that a program without the SDK has its type too. */
export interface MemoryTool {
  type: 'memory_20250818';
  name: 'memory';
  /** Answers what the model is told. Throws what it is told as an error. */
  run(input: unknown): Promise<string>;
  parse(input: unknown): unknown;
}

export interface AgentMemory {
  /** The memory directory. */
  dir: string;
  /** To be appended to the agent's system prompt: how to use its memory, and what is recalled. */
  systemPrompt: string;
  /** Anthropic's memory tool, for `client.beta.messages.toolRunner`. Agents with file tools of their own need none. */
  tools: MemoryTool[];
  store: Store;
  /** To be called when the agent has ended. */
  close(): void;
}

export interface AgentMemoryOptions extends Omit<RecallOptions, 'agent' | 'isAlone'> {
  /**
   * `user`: `~/.claude/memory`; `project`: where the project's memory lives; `local`: `.claude/memory` in its root.
   * Default: what `definition` declares; one of the two is needed.
   */
  memory?: MemoryScope;
  /** Whether the agent may write its memory. Default: `read-write`. */
  mode?: 'read-write' | 'read-only';
  /** Default: the settings of this machine's user. */
  config?: Config;
}

/**
 * Opens an agent's memory, and nothing beside it, making the directory where it is missing; nocturne's worker dreams
 * over it from then on. Throws `bad-input` where neither `memory` nor the definition says which.
 */
export async function agentMemory(options: AgentMemoryOptions): Promise<AgentMemory> {
  const { config = await loadConfig(), mode = 'read-write', ...recalling } = options;
  const cwd = options.cwd ?? process.cwd();
  const memory = await scopeOf(options);
  const { store, bring, close } = await openAgentStore(config, { memory, cwd });
  try {
    const recalled = await recallFor(config, { ...recalling, cwd, memory, isAlone: true });
    const { text } = await renderPrompt('agent-memory', { directory: store.id, recalled: recalled.text });
    const tool = memoryTool(store, { mode });
    return {
      dir: store.dir,
      systemPrompt: text.trimEnd(),
      tools: [
        {
          ...tool,
          async run(input) {
            await bring();
            await countView(store, { input, now: config.clock.now() });
            return tool.run(input);
          },
        },
      ],
      store,
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** `bring`: to what others made of it since, where it is kept elsewhere. */
async function openAgentStore(
  config: Config,
  { memory, cwd }: { memory: MemoryScope; cwd: string },
): Promise<{ store: Store; bring(): Promise<unknown>; close(): void }> {
  const place = scopeDir(config, { memory, cwd });
  const keeping = keepingOf(config);
  if (keeping) {
    const close = () => void keeping.close();
    try {
      if (memory === 'local') throw notOfWorkingTree();
      const store = await keeping.openStore(isStoreId(place, config) ? place : canonicalPath(place));
      return { store, bring: () => keeping.openStore(store.id), close };
    } catch (error) {
      close();
      throw error;
    }
  }
  const isCheckedIn = memory === 'user' ? false : undefined;
  const store = await openStore(place, { clock: config.clock, isCheckedIn });
  try {
    const { home, close } = openHomeOf(config);
    await home.addStore(store.dir).finally(close);
    return { store, bring: async () => {}, close: () => store.close() };
  } catch (error) {
    store.close();
    throw error;
  }
}

async function scopeOf({ memory, definition }: AgentMemoryOptions): Promise<MemoryScope> {
  const scope = memory ?? (definition === undefined ? undefined : await declaredScope(definition));
  if (scope) return scope;
  throw new AppError('bad-input', `${definition ?? 'The agent'} declares no memory.`, {
    remedy: `Give memory: ${MEMORY_SCOPES.join(', ')}, or write it into the frontmatter of its definition.`,
  });
}

/** A topic that an agent opens is used. */
async function countView(store: Store, { input, now }: { input: unknown; now: Date }): Promise<void> {
  const { command, path } = (input ?? {}) as { command?: unknown; path?: unknown };
  if (command !== 'view' || typeof path !== 'string') return;
  const topic = path.replace(/^\/?memories\//, '');
  if (isTopicPath(topic)) await store.recalls.use({ used: [topic], now });
}

/**
 * The memory tool for `client.beta.messages.toolRunner({ tools: [memoryTool(store, { mode: 'read-write' })] })`.
 * Every change it makes is one commit of the store, by the actor `tool:memory` unless another is given.
 */
export function memoryTool(store: Store, options: MemoryToolOptions): MemoryTool {
  const tool = betaMemoryTool(memoryCommands(store, options));
  return {
    type: 'memory_20250818',
    name: 'memory',
    parse: tool.parse,
    // The SDK checks neither the command nor its arguments.
    async run(input: unknown) {
      try {
        return (await tool.run(readMemoryCommand(input))) as string;
      } catch (error) {
        throw await toolError(describeError(error));
      }
    },
  };
}

/** Of the class of the caller's SDK, which shows a model these words alone; the build holds a copy of its own of the rest. */
async function toolError(words: string): Promise<Error> {
  const sdk = await import('@anthropic-ai/sdk/lib/tools/ToolError').catch(() => null);
  return sdk ? new sdk.ToolError(words) : new Error(words);
}
