// nocturne export: all Markdown of a memory directory as a plain archive.

import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { AppError } from '../../base/errors.ts';
import { isDirectory } from '../../base/files/directories.ts';
import { writePieces } from '../../base/files/file-pieces.ts';
import { statNow } from '../../base/files/files.ts';
import { sayCount } from '../../base/text/wording.ts';
import { type CommonOptions, withApp, withJson, withMemory } from '../../doors/cli/terminal/options.ts';
import { note, print } from '../../doors/cli/terminal/output.ts';

export function addExport(program: Command): void {
  const command = program
    .command('export')
    .description('topics, index, logs, archive and dream reports as a .tar.gz')
    .argument('<file>', 'a file that is not there yet; - is stdout');
  withJson(withMemory(command), '{ file, files, leftOut }')
    .addHelpText(
      'after',
      '\nThe same memory gives the same bytes.\n\nExample:\n  nocturne export memory.tar.gz\n  nocturne export - | tar tz',
    )
    .action((file: string, options: CommonOptions) =>
      withApp(options, async (app) => {
        const dir = app.memoryDirOf({ cwd: process.cwd() });
        if (!isDirectory(dir)) throw new AppError('bad-input', `There is no memory directory at ${dir}.`);
        if (file === '-' && options.json) {
          throw new AppError('bad-input', 'Stdout cannot carry both the archive and JSON.', {
            remedy: 'Name a file, or leave --json out.',
          });
        }
        if (file !== '-' && statNow(resolve(file)) !== null) {
          throw new AppError('bad-input', `${file} is there already; nothing was written.`, {
            remedy: 'Remove it, or name another file.',
          });
        }
        const { exportMemory } = await import('./export.ts');
        const { pieces, files, leftOut } = await exportMemory(await app.storeFor({ cwd: process.cwd() }));
        if (file === '-') await pipeline(pieces, process.stdout, { end: false });
        else await writePieces(resolve(file), pieces);
        if (options.json) print(JSON.stringify({ file, files, leftOut }));
        else note(`${sayCount(files.length, 'file')} exported${file === '-' ? '' : ` to ${file}`}.`);
        if (leftOut.length > 0) note(`Left out, as they are no Markdown or no UTF-8: ${leftOut.join(', ')}.`);
      }),
    );
}
