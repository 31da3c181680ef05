// nocturne board: a view of the queue in the browser, on this machine alone.

import { type Command, InvalidArgumentError } from 'commander';
import { AppError } from '../../../base/errors.ts';
import { wakeQueueOptions } from '../../worker/worker.ts';
import { withApp, withJson } from '../terminal/options.ts';
import { note, print } from '../terminal/output.ts';

export function addBoard(program: Command): void {
  const command = program
    .command('board')
    .description('a read-only view of the queue in the browser (bull-board), for Redis and Postgres')
    .option('--port <number>', 'port on 127.0.0.1; 0: a free one', portOf, 3210);
  withJson(command, '{ url }')
    .addHelpText(
      'after',
      '\nThe queue only wakes workers; what waits and why is told by nocturne status.\n\nExample:\n  nocturne board --port 3210',
    )
    .action((options: { port: number; json?: boolean }) =>
      withApp({}, async (app) => {
        const [{ openBoard }, { serve }] = await Promise.all([
          import('../../../queue/board.ts'),
          import('@hono/node-server'),
        ]);
        const board = await openBoard(wakeQueueOptions(app.config));
        const ended = Promise.withResolvers<void>();
        const server = serve({ fetch: board.fetch, hostname: '127.0.0.1', port: options.port }, ({ port }) =>
          print(options.json ? JSON.stringify({ url: urlOf(port) }) : urlOf(port)),
        );
        server.on('error', (error) =>
          ended.reject(
            new AppError('bad-input', `Cannot listen on 127.0.0.1:${options.port}: ${error.message}.`, {
              remedy: 'Choose another with --port.',
            }),
          ),
        );
        for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => ended.resolve());
        note('Ctrl-C ends it.');
        await ended.promise.finally(async () => {
          server.close();
          await board.close();
        });
      }),
    );
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}/ui`;
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
  throw new InvalidArgumentError('It must be a port, 0 to 65535.');
}
