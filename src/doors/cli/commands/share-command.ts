// share: topics of one's own memory into the team's, which is committed with the repository; and what the option
// --share of remember does.

import type { ShareReport, ShareSource } from '../../../../jobs/share.ts';
import type { Store } from '../../../memory/store/store.ts';
import { fold } from '../../../memory/text/blocks.ts';
import type { MemoryType } from '../../../memory/types.ts';
import type { App } from '../../compose.ts';
import { orFailed, refuseInDatabase, teamDirFor } from '../../team.ts';
import type { CommandSpec } from '../spec.ts';
import { topicFile } from '../terminal/looking.ts';
import { type CommonOptions, inApp, MEMORY, requirePerson } from '../terminal/options.ts';
import { exitFor, print, shortIdIn } from '../terminal/output.ts';

interface ShareOptions extends CommonOptions {
  redacted?: boolean;
  email?: boolean;
  dryRun?: boolean;
}

const share: CommandSpec<ShareOptions, [string[]]> = {
  name: 'share',
  about: "put topics into the team's memory, which git carries",
  group: 'Every day',
  args: [['<topic...>', 'names or files of topics']],
  options: [
    ['--redacted', 'share secrets as placeholders; without it, a secret keeps all of it from being shared'],
    ['--email', "write the address of git's user.email after your name"],
    ['--dry-run', 'say what would be shared; change nothing'],
    ...MEMORY,
  ],
  json: '{ outcome, memory, author, topics: [{ path, isNew, lines, replaced }], secrets: [{ path, line, rule }], personalPaths: [{ path, line }], job, isIgnored }',
  more: "They are copied into .claude/memory of the working tree. What stands in the team's memory already stays as it is. Commit it with git as you do with other files.",
  examples: ['share project-facts'],
  run: inApp(async (app, { options, args }) => {
    const { redacted, dryRun, email, json } = options;
    if (!dryRun) requirePerson(app.config, 'share');
    const cwd = process.cwd();
    refuseInDatabase(app.config);
    const paths = new Set(args[0].map((name) => topicFile(app.memoryDirOf({ cwd }), name)));
    const own = await app.storeFor({ cwd });
    const sources = await Array.fromAsync(paths, async (path) => ({ path, text: (await own.read(path)) ?? '' }));
    const request = { sources, isRedacted: redacted, isDryRun: dryRun };
    const report = await app.share(own, request, { cwd, withEmail: email });
    print(json ? report : sayShare(report, { dryRun }).join('\n'));
    process.exitCode = exitFor([report.outcome]);
  }),
};

/** What was shared with the team, or why nothing was. */
export function sayShare(report: ShareReport, { dryRun = false } = {}): string[] {
  const { outcome, memory, author, topics, secrets, personalPaths, job, isIgnored, error } = report;
  const warnings = personalPaths.map(({ path, line }) => `  note: ${path}:${line} names a directory of a person`);
  if (isIgnored) warnings.push('  note: git ignores it; take .claude out of .gitignore, or nobody else gets it');
  if (outcome === 'failed') return [`share: failed; ${error?.message ?? ''}`];
  if (outcome === 'known') return [`share: nothing new for ${memory}`, ...warnings];
  if (outcome === 'refused') {
    const where = secrets.map(({ path, line, rule }) => `  ${path}:${line} holds a secret (${rule})`);
    return ['share: refused, nothing was shared; take the secrets out, or give --redacted', ...where, ...warnings];
  }
  const lines = topics.flatMap((topic) => [
    `  ${topic.path}${topic.isNew ? ' (new)' : ''}`,
    ...topic.lines.map((line) => `    ${line.replaceAll('\n', '\n    ')}`),
    ...topic.replaced.map((line) => `    no longer: ${line}`),
  ]);
  const verb = dryRun ? 'would share' : 'shared';
  const undo = job ? [`nocturne undo ${shortIdIn(memory, 'job', job)} --scope local takes it back.`] : [];
  return [`share: ${verb} with the team in ${memory}, as ${author}`, ...lines, ...warnings, ...undo];
}

/**
 * `nocturne remember --share`: what a person says, into one topic for each type. Throws at once what forbids it; what is answered shares
 * the words, once they are kept.
 */
export function beginSharing(
  app: App,
  { own, words, type, redacted = false }: { own: Store; words: string; type: MemoryType; redacted?: boolean },
): () => Promise<{ shared: ShareReport; lines: string[] }> {
  const cwd = process.cwd();
  teamDirFor({ app, own, cwd });
  return async () => {
    const request = { sources: [sourceFor(type, words)], isRedacted: redacted };
    const shared = await orFailed(app.share(own, request, { cwd }));
    return { shared, lines: sayShared(shared) };
  };
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

export const commands: CommandSpec[] = [share];
