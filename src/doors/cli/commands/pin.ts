// nocturne pin, nocturne unpin: whether jobs must leave a topic as it is.

import type { Command } from 'commander';
import { dropKey, setKeys } from '../../../memory/text/frontmatter.ts';
import { parseTopic } from '../../../memory/text/topic.ts';
import { type CommonOptions, topicFile, withApp, withJson, withMemory } from '../terminal/options.ts';
import { print } from '../terminal/output.ts';

export function addPin(program: Command): void {
  add(program, {
    name: 'pin',
    description: 'keep a topic as it is: no dream changes it',
    pinned: true,
  });
}

export function addUnpin(program: Command): void {
  add(program, { name: 'unpin', description: 'let dreams change a topic again', pinned: false });
}

function add(
  program: Command,
  { name, description, pinned }: { name: string; description: string; pinned: boolean },
): void {
  const command = program.command(name).description(description).argument('<topic>', 'name or file of the topic');
  withJson(withMemory(command), '{ path, pinned, changed }')
    .addHelpText('after', `\nExample:\n  nocturne ${name} working-agreements`)
    .action((given: string, options: CommonOptions) =>
      withApp(options, async (app) => {
        const path = topicFile(app.memoryDirOf({ cwd: process.cwd() }), given);
        const store = await app.storeFor({ cwd: process.cwd() });
        let changed = false;
        const change = (current: string | null) => {
          changed = current !== null && parseTopic(path, current).pinned !== pinned;
          if (!changed || current === null) return current;
          return pinned ? setKeys(current, { pinned }) : dropKey(current, 'pinned');
        };
        await store.commit({ actor: 'person' }, () => ({ files: [{ path, change }] }));
        const state = pinned ? 'pinned' : 'not pinned';
        print(
          options.json ? JSON.stringify({ path, pinned, changed }) : `${path} is ${state}${changed ? '' : ' already'}.`,
        );
      }),
    );
}
