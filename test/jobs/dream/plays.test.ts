// What readers answered in the place of a model, played on both houses: the next one says at night what today's does. And days of one
// repository, with a model that keeps all that is said, and judges nothing.

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cassetteNames, readCassette, wholeCassette } from '../../eval/reference/cassette.ts';
import { replay } from '../../eval/reference/replay.ts';
import { oldHouse } from '../../next/old-house.ts';
import { sized, waysTaken } from '../../support/depth.ts';
import { startMessagesServer } from '../../support/messages-server.ts';
import { ENGINES, skipped } from '../../support/next-memory.ts';
import { nextHouse } from '../../support/played-house.ts';
import { answer, type Taken } from '../../support/scripted-model.ts';
import { hasReal, real } from '../../support/transcripts.ts';

/** Topic lines in which the houses differ, by cassette and session, with the rule that makes the difference. */
const OTHERS: Record<string, string[]> = {};

const REAL = 'claude-code/entireio+git-sync';
/** As in test/eval/days/play.sh. */
const DAYS: [day: string, file: string][] = [
  ['2026-04-30', join(real, REAL, '88db7fea-797f-49be-9036-c762ae804ce0.jsonl')],
  ['2026-06-18', join(real, REAL, '76731dd6-65de-4d92-be87-716b3e380099.jsonl')],
  ['2026-06-19', join(real, REAL, '4f8f5e9b-9f90-4c22-88b9-988c55f45833.jsonl')],
  ...[22, 23, 24, 25, 26].map((day, at): [string, string] => [
    `2026-06-${day}`,
    join(import.meta.dirname, `../../../eval/days/${at + 4}.jsonl`),
  ]),
];

describe.each(waysTaken(ENGINES))('on %s', (engine) => {
  const why = skipped(engine);

  const played = cassetteNames().flatMap((name) =>
    [...Map.groupBy(readCassette(name), ({ session }) => session)].map(([session, lines]) => ({
      name,
      session,
      lines,
    })),
  );
  test.skipIf(why !== '' || !hasReal).each(sized({ quick: waysTaken(played, 0, 6), deep: played }))(
    'the play $name says the same of session $session',
    async ({ name, session, lines }) => {
      const [before, now] = [
        await replay(session, wholeCassette(lines), { house: oldHouse }),
        await replay(session, wholeCassette(lines), { house: nextHouse(engine) }),
      ];
      expect(now.entries).toEqual(before.entries);
      const known = OTHERS[`${name}/${session.slice(0, 8)}`] ?? [];
      expect(differing(before.lines, now.lines).filter((line) => !known.includes(line))).toEqual([]);
    },
  );

  test.skipIf(why !== '')('eight days of one repository end in the same topics', async () => {
    const server = await startMessagesServer(({ messages, tools }) => answer({ messages, tools }, takeAll));
    const { access } = server;
    const ends: string[][] = [];
    for (const open of [oldHouse, nextHouse(engine)]) {
      let now = new Date();
      const house = await open({ access, excerptTokens: 12_000, now: () => now });
      const lines: string[] = [];
      for (const [day, file] of sized({ quick: DAYS.slice(-2), deep: hasReal ? DAYS : DAYS.slice(3) })) {
        now = new Date(`${day}T22:30:00Z`);
        await house.extract(file);
        now = new Date(now.getTime() + 5 * 3_600_000);
        await house.dream();
        lines.push(...(await house.lines()).map((line) => `${day}: ${line}`));
      }
      ends.push(lines);
      await house.close();
    }
    await server.close();
    expect(ends[1]).toEqual(ends[0]);
    console.info(`${ends[0]?.length} lines of topics, night by night, the same in both houses`);
    expect(ends[0]?.length).toBeGreaterThan(20);
  });
});

/** What a model takes that keeps every statement of a few words, as it was said. */
function takeAll(said: string): Taken[] {
  const sentences = said.split(/(?<=[.!?])\s+|\n+/).filter((each) => /^\p{L}\S*(?: \S+){4,30}$/u.test(each));
  return sentences.map((text) => ({
    quote: text,
    text,
    type: /^(?:never|always|use|do)/i.test(text) ? 'feedback' : 'project',
  }));
}

/** Lines that one of two has alone. */
function differing(before: string[], now: string[]): string[] {
  const [a, b] = [new Set(before), new Set(now)];
  return [...a.symmetricDifference(b)];
}
