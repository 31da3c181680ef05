// nocturne undo: takes one job back, files and ledger together.

import type { Command } from 'commander';
import type { UndoReport } from '../../../../jobs/undo.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { type CommonOptions, undoCommand, withApp, withJson, withMemory } from '../terminal/options.ts';
import { exitFor, print } from '../terminal/output.ts';

export function addUndo(program: Command): void {
  const command = program
    .command('undo')
    .description('take back what a job did')
    .argument('[job]', 'the job (job_…); an undo can be undone too')
    .option('--last', 'the job that changed the memory last')
    .option('--partial', 'take back what nothing rests on, and leave the rest');
  withJson(withMemory(command), '{ outcome, job, kind, undo, files, turns, stays }')
    .addHelpText(
      'after',
      '\nWhat an undone extraction covered is extracted again by nocturne extract or reprocess only.\n\nExample:\n  nocturne undo --last',
    )
    .action((job: string | undefined, options: CommonOptions & { last?: boolean; partial?: boolean }) =>
      withApp(options, async (app) => {
        const store = await app.storeFor({ cwd: process.cwd() });
        const { last, partial } = options;
        const report = await app.undo(store, { job, last, partial });
        print(options.json ? JSON.stringify(report) : describe(report, options));
        process.exitCode = exitFor([report.outcome]);
      }),
    );
}

function describe(report: UndoReport, options: CommonOptions): string {
  const name = `${report.kind} ${report.job}`;
  const stays = report.stays.map(({ kind, name: what, by }) => `  ${kind} ${what} (changed by ${by.join(', ')})`);
  if (report.outcome === 'busy') return `${name}: busy; another process works on it. Try again when it is done.`;
  if (report.outcome === 'refused') {
    return [
      `${name}: refused, nothing was changed. Later work rests on it:`,
      ...stays,
      'Undo that first, or use --partial, which leaves it as it is.',
    ].join('\n');
  }
  const turns = report.turns > 0 ? `, ${sayCount(report.turns, 'turn')} undone` : '';
  const lines = [`${name}: ${report.outcome}${turns}; ${undoCommand(report.undo, options)} redoes it`];
  for (const path of report.files) lines.push(`  ${path}`);
  if (stays.length > 0) lines.push('What stays:', ...stays);
  return lines.join('\n');
}
