// nocturne extract: sessions into the daily log, inline and now.

import { type Command, Option } from 'commander';
import type { Fork } from '../../../../jobs/extract/show.ts';
import { AppError } from '../../../base/errors.ts';
import { type CommonOptions, withApp, withInstructions, withJson, withMemory, withModel } from '../terminal/options.ts';
import { exitFor, noteOff, printExtract } from '../terminal/output.ts';
import { progress } from '../terminal/progress.ts';

export function addExtract(program: Command): void {
  const command = program
    .command('extract')
    .description('sessions into the daily log, now')
    .argument('<transcript...>', 'session files, in any format that nocturne reads')
    .option('--session <id>', 'the id of the session, where its file holds none')
    .option('--live', 'the session still runs: leave its last turn alone')
    .addOption(
      new Option(
        '--fork <how>',
        'what the model is shown: an excerpt, or, where the file is a whole Messages request, that request continued',
      ).choices(['excerpt', 'prefix']),
    );
  withJson(
    withInstructions(withModel(withMemory(command))),
    'one line per session: { session, transcript, memory, outcome, entries, coverage, unsettledTurns, spend, fork?, error? }',
  )
    .addHelpText('after', '\nExample:\n  nocturne extract ~/.claude/projects/*/*.jsonl --model offline')
    .action((transcripts: string[], options: CommonOptions & { live?: boolean; session?: string; fork?: Fork }) =>
      withApp(options, async (app) => {
        if (options.session && transcripts.length > 1) {
          throw new AppError('bad-input', `--session names one session, but ${transcripts.length} files are given.`);
        }
        noteOff(app.standing({ cwd: process.cwd() }));
        const here = app.memoryDirOf({ cwd: process.cwd() });
        const outcomes: string[] = [];
        for (const [index, transcript] of transcripts.entries()) {
          const { session, live, instructions, fork } = options;
          const bar = progress(`extracting ${index + 1} of ${transcripts.length}: ${transcript}`);
          const report = await app
            .extract({ transcript, session, ended: !live, instructions, fork, reopenUndone: true })
            .finally(() => bar.stop());
          printExtract(report, { ...options, here });
          outcomes.push(report.outcome);
        }
        process.exitCode = exitFor(outcomes);
      }),
    );
}
