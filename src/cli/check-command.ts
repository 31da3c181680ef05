// check: what is wrong with a memory and with the database; --restore puts back what can be put back without a guess, the database
// itself from its newest good copy, --accept-missing believes that what is gone was meant to go.

import { afterRestore, type Restored } from '../../jobs/after-restore.ts';
import { AppError } from '../base/errors.ts';
import { statNow } from '../base/files/files.ts';
import { sayCount } from '../base/text/wording.ts';
import { backupsIn, damageOf, restoreNewest } from '../db/backup.ts';
import { databasePath } from '../db/open-database.ts';
import { acceptMissing, type Finding, findFaults } from '../memory/damage-check.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import type { App } from '../worker/compose.ts';
import { placeOf } from '../worker/whose-memory.ts';
import { type CommonOptions, configFor, MEMORY, requirePerson, withMemory } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

interface CheckOptions extends CommonOptions {
  restore?: boolean;
  acceptMissing?: boolean;
  /** What `--restore` was called. */
  repair?: boolean;
}

export interface ReportedFinding extends Omit<Finding, 'apply'> {
  isMended: boolean;
}

const check: CommandSpec<CheckOptions> = {
  name: 'check',
  about: 'verify the memory and the database, and put back what was lost',
  group: 'Under the hood',
  options: [
    ['--restore', 'put back what is missing, a damaged database from its newest good copy; no file is deleted'],
    ['--repair', '', { isHidden: true, conflicts: 'acceptMissing' }],
    ['--accept-missing', 'what is missing was meant to go', { conflicts: 'restore' }],
    ...MEMORY,
  ],
  json: '{ memory, findings: [{ kind, what, where, mend, isMended }], accepted?, restored? }',
  more: `Over PostgreSQL --restore is for after you put back a dump: what it told is looked at again. Keys are off after a restore until
nocturne keys confirm, and no more is spent today until nocturne retry. Exit code: 0 fine or mended, 1 findings remain.`,
  examples: ['check', 'check --restore'],
  async run(call) {
    const { options } = call;
    const isRestoring = options.restore || options.repair || false;
    const config = await configFor(options);
    if (isRestoring || options.acceptMissing) requirePerson(config, 'check --restore');
    const damage = config.databaseUrl === undefined ? damageOfDatabase(config.home) : null;
    if (damage !== null && !isRestoring) return tell({ memory: config.home, findings: [damage] }, options);
    const { home, clock } = config;
    const from = damage === null ? null : restoreNewest(home, clock.now());
    const findings: ReportedFinding[] = damage === null ? [] : [{ ...damage, isMended: true }];
    await withMemory(call, async (app, memory) => {
      const isAfterDump = app.db.engine === 'postgres' && (options.restore ?? false);
      const restored =
        from || isAfterDump
          ? await afterRestore({ memories: app.memories, zone: app.config.zone, dayTokens: app.config.dayTokens })
          : undefined;
      if (restored && !options.json) note(sayRestored(restored, from));
      if (!memory) {
        if (damage) return tell({ memory: home, findings, restored }, options);
        throw new AppError('bad-input', `There is no memory at ${app.memoryDirOf()}.`);
      }
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
  const from = copies > 0 ? 'takes the newest good copy' : 'begins a new one';
  return {
    kind: 'database',
    what: `The database is damaged: ${problem}.`,
    where: path,
    mend: `Puts it aside, ${from}, and looks into every memory directory.`,
    isMended: false,
  };
}

function sayRestored(
  { memories, entries, marked, keys }: Restored,
  from: ReturnType<typeof restoreNewest> | null,
): string {
  return [
    ...(from?.aside ? [`The damaged database is in ${from.aside}.`] : []),
    ...(from ? [from.from ? `Restored from ${from.from}.` : 'There was no good copy: a new database was begun.'] : []),
    `Looked into ${sayCount(memories, 'memory')}; ${sayCount(entries, 'entry')} came in from logs.`,
    ...(marked > 0 ? [`${marked} that were forgotten or redacted since are so again.`] : []),
    ...(keys > 0
      ? [`${sayCount(keys, 'key')} of the server ${keys === 1 ? 'is' : 'are'} off: nocturne keys confirm.`]
      : []),
    'No more is spent today, since what was spent is not known: nocturne retry --failed opens the day.',
  ].join('\n');
}

/** What is found, mended where that is asked for and needs no guess. */
export async function checkMemory(
  { memories }: App,
  memory: MemoryRow,
  isMending: boolean,
): Promise<ReportedFinding[]> {
  const found = await findFaults(memories, memory);
  const open = ({ apply: _, ...finding }: Finding): ReportedFinding => ({ ...finding, isMended: false });
  if (!isMending || found.every(({ apply }) => !apply)) return found.map(open);
  for (const { apply } of found) await apply?.();
  const left = await findFaults(memories, memory);
  const keyOf = ({ kind, where, what }: Finding) => [kind, where, what].join('\n');
  const still = new Set(left.map(keyOf));
  const mended = found.filter((finding) => !still.has(keyOf(finding)));
  return [...mended.map((finding) => ({ ...open(finding), isMended: true })), ...left.map(open)];
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
  process.exitCode = report.findings.every(({ isMended }) => isMended) ? EXIT.fine : EXIT.failed;
}

export function describeCheck({ memory, findings, accepted = [] }: CheckReport): string {
  const letGo = accepted.map((path) => `${path}: is let go`);
  if (findings.length === 0) return [...letGo, `${memory}: fine`].join('\n');
  const open = findings.filter(({ isMended }) => !isMended).length;
  const lines = findings.map(({ where, what, mend, isMended }) => {
    return `${where}: ${what}\n  ${isMended ? `mended: ${mend}` : mend ? `--restore: ${mend}` : 'by hand'}`;
  });
  const remain = open === 1 ? '1 finding remains' : `${open} findings remain`;
  return [...letGo, `${memory}: ${remain}, ${findings.length - open} mended`, ...lines].join('\n');
}

export const commands: CommandSpec[] = [check as CommandSpec];
