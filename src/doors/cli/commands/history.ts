// nocturne history: who changed which file when, newest first.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { AppError } from '../../../base/errors.ts';
import { toInstant } from '../../../base/time.ts';
import { unifiedDiff } from '../../../memory/history/line-diff.ts';
import {
  headVersion,
  listVersions,
  OPERATIONS,
  restoreVersion,
  type Version,
  type VersionOperation,
} from '../../../memory/history/versions.ts';
import type { MemoryReader } from '../../../memory/store/read-only-store.ts';
import {
  type CommonOptions,
  countUpTo,
  memoryPath,
  textOf,
  versionOf,
  withApp,
  withJson,
  withMemory,
} from '../terminal/options.ts';
import { print, printRaw } from '../terminal/output.ts';
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

interface DiffOptions extends CommonOptions {
  version?: string;
  with?: string;
}

export function addDiff(program: Command): void {
  const command = program
    .command('diff')
    .description('what changed in a file, as a unified diff')
    .argument('<path>', 'file of the memory directory')
    .option('--version <id>', 'from this version on (default: the one before the last change)')
    .option('--with <id>', 'up to this version (default: the file as it is)');
  withJson(withMemory(command), '{ path, from, to, diff }')
    .addHelpText('after', '\nExample:\n  nocturne diff working-agreements.md --version memver_0123456789ab')
    .action((given: string, options: DiffOptions) =>
      withApp(options, (app) =>
        withReader(app, async (store) => {
          const path = memoryPath(store, given);
          const from = versionSide(store, { path, id: options.version ?? beforeLastChange(store, path) });
          const to = options.with
            ? versionSide(store, { path, id: options.with })
            : { name: path, text: (await store.read(path)) ?? '' };
          const diff = unifiedDiff(from, to);
          if (options.json) return print(JSON.stringify({ path, from: from.name, to: to.name, diff }));
          printRaw(diff);
        }),
      ),
    );
}

function versionSide(store: MemoryReader, at: { path: string; id: string | null }): { name: string; text: string } {
  if (at.id === null) return { name: '/dev/null', text: '' };
  const version: Version & { text: string | null } = versionOf(store, { path: at.path, id: at.id });
  if (version.redactedAt) throw new AppError('bad-input', `Version ${at.id} was redacted at ${version.redactedAt}.`);
  return { name: `${at.path} (${at.id})`, text: version.text ?? '' };
}

/** Null where the last change created the file. */
function beforeLastChange(store: MemoryReader, path: string): string | null {
  const head = headVersion(store.ledger, path);
  if (head) return head.previous;
  throw new AppError('bad-input', `No version of ${path} is known in ${store.dir}.`, {
    remedy: 'nocturne history lists all versions.',
  });
}

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
