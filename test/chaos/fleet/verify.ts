// What must be true after a fleet's chaos run, counted in the database's rows.

import type { KeptStore, Looks } from './counted.ts';
import { STATION } from './model.ts';
import type { ChaosStore, World } from './world.ts';

export interface Verdict {
  stores: number;
  sessions: number;
  turns: number;
  /** Log lines that name a station. */
  entries: number;
  commits: number;
  dreams: number;
  /** Stations that no log line of their store names, and lines that name one again. */
  lost: number;
  doubled: number;
  /** A sentence for each broken promise; empty when all hold. */
  violations: string[];
}

export async function verify(world: World, looks: Looks): Promise<Verdict> {
  const verdict: Verdict = {
    ...{ stores: world.stores.length, sessions: 0, turns: 0, entries: 0, commits: 0, dreams: 0, lost: 0, doubled: 0 },
    violations: [...world.refused, ...(await looks.failures())],
  };
  const dreams = await looks.dreams();
  verdict.dreams = dreams.size;
  for (const store of world.stores) {
    const kept = await looks.store(store.id);
    const marks = world.marks(store);
    verdict.sessions += store.sessions.length;
    verdict.turns += marks.length;
    verdict.commits += kept.commits((violation) => verdict.violations.push(`${store.id}: ${violation}`));
    countMarks(kept, { marks, verdict });
    if (store.dream) judgeDream(kept, { store, status: dreams.get(store.dream.id), violations: verdict.violations });
  }
  return verdict;
}

function stationsIn(kept: KeptStore, isMeant: (path: string) => boolean): string[] {
  const lines = [...kept.texts].filter(([path]) => isMeant(path)).flatMap(([, text]) => text.split('\n'));
  return lines.flatMap((line) => (line.startsWith('- ') && STATION.exec(line)?.[0]) || []);
}

function countMarks(kept: KeptStore, { marks, verdict }: { marks: string[]; verdict: Verdict }): void {
  const inLogs = stationsIn(kept, (path) => path.startsWith('logs/'));
  verdict.entries += inLogs.length;
  const said = new Set(marks);
  for (const mark of marks) {
    const times = inLogs.filter((found) => found === mark).length;
    verdict.lost += times === 0 ? 1 : 0;
    verdict.doubled += Math.max(0, times - 1);
    if (times !== 1) verdict.violations.push(`${kept.id}: ${mark} is in ${times} log lines.`);
  }
  for (const found of inLogs) if (!said.has(found)) verdict.violations.push(`${kept.id}: nobody said ${found}.`);
  const logged = new Set(inLogs);
  const inTopics = stationsIn(kept, (path) => /^[^/]+\.md$/.test(path) && path !== 'MEMORY.md');
  for (const found of inTopics)
    if (!logged.has(found)) verdict.violations.push(`${kept.id}: a topic has ${found}, which no log has.`);
  if (new Set(inTopics).size < inTopics.length) verdict.violations.push(`${kept.id}: a topic says something twice.`);
}

function judgeDream(
  kept: KeptStore,
  { store, status, violations }: { store: ChaosStore; status: string | undefined; violations: string[] },
): void {
  if (status !== 'completed') violations.push(`${store.dream?.id} of ${kept.id} is ${status}.`);
  const topics = new Set(stationsIn(kept, (path) => /^[^/]+\.md$/.test(path)));
  const missing = store.dream?.marks.filter((mark) => !topics.has(mark)) ?? [];
  if (missing.length > 0) violations.push(`${kept.id}: no topic has ${missing.join(', ')}, though it was dreamt of.`);
}
