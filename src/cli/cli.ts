// The command line: which commands there are and how they end. What each is says its spec, by subject; a file of them is loaded
// only when one of its names is asked for, and all for the help and a word that is no command.

import { enableCompileCache } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { AppError } from '../base/errors.ts';
import { homeDir } from '../base/files/directories.ts';
import { packagePath, readTextNow, statNow } from '../base/files/files.ts';
import type { Parts } from '../worker/job-bounds.ts';
import type { CommandModule } from './spec.ts';

const MODULES: CommandModule[] = [
  { names: ['', 'cost'], load: () => import('./status-command.ts') },
  { names: ['setup'], load: () => import('./setup-command.ts') },
  { names: ['doctor', 'check', 'redact'], load: () => import('./check-command.ts') },
  { names: ['list', 'search'], load: () => import('./list-command.ts') },
  { names: ['show'], load: () => import('./history-command.ts') },
  { names: ['learn', 'dream'], load: () => import('./learn-command.ts') },
  { names: ['remember', 'forget'], load: () => import('./remember-command.ts') },
  { names: ['why'], load: () => import('./why-command.ts') },
  { names: ['next'], load: () => import('./next-command.ts') },
  { names: ['undo', 'review'], load: () => import('./undo-command.ts') },
  { names: ['config', 'pause'], load: () => import('./config-command.ts') },
  { names: ['export', 'import', 'share', 'snapshot', 'adopt'], load: () => import('./share-command.ts') },
  { names: ['stores', 'keys'], load: () => import('./keys-command.ts') },
  { names: ['serve', 'open', 'mcp'], load: () => import('./serve-command.ts') },
  { names: ['worker', 'retry'], load: () => import('./worker-command.ts') },
];

/** What is called otherwise now. */
const FORMER: Record<string, string> = {
  enqueue: 'nocturne learn --later, or nocturne dream --later',
  extract: 'nocturne learn',
  move: 'nocturne stores move',
  pin: 'nocturne show TOPIC --pin',
  recall: 'nocturne next',
  report: 'nocturne why',
  reprocess: 'nocturne learn --again',
  restore: 'nocturne undo --file PATH --version ID',
  sessions: 'nocturne list --sessions',
  status: 'nocturne, without a command',
  unpin: 'nocturne show TOPIC --unpin',
};

/** Runs the command line and sets the exit code, as the table in output.ts says. `parts`: what apps are made with in the place of the usual. */
export async function main(argv: string[], parts: Parts = {}): Promise<void> {
  const [asked, ...rest] = argv.slice(2);
  // Hooks are installed by this name.
  if (asked === 'recall' && rest.includes('--hook')) return main([...argv.slice(0, 2), 'next', ...rest], parts);
  // Programs ask this before they ask anything else: it loads nothing.
  if ((asked === '--version' || asked === '-V') && rest.length === 0)
    return (await import('../terminal/output.ts')).print(version());
  try {
    keepCompiled();
    const now = Object.hasOwn(FORMER, asked ?? '') && FORMER[asked ?? ''];
    if (now) throw new AppError('bad-input', `nocturne has no command ${asked}.`, { remedy: `Use ${now}.` });
    await (await programFor(argv, parts)).parseAsync(argv);
  } catch (error) {
    process.exitCode = (await import('./spec.ts')).exitOf(error);
  }
}

/** A fourth of a start goes into compiling: what was compiled is kept in the home, where one is there, as it is for the hook's worker. */
function keepCompiled(): void {
  const home = homeDir(process.env.NOCTURNE_HOME, homedir());
  if (statNow(home)) enableCompileCache(join(home, 'compiled'));
}

/** The program with the command that `argv` names, or with all of them. */
export async function programFor(argv: string[], parts: Parts = {}): Promise<Command> {
  return (await import('./spec.ts')).programOf(MODULES, argv, { parts, version: version() });
}

function version(): string {
  const found: unknown = JSON.parse(readTextNow(packagePath('package.json')) ?? '{}');
  return String((found as { version?: unknown }).version ?? 'unknown');
}
