// A memory store to MCP clients over Streamable HTTP, at `/mcp/{store}`, by the official server package. Promises: nothing is kept
// between two requests, so each is let in by its key alone, whatever session it names; a tool that writes is not listed to a key
// that may not.

import type { Hono } from 'hono';
import { isAppError } from '../base/errors.ts';
import type { MemoryRow } from '../memory/memories.ts';
import type { AttachedStore, ToolCall } from '../tools/mcp-server.ts';
import { type Env, readBody, refuseWithout, type ServerDeps } from './endpoint.ts';
import { byOf, filesIn, isTeams, storeNamed } from './visible.ts';

/** Where clients of MCP ask. */
export function mountMcp(app: Hono<Env>, deps: ServerDeps): void {
  app.all('/mcp/:store', async (context) => {
    context.set('route', '/mcp/{store}');
    const caller = context.get('caller');
    const by = { deps, caller };
    refuseWithout('read', caller);
    const store = attached(await storeNamed(context.req.param('store'), by), caller.rights.includes('write'));
    const body = ['GET', 'HEAD'].includes(context.req.method) ? undefined : await readBody(context);
    const { url, method, headers, signal } = context.req.raw;
    // Loaded when a client of MCP first asks.
    const [{ createMcpHandler }, { memoryServer, callTool }] = await Promise.all([
      import('@modelcontextprotocol/server'),
      import('../tools/mcp-server.ts'),
    ]);
    const call = (asked: ToolCall) =>
      callTool(asked, {
        filesOf: async (id) => filesIn(await storeNamed(id, by), by, { secrets: 'remove' }),
        by: byOf(by),
        passesOn: (error) => isAppError(error, 'fenced') || isAppError(error, 'database-unavailable'),
      });
    const onlyReads = store.access === 'read_only';
    const server = () => memoryServer({ stores: [store], onlyReads, version: deps.version, call });
    // There is never news of tools to wait for.
    const { fetch } = createMcpHandler(server, { maxSubscriptions: 0 });
    return fetch(new Request(url, { method, headers, signal, body: body as Buffer<ArrayBuffer> | undefined }));
  });
}

/** As the tools name it. */
function attached(row: MemoryRow, mayWrite: boolean): AttachedStore {
  return {
    name: row.name,
    // One line: what stands there is not the server's own words.
    description: row.description.replaceAll(/\s+/g, ' ').trim() || null,
    dir: row.id,
    access: mayWrite && !isTeams(row) && row.archived_at === null ? 'read_write' : 'read_only',
  };
}
