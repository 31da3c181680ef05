// nocturne reprocess: extract again what was extracted before.

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ExtractReport } from '../../../../jobs/extract.ts';
import type { ReprocessRequest } from '../../../../jobs/reprocess.ts';
import { type Day, isDay } from '../../../base/time.ts';
import { type CommonOptions, withApp, withInstructions, withJson, withMemory, withModel } from '../terminal/options.ts';
import { exitFor, printExtract } from '../terminal/output.ts';
import { progress } from '../terminal/progress.ts';

export interface ReprocessOptions {
  session?: string;
  day?: string;
  all?: boolean;
  live?: boolean;
  instructions?: string;
}

export function addReprocess(program: Command): void {
  const command = withWhat(program.command('reprocess').description('extract a session, a day or everything again'));
  withJson(withInstructions(withModel(withMemory(command))), 'one line per session, as extract prints it')
    .addHelpText('after', '\nExample:\n  nocturne reprocess --day 2026-11-20')
    .action((options: CommonOptions & ReprocessOptions) => {
      const request = requestOf(options, command);
      return withApp(options, async (app) => {
        const store = await app.storeFor({ cwd: process.cwd() });
        const bar = progress('reprocessing');
        let done = 0;
        const onReport = (report: ExtractReport) => {
          done += 1;
          bar.print(() => printExtract(report, options));
          bar.say(`reprocessing: ${done} ${done === 1 ? 'session' : 'sessions'} done`);
        };
        const { instructions } = options;
        const reports = await app
          .reprocess(store, { ...request, instructions }, { onReport })
          .finally(() => bar.stop());
        process.exitCode = exitFor(reports.map((report) => report.outcome));
      });
    });
}

export function withWhat(command: Command): Command {
  return command
    .addOption(new Option('--session <id>', 'one session').conflicts(['day', 'all']))
    .addOption(new Option('--day <day>', 'the turns of one day, YYYY-MM-DD').argParser(dayFrom).conflicts('all'))
    .option('--all', 'everything')
    .option('--live', 'the sessions still run: leave their last turns alone');
}

/** Ends in wrong usage where nothing of session, day and all was asked for. */
export function requestOf(options: ReprocessOptions, command: Command): ReprocessRequest {
  const { session, day, all, live } = options;
  if (session === undefined && day === undefined && !all) {
    command.error('error: say what to reprocess: one of --session ID, --day YYYY-MM-DD and --all');
  }
  return { session, day, all, ended: !live };
}

function dayFrom(value: string): Day {
  if (isDay(value)) return value;
  throw new InvalidArgumentError('It is no day of the form YYYY-MM-DD.');
}
