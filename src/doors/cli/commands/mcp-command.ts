// mcp: the memory for every MCP client, over stdin and stdout.

import type { Transport } from '@modelcontextprotocol/server';
import type { App } from '../../compose.ts';
import { attachedStores, MCP, serveClient, serveOnStreams } from '../../mcp/attached-stores.ts';
import type { AttachedStore, ToolCall } from '../../mcp/server.ts';
import type { CommandSpec } from '../spec.ts';
import { withApp } from '../terminal/options.ts';
import { print } from '../terminal/output.ts';

const mcp: CommandSpec<{ store?: string[]; json?: boolean }> = {
  ...MCP,
  run: ({ options, parts, version }) =>
    withApp({ options: {}, parts: { ...parts, startedBy: 'program' } }, async (app) => {
      const stores = attachedStores(app.config, { given: options.store ?? [], cwd: process.cwd() });
      if (options.json) print(stores);
      else await serveOnStreams({ stores, version, call: await callsOf(app) });
    }),
};

/** Answers one client, until it is closed. */
export async function serveMemory(
  app: App,
  of: { stores: AttachedStore[]; version: string; transport: Transport },
): Promise<{ close(): Promise<void> }> {
  return serveClient({ ...of, call: await callsOf(app) });
}

async function callsOf(app: App) {
  const { callTool } = await import('../../mcp/memory-tools.ts');
  const { keeping } = app;
  const found = keeping && { findStore: (dir: string) => keeping.findStore(dir) };
  const deps = { openStore: app.knownStore, actor: 'tool:mcp', clock: app.config.clock, ...found };
  return (asked: ToolCall) => callTool(asked, deps);
}

export const commands: CommandSpec[] = [mcp];
