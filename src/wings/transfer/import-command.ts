// nocturne import: the Markdown of an archive, and what its logs and reports say was done, into a memory.

import { resolve } from 'node:path';
import type { Command } from 'commander';
import { scanChunks } from '../../base/files/file-pieces.ts';
import { sayCount } from '../../base/text/wording.ts';
import { type CommonOptions, undoCommand, withApp, withJson, withMemory } from '../../doors/cli/terminal/options.ts';
import { exitFor, print } from '../../doors/cli/terminal/output.ts';
import type { ImportReport } from './import.ts';

export function addImport(program: Command): void {
  const command = program
    .command('import')
    .description('what nocturne export made, into this memory; what is there stays')
    .argument('<file>', 'a .tar.gz; - is stdin')
    .option('--theirs', 'where a file differs, take that of the archive; history keeps the other');
  withJson(withMemory(command), '{ outcome, added, replaced, joined, differing, same, entries, job }')
    .addHelpText(
      'after',
      '\nNothing that was extracted or distilled there is done again here.\n\nExample:\n  nocturne import memory.tar.gz',
    )
    .action((file: string, options: CommonOptions & { theirs?: boolean }) =>
      withApp(options, async (app) => {
        const { importMemory } = await import('./import.ts');
        const report = await importMemory(
          { pieces: file === '-' ? process.stdin : copies(resolve(file)), takesTheirs: options.theirs ?? false },
          {
            openStore: () => app.storeFor({ cwd: process.cwd() }),
            clock: app.config.clock,
            withLease: app.withLease,
          },
        );
        print(options.json ? JSON.stringify(report) : describe(report, options));
        process.exitCode = exitFor([report.outcome]);
      }),
    );
}

/** Chunks that hold longer than until the next is asked for. */
async function* copies(path: string): AsyncGenerator<Buffer> {
  for await (const chunk of scanChunks(path)) yield Buffer.from(chunk);
}

function describe(
  { outcome, added, replaced, joined, differing, same, entries, job }: ImportReport,
  options: CommonOptions,
): string {
  if (outcome === 'busy') return 'busy; a dream works on this memory. Try again when it is done.';
  const stay = differing.map((path) => `  differs, yours stays: ${path}`);
  if (differing.length > 0) stay.push('--theirs takes the files of the archive; nocturne history keeps yours.');
  if (outcome === 'unchanged')
    return [`Nothing was to be imported; ${same === 1 ? '1 file is' : `${same} files are`} the same.`, ...stay].join(
      '\n',
    );
  return [
    `${sayCount(added.length, 'file')} added, ${replaced.length} replaced, ${same} the same; ${sayCount(entries, 'entry')} known.`,
    ...joined.map((path) => `  has the entries of both now: ${path}`),
    ...stay,
    `${undoCommand(job, options)} takes it back.`,
  ].join('\n');
}
