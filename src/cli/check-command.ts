// What is wrong, and what mends it. check: of a memory and of the database; --restore puts back what can be put back without a guess, the
// database itself from its newest good copy, --accept-missing believes that what is gone was meant to go. redact: takes a
// text, or all secrets, out of everything nocturne keeps. doctor: whether everything works, and what to do where not.

import { afterRestore, type Restored } from '../../jobs/after-restore.ts';
import type { RedactReport } from '../../jobs/redact.ts';
import { loadConfig } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import { canonicalPath } from '../base/files/directories.ts';
import { statNow } from '../base/files/files.ts';
import { sayCount } from '../base/text/wording.ts';
import { backupsIn, damageOf, restoreNewest } from '../db/backup.ts';
import { databasePath } from '../db/open-database.ts';
import { acceptMissing, type Finding, findFaults } from '../memory/damage-check.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { isCheckedIn } from '../memory/paths.ts';
import { scopeDir } from '../memory/places.ts';
import { scrubOf, scrubSecrets } from '../memory/redaction.ts';
import type { Checked } from '../setup/doctor.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import { plainly } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { takeInLeft } from '../worker/first-start.ts';
import { placeOf } from '../worker/whose-memory.ts';
import {
  agreed,
  type CommonOptions,
  configFor,
  isNamed,
  MEMORY,
  memoryHere,
  memoryKept,
  requirePerson,
  withApp,
} from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

interface CheckOptions extends CommonOptions {
  restore?: boolean;
  acceptMissing?: boolean;
}

interface ReportedFinding extends Omit<Finding, 'apply'> {
  isFixed: boolean;
}

const check: CommandSpec<CheckOptions> = {
  name: 'check',
  about: 'verify the memory and the database, and put back what was lost',
  options: [
    ['--restore', 'put back what is missing, a damaged database from its newest good copy; no file is deleted'],
    ['--accept-missing', 'accept that what is missing is gone', { conflicts: 'restore' }],
    ...MEMORY,
  ],
  json: '{ memory, findings: [{ kind, what, where, fix, isFixed }], accepted?, restored? }',
  more: `With PostgreSQL, put back a dump first, then run --restore. After a restore keys are off until nocturne keys
confirm KEY. Exit code: 0 fine or fixed, 1 problems are left.`,
  examples: ['check', 'check --restore'],
  async run(call) {
    const { options } = call;
    const { restore: isRestoring = false } = options;
    const config = await configFor(options);
    if (isRestoring || options.acceptMissing) requirePerson(config, 'check --restore');
    const damage = config.databaseUrl === undefined ? damageOfDatabase(config.home) : null;
    if (damage !== null && !isRestoring) return tell({ memory: config.home, findings: [damage] }, options);
    const { home, clock } = config;
    const from = damage === null ? null : restoreNewest(home, clock.now());
    const findings: ReportedFinding[] = damage === null ? [] : [{ ...damage, isFixed: true }];
    await withApp({ ...call, config }, async (app) => {
      const isAfterDump = app.db.engine === 'postgres' && isRestoring;
      const restored = isAfterDump
        ? await afterRestore(app.memories)
        : from
          ? await takeInLeft(app.config, app.memories)
          : undefined;
      if (restored && !options.json) note(sayRestored(restored, from));
      if (damage && !(await memoryHere(app))) return tell({ memory: home, findings, restored }, options);
      const memory = await memoryKept(app);
      const accepted = options.acceptMissing ? await acceptMissing(app.memories, memory) : undefined;
      findings.push(...(await checkMemory(app, memory, isRestoring)));
      tell({ memory: placeOf(memory), findings, accepted, restored }, options);
    });
  },
};

/** Looked for before anything opens it. */
function damageOfDatabase(home: string): ReportedFinding | null {
  const path = databasePath(home);
  const copies = backupsIn(home).length;
  const isBegun = (statNow(path)?.bytes ?? 0) > 0;
  if (!isBegun && copies === 0) return null;
  const problem = isBegun ? damageOf(path) : 'it is gone or empty';
  if (problem === null) return null;
  const from = copies > 0 ? 'takes the newest good copy' : 'starts a new one';
  return {
    kind: 'database',
    what: `The database is damaged: ${problem}.`,
    where: path,
    fix: `Moves it aside, ${from}, and reads every memory directory again.`,
    isFixed: false,
  };
}

