// redact: takes a version, a text wherever it is, or all secrets, out of everything nocturne keeps.

import { type RedactReport, redactVersion } from '../../jobs/redact.ts';
import { AppError } from '../base/errors.ts';
import { canonicalPath } from '../base/files/directories.ts';
import { sayCount } from '../base/text/wording.ts';
import { isCheckedInDir } from '../memory/paths.ts';
import { scopeDir } from '../memory/places.ts';
import { scrubOf, scrubSecrets } from '../memory/scrub.ts';
import { wholeId } from '../memory/short-ids.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import type { App } from '../worker/compose.ts';
import { type CommonOptions, MEMORY, requirePerson, withApp } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

interface RedactOptions extends CommonOptions {
  match?: string;
  secrets?: boolean;
  dryRun?: boolean;
  withLines?: boolean;
}

const redact: CommandSpec<RedactOptions, [string | undefined]> = {
  name: 'redact',
  about: 'take a secret out of everything',
  group: 'Under the hood',
  args: [['[version]', 'one version (memver_…, or what it begins with)']],
  options: [
    [
      '--match <text>',
      'a text, or a pattern /…/, in files, versions, entries, sessions, copies of the database, all rows',
    ],
    ['--secrets', 'all that looks like a secret', { conflicts: 'match' }],
    ['--dry-run', 'only say what would be changed'],
    ['--with-lines', 'remove the lines that rest on redacted entries alone'],
    ...MEMORY,
  ],
  json: '{ job, files, versions, rows, home, sessions, lines, beside, remaining, remedies }',
  more: `In all memories of this home, or in the one that is named. Transcripts, version control and backups of your own are not touched.`,
  examples: ['redact --match "correct horse" --dry-run'],
  run: (call) =>
    withApp(call, async (app) => {
      const { options } = call;
      if (!options.dryRun) requirePerson(app.config, 'redact');
      const report = await redactNow(app, call.args[0], options);
      if (options.json) print(report);
      else tell(report, options);
      if (report.remaining.length > 0) process.exitCode = EXIT.failed;
    }),
};

async function redactNow(app: App, version: string | undefined, options: RedactOptions): Promise<RedactReport> {
  const { match, secrets, dryRun: isDry, withLines } = options;
  const isText = match !== undefined || secrets;
  if (isText === (version !== undefined) || (version !== undefined && isDry)) {
    throw new AppError(
      'bad-input',
      'Say what to redact: a version, --match TEXT or --secrets, which alone know --dry-run.',
      {
        remedy: 'nocturne show --history lists the versions.',
      },
    );
  }
  const isNamed = options.memory !== undefined || options.scope !== undefined || options.store !== undefined;
  const memory = version !== undefined || isNamed ? (await app.memoryFor()).id : undefined;
  if (version !== undefined && memory !== undefined)
    return redactVersion({ memory, version: await wholeId(app.db, 'version', version) }, { memories: app.memories });
  const scrub = match === undefined ? scrubSecrets : scrubOf(match);
  const team = canonicalPath(scopeDir(app.config, { memory: 'local', cwd: process.cwd() }));
  const beside = isCheckedInDir(team) ? [team] : [];
  return app.redact({ scrub, isDry, withLines, beside, ...(memory !== undefined && { memories: [memory] }) });
}

function tell(report: RedactReport, { dryRun, withLines }: RedactOptions): void {
  const { versions, rows, files, home, sessions, lines, beside, remaining, remedies } = report;
  const did = dryRun ? 'would redact' : 'redacted';
  print(
    [
      `${did} ${sayCount(versions, 'version')}, ${sayCount(rows, 'row')} of the database, ${sayCount(files.length, 'file')}`,
      ...files.map((path) => `  ${path}`),
      ...home.map((path) => `  ${path}`),
      ...sessions.map((name) => `  session ${name}`),
      ...(remaining.length > 0
        ? ['It is still in these files, which nocturne may not change:', ...remaining.map((path) => `  ${path}`)]
        : []),
    ].join('\n'),
  );
  if (lines.length > 0) {
    const what = withLines ? (dryRun ? 'would remove' : 'removed') : 'kept';
    const hint = withLines ? '' : '; --with-lines removes it';
    print(`${what} what rests on redacted entries alone (lines: ${lines.length}${hint}):`);
    for (const { path, text } of lines) print(`  ${path}: ${text}`);
  }
  if (beside.length > 0)
    note(`It stands in the team's memory, too: ${beside.join(', ')}. The same with --scope local takes it out there.`);
  for (const remedy of remedies) note(remedy);
}

export const commands: CommandSpec[] = [redact] as CommandSpec[];
