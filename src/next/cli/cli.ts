// The command line of the next house: which commands there are. What each is says its spec, by subject; a file of them is loaded
// only when one of its names is asked for, and all for the help and a word that is no command.

import { type CalledAt, type CommandModule, exitOf, programOf } from '../../doors/cli/spec.ts';

/** In the order of the help, group by group. */
const MODULES: CommandModule[] = [
  { names: ['learn', 'extract', 'dream', 'reprocess'], load: () => import('./learn-command.ts') },
];

/** Runs the command line and sets the exit code. */
export async function main(
  argv: string[],
  { parts = {}, version }: Partial<CalledAt> & { version: string },
): Promise<void> {
  try {
    await (await programOf(MODULES, argv, { parts, version })).parseAsync(argv);
  } catch (error) {
    process.exitCode = exitOf(error);
  }
}
