// The one table of what a memory is worth: ten rows that were fixed before the plays, a column each system; where nocturne
// loses, the row stands first.

import type { CostOfSession } from './costs.ts';
import type { SystemName } from './play.ts';
import type { Judged } from './verdicts.ts';

export interface Cell {
  value: number;
  n: number;
  /** Of n, where it is a share. */
  count?: number;
  low: number;
  high: number;
}

/** What is known of a system, each with the chain that it is of. */
export interface Column {
  needs: { chain: string; source: string; told: string }[];
  kept: { chain: string; true: string; worth: string }[];
  /** Lines told, and how many of them misled. */
  told: { chain: string; lines: number; misled: number }[];
  costs: (CostOfSession & { chain: string })[];
  /** Whether the check passed, of the tasks that turn on what an earlier session knew. */
  tasks: boolean[];
}

interface Row {
  name: string;
  better: 'more' | 'less';
  of(column: Column): Cell | null;
}

const toldOf = (source: string) => (column: Column) => {
  const needs = column.needs.filter((need) => need.source === source);
  return share(needs.filter(({ told }) => told === 'full').length, needs.length);
};
const kept = (is: (line: Column['kept'][number]) => boolean, among: (line: Column['kept'][number]) => boolean) => {
  return ({ kept: lines }: Column) =>
    share(lines.filter((line) => among(line) && is(line)).length, lines.filter(among).length);
};
const each = (of: (cost: CostOfSession) => number | null) => (column: Column) => mean(column.costs.map(of));
const isTrue = (line: Column['kept'][number]) => line.true === 'yes';

export const ROWS: Row[] = [
  { name: 'said by a person, told', better: 'more', of: toldOf('person') },
  { name: 'found out by the agent, told', better: 'more', of: toldOf('found') },
  { name: 'precision: lines kept that are true', better: 'more', of: kept(isTrue, () => true) },
  { name: 'worth: true lines one would keep', better: 'more', of: kept((line) => line.worth === 'yes', isTrue) },
  {
    name: 'wrong: lines kept',
    better: 'less',
    of: kept(
      (line) => line.true === 'no',
      () => true,
    ),
  },
  { name: 'misled: lines told', better: 'less', of: ({ told }) => share(sum(told, 'misled'), sum(told, 'lines')) },
  { name: 'tokens a session', better: 'less', of: each(({ input, cached, output }) => input + cached + output) },
  { name: 'USD a session, list price', better: 'less', of: each(({ usd }) => usd) },
  { name: 'seconds a session, beside the model', better: 'less', of: each(({ seconds }) => seconds) },
  {
    name: 'next session better: tasks passed',
    better: 'more',
    of: ({ tasks }) => share(tasks.filter((isPassed) => isPassed).length, tasks.length),
  },
];

/** Wilson's, 95 %. */
export function share(count: number, n: number): Cell | null {
  if (n === 0) return null;
  const [z, p] = [1.96, count / n];
  const middle = (p + z ** 2 / (2 * n)) / (1 + z ** 2 / n);
  const half = (z / (1 + z ** 2 / n)) * Math.sqrt((p * (1 - p)) / n + z ** 2 / (4 * n ** 2));
  return { value: p, n, count, low: Math.max(0, middle - half), high: Math.min(1, middle + half) };
}

export function mean(values: (number | null)[]): Cell | null {
  const known = values.filter((value) => value !== null);
  if (known.length === 0 || known.length < values.length) return null;
  const value = known.reduce((sum, each) => sum + each, 0) / known.length;
  const variance = known.reduce((sum, each) => sum + (each - value) ** 2, 0) / Math.max(1, known.length - 1);
  const half = 1.96 * Math.sqrt(variance / known.length);
  return { value, n: known.length, low: Math.max(0, value - half), high: value + half };
}

const sum = (told: Column['told'], of: 'lines' | 'misled') => told.reduce((all, each) => all + each[of], 0);

export const NO_COLUMN = (): Column => ({ needs: [], kept: [], told: [], costs: [], tasks: [] });

/** What was judged, by system; several chains, and several plays of one, count together. */
export function columnsOf(all: Judged[]): Map<SystemName, Column> {
  const columns = new Map<SystemName, Column>();
  for (const { key, verdicts } of all) {
    const { chain } = key;
    const free = new Set(verdicts.flatMap((verdict) => ('repository' in verdict ? verdict.need : [])));
    for (const [letter, { system, costs, told }] of Object.entries(key.plays)) {
      const column = columns.get(system) ?? NO_COLUMN();
      columns.set(system, column);
      column.costs.push(...costs.map((cost) => ({ chain, ...cost })));
      let misled = 0;
      for (const verdict of verdicts) {
        if (!('play' in verdict) || verdict.play !== letter) continue;
        if ('true' in verdict) column.kept.push({ chain, ...verdict });
        else if ('misled' in verdict) misled += verdict.misled ? 1 : 0;
        else if (!free.has(verdict.need)) {
          const source = key.needs.find(({ id }) => id === verdict.need)?.source ?? '';
          column.needs.push({ chain, source, told: verdict.told });
        }
      }
      column.told.push({ chain, lines: told, misled });
    }
  }
  return columns;
}

