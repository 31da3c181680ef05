// Redaction of the rows of work: words that a person or a model gave stand in what waits and in what failed.

import type { Scrub } from '../../../memory/history/redact/scrub.ts';
import type { Ask } from '../database.ts';

/** Columns in which words can stand, by table; all others are ids, kinds, times and numbers. */
const WORDS = {
  work_inbox: { payload: 'json', failure: 'text' },
  failure: { payload: 'json', message: 'text' },
} as const;

type Row = { kind: string; key: string } & Record<string, string | null>;

/**
 * Takes every match out of the rows of a store; answers how many were changed, or would be. A row that changes while it is
 * scrubbed is looked at again.
 */
export async function scrubWork(
  ask: Ask,
  { store, scrub, isDry = false }: { store: string; scrub: Scrub; isDry?: boolean },
): Promise<number> {
  let changed = 0;
  for (const [table, columns] of Object.entries(WORDS)) {
    const forms = Object.entries(columns) as [string, 'json' | 'text'][];
    const names = forms.map(([name]) => name);
    const rows = `select kind, key, ${names} from ${table} where store = $1`;
    const waiting = await ask<Row>(rows, [store]);
    for (let row = waiting.pop(); row; row = waiting.pop()) {
      const { kind, key } = row;
      const had = names.map((name) => row?.[name] ?? null);
      const has = forms.map(([, form], at) => (had[at] == null ? null : scrub[form](had[at])));
      if (has.every((text, at) => text === had[at])) continue;
      const done =
        isDry ||
        (
          await ask(
            `update ${table} set (${names}) = ($4, $5) where store = $1 and kind = $2 and key = $3
               and (${names}) is not distinct from ($6, $7) returning 1 as one`,
            [store, kind, key, ...has, ...had],
          )
        ).length === 1;
      if (done) changed += 1;
      else waiting.push(...(await ask<Row>(`${rows} and kind = $2 and key = $3`, [store, kind, key])));
    }
  }
  return changed;
}
