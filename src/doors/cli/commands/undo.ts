// undo: takes one job back, files and ledger together.

import type { UndoReport } from '../../../../jobs/undo.ts';
import { sayCount } from '../../../base/text/wording.ts';
import type { CommandSpec } from '../spec.ts';
import { type CommonOptions, MEMORY, undoCommand, withApp } from '../terminal/options.ts';
import { exitFor, print } from '../terminal/output.ts';

const undo: CommandSpec<CommonOptions & { last?: boolean; partial?: boolean }, [string | undefined]> = {
  name: 'undo',
  about: 'take back what a job did',
  group: 'Every day',
  args: [['[job]', 'the job (job_…); an undo can be undone too']],
  options: [
    ['--last', 'the job that changed the memory last'],
    ['--partial', 'take back what nothing rests on, and leave the rest'],
    ...MEMORY,
  ],
  json: '{ outcome, job, kind, undo, files, turns, stays }',
  more: 'What an undone extraction covered is extracted again by nocturne extract or reprocess only.',
  examples: ['undo --last'],
  run: (call) =>
    withApp(call, async (app) => {
      const store = await app.storeFor({ cwd: process.cwd() });
      const { last, partial, json } = call.options;
      const report = await app.undo(store, { job: call.args[0], last, partial });
      print(json ? JSON.stringify(report) : describe(report, call.options));
      process.exitCode = exitFor([report.outcome]);
    }),
};

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

export const commands: CommandSpec[] = [undo];
