// completion: the script that lets a shell complete commands, options, topics and days; and the hidden
// `complete`, which that script asks. It has to be added last: it completes the commands that are there.

import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { onAppError } from '../../../base/errors.ts';
import { logDay } from '../../../memory/text/daily-log.ts';
import { isTopicPath } from '../../../memory/text/topic.ts';
import type { CommandSpec } from '../spec.ts';
import { withLooking } from '../terminal/options.ts';

interface Names {
  topics: string[];
  /** The latest first. */
  days: string[];
}

const completion: CommandSpec = {
  name: 'completion',
  about: 'a script that lets your shell complete all this',
  group: 'Under the hood',
  examples: [
    'completion bash > ~/.local/share/bash-completion/completions/nocturne    # needs bash-completion',
    'completion zsh > ~/.zfunc/_nocturne        # a directory of fpath',
    'completion fish > ~/.config/fish/completions/nocturne.fish',
    'completion powershell >> $PROFILE',
  ],
  add: addCompletion,
};

function addCompletion(program: Command): void {
  const root = tab(program, { completionCommandName: 'completion' });
  let known: Names = { topics: [], days: [] };
  program.commands
    .find((command) => command.name() === 'complete')
    ?.hook('preAction', async () => {
      known = await readNames();
    });
  for (const [command, argument, names] of [
    ['forget', 'what', 'topics'],
    ['pin', 'topic', 'topics'],
    ['unpin', 'topic', 'topics'],
    ['open', 'path', 'topics'],
    ['show', 'file', 'topics'],
    ['why', 'what', 'topics'],
    ['history', 'path', 'topics'],
    ['share', 'topic', 'topics'],
    ['log', 'day', 'days'],
    ['report', 'day', 'days'],
  ] as const) {
    const completed = root.commands.get(command)?.arguments.get(argument);
    if (!completed) continue;
    completed.handler = (complete) => {
      for (const name of known[names]) complete(name, '');
    };
  }
}

/** None where the settings cannot be read. */
async function readNames(): Promise<Names> {
  const { markdownFiles } = await import('../../../memory/recall/catalog.ts');
  return withLooking({ options: {} }, ({ dir }): Names => {
    const paths = markdownFiles(dir);
    const topics = paths.filter(isTopicPath).map((path) => path.replace(/\.md$/i, ''));
    return { topics, days: paths.flatMap((path) => logDay(path) ?? []).reverse() };
  }).catch(onAppError(() => ({ topics: [], days: [] })));
}

export const commands: CommandSpec[] = [completion];
