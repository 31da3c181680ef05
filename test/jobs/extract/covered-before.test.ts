// Sessions that an earlier reader covered, which saw less of what people said, read by today's.
// test/data/turns-read-before.jsonl: of each shared session the turns as that reader (b173f24) told them, each as its id
// and the id of its last message, hashed: `turn through, turn through, …`.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type PendingTurn, type SortedTurns, sortTurns } from '../../../jobs/extract/sort-turns.ts';
import type { Transaction } from '../../../src/memory/ledger/ledger.ts';
import { openSession, type Session } from '../../../src/transcript/session.ts';
import { SEED, sized } from '../../support/depth.ts';
import { type JobsInProcess, jobsInProcess } from '../../support/jobs-in-process.ts';
import { tempDir } from '../../support/temp.ts';
import { collect, hasReal, real, realFiles } from '../../support/transcripts.ts';

const BEFORE = new Map(
  readFileSync(join(import.meta.dirname, '../../data/turns-read-before.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line): { file: string; turns: string } => JSON.parse(line))
    .map(({ file, turns }) => [file, turns]),
);

/** The small size looks at every third file, the second test at others than the first. */
const EVERY = sized({ quick: 3, deep: 1 });
const isTaken = (at: number) => (at + SEED) % EVERY === 0;

const hashOf = (id: string): string => createHash('sha256').update(id).digest('hex').slice(0, 12);

const idsBefore = new Map<string, string[]>();

/** Of the messages of a file, in order. */
async function idsOf(file: string): Promise<string[]> {
  const ids =
    idsBefore.get(file) ?? (await collect((await openSession(join(real, file))).messages())).map(({ id }) => id);
  idsBefore.set(file, ids);
  return ids;
}

/** The turns of a file as they were covered: the ids that today's reader gives too, and the hashes of those it does not. */
async function coveredBefore(file: string): Promise<{ turn: string; through: string }[]> {
  const ids = new Map((await idsOf(file)).map((id) => [hashOf(id), id]));
  const idOf = (hash = ''): string => ids.get(hash) ?? hash;
  return (BEFORE.get(file) ?? '').split(', ').map((row) => {
    const [turn, through] = row.split(' ');
    return { turn: idOf(turn), through: idOf(through) };
  });
}

async function sortCovered(
  session: Session,
  covered: readonly { turn: string; through: string }[],
  jobs: JobsInProcess,
): Promise<SortedTurns> {
  await jobs.store.commit({ actor: 'job:job_before' }, () => ({
    files: [],
    rows(transaction: Transaction) {
      for (const { turn, through } of covered) {
        const row = { session: session.id, turn, through_message: through, became: 'recorded', day: '2026-11-20' };
        transaction.put('coverage', { ...row, job: 'job_before' });
      }
    },
  }));
  return sortTurns(session, {
    ledger: jobs.store.ledger,
    memories: { dirs: ['/nowhere'] },
    ended: true,
    now: new Date(),
    quietMs: 0,
    reopened: new Set(),
  });
}

const openOf = (sorted: SortedTurns): PendingTurn[] => [
  ...sorted.pending.values(),
  ...sorted.mainAgent,
  ...sorted.private,
];

describe.skipIf(!hasReal)('of the shared sessions', () => {
  test('nothing is pending where all was covered before', async () => {
    const files = (await realFiles(/\.jsonl?$/)).filter((file) => !file.endsWith('.summary.json'));
    expect(files.sort()).toEqual([...BEFORE.keys()].sort());
    const pending: string[] = [];
    const jobs = await jobsInProcess(tempDir());
    for (const file of files.filter((_, at) => isTaken(at))) {
      const sorted = await sortCovered(await openSession(join(real, file)), await coveredBefore(file), jobs);
      pending.push(...openOf(sorted).map(({ turn }) => `${file}: ${turn.id}`));
    }
    jobs.close();
    expect(pending).toEqual([]);
  });

  test('only what comes after its coverage is pending where one has grown since', async () => {
    const early: string[] = [];
    let grown = 0;
    const jobs = await jobsInProcess(tempDir());
    for (const file of [...BEFORE.keys()].filter((_, at) => isTaken(at + 1))) {
      const rows = await coveredBefore(file);
      // The copies of one session share their turns.
      if (rows.length < 2 || file.startsWith('claude-code-growth')) continue;
      const covered = rows.slice(0, Math.ceil(rows.length / 2));
      const session = await openSession(join(real, file));
      const open = openOf(await sortCovered(session, covered, jobs));
      const ids = await idsOf(file);
      const end = ids.indexOf(covered.at(-1)?.through ?? '');
      const starts = open.map(({ turn, from }) => ids.indexOf(from === '' ? turn.id : from));
      early.push(...starts.filter((start) => start <= end).map((start) => `${file}: ${ids[start]}`));
      if (open.length > 0) grown += 1;
    }
    jobs.close();
    expect(early).toEqual([]);
    expect(grown).toBeGreaterThan(20 / EVERY);
  });
});
