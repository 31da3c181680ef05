// nocturne serve: memory stores over HTTP and the page, until it is told to end; and the worker beside the server: a process of its own,
// which does what clients ask a model for. Either outlives the other.
// Promises: no worker is started where one of this home lives; one that ended is started again while the server lives.
//
// nocturne open: the page in a browser. Where a server runs on this machine it is that one's, else this command serves it
// until it is told to end. What it prints opens the page once, within a minute. With --board it is the queue's board.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { openLog } from '../../base/files/files.ts';
import { refuseInTheClear, type ServeOptions, serveSpec, tlsOf } from '../../doors/cli/serve-options.ts';
import type { CommandSpec } from '../../doors/cli/spec.ts';
import { type CommonOptions, portOf, wholeNumber, withApp } from '../../doors/cli/terminal/options.ts';
import { EXIT, note, print } from '../../doors/cli/terminal/output.ts';
import type { App } from '../../doors/compose.ts';
import { wakeQueueOptions } from '../../doors/worker/worker.ts';
import { formatDamage } from '../../memory/home/home.ts';
import { checkQueueUrl } from '../../queue/drivers.ts';
import type { Running } from '../server/serve.ts';
import { makeTicket, servedAt } from './visits.ts';

const serve: CommandSpec<ServeOptions> = {
  ...serveSpec({ portOf, wholeNumber }),
  run: (call) => {
    refuseInTheClear(call.options);
    return withApp({ options: {}, parts: call.parts }, async (app) => {
      if (app.config.queueUrl) checkQueueUrl(app.config.queueUrl);
      const [{ startServer }, { openPages }] = await loadServer();
      for (const error of app.overruled) await app.log('warn', { event: 'trouble', error });
      const { json, projects, url: urls, cors: origins, creates, reads, host, port, socket } = call.options;
      // Before it answers anybody: who sees it answer may end it.
      const ended = Promise.withResolvers<void>();
      for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => ended.resolve());
      const server = await startServer(app, {
        ...{ host, port, socket, tls: tlsOf(call.options), withProjects: projects, reached: { urls, origins } },
        createsPerMinute: creates,
        readsPerMinute: reads,
        version: call.version,
        openPages,
      });
      try {
        const { keys } = server.deps;
        const damage = await app.home.damage();
        if (damage) {
          note(
            `nocturne: ${formatDamage(damage)}. Look at nocturne stores list and nocturne keys list: what could not be`,
          );
          note('  read is gone; stores are found again, under their ids.');
        }
        const hasKey = (await keys.all()).some(({ revokedAt }) => revokedAt === null);
        if (!hasKey && !process.stdout.isTTY) {
          note('nocturne: There is no key yet.\n  Make one: nocturne keys create --name NAME');
          process.exitCode = EXIT.usage;
          return;
        }
        const key = hasKey ? undefined : keys.createPassing();
        print(json ? { url: server.url, key } : server.url);
        if (key !== undefined && !json) print(`key, until this ends: ${key}`);
        const endLooking = call.options.worker ? keepWorker(app, process.argv[1] as string) : () => {};
        note('Ctrl-C ends it.');
        await ended.promise.finally(endLooking);
      } finally {
        await server.close();
      }
    });
  },
};

/** Loads what serves memory and the page, which nothing else needs. */
const loadServer = () => Promise.all([import('../server/serve.ts'), import('./page.ts')]);

const LOOK_MS = 15_000;

/** `door`: the file of the command line. Answers what ends the looking, not the worker. */
function keepWorker({ config, home }: Pick<App, 'config' | 'home'>, door: string): () => void {
  let started: ReturnType<typeof spawn> | undefined;
  const look = async () => {
    const isThere = started !== undefined && started.exitCode === null && started.signalCode === null;
    if (isThere || (await home.workers.all()).length > 0) return;
    const log = openLog(join(config.home, 'logs', 'worker.log'));
    started = spawn(process.execPath, [door, 'worker'], {
      cwd: config.home,
      detached: true,
      env: { ...config.environment, NOCTURNE_HOME: config.home },
      stdio: ['ignore', log, log],
      windowsHide: true,
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
  board?: boolean;
}

const PORT = 4114;
const ANSWER_MS = 2_000;

const open: CommandSpec<OpenOptions> = {
  name: 'open',
  about: 'the memory in your browser: look, decide, undo',
  group: 'Every day',
  options: [
    ['--no-browser', 'only print the address'],
    ['--board', 'the queue on Redis instead (bull-board), read-only'],
  ],
  json: '{ url }',
  more: 'The address opens the page once, within a minute. Where nocturne serve runs already the page is there; else this serves it, on this machine alone, until Ctrl-C.',
  examples: ['open', 'open --no-browser', 'open --board'],
  run: (call) => {
    const { board } = call.options;
    return withApp({ options: {}, parts: call.parts }, async (app) => {
      const running = board ? null : await findServer(app);
      if (running !== null) return tell(await pageAt(app, running), call.options);
      const ended = Promise.withResolvers<void>();
      for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => ended.resolve());
      const server = await (board ? startBoardHere(app) : startHere(app));
      try {
        tell(board ? server.url : await pageAt(app, server.url), call.options);
        note('Ctrl-C ends it.');
        await ended.promise;
      } finally {
        await server.close();
      }
    });
  },
};

/** The address of a server that runs and answers. */
async function findServer({ home }: App): Promise<string | null> {
  for (const url of await servedAt(home)) {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null);
    if (answer?.ok) return url;
  }
  return null;
}

/** On the usual port, or where another program has that one, on a free one. */
async function startHere(app: App): Promise<Running> {
  const [{ startServer }, { openPages }] = await loadServer();
  try {
    return await startServer(app, { port: PORT, openPages });
  } catch {
    return startServer(app, { port: 0, openPages });
  }
}

/** Loads BullMQ and the board's packages. */
async function startBoardHere({ config, keeping }: App) {
  const { startBoard } = await import('../../queue/board.ts');
  return startBoard(config.queueUrl ? await wakeQueueOptions({ config, keeping }) : {});
}

async function pageAt({ home, config }: App, url: string): Promise<string> {
  return `${url}/#${await makeTicket(home, config.clock)}`;
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

export const commands: CommandSpec[] = [serve as CommandSpec, open as CommandSpec];
