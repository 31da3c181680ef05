// nocturne log: a day's entries, readable.

import type { Command } from 'commander';
import { AppError } from '../../../base/errors.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { timeOf } from '../../../base/time.ts';
import { type CatalogEntry, catalogEntries, logDays } from '../../../memory/recall/catalog.ts';
import { logPath } from '../../../memory/text/daily-log.ts';
import { type CommonOptions, dayFrom, withJson, withLooking, withMemory } from '../terminal/options.ts';
import { print, style } from '../terminal/output.ts';

export function addLog(program: Command): void {
  const command = program
    .command('log')
    .description('the entries of a day; without a day the latest')
    .argument('[day]', 'YYYY-MM-DD, today, yesterday, or -1 for the day before today')
    .option('--days', 'only name the days that have a log');
  withJson(
    withMemory(command),
    '{ day, path, entries: [{ id, kind, state, type, text, evidence, by, at, … }] }, or { days }',
  )
    .addHelpText('after', '\nExample:\n  nocturne log yesterday')
    .action((given: string | undefined, options: CommonOptions & { days?: boolean }) =>
      withLooking(options, ({ config, dir, ledger }) => {
        const days = logDays(dir);
        if (options.days) return print(options.json ? JSON.stringify({ days }) : days.join('\n'));
        const day =
          given === undefined ? days.at(-1) : dayFrom(given, { now: config.clock.now(), zone: config.zone, days });
        if (day === undefined || !days.includes(day)) throw noLog(day, { dir, days });
        const path = logPath(day);
        const entries = catalogEntries(dir, [path], ledger);
        if (options.json) print(JSON.stringify({ day, path, entries }));
        else
          print(
            [
              style('bold', `${day} · ${sayCount(entries.length, 'entry')}`),
              ...entries.map((each) => describe(each, config)),
            ].join('\n'),
          );
      }),
    );
}

function noLog(day: string | undefined, { dir, days }: { dir: string; days: string[] }): AppError {
  if (day === undefined) {
    return new AppError('bad-input', `There is no daily log in ${dir} yet.`, {
      remedy: 'nocturne remember or nocturne extract begins one.',
    });
  }
  const near = [days.findLast((each) => each < day), days.find((each) => each > day)].filter(Boolean);
  return new AppError('bad-input', `There is no log of ${day} in ${dir}.`, {
    remedy: near.length > 0 ? `The nearest days with one: ${near.join(' and ')}.` : 'There is none of any day.',
  });
}

function describe(entry: CatalogEntry, { zone }: { zone: string }): string {
  const time = entry.kind === 'own' ? timeOf(entry.at, zone) : '–'.padEnd(5);
  const mark = entry.state === 'distilled' ? '' : ` (${entry.state})`;
  const quotes = entry.kind === 'own' ? entry.evidence.map(({ quote }) => quote) : [];
  const shown = quotes.filter((quote) => quote !== entry.text);
  return [
    `${time}  ${entry.type.padEnd(9)}  ${entry.text}${style('dim', mark)}`,
    ...shown.map((quote) => style('dim', `${' '.repeat(18)}> ${quote}`)),
  ].join('\n');
}
