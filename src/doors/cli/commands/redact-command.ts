// redact: takes a version, or a text wherever it is, out of everything nocturne keeps.

import { join } from 'node:path';
import { removeLines } from '../../../../jobs/forget.ts';
import { AppError } from '../../../base/errors.ts';
import { canonicalPath, isDirectory, listFiles } from '../../../base/files/directories.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { type RestingLine, restingOn } from '../../../memory/dream/provenance.ts';
import {
  holdsMatch,
  type Redaction,
  type RedactionPlace,
  redactMatches,
  redactVersion,
} from '../../../memory/history/redact/redaction.ts';
import { scrubOf } from '../../../memory/history/redact/scrub.ts';
import { isCheckedInDir } from '../../../memory/home/paths.ts';
import { allEntries, type EntryRow, entriesIn } from '../../../memory/ledger/entries.ts';
import { wholeId } from '../../../memory/ledger/short-ids.ts';
import { findConfined } from '../../../memory/store/live-files.ts';
import type { Store } from '../../../memory/store/store.ts';
import type { App } from '../../compose.ts';
import { scopeDir } from '../../places.ts';
import type { CommandSpec } from '../spec.ts';
import { type CommonOptions, inApp, MEMORY, requirePerson } from '../terminal/options.ts';
import { EXIT, note, print } from '../terminal/output.ts';

interface RedactOptions extends CommonOptions {
  match?: string;
  dryRun?: boolean;
  withLines?: boolean;
}

const redactCommand: CommandSpec<RedactOptions, [string | undefined]> = {
  name: 'redact',
  about: 'take a secret out of everything',
  group: 'Under the hood',
  args: [['[version]', 'one version (memver_…, or what it begins with)']],
  options: [
    ['--match <text>', 'a text, or a pattern /…/, in files, versions, entries, reports and the ledger'],
    ['--dry-run', 'only say what would be changed'],
    ['--with-lines', 'remove the lines that rest on redacted entries alone'],
    ...MEMORY,
  ],
  json: '{ versions, rows, files, spool, snapshots, sessions?, remaining, lines, userScope }',
  more: 'Transcripts, version control and backups are not touched.',
  examples: ['redact --match "correct horse" --dry-run'],
  run: inApp(async (app, { options, args: [version] }) => {
    if (!options.dryRun) requirePerson(app.config, 'redact');
    const store = await app.storeFor();
    const lines = options.match === undefined ? [] : await linesRestingOn(store, options.match);
    const { home, clock } = app.config;
    const place = { store, home, now: clock.now(), elsewhere: app.keeping?.redactElsewhere };
    const wasSent = options.match !== undefined && saying(options.match, entriesIn(store.ledger, 'sent')).length > 0;
    const isSentHere = wasSent && (await app.userScope.beside(store)) !== null;
    const sent = isSentHere
      ? await redact(version, { options, place: { ...place, store: await app.userScope.open() } })
      : null;
    const report = await redact(version, { options, place });
    if (options.withLines && !options.dryRun) await removeLines(store, lines);
    print(options.json ? { ...report, lines, userScope: sent } : describe(report, options));
    if (!options.json && sent) print(`in the user scope, where it was sent: ${describe(sent, options)}`);
    if (!options.json) tellLines(lines, options);
    if (options.match !== undefined) {
      const saying = await teamFilesSaying(options.match, { app, store });
      if (saying.length > 0) {
        note(
          `It stands in the team's memory, too: ${saying.join(', ')}. The same with --scope local takes it out there.`,
        );
      }
    }
    if (wasSent && !isSentHere) note(SENT_ELSEWHERE);
    if ((wasSent && !isSentHere) || [...report.remaining, ...(sent?.remaining ?? [])].length > 0)
      process.exitCode = EXIT.failed;
  }),
};

/** The files of the team's memory here that hold it, unless that is the memory itself. */
async function teamFilesSaying(match: string, { app, store }: { app: App; store: Store }): Promise<string[]> {
  const dir = canonicalPath(scopeDir(app.config, { memory: 'local', cwd: process.cwd() }));
  if (dir === store.dir || !isCheckedInDir(dir) || !isDirectory(dir)) return [];
  const scrub = scrubOf(match);
  const saying: string[] = [];
  for (const path of (await listFiles(dir)).filter((each) => each.endsWith('.md'))) {
    const absolute = findConfined(dir, path);
    if (absolute !== null && (await holdsMatch(absolute, scrub))) saying.push(join(dir, path));
  }
  return saying;
}

const SENT_ELSEWHERE =
  "What is about the user was sent to the user's memory of the machine whose memory this is: it is there still. Redact it there, too, " +
  'with --scope user.';

/** The lines that rest alone on entries which say it, or rest on words that do. */
async function linesRestingOn(store: Store, match: string): Promise<RestingLine[]> {
  const said = saying(match, allEntries(store.ledger)).map(({ id }) => id);
  return (await restingOn(store, said)).alone.filter(({ text }) => !scrubOf(match).isIn(text));
}

/** The entries that say it, or rest on words that do. */
function saying(match: string, entries: EntryRow[]): EntryRow[] {
  const scrub = scrubOf(match);
  return entries.filter(({ text, evidence }) => scrub.isIn(text) || evidence.some(({ quote }) => scrub.isIn(quote)));
}

function tellLines(lines: RestingLine[], { withLines, dryRun }: RedactOptions): void {
  if (lines.length === 0) return;
  const what = withLines ? (dryRun ? 'would remove' : 'removed') : 'kept';
  const hint = withLines ? '' : '; --with-lines removes it';
  print(`${what} what rests on redacted entries alone (lines: ${lines.length}${hint}):`);
  for (const { path, text } of lines) print(`  ${path}: ${text}`);
}

function redact(
  version: string | undefined,
  { options: { match, dryRun }, place }: { options: RedactOptions; place: RedactionPlace },
): Promise<Redaction> {
  if (match !== undefined && version === undefined) return redactMatches(scrubOf(match), { ...place, isDry: dryRun });
  if (version !== undefined && match === undefined && !dryRun) {
    return redactVersion(wholeId(place.store.ledger, 'version', version), place);
  }
  throw new AppError('bad-input', 'Say what to redact: a version, or --match TEXT, which alone knows --dry-run.', {
    remedy: 'nocturne show --history lists the versions.',
  });
}

function describe(report: Redaction, { dryRun }: RedactOptions): string {
  const lines = [
    `${dryRun ? 'would redact' : 'redacted'} ${sayCount(report.versions, 'version')}, ${sayCount(report.rows, 'row')} of the ledger, ${sayCount(report.files.length, 'file')}`,
    ...report.files.map((path) => `  ${path}`),
    ...report.spool.map((path) => `  spool/${path}`),
    ...report.snapshots.map((path) => `  .nocturne/snapshots/${path}`),
    ...(report.sessions ?? []).map((name) => `  session ${name}`),
  ];
  if (report.remaining.length > 0) {
    lines.push(
      'It is still in these files, which nocturne may not change:',
      ...report.remaining.map((path) => `  ${path}`),
    );
  }
  return lines.join('\n');
}

export const commands: CommandSpec[] = [redactCommand];
