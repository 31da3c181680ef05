// nocturne share: topics of one's own memory into the team's, which is committed with the repository.

import type { Command } from 'commander';
import { type CommonOptions, withApp, withJson, withMemory } from '../../doors/cli/terminal/options.ts';
import { exitFor, print } from '../../doors/cli/terminal/output.ts';
import { topicFile } from '../../doors/cli/terminal/topic-name.ts';
import { sayShare } from './said.ts';
import type { ShareSource } from './share.ts';
import { shareWithTeam, sharingOf } from './sharing.ts';

interface ShareOptions extends CommonOptions {
  redacted?: boolean;
  email?: boolean;
  dryRun?: boolean;
}

export function addShare(program: Command): void {
  const command = program
    .command('share')
    .description("topics of your own memory into the team's, .claude/memory in the working tree")
    .argument('<topic...>', 'names or files of topics')
    .option('--redacted', 'share secrets as placeholders; without it, a secret keeps all of it from being shared')
    .option('--email', "write the address of git's user.email beside your name")
    .option('--dry-run', 'say what would be shared; change nothing');
  withJson(
    withMemory(command),
    '{ outcome, memory, author, topics: [{ path, isNew, lines, replaced }], secrets: [{ path, line, rule }], personalPaths: [{ path, line }], job, isIgnored }',
  )
    .addHelpText(
      'after',
      `
What stands in the team's memory already stays as it is. Commit it with git as you do with other files.

Example:
  nocturne share project-facts`,
    )
    .action((names: string[], options: ShareOptions) =>
      withApp(options, async (app) => {
        const cwd = process.cwd();
        const paths = new Set(names.map((name) => topicFile(app.memoryDirOf({ cwd }), name)));
        const own = await app.storeFor({ cwd });
        const sources: ShareSource[] = [];
        for (const path of paths) sources.push({ path, text: (await own.read(path)) ?? '' });
        const request = { sources, isRedacted: options.redacted, isDryRun: options.dryRun };
        const report = await shareWithTeam(request, { ...sharingOf(app, own), cwd, withEmail: options.email });
        print(options.json ? JSON.stringify(report) : sayShare(report, options).join('\n'));
        process.exitCode = exitFor([report.outcome]);
      }),
    );
}
