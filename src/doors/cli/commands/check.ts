// nocturne check: what is wrong with a memory directory, and --repair for what can be mended without a guess.

import { type Command, Option } from 'commander';
import type { CheckReport } from '../../../../jobs/check-memory.ts';
import { type Config, loadConfig } from '../../../base/config/config.ts';
import { describeError } from '../../../base/errors.ts';
import { type Checked, fail } from '../../doctor/checked.ts';
import { checkNode } from '../../doctor/checks.ts';
import { examine } from '../../doctor/examine.ts';
import { type CommonOptions, withApp, withJson, withMemory } from '../terminal/options.ts';
import { EXIT, print } from '../terminal/output.ts';

export function addCheck(program: Command): void {
  const command = program
    .command('check')
    .description('verify the memory, and mend what needs no guess')
    .option('--repair', 'mend what can be mended without a guess; no file is deleted');
  withJson(withMemory(command), '{ memory, findings: [{ kind, what, where, mend, isMended }] }')
    .addHelpText(
      'after',
      '\nExample:\n  nocturne check --memory ./memory --repair\n\nExit code: 0 fine or mended, 1 findings remain.',
    )
    .action((options: CommonOptions & { repair?: boolean }) =>
      withApp(options, async (app) => {
        const report = await app.check({ cwd: process.cwd() }, { repair: options.repair ?? false });
        print(options.json ? JSON.stringify(report) : describe(report));
        process.exitCode = report.findings.every((finding) => finding.isMended) ? EXIT.fine : EXIT.failed;
      }),
    );
}

function describe({ memory, findings }: CheckReport): string {
  if (findings.length === 0) return `${memory}: fine`;
  const open = findings.filter((finding) => !finding.isMended).length;
  const lines = findings.map(({ where, what, mend, isMended }) => {
    const next = isMended ? `mended: ${mend}` : mend ? `--repair: ${mend}` : 'by hand';
    return `${where}: ${what}\n  ${next}`;
  });
  const remain = open === 1 ? '1 finding remains' : `${open} findings remain`;
  return [`${memory}: ${remain}, ${findings.length - open} mended`, ...lines].join('\n');
}

interface DoctorOptions {
  online?: boolean;
  json?: boolean;
}

export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('look whether hooks, key, queue, worker, schedule and memory directories work, and say what to do')
    .option('--no-online', 'do not ask the model, which is one request of a few tokens')
    .addOption(new Option('--online', 'ask the model').hideHelp());
  withJson(command, '{ isFine, checks: [{ what, state, found, remedy? }] }')
    .addHelpText('after', '\nExample:\n  nocturne doctor\n\nExit code: 0 fine, 3 something needs a person.')
    .action(async (options: DoctorOptions) => {
      const checked = await examineAll(options);
      const isFine = checked.every(({ state }) => state !== 'fail');
      print(options.json ? JSON.stringify({ isFine, checks: checked }) : checked.map(describeChecked).join('\n'));
      process.exitCode = isFine ? EXIT.fine : EXIT.attention;
    });
}

async function examineAll({ online }: DoctorOptions): Promise<Checked[]> {
  let config: Config;
  try {
    config = await loadConfig();
  } catch (error) {
    // Nothing else can be judged without them.
    return [...checkNode(), fail('settings', describeError(error), 'Mend config.json, then look again.')];
  }
  return examine(config, { cwd: process.cwd(), isOnline: online ?? true });
}

function describeChecked({ what, state, found, remedy }: Checked): string {
  return `${state.padEnd(4)}  ${what}: ${found}${remedy ? `\n      ${remedy}` : ''}`;
}
