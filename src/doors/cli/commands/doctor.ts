// nocturne doctor: whether everything that nocturne rests on works, a line for each, and what to do where it does not.

import type { Command } from 'commander';
import { type Config, loadConfig } from '../../../base/config/config.ts';
import { describeError } from '../../../base/errors.ts';
import { type Checked, fail } from '../../doctor/checked.ts';
import { checkNode } from '../../doctor/checks.ts';
import { examine } from '../../doctor/examine.ts';
import { withJson } from '../terminal/options.ts';
import { EXIT, print } from '../terminal/output.ts';

interface DoctorOptions {
  online?: boolean;
  json?: boolean;
}

export function addDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('look whether hooks, key, queue, worker, schedule and memory directories work, and say what to do')
    .option('--online', 'ask the model, too: one request of a few tokens');
  withJson(command, '{ isFine, checks: [{ what, state, found, remedy? }] }')
    .addHelpText('after', '\nExample:\n  nocturne doctor --online\n\nExit code: 0 fine, 3 something needs a person.')
    .action(async (options: DoctorOptions) => {
      const checked = await examineAll(options);
      const isFine = checked.every(({ state }) => state !== 'fail');
      print(options.json ? JSON.stringify({ isFine, checks: checked }) : checked.map(describe).join('\n'));
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
  return examine(config, { cwd: process.cwd(), isOnline: online ?? false });
}

function describe({ what, state, found, remedy }: Checked): string {
  return `${state.padEnd(4)}  ${what}: ${found}${remedy ? `\n      ${remedy}` : ''}`;
}