function sayRestored(
  { memories, entries, marked, keys }: Restored,
  from: ReturnType<typeof restoreNewest> | null,
): string {
  return [
    ...(from?.aside ? [`The damaged database is in ${from.aside}.`] : []),
    ...(from
      ? [from.from ? `Restored from ${from.from}.` : 'There was no good copy: a new database was started.']
      : []),
    `Read ${sayCount(memories, 'memory')} with ${sayCount(entries, 'entry')}.`,
    ...(marked > 0 ? [`${marked} that were forgotten or redacted since were taken out again.`] : []),
    ...(keys > 0
      ? [
          `${sayCount(keys, 'key')} of the server ${keys === 1 ? 'is' : 'are'} off until nocturne keys confirm KEY: nocturne keys list.`,
        ]
      : []),
    `What was spent ${from && !from.from ? 'before' : 'since the copy'} is not known: today's limits count without it.`,
  ].join('\n');
}

/** What is found, fixed where that is asked for and needs no guess. */
async function checkMemory({ memories }: App, memory: MemoryRow, isMending: boolean): Promise<ReportedFinding[]> {
  const open = ({ apply: _, ...finding }: Finding): ReportedFinding => ({ ...finding, isFixed: false });
  const found = await findFaults(memories, memory);
  if (!isMending) return found.map(open);
  for (const { apply } of found) await apply?.();
  const left = await findFaults(memories, memory);
  const isLeft = ({ kind, where }: Finding) => left.some((each) => each.kind === kind && each.where === where);
  const fixed = found.filter((each) => !isLeft(each)).map((each) => ({ ...open(each), isFixed: true }));
  return [...fixed, ...left.map(open)];
}

interface CheckReport {
  memory: string;
  findings: ReportedFinding[];
  /** Paths that were let go. */
  accepted?: string[];
  restored?: Restored;
}

function tell(report: CheckReport, { json }: CheckOptions): void {
  print(json ? report : describeCheck(report));
  process.exitCode = report.findings.every(({ isFixed }) => isFixed) ? EXIT.fine : EXIT.failed;
}

function describeCheck({ memory, findings, accepted = [] }: CheckReport): string {
  const letGo = accepted.map((path) => `${path}: accepted as gone`);
  if (findings.length === 0) return [...letGo, `${memory}: fine`].join('\n');
  const open = findings.filter(({ isFixed }) => !isFixed).length;
  const lines = findings.map(({ where, what, fix, isFixed }) => {
    return `${where}: ${what}\n  ${isFixed ? `fixed: ${fix}` : fix ? `nocturne check --restore: ${fix}` : 'fix it by hand'}`;
  });
  const remain = open === 1 ? '1 problem is left' : `${open} problems are left`;
  return [...letGo, `${memory}: ${remain}, ${findings.length - open} fixed`, ...lines].join('\n');
}

interface RedactOptions extends CommonOptions {
  match?: string;
  secrets?: boolean;
  dryRun?: boolean;
  yes?: boolean;
}

const redact: CommandSpec<RedactOptions> = {
  name: 'redact',
  about: 'take a secret out of everything',
  options: [
    [
      '--match <text>',
      'a text, or a pattern /…/, in files, versions, entries, sessions, copies of the database, all rows',
    ],
    ['--secrets', 'all that looks like a secret', { conflicts: 'match' }],
    ['--dry-run', 'only say what would be changed'],
    ['--yes', 'do not ask'],
    ...MEMORY,
  ],
  json: '{ job, files, versions, rows, home, sessions, lines, beside, remaining, remedies }',
  more: `It cannot be undone: it says what goes, and asks. In all memories of this home, or in the one that is named. Transcripts, version
control and backups of your own are not touched: what is read again from there comes back.`,
  examples: ['redact --match "correct horse" --dry-run'],
  async inApp(app, call) {
    const { options } = call;
    if (!options.dryRun) requirePerson(app.config, 'redact');
    const redactIt = await redaction(app, options);
    const isSure = options.dryRun || options.yes || (await isWanted(await redactIt(true), options));
    if (!isSure) {
      print(options.json ? { job: null } : 'Nothing was redacted.');
      process.exitCode = EXIT.usage;
      return;
    }
    const report = await redactIt(options.dryRun === true);
    if (options.json) print(report);
    else tellRedacted(report, options);
    if (report.remaining.length > 0 && !options.dryRun) process.exitCode = EXIT.failed;
  },
};

