// nocturne uninstall: an agent's settings as they were. With the last agent the night leaves the system's scheduler.
// Memory, and what is in the nocturne home, stays.

import { Argument, type Command } from 'commander';
import { loadConfig } from '../../../base/config/config.ts';
import { statNow } from '../../../base/files/files.ts';
import { keyPath } from '../../../base/key.ts';
import { AGENT_NAMES, type AgentName } from '../../setup/agents/agents.ts';
import { applyChange, isInstalled, planUninstall } from '../../setup/agents/installing.ts';
import { schedulers } from '../../setup/schedules/schedules.ts';
import { canAsk, confirm } from '../terminal/ask.ts';
import { withJson } from '../terminal/options.ts';
import { EXIT, note, print, printRaw } from '../terminal/output.ts';
import { changeDiff } from './install.ts';

interface UninstallOptions {
  yes?: boolean;
  dryRun?: boolean;
  json?: boolean;
}

export function addUninstall(program: Command): void {
  const command = program
    .command('uninstall')
    .description("take nocturne's hooks out of an agent's settings; memory stays")
    .addArgument(new Argument('<agent>', 'the agent').choices(AGENT_NAMES))
    .option('--yes', 'do not ask')
    .option('--dry-run', 'show what would be changed, and change nothing');
  withJson(command, '{ agent, file, isChanged, diff }')
    .addHelpText('after', '\nExample:\n  nocturne uninstall claude-code')
    .action(uninstall);
}

async function uninstall(agent: AgentName, options: UninstallOptions): Promise<void> {
  const config = await loadConfig();
  const change = planUninstall(config, agent);
  const diff = changeDiff(change);
  if (options.json) print(JSON.stringify({ agent, file: change.file, isChanged: diff !== '', diff }));
  else if (diff === '') print(`${change.file}: nothing of nocturne's is in it`);
  else printRaw(diff);
  if (options.dryRun) return;
  const isSure = options.yes || diff === '' || (canAsk() && !options.json && (await confirm('Change this?')));
  if (!isSure) {
    note(canAsk() ? 'Nothing was changed.' : 'Nothing was changed: there is no terminal to ask at. Give --yes.');
    process.exitCode = EXIT.attention;
    return;
  }
  applyChange(config, change);
  if (AGENT_NAMES.some((name) => isInstalled(config, name))) return;
  for (const scheduler of schedulers(config.environment)) {
    if (await scheduler.remove()) note(`The night is out of ${scheduler.name}.`);
  }
  if (statNow(keyPath(config.home)))
    note(`The key stays in ${keyPath(config.home)}; remove it if nothing else needs it.`);
}
