// serve: memory stores over HTTP, until it is told to end; and the worker beside the server: a process of its own, which does what
// clients ask a model for. Either outlives the other.
// Promises: no worker is started where one of this home lives; one that ended is started again while the server lives.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { openLog } from '../base/files/files.ts';
import { isDead } from '../base/process.ts';
import { checkQueueUrl } from '../db/drivers.ts';
import { allWorkers } from '../queue/workers.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import type { App } from '../worker/compose.ts';
import { portOf, wholeNumber, withApp } from './cli-options.ts';
import { refuseInTheClear, type ServeOptions, serveSpec, tlsOf } from './serve-options.ts';
import type { CommandSpec } from './spec.ts';

const serve: CommandSpec<ServeOptions> = {
  ...serveSpec({ portOf, wholeNumber }),
  run: (call) => {
    refuseInTheClear(call.options);
    return withApp({ options: {}, parts: call.parts }, async (app) => {
      if (app.config.queueUrl) checkQueueUrl(app.config.queueUrl);
      const [{ startServer }, { pagesOf }] = await Promise.all([
        import('../server/serve.ts'),
        import('../page/page.ts'),
      ]);
      const { json, projects, url: urls, cors: origins, creates, reads, host, port, socket } = call.options;
      // Before it answers anybody: who sees it answer may end it.
      const ended = Promise.withResolvers<void>();
      for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => ended.resolve());
      const server = await startServer(app, {
        ...{ host, port, socket, tls: tlsOf(call.options), withProjects: projects, reached: { urls, origins } },
        ...{ createsPerMinute: creates, readsPerMinute: reads, version: call.version },
        openPages: pagesOf(app),
      });
      try {
        const { keys } = server.deps;
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

const LOOK_MS = 15_000;

/** `door`: the file of the command line. Answers what ends the looking, not the worker. */
function keepWorker(app: App, door: string): () => void {
  const { config } = app;
  let started: ReturnType<typeof spawn> | undefined;
  const look = async () => {
    const isThere = started !== undefined && started.exitCode === null && started.signalCode === null;
    if (isThere || (await allWorkers(app.db)).some((worker) => !isDead(worker.process))) return;
    const log = openLog(join(config.home, 'logs', 'worker.log'));
    started = spawn(process.execPath, [door, 'worker'], {
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

export const commands: CommandSpec[] = [serve as CommandSpec];
