// nocturne diff: what changed in a file between two versions, or since one.

import type { Command } from 'commander';
import { AppError } from '../../../base/errors.ts';
import { unifiedDiff } from '../../../memory/history/line-diff.ts';
import { headVersion, type Version } from '../../../memory/history/versions.ts';
import type { MemoryReader } from '../../../memory/store/read-only-store.ts';
import { memoryPath, versionOf } from '../terminal/memory-path.ts';
import { type CommonOptions, withApp, withJson, withMemory } from '../terminal/options.ts';
import { print, printRaw } from '../terminal/output.ts';
import { withReader } from '../terminal/reader.ts';

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
