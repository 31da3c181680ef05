// mcp: the memory for every MCP client, over stdin and stdout.
// stdout carries the protocol alone. It ends when stdin ends, or at SIGTERM or SIGINT.

import type { Transport } from '@modelcontextprotocol/server';
import { describeError } from '../../../base/errors.ts';
import type { App } from '../../compose.ts';
import type { AttachedStore } from '../../mcp/attached-stores.ts';
import type { AnsweringTransport } from '../../mcp/server.ts';
import type { CommandSpec } from '../spec.ts';
import { withApp } from '../terminal/options.ts';
import { EXIT, note, print } from '../terminal/output.ts';

const mcp: CommandSpec<{ store?: string[]; json?: boolean }> = {
  name: 'mcp',
  about: 'serve memory to MCP clients over stdio: list, search, read, write, edit, delete',
  group: 'Under the hood',
  options: [
    [
      '--store <name=path[:rw]>',
      'a memory directory, or project, user or local; repeatable, at most 8; read-only without :rw ' +
        "(default: mcpStores of the settings, else the project's memory, read-only)",
      { parse: (value, before) => [...((before as string[] | undefined) ?? []), value] },
    ],
  ],
  json: 'of what would be served, and nothing is: [{ name, description, dir, access, instructions }]',
  examples: [
    'mcp --store project=project:rw --store notes=~/notes/memory',
    'claude mcp add nocturne -- nocturne mcp --store project=project:rw',
  ],
  run: ({ options, parts, version }) =>
    withApp({ options: {}, parts: { ...parts, startedBy: 'program' } }, async (app) => {
      const { attachedStores } = await import('../../mcp/attached-stores.ts');
      const stores = attachedStores(app.config, { given: options.store ?? [], cwd: process.cwd() });
      if (options.json) print(stores);
      else await serve(app, { stores, version });
    }),
};

async function serve(app: App, { stores, version }: { stores: AttachedStore[]; version: string }): Promise<void> {
  const { AnsweringTransport } = await import('../../mcp/server.ts');
  const transport = new AnsweringTransport();
  const ended = endOfInput(transport);
  const connection = await serveMemory(app, { stores, version, transport });
  note(`nocturne serves ${stores.map(({ name, access }) => `${name} (${access})`).join(', ')}`);
  await ended;
  await connection.close();
}

/** Answers one client, until it is closed. */
export async function serveMemory(
  app: App,
  { stores, version, transport }: { stores: AttachedStore[]; version: string; transport: Transport },
): Promise<{ close(): Promise<void> }> {
  const [{ serveStdio }, { memoryServer }, { callTool }] = await Promise.all([
    import('@modelcontextprotocol/server/stdio'),
    import('../../mcp/server.ts'),
    import('../../mcp/tools.ts'),
  ]);
  const openStore = async (dir: string) => {
    const store = await app.store(dir);
    if (!app.keeping) await app.home.addStore(store.dir);
    return store;
  };
  const { keeping } = app;
  const found = keeping && { findStore: (dir: string) => keeping.findStore(dir) };
  const deps = { openStore, actor: 'tool:mcp', clock: app.config.clock, ...found };
  return serveStdio(() => memoryServer({ stores, call: (asked) => callTool(asked, deps), version }), {
    transport,
    onerror: (error) => note(`nocturne: ${describeFault(error)}`),
  });
}

/** What came in and could not be answered, in a line: the SDK tells every way in which it is no message. */
function describeFault(error: Error): string {
  if (/ZodError$/.test(error.name)) return 'What came in is JSON, but no message of JSON-RPC 2.0; it was passed over.';
  if (!error.message.startsWith('ReadBuffer exceeded')) return describeError(error);
  process.exitCode = EXIT.failed;
  return 'A message that came in is longer than the 10 MiB that one may have, so the connection ends here.';
}

/** Until the client closes its end and is answered, or somebody ends this process; a second signal ends it at once. */
function endOfInput(transport: AnsweringTransport): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['end', 'close', 'error'] as const) {
      process.stdin.once(event, () => transport.answered().then(resolve));
    }
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
}

export const commands: CommandSpec[] = [mcp];
