// What readers answered in the place of a model, and the real sessions of all agents with a model that keeps all that is said: both
// houses ask the same, keep the same entries with the same quotes, write the same logs, and cover the same ranges.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { coverageWhere } from '../../../src/memory/ledger/coverage.ts';
import { allEntries } from '../../../src/memory/ledger/entries.ts';
import type { TurnRow } from '../../../src/next/memory/coverage.ts';
import { cassetteNames, readCassette, wholeCassette } from '../../eval/reference/cassette.ts';
import { type HouseOptions, type PlayedHouse, replay } from '../../eval/reference/replay.ts';
import { sized, waysTaken } from '../../support/depth.ts';
import { jobsInProcess } from '../../support/jobs-in-process.ts';
import { startMessagesServer } from '../../support/messages-server.ts';
import { answer, type Taken } from '../../support/scripted-model.ts';
import { tempDir } from '../../support/temp.ts';
import { hasReal, real, realFiles } from '../../support/transcripts.ts';
import { inJobs } from '../next-jobs.ts';
import { ENGINES, skipped } from '../next-memory.ts';
import { oldHouse } from '../old-house.ts';
import { nextHouse } from '../played-house.ts';

/** What the old house calls the fates of turns. */
const FATES: Record<string, string> = {
  recorded: 'done',
  nothing: 'done',
  'main-agent': 'own-write',
  'gave-up': 'gave_up',
};
const fateOf = (fate: string) => FATES[fate] ?? fate;

interface Told {
  entries: unknown[];
  coverage: { from: string; to: string; became: string }[];
  coveredTurns: number;
  unsettledTurns: number;
  unreadableLines: number;
}

/** A house whose extractions are noted. */
function noting(open: (options: HouseOptions) => Promise<PlayedHouse>, told: Told[]) {
  return async (options: HouseOptions): Promise<PlayedHouse> => {
    const house = await open(options);
    const extract: PlayedHouse['extract'] = async (transcript) => {
      const report = (await house.extract(transcript)) as Told;
      const { entries, coverage, coveredTurns, unsettledTurns, unreadableLines } = report;
      const named = coverage.map((turns) => ({ ...turns, became: turns.became.replace('main-agent', 'own-write') }));
      told.push({ entries, coverage: named, coveredTurns, unsettledTurns, unreadableLines });
    };
    return { ...house, extract };
  };
}

describe.each(waysTaken(ENGINES, 1))('on %s', (engine) => {
  const why = skipped(engine);
  const played = cassetteNames().flatMap((name) =>
    [...Map.groupBy(readCassette(name), ({ session }) => session)].map(([session, lines]) => ({
      name,
      session,
      lines,
    })),
  );

  test.skipIf(why !== '' || !hasReal).each(sized({ quick: waysTaken(played, 1, 6), deep: played }))(
    'the play $name gives the same entries and coverage of session $session',
    async ({ session, lines }) => {
      const told: [Told[], Told[]] = [[], []];
      await replay(session, wholeCassette(lines), { house: noting(oldHouse, told[0]) });
      await replay(session, wholeCassette(lines), { house: noting(nextHouse(engine), told[1]) });
      expect(told[1]).toEqual(told[0]);
      expect(told[0]).toHaveLength(1);
    },
  );

  test.skipIf(why !== '' || !hasReal)('every real session is asked about, kept and covered alike', async () => {
    const paths = await realFiles(/\.(?:jsonl?|json)$/);
    let entries = 0;
    for (const path of sized({ quick: waysTaken(paths, 2, 12), deep: paths })) {
      const [before, now] = [await byThisHouse(join(real, path)), await byNextHouse(join(real, path))];
      expect({ path, ...now }).toEqual({ path, ...before });
      entries += before.entries.length;
    }
    expect(entries).toBeGreaterThan(0);
  });

  async function byThisHouse(path: string) {
    const server = await startMessagesServer(({ messages, tools }) => answer({ messages, tools }, takeAll));
    const dir = join(tempDir(), 'memory');
    const jobs = await jobsInProcess(dir, NOW, { all: { model: 'test-model', access: server.access } });
    const { outcome, error } = await jobs.extract(path);
    const found = {
      ...{ outcome, code: error?.code, logs: logsIn(dir), bodies: [...server.bodies] },
      entries: allEntries(jobs.store.ledger).map(({ job: _, state: __, session: ___, ...entry }) => entry),
      coverage: coverageWhere(jobs.store.ledger)
        .map(({ turn, from, throughMessage, disposition, day }) => [
          turn,
          from,
          throughMessage,
          fateOf(disposition),
          day,
        ])
        .sort(),
    };
    jobs.close();
    await server.close();
    return found;
  }

  async function byNextHouse(path: string): ReturnType<typeof byThisHouse> {
    const server = await startMessagesServer(({ messages, tools }) => answer({ messages, tools }, takeAll));
    let found: Awaited<ReturnType<typeof byThisHouse>> | undefined;
    await inJobs(
      engine,
      async (here) => {
        here.setNow(NOW);
        const { outcome, error } = await here.extract(path);
        const turns = await here.db.all<TurnRow>('select * from turn');
        found = {
          ...{ outcome, code: error?.code, logs: logsIn(here.dir), bodies: [...server.bodies] },
          entries: (await here.entries()).map(
            ({ job: _, state: __, session: ___, memory: ____, reason: _____, turn, ...entry }) => ({
              ...entry,
              turn: turn ?? '',
            }),
          ),
          coverage: turns
            .map(({ id, begins, through, state, reason, day }) => [id, begins, through, reason ?? state, day])
            .sort(),
        };
      },
      { server },
    );
    await server.close();
    if (!found) throw new Error('nothing was found');
    return found;
  }
});

const NOW = '2026-11-22T05:00:00.000Z';

function logsIn(dir: string): string {
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((path) => /^logs\/.*\.md$/.test(path));
  return paths
    .sort()
    .map((path) => `${path}\n${readFileSync(join(dir, path), 'utf8')}`)
    .join('\n');
}

/** What a model takes that keeps every statement of a few words, as it was said. */
function takeAll(said: string): Taken[] {
  const sentences = said.split(/(?<=[.!?])\s+|\n+/).filter((each) => /^\p{L}\S*(?: \S+){4,30}$/u.test(each));
  return sentences.map((text) => ({
    quote: text,
    text,
    type: /^(?:never|always|use|do)/i.test(text) ? 'feedback' : 'project',
  }));
}
