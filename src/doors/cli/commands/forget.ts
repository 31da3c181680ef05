// nocturne forget: takes something out of the memory for good, after showing what goes.

import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import type { ForgetPlan, ForgetReport } from '../../../../jobs/forget.ts';
import { didYouMean } from '../../../base/config/nearest.ts';
import { AppError } from '../../../base/errors.ts';
import type { EntryState } from '../../../memory/ledger/entries.ts';
import { catalogTopics } from '../../../memory/recall/catalog.ts';
import { type CommonOptions, undoCommand, withApp, withJson, withMemory } from '../terminal/options.ts';
import { EXIT, note, print } from '../terminal/output.ts';

interface ForgetOptions extends CommonOptions {
  yes?: boolean;
  all?: boolean;
}

/** So many candidates of an ambiguous text are listed. */
const MAX_LISTED = 20;

export function addForget(program: Command): void {
  const command = program
    .command('forget')
    .description('take something out; it is not learned again from there')
    .argument('<what...>', 'name of a topic, id of an entry, a line or a session, or words that what is meant holds')
    .option('--all', 'everything that holds the words, or was said in the session')
    .option('--yes', 'do not ask');
  withJson(withMemory(command), '{ outcome, topics, lines, entries, candidates: [{ kind, id, path, text }], job }')
    .addHelpText(
      'after',
      `
Versions of what goes are kept for nocturne undo; nocturne redact takes a text out of these too.
Words that may mean several things change nothing: exit code 2, and the candidates are listed with their ids.

Example:
  nocturne forget "use pnpm"`,
    )
    .action((what: string[], options: ForgetOptions) =>
      withApp(options, async (app) => {
        const store = await app.storeFor({ cwd: process.cwd() });
        const target = what.join(' ');
        const confirm = (plan: ForgetPlan) => (options.yes ? Promise.resolve(true) : ask(plan));
        const report = await app.forget(store, { target, all: options.all, confirm });
        if (report.outcome === 'unknown') {
          const names = catalogTopics(store.dir, store.ledger).map((topic) => topic.name);
          throw new AppError('bad-input', `Nothing in ${store.dir} is called or holds ${JSON.stringify(target)}.`, {
            remedy: didYouMean(target, names, 'nocturne list and nocturne search show what is remembered.'),
          });
        }
        print(options.json ? JSON.stringify(report) : describe(report, target, options));
        process.exitCode = exitOf(report);
      }),
    );
}

/** Shows what goes on stderr and asks, where somebody is there to answer. */
async function ask(plan: ForgetPlan): Promise<boolean> {
  note(['This goes:', ...describePlan(plan)].join('\n'));
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    note('Nobody is there to be asked, so nothing was changed: --yes forgets it.');
    return false;
  }
  const questions = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await questions.question('Forget it? [y/N] ')).trim());
  } finally {
    questions.close();
  }
}

/** What goes, as the plan and the report have it. */
interface Going extends Pick<ForgetReport, 'topics' | 'lines'> {
  entries: (ForgetReport['entries'][number] & { state?: EntryState })[];
  again?: ForgetPlan['again'];
}

function describePlan({ topics, lines, entries, again }: Going): string[] {
  return [
    ...topics.map((path) => `  topic  ${path}`),
    ...lines.map((line) => `  line   ${line.path}: ${line.text}`),
    ...entries.map((entry) => `  entry  ${entry.id} (${entry.day}${sayScope(entry)}): ${entry.text}`),
    ...(again ?? []).map((entry) => `  The next dream reads ${entry.id} anew: ${entry.text}`),
  ];
}

function describe(report: ForgetReport, target: string, options: CommonOptions): string {
  if (report.outcome === 'busy') return 'A dream works on this memory; try again when it is done.';
  if (report.outcome === 'unconfirmed') return 'Nothing was forgotten.';
  if (report.outcome === 'forgotten') {
    const isSent = report.entries.some(({ scope }) => scope === 'user');
    return [
      'Forgotten:',
      ...describePlan(report),
      `${undoCommand(report.job, options)} brings it back.`,
      ...(isSent ? ['In the user scope nocturne undo --scope user --last does.'] : []),
    ].join('\n');
  }
  const { candidates } = report;
  const more = candidates.length - MAX_LISTED;
  return [
    `${JSON.stringify(target)} may mean ${candidates.length} things; nothing was forgotten. Name one by its id, or take --all:`,
    ...candidates
      .slice(0, MAX_LISTED)
      .map((each) => `  ${each.id.padEnd(14)}  ${each.path}${sayScope(each)}: ${each.text}`),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ].join('\n');
}

function sayScope(of: { scope?: 'user'; state?: EntryState }): string {
  return of.scope === 'user' || of.state === 'sent' ? ', user scope' : '';
}

function exitOf({ outcome }: ForgetReport): number {
  if (outcome === 'forgotten') return EXIT.fine;
  return outcome === 'busy' ? EXIT.later : EXIT.usage;
}
