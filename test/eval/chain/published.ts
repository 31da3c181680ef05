// All that was judged of plays of chains, as it is published.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHAINS } from './links.ts';
import { needsOf } from './pack.ts';
import { promptsToday, type SystemName } from './play.ts';
import { type Column, columnsOf } from './table.ts';
import type { Judged } from './verdicts.ts';

export const VERDICTS = join(import.meta.dirname, '../chains/verdicts');

export function publishedVerdicts(): Judged[] {
  const names = existsSync(VERDICTS) ? readdirSync(VERDICTS).sort() : [];
  return names.map((name) => JSON.parse(readFileSync(join(VERDICTS, name), 'utf8')));
}

/** By system. Of nocturne, until a package with it was judged, what needs.jsonl has of its last play. */
export function publishedColumns(): Map<SystemName, Column> {
  const columns = columnsOf(publishedVerdicts());
  if (columns.has('nocturne')) return columns;
  const needs = needsOf().flatMap(({ grade, source, told }) => (grade === 'C' ? [] : { source, told: String(told) }));
  const before = { needs, kept: [], misled: 0, told: 0, costs: [], isJudged: false };
  return new Map<SystemName, Column>([['nocturne', before], ...columns]);
}

/** Below the table: of which plays it is, and who judged them. */
export async function sources(): Promise<string> {
  const today = await promptsToday();
  const lines = publishedVerdicts().flatMap(({ key, judges, kappa }) => {
    const { usedInDevelopment } = CHAINS.find(({ name }) => name === key.chain) ?? {};
    const agree = kappa === undefined ? '' : ` (kappa ${kappa.toFixed(2)})`;
    const plays = Object.values(key.plays).map(({ system, model, date, commit, prompts }) => {
      const earlier = system === 'nocturne' && prompts !== today ? `, made with an earlier prompt (${commit})` : '';
      return `${system} by ${model}, ${date} at ${commit}${earlier}`;
    });
    const used = usedInDevelopment ? ', used in development' : '';
    return `- ${key.chain}${used}, ${judges === 1 ? 'one judge' : `${judges} judges`}${agree}: ${plays.join('; ')}.`;
  });
  if (publishedColumns().get('nocturne')?.isJudged === false)
    lines.push('- nocturne: as judged before packages were made; see "Plays before packages".');
  return lines.join('\n');
}
