// Learn again: what was covered before is extracted again, of a session, of a day, or all.
// The old entries stay until the new commit replaces them; what a person edited stays as it is. A transcript that is gone changes
// nothing and is named.

import { AppError } from '../src/base/errors.ts';
import type { Day } from '../src/base/time.ts';
import type { Sql } from '../src/db/sql.ts';
import { coverageWhere } from '../src/memory/entries.ts';
import type { MemoryRow } from '../src/memory/memories.ts';
import { sessionRow } from '../src/memory/session-rows.ts';
import type { ExtractReport, ExtractRequest } from './extract/extract-report.ts';

export interface LearnAgainRequest {
  /** Exactly one of `session`, `day` and `all`. `session`: as its agent calls it, or how that begins. */
  session?: string;
  day?: Day;
  all?: boolean;
  instructions?: string;
  /** Take the sessions as ended. */
  ended: boolean;
}

interface LearnAgainDeps {
  sql: Sql;
  memory: MemoryRow;
  /** Extracts one session into this memory. */
  extract(request: ExtractRequest): Promise<ExtractReport>;
  /** Told of each session as it is done. */
  onReport?(report: ExtractReport): void;
}

/** Errors: `bad-input` where nothing was ever extracted from what is asked for, or several sessions begin so. */
export async function learnAgain(request: LearnAgainRequest, deps: LearnAgainDeps): Promise<ExtractReport[]> {
  const { sql, memory } = deps;
  const { session, day, ended, instructions } = request;
  const asked = session === undefined ? undefined : await sessionBeginning(sql, memory, session);
  const where = { ...(asked !== undefined && { session: asked }), ...(day !== undefined && { day }) };
  const covered = (await coverageWhere(sql, { memory: memory.id, ...where })).filter(
    ({ reason }) => reason !== 'declined',
  );
  if (covered.length === 0) {
    const what = session ? `session ${session}` : day ? `sessions of ${day}` : 'any session';
    throw new AppError('bad-input', `Nothing was learned before from ${what} in ${memory.dir ?? memory.name}.`, {
      remedy: 'Use nocturne learn TRANSCRIPT for a session that is new.',
    });
  }
  const reports: ExtractReport[] = [];
  for (const [id, rows] of Map.groupBy(covered, (row) => row.session)) {
    const name = (await sessionRow(sql, id))?.name;
    const reopen = new Set(rows.map((row) => row.id));
    const report = await deps.extract({ session: id, name, ended, instructions, reopen });
    deps.onReport?.(report);
    reports.push(report);
  }
  return reports;
}

/** The id of the row of the one session of a memory that is called so, or whose name begins so. */
async function sessionBeginning(sql: Sql, memory: MemoryRow, name: string): Promise<string> {
  const found = await sql.all<{ id: string; name: string }>(
    'select id, name from session where memory = ? and substr(name, 1, ?) = ? order by name',
    ...[memory.id, name.length, name],
  );
  const [first] = found;
  if (!first || first.name === name || found.length === 1) return first?.id ?? '';
  const what = `Several sessions begin with ${name}: ${found.map((each) => each.name).join(', ')}.`;
  throw new AppError('bad-input', what, { remedy: 'Give more of it.' });
}
