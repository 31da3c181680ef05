// mcp: the memory for every MCP client, over stdin and stdout. Nothing is opened or made before a client asks; a directory that may be
// written is made into a memory by the first change, and one that is there by the first look.

import { basename } from 'node:path';
import type { Transport } from '@modelcontextprotocol/server';
import { isDirectory, isStoreId } from '../base/files/directories.ts';
import type { By } from '../memory/commit.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { noteUses } from '../memory/recall/recall.ts';
import { print } from '../terminal/output.ts';
import type { AttachedStore, ToolCall } from '../tools/mcp-server.ts';
import type { App } from '../worker/compose.ts';
import { attachedStores, MCP, serveClient, serveOnStreams } from './attached-stores.ts';
import { withApp } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

const BY: By = { job: 'mcp', actor: { kind: 'session', id: 'mcp' } };

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
  const { callTool } = await import('../tools/mcp-tools.ts');
  const { db, clock } = app;
  return (asked: ToolCall) =>
    callTool(asked, {
      async filesOf(place, { makes }) {
        const memory = await memoryAt(app, place, makes);
        return memory && app.files(memory);
      },
      by: BY,
      noteUse: (files, path) => noteUses(db, files.memory.id, { used: [path], at: clock.now().toISOString() }),
    });
}

async function memoryAt({ memories, config, db }: App, place: string, makes: boolean): Promise<MemoryRow | null> {
  if (isStoreId(place, config)) return memories.of(place);
  const of = { scope: 'project', name: basename(place) } as const;
  if (db.engine === 'postgres')
    return makes ? memories.ofPlace(place, { ...of, origin: null }) : memories.findPlace(place);
  return makes || isDirectory(place) ? memories.ofDirectory(place, of) : null;
}

export const commands: CommandSpec[] = [mcp as CommandSpec];
