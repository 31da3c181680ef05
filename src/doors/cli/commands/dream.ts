// nocturne dream: the logs' new entries into topic files, and the index.

import { type Command, Option } from 'commander';
import { AppError } from '../../../base/errors.ts';
import { type Day, isDay } from '../../../base/time.ts';
import type { JobOptions } from '../../job-bounds.ts';
import { wings } from '../../wing.ts';
import {
  addOptions,
  type CommonOptions,
  keysOf,
  withApp,
  withInstructions,
  withJson,
  withMemory,
  withModel,
} from '../terminal/options.ts';
import { exitFor, noteOff, printDream, printEstimate } from '../terminal/output.ts';
import { progress } from '../terminal/progress.ts';

interface DreamOptions extends CommonOptions {
  acceptMissing?: boolean | string[];
  dryRun?: boolean;
  review?: boolean;
  batch?: boolean;
}

export function addDream(program: Command): void {
  const parts = wings().flatMap(({ dream }) => dream ?? []);
  const command = program
    .command('dream')
    .description('the logs into topic files and the index, now')
    .option('--now', 'at once, past the gates of the nightly dream; nocturne dream does this without it, too');
  addOptions(command, parts);
  command
    .option('--dry-run', 'print what would be sent to the model and about what it would cost; change nothing')
    .option(
      '--review',
      'what would change waits for nocturne review, whatever config.json says; --no-review: it does not',
    )
    .addOption(new Option('--no-review').hideHelp())
    .option('--batch', 'send it as a Message Batch: half the price, an answer within a day, fetched by a worker')
    .option('--no-batch', 'take back what waits in a batch and dream over it at once')
    .option(
      '--accept-missing [day...]',
      'take logs, files and entries that are missing as meant to go; with days, the logs of these days',
    );
  withJson(
    withInstructions(withModel(withMemory(command))),
    `{ outcome, operations: [{ kind, entries, topic, reason }], proposals, topics, indexLines, indexBytes, spend, waits?${keysOf(parts)}, error? }`,
  )
    .addHelpText('after', '\nExample:\n  nocturne dream --memory ./memory --json')
    .action((options: DreamOptions) =>
      withApp(options, async (app) => {
        const session = { cwd: process.cwd() };
        const store = options.dryRun ? await app.storeFor(session) : await app.storeForWork(session);
        noteOff(app.standingOf(store));
        const batch = options.batch === undefined ? undefined : options.batch ? 'send' : 'cancel';
        const { instructions, review } = options;
        const acceptMissing = options.acceptMissing && acceptedDays(options.acceptMissing);
        if (options.dryRun) {
          printEstimate(await app.estimateDream(store, { instructions, batch }), options);
          return;
        }
        const bar = progress(`dreaming over ${store.dir}`);
        const asked: JobOptions = Object.assign({}, ...parts.map((part) => part.asks({ ...options }, session)));
        const dreaming = app.dream(store, { instructions, acceptMissing, review, batch }, asked);
        const report = await dreaming.finally(() => bar.stop());
        const said = (await Promise.all(parts.map((part) => part.say(report)))).flatMap((each) => each ?? []);
        printDream(report, { ...options, more: said.flatMap(({ lines }) => lines) });
        process.exitCode = exitFor([report.outcome, ...said.map(({ outcome }) => outcome)]);
      }),
    );
}

function acceptedDays(given: true | string[]): true | Day[] {
  if (given === true) return true;
  const unfit = given.find((day) => !isDay(day));
  if (unfit === undefined) return given;
  throw new AppError('bad-input', `--accept-missing: ${JSON.stringify(unfit)} is no day.`, {
    remedy: 'Give days like 2026-11-20, or none for all that is missing; nocturne status names them.',
  });
}
