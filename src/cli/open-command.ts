// nocturne open: the page in a browser. Where a server runs on this machine it is that one's, else this command serves it until it is
// told to end. What it prints opens the page once, within a minute. With --board it is the queue's board.

import { spawn } from 'node:child_process';
import { makeTicket, servedAt } from '../page/page-tickets.ts';
import { queueNamespace } from '../queue/workers.ts';
import type { Running } from '../server/serve.ts';
import { note, print } from '../terminal/output.ts';
import type { App } from '../worker/compose.ts';
import { type CommonOptions, withApp } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

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
  run: ({ options, parts, version }) =>
    withApp({ options: {}, parts }, async (app) => {
      const addressOf = async (url: string) => (options.board ? url : `${url}/#${await makeTicket(app)}`);
      const running = options.board ? null : await findServer(app);
      if (running !== null) return tell(await addressOf(running), options);
      const ended = Promise.withResolvers<void>();
      for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => ended.resolve());
      const server = await (options.board ? startBoardHere(app) : startHere(app, version));
      try {
        tell(await addressOf(server.url), options);
        note('Ctrl-C ends it.');
        await ended.promise;
      } finally {
        await server.close();
      }
    }),
};

/** The address of a server that runs and answers. */
async function findServer({ db }: App): Promise<string | null> {
  for (const url of await servedAt(db)) {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null);
    if (answer?.ok) return url;
  }
  return null;
}

/** On the usual port, or where another program has that one, on a free one. */
async function startHere(app: App, version: string): Promise<Running> {
  const [{ startServer }, { pagesOf }] = await Promise.all([import('../server/serve.ts'), import('../page/page.ts')]);
  const options = { version, openPages: pagesOf(app) };
  return startServer(app, { ...options, port: PORT }).catch(() => startServer(app, { ...options, port: 0 }));
}

async function startBoardHere({ config, db }: App) {
  const { startBoard } = await import('../queue/board.ts');
  return startBoard({ url: config.queueUrl || undefined, namespace: await queueNamespace(db, config.home) });
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

export const commands: CommandSpec[] = [open as CommandSpec];
