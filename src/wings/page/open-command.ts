// nocturne open: the page in a browser. Where a server runs on this machine it is that one's, else this command serves it
// until it is told to end. What it prints opens the page once, within a minute. With --board it is the queue's board.

import { spawn } from 'node:child_process';
import type { CommandSpec } from '../../doors/cli/spec.ts';
import { type CommonOptions, withApp } from '../../doors/cli/terminal/options.ts';
import { note, print } from '../../doors/cli/terminal/output.ts';
import type { App } from '../../doors/compose.ts';
import { wakeQueueOptions } from '../../doors/worker/worker.ts';
import { type Running, startServer } from '../server/serve.ts';
import { openPages } from './page.ts';
import { makeTicket, servedAt } from './visits.ts';

interface Options extends CommonOptions {
  browser: boolean;
  board?: boolean;
}

const PORT = 4114;
const ANSWER_MS = 2_000;

const open: CommandSpec<Options> = {
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

function tell(address: string, { browser, json }: Options): void {
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
