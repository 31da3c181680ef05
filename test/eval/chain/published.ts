// All that was judged of plays of chains, as it is published.

import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { needsOf } from './pack.ts';
import type { SystemName } from './play.ts';
import { type Column, columnsOf } from './table.ts';
import type { Judged } from './verdicts.ts';

export const VERDICTS = join(import.meta.dirname, '../chains/verdicts');

/** By system. Of nocturne, until a package with it was judged, what needs.jsonl has of its last play. */
export function publishedColumns(): Map<SystemName, Column> {
  mkdirSync(VERDICTS, { recursive: true });
  const names = readdirSync(VERDICTS).sort();
  const columns = columnsOf(names.map((name): Judged => JSON.parse(readFileSync(join(VERDICTS, name), 'utf8'))));
  if (columns.has('nocturne')) return columns;
  const needs = needsOf().flatMap(({ grade, source, told }) => (grade === 'C' ? [] : { source, told: String(told) }));
  const before = { needs, kept: [], misled: 0, told: 0, costs: [], isJudged: false };
  return new Map<SystemName, Column>([['nocturne', before], ...columns]);
}
