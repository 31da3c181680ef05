// nocturne history: who changed which file when, newest first.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { AppError } from '../../../base/errors.ts';
import { toInstant } from '../../../base/time.ts';
import { listVersions, OPERATIONS, type Version, type VersionOperation } from '../../../memory/history/versions.ts';
import { memoryPath } from '../terminal/memory-path.ts';
import { type CommonOptions, countUpTo, withApp, withJson, withMemory } from '../terminal/options.ts';
import { print } from '../terminal/output.ts';
import { withReader } from '../terminal/reader.ts';
import { printTable } from '../terminal/table.ts';

interface HistoryOptions extends CommonOptions {
  limit: number;
  page?: string;
  operation?: VersionOperation;
  actor?: string;
  since?: string;
  until?: string;
}

export function addHistory(program: Command): void {
  const command = program
    .command('history')
    .description('the versions of a file or of all, newest first')
    .argument('[path]', 'file of the memory directory')
    .addOption(new Option('--limit <n>', 'so many versions').default(20).argParser(countUpTo(1_000)))
    .option('--page <cursor>', 'go on behind this version, the nextPage of --json')
    .addOption(new Option('--operation <name>', 'only what was done so').choices(OPERATIONS))
    .option('--actor <actor>', 'job, person, external, or one of them: job:job_0123456789ab')
    .addOption(new Option('--since <instant>', 'not older, ISO-8601').argParser(instantFrom))
    .addOption(new Option('--until <instant>', 'not newer, ISO-8601').argParser(instantFrom));
  withJson(
    withMemory(command),
    '{ versions: [{ id, memory, path, operation, actor, at, sha, sizeBytes, … }], nextPage }',
  )
    .addHelpText('after', '\nExample:\n  nocturne history working-agreements.md --limit 5')
    .action((path: string | undefined, options: HistoryOptions) =>
      withApp(options, (app) =>
        withReader(app, async (store) => {
          const { limit, page, operation, actor, since, until } = options;
          const wanted = path === undefined ? undefined : memoryPath(store, path);
          const found = listVersions(store.ledger, { path: wanted, limit, page, operation, actor, since, until });
          if (wanted !== undefined && listVersions(store.ledger, { path: wanted, limit: 1 }).versions.length === 0) {
            throw new AppError('bad-input', `No version of ${wanted} is known in ${store.dir}.`, {
              remedy: 'nocturne history without a path lists all versions, with their paths.',
            });
          }
          if (options.json) return print(JSON.stringify(found));
          printTable(['at', 'version', 'operation', 'bytes', 'by', 'path'], found.versions.map(rowOf));
          if (found.nextPage) print(`… older ones: --page ${found.nextPage}`);
        }),
      ),
    );
}

function rowOf(version: Version): string[] {
  const { at, id, operation, sizeBytes, actor, path, redactedAt } = version;
  const where = redactedAt ? `(redacted ${redactedAt})` : (path ?? '');
  return [at, id, operation, sizeBytes === null ? '–' : String(sizeBytes), actor, where];
}

/** As the ledger writes instants, so that they can be compared as texts. */
function instantFrom(text: string): string {
  const at = toInstant(text);
  if (at) return at;
  throw new InvalidArgumentError('It is no ISO-8601 instant like 2026-11-21 or 2026-11-21T09:30:00Z.');
}
