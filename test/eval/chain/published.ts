// All that was judged of plays of chains, as it is published.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHAINS } from './links.ts';
import { needsOf, readLines } from './needs.ts';
import { promptsToday, type SystemName } from './play.ts';
import { type Column, columnsOf, NO_COLUMN } from './table.ts';
import type { Judged } from './verdicts.ts';

/** As `npm run eval -- --tasks` writes them. */
const TASKS = join(import.meta.dirname, '../tasks/results.jsonl');
export const VERDICTS = join(import.meta.dirname, '../chains/verdicts');

function publishedVerdicts(): Judged[] {
  return readdirSync(VERDICTS)
    .sort()
    .map((name) => JSON.parse(readFileSync(join(VERDICTS, name), 'utf8')));
}

export interface TaskRun {
  by: 'agent' | 'person';
  isTold: boolean;
  /** What the check found; '' where it passed. */
  fault: string;
  failures: number;
  calls: number;
  tokens: number;
}

const taskRuns = () => readLines<TaskRun>(TASKS);

/** By whose need it was, and whether it was told: what passed, and the mean of what a run took. */
export function tasksTable(runs = taskRuns()): string {
  const groups = Map.groupBy(runs, ({ by, isTold }) => {
    const source = by === 'person' ? 'said by a person' : 'found out by the agent';
    return `${source}, ${isTold ? 'told' : 'not told'}`;
  });
  const rows = [...groups].sort().map(([name, of]) => {
    const mean = (each: 'failures' | 'calls' | 'tokens') => of.reduce((all, run) => all + run[each], 0) / of.length;
    const passed = of.filter(({ fault }) => fault === '').length;
    const took = [mean('failures').toFixed(1), mean('calls').toFixed(1), Math.round(mean('tokens'))];
    return `| ${[name, of.length, passed, ...took].join(' | ')} |`;
  });
  const head = '| Need | runs | check passed | failed calls | calls | tokens |\n|---|---:|---:|---:|---:|---:|';
  return [head, ...rows].join('\n');
}

/** By system. */
export function publishedColumns(): Map<SystemName, Column> {
  const columns = columnsOf(publishedVerdicts());
  const tasks = taskRuns();
  const ours = columns.get('nocturne') ?? NO_COLUMN();
  // Where nothing is kept, nothing is told: that needs no judge.
  const untold = ours.needs.map((need) => ({ ...need, told: 'none' }));
  const others = columns.get('nothing') ?? { ...NO_COLUMN(), needs: untold };
  ours.tasks = tasks.flatMap(({ isTold, fault }) => (isTold ? fault === '' : []));
  others.tasks = tasks.flatMap(({ isTold, fault }) => (isTold ? [] : fault === ''));
  return new Map<SystemName, Column>([
    ['nocturne', ours],
    ...(tasks.length > 0 ? [['nothing', others] as const] : []),
    ...columns,
  ]);
}

/** Below the table: of which plays it is, and who judged them. */
export async function sources(): Promise<string> {
  const today = await promptsToday();
  const lines = publishedVerdicts().flatMap(({ key, judges, kappa, raw }) => {
    const { usedInDevelopment } = CHAINS.find(({ name }) => name === key.chain) ?? {};
    const both = Object.entries(raw ?? {}).map(([said, count]) => `${said} ${count}`);
    const agree = kappa === undefined ? '' : ` (needs: kappa ${kappa.toFixed(2)}; ${both.join(', ')})`;
    const plays = Object.values(key.plays).map(({ system, model, isReaders, date, commit, prompts }) => {
      const earlier = system === 'nocturne' && prompts !== today ? `, made with an earlier prompt (${commit})` : '';
      const asked =
        system === 'own' || system === 'nothing' ? '' : ` by ${isReaders ? 'a reader in the place of ' : ''}${model}`;
      return `${system}${asked}, ${date} at ${commit}${earlier}`;
    });
    const used = usedInDevelopment ? ', used in development' : '';
    return `- ${key.chain}${used}, ${judges === 1 ? 'one judge' : `${judges} judges`}${agree}: ${plays.join('; ')}.`;
  });
  return [...lines, ...readers()].join('\n');
}

/** Of a chain whose needs two readers wrote down: how many of them both name, by grade. */
function readers(): string[] {
  return CHAINS.flatMap(({ name }) => {
    const needs = needsOf(name);
    if (new Set(needs.flatMap((need) => need.readers)).size < 2) return [];
    const shares = ['A', 'B', 'C'].map((grade) => {
      const of = needs.filter((need) => need.grade === grade);
      return `${of.filter((need) => need.readers.length > 1).length} of ${of.length} ${grade}`;
    });
    return [`- Needs of ${name} were written down by two readers; both name ${shares.join(', ')}.`];
  });
}
