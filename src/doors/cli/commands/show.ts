// nocturne show: a file as it is, or as it was in a version, byte for byte.

import type { Command } from 'commander';
import { AppError } from '../../../base/errors.ts';
import { memoryPath, textOf, versionOf } from '../terminal/memory-path.ts';
import { type CommonOptions, withApp, withJson, withMemory } from '../terminal/options.ts';
import { print, printRaw } from '../terminal/output.ts';
import { withReader } from '../terminal/reader.ts';

export function addShow(program: Command): void {
  const command = program
    .command('show')
    .description('a file as it is or as it was')
    .argument('<path>', 'file of the memory directory')
    .option('--version <id>', 'as it was in this version (memver_…)');
  withJson(withMemory(command), '{ path, text }, or with --version the version and its text')
    .addHelpText('after', '\nExample:\n  nocturne show MEMORY.md --version memver_0123456789ab')
    .action((given: string, options: CommonOptions & { version?: string }) =>
      withApp(options, (app) =>
        withReader(app, async (store) => {
          const path = memoryPath(store, given);
          if (options.version) {
            const version = versionOf(store, { path, id: options.version });
            if (options.json) return print(JSON.stringify(version));
            return printRaw(textOf(version));
          }
          const text = await store.read(path);
          if (text === null) {
            throw new AppError('bad-input', `There is no ${path} in ${store.dir}.`, {
              remedy: `Where it was deleted, nocturne history ${path} names its versions.`,
            });
          }
          if (options.json) return print(JSON.stringify({ path, text }));
          printRaw(text);
        }),
      ),
    );
}
