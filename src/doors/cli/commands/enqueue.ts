// nocturne enqueue: puts work into a memory directory's inbox and notifies the queue, where one is configured.
// The inbox is what counts: with the queue out of reach the work waits there until a worker sweeps it.

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { describeError, isAppError } from '../../../base/errors.ts';
import { putInInbox } from '../../../memory/ledger/inbox.ts';
import { openSession } from '../../../transcript/session.ts';
import type { App } from '../../compose.ts';
import { extractKey, type Waiting } from '../../hook/announce.ts';
import { takeSnapshot } from '../../worker/transcript-snapshots.ts';
import { wakeQueueOptions } from '../../worker/worker.ts';
import { type CommonOptions, withApp, withInstructions, withJson, withMemory } from '../terminal/options.ts';
import { note, type Printing, print } from '../terminal/output.ts';
import { type ReprocessOptions, requestOf, withWhat } from './reprocess.ts';
import { type FindingOptions, FOUND_SHAPE, find, withFinding } from './sweep.ts';

export function addEnqueue(program: Command): void {
  const enqueue = program.command('enqueue').description('put work into the inbox for a worker');
  const shape = 'one line per piece of work: { memory, kind, key, isRung }';
  const extract = enqueue
    .command('extract')
    .description('extract sessions')
    .argument('[transcript...]', 'session files')
    .option('--all', 'every session on this disk that has pending turns')
    .option('--live', 'the sessions still run: leave their last turns alone')
    .option('--snapshot', 'keep redacted copies, for agents that delete their sessions before a worker comes');
  withFinding(withJson(withInstructions(withMemory(extract)), `${shape}; with --all ${FOUND_SHAPE}`))
    .addHelpText('after', '\nExample:\n  nocturne enqueue extract --all --since 30d && nocturne worker --once')
    .action(
      (transcripts: string[], options: FindingOptions & { live?: boolean; all?: boolean; snapshot?: boolean }) => {
        if (options.all ? transcripts.length > 0 || options.snapshot : transcripts.length === 0) {
          extract.error('error: give session files or --all, one of both');
        }
        return withApp(options, async (app) => {
          if (options.all) return find(app, options);
          const { live, snapshot, instructions } = options;
          const waiting: Waiting[] = [];
          for (const transcript of transcripts) {
            waiting.push(await enqueueExtract(app, { transcript, ended: !live, instructions, snapshot }));
          }
          await tellQueue(app, waiting, options);
        });
      },
    );
  withJson(withInstructions(withMemory(enqueue.command('dream').description('dream'))), shape)
    .addHelpText('after', '\nExample:\n  nocturne enqueue dream && nocturne worker --once')
    .action((options: CommonOptions) =>
      withApp(options, async (app) => {
        const store = await app.storeFor({ cwd: process.cwd() });
        const { instructions } = options;
        await tellQueue(app, [put(app, { store, kind: 'dream', key: 'dream' }, { instructions })], options);
      }),
    );
  const reprocess = withWhat(enqueue.command('reprocess').description('extract again'));
  withJson(withInstructions(withMemory(reprocess)), shape)
    .addHelpText('after', '\nExample:\n  nocturne enqueue reprocess --day 2026-11-20')
    .action((options: CommonOptions & ReprocessOptions) => {
      const request = requestOf(options, reprocess);
      return withApp(options, async (app) => {
        const store = await app.storeFor({ cwd: process.cwd() });
        const key = request.session ?? request.day ?? 'all';
        const { instructions } = options;
        await tellQueue(app, [put(app, { store, kind: 'reprocess', key }, { ...request, instructions })], options);
      });
    });
}

/** Puts a session into the inbox of the memory directory it belongs to. */
export async function enqueueExtract(
  app: App,
  { snapshot, ...ask }: { transcript: string; ended: boolean; instructions?: string; snapshot?: boolean },
): Promise<Waiting> {
  const transcript = resolve(ask.transcript);
  const session = await openSession(transcript);
  const store = await app.storeFor(session);
  const key = extractKey({ session: session.id, transcript });
  const payload = { ...ask, transcript };
  if (!snapshot) return put(app, { store, kind: 'extract', key }, payload);
  await takeSnapshot(store, { session, key, payload, notBefore: app.config.clock.now().toISOString() });
  return { store, kind: 'extract', key };
}

/** Puts work into an inbox, to be done at once. */
export function put(app: App, waiting: Waiting, payload: object): Waiting {
  const { store, kind, key } = waiting;
  putInInbox(store.ledger, { kind, key, payload, notBefore: app.config.clock.now().toISOString() });
  return waiting;
}

async function tellQueue(app: App, waiting: Waiting[], { json }: Printing): Promise<void> {
  const isNotified = app.config.queueUrl ? await notifyQueue(app, waiting) : false;
  for (const { store, kind, key } of waiting) {
    if (json) print(JSON.stringify({ memory: store.dir, kind, key, isRung: isNotified }));
    else print(`${kind} ${key} waits in ${store.dir}`);
  }
}

/** Whether the queue could be told. */
async function notifyQueue(app: App, waiting: Waiting[]): Promise<boolean> {
  try {
    const { openWakeQueue } = await import('../../../queue/queue.ts');
    const queue = await openWakeQueue(wakeQueueOptions(app.config));
    try {
      for (const { store, kind, key } of waiting) await queue.notify({ kind, store: store.dir, key });
      return true;
    } finally {
      await queue.close({ deadlineMs: 500 });
    }
  } catch (error) {
    if (!isAppError(error)) throw error;
    note(`The queue was not notified: ${describeError(error)} The work waits; a worker finds it by itself.`);
    return false;
  }
}
