// Memory stores to MCP clients over Streamable HTTP: one at `/mcp/{store}`, at `/mcp` those of the key, by the official
// server package. Promises: nothing is kept between two requests, so each is let in by its key alone, whatever session it
// names; a tool that writes is not listed to a key that may not.

import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { isAppError } from '../base/errors.ts';
import type { MemoryRow } from '../memory/memories.ts';
import type { AttachedStore, ToolCall } from '../tools/mcp-server.ts';
import { ApiError, invalid } from './api-shapes.ts';
import { type Asker, type Env, readBody, refuseMany, refuseWithout, type ServerDeps } from './endpoint.ts';
import { storesFor } from './stores-route.ts';
import { byOf, filesIn, isTeams, newestSeen, storeNamed } from './visible.ts';

const MOST_STORES = 8;
const HEADER = 'nocturne-stores';
const WRITING = ['memory_write', 'memory_edit', 'memory_delete'];

/** Where clients of MCP ask. */
export function mountMcp(app: OpenAPIHono<Env>, deps: ServerDeps): void {
  for (const [path, route] of [
    ['/mcp', '/mcp'],
    ['/mcp/:store', '/mcp/{store}'],
  ] as const) {
    app.all(path, async (context) => {
      context.set('route', route);
      const caller = context.get('caller');
      const by = { deps, caller };
      refuseWithout('read', caller);
      const stores = attached(await storesOf(context, by), caller.rights.includes('write'));
      const body = ['GET', 'HEAD'].includes(context.req.method) ? undefined : await readBody(context);
      const asked = messagesIn(body);
      for (const { method, params } of asked.length > 0 ? asked : [{}]) {
        const isWrite = method === 'tools/call' && WRITING.includes(String(params?.name));
        refuseMany(isWrite ? deps.creates : deps.reads, caller);
      }
      const { url, method, headers, signal } = context.req.raw;
      // Loaded when a client of MCP first asks.
      const [{ createMcpHandler }, { memoryServer }, { callTool }] = await Promise.all([
        import('@modelcontextprotocol/server'),
        import('../tools/mcp-server.ts'),
        import('../tools/mcp-tools.ts'),
      ]);
      const call = (asked: ToolCall) =>
        callTool(asked, {
          filesOf: async (id) => filesIn(await storeNamed(id, by), by, { secrets: 'remove' }),
          by: byOf(by),
          passesOn: (error) => isAppError(error, 'fenced') || isAppError(error, 'database-unavailable'),
        });
      const onlyReads = stores.every(({ access }) => access === 'read_only');
      const server = () => memoryServer({ stores, onlyReads, version: deps.version, call });
      // There is never news of tools to wait for.
      const { fetch } = createMcpHandler(server, { maxSubscriptions: 0 });
      return fetch(new Request(url, { method, headers, signal, body: body as Buffer<ArrayBuffer> | undefined }));
    });
  }
}

/** Which stores a request is about. Throws what says why it is none. */
async function storesOf(context: Context<Env>, by: Asker): Promise<MemoryRow[]> {
  const id = context.req.param('store');
  if (id !== undefined) return [await storeNamed(id, by)];
  const header = context.req.header(HEADER);
  const named = header?.split(',').map((each) => each.trim());
  const rows = await (named
    ? Promise.all([...new Set(named)].map((each) => storeNamed(each, by)))
    : newestSeen(by.deps.memories.db, storesFor(by)));
  if (rows.length === 0) throw new ApiError('not_found_error', 'This key has no memory store.');
  if (rows.length <= MOST_STORES) return rows;
  throw invalid(
    `${rows.length} memory stores would be served, and at most ${MOST_STORES} are: name their ids, with commas between them, in the header ${HEADER}, or ask at /mcp/ and an id.`,
  );
}

/** As the tools name them: by name, where no other has it and it can be one. */
function attached(rows: MemoryRow[], mayWrite: boolean): AttachedStore[] {
  return rows.map((row) => ({
    name: rows.some((other) => other.id !== row.id && other.name === row.name) ? row.id : row.name,
    // One line each: what stands there is not the server's own words.
    description: row.description.replaceAll(/\s+/g, ' ').trim() || null,
    dir: row.id,
    access: mayWrite && !isTeams(row) && row.archived_at === null ? 'read_write' : 'read_only',
    instructions: null,
  }));
}

interface Message {
  method?: unknown;
  params?: { name?: unknown };
}

/** What is no message is answered by the server package. */
function messagesIn(body: Buffer | undefined): Message[] {
  try {
    return [JSON.parse(String(body))].flat().map((message) => Object(message) as Message);
  } catch {
    return [];
  }
}
