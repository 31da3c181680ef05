// nocturne open: the memory directory, or a file of it, in the person's editor.

import { join } from 'node:path';
import type { Command } from 'commander';
import { AppError } from '../../../base/errors.ts';
import { isDirectory } from '../../../base/files/directories.ts';
import { statNow } from '../../../base/files/files.ts';
import { openEditor } from '../terminal/ask.ts';
import { type CommonOptions, topicFile, withJson, withLooking, withMemory } from '../terminal/options.ts';
import { EXIT, print } from '../terminal/output.ts';

export function addOpen(program: Command): void {
  const command = program
    .command('open')
    .description('the memory, or a file of it, in your editor')
    .argument('[path]', 'name of a topic, or file of the memory directory');
  withJson(withMemory(command), '{ path }; nothing is opened')
    .addHelpText(
      'after',
      '\nVISUAL or EDITOR names the editor. Without one, or piped, the path is printed.\n\nExample:\n  nocturne open working-agreements',
    )
    .action((given: string | undefined, options: CommonOptions) =>
      withLooking(options, ({ config, dir }) => {
        const path = given === undefined ? dir : pathIn(dir, given);
        if (given === undefined && !isDirectory(dir)) {
          throw new AppError('bad-input', `There is no ${dir} yet.`, { remedy: 'nocturne remember begins it.' });
        }
        if (options.json) return print(JSON.stringify({ path }));
        if (!config.editor || !process.stdout.isTTY) return print(path);
        process.exitCode = openEditor(config.editor, path) ? EXIT.fine : EXIT.failed;
      }),
    );
}

function pathIn(dir: string, given: string): string {
  return statNow(join(dir, given))?.isFile ? join(dir, given) : join(dir, topicFile(dir, given));
}
