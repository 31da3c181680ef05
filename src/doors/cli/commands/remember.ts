// nocturne remember: what a person says to be kept, at once and without a model.

import { text as readAll } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import type { RememberReport } from '../../../../jobs/remember.ts';
import { MEMORY_TYPES, type MemoryType } from '../../../memory/types.ts';
import type { App } from '../../compose.ts';
import { wings } from '../../wing.ts';
import {
  addOptions,
  type CommonOptions,
  keysOf,
  undoCommand,
  withApp,
  withJson,
  withMemory,
} from '../terminal/options.ts';
import { exitFor, note, print } from '../terminal/output.ts';

export function addRemember(program: Command): void {
  const parts = wings().flatMap(({ remember }) => remember ?? []);
  const command = program
    .command('remember')
    .description('keep something, in your own words')
    .argument('<words...>', 'what to remember; - reads it from stdin')
    .addOption(new Option('--type <type>', 'what it is').choices([...MEMORY_TYPES]).default('feedback'));
  addOptions(command, parts);
  withJson(
    withMemory(command),
    `{ outcome, entry: { id, type, text, day }, memory, path, job, redacted, relativeDate${keysOf(parts)} }`,
  )
    .addHelpText(
      'after',
      `
Types: feedback (how to work), user (about you), project (facts), reference (where things are).

Example:
  nocturne remember "Always use pnpm instead of npm."`,
    )
    .action(async (words: string[], options: CommonOptions & { type: MemoryType }) => {
      const text = words.length === 1 && words[0] === '-' ? await readAll(process.stdin) : words.join(' ');
      await withApp(options, async (app) => {
        const { store, scope } = await placeFor(app, options);
        const { type } = options;
        const at = { app, own: store, words: text, type, cwd: process.cwd() };
        // Before anything is kept: who asks for what cannot be is not left with half of it.
        const begun = await Promise.all(parts.map((part) => part.begin({ ...options }, at)));
        const report = await app.remember(store, { text, type });
        const added = await Promise.all(begun.flatMap((finish) => finish?.() ?? []));
        const values: object = Object.assign({}, ...added.map((each) => each.values));
        print(
          options.json
            ? JSON.stringify({ ...report, memory: store.dir, ...values })
            : [describe(report, { memory: options.memory, scope }), ...added.flatMap(({ lines }) => lines)].join('\n'),
        );
        if (added.length > 0) process.exitCode = exitFor(added.map(({ outcome }) => outcome));
        if (report.redacted > 0) note(`Secrets were taken out of the words: ${report.redacted}.`);
        if (report.relativeDate) {
          note(`“${report.relativeDate}” means nothing on another day; better remember it again with the date.`);
        }
      });
    });
}

/** The project's directory or the one that is named; for what is about the user, where that is on, the user scope. */
async function placeFor(app: App, { type, memory, scope }: CommonOptions & { type: MemoryType }) {
  const isNamed = memory !== undefined || scope !== undefined;
  const toUserScope = type === 'user' && !isNamed && app.userScope.memory !== undefined;
  if (toUserScope) return { store: await app.userScope.open(), scope: 'user' as const };
  return { store: await app.storeFor({ cwd: process.cwd() }), scope };
}

function describe(
  { outcome, entry, path, job }: RememberReport,
  { memory, scope }: Pick<CommonOptions, 'memory' | 'scope'>,
): string {
  const where = scope === 'user' ? `${path}, in the user scope` : path;
  if (outcome === 'known') return `${entry.id} is remembered already: ${entry.text} [${where}]`;
  const undo = undoCommand(job, { memory, scope });
  return `${entry.id} ${entry.type}: ${entry.text} [${where}]\n${undo} takes it back.`;
}
