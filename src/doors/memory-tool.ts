// The door for main agents: Anthropic's memory tool over a store, ready for the SDK's tool runner.
// Contract: whatever a model sends is answered, by a result or by a tool error it can read; nothing else is thrown.

import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import type { BetaMemoryTool20250818Command } from '@anthropic-ai/sdk/resources/beta';
import { describeError } from '../base/errors.ts';
import type { Store } from '../memory/store/store.ts';
import { type MemoryToolOptions, memoryCommands, readMemoryCommand } from './memory-commands.ts';

/**
 * The memory tool for `client.beta.messages.toolRunner({ tools: [memoryTool(store, { mode: 'read-write' })] })`.
 * Every change it makes is one commit of the store, by the actor `tool:memory` unless another is given.
 */
export function memoryTool(store: Store, options: MemoryToolOptions): BetaRunnableTool<BetaMemoryTool20250818Command> {
  const tool = betaMemoryTool(memoryCommands(store, options));
  return {
    ...tool,
    // The SDK checks neither the command nor its arguments.
    async run(input: unknown) {
      try {
        return await tool.run(readMemoryCommand(input));
      } catch (error) {
        throw new ToolError(describeError(error));
      }
    },
  };
}