/** What redacts what is named, or only says what that would change. */
async function redaction(app: App, options: RedactOptions): Promise<(isDry: boolean) => Promise<RedactReport>> {
  const { match, secrets } = options;
  if (match === undefined && !secrets)
    throw new AppError('bad-input', 'Say what to redact: --match TEXT or --secrets.', {
      remedy: '--dry-run only says what would be changed.',
    });
  const memories = isNamed(options) ? [(await app.memoryFor()).id] : undefined;
  const scrub = match === undefined ? scrubSecrets : scrubOf(match);
  const team = canonicalPath(scopeDir(app.config, { memory: 'local', cwd: process.cwd() }));
  const beside = isCheckedIn(team) ? [team] : [];
  return (isDry) => app.redact({ scrub, isDry, beside, ...(memories && { memories }) });
}

/** Says on stderr what goes, and asks where someone is there to answer. */
async function isWanted(plan: RedactReport, options: RedactOptions): Promise<boolean> {
  // It may have broken off before it wrote the database and its copies anew.
  if (plan.versions + plan.rows + plan.files.length + plan.home.length + plan.sessions.length === 0) return true;
  tellRedacted(plan, { ...options, dryRun: true }, note);
  note('This cannot be undone.');
  return agreed('Redact it?');
}

function tellRedacted(
  report: RedactReport,
  { match, dryRun }: RedactOptions,
  say: (text: string) => void = print,
): void {
  const { versions, rows, files, home, sessions, lines, beside, remaining, remedies } = report;
  const did = dryRun ? 'would redact' : 'redacted';
  say(
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
    say(`kept lines that rest only on redacted entries (${lines.length}; nocturne forget takes one out):`);
    for (const { path, text } of lines) say(`  ${path}: ${text}`);
  }
  if (beside.length > 0)
    note(`It is in the team's memory too: ${beside.join(', ')}. To take it out there, add --scope local.`);
  for (const remedy of remedies) note(remedy);
  if (match !== undefined && !dryRun)
    note('It is not known again: a session that holds it brings it back when it is read or sent again.');
}

interface DoctorOptions {
  online: boolean;
  json?: boolean;
}

const doctor: CommandSpec<DoctorOptions> = {
  name: 'doctor',
  about: 'check that everything works, and say what to do',
  options: [['--no-online', 'do not ask the model, which is one request of a few tokens']],
  json: '{ isFine, checks: [{ what, state, found, remedy? }] }',
  more: 'Looks at hooks, key, queue, worker, schedule and memories. Exit code: 0 fine, 3 something needs a person.',
  examples: ['doctor', 'doctor --no-online'],
  async run({ options }) {
    const [config, { examine }] = await Promise.all([loadConfig(), import('../setup/doctor.ts')]);
    const checked = await examine(config, { cwd: process.cwd(), isOnline: options.online });
    const say = (check: Checked) => plainly(describeChecked(check), config);
    const isFine = checked.every(({ state }) => state !== 'fail');
    print(options.json ? { isFine, checks: checked } : checked.map(say).join('\n'));
    process.exitCode = isFine ? EXIT.fine : EXIT.attention;
  },
};

function describeChecked({ what, state, found, remedy }: Checked): string {
  return `${state.padEnd(4)}  ${what}: ${found}${remedy ? `\n      ${remedy}` : ''}`;
}

export const commands = [doctor, check, redact] as CommandSpec[];