/** On those chains only that the other was played on, too. */
function onChainsOf(ours: Column, other: Column): Column {
  const chains = new Set([...other.needs, ...other.costs].map(({ chain }) => chain));
  const only = <T extends { chain: string }>(items: T[]) => items.filter(({ chain }) => chains.has(chain));
  const { needs, kept, told, costs, tasks } = ours;
  return { needs: only(needs), kept: only(kept), told: only(told), costs: only(costs), tasks };
}

type Standing = 'behind' | 'behind, not told apart' | 'ahead' | 'not told apart' | 'alone' | 'not run';
const ORDER: Standing[] = ['behind', 'behind, not told apart', 'not told apart', 'ahead', 'alone', 'not run'];

/** How one figure stands beside another. */
export function standing({ better }: Pick<Row, 'better'>, ours: Cell | null, other: Cell | null): Standing {
  if (!ours) return 'not run';
  if (!other) return 'alone';
  const isApart = other.low > ours.high || other.high < ours.low;
  const isBehind = better === 'more' ? other.value > ours.value : other.value < ours.value;
  if (isBehind) return isApart ? 'behind' : 'behind, not told apart';
  return isApart ? 'ahead' : 'not told apart';
}

/** How nocturne stands in a row, beside each of the others on the chains that both were played on: the worst of it. */
function worst(row: Row, columns: Map<SystemName, Column>): Standing {
  const ours = columns.get('nocturne') ?? NO_COLUMN();
  if (!row.of(ours)) return 'not run';
  const others = [...columns].flatMap(([system, column]) => (system === 'nocturne' ? [] : column));
  const all = others.map((other) => standing(row, row.of(onChainsOf(ours, other)), row.of(other)));
  return ORDER.find((how) => how !== 'not run' && all.includes(how)) ?? 'alone';
}

const NAMES: Record<SystemName, string> = {
  ...{ nocturne: 'nocturne', nothing: 'nothing', own: "CLAUDE.md and the agent's own memory" },
  ...{ summary: 'a summary, rewritten', append: 'notes, appended', server: 'reference memory server' },
};

/** The table, as docs/dev/evidence.md has it. */
export function tableOf(columns: Map<SystemName, Column>): string {
  const systems = Object.keys(NAMES) as SystemName[];
  const rows = ROWS.map((row, at) => {
    const cells = systems.map((system) => {
      const column = columns.get(system);
      return column ? row.of(column) : null;
    });
    const how = worst(row, columns);
    return { at, how, text: `| ${[row.name, ...cells.map(sayCell), how].join(' | ')} |` };
  });
  rows.sort((a, b) => ORDER.indexOf(a.how) - ORDER.indexOf(b.how) || a.at - b.at);
  const head = ['Row', ...systems.map((system) => NAMES[system]), 'nocturne is'];
  return [
    `| ${head.join(' | ')} |`,
    `|---|${head
      .slice(1)
      .map(() => '---:|')
      .join('')}`,
    ...rows.map(({ text }) => text),
  ].join('\n');
}

function sayCell(cell: Cell | null): string {
  if (!cell) return 'not run';
  const [value = '', low = '', high = ''] = [cell.value, cell.low, cell.high].map((each) =>
    each >= 100 ? String(Math.round(each)) : String(Number(each.toPrecision(2))),
  );
  return `${value} (${cell.count === undefined ? `n ${cell.n}` : `${cell.count} of ${cell.n}`}; ${low}–${high})`;
}

/** What stands below the table, and beside it for who reads on: needs by what became of them. */
export function needsTable(columns: Map<SystemName, Column>): string {
  const rows = [...columns].flatMap(([system, { needs }]) =>
    (['found', 'person'] as const).map((source) => {
      const of = needs.filter((need) => need.source === source);
      const count = (told: string) => of.filter((need) => need.told === told).length;
      const name = source === 'found' ? 'found out by the agent' : 'said by a person';
      return `| ${[`${NAMES[system]}: ${name}`, of.length, ...['full', 'part', 'held', 'none'].map(count)].join(' | ')} |`;
    }),
  );
  return ['| Needs | n | told | in part | kept, not told | not kept |', '|---|---:|---:|---:|---:|---:|', ...rows].join(
    '\n',
  );
}
