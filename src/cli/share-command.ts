// share: topics of one's own memory into the team's, which is committed with the repository; and what the option --share of other
// commands does.

import { orFailed, type ShareReport } from '../../jobs/share.ts';
import type { MemoryRow } from '../memory/memories.ts';
import type { MemoryType } from '../memory/memory-types.ts';
import { shortId } from '../memory/short-ids.ts';
import { fold } from '../memory/text/blocks.ts';
import type { ShareSource } from '../memory/text/team-topic.ts';
import { exitFor, print } from '../terminal/output.ts';
import type { App } from '../worker/compose.ts';
import { shareWithTeam } from '../worker/sharing.ts';
import { refuseInDatabase, teamDirFor } from '../worker/team-place.ts';
import { type CommonOptions, MEMORY, requirePerson, withApp } from './cli-options.ts';
import { topicFile } from './named-topics.ts';
import type { CommandSpec } from './spec.ts';

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
  run: (call) =>
    withApp(call, async (app) => {
      const { redacted, dryRun, email, json } = call.options;
      if (!dryRun) requirePerson(app.config, 'share');
      const cwd = process.cwd();
      refuseInDatabase(app.config);
      const found = await app.findMemory({ cwd });
      const paths = new Set<string>();
      for (const name of call.args[0]) paths.add(await topicFile(app, found, name));
      const own = found ?? (await app.memoryFor({ cwd }));
      const read = async (path: string) => (await app.files(own).read({ path }))?.text ?? '';
      const sources = await Array.fromAsync(paths, async (path) => ({ path, text: await read(path) }));
      const request = { sources, isRedacted: redacted, isDryRun: dryRun };
      const report = await shareWithTeam(app, own, request, { cwd, withEmail: email });
      print(json ? report : (await sayShare(app, report, { dryRun })).join('\n'));
      process.exitCode = exitFor([report.outcome]);
    }),
};

/** What was shared with the team, or why nothing was. */
export async function sayShare({ db }: App, report: ShareReport, { dryRun = false } = {}): Promise<string[]> {
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
  const undo = job ? [`nocturne undo ${await shortId(db, 'job', job)} --scope local takes it back.`] : [];
  return [`share: ${verb} with the team in ${memory}, as ${author}`, ...lines, ...warnings, ...undo];
}

/**
 * `nocturne remember --share`: what a person says, into one topic for each type. Throws at once what forbids it; what is answered shares
 * the words, once they are kept.
 */
export function beginSharing(
  app: App,
  { own, words, type, redacted = false }: { own: MemoryRow; words: string; type: MemoryType; redacted?: boolean },
): () => Promise<{ shared: ShareReport; lines: string[] }> {
  const cwd = process.cwd();
  teamDirFor(app.config, { own: own.dir, cwd });
  return async () => {
    const request = { sources: [sourceFor(type, words)], isRedacted: redacted };
    const shared = await orFailed(shareWithTeam(app, own, request, { cwd }));
    return { shared, lines: await sayShared(app, shared) };
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

async function sayShared(app: App, shared: ShareReport): Promise<string[]> {
  const said = await sayShare(app, shared);
  if (shared.outcome === 'failed') return [...said, 'The words were kept; say it again to share them.'];
  if (shared.outcome !== 'refused') return said;
  const rules = [...new Set(shared.secrets.map(({ rule }) => rule))].join(', ');
  return [`share: refused; the words hold a secret (${rules}). They were kept without it; --redacted shares them so.`];
}

export const commands: CommandSpec[] = [share] as CommandSpec[];
