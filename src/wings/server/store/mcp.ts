// The tools of MCP over a store of the server: those of `nocturne mcp`, with changes by the key that asks.

import { isAppError } from '../../../base/errors.ts';
import type { ToolCall } from '../../../doors/mcp/tools.ts';
import { isHeld } from '../errors.ts';
import type { At, Change } from './memories.ts';

export async function callTool({ store, config }: At, { by, asked }: Pick<Change, 'by'> & { asked: ToolCall }) {
  const tools = await import('../../../doors/mcp/tools.ts');
  return tools.callTool(asked, {
    openStore: async () => store,
    isElsewhere: store.id !== store.dir,
    actor: `tool:${by}`,
    clock: config.clock,
    passesOn: (error) => isHeld(error) || isAppError(error, 'database-unavailable'),
  });
}
