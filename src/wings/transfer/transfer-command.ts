// export: all Markdown of a memory directory as a plain archive; import: what such an archive holds, and what its logs and
// reports say was done, into a memory.

import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '../../base/errors.ts';
import { scanCopies, writePieces } from '../../base/files/file-pieces.ts';
import { statNow } from '../../base/files/files.ts';
import { sayCount } from '../../base/text/wording.ts';
import type { CommandSpec } from '../../doors/cli/spec.ts';
import { type CommonOptions, inApp, MEMORY, printDone } from '../../doors/cli/terminal/options.ts';
import { note, print } from '../../doors/cli/terminal/output.ts';
import type { ImportReport } from './transfer.ts';

const exportCommand: CommandSpec<CommonOptions, [string]> = {
  name: 'export',
  about: 'topics, index, logs, archive and dream reports as a .tar.gz',
  group: 'Under the hood',
  args: [['<file>', 'a file that is not there yet; - is stdout']],
  options: MEMORY,
  json: '{ file, files, leftOut }',
  more: 'The same memory gives the same bytes.',
  examples: ['export memory.tar.gz', 'export - | tar tz'],
  run: inApp(async (app, { options, args: [file] }) => {
    const here = { cwd: process.cwd() };
    if (!(await app.hasMemory(here))) {
      throw new AppError('bad-input', `There is no memory directory at ${app.memoryDirOf(here)}.`);
    }
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
    const { exportMemory } = await import('./transfer.ts');
    const { pieces, files, leftOut } = await exportMemory(await app.storeFor({ cwd: process.cwd() }));
    if (file === '-') await pipeline(pieces, process.stdout, { end: false });
    else await writePieces(resolve(file), pieces);
    if (options.json) print({ file, files, leftOut });
    else note(`${sayCount(files.length, 'file')} exported${file === '-' ? '' : ` to ${file}`}.`);
    if (leftOut.length > 0) note(`Left out, as they are no Markdown or no UTF-8: ${leftOut.join(', ')}.`);
  }),
};

const importCommand: CommandSpec<CommonOptions & { theirs?: boolean }, [string]> = {
  name: 'import',
  about: 'what nocturne export made, into this memory; what is there stays',
  group: 'Under the hood',
  args: [['<file>', 'a .tar.gz; - is stdin']],
  options: [['--theirs', 'where a file differs, take that of the archive; history keeps the other'], ...MEMORY],
  json: '{ outcome, added, replaced, joined, differing, same, entries, job }',
  more: 'Nothing that was extracted or distilled there is done again here.',
  examples: ['import memory.tar.gz'],
  run: inApp(async (app, call) => {
    const { importMemory } = await import('./transfer.ts');
    const [file] = call.args;
    const openStore = () => app.storeFor({ cwd: process.cwd() });
    const report = await importMemory(
      { pieces: file === '-' ? process.stdin : scanCopies(resolve(file)), takesTheirs: call.options.theirs ?? false },
      { openStore, clock: app.config.clock, withLease: app.withLease },
    );
    await printDone(app, call, { report, lines: describe(report) });
  }),
};

function describe({ outcome, added, replaced, joined, differing, same, entries }: ImportReport): string[] {
  if (outcome === 'busy') return ['busy; a dream works on this memory. Try again when it is done.'];
  const stay = differing.map((path) => `  differs, yours stays: ${path}`);
  if (differing.length > 0) stay.push('--theirs takes the files of the archive; nocturne history keeps yours.');
  if (outcome === 'unchanged')
    return [`Nothing was to be imported; ${same === 1 ? '1 file is' : `${same} files are`} the same.`, ...stay];
  return [
    `${sayCount(added.length, 'file')} added, ${replaced.length} replaced, ${same} the same; ${sayCount(entries, 'entry')} known.`,
    ...joined.map((path) => `  has the entries of both now: ${path}`),
    ...stay,
  ];
}

export const commands: CommandSpec[] = [exportCommand, importCommand];
