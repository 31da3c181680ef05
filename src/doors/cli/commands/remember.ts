// nocturne remember: what a person says to be kept, at once and without a model.

import { text as readAll } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import type { RememberReport } from '../../../../jobs/remember.ts';
import type { ShareReport, ShareSource } from '../../../../jobs/share.ts';
import { fold } from '../../../memory/text/blocks.ts';
import { MEMORY_TYPES, type MemoryType } from '../../../memory/types.ts';
import type { App } from '../../compose.ts';
import { type CommonOptions, undoCommand, withApp, withJson, withMemory } from '../terminal/options.ts';
import { exitFor, note, print, sayShare } from '../terminal/output.ts';

export function addRemember(program: Command): void {
  const command = program
    .command('remember')
    .description('keep something, in your own words')
    .argument('<words...>', 'what to remember; - reads it from stdin')
    .addOption(new Option('--type <type>', 'what it is').choices([...MEMORY_TYPES]).default('feedback'))
    .option('--share', "put it into the team's memory too, .claude/memory in the working tree")
    .option(
      '--redacted',
      'with --share: share secrets as placeholders; without it, they keep the words from being shared',
    );
  withJson(
    withMemory(command),
    '{ outcome, entry: { id, type, text, day }, memory, path, job, redacted, relativeDate, shared? }',
  )
    .addHelpText(
      'after',
      `
Types: feedback (how to work), user (about you), project (facts), reference (where things are).

Example:
  nocturne remember "Always use pnpm instead of npm."`,
    )
    .action(
      async (words: string[], options: CommonOptions & { type: MemoryType; share?: boolean; redacted?: boolean }) => {
        const text = words.length === 1 && words[0] === '-' ? await readAll(process.stdin) : words.join(' ');
        await withApp(options, async (app) => {
          const { store, scope } = await placeFor(app, options);
          const cwd = process.cwd();
          const sharing = options.share ? await import('../../sharing.ts') : undefined;
          // Before anything is kept: who asks for what cannot be is not left with half of it.
          sharing?.teamDirFor({ config: app.config, own: store, cwd });
          const report = await app.remember(store, { text, type: options.type });
          const source = sourceFor(options.type, text);
          const request = { sources: [source], isRedacted: options.redacted };
          const shared = await sharing?.orFailed(app.share(store, request, { cwd }));
          print(
            options.json
              ? JSON.stringify({ ...report, memory: store.dir, ...(shared && { shared }) })
              : [describe(report, { memory: options.memory, scope }), ...(shared ? sayShared(shared) : [])].join('\n'),
          );
          if (shared) process.exitCode = exitFor([shared.outcome]);
          if (report.redacted > 0) note(`Secrets were taken out of the words: ${report.redacted}.`);
          if (report.relativeDate) {
            note(`“${report.relativeDate}” means nothing on another day; better remember it again with the date.`);
          }
        });
      },
    );
}

/** The topics of a team for what no dream has sorted yet. */
const TEAM_TOPICS: Record<MemoryType, { name: string; description: string }> = {
  user: { name: 'people', description: 'Who is in the team' },
  feedback: { name: 'working-agreements', description: 'How the team works' },
  project: { name: 'project-facts', description: 'What holds for the project' },
  reference: { name: 'references', description: 'Where things are' },
};

function sourceFor(type: MemoryType, words: string): ShareSource {
  const { name, description } = TEAM_TOPICS[type];
  return { path: `${name}.md`, text: `- ${fold(words)}\n`, described: { description, type } };
}

function sayShared(shared: ShareReport): string[] {
  if (shared.outcome === 'failed') return [...sayShare(shared), 'The words were kept; say it again to share them.'];
  if (shared.outcome !== 'refused') return sayShare(shared);
  const rules = [...new Set(shared.secrets.map(({ rule }) => rule))].join(', ');
  return [`share: refused; the words hold a secret (${rules}). They were kept without it; --redacted shares them so.`];
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
