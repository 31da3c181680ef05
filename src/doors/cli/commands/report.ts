// report: what a dream did with each entry, and why.

import { join } from 'node:path';
import { AppError } from '../../../base/errors.ts';
import { listNames } from '../../../base/files/directories.ts';
import { readTextNow } from '../../../base/files/files.ts';
import { type Day, timeOf } from '../../../base/time.ts';
import { writtenLines } from '../../../memory/history/versions.ts';
import { entryRow } from '../../../memory/ledger/entries.ts';
import { jobRow } from '../../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { shortId } from '../../../memory/ledger/short-ids.ts';
import { numbered, parseJsonReport, reportDay, reportPath, sayOps } from '../../../memory/text/dream-report.ts';
import { sayOp } from '../../../memory/types.ts';
import type { Call, CommandSpec } from '../spec.ts';
import { type CommonOptions, dayFrom, MEMORY, withLooking } from '../terminal/options.ts';
import { print, style } from '../terminal/output.ts';

export type ReportedDream = ReturnType<typeof dreamsOf>[number];

const report: CommandSpec<CommonOptions & { last?: boolean }, [string | undefined]> = {
  name: 'report',
  about: 'what the last dream, or those of a day, did: why DAY',
  group: 'Older names',
  args: [['[day]', 'all dreams of a day: YYYY-MM-DD, today, yesterday, -1']],
  options: [['--last', 'the last dream (what is done without a day)'], ...MEMORY],
  json: '{ day, dreams: [{ job, at, rows: [{ entry, op, operation, topic, lines, reason, over, same, text, written, removed }], left: [{ entry, reason }] }] }',
  examples: ['report --last'],
  run: (call) => reportDreams(call, { given: call.args[0], isLast: call.options.last }),
};

interface Asked {
  /** Default: the day of the last dream, and that alone. */
  given?: string;
  isLast?: boolean;
  /** That dream alone. */
  job?: string;
}

export function reportDreams(
  { options }: Pick<Call<CommonOptions>, 'options'>,
  { given, isLast, job }: Asked,
): Promise<void> {
  return withLooking({ options }, ({ config, id, dir, ledger }) => {
    const { clock, zone } = config;
    const days = listNames(join(dir, '.nocturne/dreams')).flatMap((name) => reportDay(name) ?? []);
    const read = (of: Day) => dreamsOf(readTextNow(join(dir, reportPath(of, 'json'))) ?? '', ledger);
    const ofJob = job && days.findLast((of) => read(of).some((dream) => dream.job === job));
    const day = ofJob || (given === undefined ? days.at(-1) : dayFrom(given, { now: clock.now(), zone, days }));
    if (day === undefined || !days.includes(day)) throw noReport(day, { dir: id, days });
    const all = read(day);
    const last = given === undefined || isLast ? all.slice(-1) : all;
    const dreams = ofJob ? all.filter((dream) => dream.job === job) : last;
    if (options.json) print({ day, dreams });
    else print(dreams.map((dream) => describeDream(dream, { day, zone, ledger })).join('\n\n'));
  });
}

/** What is in the JSON report of a day, dream by dream. */
export function dreamsOf(text: string, ledger: Ledger | null) {
  const jobs = Map.groupBy(parseJsonReport(text) ?? [], (row) => row.job);
  return [...jobs].map(([job, rows]) => ({
    job,
    /** Null where the ledger does not know the job any more. */
    at: (ledger && jobRow(ledger, job)?.createdAt) ?? null,
    rows: numbered(rows).map(({ entry, op, operation, topic, lines, gone = [], reason, over, same }) => {
      /** What the entry says. */
      const text = (ledger && entryRow(ledger, entry)?.text) || null;
      // As they were written, as far as a version still has them.
      const textsOf = (ids: string[]) => (ledger && topic ? writtenLines(ledger, { path: topic, lines: ids }) : []);
      const told = { entry, op, operation, topic, lines, reason, over, same, text };
      /** `written`: the lines that rest on it; `removed`: those that went. */
      return { ...told, written: textsOf(lines), removed: textsOf(gone) };
    }),
    /** Entries that wait for another night. */
    left: rows.flatMap(({ batch }) => batch?.left ?? []),
  }));
}

/** An operation with what it wrote is one item, whatever the number of entries it is about. */
function describeDream(
  { job, at, rows, left }: ReportedDream,
  { day, zone, ledger }: { day: Day; zone: string; ledger: Ledger | null },
): string {
  const nameOf = (entry: string) => shortId(ledger, 'entry', entry);
  const items = [...Map.groupBy(rows, (row) => row.operation ?? row).values()];
  const lines = items.flatMap((item) => {
    const [{ op, topic, reason }] = item as [ReportedDream['rows'][number]];
    const written = [...new Set(item.flatMap((row) => row.written))];
    const about = item.map(({ entry, text }) => text ?? nameOf(entry)).filter((text) => text !== '');
    // A dream that failed is about no entry.
    const said = written.length > 0 ? written : about.length > 0 ? [...new Set(about)] : [reason];
    const over = [...new Set(item.flatMap((row) => row.over ?? []))];
    const entries = [...new Set(item.map(({ entry }) => entry))]
      .filter((entry) => entry !== '')
      .map(nameOf)
      .join(', ');
    const where = topic ? `${topic}: ` : '';
    return [
      ...said.map((text, at) => `${style('bold', (at === 0 ? sayOp(op) : '').padEnd(10))}  ${where}${text}`),
      ...item.flatMap(({ removed }) => removed).map((text) => style('dim', `${' '.repeat(12)}was: ${text}`)),
      ...over.map((text) => style('dim', `${' '.repeat(12)}no longer true: ${text}`)),
      ...(item.some(({ same }) => same)
        ? [style('dim', `${' '.repeat(12)}taken for one and the same thing, at the word of the model`)]
        : []),
      ...(said[0] === reason ? [] : [style('dim', `${' '.repeat(12)}${reason}${entries && ` (${entries})`}`)]),
    ];
  });
  const waiting = left.map(({ entry, reason }) => `${style('bold', 'left'.padEnd(10))}  ${nameOf(entry)}: ${reason}`);
  const title = style(
    'bold',
    `Dream of ${day}${at ? ` ${timeOf(at, zone)}` : ''}, ${shortId(ledger, 'job', job)}: ${sayOps(rows)}`,
  );
  return [title, ...lines, ...waiting].join('\n');
}

function noReport(day: Day | undefined, { dir, days }: { dir: string; days: Day[] }): AppError {
  if (day === undefined) {
    return new AppError('bad-input', `No dream has done anything in ${dir} yet.`, {
      remedy: 'nocturne dream works the logs into topics now; nocturne status names the jobs that ran.',
    });
  }
  const latest = days.at(-1);
  return new AppError('bad-input', `No dream did anything on ${day}.`, {
    remedy: latest ? `The last day with one: ${latest}.` : 'There is no report of any day.',
  });
}

export const commands: CommandSpec[] = [report];
