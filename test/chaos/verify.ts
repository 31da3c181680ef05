// What must be true after a chaos run, counted in the files and the rows, not asked of the code that made them.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listFiles } from '../../src/base/files/directories.ts';
import { type ChaosSession, type CoverageRow, isAboutUser, markOf, type World } from './world.ts';

/** What a memory directory may hold. */
const KEPT =
  /^(?:[^/]+\.md|index\/[^/]+\.md|logs\/\d{4}\/\d{2}\/[\d-]+\.md|\.nocturne\/(?:\.gitignore|id|aside\/mem_\w+\.[0-9a-f]{64}\.\d+|(?:ledger|lock)\.db(?:-wal|-shm|-journal)?|dreams\/[\d-]+\.(?:md|json)))$/;

export interface Verdict {
  turns: number;
  entries: number;
  commits: number;
  /** Things said that no log line says, and log lines that say one again. */
  lost: number;
  doubled: number;
  /** A sentence for each broken promise; empty when all hold. */
  violations: string[];
}

export async function verify(world: World): Promise<Verdict> {
  const verdict: Verdict = { turns: 0, entries: 0, commits: 0, lost: 0, doubled: 0, violations: [] };
  const known = new Map(world.sessions.map((session) => [session.file.id, session]));
  const found = new Map<string, string[]>();
  for (const store of await world.stores()) {
    verdict.commits += await store.commits((violation) => verdict.violations.push(violation));
    verdict.entries += await store.entries();
    for (const path of listFiles(store.dir)) {
      if (!KEPT.test(path)) verdict.violations.push(`${join(store.dir, path)} was left behind.`);
      if (!path.startsWith('logs/')) continue;
      for (const line of readFileSync(join(store.dir, path), 'utf8').split('\n')) {
        const mark = /^- .*(station \d{8}-\d+ is heron)/.exec(line)?.[1];
        if (mark) found.set(mark, [...(found.get(mark) ?? []), store.dir]);
      }
    }
    const coverage = await store.coverage();
    const sessions = new Set(coverage.map((row) => row.session));
    for (const id of sessions) {
      const session = known.get(id);
      if (session) verdict.turns += verifySession(session, { coverage, violations: verdict.violations });
      else verdict.violations.push(`${store.dir} covers ${id}, a session that there never was.`);
    }
    for (const id of sessions) known.delete(id);
  }
  for (const id of known.keys()) verdict.violations.push(`Nothing of session ${id} is covered.`);
  for (const session of world.sessions) {
    for (let turn = 1; turn <= session.turns; turn += 1) {
      const places = found.get(markOf(session, turn)) ?? [];
      verdict.lost += places.length === 0 ? 1 : 0;
      verdict.doubled += Math.max(0, places.length - 1);
      if (places.length !== 1) {
        verdict.violations.push(`Turn ${turn} of ${session.file.id} is in ${places.length} log lines.`);
      } else if ((places[0] === world.user) !== isAboutUser(session, turn)) {
        verdict.violations.push(`Turn ${turn} of ${session.file.id} is in ${places[0]}, where it does not belong.`);
      }
    }
  }
  return verdict;
}

/** Each turn of the session is covered once, as recorded; answers how many are. */
function verifySession(session: ChaosSession, of: { coverage: CoverageRow[]; violations: string[] }): number {
  const { violations } = of;
  const rows = of.coverage.filter((row) => row.session === session.file.id);
  const wanted = new Set(Array.from({ length: session.turns }, (_, index) => session.file.turn(index + 1)));
  for (const row of rows) {
    if (!wanted.delete(row.turn)) violations.push(`${session.file.id}: turn ${row.turn} is none of its turns.`);
    if (row.disposition !== 'recorded')
      violations.push(`${session.file.id}: turn ${row.turn} became ${row.disposition}.`);
  }
  for (const turn of wanted) violations.push(`${session.file.id}: turn ${turn} is not covered.`);
  return rows.length;
}
