// What answers until it is told to end. serve: memory stores over HTTP, and the worker beside the server, a process of its own, which does
// what clients ask a model for; either outlives the other. open: the page in a browser, on a server that runs on this machine, else
// served by this command; what it prints opens the page once, within a minute. mcp: memory for an MCP client over stdin and stdout,
// which carries the protocol alone, until stdin ends.
// Promises: no worker is started where one of this home lives; one that ended is started again while the server lives. What others can
// reach is refused in the clear before anything is opened. Of what mcp serves nothing is made before a client asks.

import { spawn } from 'node:child_process';
import { basename, join, resolve } from 'node:path';
import type { Transport } from '@modelcontextprotocol/server';
import type { Config } from '../base/config/config.ts';
import { AppError, describeError } from '../base/errors.ts';
import { canonicalPath, isDirectory, isStoreId } from '../base/files/directories.ts';
import { openLog } from '../base/files/files.ts';
import { isDead } from '../base/process.ts';
import { checkQueueUrl } from '../db/drivers.ts';
import type { By } from '../memory/commit.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { checkedDir } from '../memory/paths.ts';
import { MEMORY_SCOPES, memoryDirFor, scopeDir } from '../memory/places.ts';
import { noteUses } from '../memory/recall/recall.ts';
import { makeTicket, servedAt } from '../page/visits.ts';
import { allWorkers } from '../queue/workers.ts';
import type { Running, ServeOptions as ServingOptions } from '../server/serve.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import type { AttachedStore, ToolCall } from '../tools/mcp-server.ts';
import type { App } from '../worker/compose.ts';
import { type CommonOptions, wholeFrom, withApp } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

const LOOPBACK = ['127.0.0.1', 'localhost', '::1'];

interface ServeOptions {
  host: string;
  port: number;
  projects?: boolean;
  behindProxy?: boolean;
  url: string[];
  worker: boolean;
  json?: boolean;
}

const serve: CommandSpec<ServeOptions> = {
  name: 'serve',
  about: "serve memory stores over HTTP, for programs that use Anthropic's SDK",
  options: [
    ['--host <name>', 'where to listen', { default: '127.0.0.1' }],
    ['--port <number>', 'port; 0: a free one', { parse: wholeFrom(0, 65_535), default: 4114 }],
    ['--projects', 'also the memories of projects, for keys without --stores'],
    ['--behind-proxy', 'a proxy before it speaks TLS; allows another --host'],
    ['--url <url...>', 'an address that clients use', { default: [] }],
    ['--no-worker', 'start no worker; dreams wait until there is one'],
  ],
  json: '{ url }',
  more: 'It starts a worker, which keeps running, unless one runs already.',
  examples: ['serve', 'serve --port 8080'],
  run: (call) => {
    refuseInTheClear(call.options);
    return withApp({ options: {}, parts: call.parts }, async (app) => {
      if (app.config.queueUrl) checkQueueUrl(app.config.queueUrl);
      const { json, projects, url: urls, host, port } = call.options;
      // Before it answers anybody: who sees it answer may end it.
      const ended = untilEnded();
      const server = await startServing(app, {
        ...{ host, port, urls, withProjects: projects, version: call.version },
      });
      try {
        if (!(await server.deps.keys.all()).some(({ revokedAt }) => revokedAt === null)) {
          note('nocturne: There is no key yet.\n  Make one: nocturne keys create --name NAME');
          process.exitCode = EXIT.usage;
          return;
        }
        print(json ? { url: server.url } : server.url);
        const endLooking = call.options.worker ? keepWorker(app) : () => {};
        note('Ctrl-C ends it.');
        await ended.finally(endLooking);
      } finally {
        await server.close();
      }
    });
  },
};

async function startServing(app: App, options: Omit<ServingOptions, 'openPages'>): Promise<Running> {
  const [{ startServer }, { pagesOf }] = await Promise.all([import('../server/serve.ts'), import('../page/page.ts')]);
  return startServer(app, { ...options, openPages: pagesOf(app) });
}

