// What dreams did with each entry, and why: the report that they wrote, dream by dream, for why and for the page.
// It reads reports and the ledger, and changes nothing.

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
import {
  numbered,
  parseJsonReport,
  reportDay,
  reportPath,
  sayOps,
  splitMarkdown,
} from '../../../memory/text/dream-report.ts';
import type { Call } from '../spec.ts';
import { dayAmong, withLooking } from './looking.ts';
import type { CommonOptions } from './options.ts';
import { print, style } from './output.ts';

export type ReportedDream = ReturnType<typeof dreamsOf>[number];

interface Asked {
  /** Default: the day of the last dream, and that alone. */
  given?: string;
  /** That dream alone. */
  job?: string;
}

export function reportDreams({ options }: Pick<Call<CommonOptions>, 'options'>, { given, job }: Asked): Promise<void> {
  return withLooking({ options }, ({ config, id, dir, ledger }) => {
    const days = listNames(join(dir, '.nocturne/dreams')).flatMap((name) => reportDay(name) ?? []);
    const read = (of: Day) => dreamsOf(readTextNow(join(dir, reportPath(of, 'json'))) ?? '', ledger);
    const ofJob = job && days.findLast((of) => read(of).some((dream) => dream.job === job));
    const none = new AppError('bad-input', `No dream has done anything in ${id} yet.`, {
      remedy: 'nocturne dream works the logs into topics now; nocturne status names the jobs that ran.',
    });
    const day = ofJob || dayAmong(days, { given, config, none, what: `report of a dream in ${id}` });
    const all = read(day);
    const last = given === undefined ? all.slice(-1) : all;
    const dreams = ofJob ? all.filter((dream) => dream.job === job) : last;
    if (options.json) print({ day, dreams });
    else {
      const text = readTextNow(join(dir, reportPath(day, 'md'))) ?? '';
      const told = dreams.map(({ job, at, rows }) => {
        const when = `${day}${at ? ` ${timeOf(at, config.zone)}` : ''}`;
        return `${style('bold', `Dream of ${when}, ${shortId(ledger, 'job', job)}: ${sayOps(rows)}`)}\n\n${textOf(job, text, ledger)}`;
      });
      print(told.join('\n\n'));
    }
  });
}

/** What is in the JSON report of a day, dream by dream. */
export function dreamsOf(text: string, ledger: Ledger | null) {
  const jobs = Map.groupBy(parseJsonReport(text) ?? [], (row) => row.job);
  return [...jobs].map(([job, rows]) => ({
    job,
    /** Null where the ledger does not know the job any more. */
    at: (ledger && jobRow(ledger, job)?.createdAt) ?? null,
    rows: numbered(rows).map(({ entry, op, operation, topic, lines, gone = [], reason, over }) => {
      /** What the entry says. */
      const text = (ledger && entryRow(ledger, entry)?.text) || null;
      // As they were written, as far as a version still has them.
      const textsOf = (ids: string[]) => (ledger && topic ? writtenLines(ledger, { path: topic, lines: ids }) : []);
      const told = { entry, op, operation, topic, lines, reason, over, text };
      /** `written`: the lines that rest on it; `removed`: those that went. */
      return { ...told, written: textsOf(lines), removed: textsOf(gone) };
    }),
    /** Entries that wait for another night. */
    left: rows.flatMap(({ batch }) => batch?.left ?? []),
  }));
}

/** What the report for people says of a dream, with the ids that stand there as comments. */
function textOf(job: string, report: string, ledger: Ledger | null): string {
  return splitMarkdown(report)
    .filter((part) => part.startsWith('## ') && part.split('\n', 1)[0]?.includes(` ${job}:`))
    .map((part) => part.slice(part.indexOf('\n') + 1).trim())
    .join('\n\n')
    .replace(/ <!-- (\w+) -->/g, (_, entry: string) => ` (${shortId(ledger, 'entry', entry)})`)
    .replace(/^(- \*\*\w+\*\* → )\[(.+?)\]\((?:<.*?>|\S*?)\): /gm, '$1$2: ');
}
