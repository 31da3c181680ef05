// nocturne restore: a file as it was in a version. What it was until now stays as a version.

import type { Command } from 'commander';
import { restoreVersion } from '../../../memory/history/versions.ts';
import { memoryPath, versionOf } from '../terminal/memory-path.ts';
import { type CommonOptions, withApp, withJson, withMemory } from '../terminal/options.ts';
import { print } from '../terminal/output.ts';

export function addRestore(program: Command): void {
  const command = program
    .command('restore')
    .description('make a file what it was in a version')
    .argument('<path>', 'file of the memory directory')
    .requiredOption('--version <id>', 'the version (memver_…)');
  withJson(withMemory(command), 'the version that the file is at now, as history prints it')
    .addHelpText('after', '\nExample:\n  nocturne restore working-agreements.md --version memver_0123456789ab')
    .action((given: string, options: CommonOptions & { version: string }) =>
      withApp(options, async (app) => {
        const store = await app.storeFor({ cwd: process.cwd() });
        const { id } = versionOf(store, { path: memoryPath(store, given), id: options.version });
        const head = await restoreVersion(store, id);
        print(options.json ? JSON.stringify(head) : `${head.path} is what it was in ${id}; version ${head.id}.`);
      }),
    );
}
