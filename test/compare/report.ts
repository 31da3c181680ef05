// How a comparison is told: first the rows by which one chooses, and in which of them nocturne is ahead and in which behind;
// then all of them, as tables in Markdown with the best of a row in bold. What favours whom and was not comparable is told on
// the page beside it (docs/dev/evidence.md).

import type { Column } from './measure.ts';

export interface Compared {
  /** Name and version of each system, in the tables' order. */
  systems: string[];
  tables: { title: string; columns: Column[] }[];
  about: { date: string; commit: string; machine: string; seed: number; kills: number };
}

/** Rows in which more is better; in others less is, but for those that judge nobody. */
const MORE_IS_BETTER = /^facts kept/;
const JUDGES_NOBODY = /^(facts of a run|runs killed|embedding tokens|.* of the night after$)/;
/** The rows by which one chooses: what it costs, how long it takes, what it keeps, and what goes wrong. */
const TELLING =
  /^(USD|s a session, model 2|facts kept|kB|same sessions again: requests|facts lost|secrets of \d+ on|injections)/;

export function describeComparison({ systems, tables, about }: Compared): string {
  const parts = [
    `Measured on ${about.date} at ${about.commit} (${about.machine}); seed ${about.seed}, ${about.kills} kills.`,
    ...inShort(systems, tables),
    ...tables.map(({ title, columns }) => `**${title}**\n\n${tableOf(systems, columns)}`),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** The rows by which one chooses as one table, and who is ahead in which. */
function inShort(systems: string[], tables: Compared['tables']): string[] {
  if (!systems[0]?.startsWith('nocturne') || systems.length === 1) return [];
  const chosen = tables.flatMap(({ title, columns }) => {
    const where = /^Cost: ([^,]*)/.exec(title)?.[1];
    const names = Object.keys(columns[0] ?? {}).filter((name) => TELLING.test(name));
    return names.map((name) => {
      const values = columns.map((column) => column[name] ?? 0);
      return { name: where ? `${name} (${where})` : name, values, best: bestOf(name, values) };
    });
  });
  const telling = chosen.filter(({ values }) => values.some((value) => value !== values[0]));
  const columns = systems.map((_, at) =>
    Object.fromEntries(telling.map(({ name, values }) => [name, values[at] ?? 0])),
  );
  const isAhead = ({ values, best }: (typeof chosen)[number]) => values[0] === best;
  const named = (rows: typeof chosen) => rows.map(({ name }) => name).join('; ') || 'none';
  return [
    `**In a minute**\n\n${tableOf(systems, columns)}`,
    `nocturne is ahead of all, or level with the best, in: ${named(telling.filter(isAhead))}.`,
    `Another is ahead of it in: ${named(telling.filter((row) => !isAhead(row)))}.`,
  ];
}

function bestOf(name: string, values: number[]): number | undefined {
  if (JUDGES_NOBODY.test(name) || values.length < 2) return undefined;
  return MORE_IS_BETTER.test(name) ? Math.max(...values) : Math.min(...values);
}

function tableOf(systems: string[], columns: Column[]): string {
  const names = Object.keys(columns[0] ?? {});
  const row = (name: string) => {
    const values = columns.map((column) => column[name] ?? 0);
    const best = values.every((value) => value === values[0]) ? undefined : bestOf(name, values);
    return `| ${name} | ${values.map((value) => (value === best ? `**${value}**` : value)).join(' | ')} |`;
  };
  return [`| | ${systems.join(' | ')} |`, `|---|${systems.map(() => '---:').join('|')}|`, ...names.map(row)].join('\n');
}
