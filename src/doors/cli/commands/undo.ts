// undo: takes one action back, files and ledger together. Without a name it is the last that a person began.

import type { UndoReport } from '../../../../jobs/undo.ts';
import { AppError } from '../../../base/errors.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { jobRow } from '../../../memory/ledger/job-rows.ts';
import { shortId } from '../../../memory/ledger/short-ids.ts';
import type { App } from '../../compose.ts';
import { wings } from '../../wing.ts';
import type { CommandSpec } from '../spec.ts';
import {
  type Action,
  actionCalled,
  describeAction,
  describePushed,
  lastAction,
  sayPushed,
} from '../terminal/actions.ts';
import { canAsk, confirm } from '../terminal/ask.ts';
import { type CommonOptions, MEMORY, undoCommand, withApp } from '../terminal/options.ts';
import { EXIT, exitFor, note, print } from '../terminal/output.ts';

interface UndoOptions extends CommonOptions {
  last?: boolean;
  any?: boolean;
  partial?: boolean;
}

const undo: CommandSpec<UndoOptions, [string | undefined]> = {
  name: 'undo',
  about: 'take back what you or a job did',
  group: 'Every day',
  args: [['[action]', 'which (job_…, or what it begins with); default: your last one, after asking']],
  options: [
    ['--last', 'your last one, without asking'],
    ['--any', 'the last one, whoever began it: a night, a hook, an agent'],
    ['--partial', 'take back what nothing rests on, and leave the rest'],
    ...MEMORY,
  ],
  json: '{ outcome, job, kind, undo, files, turns, stays, pushed: [{ path, to }] }',
  more: `Yours is what you did by a command here: remember, forget, pin, restore, edit, review, import, share, extract, dream. An
undo can be undone too. What an undone extraction covered is extracted again by nocturne extract or reprocess only.`,
  examples: ['undo', 'undo --last'],
  run: (call) =>
    withApp(call, async (app) => {
      const { options } = call;
      const [id] = call.args;
      if (id !== undefined && (options.last || options.any)) {
        throw new AppError('bad-input', 'Say what to undo: one action, or the last one, not both.');
      }
      if (id !== undefined && (await undoneByWing(id, call.options, app))) return;
      const action = id === undefined ? await lastAction(app, options) : await actionCalled(app, id, options);
      if (!action) throw unknown(id, options);
      if (id === undefined && !options.last && !(await isMeant(app, action, options))) return;
      const report = await app.undo(action.store, { job: action.job, partial: options.partial });
      print(options.json ? JSON.stringify(report) : describe(report, action, options));
      process.exitCode = exitFor([report.outcome]);
    }),
};

/** False where no wing did anything of this id. */
async function undoneByWing(id: string, { json }: UndoOptions, app: App): Promise<boolean> {
  for (const wing of wings()) {
    const said = await wing.undoes?.(id, app);
    if (!said) continue;
    print(json ? JSON.stringify({ outcome: said.outcome, job: null, undo: id }) : said.lines.join('\n'));
    return true;
  }
  return false;
}

function unknown(id: string | undefined, { any }: UndoOptions): AppError {
  const what =
    id !== undefined
      ? `There is no job ${id} here.`
      : any
        ? 'There is no job left to undo here.'
        : 'There is nothing here that you did and that is not taken back already.';
  const more = id === undefined && !any ? 'nocturne undo --any shows what was done last, whoever began it; ' : '';
  return new AppError('bad-input', what, { remedy: `${more}nocturne status and nocturne history name the jobs.` });
}

/** Shows what would be taken back, and asks where somebody is there to answer. */
async function isMeant(app: App, action: Action, { json, any }: UndoOptions): Promise<boolean> {
  const [what, ...more] = describeAction(action, app);
  if (json) {
    const { job, store } = action;
    const nothing = { undo: null, files: [], turns: 0, stays: [], pushed: [] };
    print(JSON.stringify({ outcome: 'unconfirmed', job, kind: jobRow(store.ledger, job)?.kind, ...nothing }));
  }
  note([any ? `Last: ${what}` : `You ${what}`, ...more, ...(await sayPushed(action, app))].join('\n'));
  if (!json && canAsk() && (await confirm('Take it back?'))) return true;
  if (json || !canAsk()) note(`Nothing was changed: nocturne undo --last${any ? ' --any' : ''} takes it back.`);
  else note('Nothing was changed.');
  process.exitCode = EXIT.usage;
  return false;
}

function describe(report: UndoReport, { store: { ledger }, scope }: Action, options: CommonOptions): string {
  const name = `${report.kind} ${shortId(ledger, 'job', report.job)}`;
  const stays = report.stays.map(
    ({ kind, name: what, by }) =>
      `  ${kind} ${what} (changed by ${by.map((each) => each.replace(/\bjob_\w+/, (job) => shortId(ledger, 'job', job))).join(', ')})`,
  );
  if (report.outcome === 'busy') return `${name}: busy; another process works on it. Try again when it is done.`;
  if (report.outcome === 'refused') {
    return [
      `${name}: refused, nothing was changed. Later work rests on it:`,
      ...stays,
      'Undo that first, or use --partial, which leaves it as it is.',
    ].join('\n');
  }
  const turns = report.turns > 0 ? `, ${sayCount(report.turns, 'turn')} undone` : '';
  const undo = undoCommand(report.undo, { scope, ...options, ledger });
  const lines = [`${name}: ${report.outcome}${turns}; ${undo} redoes it`];
  for (const path of report.files) lines.push(`  ${path}`);
  if (stays.length > 0) lines.push('What stays:', ...stays);
  return [...lines, ...describePushed(report.pushed)].join('\n');
}

export const commands: CommandSpec[] = [undo];