/** What others can reach must not be read on its way. */
function refuseInTheClear({ host, behindProxy }: ServeOptions): void {
  if (LOOPBACK.includes(host) || behindProxy) return;
  throw new AppError('bad-input', `--host ${host} would send keys and memories unencrypted.`, {
    remedy: 'Give --behind-proxy if a proxy before it speaks TLS.',
  });
}

function untilEnded(): Promise<void> {
  return new Promise((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => resolve());
  });
}

const LOOK_MS = 15_000;

/** Answers what ends the looking, not the worker. */
function keepWorker({ db, config }: App): () => void {
  let started: ReturnType<typeof spawn> | undefined;
  const look = async () => {
    const isThere = started !== undefined && started.exitCode === null && started.signalCode === null;
    if (isThere || (await allWorkers(db)).some((worker) => !isDead(worker.process))) return;
    const log = openLog(join(config.home, 'logs', 'worker.log'));
    started = spawn(process.execPath, [process.argv[1] as string, 'worker'], {
      ...{ cwd: config.home, detached: true, env: config.environment, stdio: ['ignore', log, log], windowsHide: true },
    });
    started.on('error', () => {});
    started.unref();
  };
  // Where it cannot be told, it is looked again.
  const tryToLook = () => void look().catch(() => {});
  tryToLook();
  const looking = setInterval(tryToLook, LOOK_MS).unref();
  return () => clearInterval(looking);
}

interface OpenOptions extends CommonOptions {
  browser: boolean;
}

const ANSWER_MS = 2_000;

const open: CommandSpec<OpenOptions> = {
  name: 'open',
  about: 'your memory in the browser: look, decide, undo',
  options: [['--no-browser', 'only print the address']],
  json: '{ url }',
  more: 'The address works once, within a minute. If nocturne serve runs, the page is there already; else this command serves it, on this machine alone, until Ctrl-C.',
  examples: ['open', 'open --no-browser'],
  async inApp(app, { options, version }) {
    const addressOf = async (url: string) => `${url}/#${await makeTicket(app)}`;
    const running = await findServer(app);
    if (running !== null) return tell(await addressOf(running), options);
    const ended = untilEnded();
    const server = await startServing(app, { version, port: 0 });
    try {
      tell(await addressOf(server.url), options);
      note('Ctrl-C ends it.');
      await ended;
    } finally {
      await server.close();
    }
  },
};

/** The address of a server that runs and answers. */
async function findServer({ db }: App): Promise<string | null> {
  for (const url of await servedAt(db)) {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null);
    if (answer?.ok) return url;
  }
  return null;
}

function tell(address: string, { browser, json }: OpenOptions): void {
  print(json ? { url: address } : address);
  if (!browser || json || !process.stdout.isTTY) return;
  const [program, ...args] = {
    darwin: ['open'],
    win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  }[process.platform as string] ?? ['xdg-open'];
  // Where there is no browser, what was printed is enough.
  spawn(program as string, [...args, address], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref();
}

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
  json: 'what would be served, without serving it: [{ name, description, dir, access }]',
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
  const { callTool } = await import('../tools/mcp-server.ts');
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
  const closed = new Promise<void>((done) => {
    for (const event of ['end', 'close', 'error']) process.stdin.once(event, () => done());
  });
  const ended = Promise.race([closed, untilEnded()]);
  const connection = await serveMemory(app, { ...of, transport: new StdioServerTransport() });
  note(`nocturne serves ${of.stores.map(({ name, access }) => `${name} (${access})`).join(', ')}`);
  await ended;
  await connection.close();
}

/** The SDK tells every way in which what came in is no message. */
function describeFault(error: Error): string {
  return /ZodError$/.test(error.name) ? 'Ignored JSON that is not a JSON-RPC 2.0 message.' : describeError(error);
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
    }
  }
}

function refusal({ name }: AttachedStore, problem: string): AppError {
  return new AppError('bad-input', `The store ${JSON.stringify(name)} cannot be attached: ${problem}.`, {
    remedy: 'Change the --store options.',
  });
}

export const commands = [serve, open, mcp] as CommandSpec[];
