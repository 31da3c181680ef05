// mcp: the memory for every MCP client, over stdin and stdout, which carries the protocol alone, until stdin ends, or at SIGTERM or SIGINT;
// and which memories it serves: what the command was given, else the project's own, read-only.
// Promises: at most eight, each with a name of its own, and none in two ways that could undo each other; what cannot be is an AppError
// `bad-input` that names the store. Nothing is opened or made before a client asks; a directory that may be written is made into a
// memory by the first change, and one that is there by the first look.

import { basename, resolve, sep } from 'node:path';
import type { Transport } from '@modelcontextprotocol/server';
import type { Config } from '../base/config/config.ts';
import { AppError, describeError } from '../base/errors.ts';
import { canonicalPath, isDirectory, isStoreId } from '../base/files/directories.ts';
import type { By } from '../memory/commit.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { checkedDir } from '../memory/paths.ts';
import { MEMORY_SCOPES, memoryDirFor, scopeDir } from '../memory/places.ts';
import { noteUses } from '../memory/recall/recall.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import type { AttachedStore, ToolCall } from '../tools/mcp-server.ts';
import type { App } from '../worker/compose.ts';
import { withApp } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

const BY: By = { job: 'mcp', actor: { kind: 'session', id: 'mcp' } };

const mcp: CommandSpec<{ store?: string[]; json?: boolean }> = {
  name: 'mcp',
  about: 'serve memory to MCP clients over stdio: list, search, read, write, edit, delete',
  options: [
    [
      '--store <name=path[:rw]>',
      'a memory directory, or project, user or local; repeatable, at most 8; read-only without :rw ' +
        "(default: the project's memory, read-only)",
      { parse: (value, before) => [...((before as string[] | undefined) ?? []), value] },
    ],
  ],
  json: 'what would be served, without serving it: [{ name, description, dir, access, instructions }]',
  examples: [
    'mcp --store project=project:rw --store notes=~/notes/memory',
    'claude mcp add nocturne -- nocturne mcp --store project=project:rw',
  ],
  run: ({ options, parts, version }) =>
    withApp({ options: {}, parts: { ...parts, startedBy: 'program' } }, async (app) => {
      const stores = attachedStores(app.config, { given: options.store ?? [], cwd: process.cwd() });
      if (options.json) print(stores);
      else await serveOnStreams(app, { stores, version });
    }),
};

/** Answers one client, until it is closed. */
export async function serveMemory(
  app: App,
  { stores, version, transport }: { stores: AttachedStore[]; version: string; transport: Transport },
): Promise<{ close(): Promise<void> }> {
  const [{ serveStdio }, { memoryServer }, call] = await Promise.all([
    import('@modelcontextprotocol/server/stdio'),
    import('../tools/mcp-server.ts'),
    callsOf(app),
  ]);
  return serveStdio(() => memoryServer({ stores, call, version }), {
    transport,
    onerror: (error) => note(`nocturne: ${describeFault(error)}`),
  });
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
  if (db.engine === 'postgres' && makes) return memories.ofPlace(place, of);
  const isOfDirectory = db.engine === 'sqlite' && (makes || isDirectory(place));
  return isOfDirectory ? memories.ofDirectory(place, of) : memories.findPlace(place);
}

/** Serves over stdin and stdout, until the client has closed its end, or someone ends this process; a second signal ends it at once. */
async function serveOnStreams(app: App, of: { stores: AttachedStore[]; version: string }): Promise<void> {
  const { StdioServerTransport } = await import('@modelcontextprotocol/server/stdio');
  const ended = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error']) process.stdin.once(event, () => resolve());
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  const connection = await serveMemory(app, { ...of, transport: new StdioServerTransport() });
  note(`nocturne serves ${of.stores.map(({ name, access }) => `${name} (${access})`).join(', ')}`);
  await ended;
  await connection.close();
}

/** What came in and could not be answered, in a line: the SDK tells every way in which it is no message. */
function describeFault(error: Error): string {
  if (/ZodError$/.test(error.name)) return 'Ignored JSON that is not a JSON-RPC 2.0 message.';
  if (!error.message.startsWith('ReadBuffer exceeded')) return describeError(error);
  process.exitCode = EXIT.failed;
  return 'A message was longer than the limit of 10 MiB, so the connection ends here.';
}

const MOST_STORES = 8;
const NAME = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,63}$/u;

/** `given` are the values of `--store`, each `name=path` or `name=scope`, with `:rw` behind it where it may be written. */
export function attachedStores(config: Config, { given, cwd }: { given: string[]; cwd: string }): AttachedStore[] {
  const project = { name: 'project', dir: memoryDirFor(config, { cwd }), access: 'read_only' } as const;
  const named = given.map((value) => readOption(value, { config, cwd }));
  const attached = (named.length > 0 ? named : [project]).map((store) => ({
    ...store,
    description: null,
    dir: isStoreId(store.dir, config) ? store.dir : canonicalPath(store.dir),
    instructions: null,
  }));
  refuseUnfit(attached);
  return attached;
}

function readOption(value: string, { config, cwd }: { config: Config; cwd: string }) {
  const [, name, place, mode] = /^([^=]+)=(.+?)(?::(rw|ro))?$/.exec(value) ?? [];
  if (name === undefined || place === undefined) {
    throw new AppError('bad-input', `--store ${JSON.stringify(value)} is not name=path.`, {
      remedy: 'For example --store notes=~/notes/memory, or --store project=project:rw.',
    });
  }
  const access = mode === 'rw' ? ('read_write' as const) : ('read_only' as const);
  const scope = MEMORY_SCOPES.find((each) => each === place);
  if (scope) return { name, dir: scopeDir(config, { memory: scope, cwd }), access };
  if (isStoreId(place, config)) return { name, dir: place, access };
  const path = /^~/.test(place) ? place : resolve(place);
  return { name, dir: checkedDir({ path, from: `the store ${JSON.stringify(name)}` }, config.userDir), access };
}

function refuseUnfit(stores: AttachedStore[]): void {
  const tooMany = stores[MOST_STORES];
  if (tooMany) throw refusal(tooMany, `at most ${MOST_STORES} stores can be attached`);
  for (const [at, store] of stores.entries()) {
    if (!NAME.test(store.name)) throw refusal(store, 'a name has 1 to 64 letters, digits, spaces, ".", "_" and "-"');
    for (const other of stores.slice(0, at)) {
      if (other.name === store.name) throw refusal(store, `${other.dir} has that name already`);
      if (other.dir === store.dir) throw refusal(store, `${JSON.stringify(other.name)} is the same directory`);
      const isWritten = [store, other].some(({ access }) => access === 'read_write');
      if (isWritten && (isIn(store.dir, other.dir) || isIn(other.dir, store.dir)))
        throw refusal(store, `it and ${JSON.stringify(other.name)} contain each other, and one may be written`);
    }
  }
}

function isIn(dir: string, other: string): boolean {
  return dir.startsWith(other + sep);
}

function refusal({ name }: AttachedStore, problem: string): AppError {
  return new AppError('bad-input', `The store ${JSON.stringify(name)} cannot be attached: ${problem}.`, {
    remedy: 'Change the --store options.',
  });
}

export const commands: CommandSpec[] = [mcp as CommandSpec];
