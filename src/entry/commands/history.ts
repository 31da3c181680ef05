// nocturne history: who changed which file when, newest first.

import type { Command } from 'commander';
import { AppError } from '../../errors.ts';
import { listVersions, OPERATIONS, type Version, type VersionOperation } from '../../memory/store/versions.ts';
import { toInstant } from '../../time.ts';
import { memoryPath } from '../terminal/memory-path.ts';
import { type CommonOptions, withApp, withJson, withMemory } from '../terminal/options.ts';
import { print } from '../terminal/output.ts';
import { printTable } from '../terminal/table.ts';

interface HistoryOptions extends CommonOptions {
  limit: string;
  page?: string;
  operation?: string;
  actor?: string;
  since?: string;
  until?: string;
}

export function addHistory(program: Command): void {
  const command = program
    .command('history')
    .description('the versions of a file or of all, newest first')
    .argument('[path]', 'file of the memory directory')
    .option('--limit <n>', 'so many versions', '20')
    .option('--page <cursor>', 'go on behind this version, the nextPage of --json')
    .option('--operation <name>', OPERATIONS.join(', '))
    .option('--actor <actor>', 'job, person, external, or one of them: job:job_0123456789ab')
    .option('--since <instant>', 'not older, ISO-8601')
    .option('--until <instant>', 'not newer, ISO-8601');
  withJson(
    withMemory(command),
    '{ versions: [{ id, memory, path, operation, actor, at, sha, sizeBytes, … }], nextPage }',
  )
    .addHelpText('after', '\nExample:\n  nocturne history working-agreements.md --limit 5')
    .action((path: string | undefined, options: HistoryOptions) =>
      withApp(options, async (app) => {
        const store = await app.storeFor({ cwd: process.cwd() });
        const { page, actor } = options;
        const wanted = path === undefined ? undefined : memoryPath(store, path);
        const found = listVersions(store.ledger, {
          path: wanted,
          operation: operationFrom(options.operation),
          limit: limitFrom(options.limit),
          since: instantFrom('--since', options.since),
          until: instantFrom('--until', options.until),
          ...{ page, actor },
        });
        if (wanted !== undefined && listVersions(store.ledger, { path: wanted, limit: 1 }).versions.length === 0) {
          throw new AppError('bad-input', `No version of ${wanted} is known in ${store.dir}.`, {
            remedy: 'nocturne history without a path lists all versions, with their paths.',
          });
        }
        if (options.json) return print(JSON.stringify(found));
        printTable(['at', 'version', 'operation', 'bytes', 'by', 'path'], found.versions.map(rowOf));
        if (found.nextPage) print(`… older ones: --page ${found.nextPage}`);
      }),
    );
}

function rowOf(version: Version): string[] {
  const { at, id, operation, sizeBytes, actor, path, redactedAt } = version;
  const where = redactedAt ? `(redacted ${redactedAt})` : (path ?? '');
  return [at, id, operation, sizeBytes === null ? '–' : String(sizeBytes), actor, where];
}

function limitFrom(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new AppError('bad-input', `--limit is ${JSON.stringify(text)}; it must be a whole number from 1 to 1000.`);
}

/** As the ledger writes instants, so that they can be compared as texts. */
function instantFrom(option: string, text: string | undefined): string | undefined {
  const at = toInstant(text);
  if (text === undefined || at) return at;
  throw new AppError('bad-input', `${option} is ${JSON.stringify(text)}, which is no ISO-8601 instant.`, {
    remedy: 'Give one like 2026-11-21 or 2026-11-21T09:30:00Z.',
  });
}

function operationFrom(name: string | undefined): VersionOperation | undefined {
  const found = OPERATIONS.find((operation) => operation === name);
  if (found || name === undefined) return found;
  throw new AppError('bad-input', `${name} is no operation; there are ${OPERATIONS.join(', ')}.`);
}
